# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What somebody has configured before the machine of netconf.sh boots: names for both
# ends of the cable, NetworkManager for the one, ifupdown for the other.

examples=/usb4net/examples
nm=/etc/NetworkManager/system-connections

mkdir -p /etc/udev/rules.d $nm /etc/network/interfaces.d
# The UUID of the emulator's host 1
cat > /etc/udev/rules.d/70-usb4net.rules <<- 'END'
ACTION!="add", GOTO="usb4net_end"
SUBSYSTEM!="net", GOTO="usb4net_end"
ATTR{usb4net/peer_uuid}=="01010000-00b4-e400-ffff-ffffffffffff", NAME="to-storage"
ATTR{usb4net/peer_uuid}!="01010000-00b4-e400-ffff-ffffffffffff", ATTR{usb4net/peer_uuid}=="?*", NAME="to-client"
LABEL="usb4net_end"
END
install -m 600 $examples/usb4net.nmconnection $nm/
sed -i 's/^address1=.*/address1=10.0.7.1\/24/' $nm/usb4net.nmconnection
sed -e 's/to-storage/to-client/' -e 's/10.0.0.1/10.0.8.1/' \
	$examples/usb4net.interfaces > /etc/network/interfaces.d/usb4net
# As the installer of Debian leaves it
printf 'source /etc/network/interfaces.d/*\nauto lo\niface lo inet loopback\n' \
	> /etc/network/interfaces
systemctl enable NetworkManager.service networking.service usb4net-rdma.service
