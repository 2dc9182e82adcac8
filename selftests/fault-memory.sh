#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# No memory: one in a hundred allocations of slab objects and of pages fails, of
# those that are made on behalf of one of our modules, itself or in what it calls
# (failslab and fail_page_alloc, with the stack looked at). Programs may fail
# meanwhile, but none hangs and none gets a wrong byte; links and devices go and
# come; and when there is memory again, all is as before.
#
# beds: uml
# kernel: debug
# timeout: 400
# runs: none
# runs-debug: uml:smoke:kernel=debug

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"
# shellcheck source=selftests/fault-lib.sh
. "$(dirname "$0")/fault-lib.sh"

budget=1000000		# more failures than there will be
rounds=6
[ "$SMOKE" = 0 ] || rounds=2
carrier_limit=5000	# ms
export TOOL_TIMEOUT=40
debug=/sys/kernel/debug
kinds=(failslab fail_page_alloc)

# text_of MODULE: the first and the last address of its functions
text_of()
{
	awk -v m="[$1]" '$4 == m && tolower($2) == "t" { print "0x" $1 }' \
		/proc/kallsyms | sort | sed -n '1p; $p' | xargs
}

set_all()
{
	local kind

	for kind in "${kinds[@]}"; do
		echo "$2" > "$debug/$kind/$1" || return
	done
}

# memory_fails MODULE: from now on. Not in the emulator, which is hardware.
memory_fails()
{
	local first last emu_first emu_last

	read -r first last < <(text_of "$1")
	read -r emu_first emu_last < <(text_of usb4emu_um)
	[ -n "$first" ] && [ -n "$emu_last" ] || fail "no addresses" || return
	set_all verbose 0 && set_all ignore-gfp-wait N &&
		set_all stacktrace-depth 32 && set_all times $budget &&
		set_all require-start "$first" &&
		set_all require-end "$(printf '%#x' $((last + 4096)))" &&
		set_all reject-start "$emu_first" &&
		set_all reject-end "$(printf '%#x' $((emu_last + 4096)))" &&
		echo 0 > $debug/fail_page_alloc/min-order &&
		echo N > $debug/fail_page_alloc/ignore-gfp-highmem &&
		set_all probability "$percent"
}

# memory_back: no more; adds up how many have failed.
memory_back()
{
	local kind n

	set_all probability 0 || return
	for kind in "${kinds[@]}"; do
		n=$((budget - $(cat "$debug/$kind/times")))
		failed[$kind]=$((${failed[$kind]} + n))
	done
	set_all times 0
}
declare -A failed=([failslab]=0 [fail_page_alloc]=0)

# attempt CMD...: may fail, but not hang, and not with wrong data.
attempt()
{
	local out rc=0

	out=$("$@" 2>&1) || rc=$?
	tried=$((tried + 1))
	[ $rc -ne 0 ] || worked=$((worked + 1))
	! grep -qE 'exit status (124|137)$|bytes? .*(wrong|is .*, not)|overwritten' \
		<<< "$out" || fail "$*: $out"
}

# Both ways through the stack and past it, on queue pairs of each kind. Not rping: its
# server waits for a disconnect that may be lost with the packet that tells it.
traffic()
{
	local side

	for side in a b; do
		attempt stream $side 1000000 || return
		attempt ping_ok $side "$(ip_of "$(other_side $side)" 6)" 60000 || return
		attempt verbs_check $side -s 1,4097,65536,300000 -n 8 -T 10 ||
			return
		# no plain WRITE: that one is lost shows in nothing but its content
		attempt verbs_check $side -q uc -o send,write_imm \
			-s 1,4097,65536 -n 4 -T 10 || return
		attempt verbs_check -6 $side -q ud -s 1,1000,4096 -n 4 -T 10 ||
			return
	done
}

# What is set up and taken down, while the cable stays
devices()
{
	local side

	for side in a b; do
		attempt on $side ip link set "$(dev_of $side)" down
		attempt on $side ip link set "$(dev_of $side)" up
		attempt on $side ethtool -G "$(dev_of $side)" rx 512
		attempt on $side ethtool -G "$(dev_of $side)" rx 256
		attempt on $side ip link set "$(dev_of $side)" mtu 1500
		attempt on $side ip link set "$(dev_of $side)" mtu 65520
		attempt on $side ip addr add 10.9.9.9/32 dev "$(dev_of $side)"
		attempt on $side ip addr del 10.9.9.9/32 dev "$(dev_of $side)"
		attempt on $side rdma link delete "$(rxe_of $side)"
		attempt rxe_up_on $side
	done
	attempt patiently 3000 _carrier_both
}

cable()
{
	attempt emu unplug 0.1
	busywait 10000 netdevs_gone || fail "a netdev stays" || return
	emu plug 0.1 1.1 > /dev/null || return
	# a netdev that there is no memory for comes with the next cable
	attempt patiently 3000 netdevs_there
}

# recovered: with memory, everything works, and no credit is missing.
recovered()
{
	local side

	if [ "${1:-}" = replugged ] && ! netdevs_there; then
		emu unplug 0.1 && busywait 10000 netdevs_gone &&
			emu plug 0.1 1.1 > /dev/null || return
	fi
	if [ "${1:-}" = replugged ]; then
		link_wait || return
	fi
	within $carrier_limit link_addr || return
	for side in a b; do
		on $side rdma link show "$(rxe_of $side)/1" > /dev/null 2>&1 ||
			rxe_up_on $side || return
	done
	ping_ok a "$B_IP6" 60000 && stream a 500000 &&
		verbs_check b -s 1,4097,65536 -n 8 && rping_ok a &&
		busywait 3000 credits_whole
}

# under MODULE CMD: CMD, so many times, without memory for MODULE; then with.
under()
{
	local module=$1 what=$2 n rc=0 kind before

	tried=0 worked=0
	before="${failed[*]}"
	for n in $(seq $rounds); do
		memory_fails "$module" || return
		$what || rc=$?
		memory_back || return
		[ $rc = 0 ] || fail "round $n" || return
		if [ "$what" = cable ]; then
			recovered replugged
		else
			recovered
		fi || fail "not as before after round $n" || return
	done
	[ "${failed[*]}" != "$before" ] || fail "no allocation has failed"
}

# report MODULE CMD [PERCENT]: one result
report()
{
	percent=${3:-1}
	run_step "$1: $2" under "$1" "$2"
	msg "$1: $2: $worked of $tried worked, ${failed[failslab]} objects and ${failed[fail_page_alloc]} pages were refused so far"
}

ktap_print_header
ktap_set_plan 11
# vmalloc() shows where it had no memory. What is wrong has a line of its own.
dmesg_allow 'Call Trace:'
# Debugging of references has no memory for one of them, and then says no more of it.
dmesg_allow 'ref_tracker: memory allocation failure, unreliable'
# Debugging of DMA has no memory to note a mapping, and then knows of none any more.
dmesg_allow '^DMA-API debugging gave up$'
# The core's own answer when it has no memory for a request of ours.
dmesg_allow 'WARNING: .*thunderbolt/ctl\.c:[0-9]+ at tb_cfg_(read|write)'
dmesg_allow 'tb_cfg_(read|write): -12'
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "RDMA devices" rxe_up
report usb4net_rdma traffic
report usb4net_rdma devices
report usb4net_rdma cable
report rdma_rxe traffic
report rdma_rxe devices
report roce_link traffic
# which allocates little
report roce_link devices 20
check "as before" recovered
ktap_finished
