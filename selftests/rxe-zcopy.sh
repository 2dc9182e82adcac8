#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What rdma_rxe sends through the RoCE link without a copy, and what has to wait
# until the ring has read it: completions, flushes, QPs and memory regions,
# whatever the peer says. The emulator holds the ring meanwhile.
#
# beds: uml qemu
# topology: netns
# timeout: 240
# runs: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"
# shellcheck source=selftests/fault-lib.sh
. "$(dirname "$0")/fault-lib.sh"

# zcopy CASE: see rxe_zcopy.py
zcopy()
{
	timeout 60 python3 "$(dirname "$0")/rxe_zcopy.py" "$1" \
		"$A_RXE" "$(gid_index a)" "$A_IP" "$B_RXE" "$(gid_index b)" "$B_IP"
}

# rxe_devices: counters are read as they are, not as they were 10 ms ago.
rxe_devices()
{
	local rxe

	rxe_up || return
	for rxe in "$A_RXE" "$B_RXE"; do
		echo 0 > "/sys/class/infiniband/$rxe/ports/1/hw_counters/lifespan" ||
			return
	done
}

sent_zcopy()
{
	cat "/sys/class/infiniband/$A_RXE/ports/1/hw_counters/link_sent_zcopy"
}

# The neighbour's GIDs have to arrive first.
link_ready()
{
	local sent

	sent=$(sent_zcopy) || return
	verbs_check b -s 65536 -n 2 -o write || return
	[ "$(sent_zcopy)" -gt "$sent" ] || fail "nothing was sent without a copy"
}

# Lost frames are sent again, from a copy, and all of it arrives as it should.
lossy()
{
	local rc=0

	fault drop chance 300 || return
	verbs_check b -s 4097,65537 -n 8 -o send,write,read -T 60 || rc=$?
	emu fault off
	return $rc
}

# uc_lossy: what arrives of large UC messages is right, and is not the rest of
# another one.
uc_lossy()
{
	local rc=0

	fault drop chance 100 || return
	zcopy uc_lossy || rc=$?
	emu fault off
	return $rc
}

# kernel CASE [MS]: see kverbs/main.c. The ring is held for so long.
kernel()
{
	local rc=0

	[ $# -eq 1 ] || fault delay router 0 eof 4 us $(($2 * 1000)) count 1 ||
		return
	mod_load kverbs "a=$A_RXE" "a_gid=$(gid_index a)" "b=$B_RXE" \
		"b_gid=$(gid_index b)" "case=$1" "hold=${2:-0}" || rc=$?
	emu fault off
	dmesg | grep "kverbs: " | tail -n 4
	mod_unload kverbs || rc=$?
	return $rc
}

ktap_print_header
ktap_set_plan 24
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "rxe devices" rxe_devices
need "the link is used" busywait 10000 link_ready
check "large payload is not copied, small is" zcopy used
check "pieces" zcopy pieces
check "frames are lost" lossy
need "nothing else is sent" quiet
check "an acknowledgment that comes too early" zcopy early
check "a NAK that comes too early" zcopy nak
check "flush" zcopy flush
check "reset" zcopy reset
check "deregistration" zcopy dereg
check "packets for queue pairs in error" zcopy in_error
check "UC: what is copied, and completions" zcopy uc
check "UC: frames are lost" uc_lossy
check "kernel: both kinds of memory regions" kernel data
check "kernel: posted under locks" kernel locks
check "kernel: LOCAL_INV" kernel local_inv 300
check "kernel: SEND_WITH_INV" kernel send_inv 300
check "kernel: drain" kernel drain 300
check "the ring stops: flush and destroy" zcopy stopped
need "the link is up again" busywait 20000 link_ready
check "the ring stops: destroy" zcopy stopped_destroy
ktap_finished
