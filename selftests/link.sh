#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The netdev usb4net: packets of every size, IPv4 and IPv6, at several MTUs;
# content, and statistics that agree at both ends.
#
# beds: uml qemu
# topology: netns
# timeout: 400
# uml-mode: basic
# runs: uml qemu:smoke uml:smoke:emu_args=-m
# runs-long: uml:smoke:tb=patched qemu qemu:topology=pair qemu:tb=patched qemu:emu_args=-m

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

frame=4096
max_mtu=65520
netcheck=/usb4net/selftests/netcheck.py

# Sizes around what divides packets: nothing at all, the copied small ones,
# one frame with and without headers, n frames, the largest packets. Each
# boundary is met within 64 bytes, since headers shift it.
sizes()
{
	local at n

	echo 0 1 2 3
	for at in 16 18 32 60 64 128 256 512 1024 2048; do
		echo $((at - 1)) $at $((at + 1))
	done
	for n in 1 2 3 4 8 15; do
		for at in 0 1 2 8 20 28 36 40 42 48 54 62 64; do
			echo $((n * frame - at))
		done
		echo $((n * frame + 1)) $((n * frame + 48))
	done
	echo 64000 64999 65000
}

# Fewer of them for ping, which is a process per size, and fewest at MTUs that
# cut packets anyway.
ping_sizes()
{
	if [ "$SMOKE" = 1 ] || [ "$mtu" != $max_mtu ]; then
		echo 0 1 56 1472 4000 4040 4068 4096 8192 32768 65000
	else
		echo 0 1 8 15 16 55 56 57 100 127 128 255 256 511 512 1023 \
			1024 1471 1472 1473 2047 2048 3999 4000 4020 4030 \
			4040 4047 4048 4049 4054 4060 4067 4068 4069 4095 \
			4096 4097 8100 8191 8192 8193 12288 16384 32767 32768 \
			60000 64999 65000
	fi
}

all_pings()
{
	local from=$1 addr=$2 size

	shift 2
	for size in $(ping_sizes); do
		ping_ok "$from" "$addr" "$size" "$@" ||
			fail "size $size" || return
	done
}

udp_sizes()
{
	if [ "$SMOKE" = 1 ]; then
		sizes | tr ' ' '\n' | awk 'NR % 4 == 1'
	else
		sizes
	fi | tr '\n' ' '
}

# udp_and_tcp SIDE SERVER_ADDRESS: the client is on SIDE.
udp_and_tcp()
{
	local side=$1 addr=$2 bytes=4000037

	[ "$SMOKE" = 0 ] || bytes=1000037
	# shellcheck disable=SC2046 # a list of sizes
	between "$(other_side "$side")" 18700 python3 $netcheck serve "$addr" -- \
		python3 $netcheck client "$addr" 5 $bytes $(udp_sizes)
}

set_mtu()
{
	on_a ip link set "$A_DEV" mtu "$1" && on_b ip link set "$B_DEV" mtu "$2"
}

bad_mtu()
{
	! on_a ip link set "$A_DEV" mtu "$1"
}

# A large packet that may not be fragmented must reach a host whose own MTU is
# smaller; what that host sends back may be fragmented.
mismatch()
{
	local from=$1

	ping_ok "$from" "$(ip_of "$(other_side "$from")")" 8000 -M "do" &&
		ping_ok "$from" "$(ip_of "$(other_side "$from")" 6)" 8000
}

# Packets on the wire as a third party counts them: 100 pings are 100 packets
# out and 100 back, whatever else is going on is not ICMP.
counted_by_tcpdump()
{
	local before after

	rm -f /tmp/pcap
	bg_on b tcpdump -i "$B_DEV" -w /tmp/pcap --immediate-mode -Q in \
		"dst host $B_IP and icmp" > /dev/null 2> /tmp/tcpdump.log
	busywait 10000 grep -q listening /tmp/tcpdump.log || return
	before=$(ifstat b rx_packets)
	on_a ping -q -c 100 -i 0.002 -s 5000 "$B_IP" || return
	after=$(ifstat b rx_packets)
	kill -INT "$BG_PID"
	wait "$BG_PID"
	on_b tcpdump -r /tmp/pcap 2>/dev/null | wc -l > /tmp/pcap.count
	echo "tcpdump: $(cat /tmp/pcap.count), netdev: $((after - before))"
	[ "$(cat /tmp/pcap.count)" = 100 ] && [ $((after - before)) -ge 100 ]
}

no_frame_lost()
{
	! emu stats | grep -E '\.(overflows|drop\.overflow|drop\.pdf) ' |
		grep -v ' 0$'
}

carrier_goes()
{
	on_b ip link set "$B_DEV" down &&
		busywait 5000 no_carrier a &&
		on_b ip link set "$B_DEV" up &&
		on_b ip -6 addr replace "$B_IP6/64" dev "$B_DEV" nodad &&
		busywait 5000 carrier a "$A_DEV" && ping_ok a "$B_IP"
}

no_carrier()
{
	! carrier "$1" "$(dev_of "$1")"
}

ktap_print_header
mtus=$max_mtu
[ "$SMOKE" = 1 ] || mtus+=" 1500 9000 4096 1280"
# shellcheck disable=SC2086 # a list
set -- $mtus
ktap_set_plan $((19 + 6 * $#))

run_step "the link comes up" link_up
run_step "the first ping" losses_start
for mtu in $mtus; do
	check "MTU $mtu" set_mtu "$mtu" "$mtu"
	check "MTU $mtu: ping, A to B, IPv4" all_pings a "$B_IP"
	check "MTU $mtu: ping, B to A, IPv6" all_pings b "$A_IP6"
	check "MTU $mtu: UDP and TCP, A to B, IPv4" udp_and_tcp a "$B_IP"
	check "MTU $mtu: UDP and TCP, B to A, IPv6" udp_and_tcp b "$A_IP6"
	check "MTU $mtu: statistics agree" busywait 2000 stats_equal
done
check "unfragmented packets of the largest size" set_mtu $max_mtu $max_mtu
check "ping, not to be fragmented" ping_ok a "$B_IP" $((max_mtu - 28)) -M "do"
check "an MTU above the largest is refused" bad_mtu $((max_mtu + 16))
check "an MTU below the smallest is refused" bad_mtu 67
check "A has MTU 9000, B 1500" set_mtu 9000 1500
check "large packets reach the end with the small MTU" mismatch a
check "TCP" udp_and_tcp a "$B_IP"
check "A has MTU 1500, B 9000" set_mtu 1500 9000
check "large packets reach the end with the small MTU" mismatch b
check "TCP" udp_and_tcp b "$A_IP"
set_mtu $max_mtu $max_mtu
check "iperf3, A to B" iperf b -n 20M
check "iperf3, B to A" iperf b -n 20M -R
check "tcpdump and netdev count alike" counted_by_tcpdump
check "statistics agree at the end" busywait 2000 stats_equal
check "no loss is counted" no_losses
check "no frame was lost on the wire" no_frame_lost
check "carrier follows the other end" carrier_goes
ktap_finished
