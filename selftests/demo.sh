#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a user would do on two machines with a USB4 cable between them, on two
# virtual ones: each command with its output. At the end the counters show
# that RDMA went past the IP stack. One line says whether it all worked.
#
# beds: qemu
# topology: pair
# timeout: 240
# runs: none
# output: plain

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

dir=/usb4net/modules

give_up()
{
	echo
	echo "demo: FAILED: $*"
	exit 1
}

# a CMD... / b CMD...: shows the command and runs it on that host.
show()
{
	local side=$1

	shift
	echo
	echo "host-$side \$ $*"
	on "$side" timeout "$TOOL_TIMEOUT" "$@" 2>&1 ||
		give_up "host-$side: $*"
}

a()
{
	show a "$@"
}

b()
{
	show b "$@"
}

# serve PORT CMD...: a server on host B, in the background.
serve()
{
	local ready=$1 cond=(listening b "$1")

	shift
	echo
	echo "host-b \$ $* &"
	bg_on b timeout "$TOOL_TIMEOUT" "$@" > /tmp/server 2>&1
	[ "$ready" != cm ] || cond=(cm_listening b)
	busywait 20000 "${cond[@]}" || give_up "host-b: $*: $(cat /tmp/server)"
}

served()
{
	wait "$BG_PID" || give_up "server on host-b: $(cat /tmp/server)"
}

title()
{
	echo
	echo "=== $* ==="
}

carriers()
{
	carrier a "$A_DEV" && carrier b "$B_DEV"
}

# What the proof counts, one line: bypassed packets and IP packets.
counts()
{
	echo "$(counter a roce_tx_packets) $(counter b roce_rx_packets)" \
		"$(snmp a Ip:OutRequests) $(snmp b Ip:InReceives)" \
		"$(snmp b Udp:InDatagrams)"
}

proof()
{
	local names=("RoCE packets past the IP stack, sent by host-a"
		"RoCE packets past the IP stack, received by host-b"
		"packets sent by host-a's IP"
		"packets received by host-b's IP"
		"datagrams received by host-b's UDP")
	local i

	printf '%-54s %9s %9s %9s\n' "" before after more
	for i in 0 1 2 3 4; do
		more[i]=$((after[i] - before[i]))
		printf '%-54s %9d %9d %9d\n' "${names[i]}" "${before[i]}" \
			"${after[i]}" "${more[i]}"
	done
}

title "The driver, the hook and rdma_rxe with the hook, on both hosts"
for host in a b; do
	$host uname -r
	$host modprobe -a thunderbolt ib_core udp_tunnel ip6_udp_tunnel rdma_ucm
	$host insmod $dir/roce_link.ko
	$host insmod $dir/usb4net_rdma.ko
	$host insmod $dir/rdma_rxe.ko
done
link_wait || give_up "no netdev appeared"

title "A network link"
a ip addr add "$A_IP/24" dev "$A_DEV"
a ip link set "$A_DEV" up
b ip addr add "$B_IP/24" dev "$B_DEV"
b ip link set "$B_DEV" up
busywait 20000 carriers || give_up "no carrier"
a ethtool -i "$A_DEV"
a ip -br address show "$A_DEV"
a ping -c 3 -i 0.3 "$B_IP"
a ping -c 1 -s 65000 "$B_IP"
serve 5201 iperf3 -s -1
a iperf3 -c "$B_IP" -n 30M
served

title "RDMA"
a rdma link add "$A_RXE" type rxe netdev "$A_DEV"
b rdma link add "$B_RXE" type rxe netdev "$B_DEV"
busywait 10000 _rxe_active b "$B_RXE" || give_up "rxe does not come up"
a rdma link show
gid=$(busywait 5000 gid_index b) || give_up "no GID"
serve cm rping -s -a "$B_IP" -C 3
a rping -c -a "$B_IP" -C 3 -v
served
serve 18515 ib_send_lat -F -d "$B_RXE" -x "$gid" -n 200
a ib_send_lat -F -d "$A_RXE" -x "$gid" -n 200 "$B_IP"
served

title "The proof: 200 messages of 64 KiB are 3200 packets"
read -ra before <<< "$(counts)"
serve 18515 ib_write_bw -F -d "$B_RXE" -x "$gid" -s 65536 -n 200
a ib_write_bw -F -d "$A_RXE" -x "$gid" -s 65536 -n 200 "$B_IP"
served
read -ra after <<< "$(counts)"
echo
more=()
proof

[ "${more[0]}" -ge 3200 ] && [ "${more[1]}" -ge 3200 ] ||
	give_up "RDMA did not take the bypass"
[ "${more[2]}" -lt 200 ] && [ "${more[3]}" -lt 200 ] && [ "${more[4]}" = 0 ] ||
	give_up "RDMA went through the IP stack"
echo
echo "demo: success: ${more[0]} RDMA packets crossed the USB4 link, none of" \
	"them through IP or UDP (IP's ${more[2]} are perftest's own TCP connection)"
