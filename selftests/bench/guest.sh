#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The guest's part of the benchmark: brings one stack up and runs a set of
# workloads on it. Started by scripts/bench.
#
# beds: qemu uml
# topology: netns
# timeout: 1500
# uml-mode: real
#
# From the kernel's command line:
#
#	bench.stack=stock	thunderbolt_net and the kernel's own rxe
#	bench.stack=ip		usb4net_rdma and the kernel's own rxe
#	bench.stack=bypass	usb4net_rdma and the patched rxe
#	bench.stack=batch	the same on thunderbolt with patches/thunderbolt/
#	bench.stack=raw		thunderbolt_stream
#	bench.set=NAME		workloads: see sets() below
#	bench.only=PATTERN,...	of these only those
#	bench.runs=N		how often each is run
#	bench.scale=N		percent of the usual number of messages
#	bench.profile=1		print the kernel's symbols, too

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

option()
{
	local v

	v=$(grep -o "bench\.$1=[^ ]*" /proc/cmdline)
	echo "${v#*=}"
}

stack=$(option stack)
set=$(option set)
runs=$(option runs)
scale=$(option scale)
profile=$(option profile)
only=$(option only)
: "${runs:=3}" "${scale:=100}"
bench=/usb4net/bin/bench
BIG=263168

# Workload and number of messages. These take 50 to 200 million instructions
# each on the stock stack; multiples of 16 suit the numbers of connections and
# queue pairs.
sets()
{
	case $set in
	quick)
		echo 'send_lat/2 2000
			send_stream/65536 160
			tcp_stream 1024'
		;;
	max)
		echo 'send_lat/2 2000
			send_lat/4096 600
			send_stream/65536 160
			read_stream/65536 160
			tcp_stream 1024'
		;;
	profile)
		echo 'send_lat/2 2000
			send_lat/65536 80
			send_stream/65536 160
			tcp_stream 1024
			tcp_rr/65536 100'
		;;
	full)
		local op

		for op in send write; do
			echo "${op}_lat/2 2000
				${op}_lat/64 2000
				${op}_lat/4096 600
				${op}_lat/65536 48
				${op}_lat/1048576 8
				${op}_stream/4096 1024
				${op}_stream/65536 160
				${op}_stream/1048576 16"
		done
		echo 'read_lat/4096 400
			read_lat/65536 48
			read_lat/1048576 8
			read_stream/4096 1024
			read_stream/65536 160
			read_stream/1048576 16
			qps/1 1024
			qps/16 1024
			qps/256 8192
			tcp_stream 1024
			tcp_stream/4 1024
			tcp_stream/16 1024
			tcp_stream_sendfile 1024
			tcp_rr/1 1000
			tcp_rr/65536 100
			udp_rr/1 1000
			udp_rr/65000 100
			ping 1000
			ping_default 1000'
		;;
	batch)
		echo 'send_lat/2 2000
			send_lat/4096 600
			send_stream/65536 160
			tcp_stream 1024
			tcp_rr/1 1000
			tcp_rr/65536 100
			ping_default 1000'
		;;
	raw)
		echo 'send_lat/2 2000
			send_lat/64 2000
			send_lat/4096 800
			send_lat/65536 160
			send_stream/4096 2048
			send_stream/65536 256'
		;;
	wall)
		echo 'send_lat/2 4000
			send_lat/4096 4000
			send_lat/65536 800
			send_stream/65536 1600
			send_stream/1048576 384
			write_stream/65536 1600
			write_stream/1048576 384
			read_stream/65536 1600
			read_stream/1048576 384
			qps/1 8192
			qps/16 8192
			qps/256 8192
			tcp_stream 6144
			tcp_stream/4 6144
			tcp_stream/16 6144
			tcp_stream_sendfile 24576
			tcp_rr/1 4000
			udp_rr/1 4000'
		;;
	esac
}

# --- the stacks -------------------------------------------------------------

# TCP in pieces above 64 KiB ("BIG TCP") where the device takes them. What is
# received may be put together to that size on any device.
big_tcp()
{
	local side dev

	for side in a b; do
		[ $side = a ] && dev=$A_DEV || dev=$B_DEV
		on $side ip link set "$dev" gro_max_size $BIG \
			gro_ipv4_max_size $BIG || return
		on $side ip link set "$dev" gso_max_size $BIG \
			gso_ipv4_max_size $BIG 2>/dev/null ||
			[ "$stack" = stock ] || return
	done
}

# Before the rxe devices are made: an MTU of 4096 bytes for RDMA follows.
stock()
{
	export LINK_MTU=65522
	link_up thunderbolt && big_tcp && load_stock_rxe && rxe_up
}

ip_stack()
{
	export LINK_MTU=65520
	link_up && big_tcp && load_stock_rxe && rxe_up
}

bypass()
{
	export LINK_MTU=65520
	load_ours && link_up && big_tcp && rxe_up
}

stream_service()
{
	local s domain

	domain=$(nhi_domain "$1") || return
	for s in "/sys/bus/thunderbolt/devices/${domain#domain}-"*.*; do
		if [ "$(cat "$s/key" 2>/dev/null)" = stream ]; then
			basename "$s"
			return
		fi
	done
	return 1
}

# The second side takes its HopIDs from what the first one has announced.
stream_second()
{
	mkdir "$1" "$1/data" || return
	[ "$(cat "$1/data/in_hopid")" -gt 0 ] && return
	rmdir "$1/data" "$1"
	return 1
}

raw()
{
	local dir=/sys/kernel/config/thunderbolt/stream a b

	mod_load configfs
	mod_load thunderbolt_stream || return
	mountpoint -q /sys/kernel/config ||
		mount -t configfs configfs /sys/kernel/config || return
	a=$(busywait 30000 stream_service a) &&
		b=$(busywait 30000 stream_service b) || return
	mkdir "$dir/$a" "$dir/$a/data" || return
	echo -1 > "$dir/$a/data/in_hopid" || return
	echo -1 > "$dir/$a/data/out_hopid" || return
	busywait 10000 stream_second "$dir/$b" || return
	busywait 10000 test -c /dev/tbstream0 -a -c /dev/tbstream1
}

raw_remove()
{
	local d

	for d in /sys/kernel/config/thunderbolt/stream/*/data; do
		rmdir "$d" "${d%/*}" || return
	done
}

stack_up()
{
	case $stack in
	stock | bypass | raw) "$stack" ;;
	ip) ip_stack ;;
	batch) bypass ;;
	*) fail "no such stack: $stack" ;;
	esac
}

# --- the measurements -------------------------------------------------------

# calm NO_WAKEUP_PREEMPTION: who wakes up waits until the other one is done, at
# most for its slice of time. Otherwise work that hands messages to other work on
# one processor is in step with it or is not, by chance, for a whole run, and the
# cost of a message in a stream may differ by two thirds.
# calm WAKEUP_PREEMPTION: the kernel's default.
calm()
{
	local features=/sys/kernel/debug/sched/features

	mountpoint -q /sys/kernel/debug ||
		mount -t debugfs debugfs /sys/kernel/debug
	echo "$1" > $features
	grep -qw "$1" $features
}

one_run()
{
	local workload=$1 messages=$2
	local args=(-w "$workload" -n "$messages")

	shift 2
	if [ "$stack" = raw ]; then
		args+=(-r /dev/tbstream0 -R /dev/tbstream1)
	else
		args+=(-d "$A_RXE" -g "$gid_a" -c "$B_IP")
	fi
	timeout 300 "$bench" "${args[@]}" "$@"
}

# workload NAME MESSAGES: all its runs. Work items are counted where the kernel
# can do that.
workload()
{
	local trace=()

	[ -n "$profile" ] || [ "$BED" != qemu ] || trace=(-T)
	[[ $1 != *_default ]] || calm WAKEUP_PREEMPTION || return
	for _ in $(seq "$runs"); do
		one_run "$1" "$2" "${trace[@]}" || return
	done
	calm NO_WAKEUP_PREEMPTION
}

header()
{
	echo "bench-header kernel=$(uname -r)"
	echo "bench-header cpu=$(sed -n 's/^model name.*: //p' /proc/cpuinfo |
		head -n 1)"
	echo "bench-header clocksource=$(cat \
		/sys/devices/system/clocksource/clocksource0/current_clocksource)"
	[ "$stack" = raw ] ||
		echo "bench-header mtu.$stack=$(cat "/sys/class/net/$A_DEV/mtu")"
}

# Those of the set's lines that bench.only asks for.
chosen()
{
	local name messages pattern patterns

	IFS=, read -r -a patterns <<< "${only:-*}"
	while read -r name messages; do
		for pattern in "${patterns[@]}"; do
			# shellcheck disable=SC2053 # a pattern
			[[ $name == $pattern ]] || continue
			echo "$name $messages"
			break
		done
	done
}

mapfile -t list < <(sets | chosen)
[ -n "$(sets)" ] || ktap_exit_fail_msg "no such set: $set"
ktap_print_header
[ ${#list[@]} -gt 0 ] || {
	ktap_skip_all "set $set has nothing like $only"
	exit "$KSFT_SKIP"
}
ktap_set_plan $((${#list[@]} + 1))
# Not in a subshell: it sets A_DEV and B_DEV.
if stack_up > /run/stack_up 2>&1; then
	ktap_test_pass "$stack: up"
else
	msg "$(cat /run/stack_up)"
	ktap_test_fail "$stack: up"
	ktap_exit_fail_msg "$stack does not come up"
fi
mountpoint -q /sys/kernel/tracing ||
	mount -t tracefs tracefs /sys/kernel/tracing
calm NO_WAKEUP_PREEMPTION ||
	ktap_exit_fail_msg "the scheduler has no such feature"
export BENCH_STATS="/usb4net/bin/usb4emu-ctl -s $EMU_CTL stats"
header
if [ "$stack" != raw ]; then
	gid_a=$(gid_index a) || ktap_exit_fail_msg "no GID of A"
	gid_b=$(gid_index b) || ktap_exit_fail_msg "no GID of B"
	bg_on b "$bench" -s -d "$B_RXE" -g "$gid_b"
	bench_server=$BG_PID
	busywait 20000 listening b 18700 ||
		ktap_exit_fail_msg "the server does not listen"
fi
[ -z "$profile" ] || {
	echo "kallsyms-begin"
	grep -i ' [tw] ' /proc/kallsyms | awk '{ print $1, $3, $4 }' | gzip |
		base64
	echo "kallsyms-end"
}
for entry in "${list[@]}"; do
	read -r name messages <<< "$entry"
	messages=$((messages * scale / 100))
	[ $messages -ge 8 ] || messages=8
	if workload "$name" $messages; then
		ktap_test_pass "$stack: $name"
	else
		ktap_test_fail "$stack: $name"
	fi
done
[ "$stack" = raw ] && raw_remove
[ -z "${bench_server:-}" ] || kill "$bench_server"
ktap_finished
