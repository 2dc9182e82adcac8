#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The fixes to rdma_rxe of the patch series, on an ordinary netdev without a RoCE
# link: veth. With the kernel's own rdma_rxe the checks fail, and those with work that
# is for the kernel alone and with the datagrams crash it. KARGS=rxe.stock on the
# command line of bed/run shows it.
#
# beds: uml qemu
# topology: netns
# timeout: 180
# runs: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

# An address of A on another interface, so that it is in no GID table.
other_ip6=fd01::1

load_any_rxe()
{
	if rxe_is_stock; then
		load_stock_rxe
	else
		mod_load rdma_rxe
	fi
}

veth_up()
{
	mod_load veth && load_any_rxe &&
	ip netns add b && ip -n b link set lo up &&
	ip link add veth0 mtu 9000 type veth peer name veth1 mtu 9000 netns b ||
		return
	A_DEV=veth0 B_DEV=veth1
	link_addr &&
	ip -6 addr add $other_ip6/128 dev lo &&
	ip -n b -6 route add $other_ip6/128 via "$A_IP6"
}

# qdisc_drops a|b: packets that the qdisc of the side's netdev has dropped
qdisc_drops()
{
	local dev=$A_DEV

	[ "$1" = a ] || dev=$B_DEV
	on "$1" tc -s qdisc show dev "$dev" root |
		sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' | grep .
}

# Both a requester and a responder have packets dropped before they leave.
survives_drops()
{
	local n rc=0

	tc qdisc add dev "$A_DEV" root tbf rate 1gbit burst 10k limit 100k ||
		return
	verbs_check b -s 131073 -n 2 -o send,write,read || rc=$?
	n=$(qdisc_drops a) || rc=1
	tc qdisc del dev "$A_DEV" root
	echo "the qdisc dropped $n packets"
	[ $rc -eq 0 ] || return
	[ "$n" -gt 0 ] || fail "the qdisc dropped nothing"
}

udp6_received()
{
	awk '$1 == "Udp6InDatagrams" { print $2 }' /proc/net/snmp6
}

# The kernel must survive, and rxe must have been given the packets.
survives_strangers()
{
	local n

	n=$(udp6_received)
	on_b python3 -c "
import os, socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
for size in (0, 1, 11, 12, 16, 64, 1000):
    s.sendto(os.urandom(size), ('$other_ip6', 4791))
" || return
	n=$(($(udp6_received) - n))
	[ "$n" -eq 7 ] || fail "$n of 7 datagrams reached rxe's socket" || return
	verbs_check b -s 4096
}

# The qdisc on B holds 100 packets, and the answer to the READ has 1024. (netem
# would not do: it takes an skb from its owner before it delays it.)
read_is_paced()
{
	local n rc=0

	on_b tc qdisc add dev "$B_DEV" root tbf rate 1gbit burst 10k \
		limit 420k || return
	verbs_check b -s 4194304 -n 1 -o read -f in || rc=$?
	n=$(qdisc_drops b) || rc=1
	on_b tc qdisc del dev "$B_DEV" root
	[ $rc -eq 0 ] || return
	[ "$n" -eq 0 ] || fail "$n packets were dropped"
}

# provoke CASE: see rxe_provoke.py
provoke()
{
	local out rc=0

	out=$(timeout 60 python3 "$(dirname "$0")/rxe_provoke.py" "$1" \
		"$A_RXE" "$(gid_index a)" "$A_IP" \
		"$B_RXE" "$(gid_index b)" "$B_IP" 2>&1) || rc=$?
	echo "$out"
	[ $rc -eq 0 ] && grep -qx "$1: done" <<< "$out"
}

# slowly RATE CASE: the qdisc on A lets through no more than that
slowly()
{
	local rc=0

	tc qdisc add dev "$A_DEV" root tbf rate "$1" burst 10k limit 10m ||
		return
	provoke "$2" || rc=$?
	tc qdisc del dev "$A_DEV" root
	return $rc
}

# kernel CASE: see kverbs/main.c
kernel()
{
	local rc=0

	mod_load kverbs "a=$A_RXE" "a_gid=$(gid_index a)" "b=$B_RXE" \
		"b_gid=$(gid_index b)" "case=$1" || rc=$?
	dmesg | grep "kverbs: " | tail -n 4
	mod_unload kverbs || [ $rc -ne 0 ] || rc=1
	return $rc
}

udp_port_free()
{
	[ -z "$(ss -Huln 'sport = :4791')" ]
}

# A device that cannot be created, for its name is taken.
no_socket_left()
{
	mod_load dummy && ip link add dummy0 type dummy && ip link set dummy0 up ||
		return
	! rdma link add "$A_RXE" type rxe netdev dummy0 2>/dev/null ||
		fail "two devices of one name" || return
	udp_port_free && fail "rxe does not listen at all" && return 1
	rdma link delete "$A_RXE" && busywait 5000 udp_port_free ||
		fail "rxe still listens without a device" || return
	ip link delete dummy0
}

# The mode can be changed only while there is one network namespace.
exclusive()
{
	busywait 10000 rdma system set netns "$1"
}

exclusive_link()
{
	mod_load dummy && load_any_rxe && exclusive exclusive || return
	ip netns add c && ip -n c link add dummy1 type dummy &&
	ip -n c link set dummy1 up &&
	ip netns exec c rdma link add rxe9 type rxe netdev dummy1 || return
	ip netns exec c rdma link show rxe9/1 ||
		fail "not visible where it was created" || return
	! rdma link show rxe9/1 2>/dev/null ||
		fail "visible in the initial namespace"
}

exclusive_end()
{
	ip netns exec c rdma link delete rxe9 2>/dev/null ||
		rdma link delete rxe9 2>/dev/null
	ip netns delete c && exclusive shared
}

ktap_print_header
ktap_set_plan 28
check "netns exclusive: the device is where its netdev is" exclusive_link
need "netns shared" exclusive_end
run_step "veth" veth_up
run_step "rxe devices" rxe_up
need "it works" verbs_check b -s 1,4096,65537
check "a qdisc drop is a loss, not an error" survives_drops
check "READ responses are paced" read_is_paced
check "the cause of an error is told" provoke cause
check "a dead peer is noticed" provoke dead
check "retransmission does not wait for jiffies" provoke retrans
check "nor does RNR" provoke rnr
check "an address goes and comes back" provoke gid
check "duplicates of a READ stay within its range" provoke duplicate
check "an old acknowledgment does not end a READ" provoke late_ack
check "nor does one without its data" provoke only_ack
check "duplicates of and behind requests of no bytes" provoke empty
check "a WRITE that denies its payload" provoke no_bytes
check "a FLUSH is not taken for a READ" provoke confused
check "a memory window and what is around it" provoke window
check "duplicates from a zero based window" provoke zero_based
check "a message of UC without an end" provoke no_end
check "a flood of packets is not kept" slowly 1mbit flood
check "an acknowledgment while it is sent again" \
	slowly 5mbit sent_again
check "ODP" verbs_check b -O -s 1,9,4095,4097,65537
check "work that is for the kernel alone" provoke kernel_only
check "an MR of another PD is not invalidated" kernel other_pd
check "datagrams for an address that is no GID" survives_strangers
check "no socket is left behind" no_socket_left
ktap_finished
