#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RDMA through a router: B forwards between A and C, by IP.
#
#	netns	A (10.0.0.1) ==cable== (10.0.0.2) B (10.0.3.2) ==cable== (10.0.3.3) C
#		in three network namespaces, the patched rxe on all netdevs
#	chain	the same, each of the three a kernel
#	pair	A (10.0.0.1) ==cable== (10.0.0.2) B (10.0.3.2) --veth--- (10.0.3.3) C
#		B and C are the second kernel, with its own rxe, on C
#
# What A and C say to each other passes the IP stack at each end, with its ICRC,
# which C's stock rxe checks. A and B bypass theirs all the same (but in pair, where
# B has none).
#
# beds: uml qemu
# topology: netns
# timeout: 300
# runs: uml
# runs-long: qemu qemu:topology=pair qemu:topology=chain

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

C_IP=10.0.3.3 C_IP6=fd00:3::3
C_RXE=rxe2
bin=/usb4net/bin/verbs_check
sizes=1,4095,4096,4097,65536,1M
[ "$SMOKE" = 0 ] || sizes=1,4097,65536

# --- C --------------------------------------------------------------------------

# C's kernel is A's, B's or its own.
C_DEV=cable3c R_DEV=cable3b R_RXE=rxe3
case $TOPOLOGY in
netns) c_kernel=a ;;
pair) c_kernel=b C_DEV=veth1 R_DEV=veth0 ;;
chain) c_kernel=c ;;
esac

if [ "$TOPOLOGY" != chain ]; then
	on_c()
	{
		on_kernel_of_c ip netns exec c "$@"
	}
fi

on_kernel_of_c()
{
	"root_$c_kernel" "$@"
}

# start SIDE CMD...: in the background, BG_PID
start()
{
	local side=$1

	shift
	if [ "$side" = c ] && [ "$TOPOLOGY" != chain ]; then
		bg_on "$c_kernel" ip netns exec c "$@"
	else
		bg_on "$side" "$@"
	fi
}

# new_netdev a|b|c NHI PORT: the netdev of that port, on the host's kernel
new_netdev()
{
	root_"$1" /usb4net/bed/netdev name "$2" usb4net "$3"
}

c_netdevs()
{
	if [ "$TOPOLOGY" = chain ]; then
		emu plug 1.3 2.1 &&
		on_b ip link set "$(busywait 60000 new_netdev b 0 3)" name $R_DEV &&
		on_c ip link set "$(busywait 60000 new_netdev c 0 1)" name $C_DEV
		return
	fi
	on_kernel_of_c ip netns add c && on_c ip link set lo up || return
	if [ "$TOPOLOGY" = pair ]; then
		on_b modprobe veth &&
		on_b ip link add $R_DEV mtu 9000 type veth \
			peer name $C_DEV mtu 9000 netns c
		return
	fi
	emu plug 0.3 1.3 &&
	ip link set "$(busywait 20000 new_netdev b 1 3)" netns b name $R_DEV &&
	ip link set "$(busywait 20000 new_netdev a 0 3)" netns c name $C_DEV
}

c_addresses()
{
	on_b ip addr add 10.0.3.2/24 dev $R_DEV &&
	on_b ip -6 addr add fd00:3::2/64 dev $R_DEV nodad &&
	on_b ip link set $R_DEV up &&
	on_c ip addr add $C_IP/24 dev $C_DEV &&
	on_c ip -6 addr add $C_IP6/64 dev $C_DEV nodad &&
	on_c ip link set $C_DEV up &&
	on_b sysctl -qw net.ipv4.ip_forward=1 \
		net.ipv6.conf.all.forwarding=1 &&
	on_a ip route add 10.0.3.0/24 via "$B_IP" &&
	on_a ip -6 route add fd00:3::/64 via "$B_IP6" &&
	on_c ip route add default via 10.0.3.2 &&
	on_c ip -6 route add default via fd00:3::2 &&
	busywait 20000 on_a ping -n -q -c 1 -W 1 $C_IP &&
	busywait 20000 on_c ping -n -q -c 1 -W 1 "$A_IP6"
}

rdma_devices()
{
	if [ "$TOPOLOGY" = pair ]; then
		mod_load_on a rdma_rxe && mod_load_on a rdma_ucm &&
			load_stock_rxe_on b && rxe_up_on a || return
		! on_b grep -q O /sys/module/rdma_rxe/taint || return
	else
		load_ours && rxe_up &&
			on_b rdma link add $R_RXE type rxe netdev $R_DEV || return
	fi
	on_c rdma link add $C_RXE type rxe netdev $C_DEV &&
		busywait 10000 gid_of c
}

# --- traffic --------------------------------------------------------------------

# gid_of a|b|c [4|6]: index of its GID
gid_of()
{
	local gid

	case $1 in
	c)
		gid=0000:0000:0000:0000:0000:ffff:0a00:0303
		[ "${2:-4}" = 4 ] ||
			gid=fd00:0003:0000:0000:0000:0000:0000:0003
		on_kernel_of_c sh -c "cd /sys/class/infiniband/$C_RXE/ports/1 &&
			cd gids && grep -l '^$gid\$' * | head -n 1" | grep .
		;;
	*)
		gid_index "$@"
		;;
	esac
}

device_of()
{
	if [ "$1" = c ]; then
		echo $C_RXE
	else
		rxe_of "$1"
	fi
}

address_of()
{
	case $1${2:-4} in
	c4) echo $C_IP ;;
	c6) echo $C_IP6 ;;
	*) ip_of "$@" ;;
	esac
}

listens_at()
{
	on "$1" ss -Hltn "sport = :18600" | grep -q .
}

# across SERVER CLIENT 4|6 OPTION...: verbs_check between two of them
across()
{
	local srv=$1 cli=$2 v=$3 pid rc=0

	shift 3
	start "$srv" timeout -k 2 60 $bin -d "$(device_of "$srv")" \
		-g "$(gid_of "$srv" "$v")" > /tmp/server 2>&1
	pid=$BG_PID
	busywait 15000 listens_at "$srv" || rc=1
	[ $rc -ne 0 ] || on "$cli" timeout -k 2 60 $bin \
		-d "$(device_of "$cli")" -g "$(gid_of "$cli" "$v")" "$@" \
		"$(address_of "$srv" "$v")" || rc=$?
	[ $rc -eq 0 ] || kill "$pid" 2>/dev/null
	wait "$pid" || rc=$?
	cat /tmp/server
	return $rc
}

# between_a_and_c SERVER CLIENT 4|6 OPTION...: B forwards, and nobody bypasses.
between_a_and_c()
{
	local bypass forwarded

	bypass=$(counter a roce_tx_packets)
	forwarded=$(forwarded "$3")
	across "$@" || return
	bypass=$(($(counter a roce_tx_packets) - bypass))
	forwarded=$(($(forwarded "$3") - forwarded))
	echo "$forwarded forwarded, $bypass of A bypassed"
	[ $bypass -eq 0 ] && [ $forwarded -ge 20 ]
}

forwarded()
{
	if [ "$1" = 4 ]; then
		snmp b Ip:ForwDatagrams
	else
		# shellcheck disable=SC2016 # awk's
		on_b awk '$1 == "Ip6OutForwDatagrams" { print $2 }' \
			/proc/net/snmp6
	fi
}

# As much as A and B say to each other bypasses.
between_neighbours()
{
	local before after

	before=$(counter a roce_tx_packets)
	across "$@" || return
	after=$(counter a roce_tx_packets)
	echo "$((after - before)) packets"
	[ $((after - before)) -ge 20 ]
}

# rdma_cm as well finds its way.
rping_across()
{
	local pid rc=0

	start c timeout -k 2 60 rping -s -V -C 10 -a $C_IP > /tmp/server 2>&1
	pid=$BG_PID
	busywait 15000 rping_listens || rc=1
	[ $rc -ne 0 ] || on_a timeout -k 2 60 rping -c -V -C 10 -a $C_IP || rc=$?
	[ $rc -eq 0 ] || kill "$pid" 2>/dev/null
	wait "$pid" || rc=$?
	cat /tmp/server
	return $rc
}

rping_listens()
{
	on_c rdma resource show cm_id | grep -q LISTEN
}

# The neighbour's GIDs have to arrive first.
neighbours_bypass()
{
	between_neighbours b a 4 -s 65536 -n 8
}

plan=11
[ "$TOPOLOGY" = pair ] || plan=14
ktap_print_header
ktap_set_plan $plan
run_step "A and B: the link comes up" link_up
run_step "C is behind B" c_netdevs
run_step "B forwards" c_addresses
run_step "RDMA devices" rdma_devices
check "RC, A to C" between_a_and_c c a 4 -s $sizes
check "RC, C to A" between_a_and_c a c 4 -s $sizes
check "RC, A to C, IPv6" between_a_and_c c a 6 -s $sizes
check "RC, C to A, IPv6" between_a_and_c a c 6 -s $sizes
check "UC, A to C" between_a_and_c c a 4 -q uc -s $sizes -o send,write
check "UD, A to C" between_a_and_c c a 4 -q ud -s 1,1024,4096
check "rping, A to C" rping_across
if [ "$TOPOLOGY" != pair ]; then
	check "A and B bypass the IP stack meanwhile" \
		busywait 10000 neighbours_bypass
	check "A and B, IPv6" between_neighbours b a 6 -s 1,65536 -n 8
	check "A and C do not, after that" between_a_and_c c a 4 -s 65536 -n 8
fi
ktap_finished
