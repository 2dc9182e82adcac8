#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RDMA devices on netdevs above ours: a bond or a bridge over the cable gets
# one, which uses the IP stack as on any other network; a VLAN is refused, with a
# reason. And RDMA between the addresses of a VLAN, on the device below.
#
# beds: uml qemu
# topology: netns
# timeout: 300
# runs: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

sizes=1,4096,4097,65536,1M

# --- devices --------------------------------------------------------------------

# upper NAME TYPE OPTION...: a netdev over both ends of the cable, which has the
# addresses now. Sets A_DEV and B_DEV; LOWER_A and LOWER_B are those of the cable.
upper()
{
	local name=$1 side lower

	shift
	LOWER_A=$A_DEV LOWER_B=$B_DEV
	for side in a b; do
		lower=$(dev_of $side)
		on $side ip addr flush dev "$lower" &&
		on $side ip link add "$name" type "$@" &&
		on $side ip link set "$lower" down &&
		on $side ip link set "$lower" master "$name" &&
		on $side ip link set "$lower" up || return
	done
	A_DEV=$name B_DEV=$name
	link_addr && busywait 20000 ping_ok a "$B_IP"
}

lower_again()
{
	local side

	for side in a b; do
		on $side rdma link delete "$(rxe_of $side)" &&
		on $side ip link delete "$(dev_of $side)" || return
	done
	A_DEV=$LOWER_A B_DEV=$LOWER_B
	link_addr && busywait 20000 ping_ok a "$B_IP"
}

roce_packets()
{
	on a ethtool -S "$1" | awk '$1 == "roce_tx_packets:" { print $2 }'
}

udp_received()
{
	on_b cat /proc/net/snmp /proc/net/snmp6 | awk '
		$1 == "Udp:" && $2 ~ /[0-9]/ { n += $2 }
		$1 == "Udp6InDatagrams" { n += $2 }
		END { print n }'
}

# through_stack NETDEV CMD...: what CMD sends is UDP and nothing bypasses on the
# netdev of the cable.
through_stack()
{
	local lower=$1 roce udp

	shift
	roce=$(roce_packets "$lower") && udp=$(udp_received) || return
	"$@" || return
	roce=$(($(roce_packets "$lower") - roce))
	udp=$(($(udp_received) - udp))
	echo "$udp datagrams received, $roce packets bypassed"
	[ "$roce" = 0 ] && [ $udp -ge 20 ]
}

stack_of()
{
	check "$1: RC" through_stack "$LOWER_A" verbs_check b -s $sizes
	check "$1: UD" through_stack "$LOWER_A" verbs_check a -q ud \
		-s 1,512,1024 -n 8
	check "$1: RC, IPv6" through_stack "$LOWER_A" verbs_check -6 b -s $sizes
	check "$1: rping" through_stack "$LOWER_A" rping_ok b -S 32768
}

# --- VLAN -----------------------------------------------------------------------

# Refused, and the kernel says why.
refused()
{
	local out before

	before=$(reasons)
	out=$(on "$1" rdma link add rxe9 type rxe netdev "$2" 2>&1) &&
		fail "an RDMA device on a VLAN" && return 1
	echo "$out"
	grep -q "not permitted" <<< "$out" &&
		[ "$(reasons)" -eq $((before + 1)) ]
}

reasons()
{
	dmesg | grep -c "rxe creation allowed on top of a real device only"
}

vlan()
{
	local side

	for side in a b; do
		on $side ip link add link "$(dev_of $side)" name vlan5 \
			type vlan id 5 && on $side ip link set vlan5 up || return
	done
	on_a ip addr add 10.0.5.1/24 dev vlan5 &&
	on_b ip addr add 10.0.5.2/24 dev vlan5 &&
	busywait 10000 ping_ok a 10.0.5.2
}

vlan_gid()
{
	sh -c "cd /sys/class/infiniband/$1/ports/1/gids &&
		grep -l '^0000:0000:0000:0000:0000:ffff:0a00:050$2\$' * |
		head -n 1" | grep .
}

vlan_verbs()
{
	local bin=/usb4net/bin/verbs_check

	between b 18600 $bin -d "$B_RXE" -g "$(vlan_gid "$B_RXE" 2)" -- \
		$bin -d "$A_RXE" -g "$(vlan_gid "$A_RXE" 1)" "$@" 10.0.5.2
}

bypasses()
{
	local roce

	roce=$(roce_packets "$A_DEV")
	verbs_check b -s 65536 || return
	roce=$(($(roce_packets "$A_DEV") - roce))
	echo "$roce packets"
	[ $roce -ge 20 ]
}

ktap_print_header
ktap_set_plan 23
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "bond over the cable" upper bond0 bond mode active-backup miimon 20
run_step "bond: RDMA device" rxe_up
stack_of bond
run_step "bond: end" lower_again
run_step "bridge over the cable" upper br0 bridge
run_step "bridge: RDMA device" rxe_up
stack_of bridge
run_step "bridge: end" lower_again
run_step "RDMA device on the cable itself" rxe_up
check "it bypasses" busywait 10000 bypasses
run_step "VLAN" vlan
check "VLAN: no RDMA device on it, A" refused a vlan5
check "VLAN: no RDMA device on it, B" refused b vlan5
check "VLAN: RC between its addresses" through_stack "$A_DEV" \
	vlan_verbs -s $sizes
check "beside it, the cable is bypassed" bypasses
ktap_finished
