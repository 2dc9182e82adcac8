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

# Sixteen queue pairs at each end, eight of whose clients are at A and eight at B.
many()
{
	local n side pids=() rc=0 bin=/usb4net/bin/verbs_check

	emu fault off && emu fault seed 7 && fault drop chance 1000 || return
	for n in $(seq 16); do
		[ $((n % 2)) = 0 ] && side=a || side=b
		bg_on $side $bin -d "$(rxe_of $side)" -g "$(gid_index $side)" \
			-p $((18800 + n)) -T 60 > "/tmp/many.server$n" 2>&1
		pids+=("$BG_PID")
	done
	for n in $(seq 16); do
		[ $((n % 2)) = 0 ] && side=b || side=a
		busywait 5000 listening "$(other_side $side)" $((18800 + n)) ||
			return
		bg_on $side $bin -d "$(rxe_of $side)" -g "$(gid_index $side)" \
			-p $((18800 + n)) -s 1,4097,65536 -n 8 -T 60 \
			"$(ip_of "$(other_side $side)")" > "/tmp/many.client$n" 2>&1
		pids+=("$BG_PID")
	done
	for n in "${pids[@]}"; do
		wait "$n" || rc=1
	done
	cat /tmp/many.*
	emu fault list
	emu fault list | grep -q 'done [1-9]' || fail "nothing went wrong" ||
		return
	emu fault off
	[ $rc = 0 ] && busywait 3000 credits_whole
}

# set_flags NAME on|off: at A, then at B
set_flags()
{
	local side

	for side in a b; do
		on $side ethtool --set-priv-flags "$(dev_of $side)" "$1" "$2" ||
			return
		sleep 0.0003
	done
}

# The bypass and what it does are turned off and on all the time, so that packets
# of a message take different ways and come in another order.
flags_change()
{
	local side name rc=0

	while :; do
		for name in roce-bypass roce-multi-psn roce-icrc-elision; do
			set_flags $name off && sleep 0.0007 &&
				set_flags $name on && sleep 0.0011 || exit
		done
	done &
	for side in a b; do
		verbs_check $side -s $sizes -n $((4 * count)) -T 60 || rc=1
	done
	kill $! && wait $! 2> /dev/null
	for name in roce-bypass roce-multi-psn roce-icrc-elision; do
		set_flags $name on || return
	done
	return $rc
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
ktap_set_plan 11
run_step "the link comes up" link_up
run_step "RDMA devices" rxe_up
check "statistics agree over mixed packets" mixed
check "one frame of 1000 is lost" under drop chance 1000
check "one frame of 1000 has a CRC error" under crc chance 1000
check "one frame of 1000 is cut" under truncate chance 1000
check "one frame of 300 is late" under delay chance 300 us 500
check "one interrupt of 28 is lost" under irq-drop every 28
check "one frame of 1000 is lost, 16 queue pairs" many
check "the flags of the bypass change all the time" flags_change
check "rping at the end" rping_ok a
ktap_finished
