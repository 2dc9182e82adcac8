#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The emulator as a module of UML, in virtual time, under the kernel's own
# thunderbolt, thunderbolt_net and rdma_rxe: traffic, cable, drivers and the
# emulator itself come and go. "make test" runs this through um-repeat.sh,
# twice, and compares.
#
# beds: uml
# topology: netns
# timeout: 120
# runs: none
# uml-mode: inf-cpu

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

devices=/sys/bus/thunderbolt/devices

hosts_there()
{
	[ -e $devices/0-1/unique_id ] && [ -e $devices/1-1/unique_id ]
}

hosts_gone()
{
	! compgen -G "$devices/*-[1-9]*" > /dev/null
}

nhis()
{
	local n

	n=$(compgen -G '/sys/bus/pci/devices/*' | wc -l)
	[ "$n" = "$1" ] || fail "$n PCI functions, not $1"
}

no_netdev()
{
	! compgen -G "$devices/*/net/*" > /dev/null
}

# Sleeping must cost the guest what it says, and the host nothing.
sleeps()
{
	local before after

	before=$(date +%s)
	sleep 3600
	after=$(date +%s)
	[ $((after - before)) = 3600 ] || fail "slept $((after - before)) s"
}

# Router solicitations and multicast listener reports are sent at random times,
# and would make the counts of two runs differ.
no_random_frames()
{
	local knob ns

	ip netns add b && ip -n b link set lo up || return
	for knob in router_solicitations=0 mldv2_unsolicited_report_interval=1; do
		for ns in all default; do
			sysctl -qw "net.ipv6.conf.$ns.$knob" &&
			ip netns exec b sysctl -qw "net.ipv6.conf.$ns.$knob" ||
				return
		done
	done
}

traffic()
{
	check "$1: ping" ping_ok a "$B_IP" 1400 -c 20 -i 0.1
	check "$1: ibv_rc_pingpong" pingpong a rc -e -n 200
	check "$1: rping" rping_ok b
}

# What the emulator has counted, frame by frame and access by access.
show_counts()
{
	emu stats | grep -E '\.(mmio_(reads|writes)|msis|[tr]x1\.frames) ' |
		sed "s/^/# $1: /"
}

cable_in()
{
	check "$1: plug" emu plug 0.1 1.1
	check "$1: the hosts find each other" busywait 20000 hosts_there
	run_step "$1: the link is up" link_up thunderbolt
}

cable_out()
{
	check "$1: unplug" emu unplug 0.1
	check "$1: the hosts are gone" busywait 10000 hosts_gone
	check "$1: the netdevs are gone" busywait 10000 no_netdev
}

ktap_print_header
ktap_set_plan 33

check "an hour passes in no time" sleeps
check "nothing is sent at random times" no_random_frames
run_step "the link is up" link_up thunderbolt
load_stock_rxe
run_step "rdma link add" rxe_up
traffic first
show_counts first

cable_out cable
cable_in cable
run_step "cable: rdma link add" rxe_up
traffic cable

cable_out drivers
check "drivers: unload" mod_unload rdma_rxe thunderbolt_net thunderbolt
check "drivers: load" mod_load thunderbolt_net
cable_in drivers

# thunderbolt would leave devices of hosts that are still plugged in behind.
cable_out emulator
check "emulator: unload under its drivers" rmmod usb4emu_um
check "emulator: its functions are gone" nhis 0
check "emulator: load" insmod /usb4net/emu/usb4emu_um.ko
check "emulator: its functions are back" nhis 2
run_step "emulator: the link is up" link_up thunderbolt
ktap_finished
