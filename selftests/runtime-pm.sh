#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runtime power management, which is on ("auto") unless somebody turns it off: a
# host interface with a link stays awake however idle that is, and traffic goes
# on. One without a cable goes to sleep (D3hot), and the next cable wakes it: the
# link comes up as ever.
#
# beds: uml qemu
# topology: netns
# timeout: 400
# runs: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"
# shellcheck source=selftests/fault-lib.sh
. "$(dirname "$0")/fault-lib.sh"

# Seconds: the kernel's thunderbolt goes to sleep after 15 of them.
idle=40
rounds=3
[ "$SMOKE" = 0 ] || rounds=1

# nhi a|b: the PCI device
nhi()
{
	local dom

	dom=$(nhi_domain "$1") || return
	dirname "$(readlink -f "/sys/bus/thunderbolt/devices/$dom")"
}

# power_is STATUS STATE: of both host interfaces
power_is()
{
	local side dev status state

	for side in a b; do
		dev=$(nhi $side) || return
		status=$(cat "$dev/power/runtime_status")
		state=$(cat "$dev/power_state")
		[ "$status $state" = "$1 $2" ] ||
			fail "$side is $status, in $state" || return
	done
}

# Everything between the netdev and the host interface
automatic()
{
	local dev side

	for side in a b; do
		dev=$(readlink -f "/sys/bus/thunderbolt/devices/$(nhi_domain \
			$side)") || return
		[ "$(cat "$(nhi $side)/power/control")" = auto ] ||
			fail "$(nhi $side) is not" || return
		find "$dev" -path '*/power/control' | while read -r f; do
			echo auto > "$f" || exit
		done || return
	done
}

stays_up()
{
	local sessions

	sessions=$(counter a sessions) && sleep $idle && power_is active D0 &&
		[ "$(counter a sessions)" = "$sessions" ] || return
	ping_ok a "$B_IP" 8000 && stream a 2000000 && rping_ok a &&
		verbs_check b -s 1,4097,65536
}

# Nothing of it is left but what is kept in the core.
asleep()
{
	emu unplug 0.1 && busywait 10000 netdevs_gone &&
		patiently $((idle * 1000)) power_is suspended D3hot
}

# woken: the link comes up as after any other cable that is plugged in.
woken()
{
	emu plug 0.1 1.1 && within 5000 link_wait && within 5000 link_addr &&
		power_is active D0 && rxe_up && ping_ok a "$B_IP" 8000 &&
		rping_ok b && verbs_check a -s 1,4097,65536
}

# The driver comes and goes while the host interfaces sleep.
reloaded_asleep()
{
	asleep && mod_unload usb4net_rdma && mod_load usb4net_rdma &&
		power_is suspended D3hot && woken
}

# The cable is pulled out again before anything has been set up.
pulled_soon()
{
	asleep && emu plug 0.1 1.1 && emu unplug 0.1 &&
		patiently $((idle * 1000)) power_is suspended D3hot && woken
}

ktap_print_header
ktap_set_plan $((6 + 2 * rounds))
run_step "the link comes up" link_up
run_step "RDMA devices" rxe_up
run_step "power management is automatic everywhere" automatic
check "an idle link stays up, awake, and carries traffic" stays_up
for n in $(seq $rounds); do
	run_step "without a cable both go to sleep ($n)" asleep
	run_step "the cable wakes them: link, IP, RDMA ($n)" woken
done
check "the driver is loaded again meanwhile" reloaded_asleep
check "a cable that is in for a moment only" pulled_soon
ktap_finished
