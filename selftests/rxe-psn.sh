#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets that stand for several PSNs, between two rxe devices on a RoCE link that
# is not ours: roce_loop makes one of a pair of veth, and does to each packet what
# it is told. Loss, duplicates and other orders in every place, with the PSN
# going round; lengths around every multiple of the path MTU; RNR; a peer that
# does not take such packets; numbers that are not true; and requests of all kinds
# behind each other. The packets have their ICRC, unlike those on our own link.
#
# beds: uml qemu
# topology: netns
# timeout: 300
# runs: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

loop_up()
{
	mod_load veth && ip netns add b && ip -n b link set lo up &&
	ip link add veth0 mtu 9000 type veth peer name veth1 mtu 9000 &&
	mod_load roce_loop a=veth0 b=veth1 &&
	ip link set veth1 netns b || return
	A_DEV=veth0 B_DEV=veth1
	link_addr && mod_load rdma_rxe
}

# psn CASE: see rxe_psn.py; mixed CASE: see rxe_mixed.py
psn()
{
	case_of rxe_psn.py "$1"
}

mixed()
{
	case_of rxe_mixed.py "$1"
}

case_of()
{
	timeout 120 python3 "$(dirname "$0")/$1" "$2" \
		"$A_RXE" "$(gid_index a)" "$B_RXE" "$(gid_index b)"
}

ktap_print_header
ktap_set_plan 15
run_step "a RoCE link" loop_up
run_step "rxe devices" rxe_up
check "lengths around the multiples of the path MTU" psn lengths
check "loss, duplicates, other orders, in every place" psn positions
check "a peer that does not take several PSNs" psn one
check "it changes what it takes in the midst of a message" psn change
check "duplicates in part" psn partial
check "a packet overtaken by parts of itself" psn overtaken
check "a loss while something is sent again" psn twice
check "a gap in what is read" psn gap
check "RNR" psn rnr
check "numbers of PSNs that are not true" psn forged
check "requests of all kinds, faults in every place" mixed positions
check "and where chance has put them" mixed chance
check "a reset in the midst of a READ" mixed again
ktap_finished
