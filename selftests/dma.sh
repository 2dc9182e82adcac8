#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The addresses that a host interface is given are not always those of memory. With
# DMA=bounce the kernel has it read and write buffers of its own, and copies
# ("swiotlb=force"): what is not synchronised arrives as something else. With DMA=iommu
# it is behind a virtual IOMMU in strict mode: what is not mapped, or not any more,
# cannot be reached, and both the IOMMU and the emulator say so.
#
# beds: qemu
# topology: netns
# timeout: 500
# runs: none
# runs-long: qemu:dma=bounce qemu:dma=iommu

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"
# shellcheck source=selftests/fault-lib.sh
. "$(dirname "$0")/fault-lib.sh"

: "${DMA:=bounce}"
bounced=/sys/kernel/debug/swiotlb/io_tlb_used

# The domain of each host interface, or how much is bounced
in_force()
{
	local dev n=0

	if [ "$DMA" = bounce ]; then
		echo "bounce buffers: $(cat $bounced) slots"
		[ "$(cat $bounced)" -gt $((before + 1000)) ]
		return
	fi
	for dev in /sys/bus/pci/devices/*; do
		[ "$(cat "$dev/class")" = 0x0c0340 ] || continue
		echo "${dev##*/}: $(cat "$dev/iommu_group/type")"
		# "DMA-FQ" is what is not strict
		[ "$(cat "$dev/iommu_group/type")" = DMA ] || return
		n=$((n + 1))
	done
	[ $n = 2 ]
}

sizes()
{
	local size side

	for side in a b; do
		for size in 0 56 1400 4040 4096 9000 40000 65000; do
			ping_ok $side "$(ip_of "$(other_side $side)")" $size ||
				return
		done
	done
}

# Replugged under load: what was mapped is not needed any more
replug()
{
	load_start && emu unplug 0.1 && within 5000 busywait 10000 netdevs_gone &&
		load_end && emu plug 0.1 1.1 && link_wait && link_addr && rxe_up
}

# Both see nothing wrong. The emulator's own counts are those of its guest.
no_faults()
{
	local bad rc=0

	bad=$(emu stats | grep -E '(guest|dma)_errors|drop\.dma' | grep -v ' 0$')
	[ -z "$bad" ] || fail "emulator: $bad" || rc=1
	bad=$(dmesg | grep -E 'DMAR:.*(fault|DMA Read|DMA Write)|swiotlb buffer is full')
	[ -z "$bad" ] || fail "$bad" || rc=1
	return $rc
}

no_map_failed()
{
	local side bad

	for side in a b; do
		bad=$(on $side ethtool -S "$(dev_of $side)" |
			grep -E 'dma_map|no_page|tx_drop_no_memory' | grep -v ': 0$')
		[ -z "$bad" ] || fail "$side: $bad" || return
	done
}

# All of it is unmapped when the drivers are gone.
all_unmapped()
{
	rdma link del "$A_RXE" && rdma link del "$B_RXE" &&
		emu unplug 0.1 && busywait 10000 netdevs_gone &&
		mod_unload rdma_ucm rdma_rxe usb4net_rdma roce_link thunderbolt || return
	[ "$DMA" = iommu ] || {
		echo "bounce buffers: $before slots before, $(cat $bounced) after"
		[ "$(cat $bounced)" = "$before" ]
	}
}

ktap_print_header
ktap_set_plan 15
fix_cpuinfo
before=$(cat $bounced 2> /dev/null)
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "RDMA devices" rxe_up
run_step "DMA=$DMA is in force" in_force
losses_start
check "packets of all sizes" sizes
check "TCP both ways" stream a 3000000
check "verbs, from A" verbs_check b -s 1,64,4096,4097,65536,1000000
check "verbs, from B" verbs_check a -q uc -s 1,64,4096,4097,65536
check "rping" rping_ok a
check "no buffer was missing, nothing is lost" no_losses
run_step "replugged under load" replug
check "verbs work again" verbs_check b -s 1,4097,65536
check "nothing was reached that is not mapped" no_faults
check "no mapping failed" no_map_failed
check "all is unmapped at the end" all_unmapped
ktap_finished
