#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Batches of fault-seeds.sh, each in a kernel of its own, from the one numbered FROM
# (default 1; "make test" runs number 0) on, BATCHES of them.
#
# beds: host
# timeout: 5400
# runs: none
# runs-long: host

top=$(dirname "$(dirname "$(readlink -f "$0")")")
run=$top/selftests/bed/run
logs=$top/build/logs
: "${FROM:=1}" "${BATCHES:=100}"
# shellcheck disable=SC1091
. "$("$top/scripts/toolbox" path)/src/tools/testing/selftests/kselftest/ktap_helpers.sh"

# batch N: what it has done is in $logs/fault-seeds-long.N if it fails.
batch()
{
	local log=$logs/fault-seeds-long.$1 rc=0

	mkdir -p "$log"
	LABEL=fault-seeds-long.$1 BATCH=$1 "$run" fault-seeds BED=uml \
		> "$log.out" 2>&1 || rc=$?
	grep '^# \(seed\|[0-9]* schedules\|faults\|verified\)' "$log.out"
	if [ $rc -eq 0 ]; then
		rm -r "$log" "$log.out"
	else
		tail -n 15 "$log.out" | sed 's/^/# /'
	fi
	# What the first one has built serves for all.
	export NOBUILD=1
	return $rc
}

ktap_print_header
ktap_set_plan "$BATCHES"
for n in $(seq "$FROM" $((FROM + BATCHES - 1))); do
	if batch "$n"; then
		ktap_test_pass "batch $n"
	else
		ktap_test_fail "batch $n"
	fi
done
ktap_finished
