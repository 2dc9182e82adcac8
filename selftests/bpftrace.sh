#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The recipe with bpftrace in Documentation/inside.rst, on the distribution's kernel: each
# received packet is in the histogram, once, with a time that can be one: less than 128 ms
# but for a few of them, even in an emulated machine on a busy host.
#
# beds: qemu
# topology: netns
# runs: none
# runs-long: qemu
# timeout: 300
# extra: bpftrace

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

pings=50
# shellcheck disable=SC2016 # not the shell's
recipe='
tracepoint:usb4net_rdma:u4n_rx_frame /args.pdf < 4/ { @first[cpu] = nsecs; }
tracepoint:usb4net_rdma:u4n_rx_skb /@first[cpu]/ {
	@ns = hist(nsecs - @first[cpu]); delete(@first[cpu]); }'

received()
{
	cat "/sys/class/net/$1/statistics/rx_packets"
}

# times PATTERN: how many there are in lines as "[4K, 8K)     12 |@@@@   |" that begin so
times()
{
	grep -E "^\[($1)" /tmp/hist |
		awk '/\|$/ { sub(/.*[])]/, ""); n += $1 } END { print n + 0 }'
}

histogram()
{
	local pid n late a b

	mountpoint -q /sys/kernel/tracing ||
		mount -t tracefs tracing /sys/kernel/tracing || return
	bpftrace -e "BEGIN { printf(\"ready\n\"); } $recipe" > /tmp/hist 2> /tmp/err &
	pid=$!
	busywait 120000 grep -q ready /tmp/hist || {
		msg "$(cat /tmp/hist /tmp/err)"
		return 1
	}
	a=$(received "$A_DEV") b=$(on_b cat "/sys/class/net/$B_DEV/statistics/rx_packets")
	ping -q -n -c $pings -i 0.02 -s 20000 "$B_IP" || return
	kill -INT $pid && wait $pid
	a=$(($(received "$A_DEV") - a))
	b=$(($(on_b cat "/sys/class/net/$B_DEV/statistics/rx_packets") - b))
	cat /tmp/hist /tmp/err
	n=$(times '') late=$(times '128M|256M|512M|[0-9]+G')
	echo "$n times for $a and $b packets, $late of them late"
	[ "$n" -ge $((2 * pings)) ] && [ "$n" -le $((a + b + 2)) ] &&
		[ $((late * 10)) -le "$n" ]
}

ktap_print_header
ktap_set_plan 2
run_step "the link comes up" link_up
check "a histogram of all packets" histogram
ktap_finished
