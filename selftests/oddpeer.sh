#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Peers with which there is no link: one that does not offer our service, and
# one that speaks newer versions of the protocol only. Each is reported in one
# line of the kernel log, and left in peace. The emulator makes such peers, by
# what it changes in their packets.
#
# beds: uml qemu
# topology: netns
# timeout: 240
# runs: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

# Dwords: the first half of "usb4rdma" in properties, and the versions in HELLO
# and HELLO_ACK.
key=$((0x75736234)) other_key=$((0x78787878))
versions=$((0x00020002)) newer=$((0x00040003))

# What the log must be quiet for, and how many packets may pass meanwhile: a
# host that looks for its peer asks every four seconds.
quiet=60
packets=60

# logged TEXT: how often, since log_begin.
log_begin()
{
	log_start=$(dmesg | wc -l)
}

logged()
{
	dmesg | tail -n +$((log_start + 1)) | grep -cF -- "$1"
}

both_logged()
{
	logged "$A_DEV: $1" && logged "$B_DEV: $1"
}

logged_once()
{
	[ "$(logged "$1")" = 1 ] ||
		fail "'$1' is there $(logged "$1") times" ||
		{ dmesg | tail -n +$((log_start + 1)); return 1; }
}

xdomain_packets()
{
	echo $(($(emu_stat 0.ctl.xdomain) + $(emu_stat 1.ctl.xdomain)))
}

# Neither words nor packets come of a peer that stays as it is.
no_storm()
{
	local text=$1 before after

	before=$(xdomain_packets)
	sleep $quiet
	after=$(xdomain_packets)
	echo "$((after - before)) XDomain packets in $quiet s"
	[ $((after - before)) -le $packets ] ||
		fail "$((after - before)) packets in $quiet s" || return
	logged_once "$text"
}

attr()
{
	on "$1" cat "/sys/class/net/$(dev_of "$1")/usb4net/$2"
}

attr_is()
{
	[ "$(attr "$1" "$2")" = "$3" ] ||
		fail "$2 of $1 is '$(attr "$1" "$2")' and not '$3'"
}

# --- no service -----------------------------------------------------------

hidden="host does not offer the service usb4rdma"

# B sees A's service, and its driver looks for A.
hide_service()
{
	emu unplug 0.1 && mod_load usb4net_rdma || return
	log_begin
	emu fault xd-replace router 1 find $key set $other_key &&
		emu plug 0.1 1.1 || return
	B_DEV=$(busywait 20000 find_dev b) || fail "B has no netdev" || return
	ip link set "$B_DEV" up
}

hidden_is_logged()
{
	local xd

	xd=$(nhi_domain a) && xd=${xd#domain}-1
	# it waits for ten seconds itself
	patiently 20000 logged "thunderbolt $xd: usb4net_rdma: $hidden" &&
		logged_once "$hidden"
}

no_netdev()
{
	! find_dev a
}

# B's driver was loaded after A had read what B offers, and A has missed that it has
# changed: the kernel does while it adds a host. B, which gets no answer, tells it again.
found_late()
{
	emu fault off && A_DEV=$(busywait 90000 find_dev a) && link_wait &&
		link_addr && ping_ok a "$B_IP" && ping_ok b "$A_IP"
}

offer_service()
{
	emu fault off && emu unplug 0.1 &&
		busywait 10000 _no_netdevs && emu plug 0.1 1.1 &&
		link_wait && link_addr && ping_ok a "$B_IP"
}

_no_netdevs()
{
	! find_dev a && ! find_dev b
}

# --- another version ------------------------------------------------------

refusal="peer speaks versions 3 to 4 of the protocol, this driver 2 to 2: no link"

# Both ways: a peer that speaks other versions refuses ours as well.
another_version()
{
	on_b ip link set "$B_DEV" down
	log_begin
	emu fault xd-replace find $versions set $newer &&
		on_b ip link set "$B_DEV" up &&
		patiently 10000 both_logged "$refusal" > /dev/null &&
		logged_once "$A_DEV: $refusal" && logged_once "$B_DEV: $refusal"
}

refused()
{
	attr_is "$1" state refused && attr_is "$1" protocol_version 0 &&
		! carrier "$1" "$(dev_of "$1")"
}

# The peer is updated: its driver is loaded again, and says HELLO.
same_version()
{
	emu fault off && on_b ip link set "$B_DEV" down && link_addr &&
		ping_ok a "$B_IP" && attr_is a state up &&
		attr_is a protocol_version 2
}

# Said again if it happens again, not if it goes on.
again()
{
	another_version && same_version
}

ktap_print_header
ktap_set_plan 13
run_step "B hides the service" hide_service
check "A says so once, and which host it is" hidden_is_logged
check "A has no netdev" no_netdev
check "neither words nor packets follow" no_storm "$hidden"
run_step "B offers it from now on, and A hears of it: there is a link" found_late
run_step "B offers it when the cable is plugged in: there is a link" offer_service
check "nothing more is said" logged_once "$hidden"
run_step "B speaks newer versions: each side says so once" another_version
check "A shows that it refuses" busywait 5000 refused a
check "so does B" busywait 5000 refused b
check "neither words nor packets follow" no_storm "$A_DEV: $refusal"
run_step "B speaks ours again: there is a link" same_version
check "all that once more" again
ktap_finished
