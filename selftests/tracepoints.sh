#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the tracepoints say is true: as many frames and packets as are counted, with
# the sizes that were sent; a frame that is dropped, with its reason; and a handshake
# from the end of a session to the next one.
#
# beds: uml qemu
# topology: netns
# timeout: 200
# runs: none
# runs-long: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"
# shellcheck source=selftests/fault-lib.sh
. "$(dirname "$0")/fault-lib.sh"

tracing=/sys/kernel/tracing
events=$tracing/events/usb4net_rdma
pings=5
size=5000
head_size=48	# link header, in front of what a HEAD frame has of the packet
traffic='u4n_tx_skb u4n_rx_skb u4n_tx_frame u4n_tx_frame_done u4n_rx_frame u4n_rx_frame_drop'
handshake='u4n_hs_state u4n_hs_leave u4n_hs_send u4n_hs_receive'

# Those that there are, and none that this test does not know
all_known()
{
	local e there

	mountpoint -q $tracing || mount -t tracefs tracing $tracing || return
	there=$(cd $events && printf '%s\n' */ | tr -d / | sort)
	[ "$there" = "$(for e in $traffic $handshake; do echo "$e"; done |
		sort)" ] || fail "$there"
}

# traced EVENTS CMD...: what they say of A's device while CMD runs, in /tmp/trace
traced()
{
	local e rc=0

	echo > $tracing/trace
	for e in $1; do
		echo 1 > $events/"$e"/enable || return
	done
	"${@:2}" || rc=1
	for e in $1; do
		echo 0 > $events/"$e"/enable || return
	done
	sed -n "s/.* \(u4n_[a-z_]*\): dev=$A_DEV /\1 /p" $tracing/trace \
		> /tmp/trace
	tail -n 40 /tmp/trace
	return $rc
}

# lines ERE: number of those that match
lines()
{
	grep -cE "^$1\$" /tmp/trace
}

# lines_are COUNT ERE
lines_are()
{
	local n

	n=$(lines "$2")
	[ "$n" = "$1" ] || fail "$n lines, not $1: $2"
}

# Until what was sent is done with
ping_large()
{
	on_a ping -q -n -c $pings -i 0.01 -s $size "$B_IP" && sleep 0.1
}

# grown COUNTER: by how much, on A
grown()
{
	local v

	v=$(changes /tmp/a a "$1")
	v=${v#*=}
	echo "${v:-0}"
}

# Packets with IP and Ethernet headers
packets()
{
	local len=$((size + 8 + 20 + 14)) dir

	counters a > /tmp/a && traced "$traffic" ping_large || return
	for dir in tx rx; do
		lines_are $pings "u4n_${dir}_skb type=ETH skb=[0-9a-f]+ len=$len data_len=[0-9]+ nr_frags=[0-9]+ gso_size=0" ||
			return
	done
}

# frames DIRECTION EVENT: of packets, so many as are counted and so many bytes as
# the packets have
frames()
{
	local want bytes

	want=$(($(grown "$1_frames") - $(grown "$1_control_frames")))
	[ "$want" -ge $((2 * pings)) ] || fail "$want frames" || return
	lines_are "$want" "$2 dir=$1 index=[0-9]+ pdf=(HEAD_(END|ONLY)|BODY_(EVEN|ODD)) size=[0-9]+ drop=0" ||
		return
	bytes=$(awk -v event="$2" '$1 == event && !/=CONTROL/ {
		sub(/.* size=/, ""); n += $1 } END { print n }' /tmp/trace)
	want=$((pings * (size + 8 + 20 + 14 + head_size)))
	[ "$bytes" = "$want" ] || fail "$2: $bytes bytes, not $want"
}

nothing_dropped()
{
	lines_are 0 'u4n_rx_frame_drop .*'
}

# no answer to this ping
ping_lost()
{
	! on_a ping -n -q -c 1 -W 0.3 "$B_IP"
}

# dropped COUNTER RULE...: a frame that A drops, and REASON, its number
dropped()
{
	counters a > /tmp/a && fault "${@:2}" router 1 eof 3 count 1 &&
		traced u4n_rx_frame_drop ping_lost || return
	emu fault off
	[ "$(grown "$1")" = 1 ] || fail "$1 is not counted" || return
	lines_are 1 'u4n_rx_frame_drop dir=rx index=[0-9]+ pdf=HEAD_ONLY size=[0-9]+ drop=[1-9][0-9]*' ||
		return
	REASON=$(sed -n 's/.* drop=//p' /tmp/trace)
}

reasons_differ()
{
	local first

	dropped rx_drop_crc crc && first=$REASON &&
		dropped rx_drop_type corrupt offset 0 set 99 || return
	echo "reasons $first and $REASON"
	[ "$first" != "$REASON" ]
}

off_and_on()
{
	on_a ip link set "$A_DEV" down && on_a ip link set "$A_DEV" up &&
		both_up 10000
}

messages()
{
	local hex='[0-9a-f]{8}' state cookies

	traced "$handshake" off_and_on || return
	lines_are 1 "u4n_hs_leave state=up msg=none id=0 status=0 cookie=$hex peer_cookie=$hex reason=1" ||
		return
	for state in down setup ready probe up; do
		lines_are 1 "u4n_hs_state state=$state msg=none .* reason=0" ||
			return
	done
	[ "$(sed -n 's/^u4n_hs_state state=\([a-z]*\) .*/\1/p' /tmp/trace |
		xargs)" = "down setup ready probe up" ] || return
	# Either of them may have been the first to say HELLO.
	[ "$(lines 'u4n_hs_(send|receive) .* msg=HELLO .*')" -ge 1 ] &&
	[ "$(lines 'u4n_hs_(send|receive) .* msg=HELLO_ACK .*')" -ge 1 ] &&
	lines_are 1 'u4n_hs_send state=up msg=BYE id=[1-9][0-9]* status=1 .*' &&
	lines_are 1 'u4n_hs_receive state=up msg=BYE_ACK id=[1-9][0-9]* status=0 .*' ||
		return
	# Two cookies name the session, in requests of ours and of the peer's.
	cookies=$(sed -n 's/^u4n_hs_send .* msg=READY .* cookie=\([0-9a-f]*\) peer_cookie=\([0-9a-f]*\) .*/\1 \2/p' \
		/tmp/trace | sort -u)
	echo "cookies: $cookies"
	[[ $cookies =~ ^$hex\ $hex$ ]] && [[ $cookies != *00000000* ]] &&
	[ "$(lines "u4n_hs_receive .* msg=READY .* cookie=${cookies#* } peer_cookie=${cookies% *} .*")" -ge 1 ] &&
	[ "$(lines "u4n_hs_receive .* msg=READY_ACK .* status=0 cookie=${cookies#* } peer_cookie=${cookies% *} .*")" -ge 1 ]
}

nothing_said()
{
	traced '' ping_large && [ ! -s /tmp/trace ]
}

ktap_print_header
ktap_set_plan 12
run_step "the link comes up" link_up
run_step "nothing else is sent" quiet
need "the events are those that are known" all_known
check "packets" packets
check "frames that are sent" frames tx u4n_tx_frame
check "frames that have been sent" frames tx u4n_tx_frame_done
check "frames that are received" frames rx u4n_rx_frame
check "no frame is dropped" nothing_dropped
check "frames that are dropped, for two reasons" reasons_differ
check "a session ends, and another one begins" messages
check "nothing is said of what is off" nothing_said
check "all is well at the end" ping_ok b "$A_IP" 8000
ktap_finished
