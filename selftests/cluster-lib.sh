# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# Clusters of hosts, each in a network namespace, with the files that scripts/cluster
# makes for them. Whoever sources this has set "hosts" to their names; host N of the
# emulator is number N of these.

conf=/tmp/cluster
declare -A uuid

at()
{
	ip netns exec "$@"
}

# --- cables and devices -----------------------------------------------------

dom_uuid()
{
	local dom

	dom=$(/usb4net/bed/netdev domain "$1") || return
	cat "/sys/bus/thunderbolt/devices/${dom#domain}-0/unique_id"
}

set_up()
{
	local i

	mod_load usb4net_rdma && mod_load rdma_rxe || return
	for i in "${!hosts[@]}"; do
		uuid[${hosts[i]}]=$(dom_uuid "$i") || return
		ip netns add "${hosts[i]}" &&
			at "${hosts[i]}" ip link set lo up || return
	done
}

# generate SHAPE [OPTION...]
generate()
{
	local h words=()

	for h in "${hosts[@]}"; do
		words+=("$h=${uuid[$h]}")
	done
	rm -rf $conf
	/usb4net/scripts/cluster "$1" "${words[@]}" -o $conf "${@:2}"
}

# What udev does with the rules, which selftests/names.sh shows.
name_device()
{
	local h=${hosts[$1]} dev peer name

	dev=$(/usb4net/bed/netdev name "$1" usb4net "$2") || return
	peer=$(cat "/sys/class/net/$dev/usb4net/peer_uuid") &&
	name=$(sed -n "/peer_uuid}==\"$peer\"/s/.*NAME=\"\(.*\)\"/\1/p" \
		$conf/"$h"/udev/rules.d/70-usb4net.rules) &&
	echo "$h: $dev is $name" && [ -n "$name" ] &&
	ip link set "$dev" netns "$h" name "$name"
}

# plug PORT PORT: and both devices are where they belong
plug()
{
	local port

	emu plug "$1" "$2" > /dev/null || return
	for port; do
		busywait 20000 name_device "${port%.*}" "${port#*.}" || return
	done
}

gone()
{
	! at "$1" ip link show "$2" > /dev/null 2>&1
}

# --- who reaches whom -------------------------------------------------------------

pings()
{
	local from to n=0

	for from in "${hosts[@]}"; do
		for to in "${hosts[@]}"; do
			n=$((n + 1))
			[ "$from" != "$to" ] || continue
			at "$from" ping -n -c 1 -W 1 "10.42.255.$(nr "$to")" &&
			at "$from" ping -n -c 1 -W 1 "fd42:0:0:ff::$(nr "$to")" ||
				fail "$from does not reach $to" || return
		done
	done
	echo "$n pairs"
}

# Number N is its address 10.42.255.N.
nr()
{
	local i

	for i in "${!hosts[@]}"; do
		[ "${hosts[i]}" != "$1" ] || echo $((i + 1))
	done
}

everybody()
{
	busywait 20000 pings
}

# hops FROM TO N: as many routers are in between, less one
hops()
{
	at "$1" ping -n -q -c 1 -W 1 -t "$3" "10.42.255.$(nr "$2")" || return
	[ "$3" = 1 ] || ! at "$1" ping -n -q -c 1 -W 1 -t $(($3 - 1)) \
		"10.42.255.$(nr "$2")"
}
