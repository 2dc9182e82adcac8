#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Names that stay: cables are plugged in in another order, swapped, or lead to the
# same host twice, and a device is called after the peer, or after the peer and
# the port, whatever number the kernel has given to it. The rules are those of
# Documentation/examples.
#
#	host 0 port A (1) ===== host 1, to-storage
#	host 0 port B (3) ===== host 2, to-node2-a at port A, to-node2-b at B
#
# beds: uml
# topology: netns
# timeout: 200
# emu-args: -r 3 -u
# runs: none
# runs-long: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

examples=/usb4net/examples
rules=/run/udev/rules.d/70-usb4net.rules
link=/run/systemd/network/70-usb4net.link

host_domain()
{
	/usb4net/bed/netdev domain "$1"
}

host_uuid()
{
	local dom

	dom=$(host_domain "$1") || return
	cat "/sys/bus/thunderbolt/devices/${dom#domain}-0/unique_id"
}

# netdevs: name, peer, port and MAC address of the devices of host 0.
netdevs()
{
	local dom net

	dom=$(host_domain 0) || return
	for net in "/sys/bus/thunderbolt/devices/${dom#domain}-"*/net/*; do
		[ -d "$net" ] || continue
		echo "${net##*/} $(cat "$net/usb4net/peer_uuid")" \
			"$(cat "$net/usb4net/port") $(cat "$net/address")"
	done 2> /dev/null
}

netdevs_are()
{
	[ "$(netdevs | wc -l)" = "$1" ]
}

unplug_all()
{
	emu unplug 0.1
	emu unplug 0.3
	busywait 10000 netdevs_are 0
}

# cables PORT PORT...: these and no others, in this order.
cables()
{
	local n=$(($# / 2))

	unplug_all || return
	while [ $# -gt 0 ]; do
		emu plug "$1" "$2" || return
		busywait 20000 netdevs_are $((n - $# / 2 + 1)) || return
		shift 2
	done
	udevadm settle
}

# named NAME HOST PORT: so is the device to that host at that port called.
named()
{
	netdevs
	netdevs | grep -q "^$1 $(host_uuid "$2") $3 " ||
		fail "no $1 to host $2 at port $3"
}

mac_of()
{
	netdevs | awk -v n="$1" '$1 == n { print $4 }' | grep .
}

start_udev()
{
	mkdir -p "${rules%/*}" "${link%/*}" &&
	sed -e "s/00000000-0000-0000-0000-000000000001/$(host_uuid 1)/" \
		-e "s/00000000-0000-0000-0000-000000000002/$(host_uuid 2)/" \
		$examples/70-usb4net.rules > $rules || return
	! cmp $rules $examples/70-usb4net.rules || return
	/usr/lib/systemd/systemd-udevd --daemon && udevadm settle
}

# leads_to NAME HOST: that host's end of the cable is its own only device, and
# answers.
leads_to()
{
	local dev rc=0

	dev=$(/usb4net/bed/netdev name "$2" usb4net ||
		/usb4net/bed/netdev name "$2" '') || fail "$dev" || return
	ip netns add peer && ip link set "$dev" netns peer &&
	ip -n peer link set "$dev" up &&
	ip -n peer addr add 10.0.7.2/24 dev "$dev" &&
	ip link set "$1" up && ip addr add 10.0.7.1/24 dev "$1" &&
	busywait 10000 carrier a "$1" && ping_ok a 10.0.7.2 || rc=1
	ip netns del peer
	return $rc
}

two_hosts()
{
	cables 0.1 1.1 0.3 2.1 && named to-storage 1 1 && named to-node2-b 2 3
}

other_order()
{
	local storage node2

	storage=$(mac_of to-storage) && node2=$(mac_of to-node2-b) &&
	cables 0.3 2.1 0.1 1.1 && named to-storage 1 1 &&
	named to-node2-b 2 3 && [ "$(mac_of to-storage)" = "$storage" ] &&
	[ "$(mac_of to-node2-b)" = "$node2" ]
}

# The name follows the peer, the MAC address the port as well.
swapped()
{
	local storage

	storage=$(mac_of to-storage) && cables 0.1 2.1 0.3 1.1 &&
	named to-storage 1 3 && named to-node2-a 2 1 &&
	[ "$(mac_of to-storage)" != "$storage" ] && leads_to to-storage 1 &&
	two_hosts && [ "$(mac_of to-storage)" = "$storage" ] &&
	leads_to to-storage 1
}

two_cables()
{
	local a b

	cables 0.1 2.1 0.3 2.3 && named to-node2-a 2 1 &&
	named to-node2-b 2 3 && a=$(mac_of to-node2-a) &&
	b=$(mac_of to-node2-b) && [ "$a" != "$b" ] &&
	cables 0.3 2.3 0.1 2.1 && named to-node2-a 2 1 &&
	named to-node2-b 2 3 && [ "$(mac_of to-node2-a)" = "$a" ] &&
	cables 0.3 2.1 0.1 2.3 && named to-node2-a 2 1 &&
	named to-node2-b 2 3 && [ "$(mac_of to-node2-a)" = "$a" ] &&
	[ "$(mac_of to-node2-b)" = "$b" ]
}

reloaded()
{
	unplug_all && mod_unload usb4net_rdma && mod_load usb4net_rdma &&
		two_hosts
}

# The other example: by the MAC address, that is by the cable's place.
by_mac()
{
	local mac

	mac=$(mac_of to-storage) && rm $rules &&
	sed "s/02:00:00:00:00:01/$mac/; s/to-storage/first-port/" \
		$examples/70-usb4net.link > $link && grep -q "$mac" $link &&
	udevadm control --reload && cables 0.3 2.1 0.1 1.1 &&
	named first-port 1 1 && cables 0.1 2.1 0.3 1.1 || return
	netdevs
	! netdevs | grep '^first-port ' && cables 0.1 1.1 &&
		named first-port 1 1
}

ktap_print_header
ktap_set_plan 8
run_step "the driver is loaded, no cable is in" mod_load usb4net_rdma
run_step "udev, with the example's rules" start_udev
check "a cable to each of two hosts" two_hosts
check "in another order" other_order
check "swapped, and back" swapped
check "two cables to one host" two_cables
check "the driver is loaded again" reloaded
check "a name by MAC address" by_mac
udevadm control --exit
ktap_finished
