#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The cable is pulled behind each packet that hosts exchange before there is a link,
# on two machines, for kernels that User Mode Linux has not: whatever has begun comes
# to an end. fault-link does the same in one kernel.
#
# beds: qemu
# topology: pair
# timeout: 500
# runs: none
# runs-long: qemu:kernel=6.12

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"
# shellcheck source=selftests/fault-lib.sh
. "$(dirname "$0")/fault-lib.sh"

PULL_MS=8000
first=0 last=30
[ "$SMOKE" = 0 ] || first=12 last=24

# Who waits, and where
waiting()
{
	local run

	for run in on_a root_b; do
		# shellcheck disable=SC2016 # for the host
		$run sh -c 'grep -l "^State:.D" /proc/[0-9]*/status |
			while read -r f; do
				cat "${f%status}comm" "${f%status}stack"
			done'
	done
}

pull()
{
	if ! pull_at "$1" || ! unplugged; then
		waiting
		return 1
	fi
}

ktap_print_header
ktap_set_plan $((last - first + 3))
run_step "the link comes up" link_up
for n in $(seq $first $last); do
	run_step "pulled behind packet $n" pull "$n"
done
check "there is a link at the end" plugged
ktap_finished
