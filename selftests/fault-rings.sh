#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Rings and flow control under faults: interrupts that never come, frames that
# are lost, buffers that the host interface does not see for a while, a slow
# receiver, a transmit ring that stops. Nothing waits longer than it has to,
# credits are whole again by themselves, and small packets stay small.
#
# beds: uml qemu
# topology: netns
# timeout: 600
# runs: uml

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"
. "$(dirname "$0")/fault-lib.sh"

# Milliseconds that the loss of an interrupt may cost; slower machines need
# more for the ping itself.
stall_limit=16
last_limit=$stall_limit		# of what is sent last, with nothing behind it
withheld=50000			# microseconds
# Where code takes time, the link is idle when the test gets to what is last: then it is
# found with a keepalive. And it takes longer to fill the ring.
[ "$BED" = uml ] || stall_limit=40 last_limit=600 withheld=400000
# What is wrong if it was not provoked
bad='rx_drop_no_.*|rx_drop_overrun|rx_flow_control_errors|tx_drop_.*|end_.*'

begin()
{
	counters a > /tmp/a && counters b > /tmp/b && emu fault off
}

# unharmed [ERE]: no session has ended, and nothing was dropped by us. With
# ERE nothing of that has changed, either.
unharmed()
{
	local side got

	for side in a b; do
		got=$(changes /tmp/$side $side "$bad${1:+|$1}")
		[ -z "$got" ] || fail "$side: $got" || return
	done
}

# hurt KIND SIDE: faults of this kind have happened at this side's router.
hurt()
{
	local router=0 n

	[ "$2" = a ] || router=1
	n=$(emu_stat $router.fault."$1") || return
	echo "$1 at $2: $n"
	[ "$n" -gt 0 ] || fail "no fault $1 at $2"
}

# longest_ping OPTION...: all come back, the slowest within the limit.
longest_ping()
{
	local out max

	out=$(on_a ping -n "$@" "$B_IP") || { echo "$out"; return 1; }
	echo "$out" | tail -n 2
	grep -q ' 0% packet loss' <<< "$out" || return
	max=$(sed -n 's,^rtt .*/\([0-9]*\)\.[0-9]*/[0-9.]* ms.*,\1,p' <<< "$out")
	[ "$max" -lt "$stall_limit" ] || fail "a ping has taken $max ms"
}

# sink a|b: somebody on that side has UDP port 9000 and never reads from it.
sink()
{
	bg_on "$1" python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)	# SO_RCVBUFFORCE
s.bind(("", 9000))
time.sleep(60)' > /dev/null 2>&1
	SINK=$BG_PID
	busywait 20000 bound "$1"
}

bound()
{
	on "$1" ss -Huan "sport = :9000" | grep -q .
}

sink_end()
{
	kill "$SINK"
	wait "$SINK" 2> /dev/null
	return 0
}

# trickle SIDE COUNT PAUSE: datagrams of 26 bytes from that side to the sink
trickle()
{
	on "$1" python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[2])):
    s.sendto(b"x" * 26, (sys.argv[1], 9000))
    time.sleep(float(sys.argv[3]))' "$(ip_of "$(other_side "$1")")" "$2" "$3"
}

# Traffic has just ceased, and nothing follows that could make up for it.
last_interrupt_lost()
{
	local i lost=0

	begin || return
	for i in 1 2 3 4 5 6 7 8; do
		on_a ping -q -c 3 -i 0.002 "$B_IP" > /dev/null
		fault irq-drop router $((i % 2)) count 1 &&
			stall_limit=$last_limit longest_ping -q -c 1 -W 2 ||
				return
		! emu fault list | grep -q 'done 1$' || lost=$((lost + 1))
		emu fault off
	done
	echo "lost: $lost"
	[ $lost -ge 4 ] || fail "few interrupts were lost" || return
	unharmed rx_lost_frames
}

# Datagrams one way, so that their receiver has no other reason to look at its
# ring. None waits for the next one.
interrupts_counted()
{
	local side n

	for side in a b; do
		begin && sink "$side" || return
		fault irq-drop router "$([ $side = a ] && echo 0 || echo 1)" \
			every 20
		trickle "$(other_side $side)" 200 0.01
		sink_end
		hurt irq-drop $side || return
		n=$(changes /tmp/$side $side rx_lost_interrupts)
		echo "$side: $n"
		[ "${n#*=}" -ge 8 ] || fail "not counted at $side" || return
		unharmed rx_lost_frames || return
	done
}

one_of_280()
{
	begin && fault irq-drop router 0 every 280 &&
		fault irq-drop router 1 every 280 || return
	stream a 10000000 && longest_ping -q -c 300 -i 0.002 || return
	hurt irq-drop a && hurt irq-drop b && emu fault off &&
		unharmed rx_lost_frames
}

late_interrupts()
{
	begin && fault irq-delay us 2000 chance 50 && stream a 10000000 ||
		return
	hurt irq-delay a && hurt irq-delay b && emu fault off &&
		unharmed rx_lost_frames
}

stream_ms()
{
	local start

	start=$(now_ms)
	stream a 10000000 > /tmp/stream || { cat /tmp/stream; return 1; }
	echo $(($(now_ms) - start))
}

# lost a|b: frames lost on their way from that side, by a fault
lost()
{
	emu_stat "$([ "$1" = a ] && echo 0 || echo 1).fault.drop"
}

# More frames get lost than credits may be missing: those would show.
frames_lost()
{
	local before after limit

	begin || return
	before=$(stream_ms) || return
	limit=$(($(lost a) + 64)) limit=$limit,$(($(lost b) + 64))
	fault drop chance 300 || return
	while [ "$(lost a)" -lt "${limit%,*}" ] ||
		[ "$(lost b)" -lt "${limit#*,}" ]; do
		stream a 10000000 > /tmp/stream ||
			{ cat /tmp/stream; return 1; }
	done
	hurt drop a && hurt drop b && emu fault off && unharmed || return
	busywait 3000 credits_whole || return
	after=$(stream_ms) || return
	echo "twice 10 MB: $before ms before, $after ms after"
	[ "$after" -le $((2 * before + 200)) ] || fail "it is slow afterwards"
}

# All that carries credits, and only that
credits_lost()
{
	begin && fault drop eof 6 chance 2 && stream a 10000000 || return
	hurt drop a && hurt drop b && emu fault off && unharmed &&
		busywait 3000 credits_whole
}

# The host interface sees no new buffers while both sides send more than there
# is room for: what finds none is lost there, and nothing but that.
buffers_withheld()
{
	local pid lost

	begin || return
	blast 2 100000000 32000 > /tmp/udp 2>&1 &
	pid=$!
	sleep 0.5
	for _ in 1 2 3 4 5 6; do
		fault withhold for $withheld && sleep 0.1 || return
	done
	wait "$pid" || { cat /tmp/udp; return 1; }
	hurt withhold a && hurt withhold b || return
	lost=$(emu stats | awk '/\.overflows/ { n += $2 } END { print n }')
	echo "lost for want of a buffer: $lost"
	[ "$lost" -gt 0 ] || fail "the ring was never short of buffers" ||
		return
	unharmed && busywait 3000 credits_whole && ping_ok a "$B_IP" 60000
}

overflows()
{
	emu stats | grep -E '\.(overflows|drop\.[a-z_]*) [1-9]' |
		grep -v 'drop.fault'
}

# The receivers look at their rings every 3 ms, in which the senders could send
# many times what there is room for. They stop, and nothing is lost.
slow_receiver()
{
	local before stops

	begin && before=$(overflows)
	fault irq-delay us 3000 || return
	blast 1 100000000 32000 && blast 1 0 60000 && stream a 2000000 &&
		on_a ping -q -c 5 -i 0.01 -s 60000 "$B_IP" || return
	emu fault off
	[ "$(overflows)" = "$before" ] || fail "lost: $(overflows)" || return
	stops=$(changes /tmp/a a tx_queue_stops)
	echo "$stops"
	[ -n "$stops" ] || fail "the sender was never stopped" || return
	unharmed 'rx_lost_frames|rx_lost_packets|tx_forced_frames|rx_drop_.*'
}

# Too many frames in flight: the ring stops for good. The session is ended
# once, and the stream goes on.
ring_stalls()
{
	local ends

	begin && fault delay router 0 us 300 &&
		fault stall router 0 above 60 count 1 || return
	stream a 10000000 || return
	hurt stall a && emu fault off || return
	ends=$(changes /tmp/a a 'end_.*|sessions')
	echo "$ends"
	[ "$ends" = 'end_tx_stall=1 sessions=1' ] || fail "not ended once" ||
		return
	kernel_says a 'link is down: transmit ring has stalled' 1 &&
		busywait 3000 credits_whole || return
	[ "$(counter a tx_window)" = 64 ] ||
		fail "there may be $(counter a tx_window) in flight again"
}

starved()
{
	begin && fault starve && stream a 2000000 && emu fault off && unharmed
}

# Bytes of memory that a datagram of 26 bytes takes in the socket of a reader
# that does not read
small_stays_small()
{
	local mem

	sink b && trickle a 4000 0 || return
	sleep 0.2
	mem=$(on_b ss -Huamn "sport = :9000" |
		sed -n 's/.*skmem:(r\([0-9]*\),.*/\1/p')
	sink_end
	echo "4000 datagrams take $mem bytes"
	[ "$mem" -gt $((4000 * 200)) ] || fail "they did not arrive" || return
	[ "$mem" -le $((4000 * 1280)) ] || fail "$((mem / 4000)) each"
}

ktap_print_header
ktap_set_plan 12
run_step "the link comes up" link_up
check "the last interrupt is lost" last_interrupt_lost
check "lost interrupts are counted" interrupts_counted
check "one interrupt of 280 is lost" one_of_280
check "interrupts come late" late_interrupts
check "one frame of 300 is lost" frames_lost
check "every other CONTROL message is lost" credits_lost
check "buffers are not seen, under load both ways" buffers_withheld
check "fast senders, slow receivers" slow_receiver
check "a transmit ring stops for good" ring_stalls
check "no end-to-end credits" starved
check "a small packet takes little memory" small_stays_small
ktap_finished
