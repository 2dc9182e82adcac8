# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What somebody has configured before the machine of systemd.sh boots: a name and
# addresses for the link to one host, none for the other one, RDMA on all.

examples=/usb4net/examples

# The UUIDs of the emulator's hosts 1 and 0
mkdir -p /etc/udev/rules.d /etc/systemd/network
sed -e 's/00000000-0000-0000-0000-000000000001/01010000-00b4-e400-ffff-ffffffffffff/' \
	$examples/70-usb4net.rules > /etc/udev/rules.d/70-usb4net.rules
sed 's/^Address=.*/Address=10.0.7.1\/24/' $examples/70-usb4net.network \
	> /etc/systemd/network/70-usb4net.network
systemctl enable systemd-networkd.service usb4net-rdma.service
