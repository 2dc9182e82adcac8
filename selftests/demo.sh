#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a user does with two hosts and a USB4 cable, as "make demo" shows it: two
# virtual machines with the distribution's kernel, one emulated host interface
# each, and the tools that everybody has. Every command is shown with its
# output; the prompt says on which host it runs. The counters at the end prove
# that RDMA did not pass the IP stack, and the last line says so or what failed.
#
# beds: qemu
# topology: pair
# timeout: 300
# output: plain
# runs: none
# runs-long: qemu

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

start=$(now_ms)

give_up()
{
	echo
	echo "demo: FAILED: $*"
	exit 1
}

title()
{
	printf '\n== %s\n' "$*"
}

prompt()
{
	printf '%s# %s\n' "${1^^}" "${*:2}"
}

# run a|b CMD...: show a command and its output. The demo ends if it fails.
run()
{
	prompt "$@"
	on "$1" timeout -k 2 60 "${@:2}" 2>&1 || give_up "${*:2}"
}

# serve a|b READY CMD...: show a server and start it; READY as in between()
serve()
{
	local cond=(listening "$1" "$2")

	[ "$2" != cm ] || cond=(cm_listening "$1")
	prompt "$1" "${*:3} &"
	bg_on "$1" timeout -k 2 60 "${@:3}" > /tmp/demo.server 2>&1
	busywait 15000 "${cond[@]}" || {
		cat /tmp/demo.server
		give_up "${*:3} does not listen"
	}
}

# served: the server has to end well, too
served()
{
	wait "$BG_PID" && return
	cat /tmp/demo.server
	give_up "the server failed"
}

# ip_packets a|b, udp_packets a|b: what the IP stack of the side has seen
ip_packets()
{
	echo $(($(snmp "$1" Ip:InReceives) + $(snmp "$1" Ip:OutRequests)))
}

udp_packets()
{
	echo $(($(snmp "$1" Udp:InDatagrams) + $(snmp "$1" Udp:NoPorts)))
}

# watch_counters CMD...: run CMD; afterwards ip, udp, link and bytes hold by how much
# the counters of both sides have moved.
watch_counters()
{
	local s
	declare -gA ip udp link bytes

	for s in a b; do
		ip[$s]=$(ip_packets $s)
		udp[$s]=$(udp_packets $s)
		link[$s]=$(counter $s roce_tx_packets)
		bytes[$s]=$(counter $s roce_tx_bytes)
	done
	"$@"
	for s in a b; do
		ip[$s]=$(($(ip_packets $s) - ip[$s]))
		udp[$s]=$(($(udp_packets $s) - udp[$s]))
		link[$s]=$(($(counter $s roce_tx_packets) - link[$s]))
		bytes[$s]=$(($(counter $s roce_tx_bytes) - bytes[$s]))
	done
}

perftest_pair()
{
	serve b 18515 "$@"
	run a "$@" "$B_IP"
	served
}

# The neighbour's GIDs have to arrive first.
rdma_passes_link()
{
	local before

	before=$(counter a roce_tx_packets) || return
	perftest b ib_send_bw -e -s 4096 -n 5 > /dev/null 2>&1
	[ "$(counter a roce_tx_packets)" -gt "$before" ]
}

title "Two hosts, A and B"
# As in the other tests: thunderbolt may not survive that a driver is loaded while it
# reads what the other host offers, see Documentation/emulator.rst.
emu unplug 0.1 > /dev/null || give_up "the emulator does not answer"
run a uname -sr
run b uname -sr
for s in a b; do
	run $s modprobe -a thunderbolt ib_core udp_tunnel ip6_udp_tunnel rdma_ucm
	run $s insmod /usb4net/modules/roce_link.ko
	run $s insmod /usb4net/modules/usb4net_rdma.ko
	run $s insmod /usb4net/modules/rdma_rxe.ko
done

title "A USB4 cable between them is a network device"
emu plug 0.1 1.1 > /dev/null || give_up "no cable"
link_wait || give_up "no network device appears"
for s in a b; do
	run $s ip addr add "$(ip_of $s)/24" dev "$(dev_of $s)"
	run $s ip link set "$(dev_of $s)" up
done
busywait 30000 _carrier_both || give_up "no carrier"
run a ip -br link show dev "$A_DEV"
run a ethtool -i "$A_DEV"
run a ping -c 3 -i 0.2 "$B_IP"
run a ping -c 3 -i 0.2 -M 'do' -s 60000 "$B_IP"
serve b 5201 iperf3 -s -1
run a iperf3 -c "$B_IP" -n 20M -f m
served

title "and, with the tools that are there anyway, an RDMA device"
run a rdma link add "$A_RXE" type rxe netdev "$A_DEV"
run b rdma link add "$B_RXE" type rxe netdev "$B_DEV"
for s in a b; do
	busywait 10000 _rxe_active $s "$(rxe_of $s)" ||
		give_up "the RDMA device of $s is not active"
done
run a rdma link show
serve b cm rping -s -a "$B_IP" -C 10 -V
run a rping -c -a "$B_IP" -C 10 -V -v
served
busywait 10000 rdma_passes_link || give_up "RDMA does not take the link"

title "Latency and bandwidth (of an emulator: the figures mean nothing)"
watch_counters perftest_pair ib_send_lat -F -d "$A_RXE" -x "$(gid_index a)" \
	-s 2 -n 200 -e
watch_counters perftest_pair ib_write_bw -F -d "$A_RXE" -x "$(gid_index a)" \
	-s 65536 -n 100

title "Where the packets of ib_write_bw went"
printf '%-34s %10s %10s\n' "" "host A" "host B"
printf '%-34s %10d %10d\n' \
	"sent past the IP stack (ethtool -S)" "${link[a]}" "${link[b]}" \
	"  in bytes" "${bytes[a]}" "${bytes[b]}" \
	"UDP datagrams seen by the stack" "${udp[a]}" "${udp[b]}" \
	"IP packets (perftest's set-up, TCP)" "${ip[a]}" "${ip[b]}"
prompt a "ethtool -S $A_DEV | grep roce_.x_"
ethtool -S "$A_DEV" | grep roce_.x_ || give_up "no counters"
run a ip -s link show dev "$A_DEV"

# 100 messages of 64 KiB, in as few packets as the hosts have agreed on
[ "${bytes[a]}" -ge $((100 * 65536)) ] ||
	give_up "only ${bytes[a]} bytes took the link"
[ "${link[b]}" -ge 1 ] || give_up "no acknowledgment took the link"
[ $((udp[a] + udp[b])) -eq 0 ] || give_up "RDMA packets passed the IP stack"
[ "${ip[a]}" -le 200 ] || give_up "${ip[a]} packets passed the IP stack"

echo
echo "demo: success: RDMA over a USB4 link, past the IP stack, with stock tools ($((($(now_ms) - start) / 1000)) s)"
