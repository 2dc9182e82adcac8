#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The carrier tells the truth. All frames are lost in one direction, before
# the link is up and afterwards; packets of the handshake are lost or doubled;
# the cable is pulled behind each of them in turn; plug events are lost.
#
# beds: uml qemu
# topology: netns
# timeout: 600
# runs: uml
# runs-long: qemu

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"
. "$(dirname "$0")/fault-lib.sh"

# Milliseconds: 3 s without a frame, or four keepalives that say so, and the
# keepalive's interval until it is noticed
dead_limit=4500
# The longest pause between two attempts, and the attempt
retry_limit=6000
last_packet=24
[ "$SMOKE" = 0 ] || last_packet=6

# one_way SIDE: what it sends is lost.
one_way()
{
	local from=$1 to router=0

	to=$(other_side "$from")
	[ "$from" = a ] || router=1
	counters "$from" > /tmp/from
	counters "$to" > /tmp/to
	emu fault off && fault drop router $router || return
	within $dead_limit patiently 10000 no_carriers || return
	# Whoever notices first says so, and the other one believes it.
	{
		changes /tmp/from "$from" 'end_.*'
		changes /tmp/to "$to" 'end_.*'
	} > /tmp/ends
	cat /tmp/ends
	grep -qE 'end_(tx|rx)_dead=1' /tmp/ends ||
		fail "the reason is not counted" || return
	stays_down 8000 || return
	changes /tmp/from "$from" end_probe | grep -q . ||
		changes /tmp/to "$to" end_probe | grep -q . ||
		fail "no attempt was made" || return
	emu fault off && both_up $retry_limit && ping_ok a "$B_IP"
}

# Nothing gets through at all: nobody can be told, each side notices by itself.
silence()
{
	local side

	counters a > /tmp/a && counters b > /tmp/b && emu fault off &&
		fault drop && fault xd-drop &&
		within $dead_limit patiently 10000 no_carriers || return
	for side in a b; do
		changes /tmp/$side $side end_rx_dead | grep -qx end_rx_dead=1 ||
			fail "$side does not say why" || return
	done
	emu fault off && both_up $retry_limit && ping_ok a "$B_IP"
}

# The one that is not heard learns it from the other one's keepalives. They say so
# four times before the other one gives up itself, if the last frame has not come
# just before one of them: so at several times between them.
not_heard()
{
	local i

	counters a > /tmp/a && emu fault off || return
	for i in 1 2 3 4 5; do
		sleep 0.$i
		ping_ok a "$B_IP" && fault drop router 0 &&
			patiently 10000 no_carriers || return
		emu fault off && both_up $retry_limit || return
		! changes /tmp/a a end_tx_dead | grep -q . || return 0
	done
	fail "A has never been told"
}

# The port of the RDMA device is no more active than the carrier is there.
rdma_down()
{
	on_a rdma link show "$A_RXE/1" | grep -q 'state DOWN' &&
		on_b rdma link show "$B_RXE/1" | grep -q 'state DOWN'
}

# never_up SIDE: there is no carrier before frames have passed both ways.
never_up()
{
	local router=0

	[ "$1" = a ] || router=1
	emu fault off && on_a ip link set "$A_DEV" down &&
		busywait 5000 no_carriers || return
	fault drop router $router && on_a ip link set "$A_DEV" up || return
	stays_down 8000 && rdma_down || return
	emu fault off && both_up $retry_limit && _rxe_active a "$A_RXE" &&
		_rxe_active b "$B_RXE" && ping_ok b "$A_IP"
}

logged()
{
	local run

	for run in on_a root_b; do
		$run dmesg
	done | grep -E 'link is down: (nothing received|peer (receives nothing|has left, (nothing received|peer receives)))'
}

# handshake_with RULE...: the handshake succeeds although the rule applies.
handshake_with()
{
	emu fault off && on_a ip link set "$A_DEV" down &&
		busywait 5000 no_carriers || return
	fault "$@" && on_a ip link set "$A_DEV" up || return
	both_up 20000 && ping_ok a "$B_IP" || return
	emu fault list
	emu fault list | grep -q 'done [1-9]' || fail "nothing went wrong" ||
		return
	emu fault off
}

pull_at_all()
{
	local n

	for n in $(seq 0 $last_packet); do
		pull_at "$n" || fail "packet $n" || return
		[ $((n % 8)) != 7 ] || { unplugged && plugged; } ||
			fail "after packet $n" || return
	done
	unplugged && plugged
}

# It is sent again until it is acknowledged.
lost_event()
{
	unplugged && fault event-drop count 2 && plugged || return
	emu fault list | grep 'done 2' && emu fault off
}

ktap_print_header
ktap_set_plan 16
run_step "the link comes up" link_up
run_step "RDMA devices" rxe_up
check "all that A sends is lost: carrier off, and back" one_way a
check "all that B sends is lost: carrier off, and back" one_way b
check "all that both send is lost" silence
check "the one that is not heard is told" not_heard
check "the reason is in the kernel's log" logged
check "no carrier unless A is heard" never_up a
check "no carrier unless B is heard" never_up b
check "a handshake whose requests get lost" handshake_with \
	xd-drop router 0 every 2
check "a handshake whose answers get lost" handshake_with \
	xd-drop router 1 every 3
check "a handshake in which everything comes twice" handshake_with xd-dup
check "a handshake with probes that get lost" handshake_with \
	drop eof 6 every 2 count 4
check "the cable is pulled at any packet" pull_at_all
check "plug events get lost" lost_event
check "RDMA devices again" rxe_up
ktap_finished
