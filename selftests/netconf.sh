#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Addresses with NetworkManager and with ifupdown, in a machine that systemd starts:
# they are there at boot and whenever a cable comes back. Without any the link has
# its IPv6 link-local address. systemd.sh is about systemd-networkd. What is
# configured at boot is in netconf.boot. Both ends of the cable are this machine's:
#
#	to-storage: leads to host 1, addresses by NetworkManager
#	to-client: leads to host 0, addresses by ifupdown
#
# beds: uml qemu
# topology: netns
# timeout: 400
# uml-mode: real
# init: systemd
# extra: netconf
# runs: none
# runs-long: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

replugs=3
nm=/etc/NetworkManager/system-connections

booted()
{
	local state failed

	state=$(timeout 120 systemctl is-system-running --wait)
	failed=$(systemctl --failed --no-legend --plain | awk '{ print $1 }')
	msg "$state; failed: ${failed:-none}"
	! grep -E 'usb4net|NetworkManager|networking|ifup|udev' <<< "$failed"
}

# link_is NAME: carrier, an IPv6 link-local address, an RDMA device
link_is()
{
	carrier a "$1" && ip -6 addr show dev "$1" scope link | grep -q 'inet6 fe80::' &&
	rdma link show | grep -q "link rxe_$1/1 state ACTIVE .*netdev $1"
}

network_manager()
{
	link_is to-storage &&
	ip -4 addr show dev to-storage | grep 'inet 10.0.7.1/24' &&
	nmcli -g GENERAL.STATE,GENERAL.CONNECTION device show to-storage |
		tr '\n' ' ' | grep '^100 .*to-storage'
}

ifupdown()
{
	link_is to-client &&
	ip -4 addr show dev to-client | grep 'inet 10.0.8.1/24' &&
	systemctl is-active "$(systemd-escape --template ifup@.service to-client)" &&
	nmcli -g GENERAL.STATE device show to-client | grep '^10 '
}

state()
{
	usb4net status
	nmcli device
	systemctl --no-pager status "$(systemd-escape --template ifup@.service \
		to-client)"
	journalctl -b --no-pager -o short-monotonic -u 'usb4net-rdma*' -u 'ifup@*' \
		-u systemd-udevd -u networking -u NetworkManager | tail -n 60
	cat /run/network/ifstate
}

comes_up()
{
	patiently 60000 "$@" > /dev/null 2>&1 || { "$@"; state; fail "not up"; }
}

gone()
{
	! compgen -G '/sys/class/net/*/usb4net' && ! rdma link show | grep rxe
}

replug()
{
	emu unplug 0.1 && busywait 20000 gone || fail "something stays" || return
	emu plug 0.1 1.1 && comes_up network_manager && comes_up ifupdown
}

link_local()
{
	link_is to-storage && link_is to-client &&
	[ -z "$(ip -4 addr show dev to-storage)$(ip -4 addr show dev to-client)" ]
}

# No configuration by name any more: the example for all links.
nothing_configured()
{
	systemctl stop "$(systemd-escape --template ifup@.service to-client)" &&
	rm -f $nm/usb4net.nmconnection /etc/network/interfaces.d/usb4net &&
	install -m 600 /usb4net/examples/usb4net-any.nmconnection $nm/ &&
	systemctl restart NetworkManager && emu unplug 0.1 && busywait 20000 gone &&
	emu plug 0.1 1.1 && comes_up link_local &&
	nmcli -g GENERAL.CONNECTION device show to-client | grep usb4net
}

ktap_print_header
ktap_set_plan $((4 + replugs))
check "the system is up" booted
check "NetworkManager" comes_up network_manager
check "ifupdown" comes_up ifupdown
for n in $(seq $replugs); do
	check "replug $n" replug
done
check "no addresses configured: IPv6 link-local" nothing_configured
ktap_finished
