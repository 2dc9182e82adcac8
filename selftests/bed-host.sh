#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The bed's promises to the host: a run that goes wrong in the guest fails on
# the host and says why; whatever ends a run, nothing of it stays.
#
# beds: host
# timeout: 900

top=$(dirname "$(dirname "$(readlink -f "$0")")")
run=$top/selftests/bed/run
dir=$top/build/planted
export ACCEL SMP MEM
PLANT_BED=${PLANT_BED:-uml}

for which in qemu "$PLANT_BED"; do
	"$top/selftests/bed/prepare" "$which" > /dev/null || exit 1
done
mkdir -p "$dir"
cache=$("$top/scripts/toolbox" path) || exit 1
# shellcheck disable=SC1091
. "$cache/src/tools/testing/selftests/kselftest/ktap_helpers.sh"

# plant NAME TIMEOUT: a guest test from standard input.
plant()
{
	{
		echo '#!/bin/bash'
		echo '# beds: uml qemu'
		echo "# timeout: $2"
		echo '# uml-mode: real'
		# shellcheck disable=SC2016 # for the guest
		echo '. "$(dirname "$0")/lib.sh"'
		echo 'ktap_print_header'
		cat
	} > "$dir/$1.sh"
}

# expect DESCRIPTION NAME STATUS PATTERN: run the planted test.
expect()
{
	local rc=0 out=$dir/$2.out

	BED=$PLANT_BED NOBUILD=1 LABEL=$2.planted "$run" "$dir/$2.sh" \
		> "$out" 2>&1 < /dev/null || rc=$?
	if [ $rc -eq "$3" ] && grep -qE "$4" "$out"; then
		ktap_test_pass "$1"
	else
		echo "# exit status $rc, expected $3 and: $4"
		tail -n 20 "$out" | sed 's/^/# /'
		ktap_test_fail "$1"
	fi
}

mounts()
{
	awk '{ print $5, $9, $10 }' /proc/self/mountinfo | sort
}

sockets()
{
	find "$top/build/logs/$1" "$top/build/run/$1" /run -maxdepth 2 -type s \
		2>/dev/null | sort
}

# Processes of a PID namespace.
members()
{
	local p

	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/ns/pid" 2>/dev/null)" != "$1" ] ||
			echo "${p#/proc/} $(tr '\0' ' ' < "$p/cmdline")"
	done
}

# First descendant of a process that is in another PID namespace.
inner_ns()
{
	local child ns own

	own=$(readlink /proc/self/ns/pid)
	# shellcheck disable=SC2013 # words
	for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
		ns=$(readlink "/proc/$child/ns/pid")
		if [ -n "$ns" ] && [ "$ns" != "$own" ]; then
			echo "$ns"
			return
		fi
		inner_ns "$child" && return
	done
	return 1
}

# interrupt SIGNAL BED PROCESS: in the middle of a run. PROCESS is the machine.
interrupt()
{
	local sig=$1 log=$top/build/logs/hang.$1.$2 pid ns='' left='' before after

	before=$(mounts; sockets "hang.$sig.$2")
	rm -f "$log/report"
	BED=$2 NOBUILD=1 LABEL=hang.$sig.$2 \
		env --default-signal=INT,QUIT setsid "$run" "$dir/sleepy.sh" \
			> "$dir/hang.$sig.$2.out" 2>&1 < /dev/null &
	pid=$!
	for _ in $(seq 1800); do
		[ ! -s "$log/report" ] || break
		sleep 0.1
	done
	ns=$(inner_ns $pid)
	if [ -z "$ns" ] || [ "$(members "$ns" | grep -c "$3")" = 0 ]; then
		echo "# no virtual machine found in namespace '$ns'"
		kill -KILL $pid
		ktap_test_fail "SIG$sig, $2"
		return
	fi
	kill "-$sig" $pid
	wait $pid 2>/dev/null
	for _ in $(seq 50); do
		left=$(members "$ns")
		[ -n "$left" ] || break
		sleep 0.1
	done
	after=$(mounts; sockets "hang.$sig.$2")
	if [ -n "$left" ]; then
		echo "# left: $left"
		ktap_test_fail "SIG$sig, $2"
	elif [ "$before" != "$after" ]; then
		diff <(echo "$before") <(echo "$after") | sed 's/^/# /'
		ktap_test_fail "SIG$sig, $2"
	else
		ktap_test_pass "nothing stays after SIG$sig, $2"
	fi
}

# As somebody who is not root, but gets at a clone in root's home directory.
not_root()
{
	local out rc=0

	out=$(setpriv --reuid 65534 --clear-groups \
		--inh-caps=+dac_read_search --ambient-caps=+dac_read_search \
		"$run" bed 2>&1) || rc=$?
	if [ $rc -ne 0 ] && [ "$(wc -l <<< "$out")" = 1 ] &&
		grep -q 'must be run as root' <<< "$out"; then
		ktap_test_pass "one line says that root is needed"
	else
		echo "# status $rc: $out"
		ktap_test_fail "one line says that root is needed"
	fi
}

ktap_print_header
ktap_set_plan 12

plant good 30 << 'END'
ktap_set_plan 1
check "nothing" true
ktap_finished
END
plant notok 30 << 'END'
ktap_set_plan 2
check "good" true
check "bad" false
exit 0
END
plant short 30 << 'END'
ktap_set_plan 3
check "good" true
exit 0
END
plant splat 30 << 'END'
ktap_set_plan 1
check "good" true
echo "WARNING: planted by bed-host.sh" > /dev/kmsg
exit 0
END
plant pinned 30 << 'END'
ktap_set_plan 1
check "stream module" mod_load thunderbolt_stream
mountpoint -q /sys/kernel/config || mount -t configfs c /sys/kernel/config
mkdir /sys/kernel/config/thunderbolt/stream/0-1.9
ktap_finished
END
plant crash 30 << 'END'
ktap_set_plan 1
check "good" true
echo 1 > /proc/sys/kernel/sysrq
echo c > /proc/sysrq-trigger
END
plant sleepy 120 << 'END'
ktap_set_plan 1
sleep 1000
END
plant hang 8 << 'END'
ktap_set_plan 1
sleep 1000
END

expect "a good test passes" good 0 'good.planted passed'
expect "'not ok' is seen, whatever the exit status" notok 1 '1 failed result'
expect "a missing result is seen" short 1 'planned 3'
expect "a kernel warning is seen" splat 1 'kernel complained.*planted'
expect "a module that does not unload is seen" pinned 1 \
	'thunderbolt_stream does not unload'
expect "a crash is seen" crash 1 'no verdict'
expect "a hanging test is seen" hang 1 'timed out'
interrupt INT qemu qemu-system
interrupt INT uml "/linux mem="
interrupt TERM uml "/linux mem="
interrupt KILL uml "/linux mem="
not_root
ktap_finished
