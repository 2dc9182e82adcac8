#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The cable is pulled and plugged in again 20 times, every other time under
# load: both ends notice, RDMA programs get an error and end, the carrier is
# back within 3 seconds of the other host's return, and rxe comes back with
# "rdma link add". The guest's init looks for complaints of the kernel.
#
# beds: uml qemu
# topology: netns
# timeout: 400
# uml-mode: basic
# runs: uml qemu:smoke
# runs-long: qemu qemu:topology=pair

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

replugs=20
[ "$SMOKE" = 0 ] || replugs=4
# Milliseconds from the XDomain's return to the carrier at both ends.
carrier_limit=3000

xdomains_there()
{
	local dom

	dom=$(nhi_domain a) || return
	[ -e "/sys/bus/thunderbolt/devices/${dom#domain}-1" ] || return
	dom=$(nhi_domain b) || return
	root_b test -e "/sys/bus/thunderbolt/devices/${dom#domain}-1"
}

devs_there()
{
	find_dev a && find_dev b
}

carriers()
{
	carrier a "$A_DEV" && carrier b "$B_DEV"
}

# From the XDomain's return to the netdevs, and from "ip link set up" to the
# carriers: what the driver needs. The shell between them does not count.
carrier_back()
{
	local start wait

	start=$(now_ms)
	busywait 10000 devs_there || fail "no netdevs" || return
	wait=$(($(now_ms) - start))
	link_wait && on_a ip link set "$A_DEV" up &&
		on_b ip link set "$B_DEV" up || return
	start=$(now_ms)
	busywait 10000 carriers || fail "no carrier" || return
	wait=$((wait + $(now_ms) - start))
	echo "carrier after $wait ms"
	[ $wait -le $carrier_limit ] ||
		fail "carrier after $wait ms, $carrier_limit are allowed" ||
		return
	link_addr
}

# replug [load]
replug()
{
	if [ "${1:-}" = load ]; then
		rxe_up && load_start || return
	fi
	emu unplug 0.1 || return
	busywait 10000 netdevs_gone || fail "a netdev stays" || return
	if [ "${1:-}" = load ]; then
		load_end || return
	fi
	emu plug 0.1 1.1 || return
	busywait 20000 xdomains_there || fail "no XDomain" || return
	carrier_back || return
	ping_ok a "$B_IP" && ping_ok b "$A_IP6"
}


ktap_print_header
ktap_set_plan $((replugs + 5))
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
for n in $(seq $replugs); do
	if [ $((n % 2)) = 0 ]; then
		run_step "replug $n, under load" replug load
	else
		run_step "replug $n" replug
	fi
done
run_step "rdma link add after the last one" rxe_up
check "verbs work after the last one" verbs_check b -s 1,4097,65536
check "rping works after the last one" rping_ok a
ktap_finished
