#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RDMA over a link that loses frames: every verb on reliable queue pairs, every
# byte verified, while frames get lost, cut, flagged or late, and interrupts
# do. And what is counted: packets that bypass the network stack are counted
# at both ends like others.
#
# beds: uml qemu
# topology: netns
# timeout: 600
# runs: uml

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"
. "$(dirname "$0")/fault-lib.sh"

sizes=1,4096,4097,65536,1M
count=8
[ "$SMOKE" = 0 ] || sizes=1,65536 count=4
bad='rx_drop_no_.*|rx_drop_overrun|rx_flow_control_errors|end_.*'

# under KIND [WORD N]...: all verbs, from both sides.
under()
{
	local side got

	counters a > /tmp/a && counters b > /tmp/b && emu fault off &&
		emu fault seed 7 && fault "$@" || return
	for side in a b; do
		verbs_check $side -s $sizes -n $count -T 60 || return
	done
	emu fault list
	emu fault list | grep -q 'done [1-9]' || fail "nothing went wrong" ||
		return
	emu fault off
	for side in a b; do
		got=$(changes /tmp/$side $side "$bad")
		[ -z "$got" ] || fail "$side: $got" || return
	done
	busywait 3000 credits_whole
}

# Mixed traffic, through the stack and past it. Then what one side has sent is
# what the other one has received.
mixed()
{
	verbs_check a -s 1,1000,4096,65536 -n 16 && stream b 2000000 &&
		ping_ok a "$B_IP" 8000 && ping_ok b "$A_IP6" 60000 &&
		busywait 2000 same_at_both_ends
}

same_at_both_ends()
{
	local from to x y

	stats_equal || return
	for from in a b; do
		to=$(other_side $from)
		x=$(counter $from roce_tx_packets)
		y=$(counter "$to" roce_rx_packets)
		echo "RoCE: $from sent $x, $to received $y"
		[ "$x" = "$y" ] && [ "$x" -gt 500 ] || return
	done
}

ktap_print_header
ktap_set_plan 9
run_step "the link comes up" link_up
run_step "RDMA devices" rxe_up
check "statistics agree over mixed packets" mixed
check "one frame of 1000 is lost" under drop chance 1000
check "one frame of 1000 has a CRC error" under crc chance 1000
check "one frame of 1000 is cut" under truncate chance 1000
check "one frame of 300 is late" under delay chance 300 us 500
check "one interrupt of 28 is lost" under irq-drop every 28
check "rping at the end" rping_ok a
ktap_finished
