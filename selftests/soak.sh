#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Mixed traffic under random faults, for MINUTES= of the guest's time: TCP and UDP both
# ways, SEND, WRITE and READ, queue pairs and memory regions that come and go,
# addresses that change; see storm.py, which makes one schedule of faults after the
# other of consecutive seeds. Every message has a checksum of its own, and every flow
# has to be back within a second of the carrier. After that all is unloaded, no module is
# in use, and the kernel has its memory back; the pages of a page_pool that are not back
# after a minute are reported by the kernel, a DMA mapping that is left by the debug
# kernel.
#
# SEED= begins elsewhere. A failure prints its seed, which fault-seeds.sh can repeat if
# it takes no more than what goes before it there.
#
# beds: uml qemu
# topology: netns
# timeout: 1800
# runs: uml
# runs-long: uml:minutes=30
# runs-debug: none

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"
# shellcheck source=selftests/fault-lib.sh
. "$(dirname "$0")/fault-lib.sh"

: "${MINUTES:=5}"
[ "$SMOKE" = 0 ] || MINUTES=1
first=${SEED:-100000}

soak()
{
	python3 "$(dirname "$0")/storm.py" soak "$@" "$A_DEV" "$B_DEV"
}

# The faults may have left other devices than there were.
names()
{
	A_DEV=$(busywait 5000 find_dev a) || fail "A has no netdev" || return
	B_DEV=$(on_b sh -c 'cd /sys/class/net && ls -d usb4net*') ||
		fail "B has no netdev"
}

# What the kernel allocates once and keeps
warm_up()
{
	link_up usb4net && load_ours && rxe_up && soak 15 1 && names && unload_all &&
		before=$(used_kb) && slab_bytes > /tmp/slab
}

again()
{
	mod_load usb4net_rdma && emu plug 0.1 1.1 && link_up
}

storm()
{
	soak $((MINUTES * 60)) "$first" > /tmp/storm 2>&1
}

nothing_in_use()
{
	local m refs rc=0

	rdma link del "$A_RXE" && rdma link del "$B_RXE" && emu unplug 0.1 &&
		busywait 10000 netdevs_gone || return
	for m in rdma_ucm rdma_rxe usb4net_rdma; do
		refs=$(busywait 5000 unused $m) || fail "$m: $refs users" || rc=1
	done
	return $rc
}

unused()
{
	cat "/sys/module/$1/refcnt"
	[ "$(cat "/sys/module/$1/refcnt")" = 0 ]
}

memory_back()
{
	local after

	unload_all || return
	# a page_pool is complained about after 60 s
	sleep 65
	after=$(used_kb)
	echo "used: $before kB before, $after kB after"
	! dmesg | grep page_pool_release_retry || fail "pages of a page_pool" || return
	slab_grown /tmp/slab 512 || return
	[ $((after - before)) -le 4096 ]
}

ktap_print_header
ktap_set_plan 8
run_step "once around" warm_up
run_step "the link comes up" again
run_step "the patched rxe loads" load_ours
run_step "RDMA devices" rxe_up
storm
rc=$?
msg "$(cat /tmp/storm)"
check "$MINUTES minutes of faults, seeds from $first on" [ $rc = 0 ]
run_step "the devices are there" names
check "nothing is in use" nothing_in_use
check "memory is free again" memory_back
ktap_finished
