#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The programs of perftest over the bypass, with events and polling. They
# need a clock that goes on while the CPU works. On User Mode Linux two programs
# that poll share one CPU, and each waits for the other one's time slice: the
# long list takes minutes there, and longer on a busy machine.
#
# beds: uml qemu
# topology: netns
# timeout: 900
# uml-mode: real
# runs: uml:smoke
# runs-long: uml qemu

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

# With -e where the tool can wait for events, else it polls. perftest wants
# at least 5 iterations.
tools="send_lat:-e send_bw:-e read_lat:-e read_bw:-e write_lat: write_bw:"
if [ "$SMOKE" = 1 ]; then
	sizes=4097
	iters=20
else
	sizes="1 64 4096 4097 524289 8388608"
	iters=100
fi

ktap_print_header
n_sizes=$(wc -w <<< "$sizes")
n_tools=$(wc -w <<< "$tools")
ktap_set_plan $((12 + n_tools * n_sizes))

fix_cpuinfo
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "rdma link add" rxe_up
for size in $sizes; do
	n=$iters
	[ "$size" -lt 100000 ] || n=5
	for tool in $tools; do
		# shellcheck disable=SC2086 # perhaps no option
		check "ib_${tool%:*}, $size bytes" perftest b "ib_${tool%:*}" \
			${tool#*:} -s "$size" -n "$n"
	done
done
check "ib_atomic_lat, fetch and add" \
	perftest b ib_atomic_lat -e -n $iters -A FETCH_AND_ADD
check "ib_atomic_lat, compare and swap" \
	perftest b ib_atomic_lat -e -n $iters -A CMP_AND_SWAP
check "ib_atomic_bw" perftest a ib_atomic_bw -n $iters
check "ib_send_bw, UD" perftest b ib_send_bw -e -c UD -s 1024 -n $iters
check "ib_write_bw, UC" perftest b ib_write_bw -c UC -s 65536 -n $iters
check "ib_send_bw, polling" perftest b ib_send_bw -s 65536 -n $iters
check "ib_write_bw, both directions" \
	perftest b ib_write_bw -b -s 65536 -n $iters
check "ib_read_lat, polling" perftest a ib_read_lat -s 4096 -n $iters
check "ibv_rc_pingpong, polling" pingpong b rc -c -n $iters -s 4096
ktap_finished
