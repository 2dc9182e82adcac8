#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Three hosts, cabled as a ring and as a chain, each in a network namespace with
# a systemd-networkd of its own and the files that scripts/cluster makes for it.
# Everybody reaches everybody else, also with a cable out; RDMA passes the IP
# stack by between neighbours, and is forwarded to others.
#
#	a (port A) === (A) b (B) === (A) c (B) === (B) a
#
# beds: uml
# topology: netns
# runs: uml
# timeout: 300
# emu-args: -r 3 -u

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

hosts=(a b c)
# shellcheck source=selftests/cluster-lib.sh
. "$(dirname "$0")/cluster-lib.sh"
bin=/usb4net/bin/verbs_check
declare -A networkd
# cables: ports of the emulator
ab="0.1 1.1" bc="1.3 2.1" ca="2.3 0.3"

cable_all()
{
	# shellcheck disable=SC2086 # two ports each
	plug $ab && plug $bc && plug $ca
}

pull()
{
	emu unplug 2.3 && busywait 10000 gone a to-c && busywait 10000 gone c to-a
}

# --- systemd-networkd ---------------------------------------------------------

# With /sys read only it does not wait for udev, of which there is none here.
start_networkd()
{
	local h

	for h in "${hosts[@]}"; do
		# shellcheck disable=SC2016 # the inner shell's
		ip netns exec "$h" unshare -m sh -c '
			mount -o remount,bind,ro /sys &&
			mount -t tmpfs tmpfs /etc/systemd/network &&
			cp -r "$0"/systemd/* /etc/systemd/ &&
			mkdir -p /run/systemd && mount -t tmpfs tmpfs /run/systemd &&
			exec /usr/lib/systemd/systemd-networkd' $conf/"$h" \
			> /tmp/networkd."$h" 2>&1 &
		networkd[$h]=$!
	done
	busywait 30000 all_configured || {
		for h in "${hosts[@]}"; do
			cat /tmp/networkd."$h"
			at "$h" ip -br addr
			at "$h" ip route
		done
		return 1
	}
}

all_configured()
{
	local h net

	for h in "${hosts[@]}"; do
		for net in "$conf/$h"/systemd/network/*; do
			configured "$h" "$net" || return
		done
	done
}

# Addresses and routes of a file are in force, if its device is there.
configured()
{
	local h=$1 dev line

	dev=$(sed -n 's/^Name=//p' "$2")
	at "$h" ip link show "$dev" > /dev/null 2>&1 || return 0
	while read -r line; do
		at "$h" ip addr show dev "$dev" | grep -q "$line" ||
			fail "$h: no $line on $dev" || return
	done < <(sed -n 's/^Address=//p' "$2")
	while read -r line; do
		{ at "$h" ip route show dev "$dev"; at "$h" ip -6 route show \
			dev "$dev"; } | grep -q "^${line%/32} \|^${line%/128} " ||
			fail "$h: no route to $line on $dev" || return
	done < <(sed -n 's/^Destination=//p' "$2")
	# no carrier, no traffic
	[ "$dev" = lo ] || [ "$(at "$h" cat "/sys/class/net/$dev/carrier")" = 1 ]
}

stop_networkd()
{
	local h

	kill "${networkd[@]}"
	wait "${networkd[@]}"
	for h in "${hosts[@]}"; do
		at "$h" ip addr flush dev lo scope global
		at "$h" ip route flush table main
		at "$h" ip -6 route flush table main
		for dev in to-a to-b to-c; do
			at "$h" ip addr flush dev "$dev"
		done
	done 2> /dev/null
	true
}

# --- RDMA -----------------------------------------------------------------------------

rdma_links()
{
	local h dev

	for h in "${hosts[@]}"; do
		for dev in $(at "$h" ls /sys/class/net); do
			[[ $dev != to-* ]] || at "$h" rdma link add \
				"$h-${dev#to-}" type rxe netdev "$dev" || return
		done
	done
}

# gid RDMA-DEVICE ADDRESS
gid()
{
	local hex

	# shellcheck disable=SC2046,SC2086,SC2183 # four numbers
	hex=$(printf '%02x%02x:%02x%02x' $(tr . ' ' <<< $2))
	grep -l "^0000:0000:0000:0000:0000:ffff:$hex\$" \
		/sys/class/infiniband/"$1"/ports/1/gids/* 2> /dev/null |
		head -n 1 | sed 's|.*/||' | grep .
}

listens()
{
	at "$1" ss -Hltn "sport = :18600" | grep -q .
}

# across SERVER DEVICE ADDRESS CLIENT DEVICE ADDRESS
across()
{
	local pid rc=0 server client

	server=$(busywait 10000 gid "$2" "$3") &&
		client=$(busywait 10000 gid "$5" "$6") || return
	ip netns exec "$1" timeout -k 2 60 $bin -d "$2" -g "$server" \
		> /tmp/server 2>&1 &
	pid=$!
	busywait 15000 listens "$1" &&
		at "$4" timeout -k 2 60 $bin -d "$5" -g "$client" \
			-s 1,4096,65536 -n 8 "$3" || rc=1
	[ $rc -eq 0 ] || kill $pid 2> /dev/null
	wait $pid || rc=1
	cat /tmp/server
	return $rc
}

bypassed()
{
	at "$1" ethtool -S "$2" | awk '$1 == "roce_tx_packets:" { print $2 }'
}

forwarded()
{
	# shellcheck disable=SC2016 # awk's
	at b awk '$1 == "Ip:" && $7 ~ /^[0-9]/ { print $7 }' /proc/net/snmp
}

# neighbours A B: to each other by the cable between them
neighbours()
{
	local x=$1 y=$2 before after

	before=$(bypassed "$y" "to-$x")
	across "$x" "$x-$y" "$(of "$x" "$y")" "$y" "$y-$x" "$(of "$y" "$x")" ||
		return
	after=$(bypassed "$y" "to-$x")
	echo "$((after - before)) packets bypassed IP"
	[ $((after - before)) -ge 20 ]
}

# The neighbours' GIDs have to arrive first.
all_neighbours()
{
	while [ $# -gt 0 ]; do
		busywait 10000 neighbours "$1" "$2" || return
		shift 2
	done
}

# of HOST PEER: address of the host on the cable to the peer
of()
{
	awk -v name="$1-$2" '$2 == name { print $1 }' $conf/a/hosts
}

through_b()
{
	local before after bypass

	before=$(forwarded) bypass=$(bypassed a to-b)
	across c c-b "$(of c b)" a a-b "$(of a b)" || return
	after=$(forwarded) bypass=$(($(bypassed a to-b) - bypass))
	echo "$((after - before)) forwarded by b, $bypass of a bypassed"
	[ $((after - before)) -ge 20 ] && [ $bypass -eq 0 ]
}

# --- the generator ---------------------------------------------------------------------

# A second way that leads back here would have packets go round in circles: in a
# ring of three there is one to the next host, in a ring of four there is none.
no_circles()
{
	local n

	n=$(next_hops a b c)
	[ "$n" = 2 ] || fail "ring of three: $n ways from a to b" || return
	n=$(next_hops a b c d)
	[ "$n" = 1 ] || fail "ring of four: $n ways from a to b"
}

next_hops()
{
	rm -rf /tmp/ring
	/usb4net/scripts/cluster ring "$@" -o /tmp/ring > /dev/null &&
		cat /tmp/ring/a/systemd/network/* |
		grep -c '^Destination=10.42.255.2/32'
}

# Fewer hosts, and no OpenFabric: nothing of the first run stays, and all else does.
again()
{
	rm -rf /tmp/again /tmp/fresh
	/usb4net/scripts/cluster ring a b c d --openfabric -o /tmp/again &&
	touch /tmp/again/d/mine && echo ../again/mine >> /tmp/again/.written &&
	touch /tmp/again/mine &&
	/usb4net/scripts/cluster pair a b -o /tmp/again &&
	/usb4net/scripts/cluster pair a b -o /tmp/fresh &&
	diff -r /tmp/again /tmp/fresh > /tmp/diff
	cat /tmp/diff
	[ "$(cat /tmp/diff)" = "Only in /tmp/again: d
Only in /tmp/again: mine" ] && [ "$(find /tmp/again/d -type f)" = /tmp/again/d/mine ]
}

refused()
{
	! /usb4net/scripts/cluster ring a b -o /tmp/bad &&
	! /usb4net/scripts/cluster chain a a -o /tmp/bad &&
	! /usb4net/scripts/cluster chain a a-name-that-is-long -o /tmp/bad &&
	! /usb4net/scripts/cluster pair a ../b -o /tmp/bad &&
	! /usb4net/scripts/cluster pair a=UUID b -o /tmp/bad &&
	! /usb4net/scripts/cluster pair a b --net 10.42.1 -o /tmp/bad &&
	! /usb4net/scripts/cluster pair a b --net6 fd42:1 -o /tmp/bad &&
	/usb4net/scripts/cluster pair \
		a=AAAAAAAA-0000-0000-0000-00000000000A b -o /tmp/case &&
	grep -q '"aaaaaaaa-0000-0000-0000-00000000000a"' \
		/tmp/case/b/udev/rules.d/70-usb4net.rules &&
	[ ! -e /tmp/bad ]
}

ktap_print_header
ktap_set_plan 18
check "no second way leads in circles" no_circles
check "what makes no cluster is refused" refused
check "a second run leaves nothing of the first" again
run_step "three hosts" set_up
run_step "configuration of a ring" generate ring
run_step "three cables" cable_all
run_step "systemd-networkd takes it" start_networkd
check "ring: everybody reaches everybody" everybody
check "ring: a and c are neighbours" hops a c 1
run_step "ring: RDMA devices" rdma_links
check "ring: RDMA between neighbours bypasses IP" all_neighbours a b b c c a
run_step "ring: the cable between a and c is pulled" pull
check "ring: everybody still reaches everybody" everybody
run_step "configuration of a chain" generate chain
stop_networkd
run_step "systemd-networkd takes that" start_networkd
check "chain: everybody reaches everybody, a and c through b" everybody
check "chain: from a to c it is two hops" hops a c 2
check "chain: RDMA from a to c is forwarded by b" through_b
ktap_finished
