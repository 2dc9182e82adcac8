#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# For tests in which the emulator does something wrong on purpose. Sourced
# after lib.sh and traffic.sh.

# fault KIND [WORD N]...: a rule, see Documentation/emulator.rst. Direction A
# to B is "router 0".
fault()
{
	emu fault "$@" > /dev/null
}

# quiet: nothing is sent but what the test sends, so that a rule for the next
# frame meets that one.
quiet()
{
	local side dev mac_a mac_b

	for side in a b; do
		dev=$(dev_of $side)
		on $side sysctl -qw "net.ipv6.conf.$dev.disable_ipv6=1" || return
	done
	mac_a=$(on_a cat "/sys/class/net/$A_DEV/address") &&
		mac_b=$(on_b cat "/sys/class/net/$B_DEV/address") &&
		on_a ip neigh replace "$B_IP" lladdr "$mac_b" dev "$A_DEV" \
			nud permanent &&
		on_b ip neigh replace "$A_IP" lladdr "$mac_a" dev "$B_DEV" \
			nud permanent
}

# counters a|b > FILE: all of "ethtool -S", as "name value" lines.
counters()
{
	on "$1" ethtool -S "$(dev_of "$1")" |
		sed -n 's/^ *\([^:]*\): \([0-9]*\)$/\1 \2/p' | sort
}

# changes FILE a|b ERE: what has changed since FILE was made with "counters",
# as words "name=difference", in alphabetical order.
changes()
{
	counters "$2" | join "$1" - | awk -v re="^($3)$" '
		$1 ~ re && $2 != $3 { printf "%s%s=%d", s, $1, $3 - $2; s = " " }
		END { print "" }'
}

# kernel_says a|b ERE COUNT: so many lines of that side's kernel log match.
kernel_says()
{
	local run=on_a n

	[ "$1" = b ] && run=root_b
	n=$($run dmesg | grep -cE "$2")
	[ "$n" = "$3" ] || fail "$n lines match $2, not $3"
}

no_carriers()
{
	! carrier a "$A_DEV" && ! carrier b "$B_DEV"
}

any_carrier()
{
	carrier a "$A_DEV" || carrier b "$B_DEV"
}

# stays_down MS: there is no carrier on either side for so long.
stays_down()
{
	! patiently "$1" any_carrier || fail "there is a carrier"
}

# both_up MS: there is a carrier on both sides within so long.
both_up()
{
	within "$1" patiently "$1" _carrier_both
}

# credits_whole: each side may send as many frames as the other one has
# buffers, less those whose doorbell waits for a batch to be complete.
credits_whole()
{
	local side window have

	for side in a b; do
		window=$(on "$(other_side $side)" ethtool -g \
			"$(dev_of "$(other_side $side)")" |
			awk '$1 == "RX:" { v = $2 } END { print v }')
		have=$(counter $side tx_credits) || return
		[ "$have" -ge $((window - window / 16)) ] ||
			fail "$side has $have credits of $window" || return
	done
}

# stream SIDE BYTES: so many bytes from SIDE to the other one and as many back,
# over TCP, every one of them verified. (iperf3 polls, and would do so for ever
# where code takes no time.)
stream()
{
	local to addr

	to=$(other_side "$1")
	addr=$(ip_of "$to")
	between "$to" 18700 python3 /usb4net/selftests/netcheck.py serve \
		"$addr" -- python3 /usb4net/selftests/netcheck.py client \
		"$addr" 5 "$2" 100
}

# blast SECONDS RATE SIZE: datagrams in both directions.
blast()
{
	local py=/usb4net/selftests/blast.py pid

	bg_on b python3 $py "$B_IP" "$A_IP" "$@"
	pid=$BG_PID
	on_a python3 $py "$A_IP" "$B_IP" "$@" || { kill "$pid"; return 1; }
	wait "$pid"
}

# --- the cable ----------------------------------------------------------------

netdevs_there()
{
	find_dev a && find_dev b
} > /dev/null 2>&1

# xdomain a|b: the side sees the other host.
xdomain()
{
	local dom run=on_a

	[ "$1" = a ] || run=root_b
	dom=$(nhi_domain "$1") &&
		$run test -e "/sys/bus/thunderbolt/devices/${dom#domain}-1"
}

xdomains_gone()
{
	! xdomain a && ! xdomain b
}

# unplugged: the cable is out, if it was not before, and both sides know.
unplugged()
{
	emu unplug 0.1 > /dev/null 2>&1
	emu fault off
	patiently 10000 xdomains_gone || fail "an XDomain stays"
}

plugged()
{
	emu plug 0.1 1.1 > /dev/null && patiently 20000 netdevs_there &&
		link_wait && link_addr && ping_ok a "$B_IP"
}

cable_is_out()
{
	emu status | grep -q 'port 0.1 free'
}

# Not in their namespace: they may be gone before they arrive there.
devs_up()
{
	local dev

	dev=$(find_dev a) && on_a ip link set "$dev" up
	dev=$(find_dev b) && root_b ip link set "$dev" up
	cable_is_out
} 2> /dev/null

# The cable is pulled behind the Nth XDomain packet, of one side or the other,
# after it was plugged in, within PULL_MS. Whatever has begun must come to an end.
pull_at()
{
	unplugged && fault xd-unplug router $(($1 % 2)) after $(($1 / 2)) \
		count 1 && emu plug 0.1 1.1 > /dev/null || return
	patiently "${PULL_MS:-3000}" devs_up || echo "no packet $1"
}

# --- what is left -------------------------------------------------------------

# All modules but thunderbolt, whose users have gone
unload_all()
{
	rdma link del "$A_RXE" 2> /dev/null
	rdma link del "$B_RXE" 2> /dev/null
	emu unplug 0.1 > /dev/null 2>&1
	mod_unload rdma_ucm rdma_rxe usb4net_rdma roce_link || return
	sleep 10
}

# slab_bytes > FILE: bytes in use, by cache
slab_bytes()
{
	awk 'NR > 2 { print $1, $2 * $4 }' /proc/slabinfo | sort
}

# slab_grown FILE KB: the caches that have more than so much more than in FILE
slab_grown()
{
	slab_bytes | join "$1" - | awk -v kb="$2" '$3 > $2 + 1024 * kb {
		print $1 ": " $3 - $2 " bytes more"; bad = 1 }
		END { exit bad }'
}
