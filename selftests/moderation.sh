#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What interrupt moderation costs and saves: none, the default, longer intervals, and
# adaptive. Latency is half a round trip of messages that wait for each other; what is
# saved is interrupts in streams. Settings take turns, so that what else the host does
# is the same for all. The table is printed. Adaptive moderation is off by default for
# not being better at both: the test fails if it is.
#
# In virtual time latency is the interval's share of it alone. With UML_MODE=real code
# takes time, on a quiet host.
#
# beds: uml
# topology: netns
# timeout: 900
# uml-mode: basic
# runs: none
# runs-long: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

bench=/usb4net/bin/bench
rounds=5
[ "$SMOKE" = 0 ] || rounds=1
settings=(0 8 32 64 128 adaptive)
# Workload and number of messages
workloads='send_lat/2 600
tcp_rr/1 600
ping 300
tcp_stream 2048
send_stream/65536 480'
results=/tmp/results

moderate()
{
	local side dev

	for side in a b; do
		dev=$(dev_of $side)
		if [ "$1" = adaptive ]; then
			on $side ethtool -C "$dev" rx-usecs 8 adaptive-rx on
		else
			on $side ethtool -C "$dev" adaptive-rx off rx-usecs "$1"
		fi || return
	done
}

serve()
{
	export BENCH_STATS="/usb4net/bin/usb4emu-ctl -s $EMU_CTL stats"
	gid_a=$(gid_index a) && gid_b=$(gid_index b) || return
	bg_on b $bench -s -d "$B_RXE" -g "$gid_b" > /tmp/serve 2>&1
	busywait 10000 listening b 18700
}

# Lines of "SETTING WORKLOAD NAME=VALUE..."
measure()
{
	local setting name messages line

	for setting in "${settings[@]}"; do
		moderate "$setting" || return
		while read -r name messages; do
			line=$(timeout 60 $bench -d "$A_RXE" -g "$gid_a" -c "$B_IP" \
				-w "$name" -n "$messages" | grep '^bench ') || return
			echo "$setting ${line#bench }" >> $results
		done <<< "$workloads"
	done
}

# table: medians; latency in microseconds, interrupts of both ends for a MiB
table()
{
	python3 - $results <<- 'END'
	import collections, statistics, sys

	rows = collections.defaultdict(lambda: collections.defaultdict(list))
	for line in open(sys.argv[1]):
	    setting, workload, *words = line.split()
	    n = dict(word.split("=") for word in words)
	    if "stream" in workload:
	        workload += ", interrupts"
	        mib = int(n["messages"]) * int(n["bytes"]) / 2**20
	        value = (int(n["0.msis"]) + int(n["1.msis"])) / mib
	    else:
	        workload += ", us"
	        value = int(n["median_ns"]) / 1000
	    rows[workload][setting].append(value)
	settings = list(next(iter(rows.values())))
	print("%-30s" % "rx-usecs" + "".join("%10s" % s for s in settings))
	for row, values in rows.items():
	    print("%-30s" % row + "".join(
	        "%10.1f" % statistics.median(values[s]) for s in settings))
	END
}

# value ROW SETTING: in tenths
value()
{
	sed "s/, /,/" $results.table | awk -v row="$1" -v setting="$2" '
		NR == 1 { for (i = 2; i <= NF; i++) if ($i == setting) c = i }
		$1 == row { print int($c * 10 + 0.5) }'
}

saves()
{
	local row

	for row in tcp_stream,interrupts send_stream/65536,interrupts; do
		[ "$(value $row 0)" -ge $((2 * $(value $row 8))) ] ||
			fail "$row" || return
	done
}

# A message waits for the interval once at most, and for little else.
costs()
{
	local row

	for row in send_lat/2,us tcp_rr/1,us ping,us; do
		[ "$(value $row 8)" -le $(($(value $row 0) + 100)) ] ||
			fail "$row" || return
	done
}

# as_good: adaptive moderation is as good as the default everywhere, to 2 %
as_good()
{
	local row

	while read -r row _; do
		[ "$row" = rx-usecs ] || [ $(($(value "$row" adaptive) * 100)) -le \
			$(($(value "$row" 8) * 102)) ] || return
	done < <(sed "s/, /,/" $results.table)
}

not_better()
{
	! as_good || fail "adaptive moderation is as good at both ends, and better at one"
}

all_rounds()
{
	for _ in $(seq $rounds); do
		measure || return
	done
	table > $results.table
}

ktap_print_header
ktap_set_plan 7
export LINK_MTU=65520
run_step "the link comes up" link_up
run_step "RDMA devices" rxe_up
run_step "a server" serve
need "measured" all_rounds
sed 's/^/# | /' $results.table
check "the default saves at least half the interrupts of a stream" saves
check "the default costs a message no more than 10 us" costs
check "adaptive moderation does not win both ends" not_better
ktap_finished
