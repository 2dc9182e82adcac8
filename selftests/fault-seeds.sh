#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Random schedules of faults against traffic that verifies itself, see storm.py.
# Everything random comes from a seed, and time is virtual: a failure prints its
# seed and is looked for again with SEED=. Schedules run in batches of 24, each in a
# kernel of its own, because one finds what the one before it has left: SEED=N runs
# the batch of N up to N.
#
# beds: uml qemu
# topology: netns
# timeout: 600
# runs: none
# runs-long: uml:smoke uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

batch=24
[ "$SMOKE" = 0 ] || batch=8
first=$((${BATCH:-0} * batch)) count=$batch
if [ -n "${SEED:-}" ]; then
	first=$((SEED / batch * batch))
	count=$((SEED - first + 1))
fi

storm()
{
	python3 "$(dirname "$0")/storm.py" "$@" "$A_DEV" "$B_DEV"
}

ktap_print_header
ktap_set_plan 4
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "RDMA devices" rxe_up
out=$(storm seeds "$first" "$count" 2>&1)
rc=$?
msg "$out"
check "seeds $first to $((first + count - 1))" [ $rc = 0 ]
ktap_finished
