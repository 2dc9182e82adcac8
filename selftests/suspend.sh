#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Suspend to idle and back, with the link up, idle and under load: the link,
# IP and RDMA work afterwards without anybody touching the cable. The kernel
# wakes itself after a few seconds ("devices" level of pm_test): drivers are
# suspended and resumed as in a real suspend.
#
# beds: qemu
# topology: netns
# timeout: 240
# channels: serial
# runs: qemu:smoke
# runs-long: qemu qemu:smoke:tb=patched

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

rounds=3
[ "$SMOKE" = 0 ] || rounds=1

carriers()
{
	carrier a "$A_DEV" && carrier b "$B_DEV"
}

suspends()
{
	cat /sys/power/suspend_stats/success
}

suspend()
{
	local before

	before=$(suspends) || return
	echo devices > /sys/power/pm_test || return
	echo freeze > /sys/power/state || return
	[ "$(suspends)" = $((before + 1)) ] || fail "did not suspend"
}

# The XDomain is kept or found again; either way there is a link in the end. A
# netdev that was replaced is set up by link_up as a user's scripts would.
link_is_back()
{
	if ! busywait 10000 carriers > /dev/null; then
		link_up usb4net || return
	fi
	busywait 10000 ping_ok a "$B_IP"
}

rxe_is_back()
{
	if ! on_a rdma link show "$A_RXE/1" > /dev/null 2>&1; then
		rxe_up || return
	fi
	verbs_check b -s 1,4097,65536 && rping_ok a
}

# verbs may see an error when the link was taken away, or go on.
suspend_under_load()
{
	local pid

	load_start && suspend || return
	for pid in "${LOAD_VERBS[@]}" "${LOAD_IP[@]}"; do
		kill "$pid" 2>/dev/null
	done
	for pid in "${LOAD_VERBS[@]}" "${LOAD_IP[@]}"; do
		busywait 30000 _gone "$pid" || {
			tr '\0' ' ' < "/proc/$pid/cmdline"
			cat "/proc/$pid/stack"
			fail "a program hangs"
			return
		}
	done
	wait "${LOAD_VERBS[@]}" "${LOAD_IP[@]}"
	return 0
}

ktap_print_header
ktap_set_plan $((3 + 6 * rounds))
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "rdma link add" rxe_up
for n in $(seq $rounds); do
	run_step "suspend and resume, idle ($n)" suspend
	run_step "the link is back ($n)" link_is_back
	run_step "RDMA is back ($n)" rxe_is_back
	run_step "suspend and resume, under load ($n)" suspend_under_load
	run_step "the link is back after load ($n)" link_is_back
	run_step "RDMA is back after load ($n)" rxe_is_back
done
ktap_finished
