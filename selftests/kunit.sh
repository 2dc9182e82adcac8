#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unit tests in the kernel, with KUnit: frames and messages of the driver's
# protocol, credits, headers, limits, and the PSN arithmetic of the patched rxe.
# What a peer has sent lies in memory that ends where it ends, so that KASAN sees
# who reads more. See kunit/.
#
# beds: uml
# kernel: debug
# timeout: 60
# runs: none
# runs-debug: uml:kernel=debug

. "$(dirname "$0")/lib.sh"

results=/sys/kernel/debug/kunit

# suite NAME: passed, with nothing left out
suite()
{
	local sum

	sum=$(sed -n 's/^ *# Totals: //p' "$results/$1/results" | tail -n 1)
	[[ $sum =~ ^pass:[1-9][0-9]*\ fail:0\ skip:0\ total:[0-9]+$ ]] || {
		grep -vE '^ *(ok|KTAP|1\.\.)' "$results/$1/results" | head -n 60
		return 1
	}
	totals+=" $1 ${sum##*:}"
}

ktap_print_header
ktap_set_plan 8
check "the driver's tests load" mod_load usb4net_rdma_kunit
check "those of rxe load" mod_load rxe_kunit
for name in usb4net_head usb4net_message usb4net_headers usb4net_credit rxe_psn; do
	check "$name" suite $name
done
msg "cases:$totals"
check "they unload" mod_unload usb4net_rdma_kunit rxe_kunit
ktap_finished
