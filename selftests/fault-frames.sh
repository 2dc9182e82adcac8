#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the peer says in a frame is not to be trusted: each field of HEAD and
# CONTROL is forged, frames are lost, cut, doubled, or have a CRC error. The
# packet is dropped, its reason is counted, and the next packet is fine. What
# no loss can explain ends the session, and a new one begins. Exactly full
# frames pass, and no start tag is taken for an end tag.
#
# beds: uml qemu
# topology: netns
# timeout: 600
# runs: uml
# runs-long: qemu

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"
. "$(dirname "$0")/fault-lib.sh"

small=56	# a ping in one HEAD_ONLY
large=8000	# a ping in several BODY frames and a HEAD_END
end_limit=50	# milliseconds
[ "$BED" = uml ] || end_limit=2000
watched='rx_drop_.*|rx_lost_(frames|packets)|rx_flow_control_errors|end_.*|sessions'

# body_frames: BODY frames that B has received, all other packets being in one frame
body_frames()
{
	counters b | awk -v packets="$(ifstat b rx_packets)" '
		$1 == "rx_frames" { n += $2 }
		$1 == "rx_control_frames" { n -= $2 }
		END { print n - packets }'
}

# What one large ping takes
count_bodies()
{
	local before

	before=$(body_frames) && ping_ok a "$B_IP" $large || return
	bodies=$(($(body_frames) - before))
	echo "$bodies BODY frames"
	[ $bodies -ge 2 ]
}

# expect COUNTERS: so they have changed on B, and not otherwise.
expect()
{
	local got

	got=$(changes /tmp/before b "$watched")
	[ "$got" = "$1" ] || fail "$got, not $1"
}

once()
{
	emu fault list | grep -q 'done 1$' || fail "$(emu fault list)"
}

# forge SIZE COUNTERS RULE...: a ping of this size whose frame the rule meets
# gets lost, the next ones do not, and COUNTERS are what changes on B.
forge()
{
	local size=$1 want=$2

	shift 2
	counters b > /tmp/before && emu fault off && fault "$@" router 0 \
		count 1 || return
	! on_a ping -c 1 -W 0.2 -s "$size" "$B_IP" > /dev/null ||
		fail "the packet has passed" || return
	once && ping_ok a "$B_IP" $small && ping_ok a "$B_IP" $large &&
		expect "$want"
}

# alike SIZE COUNT MS: datagrams to B, and which of them arrive
alike()
{
	python3 "$(dirname "$0")/alike.py" "$B_IP" "$@"
}

# mingled SIZE COUNT MS [FIRST]: of so many packets the end of the first, behind FIRST
# frames of it or all but one, and the beginning of the last are lost, with all that is
# between. What is left of them would be one.
mingled()
{
	local size=$1 count=$2 ms=$3 n got lost

	emu fault off && n=$(body_frames) && got=$(alike "$size" 2 0) &&
		[ "$got" = "0 1" ] || fail "$got have arrived" || return
	n=$((($(body_frames) - n) / 2))
	echo "$n BODY frames in each"
	[ "$n" -gt 0 ] || return
	lost=$(((count - 1) * (n + 1)))
	counters b > /tmp/before &&
		fault drop router 0 after "${4:-$n}" count "$lost" &&
		got=$(alike "$size" "$count" "$ms") || return
	emu fault list
	[ -z "$got" ] || fail "$got have arrived" || return
	emu fault off && ping_ok a "$B_IP" $large && expect \
		"rx_drop_truncated=1 rx_lost_frames=$lost rx_lost_packets=$((count - 1))"
}

# body N: matches BODY frame N of the next packet, from 0. Their end tags
# alternate. (Counting all frames would count what else is sent meanwhile.)
body()
{
	echo "eof $((4 + $1 % 2)) after $(($1 / 2)) count 1"
}

# one_for_another SIZE LOST DOUBLED: of a datagram one BODY frame is lost and another
# comes twice, so that there are as many as its HEAD says.
one_for_another()
{
	local size=$1 got gone twice

	read -r -a gone <<< "$(body "$2")"
	read -r -a twice <<< "$(body "$3")"
	emu fault off && counters b > /tmp/before &&
		fault drop router 0 "${gone[@]}" &&
		fault dup router 0 "${twice[@]}" &&
		got=$(alike "$size" 1 0) || return
	emu fault list
	[ -z "$got" ] || fail "$got have arrived" || return
	[ "$(emu fault list | grep -c 'done 1')" -eq 2 ] || return
	emu fault off && ping_ok a "$B_IP" $large || return
	got=$(changes /tmp/before b 'rx_drop_(bad_body|truncated)|rx_lost_frames')
	[ "$got" = 'rx_drop_bad_body=1 rx_drop_truncated=1' ] || fail "$got"
}

# repeats DESCRIPTION CMD...: check, where equal packets lie alike in memory each time,
# or they take different numbers of frames
repeats()
{
	if [ "$BED" = uml ]; then
		check "$@"
	else
		ktap_test_skip "$1"
	fi
}

# late TAG: what comes late is not lost
late()
{
	counters b > /tmp/before && emu fault off &&
		fault delay router 0 eof "$1" us 100000 count 1 || return
	ping_ok a "$B_IP" $large && once && ping_ok a "$B_IP" $large && expect ''
}

# forge_control COUNTERS RULE...: likewise with the next CONTROL message.
forge_control()
{
	local want=$1

	shift
	counters b > /tmp/before && emu fault off && fault "$@" router 0 eof 6 \
		count 1 && busywait 2000 once && sleep 1 &&
		ping_ok a "$B_IP" $small && expect "$want"
}

ended()
{
	changes /tmp/before b end_protocol | grep -qx end_protocol=1
}

# break_flow SIZE RULE...: B gives up the session because of this frame, not of
# the next one, which a keepalive brings soon. There is a new one then.
break_flow()
{
	local size=$1

	shift
	counters b > /tmp/before && emu fault off && fault "$@" router 0 \
		count 1 || return
	on_a ping -c 1 -W 0.05 -s "$size" "$B_IP" > /dev/null
	once && busywait $end_limit ended || fail "the session goes on" ||
		return
	both_up 3000 && ping_ok a "$B_IP" $large || return
	changes /tmp/before b 'end_protocol|rx_flow_control_errors|sessions' |
		grep -x 'end_protocol=1 rx_flow_control_errors=1 sessions=1'
}

flow_logged()
{
	kernel_says b 'link is down: peer breaks flow control' "$1"
}

# A rule that changes nothing counts the frames that have a last byte.
full_frames()
{
	local size

	emu fault off && fault corrupt offset 4095 xor 0 || return
	for size in 4096 8192 12288 16384 32768 60000; do
		ping_ok a "$B_IP" $size && ping_ok b "$A_IP" $size || return
	done
	stream a 10000000 || return
	emu fault list
	emu fault list | grep -q 'done [0-9]\{4\}' || fail "few full frames" ||
		return
	emu fault off
}

nothing_cut()
{
	! emu stats | grep -E '\.rx[0-9]+\.cuts [1-9]' &&
		! emu stats | grep -E '\.drop\.pdf [1-9]'
}

alive()
{
	local what

	for what in 'rx_drop_no_.*' rx_drop_overrun rx_drop_pdf; do
		! counters b | grep -E "^$what [1-9]" || return
	done
	busywait 3000 credits_whole
}

lost='rx_lost_packets=1'
ktap_print_header
ktap_set_plan 71
run_step "the link comes up" link_up
run_step "nothing else is sent" quiet
run_step "a large ping has several BODY frames" count_bodies

# HEAD: fields
for v in 0 9 16; do
	check "HEAD: type $v" forge $small "rx_drop_type=1 $lost" \
		corrupt eof 3 offset 0 set $v
done
check "HEAD: a reserved flag" forge $small "rx_drop_flags=1 $lost" \
	corrupt eof 3 offset 1 xor 128
check "HEAD: the last reserved bit" forge $small "rx_drop_flags=1 $lost" \
	corrupt eof 3 offset 47 xor 128
check "HEAD: another generation" forge $small \
	"rx_drop_generation=1 rx_lost_frames=1 $lost" \
	corrupt eof 3 offset 2 size 2 add 1
for v in 0 13 65601 4294967295; do
	check "HEAD: length $v" forge $small "rx_drop_length=1 $lost" \
		corrupt eof 3 offset 16 size 4 set $v
done
check "HEAD: length off by one" forge $small "rx_drop_length=1 $lost" \
	corrupt eof 3 offset 16 size 4 add 1
for v in 0 13 65535; do
	check "HEAD: inline length $v" forge $small "rx_drop_length=1 $lost" \
		corrupt eof 3 offset 20 size 2 set $v
done
check "HEAD_ONLY with BODY frames" forge $small \
	"rx_drop_frame_count=1 $lost" corrupt eof 3 offset 22 set 2
for v in 0 18 255; do
	check "HEAD_END with $v BODY frames" forge $large \
		"rx_drop_frame_count=1 $lost" \
		corrupt eof 2 offset 22 set $v
done
check "more BODY frames than are sent" forge $large \
	"rx_drop_truncated=1" corrupt eof 2 offset 22 add 1
check "fewer BODY frames than are sent" forge $large \
	"rx_drop_length=1 $lost" \
	corrupt eof 2 offset 22 add 255
check "more bytes than are sent" forge $large \
	"rx_drop_truncated=1" \
	corrupt eof 2 offset 16 size 4 add 1
check "fewer bytes than are sent" forge $large \
	"rx_drop_truncated=1" \
	corrupt eof 2 offset 16 size 4 add 4294967295

# HEAD: metadata of a packet that has none
check "HEAD: a checksum at no place" forge $small "rx_drop_csum=1 $lost" \
	corrupt eof 3 offset 1 xor 1
check "HEAD: the place of no checksum" forge $small "rx_drop_csum=1 $lost" \
	corrupt eof 3 offset 28 size 2 set 34
check "HEAD: segments without a checksum" forge $small \
	"rx_drop_gso=1 $lost" corrupt eof 3 offset 23 set 1
check "HEAD: a size of no segments" forge $small "rx_drop_gso=1 $lost" \
	corrupt eof 3 offset 26 size 2 set 1448
check "HEAD: a tunnel that is not there" forge $small \
	"rx_drop_tunnel=1 $lost" corrupt eof 3 offset 32 size 2 set 40
check "HEAD: PSNs outside RoCE" forge $small "rx_drop_metadata=1 $lost" \
	corrupt eof 3 offset 36 set 1

# Frames
check "a CRC error" forge $small "rx_drop_crc=1 $lost" crc eof 3
check "a CRC error in a BODY frame" forge $large \
	"rx_drop_crc=1 rx_drop_truncated=1" crc eof 5
check "a HEAD shorter than its header" forge $small "rx_drop_short=1 $lost" \
	truncate eof 3 len 47
check "a HEAD shorter than it says" forge $small "rx_drop_length=1 $lost" \
	truncate eof 3 len 90
check "a BODY frame shorter than it should be" forge $large \
	"rx_drop_truncated=1" truncate eof 5 len 1
check "a HEAD_ONLY is lost" forge $small "rx_lost_frames=1 $lost" drop eof 3
check "a HEAD_END is lost" forge $large \
	"rx_drop_orphan_body=1 rx_lost_frames=1 $lost" drop eof 2
check "the first BODY frame is lost" forge $large \
	"rx_drop_bad_body=1 rx_drop_truncated=1 rx_lost_frames=1" drop eof 4
check "the last BODY frame is lost" forge $large \
	"rx_drop_truncated=1 rx_lost_frames=1" drop after $((bodies - 1))
for v in "6000 2" "9000 2" "15000 2" "15000 9" "9000 10" "6000 19"; do
	repeats "the end of a packet and the beginning of another, $v" \
		mingled "${v% *}" "${v#* }" 0
done
for v in 1 3 7; do
	repeats "the same behind $v frames" mingled 60000 2 0 $v
done
repeats "the same, 50 ms apart" mingled 6000 11 5
for v in "3 2" "3 4" "4 8" "9 5" "10 2"; do
	check "of a packet's BODY frames one is lost, one comes twice: $v" \
		one_for_another 60000 "${v% *}" "${v#* }"
done
for v in 2 4 5; do
	check "a frame is late, end tag $v" late $v
done

# CONTROL
check "CONTROL: unknown type" forge_control rx_drop_type=1 \
	corrupt offset 0 set 99
check "CONTROL: reserved flag" forge_control rx_drop_flags=1 \
	corrupt offset 1 xor 128
check "CONTROL: a list where none belongs" forge_control rx_drop_control=1 \
	corrupt offset 20 size 2 set 65
check "CONTROL: short" forge_control rx_drop_short=1 truncate len 23
check "CONTROL: another cookie" forge_control \
	"rx_drop_generation=1 rx_lost_frames=1" \
	corrupt offset 18 size 2 xor 4660

# Flow control
check "a number far ahead" break_flow $small \
	corrupt eof 3 offset 4 size 4 add 5000
check "a limit beyond what was sent" break_flow $small \
	corrupt eof 3 offset 8 size 4 add 5000
check "a limit that goes backwards" break_flow $small \
	corrupt eof 3 offset 8 size 4 add 4294966000
check "a frame that comes twice" break_flow $small dup eof 3
check "each has been logged" flow_logged 4
check "exactly full frames" full_frames
check "no frame was cut at its start tag" nothing_cut
check "all is well at the end" alive
ktap_finished
