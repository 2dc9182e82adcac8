#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In virtual time a run repeats exactly: two runs of um-stock.sh give the same
# report, letter by letter, with the emulator's counts of frames, register
# accesses and interrupts in it. And a run that is interrupted leaves nothing.
#
# beds: host
# timeout: 500

top=$(dirname "$(dirname "$(readlink -f "$0")")")
run=$top/selftests/bed/run
logs=$top/build/logs
# shellcheck disable=SC1091
. "$("$top/scripts/toolbox" path)/src/tools/testing/selftests/kselftest/ktap_helpers.sh"

# one N: the Nth run.
one()
{
	local rc=0

	LABEL=um-repeat.$1 "$run" um-stock BED=uml \
		> "$logs/um-repeat.$1.out" 2>&1 || rc=$?
	[ $rc -eq 0 ] || grep -A 3 '^not ok\|^---\|^bed:' \
		"$logs/um-repeat.$1.out" | sed 's/^/# /'
	# What the first run has built serves for all.
	export NOBUILD=1
	return $rc
}

result()
{
	local rc=$1

	shift
	if [ "$rc" -eq 0 ]; then
		ktap_test_pass "$*"
	else
		ktap_test_fail "$*"
	fi
}

# Processes whose command line has the label of a run.
processes()
{
	local p

	for p in /proc/[0-9]*; do
		[[ $(tr '\0' ' ' 2>/dev/null < "$p/cmdline") != \
			*"run/um-repeat.$1/"* ]] || echo "${p#/proc/}"
	done 2>/dev/null
}

interrupted()
{
	local pid

	setsid env LABEL=um-repeat.int "$run" um-stock BED=uml \
		> /dev/null 2>&1 &
	pid=$!
	for _ in $(seq 600); do
		grep -q '^ok 2' "$logs/um-repeat.int/report" 2>/dev/null && break
		sleep 0.1
	done
	[ -n "$(processes int)" ] || {
		echo "# it did not start"
		return 1
	}
	kill -INT -- "-$pid"
	wait "$pid"
	for _ in $(seq 50); do
		[ -n "$(processes int)" ] || return 0
		sleep 0.1
	done
	processes int
	return 1
}

mkdir -p "$logs"
rm -f "$logs/um-repeat.int/report"
ktap_print_header
ktap_set_plan 4
for n in 1 2; do
	one $n
	result $? "run $n"
done
differ=0
diff "$logs/um-repeat.1/report" "$logs/um-repeat.2/report" > \
	"$logs/um-repeat.diff" || differ=1
head -n 20 "$logs/um-repeat.diff" | sed 's/^/# /'
result $differ "both reports are the same"
interrupted
result $? "an interrupted run leaves no process"
ktap_finished
