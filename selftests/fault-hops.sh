#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Host interfaces with three rings in each direction: one is for control, two
# are left. thunderbolt_net takes them first, on two cables; the driver says
# what it lacks, and works when there is one again.
#
# beds: uml qemu
# topology: netns
# timeout: 300
# runs: uml
# runs-long: qemu
# emu-args: -n 3 -p 0.1-1.1 -p 0.3-1.3

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"
. "$(dirname "$0")/fault-lib.sh"

# The netdevs of thunderbolt_net, whichever side they belong to
stock_devs()
{
	local dev

	for dev in /sys/class/net/thunderbolt*; do
		[ -e "$dev" ] && basename "$dev"
	done
}

ours_devs()
{
	local dev

	for dev in /sys/class/net/usb4net*; do
		[ -e "$dev" ] && basename "$dev"
	done
}

count()
{
	[ "$("$1" | wc -l)" = "$2" ]
}

load_both()
{
	emu unplug 0.1 && emu unplug 0.3 && mod_load thunderbolt_net &&
		mod_load usb4net_rdma && emu plug 0.1 1.1 &&
		emu plug 0.3 1.3 && busywait 30000 count stock_devs 4 &&
		busywait 30000 count ours_devs 4
}

three_rings()
{
	emu status
	[ "$(emu status | grep -c 'hops 3 ')" = 2 ]
}

# Each takes a pair of rings of its host when it is opened.
stock_up()
{
	local dev

	for dev in $(stock_devs); do
		ip link set "$dev" up || return
	done
}

refused()
{
	local dev out

	for dev in $(ours_devs); do
		! out=$(ip link set "$dev" up 2>&1) || fail "$dev is up" ||
			return
		echo "$out"
		grep -q 'No space left on device' <<< "$out" || return
	done
}

told()
{
	dmesg | grep 'no free pair of rings'
	kernel_says a 'usb4net.*no free pair of rings: the host interface has 3, one of them for control; close another user \(thunderbolt_net\?\) first' 4
}

# One of the two on each host, of the cable between the first ports
one_freed()
{
	local a b

	a=$(find_dev a thunderbolt) && b=$(find_dev b thunderbolt) &&
		ip link set "$a" down && ip link set "$b" down
}

# On whichever cable: any pair is as good as another.
works()
{
	link_wait && link_addr && ping_ok a "$B_IP" 8000 &&
		ping_ok b "$A_IP6" 60000 && stream a 2000000
}

ktap_print_header
ktap_set_plan 9
check "both hosts have three rings" three_rings
run_step "two cables, two drivers, four netdevs each" load_both
run_step "thunderbolt_net takes all rings" stock_up
check "opening ours fails" refused
check "and says why, once for each" told
run_step "thunderbolt_net gives one pair back" one_freed
run_step "the link works" works
run_step "RDMA devices" rxe_up
check "RDMA works" verbs_check b -s 1,4097,65536 -n 4
ktap_finished
