#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What can be set and seen with ethtool, ip and sysfs: every value says what is
# true, every setting does what it says, and none of them costs a byte or the
# link when it is changed under traffic.
#
# beds: uml qemu
# topology: netns
# timeout: 300
# runs: uml
# runs-long: qemu

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

netcheck=/usb4net/selftests/netcheck.py
max_usecs=16776

# --- views ------------------------------------------------------------------

is()
{
	[ "$2" = "$3" ] || fail "$1 is '$2' and not '$3'"
}

attr()
{
	on "$1" cat "/sys/class/net/$(dev_of "$1")/usb4net/$2"
}

# field a|b NAME [OPTION]: value of a line "NAME: VALUE" that ethtool prints.
field()
{
	# shellcheck disable=SC2086 # an option or none
	on "$1" ethtool ${3:-} "$(dev_of "$1")" |
		sed -n "s/^[[:space:]]*$2:[[:space:]]*//p" | head -n 1
}

xdomain_of()
{
	local dom

	dom=$(nhi_domain "$1") || return
	echo "/sys/bus/thunderbolt/devices/${dom#domain}-1"
}

# What the thunderbolt bus says of the same peer is the measure.
attributes()
{
	local side=$1 xd host

	xd=$(xdomain_of "$side") || return
	host=${xd%-1}-0
	is peer_uuid "$(attr "$side" peer_uuid)" "$(cat "$xd/unique_id")" &&
	is peer_name "$(attr "$side" peer_name)" "$(cat "$xd/device_name")" &&
	is peer_vendor "$(attr "$side" peer_vendor)" \
		"$(cat "$xd/vendor_name")" &&
	is local_uuid "$(attr "$side" local_uuid)" \
		"$(cat "$host/unique_id")" &&
	is port "$(attr "$side" port)" 1 &&
	is dev_port "$(on "$side" cat \
		"/sys/class/net/$(dev_of "$side")/dev_port")" 1 &&
	is state "$(attr "$side" state)" up &&
	is protocol_version "$(attr "$side" protocol_version)" 2
}

# Nobody sees more here than on the thunderbolt bus, and nobody writes.
attribute_modes()
{
	local f xd bad

	xd=$(xdomain_of a) || return
	is "mode of unique_id" "$(stat -c %a "$xd/unique_id")" 444 || return
	for f in "/sys/class/net/$A_DEV/usb4net"/*; do
		[ "$(stat -c %a "$f")" = 444 ] || bad+=" $f"
	done
	[ -z "$bad" ] || fail "not mode 444:$bad"
}

credits_sane()
{
	local window used

	window=$(attr a window) used=$(attr a credits_in_flight)
	if [ "$window" -lt 63 ] || [ "$used" -lt 0 ] ||
		[ "$used" -gt $((window / 4)) ]; then
		fail "idle: $used of $window credits in flight"
	fi
}

last_end()
{
	is "last_end at first" "$(attr a last_end)" '' &&
	on_b ip link set "$B_DEV" down &&
	is last_end "$(attr a last_end)" "peer has left: device closed" &&
	is "last_end of B" "$(attr b last_end)" "device closed" &&
	is "state of B" "$(attr b state)" down &&
	is protocol_version "$(attr a protocol_version)" 0 &&
	is window "$(attr a window)" 0 && link_addr
}

driver_info()
{
	is driver "$(field a driver -i)" usb4net_rdma &&
	is bus-info "$(field a bus-info -i)" \
		"$(basename "$(readlink "/sys/class/net/$A_DEV/device")")" &&
	is firmware-version "$(field a firmware-version -i)" \
		"peer $(attr a peer_name)"
}

channels()
{
	local out

	out=$(ethtool -l "$A_DEV") || return
	is "channels now and at most" \
		"$(awk '/^Combined:/ { print $2 }' <<< "$out" | xargs)" "1 1" &&
		! ethtool -L "$A_DEV" combined 2 2>/dev/null
}

# speed MBITS LANES
speed()
{
	is Speed "$(field a Speed)" "$1Mb/s" &&
	is "speed in sysfs" "$(cat "/sys/class/net/$A_DEV/speed")" "$1" &&
	is Lanes "$(field a Lanes)" "$2" && is Duplex "$(field a Duplex)" Full
}

# Every reason to drop something has a counter, and nothing was dropped.
statistics()
{
	local out name

	out=$(ethtool -S "$A_DEV") || return
	for name in tx_frames rx_frames tx_drop_link_down tx_drop_size \
		tx_drop_no_memory tx_drop_dma_map rx_drop_crc rx_drop_overrun \
		rx_drop_pdf rx_drop_short rx_drop_type rx_drop_flags \
		rx_drop_metadata rx_drop_length rx_drop_frame_count \
		rx_drop_generation rx_drop_orphan_body rx_drop_bad_body \
		rx_drop_truncated rx_drop_control rx_drop_no_skb \
		rx_drop_no_page rx_drop_stopped end_peer_bye end_rx_dead \
		sessions rx_usecs_now rx_pp_alloc_fast \
		rx_pp_recycle_ring; do
		grep -q "^ *$name: " <<< "$out" || fail "no $name" || return
	done
	# as many names as numbers, none twice
	is "doubled names" "$(cut -d : -f 1 <<< "$out" | sort | uniq -d)" '' &&
	is drops "$(grep -E '_drop_' <<< "$out" | grep -v ': 0$')" ''
}

# --- settings ---------------------------------------------------------------

both()
{
	on_a "$@" "$A_DEV" && on_b "$@" "$B_DEV"
}

# coalesce adaptive-rx|rx-usecs VALUE...: at both ends.
coalesce()
{
	on_a ethtool -C "$A_DEV" "$@" && on_b ethtool -C "$B_DEV" "$@"
}

coalesce_is()
{
	is rx-usecs "$(field a rx-usecs -c)" "$1" &&
		is "adaptive" "$(field a 'Adaptive RX' -c)" "$2  TX: n/a"
}

# Round trip of pings that follow each other at once, in microseconds.
round_trip()
{
	ping -q -n -c 200 -i 0 "$B_IP" |
		awk -F '[/=]' '/^rtt/ { printf "%d\n", $6 * 1000; f = 1 }
			END { exit !f }'
}

# Two ends, each of which is late by the interval at most. So a round trip takes
# the interval, and not much more where code takes no time.
moderation()
{
	local usecs=$1 rtt most=$(($1 * 12 / 10 + 10))

	coalesce adaptive-rx off rx-usecs "$usecs" && coalesce_is "$usecs" off ||
		return
	is rx_usecs_now "$(counter a rx_usecs_now)" "$usecs" || return
	rtt=$(round_trip) || return
	echo "rx-usecs $usecs: round trip $rtt us"
	[ "$BED" = uml ] || most=$rtt
	if [ "$rtt" -lt $((usecs * 7 / 10)) ] || [ "$rtt" -gt "$most" ]; then
		fail "rx-usecs $usecs: round trip $rtt us"
	fi
}

moderation_limits()
{
	coalesce rx-usecs $max_usecs && coalesce_is $max_usecs off &&
		! ethtool -C "$A_DEV" rx-usecs $((max_usecs + 1)) &&
		coalesce_is $max_usecs off
}

# In force from the start of the next session, and of the next ring.
moderation_stays()
{
	local rtt

	coalesce rx-usecs 300 &&
		on_a ip link set "$A_DEV" down && coalesce_is 300 off &&
		is rx_usecs_now "$(counter a rx_usecs_now)" 0 &&
		link_addr && is rx_usecs_now "$(counter a rx_usecs_now)" 300 ||
		return
	rtt=$(round_trip) || return
	[ "$rtt" -ge 200 ] || fail "round trip $rtt us"
}

# net_dim has tried other intervals than the configured one. Off again, that
# one is back.
moderation_adapts()
{
	local now

	coalesce rx-usecs 5 adaptive-rx on && coalesce_is 5 on &&
		round_trip > /dev/null && round_trip > /dev/null || return
	now=$(counter a rx_usecs_now)
	case $now in
	2 | 8 | 16 | 32 | 64) ;;
	*) fail "rx_usecs_now is $now" || return ;;
	esac
	coalesce adaptive-rx off && coalesce_is 5 off &&
		is rx_usecs_now "$(counter a rx_usecs_now)" 5
}

# tunable a|b NAME VALUE
tunable()
{
	on "$1" ethtool --set-tunable "$(dev_of "$1")" "$2" "$3" &&
		is "$2" "$(on "$1" ethtool --get-tunable "$(dev_of "$1")" \
			"$2" | sed 's/.*: //')" "$3"
}

no_tunable()
{
	! on_a ethtool --set-tunable "$A_DEV" "$1" "$2" 2>/dev/null
}

# moves SIDE COUNTER CMD...: by how much CMD moves it.
moves()
{
	local side=$1 name=$2 before

	shift 2
	before=$(counter "$side" "$name") && "$@" > /dev/null || return
	echo $(($(counter "$side" "$name") - before))
}

pings()
{
	ping -q -n -c 10 -i 0.01 -s "$1" "$B_IP"
}

# tcp SIZE: a hundred of them to B and back. What TCP sends is in fragments.
tcp()
{
	between b 18701 python3 $netcheck pump-serve "$B_IP" -- \
		python3 $netcheck pump "$B_IP" "$1" 100
}

# more_than NAME VALUE LIMIT
more_than()
{
	[ "$2" -gt "$3" ] || fail "$1 is $2 and not more than $3"
}

# Packets up to tx-copybreak go out in one frame. Those without data do anyway.
tx_copybreak()
{
	local few many

	tunable a tx-copybreak 0 && few=$(moves a tx_inline_packets tcp 1000) &&
	tunable a tx-copybreak 1500 &&
	many=$(moves a tx_inline_packets tcp 1000) &&
	more_than "inline packets with tx-copybreak 1500" "$many" \
		$((few + 90)) &&
	more_than "inline packets, larger ones" $((few + 20)) \
		"$(moves a tx_inline_packets tcp 1600)" &&
	no_tunable tx-copybreak 4096 && tunable a tx-copybreak 2000
}

rx_copybreak()
{
	tunable b rx-copybreak 256 &&
	is "copied packets with rx-copybreak 256" \
		"$(moves b rx_copied_packets pings 1000)" 0 &&
	is "smaller ones" "$(moves b rx_copied_packets pings 100)" 10 &&
	tunable b rx-copybreak 2048 &&
	is "copied packets with rx-copybreak 2048" \
		"$(moves b rx_copied_packets pings 1000)" 10 &&
	no_tunable rx-copybreak 255 && no_tunable rx-copybreak 4097
}

# --- under traffic ----------------------------------------------------------

# pump_begin, pump_end: a TCP connection in each direction that verifies what it
# moves. It must live from the one to the other.
pump_begin()
{
	PUMP=()
	bg_on b python3 $netcheck pump-serve "$B_IP" > /tmp/pump.server 2>&1
	PUMP+=("$BG_PID")
	busywait 10000 listening b 18701 || return
	bg_on a python3 $netcheck pump "$B_IP" 40000 > /tmp/pump.client 2>&1
	PUMP+=("$BG_PID")
	busywait 10000 pump_flows
}

pump_end()
{
	local rc=0

	kill -TERM "${PUMP[1]}"
	wait "${PUMP[1]}" || rc=1
	wait "${PUMP[0]}" || rc=1
	tail -n 5 /tmp/pump.*
	return $rc
}

pump_blocks()
{
	tail -n 1 /tmp/pump.client
}

# Ten more blocks come back, of twenty that are sent in a second where there is
# time for it.
pump_flows()
{
	local from

	from=$(pump_blocks)
	busywait 20000 pump_reaches $((${from:-0} + 10)) ||
		fail "after ${from:-0} blocks there were $(pump_blocks)"
}

pump_reaches()
{
	local n

	n=$(pump_blocks)
	[ "${n:-0}" -ge "$1" ]
}

# live CMD...: data flows after it, in the same session.
live()
{
	local before

	before=$(counter a sessions) && "$@" && pump_flows &&
		is sessions "$(counter a sessions)" "$before"
}

mtu()
{
	on_a ip link set "$A_DEV" mtu "$1" && on_b ip link set "$B_DEV" mtu "$2"
}

each_mtu()
{
	local n

	for n in 1500 576 9000 65520; do
		live mtu $n $n || return
	done
}

peer_mtus()
{
	is "peer_mtu of A" "$(counter a peer_mtu)" "$1" &&
		is "peer_mtu of B" "$(counter b peer_mtu)" "$2"
}

mtu_said()
{
	dmesg | sed '1,/from here on/d' | grep -c "$1: MTU is"
}

both_said()
{
	mtu_said "$A_DEV" && mtu_said "$B_DEV"
}

# keepalives a|b: how many that side has sent, and a few other messages.
keepalives()
{
	echo $(($(counter "$1" tx_control_frames) -
		$(counter "$1" tx_credit_frames)))
}

keepalives_sent()
{
	[ "$(keepalives a)" -ge "$1" ] && [ "$(keepalives b)" -ge "$2" ]
}

# The two ends differ: said once at each end, and not again with the keepalives
# that follow.
mtu_mismatch()
{
	local n dev

	mtu 9000 9000 && busywait 5000 peer_mtus 9000 9000 &&
		echo "MTU: from here on" > /dev/kmsg && mtu 9000 1500 &&
		busywait 5000 both_said && peer_mtus 1500 9000 || return
	live patiently 30000 keepalives_sent $(($(keepalives a) + 20)) \
		$(($(keepalives b) + 20)) || return
	for dev in $A_DEV $B_DEV; do
		n=$(mtu_said "$dev")
		[ "$n" = 1 ] || fail "$dev: said $n times" || return
	done
	live mtu 65520 65520
}

each_moderation()
{
	live coalesce rx-usecs 0 && live coalesce rx-usecs 500 &&
		live coalesce adaptive-rx on &&
		live coalesce rx-usecs 8 adaptive-rx off
}

# feature NAME off|on: at both ends.
feature()
{
	local side

	for side in a b; do
		on $side ethtool -K "$(dev_of $side)" "$1" "$2" || return
		is "$1 of $side" "$(on $side ethtool -k "$(dev_of $side)" |
			awk -v n="$1:" '$1 == n { print $2 }')" "$2" || return
	done
}

each_feature()
{
	local name

	for name in scatter-gather tx-checksumming rx-checksumming \
		tcp-segmentation-offload generic-segmentation-offload \
		generic-receive-offload; do
		live feature $name off && live feature $name on || return
	done
}

each_copybreak()
{
	live tunable a tx-copybreak 0 && live tunable b rx-copybreak 256 &&
		live tunable a tx-copybreak 2000 &&
		live tunable b rx-copybreak 2048
}

# ring RX TX GETS_RX GETS_TX: the session is another one, the connection the same.
ring()
{
	local out

	ethtool -G "$A_DEV" rx "$1" tx "$2" || return
	out=$(ethtool -g "$A_DEV" | awk '/^[RT]X:/ { print $2 }' | xargs) || return
	is "largest and current sizes" "$out" "4096 4096 $3 $4" &&
		busywait 5000 carrier a "$A_DEV" && pump_flows &&
		is "window of B" "$(attr b window)" $(($3 - 1))
}

ring_limits()
{
	ring 512 512 512 512 && ! ethtool -G "$A_DEV" rx 63 2>/dev/null &&
		! ethtool -G "$A_DEV" tx 63 2>/dev/null &&
		! ethtool -G "$A_DEV" rx 4097 2>/dev/null &&
		live ring 512 512 512 512
}

each_ring()
{
	ring 64 64 64 64 && ring 4096 4096 4096 4096 &&
		ring 200 1000 256 1024 && ring 512 512 512 512
}

rename()
{
	local name=$A_DEV

	live rename_to cable0 && live rename_to "$name" && attributes a
}

rename_to()
{
	ip link set "$A_DEV" name "$1" && A_DEV=$1
}

# --- life ---------------------------------------------------------------------

# Its name, its address and what it says of the peer stay.
netns_move()
{
	local mac uuid

	mac=$(cat "/sys/class/net/$A_DEV/address") uuid=$(attr a peer_uuid)
	ip netns add c && ip link set "$A_DEV" netns c &&
	ip netns exec c ip addr add "$A_IP/24" dev "$A_DEV" &&
	ip netns exec c ip link set "$A_DEV" up &&
	busywait 10000 ip netns exec c ping -c 1 -W 1 "$B_IP" &&
	is address "$(ip netns exec c \
		cat "/sys/class/net/$A_DEV/address")" "$mac" &&
	is peer_uuid "$(ip netns exec c \
		cat "/sys/class/net/$A_DEV/usb4net/peer_uuid")" "$uuid" &&
	ip netns exec c ip link set "$A_DEV" netns 1 &&
	ip netns del c && link_addr && ping_ok a "$B_IP"
}

# --- the cable ----------------------------------------------------------------

# another_cable WORD...: as "emu link" has them. The name of the device may be
# another one then, its MAC address is not.
another_cable()
{
	local mac

	mac=$(cat "/sys/class/net/$A_DEV/address")
	emu unplug 0.1 && busywait 10000 netdevs_gone &&
		emu plug 0.1 1.1 && emu link 0.1 "$@" &&
		link_wait && link_addr &&
		is address "$(cat "/sys/class/net/$A_DEV/address")" "$mac"
}

ktap_print_header
ktap_set_plan 36

run_step "the link comes up" link_up
check "attributes of A" attributes a
check "attributes of B" attributes b
check "attributes are for everybody, to read" attribute_modes
check "ethtool -i names the driver, the service and the peer" driver_info
check "ethtool -l: one channel, no more" channels
check "speed of Gen 4, two lanes" speed 80000 2
check "ethtool -S" statistics
check "no credits are stuck" credits_sane
check "why a session ended" last_end

check "moderation is 8 us unless set" coalesce_is 8 off
for usecs in 0 8 100 700; do
	check "moderation of $usecs us" moderation $usecs
done
check "moderation has a limit" moderation_limits
check "moderation stays when the device goes down" moderation_stays
check "adaptive moderation" moderation_adapts
check "tx-copybreak" tx_copybreak
check "rx-copybreak" rx_copybreak

run_step "TCP both ways, from here on" pump_begin
check "MTU" each_mtu
check "two MTUs are reported once" mtu_mismatch
check "moderation" each_moderation
check "features" each_feature
check "copybreaks" each_copybreak
check "ring sizes" each_ring
check "ring sizes have limits, and the same sizes change nothing" ring_limits
check "rename" rename
check "nothing was lost or wrong meanwhile" pump_end
check "ethtool -S: no drops" statistics

check "move to another namespace and back" netns_move
check "a cable of Gen 3, one lane" another_cable gen 3 width 1
check "speed of Gen 3, one lane" speed 20000 1
check "a cable of Gen 4, one lane" another_cable gen 4 width 1
check "speed of Gen 4, one lane" speed 40000 1
ktap_finished
