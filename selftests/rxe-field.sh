#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What people have met with rdma_rxe and drivers like it, on our link: a message
# of 1 GiB, a SEND before its receive is there, addresses that come and go, an MTU
# that changes under traffic, a device without hardware and speed, thousands of
# queue pairs and memory regions, the last packet lost. KARGS=rxe.stock on the
# command line of bed/run shows how the kernel's own rdma_rxe fares. A smoke run has
# 32 MiB, and a tenth of the queue pairs and regions.
#
# beds: uml qemu
# topology: netns
# timeout: 400
# runs: none
# runs-long: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"
# shellcheck source=selftests/fault-lib.sh
. "$(dirname "$0")/fault-lib.sh"

# field CASE: see rxe_field.py
field()
{
	timeout 120 python3 "$(dirname "$0")/rxe_field.py" "$1" \
		"$A_RXE" "$(gid_index a)" "$A_IP" "$B_RXE" "$(gid_index b)" "$B_IP"
}

# The neighbour's GIDs have to arrive first.
bypass_ready()
{
	local sent

	sent=$(counter a roce_tx_packets)
	verbs_check b -s 65536 -n 2 -o write || return
	rxe_is_stock || [ "$(counter a roce_tx_packets)" -gt "$sent" ]
}

without_bypass()
{
	local rc=0

	rxe_is_stock || on_a ethtool --set-priv-flags "$A_DEV" roce-bypass off || return
	field "$1" || rc=$?
	rxe_is_stock || on_a ethtool --set-priv-flags "$A_DEV" roce-bypass on || return
	return $rc
}

# The kernel says nothing about it.
quietly()
{
	local lines said

	lines=$(dmesg | wc -l)
	"$@" || return
	said=$(dmesg | tail -n +$((lines + 1)))
	[ -z "$said" ] || fail "$said"
}

huge='1 GiB' many=1000
[ "$SMOKE" = 0 ] || huge='32 MiB' many=100
ktap_print_header
ktap_set_plan 20
run_step "the link comes up" link_up
run_step "rxe loads" load_rxe
run_step "rxe devices" rxe_up
need "the link is used" busywait 10000 bypass_ready
check "R4: sizes around the MTU, 512 KiB and 8 MiB" verbs_check b -n 2 \
	-s 1,4095,4096,4097,65519,65520,65521,524289,8388608
check "R4: $huge" field huge
check "R5: as many tries as rnr_retry says" field rnr_counts
check "R5: a receive in time" field rnr_in_time
check "R5: rnr_retry 7 has no end" field rnr_forever
check "R8: addresses and their GIDs" field gid_table
check "R8: which are used at once" field gid_use
check "R8: index 0 is of an address" field gid_first
check "R9: the MTU changes under traffic" field mtu
check "R9: the same through the IP stack" without_bypass mtu_stack
check "R10: hardware and speed" quietly field identity
check "R11: $many queue pairs at each end" field many_qps
check "R11: ${many}0 memory regions" field many_mrs
need "nothing else is sent" quiet
check "R12: the last packet is lost" field last_packet
if rxe_is_stock; then
	ktap_test_skip "R12: a packet with others behind it is lost"
else
	check "R12: a packet with others behind it is lost" field middle_packet
fi
ktap_finished
