#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RDMA over the link does not pass the IP stack, and what says so is true: with
# the patched rdma_rxe the packets of a transfer are counted by the driver's
# RoCE link and not by IP and UDP; with the kernel's own rdma_rxe on the same
# netdevs it is the other way round. Nor does a small message take a work item,
# unless there is an ODP memory region, access to which can sleep. The bypass,
# the elision of the ICRC and packets of several PSNs can be turned off on either
# side.
#
# perftest itself sets up its connection over TCP, so IP is allowed that many
# packets. UDP is allowed none.
#
# beds: uml qemu
# topology: netns
# timeout: 400
# runs: uml qemu:smoke
# runs-long: uml:smoke:tb=patched
# uml-mode: real

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

size=65536
iters=200
[ "$SMOKE" = 1 ] && iters=50
# 4096 bytes of payload in a packet; on the link up to 15 times as much, so that
# there are two for a message
packets=$((size * iters / 4096))
link_packets=$((2 * iters))
tcp_packets=200

# ip_count a|b: IPv4 and IPv6 packets that the side has received or sent
ip_count()
{
	on "$1" cat /proc/net/snmp /proc/net/snmp6 | awk '
		$1 == "Ip:" && !head { for (i = 2; i <= NF; i++)
			if ($i == "InReceives" || $i == "OutTransmits") c[i] = 1
			head = 1; next }
		$1 == "Ip:" { for (i in c) n += $i }
		$1 == "Ip6InReceives" || $1 == "Ip6OutTransmits" { n += $2 }
		END { print n }'
}

# udp_count a|b: UDP datagrams that the side has received or dropped
udp_count()
{
	on "$1" cat /proc/net/snmp /proc/net/snmp6 | awk '
		$1 == "Udp:" && !head { for (i = 2; i <= NF; i++)
			if ($i == "InDatagrams" || $i == "NoPorts" ||
			    $i == "InErrors") c[i] = 1
			head = 1; next }
		$1 == "Udp:" { for (i in c) n += $i }
		$1 ~ /^Udp6(InDatagrams|NoPorts|InErrors)$/ { n += $2 }
		END { print n }'
}

# rdma_count a|b NAME: a counter of the rxe device
rdma_count()
{
	local rxe

	rxe=$(rxe_of "$1")
	root_"$1" cat "/sys/class/infiniband/$rxe/ports/1/hw_counters/$2"
}

declare -A before

# What the sides count. link_* exist only in the patched rdma_rxe.
take()
{
	local s

	for s in a b; do
		before[$s.ip]=$(ip_count $s) || return
		before[$s.udp]=$(udp_count $s) || return
		before[$s.tx]=$(counter $s roce_tx_packets) || return
		before[$s.rx]=$(counter $s roce_rx_packets) || return
		before[$s.to_stack]=$(counter $s roce_rx_to_stack) || return
		before[$s.netdev_tx]=$(ifstat $s tx_packets) || return
		before[$s.netdev_rx]=$(ifstat $s rx_packets) || return
		[ "$1" = stock ] && continue
		before[$s.rxe_tx]=$(rdma_count $s link_sent_pkts) || return
		before[$s.rxe_rx]=$(rdma_count $s link_rcvd_pkts) || return
	done
}

# since a|b NAME: how much the counter has moved since take()
since()
{
	local now

	case $2 in
	ip) now=$(ip_count "$1") ;;
	udp) now=$(udp_count "$1") ;;
	tx) now=$(counter "$1" roce_tx_packets) ;;
	rx) now=$(counter "$1" roce_rx_packets) ;;
	to_stack) now=$(counter "$1" roce_rx_to_stack) ;;
	netdev_*) now=$(ifstat "$1" "${2#netdev_}_packets") ;;
	rxe_tx) now=$(rdma_count "$1" link_sent_pkts) ;;
	rxe_rx) now=$(rdma_count "$1" link_rcvd_pkts) ;;
	esac
	echo $((now - before[$1.$2]))
}

# want a|b NAME -eq|-ge|-le|-lt NUMBER
want()
{
	local is

	is=$(since "$1" "$2") || return
	msg "$1: $2 moved by $is, should be $3 $4"
	test "$is" "$3" "$4" || fail "$1: $2 moved by $is, not $3 $4"
}

# From A to B: the client writes.
transfer()
{
	local tool=$1 family=$2

	shift 2
	between b 18515 \
		"$tool" -F -d "$B_RXE" -x "$(gid_index b "$family")" \
		-s $size -n "$iters" -m 4096 "$@" -- \
		"$tool" -F -d "$A_RXE" -x "$(gid_index a "$family")" \
		-s $size -n "$iters" -m 4096 "$@" "$B_IP"
}

# Counts may come a moment after the transfer's end: the last acknowledgment.
settled()
{
	[ "$(since a rxe_tx)" = "$(since b rxe_rx)" ] &&
	[ "$(since b rxe_tx)" = "$(since a rxe_rx)" ]
}

bypassed()
{
	local s o

	take ours && transfer "$@" || return
	busywait 5000 settled
	want a tx -ge $link_packets || return
	want b rx -ge $link_packets || return
	want a tx -lt $packets || return
	# READ is answered by data, everything else by acknowledgments
	want b tx -ge 1 || return
	for s in a b; do
		o=$(other_side $s)
		want $s udp -eq 0 &&
		want $s ip -le $tcp_packets &&
		want $s to_stack -eq 0 &&
		# the driver, rxe and the netdev's statistics agree
		want $s rxe_tx -eq "$(since $s tx)" &&
		want $s rxe_rx -eq "$(since $s rx)" &&
		want $s rx -eq "$(since "$o" tx)" &&
		want $s netdev_tx -ge "$(since $s tx)" &&
		want $s netdev_rx -ge "$(since $s rx)" || return
	done
}

through_ip()
{
	local s

	take stock && transfer "$@" || return
	want b udp -ge $packets || return
	want a udp -ge 1 || return
	for s in a b; do
		want $s ip -ge $packets &&
		want $s tx -eq 0 &&
		want $s rx -eq 0 || return
	done
}

# no_icrc a|b: packets without ICRC that the side has sent and received
no_icrc()
{
	echo $(($(rdma_count "$1" link_sent_no_icrc) +
		$(rdma_count "$1" link_rcvd_no_icrc)))
}

# elided all|none: none or all of the packets of a transfer go without ICRC.
elided()
{
	local a b

	a=$(no_icrc a) && b=$(no_icrc b) && take ours &&
	transfer ib_send_bw 4 -e || return
	busywait 5000 settled
	a=$(($(no_icrc a) - a)) b=$(($(no_icrc b) - b))
	echo "without ICRC: $a at A, $b at B"
	if [ "$1" = none ]; then
		[ $a -eq 0 ] && [ $b -eq 0 ]
	else
		[ $a -eq $(($(since a rxe_tx) + $(since a rxe_rx))) ] &&
		[ $b -eq $(($(since b rxe_tx) + $(since b rxe_rx))) ] &&
		[ $a -gt 0 ]
	fi
}

# multi_psn a|b: packets of several PSNs that the side has sent
multi_psn()
{
	rdma_count "$1" link_sent_multi_psn
}

# several all|none: one or none of the packets of each message, of a WRITE to B and
# of a READ from B, stands for several PSNs.
several()
{
	local a b

	a=$(multi_psn a) && b=$(multi_psn b) && take ours &&
	transfer ib_write_bw 4 && transfer ib_read_bw 4 -e || return
	busywait 5000 settled
	a=$(($(multi_psn a) - a)) b=$(($(multi_psn b) - b))
	echo "of several PSNs: $a by A, $b by B"
	if [ "$1" = none ]; then
		[ $a -eq 0 ] && [ $b -eq 0 ] && want a tx -ge $packets &&
			want b tx -ge $packets
	else
		[ $a -eq "$iters" ] && [ $b -eq "$iters" ]
	fi
}

# flag a|b NAME on|off: a private flag of the side's netdev
flag()
{
	on "$1" ethtool --set-priv-flags "$(dev_of "$1")" "$2" "$3" &&
	on "$1" ethtool --show-priv-flags "$(dev_of "$1")" |
		grep -q "^$2 *: $3"
}

# few CMD...: with a tenth of the messages
few()
{
	local iters=$((iters / 10)) packets=$((packets / 10))
	local link_packets=$((link_packets / 10))

	"$@"
}

# flag_works SIDE NAME OFF_CHECK... -- ON_CHECK...: the neighbour is told, which
# takes a moment.
flag_works()
{
	local side=$1 name=$2 off=()

	shift 2
	while [ "$1" != -- ]; do
		off+=("$1")
		shift
	done
	shift
	flag "$side" "$name" off && busywait 10000 "${off[@]}" || return
	flag "$side" "$name" on && busywait 10000 "$@"
}

dropped_several()
{
	[ "$(counter b roce_rx_drop_multi_psn)" -gt "$1" ] &&
	[ "$(counter b roce_rx_drop_no_icrc)" -gt "$2" ]
}

sent_more()
{
	[ "$(counter a roce_tx_packets)" -gt $(($1 + 100)) ]
}

# B's address goes while A writes to it, and A does not hear of it: what then comes
# is dropped, since it is good for the link only. When A hears and the address is
# back, all goes on.
gid_moves()
{
	local several no_icrc sent rc=0

	several=$(counter b roce_rx_drop_multi_psn) &&
	no_icrc=$(counter b roce_rx_drop_no_icrc) &&
	sent=$(counter a roce_tx_packets) || return
	between b 18515 \
		ib_write_bw -F -d "$B_RXE" -x "$(gid_index b)" -s 1048576 \
		-D 3 -u 18 -m 4096 -- \
		ib_write_bw -F -d "$A_RXE" -x "$(gid_index a)" -s 1048576 \
		-D 3 -u 18 -m 4096 "$B_IP" > /tmp/log.gid 2>&1 &
	busywait 30000 sent_more "$sent" &&
	emu fault drop router 1 eof 6 for 2500000 > /dev/null &&
	on_b ip addr del "$B_IP/24" dev "$B_DEV" &&
	busywait 5000 dropped_several "$several" "$no_icrc" || rc=1
	emu fault off > /dev/null
	on_b ip addr replace "$B_IP/24" dev "$B_DEV"
	wait $! || rc=1
	[ $rc -eq 0 ] || cat /tmp/log.gid
	return $rc
}

tracing=/sys/kernel/tracing

# rxe_works CMD...: run CMD and set WORKS to the number of rxe's work items that
# have been executed meanwhile.
rxe_works()
{
	local event=$tracing/events/workqueue/workqueue_execute_start/enable
	local rc=0

	mountpoint -q $tracing || mount -t tracefs tracefs $tracing || return
	echo > $tracing/trace && echo 1 > $event || return
	"$@" || rc=$?
	echo 0 > $event || return
	WORKS=$(grep -cE 'function do_(work|batch) \[rdma_rxe\]' $tracing/trace)
	msg "$WORKS work items"
	return $rc
}

# Each iteration is two messages, which stock rxe needs several work items for.
works_few()
{
	rxe_works pingpong b rc -e -n "$iters" "$@" || return
	[ "$WORKS" -le $((iters / 4)) ] || fail "$WORKS work items"
}

works_many()
{
	rxe_works pingpong b rc -e -n "$iters" "$@" || return
	[ "$WORKS" -ge "$iters" ] || fail "$WORKS work items"
}

# capture SIDE: tcpdump what comes and goes, as tcpdump prints it
capture()
{
	bg_on "$1" tcpdump -i "$(dev_of "$1")" -w "/tmp/roce.$1" -s 128 -U \
		--immediate-mode "udp port 4791" > /dev/null 2> "/tmp/log.$1"
	busywait 10000 grep -q listening "/tmp/log.$1"
}

captured()
{
	on "$1" tcpdump -nr "/tmp/roce.$1" 2> /dev/null | wc -l
}

# tcpdump writes what it has read, and what is left when it is killed is lost.
all_captured()
{
	[ "$(captured "$1")" -eq $(($(since "$1" tx) + $(since "$1" rx))) ]
}

# Packet sockets see both directions, and IP gets nothing of it. The slots of
# tcpdump's ring are as large as its snapshots: short ones, so that all fit.
tapped()
{
	local s

	capture a && capture b || return
	take ours && transfer ib_send_bw 4 -e || return
	busywait 5000 settled
	for s in a b; do
		busywait 5000 all_captured $s
	done
	pkill -INT tcpdump
	for s in a b; do
		busywait 5000 grep -q "dropped by kernel" "/tmp/log.$s" || return
		cat "/tmp/log.$s"
		echo "$s: $(captured $s) captured, $(since $s tx) sent, $(since $s rx) received"
		all_captured $s || return
		want $s udp -eq 0 && want $s ip -le $tcp_packets || return
	done
}

change_rxe()
{
	on_a rdma link delete "$A_RXE" &&
	root_b rdma link delete "$B_RXE" &&
	mod_unload rdma_rxe &&
	load_stock_rxe &&
	rxe_up
}

# The neighbour's GIDs have to arrive first.
bypass_ready()
{
	local family=$1 sent

	sent=$(rdma_count a link_sent_pkts) || return
	iters=5 transfer ib_send_bw "$family" -e || return
	[ "$(rdma_count a link_sent_pkts)" -gt "$sent" ] ||
		fail "nothing was sent through the link"
}

# What each side can turn off: all of it at A, and at B too if that is not short.
sides="a b" checks=24
[ "$SMOKE" = 0 ] || sides=a checks=18

# each_side NAME OFF_CHECK... -- ON_CHECK...: see flag_works
each_side()
{
	local name=$1 side

	shift
	for side in $sides; do
		check "$name off at ${side^^}" few flag_works "$side" "$name" "$@"
	done
}

ktap_print_header
ktap_set_plan $checks
run_step "link" link_up
run_step "modules of the project" load_ours
run_step "rxe devices" rxe_up
fix_cpuinfo
need "bypass is ready, IPv4" busywait 10000 bypass_ready 4
need "bypass is ready, IPv6" busywait 10000 bypass_ready 6
check "ib_write_bw does not pass IP, IPv4 GID" bypassed ib_write_bw 4
check "ib_send_bw does not pass IP, IPv6 GID" bypassed ib_send_bw 6 -e
check "tcpdump sees what passes by IP" few tapped
check "a small message takes no work item" works_few -s 8
if [ "$SMOKE" = 0 ]; then
	check "it does if there is an ODP memory region" works_many -s 8 -o
	check "and no longer does without" works_few -s 8
fi
check "no packet on the link has an ICRC" few elided all
each_side roce-icrc-elision elided none -- elided all
check "a packet stands for several PSNs" few several all
each_side roce-multi-psn several none -- several all
[ "$SMOKE" = 1 ] || check "an address goes and nobody is told" gid_moves
each_side roce-bypass through_ip ib_send_bw 4 -e -- elided all
run_step "the kernel's own rdma_rxe instead" change_rxe
check "a small message takes work items with it" works_many -s 8
check "ib_write_bw passes IP with it, IPv4 GID" through_ip ib_write_bw 4
check "ib_send_bw passes IP with it, IPv6 GID" through_ip ib_send_bw 6 -e
ktap_finished
