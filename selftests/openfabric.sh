#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A ring of four hosts that FRR's OpenFabric routes, with the files of scripts/cluster
# --openfabric: everybody finds everybody, and the way round when a cable is pulled,
# which static routes do not in a ring of four, and back when it is in again.
#
#	a (B) === (A) b (B) === (A) c (B) === (A) d (B) === (A) a
#
# Each host is a network namespace; ip sets the addresses of the files, which
# systemd-networkd does in cluster.sh.
#
# beds: uml
# topology: netns
# uml-mode: real
# runs: none
# runs-long: uml
# timeout: 400
# extra: apps
# emu-args: -r 4 -u

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

hosts=(a b c d)
# shellcheck source=selftests/cluster-lib.sh
. "$(dirname "$0")/cluster-lib.sh"
# cables: ports of the emulator
cables=(0.3 1.1 1.3 2.1 2.3 3.1 3.3 0.1)

# addresses HOST [DEV]: of the files, for that device, or for all
addresses()
{
	local net dev line

	for net in "$conf/$1/systemd/network/70-"${2:-*}.network; do
		dev=$(sed -n 's/^Name=//p' "$net")
		at "$1" ip link set "$dev" up 2> /dev/null || continue
		while read -r line; do
			at "$1" ip addr replace "$line" dev "$dev" nodad || return
		done < <(sed -n 's/^Address=//p' "$net")
	done
}

cable_all()
{
	local i h

	for ((i = 0; i < ${#cables[@]}; i += 2)); do
		plug "${cables[@]:i:2}" || return
	done
	for h in "${hosts[@]}"; do
		addresses "$h" || return
	done
}

# FRR as its package starts it, with the generator's files in /etc/frr
start_frr()
{
	local h

	for h in "${hosts[@]}"; do
		# shellcheck disable=SC2016 # the inner shell's
		ip netns exec "$h" unshare -m sh -c '
			mount -t tmpfs tmpfs /etc/frr &&
			mkdir -p /run/frr /var/lib/frr && mount -t tmpfs tmpfs /run/frr &&
			cp "$0"/frr/* /etc/frr/ && touch /etc/frr/vtysh.conf &&
			chown -R frr:frr /etc/frr /run/frr &&
			/usr/lib/frr/frrinit.sh start && exec sleep infinity' \
			"$conf/$h" > "/tmp/frr.$h" 2>&1 &
		frr[$h]=$!
	done
	SECONDS=0
	for h in "${hosts[@]}"; do
		patiently 60000 started "$h" || fail "$(cat "/tmp/frr.$h")" || return
	done
	msg "after $SECONDS s"
}

# The shell above has done what it had to.
started()
{
	[ "$(< "/proc/${frr[$1]}/comm")" = sleep ]
}

# vtysh HOST COMMAND
vtysh()
{
	nsenter -t "${frr[$1]}" -m -n vtysh -c "$2"
}

# soon SECONDS CMD...: and says after how many it was so
soon()
{
	local n=$1 rc=0 h
	shift

	until "$@" > /tmp/soon 2>&1; do
		[ $SECONDS -lt "$n" ] || { rc=1; break; }
		sleep 1
	done
	msg "after $SECONDS s"
	[ $rc -ne 0 ] || return 0
	cat /tmp/soon
	for h in "${hosts[@]}"; do
		cat "/tmp/frr.$h"
		vtysh "$h" "show openfabric neighbor"
		at "$h" ip route
		at "$h" ip -6 route
		at "$h" ip addr
		at "$h" ip neigh
	done
	return 1
}

# Across the ring it is two cables, either way.
across()
{
	hops a c 2 && hops b d 2 && hops a d 1
}

pull()
{
	emu unplug 3.3 && busywait 10000 gone d to-a && busywait 10000 gone a to-d
	SECONDS=0
}

# The long way round
round()
{
	pings && hops a d 3 && hops d a 3
}

back()
{
	plug 3.3 0.1 && addresses a to-d && addresses d to-a
	SECONDS=0
}

again()
{
	pings && across
}

stop_frr()
{
	local h

	for h in "${hosts[@]}"; do
		nsenter -t "${frr[$h]}" -m -n /usr/lib/frr/frrinit.sh stop
		kill "${frr[$h]}"
		wait "${frr[$h]}"
	done
	! pgrep -l 'zebra|fabricd|watchfrr|mgmtd|staticd'
}

declare -A frr
ktap_print_header
ktap_set_plan 10
run_step "four hosts" set_up
run_step "configuration of a ring, OpenFabric" generate ring --openfabric
run_step "four cables" cable_all
run_step "FRR starts" start_frr
check "everybody reaches everybody, the short way" soon 120 again
run_step "the cable between a and d is pulled" pull
check "everybody still does, the long way round" soon 30 round
run_step "and put in again" back
check "the short way again" soon 60 again
check "FRR stops" stop_frr
ktap_finished
