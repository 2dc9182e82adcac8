#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "Where did my microseconds go?", the recipe in Documentation/inside.rst, with
# tracefs and with trace-cmd. In virtual time code takes none, so that what the
# emulator delays is all there is, and has to show where it belongs.
#
# beds: uml
# topology: netns
# runs: uml
# timeout: 300
# extra: apps

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

rounds=20
tracing=/sys/kernel/tracing
events='u4n_tx_skb u4n_tx_frame u4n_rx_skb u4n_rx_frame'
where=/usb4net/scripts/where-time-went

trace_on()
{
	local e

	mountpoint -q $tracing || mount -t tracefs tracing $tracing || return
	for e in $events; do
		echo "$1" > "$tracing/events/usb4net_rdma/$e/enable" || return
	done
	# The usual clock is that of jiffies on User Mode Linux. Another one makes the
	# trace empty.
	[ "$1" = 0 ] || echo mono > $tracing/trace_clock
}

# Messages of 1 KiB there and back.
messages()
{
	pingpong b rc -e -s 1024 -n $rounds
}

# table FILE: what became of them, on A
table()
{
	$where -d "$A_DEV" -t ROCE -l 1000 "$1" > /tmp/table
	cat /tmp/table
	[ -s /tmp/table ] || { head -n 40 "$1"; return 1; }
}

traced()
{
	trace_on 1 && messages && trace_on 0 &&
		cat $tracing/trace > /tmp/trace && table /tmp/trace
}

# median STEP
median()
{
	awk -v s="$1 " 'index($0, s) == 1 { print int($(NF - 3)); f = 1 }
		END { exit !f }' /tmp/table
}

# steps_are STEP MIN MAX...: medians in microseconds
steps_are()
{
	local us

	while [ $# -gt 0 ]; do
		us=$(median "$1") || fail "no step $1" || return
		echo "$1: $us us, expected $2 to $3"
		[ "$us" -ge "$2" ] && [ "$us" -le "$3" ] || return
		shift 3
	done
}

rounds_counted()
{
	local n

	n=$(awk '$1 == "away" { print $2 }' /tmp/table)
	echo "$n round trips of $rounds"
	[ "$n" -ge $((rounds - 1)) ] && [ "$n" -le $rounds ]
}

plain()
{
	traced && rounds_counted &&
		steps_are host 0 100 submit 0 100 away 0 100 receive 0 100
}

# delayed ROUTER: what it sends is 3 ms late, and B's message is behind its
# acknowledgement of A's
delayed()
{
	local rc=0

	emu fault delay router "$1" us 3000 || return
	traced && rounds_counted || rc=1
	emu fault off
	[ $rc -eq 0 ] && steps_are host 0 100 submit 0 100 receive 0 100 \
		away 3000 9100 "round trip" 3000 9100
}

# 2 ms between two interrupts of A's, of which most come sooner as NAPI polls, are
# time away from A as well.
moderated()
{
	local rc=0

	ethtool -C "$A_DEV" rx-usecs 2000 && traced || rc=1
	ethtool -C "$A_DEV" rx-usecs 8
	[ $rc -eq 0 ] && steps_are host 0 100 submit 0 100 receive 0 100 \
		away 150 2500
}

# The program stops between two messages: that is the host's.
with_trace_cmd()
{
	local e args=()

	for e in $events; do
		args+=(-e "usb4net_rdma:$e")
	done
	trace-cmd record -q -C mono -o /tmp/trace.dat "${args[@]}" ping -n -c 5 -i 0.05 \
		-s 5000 "$B_IP" > /tmp/record 2>&1 || { cat /tmp/record; return 1; }
	trace-cmd report -i /tmp/trace.dat 2> /dev/null > /tmp/report
	$where -d "$A_DEV" -t ETH -l 5000 /tmp/report > /tmp/table
	cat /tmp/table
	steps_are host 49000 61000 away 0 500 submit 0 100 receive 0 100 \
		"round trip" 49000 61000
}

nothing_to_see()
{
	: > /tmp/nothing
	! $where /tmp/nothing
}

ktap_print_header
ktap_set_plan 9
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "rdma link add" rxe_up
check "a round trip in steps" plain
check "what B sends is late" delayed 1
check "what A sends is late" delayed 0
check "A's interrupts are moderated" moderated
check "trace-cmd, and a program that waits itself" with_trace_cmd
check "an empty trace is none" nothing_to_see
ktap_finished
