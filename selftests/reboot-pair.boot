# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What somebody has configured before the machines of reboot-pair.sh boot: each calls
# the link to-other, has an address on it, and RDMA devices.

examples=/usb4net/examples
n=1
! grep -q 'usb4net\.side=b' /proc/cmdline || n=2

mkdir -p /etc/udev/rules.d /etc/systemd/network
cat > /etc/udev/rules.d/70-usb4net.rules <<- 'END'
ACTION=="add", SUBSYSTEM=="net", ATTR{usb4net/peer_uuid}=="?*", NAME="to-other"
END
sed -e 's/to-storage/to-other/' -e "s/^Address=.*/Address=10.0.0.$n\/24/" \
	$examples/70-usb4net.network > /etc/systemd/network/70-usb4net.network
systemctl enable systemd-networkd.service usb4net-rdma.service
