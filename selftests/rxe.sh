#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The fixes to rdma_rxe at the front of the patch series, on an ordinary netdev
# without a RoCE link: veth. With the kernel's own rdma_rxe the first fix's part
# fails, the second one's crashes the kernel, the third one's fails.
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

veth_up()
{
	mod_load veth &&
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

ktap_print_header
ktap_set_plan 6
run_step "veth" veth_up
run_step "rxe devices" rxe_up
need "it works" verbs_check b -s 1,4096,65537
check "a qdisc drop is a loss, not an error" survives_drops
check "datagrams for an address that is no GID" survives_strangers
check "READ responses are paced" read_is_paced
ktap_finished
