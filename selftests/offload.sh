#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Checksums and segmentation: large packets that cross the link whole, with what
# is left to do described beside them, are right when they leave by a port that
# can do nothing of it. With features on and off at either end, by TCP and UDP,
# IPv4 and IPv6, in VLANs and tunnels, routed and bridged.
#
#     netns d          A              B          netns c
#	d1 ---- d0       A_DEV ==== B_DEV       c0 ---- c1
#	     |                                   |
#	     no offloads, MTU 1500               no offloads, MTU 1500
#
#	10.0.4.0/24        10.0.0.0/24          10.0.5.0/24
#	fd00:4::/64        fd00::/64            fd00:5::/64
#
# d1 and c1 have all offloads, so their packets come large to A and B.
#
# beds: uml qemu
# topology: netns
# timeout: 1500
# also: lan
# runs: uml:smoke
# runs-long: uml

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

# -I and -S: they begin faster
gsocheck=(python3 -IS /usb4net/selftests/gsocheck.py)
pktcheck=(python3 -IS /usb4net/selftests/pktcheck.py)
bytes=300017
# Datagrams of a batch
sizes=1300,100

# in_ns a|b|c|d CMD...
in_ns()
{
	case $1 in
	a) on_a "${@:2}" ;;
	b) on_b "${@:2}" ;;
	*) ip netns exec "$@" ;;
	esac
}

# --- the network --------------------------------------------------------------

# port NS DEV END_NS END_DEV SUBNET: a veth without offloads; the one at its
# other end has them all.
port()
{
	local off

	ip link add "$2-" type veth peer name "$4" netns "$3" || return
	if [ "$1" = b ]; then
		ip link set "$2-" netns b name "$2"
	else
		ip link set "$2-" name "$2"
	fi || return
	off="tx off rx off sg off tso off gso off gro off"
	off+=" tx-udp-segmentation off"
	# shellcheck disable=SC2086 # a list of words
	in_ns "$1" ethtool -K "$2" $off > /dev/null || return
	in_ns "$1" ip addr add "10.0.$5.1/24" dev "$2" &&
	in_ns "$1" ip addr add "fd00:$5::1/64" dev "$2" nodad &&
	in_ns "$1" ip link set "$2" up &&
	in_ns "$3" ip link set lo up &&
	in_ns "$3" ip addr add "10.0.$5.2/24" dev "$4" &&
	in_ns "$3" ip addr add "fd00:$5::2/64" dev "$4" nodad &&
	in_ns "$3" ip link set "$4" up &&
	in_ns "$3" ip route add default via "10.0.$5.1" &&
	in_ns "$3" ip route add default via "fd00:$5::1"
}

forwards()
{
	in_ns "$1" sysctl -q net.ipv4.ip_forward=1 \
		net.ipv6.conf.all.forwarding=1
}

# route_via a-to-b SUBNET_DEV...: A reaches c and B reaches d over the link
route_via()
{
	on_a ip route replace 10.0.5.0/24 via "$2" &&
	on_a ip route replace fd00:5::/64 via "$4" &&
	on_b ip route replace 10.0.4.0/24 via "$1" &&
	on_b ip route replace fd00:4::/64 via "$3"
}

network()
{
	ip netns add c && ip netns add d && forwards a && forwards b &&
		port b c0 c c1 5 && port a d0 d d1 4 &&
		route_via "$A_IP" "$B_IP" "$A_IP6" "$B_IP6" || return
	# Addresses are resolved, and nobody moves on to another state.
	for ip in 10.0.5.2 fd00:5::2; do
		busywait 5000 in_ns d ping -q -c 1 -W 1 $ip || return
	done
	serve b && serve c
}

no_offloads()
{
	local on

	on=$(in_ns "$1" ethtool -k "$2" | grep ': on$' | grep -E \
		'checksum|scatter|tcp|tx-udp-seg|generic|fraglist')
	[ -z "$on" ] || fail "$2: $on"
}

serve()
{
	if [ "$1" = b ]; then
		bg_on b "${gsocheck[@]}" serve > /tmp/serve.b 2>&1
	else
		ip netns exec "$1" "${gsocheck[@]}" serve > "/tmp/serve.$1" \
			2>&1 &
	fi
	busywait 10000 serves "$1"
}

serves()
{
	in_ns "$1" ss -Hltn "sport = :18720" | grep -q .
}

# --- traffic ------------------------------------------------------------------

seed=100

# flow FROM ADDRESS...: from namespace FROM to the server there and back
flow()
{
	local from=$1

	shift
	seed=$((seed + $#))
	in_ns "$from" timeout 60 "${gsocheck[@]}" \
		client $seed "$bytes" "$sizes" "$@" && return
	tail -n 3 /tmp/serve.*
	return 1
}

# capture NAME NS DEV in|out OPTION...: until capture_end NAME
declare -A captures=()
capture()
{
	local name=$1 ns=$2

	rm -f "/tmp/$name.pcap"
	if [ "$ns" = a ]; then
		tcpdump -i "$3" -Q "$4" -B 32768 --immediate-mode \
			-w "/tmp/$name.pcap" "${@:5}" 2> "/tmp/$name.log" &
	else
		ip netns exec "$ns" tcpdump -i "$3" -Q "$4" -B 32768 \
			--immediate-mode -w "/tmp/$name.pcap" "${@:5}" \
			2> "/tmp/$name.log" &
	fi
	captures[$name]=$!
	busywait 10000 grep -q listening "/tmp/$name.log"
}

capture_end()
{
	kill -INT "${captures[$1]}"
	wait "${captures[$1]}"
	grep -q '^0 packets dropped by kernel' "/tmp/$1.log" ||
		fail "$(cat "/tmp/$1.log")"
}

# What leaves by the two ports, and what goes into the link at each end.
captures_begin()
{
	capture c c c1 in -s 2048 && capture d d d1 in -s 2048 &&
		capture a a "$A_DEV" out -s 128 &&
		capture b b "$B_DEV" out -s 128
}

captures_end()
{
	local name rc=0

	sleep 0.2
	for name in c d a b; do
		capture_end $name || rc=1
	done
	return $rc
}

# verify c|d KIND...: every packet is right, and there were some of each kind
verify()
{
	local out kind rc=0

	out=$("${pktcheck[@]}" verify "/tmp/$1.pcap" 1500) || rc=1
	echo "$1: $out"
	for kind in "${@:2}"; do
		grep -q " $kind:" <<< "$out" || fail "no $kind" || rc=1
	done
	return $rc
}

# largest a|b: length of the largest packet of each kind, as "tcp4:65226 ..."
largest()
{
	"${pktcheck[@]}" largest "/tmp/$1.pcap"
}

# goes_whole a|b KIND...: packets of these kinds went into the link large.
# goes_cut a|b KIND...: they did not.
goes_whole()
{
	goes "$1" 16000 65600 "${@:2}"
}

goes_cut()
{
	goes "$1" 1 1514 "${@:2}"
}

# goes a|b LEAST MOST KIND...
goes()
{
	local all kind n rc=0

	all=$(largest "$1")
	echo "the largest packets from $1: $all"
	for kind in "${@:4}"; do
		n=$(grep -o "\b$kind:[0-9]*" <<< "$all")
		n=${n#*:}
		[ "${n:-0}" -ge "$2" ] && [ "${n:-0}" -le "$3" ] ||
			fail "$kind: ${n:-none}" || rc=1
	done
	return $rc
}

# --- features -----------------------------------------------------------------

# features SIDE "NAME VALUE..."
features()
{
	# shellcheck disable=SC2086 # a list of words
	on "$1" ethtool -K "$(dev_of "$1")" $2 > /dev/null
}

all_on="rx on tx on sg on tso on tx-udp-segmentation on gso on gro on"

all_features_on()
{
	features a "$all_on"
	features b "$all_on"
	on_features a && on_features b
}

# What the netdev must offer.
on_features()
{
	local name rc=0 now

	now=$(on "$1" ethtool -k "$(dev_of "$1")")
	for name in rx-checksumming tx-checksum-ip-generic scatter-gather \
		tx-tcp-segmentation tx-tcp6-segmentation \
		tx-udp-segmentation tx-udp_tnl-segmentation \
		tx-udp_tnl-csum-segmentation generic-receive-offload; do
		grep -qE "^\s*$name: on( |$)" <<< "$now" ||
			fail "$1: $name is not on" || rc=1
	done
	return $rc
}

# The name of a combination, what is changed at A and at B, and what then leaves
# A and B whole.
combinations()
{
	cat <<- 'END'
	all on;;;tcp4 tcp6 udp4 udp6;tcp4 tcp6 udp4 udp6
	A does not receive offloads;rx off;;tcp4 tcp6 udp4 udp6;
	B does not receive offloads;;rx off;;tcp4 tcp6 udp4 udp6
	all off;ALL;ALL;;
	END
	[ "$SMOKE" = 0 ] || return
	cat <<- 'END'
	GRO off;gro off;gro off;tcp4 tcp6 udp4 udp6;tcp4 tcp6 udp4 udp6
	TSO off;tso off;tso off;udp4 udp6;udp4 udp6
	TSO off for IPv6;tx-tcp6-segmentation off;tx-tcp6-segmentation off;tcp4 udp4 udp6;tcp4 udp4 udp6
	UDP segmentation off;tx-udp-segmentation off;tx-udp-segmentation off;tcp4 tcp6;tcp4 tcp6
	GSO off;gso off;gso off;tcp4 tcp6 udp4 udp6;tcp4 tcp6 udp4 udp6
	checksums off;tx off;tx off;;
	scatter-gather off;sg off;sg off;udp4 udp6;udp4 udp6
	A sends none, B does;tx off sg off gro off;;;tcp4 tcp6 udp4 udp6
	neither receives offloads;rx off;rx off;;
	END
}

# complement KINDS: the others
complement()
{
	local kind

	for kind in tcp4 tcp6 udp4 udp6; do
		[[ " $1 " == *" $kind "* ]] || printf '%s ' $kind
	done
}

# combination NAME A B WHOLE_A WHOLE_B: all traffic with these features
combination()
{
	local what=$1 off="rx off tx off sg off tso off gso off gro off"
	local kinds="tcp4 tcp6 udp4 udp6"

	all_features_on > /dev/null
	features a "${2/ALL/$off}"
	features b "${3/ALL/$off}"
	captures_begin || return
	check "$what: A to B" flow a "$B_IP" "$B_IP6"
	check "$what: A to c, routed by B" flow a 10.0.5.2 fd00:5::2
	check "$what: d to c, routed by A and B" flow d 10.0.5.2 fd00:5::2
	check "$what: captures" captures_end
	# shellcheck disable=SC2086 # lists of words
	{
		check "$what: the packets in c" verify c $kinds
		check "$what: the packets in d" verify d $kinds
		check "$what: whole or not, from A" eval \
			"goes_whole a $4 && goes_cut a $(complement "$4")"
		check "$what: whole or not, from B" eval \
			"goes_whole b $5 && goes_cut b $(complement "$5")"
	}
}

combinations_all()
{
	local what a b whole_a whole_b

	while IFS=';' read -r what a b whole_a whole_b; do
		combination "$what" "$a" "$b" "$whole_a" "$whole_b"
	done < <(combinations)
}

# --- statistics ---------------------------------------------------------------

# counters: what both ends say, as "A sent, B received, B sent, A received"
counters()
{
	echo "$(ifstat a tx_packets) $(ifstat a tx_bytes)" \
		"$(ifstat b rx_packets) $(ifstat b rx_bytes)" \
		"$(ifstat b tx_packets) $(ifstat b tx_bytes)" \
		"$(ifstat a rx_packets) $(ifstat a rx_bytes)"
}

# captured: the same according to tcpdump
captured()
{
	local name

	for name in ao bi bo ai; do
		"${pktcheck[@]}" count /tmp/$name.pcap
	done | awk '{ printf "%s%s %s", sep, $1, $2; sep = " " }'
}

difference()
{
	local old new i

	read -ra old <<< "$1"
	read -ra new <<< "$2"
	for i in "${!old[@]}"; do
		printf '%s ' $((new[i] - old[i]))
	done | sed 's/ $//'
}

# Both ends and tcpdump at both ends count the same packets. Packets that are
# merged after reception would be one for tcpdump, so GRO must be off. Somebody
# may send just while tcpdump begins or ends: then this is repeated.
exact()
{
	local before begun ended after seen
	local snap="-s 96"

	for _ in 1 2 3 4; do
		before=$(counters)
		# shellcheck disable=SC2086 # a list of words
		capture ao a "$A_DEV" out $snap && capture bi b "$B_DEV" in $snap &&
		capture bo b "$B_DEV" out $snap &&
		capture ai a "$A_DEV" in $snap || return
		begun=$(counters)
		flow d 10.0.5.2 fd00:5::2 && flow a "$B_IP" || return
		on_a ping -q -c 20 -i 0.01 -s 1000 "$B_IP" || return
		sleep 0.3
		ended=$(counters)
		for name in ao bi bo ai; do
			capture_end $name || return
		done
		after=$(counters)
		[ "$before" != "$begun" ] || [ "$ended" != "$after" ] || break
	done
	seen=$(captured)
	after=$(difference "$before" "$after")
	echo "A sent, B received, B sent, A received; packets and bytes of each"
	echo "netdevs: $after"
	echo "tcpdump: $seen"
	[ "$seen" = "$after" ] || return
	# shellcheck disable=SC2086 # a list of words
	set -- $seen
	[ "$1 $2" = "$3 $4" ] && [ "$5 $6" = "$7 $8" ] && [ "$1" -gt 50 ]
}

exact_with()
{
	all_features_on
	features a "$1" && features b "$1" && exact
}

# --- VLAN ---------------------------------------------------------------------

vlan_up()
{
	local side n=1

	all_features_on
	for side in a b; do
		on $side ip link add link "$(dev_of $side)" name v5 type vlan \
			id 5 &&
		on $side ip addr add 10.0.6.$n/24 dev v5 &&
		on $side ip addr add fd00:6::$n/64 dev v5 nodad &&
		on $side ip link set v5 up || return
		n=2
	done
	route_via 10.0.6.1 10.0.6.2 fd00:6::1 fd00:6::2 &&
		busywait 5000 in_ns d ping -q -c 1 -W 1 10.0.5.2 &&
		busywait 5000 in_ns d ping -q -c 1 -W 1 fd00:5::2
}

vlan_down()
{
	route_via "$A_IP" "$B_IP" "$A_IP6" "$B_IP6" && on_a ip link del v5 &&
		on_b ip link del v5
}

vlan_features()
{
	local name now rc=0

	now=$(on_a ethtool -k v5)
	for name in tx-checksum-ip-generic scatter-gather tx-tcp-segmentation \
		tx-tcp6-segmentation tx-udp-segmentation; do
		grep -qE "^\s*$name: on( |$)" <<< "$now" ||
			fail "$name is not on" || rc=1
	done
	return $rc
}

# over_vlan whole|cut
over_vlan()
{
	captures_begin && capture v a "$A_DEV" out -s 64 vlan || return
	flow a 10.0.6.2 fd00:6::2 && flow a 10.0.5.2 fd00:5::2 &&
		flow d 10.0.5.2 fd00:5::2 || return
	captures_end && capture_end v && verify c tcp4 tcp6 udp4 udp6 &&
		verify d tcp4 tcp6 udp4 udp6 || return
	set -- "$1" "$("${pktcheck[@]}" count /tmp/v.pcap)"
	echo "packets, bytes and largest in VLAN: $2"
	if [ "$1" = whole ]; then
		[ "${2##* }" -gt 16000 ] && goes_whole a tcp4 tcp6 udp4 udp6
	else
		[ "${2##* }" -eq 1518 ]
	fi
}

vlans()
{
	run_step "VLAN" vlan_up
	check "VLAN: it has the features" vlan_features
	check "VLAN: all on" over_vlan whole
	check "VLAN: features of the VLAN off" eval \
		'on_a ethtool -K v5 tso off tx off sg off > /dev/null;
		 on_b ethtool -K v5 tso off tx off sg off > /dev/null;
		 over_vlan cut'
	check "VLAN: on again, B does not receive offloads" eval \
		'on_a ethtool -K v5 tx on sg on tso on > /dev/null;
		 on_b ethtool -K v5 tx on sg on tso on > /dev/null;
		 features b "rx off"; over_vlan cut'
	run_step "no VLAN" vlan_down
}

# --- tunnels ------------------------------------------------------------------

# The tunnels that this kernel has: name, kind in captures, "4" or "6" for what
# fits inside, whether the link carries them whole, and the link's type.
#
# GRE with checksums is not among them: gre_gro_complete() in Linux 7.3 makes
# packets of SKB_GSO_GRE where SKB_GSO_GRE_CSUM is due, so that B, when it forwards
# what GRO has merged, leaves the checksum of a full segment in a last one that is
# shorter. With GRO off at B all of them are right.
tunnels()
{
	local all

	all=$(cat <<- 'END'
	sit;sit;6;;type sit local 10.0.0.1 remote 10.0.5.2
	vxlan;vxlan;4 6;whole;type vxlan id 7 dstport 4789 local 10.0.0.1 remote 10.0.5.2 noudpcsum
	vxlan with checksums;vxlan;4 6;whole;type vxlan id 7 dstport 4789 local 10.0.0.1 remote 10.0.5.2 udpcsum
	gretap;gre;4 6;;type gretap local 10.0.0.1 remote 10.0.5.2
	gre;gre;4 6;;type gre local 10.0.0.1 remote 10.0.5.2
	ipip;ipip;4;;type ipip local 10.0.0.1 remote 10.0.5.2
	vxlan over IPv6;vxlan;4 6;whole;type vxlan id 7 dstport 4789 local fd00::1 remote fd00:5::2 udp6zerocsumrx
	ip6gre;gre;4 6;;type ip6gre local fd00::1 remote fd00:5::2
	ip6tnl;ipip;4 6;;type ip6tnl mode any local fd00::1 remote fd00:5::2
	END
	)
	[ "$SMOKE" = 0 ] || all=$(head -n 4 <<< "$all")
	while IFS=';' read -r name rest; do
		# shellcheck disable=SC2086 # a list of words
		! ip link add probe ${rest##*;} 2>/dev/null || {
			ip link del probe
			echo "$name;$rest"
		}
	done <<< "$all"
}

# tunnel_up TYPE...: from A to c, which B does not know of. d is behind it.
tunnel_up()
{
	local mirrored=("$@") i n=1 ns

	for i in "${!mirrored[@]}"; do
		case ${mirrored[i]} in
		local) mirrored[i]=remote ;;
		remote) mirrored[i]="local" ;;
		esac
	done
	all_features_on
	on_a ip link add tun0 mtu 1380 "$@" &&
		in_ns c ip link add tun0 mtu 1380 "${mirrored[@]}" || return
	for ns in a c; do
		in_ns $ns ip addr add 10.0.8.$n/24 dev tun0 &&
		in_ns $ns ip addr add fd00:8::$n/64 dev tun0 nodad &&
		in_ns $ns ip link set tun0 up || return
		n=2
	done
	in_ns c ip route add 10.0.4.0/24 via 10.0.8.1 &&
	in_ns c ip route add fd00:4::/64 via fd00:8::1
}

tunnel_down()
{
	on_a ip link del tun0 && in_ns c ip link del tun0
}

# through KIND "4 6" whole|cut|: all packets in c are right
through()
{
	local kind=$1 addrs="" kinds="" n

	for n in $2; do
		addrs+=" $([ "$n" = 4 ] && echo 10.0.8.2 || echo fd00:8::2)"
		kinds+=" tcp$n udp$n"
	done
	# shellcheck disable=SC2086 # lists of words
	{
		for n in $addrs; do
			busywait 5000 in_ns d ping -q -c 1 -W 1 $n || return
		done
		captures_begin && flow a $addrs && flow d $addrs || return
		captures_end && verify c "$kind" $kinds && verify d $kinds || return
	}
	[ -z "$3" ] || "goes_$3" a "$kind"
}

# tunnel NAME KIND INSIDE WHOLE TYPE...
tunnel()
{
	local name=$1 kind=$2 inside=$3 whole=$4 cut=''

	shift 4
	[ -z "$whole" ] || cut='cut'
	run_step "$name" tunnel_up "$@"
	check "$name: all on" through "$kind" "$inside" "$whole"
	features b "rx off"
	check "$name: B does not receive offloads" through "$kind" "$inside" $cut
	features b "rx on"
	features a "tx off sg off"
	features b "tx off sg off"
	check "$name: A and B send none" through "$kind" "$inside" $cut
	run_step "$name: end" tunnel_down
}

tunnels_all()
{
	local name kind inside whole type

	while IFS=';' read -r name kind inside whole type; do
		# shellcheck disable=SC2086 # a list of words
		tunnel "$name" "$kind" "$inside" "$whole" $type
	done < /tmp/tunnels
}

# --- bridges ------------------------------------------------------------------

# bridge_on a|b BRIDGE PORT END_NS END_DEV ADDRESS ADDRESS6 LAST: the link and the
# port in a bridge, and the namespace at the port's end in the link's network
bridge_on()
{
	local dev

	dev=$(dev_of "$1")
	in_ns "$1" ip link add "$2" type bridge forward_delay 0 &&
	in_ns "$1" ip addr flush dev "$dev" &&
	in_ns "$1" ip link set "$dev" master "$2" &&
	in_ns "$1" ip addr flush dev "$3" &&
	in_ns "$1" ip link set "$3" master "$2" &&
	in_ns "$1" ip addr add "$6/24" dev "$2" &&
	in_ns "$1" ip addr add "$7/64" dev "$2" nodad &&
	in_ns "$1" ip link set "$2" up &&
	in_ns "$4" ip addr add "10.0.0.$8/24" dev "$5" &&
	in_ns "$4" ip addr add "fd00::$8/64" dev "$5" nodad
}

bridges_up()
{
	all_features_on
	bridge_on a bra d0 d d1 "$A_IP" "$A_IP6" 4 &&
		bridge_on b brb c0 c c1 "$B_IP" "$B_IP6" 5 || return
	busywait 5000 in_ns d ping -q -c 1 -W 1 10.0.0.5 &&
		busywait 5000 in_ns d ping -q -c 1 -W 1 fd00::5
}

# over_bridges "A's features" "B's features" whole|cut
over_bridges()
{
	all_features_on
	[ -z "$1" ] || features a "$1"
	[ -z "$2" ] || features b "$2"
	captures_begin && flow a "$B_IP" "$B_IP6" 10.0.0.5 fd00::5 &&
		flow d 10.0.0.5 fd00::5 || return
	captures_end && verify c tcp4 tcp6 udp4 udp6 &&
		verify d tcp4 tcp6 udp4 udp6 && "goes_$3" a tcp4 tcp6 udp4 udp6
}

bridges()
{
	run_step "the link in a bridge on A and on B" bridges_up
	check "bridged: all on" over_bridges "" "" whole
	check "bridged: B does not receive offloads" over_bridges "" "rx off" \
		cut
	check "bridged: A and B send none" over_bridges "tx off sg off" \
		"tx off sg off" cut
}

# --- MTU ----------------------------------------------------------------------

# mtu MTU SIZES: from A to B and back, with datagrams of these sizes for flow
mtu()
{
	local sizes=$2 mode

	on_a ip link set "$A_DEV" mtu "$1" && on_b ip link set "$B_DEV" mtu "$1" ||
		return
	for mode in on off; do
		features b "rx $mode"
		flow a "$B_IP" "$B_IP6" || return
	done
}

mtus()
{
	all_features_on
	check "MTU 9000" mtu 9000 8000,8900
	check "MTU 65520" mtu 65520 1300,16000,30000
	check "MTU 1500" mtu 1500 1452,1000,33
}

# --- TCP in pieces above 64 KiB --------------------------------------------------

# big_sizes BYTES: the largest piece that TCP makes or is given, at both ends
big_sizes()
{
	local side

	for side in a b; do
		on $side ip link set "$(dev_of $side)" gso_max_size "$1" \
			gso_ipv4_max_size "$1" gro_max_size "$1" \
			gro_ipv4_max_size "$1" || return
	done
}

# big MTU [GRO]: to B itself and, by B's port without offloads, to c. Some of it has
# to enter A's driver in such pieces.
big()
{
	local bytes=6000017 sizes=1300 before n

	on_a ip link set "$A_DEV" mtu "$1" && on_b ip link set "$B_DEV" mtu "$1" &&
		features b "gro ${2:-on}" || return
	before=$(on_a ethtool -S "$A_DEV" | sed -n 's/^ *tx_big: //p')
	captures_begin && flow a "$B_IP" "$B_IP6" &&
		flow a 10.0.5.2 fd00:5::2 && captures_end || return
	verify c tcp4 tcp6 || return
	n=$(($(on_a ethtool -S "$A_DEV" | sed -n 's/^ *tx_big: //p') - before))
	[ $n -gt 0 ] || fail "none was above 64 KiB"
}

# A little above 64 KiB fits one packet of the link, and is not cut.
above_whole()
{
	local bytes=6000017 sizes=1300 before

	on_a ip link set "$A_DEV" mtu 1500 && on_b ip link set "$B_DEV" mtu 1500 &&
		features b "gro on" && big_sizes 69000 || return
	before=$(counter a tx_big)
	captures_begin && flow a "$B_IP" "$B_IP6" &&
		flow a 10.0.5.2 fd00:5::2 && captures_end || return
	verify c tcp4 tcp6 && goes a 65601 69646 tcp4 tcp6 || return
	[ "$(counter a tx_big)" = "$before" ] || fail "some were cut"
}

# Where code takes time, TCP makes its pieces as large as with a short round trip.
bigs()
{
	all_features_on
	on_a sysctl -q net.ipv4.tcp_tso_rtt_log=20
	check "pieces above 64 KiB can be had" big_sizes 263168
	check "above 64 KiB, MTU 65520" big 65520
	check "above 64 KiB, MTU 65520, no GRO" big 65520 off
	check "above 64 KiB, MTU 9000" big 9000
	check "above 64 KiB, MTU 1500" big 1500
	check "a little above 64 KiB in one packet" above_whole
	check "up to 64 KiB again" big_sizes 65536
}

ktap_print_header
tunnels > /tmp/tunnels
ktap_set_plan $((3 + 2 + 8 * $(combinations | wc -l) + 2 + 3 + 6 +
	5 * $(wc -l < /tmp/tunnels) + 4 + 7 + 1))
load_lan || ktap_exit_fail_msg "no modules for bridges"
export LINK_MTU=1500
run_step "the link comes up" link_up
run_step "the first ping" losses_start
run_step "networks at both ends" network
check "the netdevs offer checksums and segmentation" all_features_on
check "the ports beyond have no offloads" eval 'no_offloads b c0 && no_offloads a d0'
combinations_all
check "statistics: all on but GRO" exact_with "gro off"
check "statistics: all off" exact_with \
	"rx off tx off sg off tso off gso off gro off"
mtus
bigs
vlans
tunnels_all
bridges
check "nothing was dropped" no_losses
ktap_finished
