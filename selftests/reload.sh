#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The driver is removed and loaded again under load. With one kernel for both
# hosts both ends go at once; in reload-pair.sh one end goes and the other one
# finds it again.
#
# beds: uml qemu
# topology: netns
# timeout: 400
# uml-mode: basic
# runs: uml
# runs-long: uml:smoke:tb=patched qemu

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

rounds=3
[ "$SMOKE" = 0 ] || rounds=1

no_carrier()
{
	! carrier "$1" "$(dev_of "$1")"
}

# Both ends at once.
reload_both()
{
	rxe_up && load_start || return
	within 5000 mod_unload usb4net_rdma || return
	netdevs_gone || fail "a netdev stays" || return
	load_end || return
	mod_load usb4net_rdma && link_up usb4net && ping_ok a "$B_IP"
}

# One end. The other end's netdev goes as well, since its host no longer offers
# the service, and comes back by itself.
reload_side()
{
	local side=$1 other

	other=$(other_side "$side")
	load_start || return
	within 5000 mod_unload_on "$side" usb4net_rdma || return
	busywait 10000 netdevs_gone || fail "a netdev stays" || return
	load_end || return
	mod_load_on "$side" usb4net_rdma || return
	LINK_TIMEOUT=20000
	link_wait && within 10000 link_addr || return
	rxe_up && ping_ok "$other" "$(ip_of "$side")" &&
		verbs_check "$other" -s 1,4097,65536
}

carriers()
{
	carrier a "$A_DEV" && carrier b "$B_DEV"
}

# rxe goes and comes while the link stays.
reload_rxe()
{
	rxe_up || return
	within 5000 mod_unload rdma_rxe || return
	carriers || fail "the carrier is gone" || return
	mod_load rdma_rxe && rxe_up && verbs_check b -s 1,4097,65536 &&
		mod_unload rdma_rxe
}

ktap_print_header
if [ "$TOPOLOGY" = pair ]; then
	ktap_set_plan $((4 + 2 * rounds))
else
	ktap_set_plan $((4 + rounds))
fi
run_step "the link comes up" link_up
run_step "rxe is reloaded" reload_rxe
run_step "the patched rxe loads" load_ours
[ "$TOPOLOGY" = netns ] || rxe_up
for n in $(seq $rounds); do
	if [ "$TOPOLOGY" = pair ]; then
		run_step "A is reloaded under load ($n)" reload_side a
		run_step "B is reloaded under load ($n)" reload_side b
	else
		run_step "both ends are reloaded under load ($n)" reload_both
	fi
done
check "ping" ping_ok b "$A_IP6" 60000
ktap_finished
