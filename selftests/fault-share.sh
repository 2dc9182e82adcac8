#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Bulk that waits and a flood of small packets share what comes free: neither keeps
# the other one away, and what is kept for RoCE is left to it. With the smallest
# rings, and frames that come free all at once, since the receiver looks every few
# milliseconds, or one by one, on a slow cable. See "Rings" in
# Documentation/design-notes.rst.
#
# beds: uml qemu
# topology: netns
# timeout: 300
# runs: none
# runs-long: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"
# shellcheck source=selftests/fault-lib.sh
. "$(dirname "$0")/fault-lib.sh"

forever=60	# of 50 MB

small_rings()
{
	on_a ethtool -G "$A_DEV" rx 64 tx 64 &&
		on_b ethtool -G "$B_DEV" rx 64 tx 64 && both_up 5000 && quiet &&
		ping_ok a "$B_IP"
}

# Datagrams from A to B as fast as the socket takes them, until load_end
load()
{
	bg_on a python3 /usb4net/selftests/blast.py "$A_IP" "$B_IP" $forever 0 \
		"$1" "$2" > "/tmp/load.$2" 2>&1
	LOAD+=("$BG_PID")
}

moved()
{
	[ "$(changes /tmp/begin a "$1" | cut -d = -f 2)" -ge "$2" ]
} 2> /dev/null

# loads: bulk that waits, and then small packets beside it
loads()
{
	LOAD=()
	fault delay router 0 us 50 && counters a > /tmp/begin && load 60000 1 &&
		busywait 3000 moved tx_queue_stops 20 && load 500 2 &&
		busywait 3000 moved tx_small_packets 20 && return
	changes /tmp/begin a '.*'
	tail -n 5 /tmp/load.*
	return 1
}

loads_end()
{
	local pid rc=0

	for pid in "${LOAD[@]}"; do
		kill "$pid" || fail "a load has ended: $(cat /tmp/load.*)" || rc=1
		wait "$pid" 2> /dev/null
	done
	return $rc
}

# Frames of a second: all, those of small packets, and of CONTROL
second()
{
	counters a > /tmp/from && sleep 1 && counters a > /tmp/to &&
		join /tmp/from /tmp/to | awk '{ n[$1] = $3 - $2 } END {
			print n["tx_frames"], n["tx_small_packets"],
				n["tx_control_frames"] }'
}

# shared FAULT...: while bulk waits, half of what comes free is its own at least. A packet
# of 16 frames may have to wait for some that it cannot use yet, so it is less than half
# of all. Small packets have four frames each time that bulk has filled the other 51, or
# more of what comes free.
shared()
{
	local all small control bulk

	emu fault off && fault "$@" && sleep 0.5 || return
	read -r all small control < <(second)
	bulk=$((all - small - control))
	echo "of $all frames $bulk were bulk, $small small packets, $control CONTROL"
	[ "$all" -ge 1000 ] || fail "few frames" || return
	[ "$bulk" -ge $((all / 4)) ] || fail "bulk is kept away" || return
	[ "$small" -ge $((all / 20)) ] || fail "small packets are kept away"
}

# With both around, messages of one frame do not wait for room.
roce_passes()
{
	local got

	counters a > /tmp/a && verbs_check b -q rc -s 1,64,1000 -n 4 || return
	got=$(changes /tmp/a a roce_tx_queued)
	[ -z "$got" ] || fail "packets had to wait: $got"
}

unharmed()
{
	local got

	got=$(changes /tmp/begin a 'tx_drop_.*|roce_.x_drop_.*|tx_forced_frames|end_.*')
	[ -z "$got" ] || fail "$got"
}

ktap_print_header
ktap_set_plan 10
run_step "the link comes up" link_up
run_step "RDMA devices" rxe_up
run_step "small rings" small_rings
run_step "bulk, and small packets beside it" loads
check "frames come free all at once: both get their share" \
	shared irq-delay us 3000
check "one by one: both get their share" shared delay router 0 us 50
check "RoCE has its own" roce_passes
check "the load has gone on all the time" loads_end
check "nothing is lost by the sender" unharmed
emu fault off
check "all is well at the end" ping_ok b "$A_IP" 60000
ktap_finished
