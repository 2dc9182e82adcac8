#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the netdev promises the stack besides content: payload is sent from where it
# lies, and belongs to the sender again when the ring has read it; nobody is
# interrupted for what he has sent; what waits in the ring is limited (BQL); a packet
# of 64 KiB takes few frames; pages that packets were received in are used again.
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

stackcheck=(python3 /usb4net/selftests/stackcheck.py)
hold_ms=300
bql=/sys/class/net/DEV/queues/tx-0/byte_queue_limits

sink_up()
{
	bg_on b "${stackcheck[@]}" sink "$B_IP" > /tmp/sink 2>&1
	busywait 10000 listening b 18730
}

send()
{
	on_a timeout 60 "${stackcheck[@]}" "$1" "$B_IP" "${@:2}"
}

# held: A's ring stands still at the next packet of several frames
held()
{
	emu fault off && fault delay router 0 eof 4 us $((hold_ms * 1000)) count 1
}

# Changed after it was sent, before the ring has read it: what arrives is new, but
# for what is sent with the headers.
not_copied()
{
	local got kind size new

	: > /tmp/sink
	held && got=$(send unread "$1") || return
	echo "$got"
	[ "$got" = "sent 60000 early False copied False" ] || return
	busywait 5000 grep -q "^$1" /tmp/sink || return
	read -r kind size new < /tmp/sink
	echo "$kind: $size bytes, $new of them new"
	[ "$size" = 60000 ] && [ "$new" -ge $((size - 256)) ]
}

# interrupts a|b: interrupts of that side's host interface.
# sent_by a|b: frames of all its rings
interrupts()
{
	emu_stat "$([ "$1" = a ] && echo 0 || echo 1).msis"
}

sent_by()
{
	emu stats | awk -v r="$([ "$1" = a ] && echo 0 || echo 1)" '
		$1 ~ "^" r "\\.tx[1-9][0-9]*\\.frames$" { n += $2 }
		END { print n + 0 }'
}

# not_interrupted CMD...: A sends, and gets no more interrupts than there are frames
# for it.
not_interrupted()
{
	local irqs frames sent

	irqs=$(interrupts a) frames=$(sent_by b) sent=$(sent_by a)
	"$@" && sleep 0.1 || return
	irqs=$(($(interrupts a) - irqs)) frames=$(($(sent_by b) - frames))
	sent=$(($(sent_by a) - sent))
	echo "A: $sent frames sent, $frames for it, $irqs interrupts"
	[ "$sent" -ge 200 ] && [ "$frames" -le $((sent / 8)) ] ||
		fail "not one way" || return
	[ "$irqs" -le "$frames" ]
}

in_flight()
{
	on_a cat "${bql/DEV/$A_DEV}/inflight"
}

limits()
{
	echo "$1" > "${bql/DEV/$A_DEV}/limit_min" &&
		echo "$2" > "${bql/DEV/$A_DEV}/limit_max"
}

empty()
{
	[ "$(in_flight)" = 0 ]
}

# most_in_flight LEAST MOST: while the ring is held, with more to be sent
most_in_flight()
{
	local n pid

	send datagrams 20000 20 0.01 && busywait 2000 empty && held || return
	send datagrams 20000 20 0 &
	pid=$!
	sleep 0.1
	n=$(in_flight)
	wait "$pid" || return
	echo "$n bytes in flight"
	[ "$n" -ge "$1" ] && [ "$n" -le "$2" ] || return
	busywait 2000 empty || fail "$(in_flight) bytes stay"
}

# With a limit of 30000 bytes the second packet of 20000 is the last one.
limited()
{
	local min max rc=0

	min=$(cat "${bql/DEV/$A_DEV}/limit_min")
	max=$(cat "${bql/DEV/$A_DEV}/limit_max")
	echo "limits: $min, $max"
	limits 0 30000 && most_in_flight 20000 50200 || rc=1
	limits "$min" "$max"
	[ $rc = 0 ] && most_in_flight $((128 * 1024)) $((128 * 1024 + 140000))
}

# grown COUNTER: by how much, since /tmp/a was written
grown()
{
	local v

	v=$(changes /tmp/a a "$1")
	v=${v#*=}
	echo "${v:-0}"
}

# few_frames MTU: 64 KiB of a TCP stream take 18 frames, and half a one on average for
# the small pieces that it begins with, and what they acknowledge
few_frames()
{
	local frames bytes

	on_a ip link set "$A_DEV" mtu "$1" && counters a > /tmp/a &&
		bytes=$(ifstat a tx_bytes) && send stream 20000000 || return
	frames=$(($(grown tx_frames) - $(grown tx_control_frames)))
	bytes=$(($(ifstat a tx_bytes) - bytes))
	echo "$frames frames, $bytes bytes"
	[ "$bytes" -ge 20000000 ] &&
		[ $((frames * 65536 * 2)) -le $((37 * bytes)) ]
}

# allocated: pages that the pools took from the kernel, and from themselves
allocated()
{
	counters b | awk '
		$1 ~ /^rx_pp_alloc_slow/ { slow += $2 }
		$1 == "rx_pp_alloc_fast" { fast = $2 }
		END { print slow, fast }'
}

recycled()
{
	local slow fast n

	send stream 20000000 && read -r slow fast <<< "$(allocated)" || return
	for n in 1 2 3 4 5; do
		send stream 20000000 || return
	done
	read -r n fast <<< "$(allocated | awk -v s="$slow" -v f="$fast" '
		{ print $1 - s, $2 - f }')"
	echo "$fast pages from the pools, $n from the kernel"
	[ "$fast" -ge 2000 ] && [ "$n" -le $((fast / 50)) ]
}

export LINK_MTU=65520
ktap_print_header
ktap_set_plan 13
run_step "the link comes up" link_up
run_step "nothing else is sent" quiet
run_step "a sink" sink_up
check "UDP: payload is not copied" not_copied udp
check "TCP: payload is not copied" not_copied tcp
check "small datagrams: no interrupt for who sends" not_interrupted \
	send datagrams 100 300 0.001
check "large datagrams: no interrupt for who sends" not_interrupted \
	send datagrams 60000 100 0
check "BQL" limited
check "frames for 64 KiB of TCP, MTU 65520" few_frames 65520
check "frames for 64 KiB of TCP, MTU 9000" few_frames 9000
check "frames for 64 KiB of TCP, MTU 1500" few_frames 1500
check "pages are used again" recycled
check "nothing was dropped" no_losses
ktap_finished
