#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The netdev as a part of larger things: two cables between the same two hosts
# with a bond or a bridge over both, VLAN, macvlan, network namespaces, other
# names, XDP, and thunderbolt_net beside it.
#
#	A port A (cable1) ======= (cable1) port A B
#	A port B (cable3) ======= (cable3) port B B
#
# The netdevs are named after the port, 1 and 3 as the emulator counts them.
#
# beds: uml qemu
# topology: netns
# timeout: 400
# also: lan
# runs: uml
# runs-long: qemu

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

max_mtu=65520
netcheck=/usb4net/selftests/netcheck.py
steady=/usb4net/selftests/steady.py
xdpprog=/usb4net/selftests/xdpprog.py
sizes=(0 1 18 1472 4096 9000 65000)

# --- cables -----------------------------------------------------------------

# new_name a|b PORT [PREFIX]: name that the kernel gave to the netdev of a port
new_name()
{
	local nhi=0

	[ "$1" = a ] || [ "$TOPOLOGY" = pair ] || nhi=1
	on_kernel "$1" /usb4net/bed/netdev name $nhi "${3:-usb4net}" "$2"
}

on_kernel()
{
	if [ "$1" = a ]; then
		on_a "${@:2}"
	else
		root_b "${@:2}"
	fi
}

# adopt a|b PORT [PREFIX [NAME]]: the port's netdev gets our name for it, and
# B's its place.
adopt()
{
	local side=$1 port=$2 prefix=${3:-usb4net} name=${4:-cable$2} dev

	dev=$(busywait 20000 new_name "$side" "$port" "$prefix") ||
		fail "$side: $dev" || return
	if [ "$side" = b ] && [ "$TOPOLOGY" = netns ]; then
		ip netns list | grep -q '^b\b' || {
			ip netns add b && ip -n b link set lo up || return
		}
		ip link set "$dev" netns b name "$name"
	else
		on_kernel "$side" ip link set "$dev" name "$name"
	fi
}

has_dev()
{
	on "$1" test -e "/sys/class/net/$2"
}

no_dev()
{
	! has_dev "$1" "$2"
}

# cable_in PORT [PORT_OF_B]
cable_in()
{
	local other=${2:-$1}

	emu plug "0.$1" "1.$other" && adopt a "$1" && adopt b "$other"
}

# cable_out PORT [PORT_OF_B]
cable_out()
{
	emu unplug "0.$1" && busywait 10000 no_dev a "cable$1" &&
		busywait 10000 no_dev b "cable${2:-$1}"
}

two_cables()
{
	emu unplug 0.1
	mod_load usb4net_rdma && cable_in 1 && cable_in 3
}

# addr DEV SUBNET: addresses 10.0.SUBNET.1 and .2, fd00:SUBNET::1 and ::2, up,
# and wait for carrier
addr()
{
	local side n

	for side in a b; do
		n=$([ $side = a ] && echo 1 || echo 2)
		on $side ip link set "$1" up &&
		on $side ip addr replace "10.0.$2.$n/24" dev "$1" &&
		on $side ip -6 addr replace "fd00:$2::$n/64" dev "$1" nodad ||
			return
	done
	busywait 10000 both_have_carrier "$1"
}

both_have_carrier()
{
	carrier a "$1" && carrier b "$1"
}

# addr_none DEV: down and without addresses
addr_none()
{
	local side

	for side in a b; do
		on $side ip addr flush dev "$1" && on $side ip link set "$1" down ||
			return
	done
}

# stat_of a|b DEV STATISTIC
stat_of()
{
	on "$1" cat "/sys/class/net/$2/statistics/$3"
}

# traffic SUBNET [BYTES]: datagrams and streams, verified
traffic()
{
	between b 18700 python3 $netcheck serve "10.0.$1.2" -- \
		python3 $netcheck client "10.0.$1.2" 7 "${2:-1000037}" "${sizes[@]}" &&
	between b 18700 python3 $netcheck serve "fd00:$1::2" -- \
		python3 $netcheck client "fd00:$1::2" 8 "${2:-1000037}" "${sizes[@]}"
}

# --- identity -----------------------------------------------------------------

mac_of()
{
	on "$1" cat "/sys/class/net/$2/address"
}

macs()
{
	local side port

	for port in 1 3; do
		for side in a b; do
			echo "$side$port $(mac_of $side cable$port)"
		done
	done
}

macs_distinct()
{
	local all

	all=$(macs)
	echo "$all"
	[ "$(cut -d ' ' -f 2 <<< "$all" | sort -u | wc -l)" = 4 ] || return
	# unicast and locally administered
	! cut -d ' ' -f 2 <<< "$all" | grep -v '^.[26ae]:'
}

macs_are()
{
	[ "$(macs)" = "$1" ] || fail "$(macs), they were $1"
}

replug_reversed()
{
	cable_out 1 && cable_out 3 && cable_in 3 && cable_in 1
}

reload()
{
	emu unplug 0.1 && emu unplug 0.3 && mod_unload usb4net_rdma &&
		mod_load usb4net_rdma && cable_in 3 && cable_in 1
}

crossed()
{
	cable_out 1 && cable_out 3 && cable_in 1 3 && cable_in 3 1
}

uncrossed()
{
	cable_out 1 3 && cable_out 3 1 && cable_in 1 && cable_in 3
}

# Each cable has its own packets.
separate()
{
	local before after

	before=$(stat_of b cable3 rx_bytes)
	traffic 1 4000000 || return
	after=$(stat_of b cable3 rx_bytes)
	echo "cable3: $before, $after"
	[ $((after - before)) -lt 10000 ] && traffic 3
}

identity()
{
	local known

	run_step "two cables between two hosts, two netdevs each" two_cables
	known=$(macs)
	check "their addresses are distinct" macs_distinct
	check "traffic goes over the first" addr cable1 1
	check "traffic goes over both, separately" eval \
		'addr cable3 3 && separate'
	run_step "both are plugged in again in another order" replug_reversed
	check "every port has its address again" macs_are "$known"
	run_step "the driver is loaded again" reload
	check "every port has its address again" macs_are "$known"
	run_step "the cables are crossed" crossed
	check "every port has its address still" macs_are "$known"
	run_step "and uncrossed" uncrossed
}

# --- on one netdev ----------------------------------------------------------

# A VLAN leaves no room in the MTU to the tags of others, so the packets are
# longer than the netdev's MTU allows.
vlan()
{
	local side

	for side in a b; do
		on $side ip link add link cable1 name vlan5 type vlan id 5 &&
		on $side ip link set vlan5 mtu $max_mtu up &&
		on $side ip link add link vlan5 name vlan5.6 type vlan \
			proto 802.1ad id 6 &&
		on $side ip link set vlan5.6 mtu $max_mtu up || return
	done
	addr vlan5 5 && addr vlan5.6 6 &&
		traffic 5 && ping_ok a 10.0.5.2 $((max_mtu - 28)) -M "do" &&
		traffic 6 && ping_ok b 10.0.6.1 $((max_mtu - 28)) -M "do" &&
		on_a ip link del vlan5 && on_b ip link del vlan5
}

# A macvlan in a namespace of its own, on A: other MAC address, same cable.
macvlan()
{
	on_a ip netns add m &&
	on_a ip link add link cable1 name mac0 netns m type macvlan mode private &&
	on_a ip -n m addr add 10.0.1.7/24 dev mac0 &&
	on_a ip -n m link set mac0 up &&
	on_a ip -n m link set lo up || return
	between b 18700 python3 $netcheck serve 10.0.1.2 -- \
		ip netns exec m python3 $netcheck client 10.0.1.2 3 1000037 \
		"${sizes[@]}" || return
	ping_ok b 10.0.1.7 4000 && ping_ok a 10.0.1.2 4000 &&
		on_a ip netns del m
}

# The netdev of A goes to a namespace, works there, and comes home when that
# one is deleted. The link stays the same link.
netns_move()
{
	local mac

	mac=$(mac_of a cable1)
	on_a ip netns add m && on_a ip link set cable1 netns m || return
	on_a ip -n m link set cable1 up &&
	on_a ip -n m addr add 10.0.1.1/24 dev cable1 || return
	busywait 10000 on_a ip netns exec m grep -q 1 \
		/sys/class/net/cable1/carrier || fail "no carrier in there" ||
		return
	between b 18700 python3 $netcheck serve 10.0.1.2 -- \
		ip netns exec m python3 $netcheck client 10.0.1.2 3 1000037 \
		"${sizes[@]}" || return
	on_a ip netns del m && busywait 5000 has_dev a cable1 &&
		[ "$(mac_of a cable1)" = "$mac" ] && addr cable1 1 && traffic 1
}

renamed()
{
	ping_during "on_a ip link set cable1 name uplink" 10.0.1.2 &&
		on_a ethtool -S uplink > /dev/null &&
		on_a ip link property add dev uplink altname cable-of-a &&
		on_a ip link set cable-of-a name cable1 &&
		on_a ip link property del dev cable1 altname cable-of-a &&
		ping_ok a 10.0.1.2
}

# ping_during CMD ADDRESS: no ping is lost while CMD is run
ping_during()
{
	local pid

	bg_on a ping -q -i 0.01 "$2" > /tmp/ping 2>&1
	pid=$BG_PID
	sleep 0.1
	eval "$1" || return
	sleep 0.1
	kill -INT "$pid"
	wait "$pid"
	cat /tmp/ping
	[ "$(pings_lost /tmp/ping)" -le 1 ]
}

# pings_lost FILE: from the summary of ping
pings_lost()
{
	awk '/packets transmitted/ { print $1 - $4; ok = 1 } END { exit !ok }' \
		"$1"
}

# --- XDP ----------------------------------------------------------------------

# xdp ACTION [IFINDEX]: attach to A's end of the cable
xdp()
{
	local pin=/run/usb4net/bpf

	on_a mkdir -p $pin
	on_a mountpoint -q $pin || on_a mount -t bpf bpf $pin || return
	on_a rm -f $pin/prog
	on_a python3 $xdpprog $pin/prog "$@" &&
		on_a ip -force link set cable1 xdpgeneric pinned $pin/prog
}

# capture SIDE DEV FILTER COUNT CMD...: while CMD runs, tcpdump sees COUNT
# packets or more.
capture()
{
	local side=$1 dev=$2 filter=$3 count=$4 pid n

	shift 4
	rm -f /tmp/pcap.*
	bg_on "$side" tcpdump -n -l -i "$dev" --immediate-mode "$filter" \
		> /tmp/pcap.out 2> /tmp/pcap.err
	pid=$BG_PID
	busywait 10000 grep -q listening /tmp/pcap.err || return
	"$@"
	sleep 0.2
	kill -INT "$pid"
	wait "$pid"
	n=$(wc -l < /tmp/pcap.out)
	echo "tcpdump: $n packets '$filter'"
	[ "$n" -ge "$count" ]
}

xdp_pass()
{
	xdp pass && traffic 1 && ping_ok b 10.0.1.1 9000
}

xdp_drop()
{
	xdp drop && traffic 1 &&
		! on_b ping -n -q -c 3 -i 0.02 -W 1 10.0.1.1 &&
		xdp pass && ping_ok b 10.0.1.1
}

# B's own packets come back to it.
xdp_tx()
{
	xdp tx && traffic 1 &&
		capture b cable1 "inbound and icmp[icmptype] == icmp-echo" 10 \
			on_b ping -n -q -c 10 -i 0.02 -W 1 10.0.1.1
}

xdp_redirect()
{
	on_a ip link add red0 type veth peer name red1 &&
	on_a ip link set red0 mtu 9000 up &&
	on_a ip link set red1 mtu 9000 up &&
	xdp redirect "$(on_a cat /sys/class/net/red0/ifindex)" &&
	capture a red1 "icmp[icmptype] == icmp-echo and greater 5000" 10 \
		on_b ping -n -q -c 10 -i 0.02 -s 5000 -W 1 10.0.1.1 &&
	traffic 1 && on_a ip link del red0
}

xdp_off()
{
	on_a ip link set cable1 xdpgeneric off &&
		on_a rm -f /run/usb4net/bpf/prog && ping_ok b 10.0.1.1
}

one_netdev()
{
	check "VLAN and VLAN in VLAN, with packets of the full size" vlan
	check "macvlan" macvlan
	check "to another network namespace and back" netns_move
	check "other names, while it is up" renamed
	check "XDP: pass" xdp_pass
	check "XDP: drop" xdp_drop
	check "XDP: transmit" xdp_tx
	check "XDP: redirect" xdp_redirect
	check "XDP: off" xdp_off
}

# --- bond ---------------------------------------------------------------------

# bond OPTION...: bond0 over both cables, on both hosts, subnet 9
bond()
{
	local side

	addr_none cable1 && addr_none cable3 || return
	for side in a b; do
		on $side ip link add bond0 type bond miimon 20 "$@" &&
		on $side ip link set bond0 mtu $max_mtu || return
		enslave $side cable1 && enslave $side cable3 || return
	done
	on_a ip link set bond0 up && on_b ip link set bond0 up &&
		busywait 20000 bond_is_up && addr bond0 9
}

enslave()
{
	on "$1" ip link set "$2" down && on "$1" ip link set "$2" master bond0
}

bond_down()
{
	on_a ip link del bond0 && on_b ip link del bond0
}

# Number of slaves that work, the bond itself has such a line as well.
bond_is_up()
{
	local side up

	for side in a b; do
		up=$(on $side grep -c '^MII Status: up' \
			/proc/net/bonding/bond0)
		[ "$up" = 3 ] || return
	done
}

# A cable that comes back is a new netdev, which somebody has to put back.
cable_back()
{
	cable_in "$1" && enslave a "cable$1" && enslave b "cable$1" &&
		busywait 20000 bond_is_up
}

# steady SUBNET CONNECTIONS SECONDS: they carry data all the time
steady()
{
	between b 18710 python3 $steady serve "10.0.$1.2" "$2" -- \
		python3 $steady client "10.0.$1.2" "$2" "$3"
}

# connected COUNT: B has so many of these connections.
connected()
{
	[ "$(on_b ss -Htn state established "sport = :18710" | wc -l)" -ge "$1" ]
}

# keeps_up PORT: the cable is pulled in the middle of that, and the connections
# live on without much of a pause. The retransmission timer alone needs 0.2 s.
keeps_up()
{
	local rc=0 pid slowest

	steady 9 2 1.5 > /tmp/steady 2>&1 &
	pid=$!
	busywait 10000 connected 2
	sleep 0.5
	kill -0 $pid && cable_out "$1" || rc=1
	wait $pid || rc=1
	cat /tmp/steady
	slowest=$(sed -n 's/.*slowest \([0-9]*\) ms/\1/p' /tmp/steady)
	[ $rc = 0 ] && [ "$slowest" -lt 1000 ]
}

# So many connections that each cable gets some, at both ends, whatever their ports.
both_carry()
{
	local side old1 old3 n1 n3

	old1=$(stat_of a cable1 tx_bytes):$(stat_of b cable1 tx_bytes)
	old3=$(stat_of a cable3 tx_bytes):$(stat_of b cable3 tx_bytes)
	steady 9 24 0.1 || return
	for side in a b; do
		n1=$(($(stat_of $side cable1 tx_bytes) - ${old1%:*}))
		n3=$(($(stat_of $side cable3 tx_bytes) - ${old3%:*}))
		old1=${old1#*:} old3=${old3#*:}
		echo "$side: cable1 $n1 bytes, cable3 $n3 bytes"
		[ $n1 -gt $(((n1 + n3) / 20)) ] &&
			[ $n3 -gt $(((n1 + n3) / 20)) ] || return
	done
}

# LACP has found its partner on both cables and uses both.
aggregated()
{
	local side other

	for side in a b; do
		other=$(mac_of "$(other_side $side)" bond0)
		on $side grep -q 'Number of ports: 2' /proc/net/bonding/bond0 &&
		on $side grep -q "Partner Mac Address: $other" \
			/proc/net/bonding/bond0 || return
		# both ports at both ends collect and distribute
		[ "$(on $side grep -c 'port state: 63' \
			/proc/net/bonding/bond0)" = 4 ] || return
	done
}

lacp()
{
	busywait 30000 aggregated ||
		fail "$(on_a cat /proc/net/bonding/bond0)"
}

bonds()
{
	local mode=active-backup

	run_step "bond, $mode" bond mode $mode primary cable1
	check "$mode: traffic" traffic 9
	check "$mode: the active cable is pulled" keeps_up 1
	check "$mode: it is back" cable_back 1
	check "$mode: the other one is pulled" keeps_up 3
	check "$mode: it is back" cable_back 3
	run_step "bond, $mode: end" bond_down

	mode=balance-xor
	run_step "bond, $mode" bond mode $mode xmit_hash_policy layer3+4
	check "$mode: traffic" traffic 9
	check "$mode: both cables carry some" both_carry
	check "$mode: a cable is pulled" keeps_up 1
	check "$mode: it is back" cable_back 1
	check "$mode: the other one is pulled" keeps_up 3
	check "$mode: it is back" cable_back 3
	run_step "bond, $mode: end" bond_down

	mode=802.3ad
	run_step "bond, $mode" bond mode $mode lacp_rate fast \
		xmit_hash_policy layer3+4
	check "$mode: one aggregate of both cables" lacp
	check "$mode: both cables carry some" both_carry
	check "$mode: a cable is pulled" keeps_up 3
	check "$mode: it is back" cable_back 3
	check "$mode: one aggregate again" lacp
	run_step "bond, $mode: end" bond_down
}

# --- bridge -------------------------------------------------------------------

# A bridge on each host, both cables in both: a loop, if it were not for STP.
bridge()
{
	local side port

	for side in a b; do
		on $side ip link add br0 type bridge stp_state 1 \
			forward_delay 400 hello_time 100 max_age 600 || return
		for port in 1 3; do
			on $side ip link set cable$port mtu 9000 up &&
			on $side ip link set cable$port master br0 || return
		done
	done
	addr br0 9
}

# states of the four ports: 3 forwards, 4 is blocked
port_states()
{
	local side port

	for port in 1 3; do
		for side in a b; do
			on $side cat /sys/class/net/cable$port/brport/state
		done
	done 2>/dev/null | tr -d '\n'
}

one_blocked()
{
	[ "$(port_states | tr -d 3)" = 4 ]
}

settled()
{
	busywait 30000 one_blocked || fail "ports: $(port_states)"
}

# Port whose cable carries the traffic.
forwarding_port()
{
	case $(port_states) in
	33*) echo 1 ;;
	*33) echo 3 ;;
	*) return 1 ;;
	esac
}

# A loop would multiply a broadcast for ever.
no_storm()
{
	local before after

	on_a ip neigh flush dev br0
	ping_ok a 10.0.9.2 || return
	before=$(($(stat_of a cable1 rx_packets) + $(stat_of a cable3 rx_packets)))
	sleep 2
	after=$(($(stat_of a cable1 rx_packets) + $(stat_of a cable3 rx_packets)))
	echo "$((after - before)) packets in 2 seconds"
	[ $((after - before)) -lt 40 ]
}

# The forwarding cable is pulled, the blocked one takes over.
bridge_pull()
{
	local port

	port=$(forwarding_port) || return
	cable_out "$port" && busywait 15000 ping_ok a 10.0.9.2 && traffic 9
}

bridge_down()
{
	on_a ip link del br0 && on_b ip link del br0
}

bridges()
{
	run_step "a bridge on each host, with both cables" bridge
	check "STP blocks one port of four" settled
	check "traffic over the bridges" busywait 10000 traffic 9
	check "no packet goes round in circles" no_storm
	check "the cable in use is pulled" bridge_pull
	run_step "no bridges" bridge_down
}

# --- thunderbolt_net ----------------------------------------------------------

tbnet_up()
{
	emu unplug 0.1
	emu unplug 0.3
	mod_load thunderbolt_net && cable_in 1 || return
	adopt a 1 thunderbolt tbnet && adopt b 1 thunderbolt tbnet &&
		addr cable1 1 && addr tbnet 2
}

# Both at once.
both_services()
{
	local rc=0 pid seconds=1

	# Where code takes time the other one takes several seconds.
	[ "$BED" = uml ] || seconds=15
	between b 18710 python3 $steady serve 10.0.2.2 2 -- \
		python3 $steady client 10.0.2.2 2 $seconds > /tmp/steady &
	pid=$!
	busywait 10000 connected 2
	between b 18700 python3 $netcheck serve 10.0.1.2 -- \
		python3 $netcheck client 10.0.1.2 4 4000037 "${sizes[@]}" || rc=1
	kill -0 $pid || rc=1
	wait $pid || rc=1
	cat /tmp/steady
	return $rc
}

tbnet()
{
	run_step "thunderbolt_net on the same cable" tbnet_up
	check "both carry traffic at once" both_services
	check "thunderbolt_net goes" mod_unload thunderbolt_net
	check "ours stays" traffic 1
}

ktap_print_header
ktap_set_plan 53
load_lan || ktap_exit_fail_msg "no modules for bridges"
identity
run_step "addresses" addr cable1 1
one_netdev
bonds
bridges
tbnet
ktap_finished
