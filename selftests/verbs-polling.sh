#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that poll a completion queue or memory, over the bypass. Where CPU
# work takes no time they would spin for ever.
#
# beds: uml qemu
# topology: netns
# timeout: 300
# uml-mode: basic
# runs: uml qemu:smoke
# runs-long: qemu

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

if [ "$SMOKE" = 1 ]; then
	sizes=4097
	iters=20
else
	sizes="1 2 64 4095 4096 4097 65536 524287 524288 524289 8388608"
	iters=100
fi

ktap_print_header
n_sizes=$(wc -w <<< "$sizes")
ktap_set_plan $((8 + 2 * n_sizes))

fix_cpuinfo
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "rdma link add" rxe_up
for size in $sizes; do
	n=$iters
	[ "$size" -lt 100000 ] || n=5
	check "ib_write_lat, $size bytes" \
		perftest b ib_write_lat -s "$size" -n "$n"
	check "ib_write_bw, $size bytes" \
		perftest a ib_write_bw -s "$size" -n "$n"
done
check "ib_send_bw" perftest b ib_send_bw -s 65536 -n $iters
check "ib_write_bw, both directions" \
	perftest b ib_write_bw -b -s 65536 -n $iters
check "ib_read_lat" perftest a ib_read_lat -s 4096 -n $iters
check "ib_atomic_lat" perftest b ib_atomic_lat -n $iters
check "ibv_rc_pingpong" pingpong b rc -c -n $iters -s 4096
ktap_finished
