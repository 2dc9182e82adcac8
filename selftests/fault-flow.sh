#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Flow control when data fills the rings: both hosts send as much as goes, and
# look at what they have received no more than once in a millisecond, since every
# interrupt is late. Senders are made to wait and nothing is lost; control
# messages have room of their own, small packets pass by the stack's bulk without
# a change to the order of their flow, and the rest keeps the order that the
# qdisc gives it.
#
# beds: uml qemu
# topology: netns
# timeout: 400
# runs: uml
# runs-long: uml:smoke:tb=patched

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"
# shellcheck source=selftests/fault-lib.sh
. "$(dirname "$0")/fault-lib.sh"

seconds=2	# of 50 MB, in each direction
# The smallest rings: 51 frames for bulk, 8 for small packets, 4 for control
small_rings()
{
	on_a ethtool -G "$A_DEV" rx 64 tx 64 &&
		on_b ethtool -G "$B_DEV" rx 64 tx 64 && both_up 5000 &&
		fault irq-delay us 3000
}

overflows()
{
	emu stats | awk '/\.overflows/ { n += $2 } END { print n + 0 }'
}

qdisc_drops()
{
	local side

	for side in a b; do
		on $side tc -s qdisc show dev "$(dev_of $side)"
	done | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' |
		awk '{ n += $1 } END { print n }'
}

begin()
{
	counters a > /tmp/a && counters b > /tmp/b && lost=$(overflows)
}

# unharmed: the senders had to wait, nothing is lost at any place between the
# sockets, and no keepalive was sent without credit.
unharmed()
{
	local side got

	for side in a b; do
		got=$(changes /tmp/$side $side tx_queue_stops)
		echo "$side: $got"
		[ -n "$got" ] || fail "$side was never stopped" || return
		got=$(changes /tmp/$side $side \
			'rx_drop_.*|tx_drop_.*|roce_.x_drop_.*|rx_lost_(frames|packets)|rx_flow_control_errors|end_.*|tx_forced_frames')
		[ -z "$got" ] || fail "$side: $got" || return
	done
	[ "$(overflows)" = "$lost" ] || fail "lost for want of a buffer" ||
		return
	[ "$(qdisc_drops)" = 0 ] || fail "dropped by the qdisc"
}

all_received()
{
	local from

	for from in a b; do
		[ "$(changes /tmp/$from $from tx_frames | cut -d = -f 2)" = \
			"$(changes "/tmp/$(other_side $from)" \
			"$(other_side $from)" rx_frames | cut -d = -f 2)" ] ||
			return
	done
}

senders_wait()
{
	begin && blast "$seconds" 0 60000 && blast 1 0 1400 &&
		stream a 2000000 && busywait 3000 all_received && unharmed
}

# load, load_done: bulk both ways, from several sockets
load()
{
	LOAD=()
	for n in 1 2 3 4; do
		bg_on b python3 /usb4net/selftests/blast.py "$B_IP" "$A_IP" \
			"$seconds" 0 $((16000 * n)) $n > /tmp/blast.b$n 2>&1
		LOAD+=("$BG_PID")
		bg_on a python3 /usb4net/selftests/blast.py "$A_IP" "$B_IP" \
			"$seconds" 0 $((16000 * n)) $n > /tmp/blast.a$n 2>&1
		LOAD+=("$BG_PID")
	done
	busywait 5000 both_stopped
}

both_stopped()
{
	changes /tmp/a a tx_queue_stops | grep -q . &&
		changes /tmp/b b tx_queue_stops | grep -q .
}

loaded()
{
	local pid

	for pid in "${LOAD[@]}"; do
		kill -0 "$pid" || fail "the load has ended too soon" || return
	done
}

load_done()
{
	local pid rc=0

	for pid in "${LOAD[@]}"; do
		wait "$pid" || rc=1
	done
	cat /tmp/blast.*
	return $rc
}

peer_mtu_is()
{
	[ "$(counter b peer_mtu)" = "$1" ]
}

# What one side says in CONTROL arrives at once, each time, and as often as it
# was said. Credits come on time, or there would not be so much of the rest.
control_passes()
{
	local mtu from to sent got

	begin && load || return
	for mtu in 1500 9000 4000 65520; do
		on_a ip link set "$A_DEV" mtu $mtu &&
			within 100 busywait 100 peer_mtu_is $mtu || return
	done
	loaded && load_done && busywait 3000 all_received || return
	for from in a b; do
		to=$(other_side $from)
		sent=$(changes /tmp/$from $from tx_control_frames)
		got=$(changes "/tmp/$to" "$to" rx_control_frames)
		echo "$from: $sent, $to: $got"
		[ "${sent#*=}" = "${got#*=}" ] || fail "some got lost" || return
	done
	unharmed
}

# Small messages, while the stack's queue is stopped most of the time. They leave
# the last of the room to control messages, or keepalives would go without credit.
roce_passes()
{
	local got

	begin && load && verbs_check b -q rc -s 1,64,1000 -n 4 &&
		verbs_check a -q ud -o send -s 64,1000 -n 4 && loaded &&
		load_done && unharmed || return
	got=$(changes /tmp/a a roce_tx_queued)$(changes /tmp/b b roce_tx_queued)
	[ -z "$got" ] || fail "packets had to wait: $got"
}

# longest FILE: round trip of the slowest ping, in milliseconds
longest()
{
	sed -n 's,^rtt .*/\([0-9]*\)\.[0-9]*/[0-9.]* ms.*,\1,p' "$1"
}

# pings FILE SIZE: some, while there is load
pings()
{
	on_a ping -q -n -c 20 -i 0.005 -s "$2" "$B_IP" > "$1"
	tail -n 3 "$1"
	grep -q ' 0% packet loss' "$1"
}

# The stack's own small packets, which have a queue of their own, beside large
# ones that wait with the bulk.
small_passes()
{
	local small large got

	begin && load && pings /tmp/large 4000 && begin &&
		pings /tmp/small 56 && loaded && load_done && unharmed || return
	small=$(longest /tmp/small) large=$(longest /tmp/large)
	[ $((2 * small)) -le "$large" ] ||
		fail "$small ms, large ones $large ms" || return
	for side in a b; do
		got=$(changes /tmp/$side $side tx_small_packets)
		[ "${got#*=}" -ge 20 ] || fail "$side: $got" || return
	done
}

# out_of_order SIDE: segments of TCP that came before their time
out_of_order()
{
	on "$1" cat /proc/net/netstat | awk '
		$1 == "TcpExt:" && !c { for (i = 2; i <= NF; i++)
			if ($i == "TCPOFOQueue") c = i; next }
		$1 == "TcpExt:" { print $c }'
}

# Small and large packets of one flow take different queues, and stay in order.
order_kept()
{
	local py=/usb4net/selftests/order.py before got

	before=$(out_of_order b)
	begin && load && between b 18710 python3 $py serve "$B_IP" -- \
		python3 $py client "$B_IP" 300 && loaded && load_done &&
		unharmed || return
	got=$(changes /tmp/a a tx_small_packets)
	[ "${got#*=}" -ge 20 ] || fail "$got" || return
	[ "$(out_of_order b)" = "$before" ] || fail "TCP saw another order"
}

# pings_first HANDLE QDISC: in front of both queues, which puts pings first if it is
# prio
pings_first()
{
	local side dev

	for side in a b; do
		dev=$(dev_of $side)
		on $side tc qdisc replace dev "$dev" root handle "$1" "$2" || return
		[ "$2" = prio ] || continue
		on $side tc filter add dev "$dev" parent "$1" protocol ip u32 \
			match ip protocol 1 0xff flowid "${1}1" || return
	done
}

# What the qdisc puts first waits for credits, but not for the bulk that is there
# before it: the driver has no queue behind the qdisc.
urgent_passes()
{
	local plain urgent rc=0

	pings_first 1: pfifo && begin && load && pings /tmp/plain 4000 &&
		pings_first 2: prio && begin && pings /tmp/urgent 4000 && loaded &&
		load_done && unharmed || rc=$?
	for side in a b; do
		on $side tc qdisc del dev "$(dev_of $side)" root
	done
	[ $rc = 0 ] || return $rc
	plain=$(longest /tmp/plain) urgent=$(longest /tmp/urgent)
	[ $((2 * urgent)) -le "$plain" ] || fail "$urgent ms, others $plain ms"
}

ktap_print_header
ktap_set_plan 9
run_step "the link comes up" link_up
run_step "RDMA devices" rxe_up
run_step "small rings, late interrupts" small_rings
check "senders wait, and nothing is lost" senders_wait
check "control messages pass" control_passes
check "small RoCE packets pass" roce_passes
check "small packets of the stack pass" small_passes
check "the order of a flow is kept" order_kept
check "urgent packets pass" urgent_passes
ktap_finished
