#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Is usb4emu like the hardware? The distribution's own, unmodified modules
# thunderbolt, thunderbolt_net, rdma_rxe and thunderbolt_stream run on it:
# nothing of this project is loaded. fidelity-gen3.sh is the same with other
# options of the emulator.
#
# beds: qemu
# tb: stock
# topology: netns
# timeout: 400
# runs: qemu

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

: "${FIDELITY:=gen4}"
# Several words of dd would be slow in an emulated machine, and tell no more.
stream_bytes=$((3 * 1024 * 1024 + 12345))

xdomain()
{
	local dom

	dom=$(nhi_domain "$1") || return
	echo "/sys/bus/thunderbolt/devices/${dom#domain}-1"
}

xdomains_there()
{
	[ -e "$(xdomain a)/unique_id" ] && [ -e "$(xdomain b)/unique_id" ]
}

xdomains_gone()
{
	! [ -e "$(xdomain a)" ] && ! [ -e "$(xdomain b)" ]
}

netdevs_gone()
{
	! find_dev a thunderbolt && ! find_dev b thunderbolt &&
		! on_b test -e "/sys/class/net/$B_DEV"
} > /dev/null 2>&1

# Each side must have been told who the other one is.
uuids_crossed()
{
	local own peer

	own=$(xdomain a)
	own=$(cat "${own%-1}-0/unique_id")
	peer=$(cat "$(xdomain b)/unique_id")
	echo "A is $own, B sees $peer"
	[ -n "$own" ] && [ "$own" = "$peer" ]
}

services_found()
{
	local side

	for side in a b; do
		cat "$(xdomain $side)"/*/key 2>/dev/null | grep -qx network ||
			return
	done
}

link_speed()
{
	local speed lanes

	speed=$(cat "$(xdomain a)/rx_speed")
	lanes=$(cat "$(xdomain a)/rx_lanes")
	echo "$speed, $lanes lanes; wanted $*"
	[ "$speed, $lanes lanes" = "$*" ]
}

# In single-MSI mode there is one vector and no MSI-X table.
vectors()
{
	local nhi dev

	for nhi in /sys/bus/pci/devices/*/domain*; do
		dev=${nhi%/*}
		echo "$dev: $(sort "$dev"/msi_irqs/* | uniq -c)"
		grep -qx "$1" "$dev"/msi_irqs/* || return
	done
}

rxe_there()
{
	on a rdma link show | grep -q "$A_RXE/1 " &&
		on a rdma link show | grep -q "$B_RXE/1 "
}

rxe_gone()
{
	! on a rdma link show | grep -qE "rxe[01]/"
}

traffic()
{
	check "$1: ping" ping_ok a "$B_IP" 56 -c 5 -i 0.2
	check "$1: ping of 1472 bytes, IPv6" ping_ok b "$A_IP6" 1452
	check "$1: iperf3" iperf b -n 1M
	check "$1: full frames, every byte verified" full_frames
}

# Packets of many frames, which are full ones but for the last: datagrams there
# and back, and a stream each way.
full_frames()
{
	local side rc=0 check="python3 /usb4net/selftests/netcheck.py"

	for side in a b; do
		on $side ip link set "$(dev_of $side)" mtu 65500 || return
	done
	# shellcheck disable=SC2086 # words
	between b 18700 $check serve "$B_IP" -- \
		$check client "$B_IP" 7 500000 4056 4057 8140 60000 || rc=$?
	for side in a b; do
		on $side ip link set "$(dev_of $side)" mtu 1500 || rc=$?
	done
	return $rc
}

# TCP sends again what arrives damaged, and only counts it.
no_bad_checksums()
{
	local side bad

	for side in a b; do
		bad=$(on $side nstat -asz '*InCsumErrors' | grep -v ' 0 ')
		echo "$side: $bad"
		! grep -q InCsumErrors <<< "$bad" || return
	done
}

rdma_traffic()
{
	check "$1: rdma link add" rxe_up
	check "$1: rping" rping_ok b
	check "$1: ib_send_lat" perftest b ib_send_lat -e -n 20
}

# --- data through /dev/tbstream ------------------------------------------

stream_service()
{
	local s

	for s in "$(xdomain "$1")".*; do
		if [ "$(cat "$s/key" 2>/dev/null)" = stream ]; then
			basename "$s"
			return
		fi
	done
	return 1
}

stream_services()
{
	stream_service a && stream_service b
}

# The second side configures itself from what the first one has announced.
stream_configure()
{
	local dir=/sys/kernel/config/thunderbolt/stream a b

	mount -t configfs configfs /sys/kernel/config 2>/dev/null
	a=$(stream_service a) && b=$(stream_service b) || return
	mkdir "$dir/$a" "$dir/$a/data" || return
	echo -1 > "$dir/$a/data/in_hopid" || return
	echo -1 > "$dir/$a/data/out_hopid" || return
	busywait 10000 stream_second "$dir/$b" || return
	busywait 10000 test -c /dev/tbstream0 -a -c /dev/tbstream1
}

# Until the announcement is there, the second side gets no HopIDs.
stream_second()
{
	[ -d "$1" ] || mkdir "$1" || return
	[ -d "$1/data" ] || mkdir "$1/data" || return
	[ "$(cat "$1/data/in_hopid")" -gt 0 ] && return
	rmdir "$1/data" "$1"
	return 1
}

# The reader opens first, or the beginning is lost. An end that is open for
# reading only closes the stream towards its writer when it goes, so both stay
# open until the data is through.
stream_copy()
{
	local from=$1 to=$2 pid rc=0 in out

	head -c "$stream_bytes" /dev/urandom > /tmp/sent
	rm -f /tmp/received
	exec {in}< "$to" || return
	exec {out}> "$from" || return
	timeout 30 head -c "$stream_bytes" <&"$in" > /tmp/received &
	pid=$!
	timeout 30 dd if=/tmp/sent bs=65536 status=none >&"$out" || rc=$?
	wait $pid || rc=$?
	exec {in}<&- {out}>&-
	cmp /tmp/sent /tmp/received && [ $rc -eq 0 ]
}

stream_remove()
{
	local dir=/sys/kernel/config/thunderbolt/stream d

	for d in "$dir"/*/data; do
		rmdir "$d" "${d%/*}" || return
	done
	mod_unload thunderbolt_stream
}

stream()
{
	mod_load configfs
	check "thunderbolt_stream loads" mod_load thunderbolt_stream
	check "stream services are found" busywait 15000 stream_services
	check "stream devices appear" stream_configure
	check "data from A to B through /dev/tbstream" \
		stream_copy /dev/tbstream0 /dev/tbstream1
	check "data from B to A through /dev/tbstream" \
		stream_copy /dev/tbstream1 /dev/tbstream0
	check "streams go, module unloads" stream_remove
}

# --- the cable -------------------------------------------------------------

replug()
{
	check "unplug" emu unplug 0.1
	check "the other host is gone" busywait 10000 xdomains_gone
	check "netdevs are gone" busywait 10000 netdevs_gone
	check "rxe devices are gone" busywait 10000 rxe_gone
	check "plug in again" emu plug 0.1 1.1
	check "the other host is back" busywait 20000 xdomains_there
	run_step "the link is back" link_up thunderbolt
}

# Linux 7.3's thunderbolt forgets to unregister the other host when it is unloaded
# with the cable in: the device stays, with pointers into the module, and the next
# power-off follows them. So the cable comes out for that one.
reload()
{
	check "rmmod thunderbolt_net" mod_unload rdma_rxe thunderbolt_net
	check "insmod thunderbolt_net" mod_load thunderbolt_net
	run_step "the link is back" link_up thunderbolt
	check "ping after a reload of thunderbolt_net" ping_ok a "$B_IP"
	check "rmmod thunderbolt_net" mod_unload thunderbolt_net
	check "unplug" emu unplug 0.1
	check "the other host is gone" busywait 10000 xdomains_gone
	check "rmmod thunderbolt" mod_unload thunderbolt
	check "insmod thunderbolt, thunderbolt_net" mod_load thunderbolt_net
	check "plug in again" emu plug 0.1 1.1
	check "the other host is found" busywait 30000 xdomains_there
	run_step "the link is back" link_up thunderbolt
	check "ping after a reload of thunderbolt" ping_ok a "$B_IP"
}

# No frame was lost by the emulator between two enabled paths.
no_losses()
{
	local drops

	drops=$(emu stats | grep -E '\.overflows|\.drop\.' | grep -v ' 0$')
	echo "$drops"
	! grep -q overflow <<< "$drops"
}

ktap_print_header
case $FIDELITY in
gen4) ktap_set_plan 51 ;;
*) ktap_set_plan 18 ;;
esac

check "thunderbolt loads" mod_load thunderbolt
check "hosts find each other" busywait 30000 xdomains_there
check "UUIDs are exchanged" uuids_crossed
case $FIDELITY in
gen4)
	check "a USB4 v2 link" link_speed "40.0 Gb/s, 2 lanes"
	check "MSI-X" vectors msix
	;;
gen3)
	check "a USB4 v1 link, lanes bonded" link_speed "20.0 Gb/s, 2 lanes"
	check "a single MSI" vectors msi
	;;
esac
check "thunderbolt_net loads" mod_load thunderbolt_net
check "services are found" busywait 20000 services_found
run_step "the link comes up" link_up thunderbolt
load_stock_rxe
traffic "first"
rdma_traffic "first"
if [ "$FIDELITY" = gen4 ]; then
	replug
	traffic "replugged"
	rdma_traffic "replugged"
	reload
	stream
fi
check "no frame lost to a full ring" no_losses
check "no packet with a wrong checksum" no_bad_checksums
check "only modules of the distribution" \
	sh -c '! grep -l O /sys/module/*/taint'
ktap_finished
