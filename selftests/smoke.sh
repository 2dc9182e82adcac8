#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Does it work on another kernel? Two machines, since rdma_rxe of Linux 6.12
# receives in the initial network namespace only: link, IP, RDMA and its bypass, and
# that all of it comes and goes, under programs that have the RDMA devices open.
#
#	selftests/smoke.sh KERNEL=6.12			both of them
#	selftests/smoke.sh KERNEL=6.12 KERNEL_B=stock	and with the toolbox's
#
# beds: qemu
# topology: pair
# timeout: 300
# runs: none
# runs-long: qemu:kernel=6.12 qemu:kernel=6.12:kernel_b=stock qemu

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

netcheck=/usb4net/selftests/netcheck.py

# The kernels, and modules that were built for them, are those that were asked for.
kernels()
{
	echo "A: $(on_a uname -r), $KVER; B: $(on_b uname -r), $KVER_B"
	[ "$(on_a uname -r)" = "$KVER" ] && [ "$(on_b uname -r)" = "$KVER_B" ]
}

# ours a|b NAME: the module is the one of this project
ours()
{
	on "$1" grep -q O "/sys/module/$2/taint"
}

all_ours()
{
	local side

	for side in a b; do
		ours $side usb4net_rdma && ours $side roce_link &&
			ours $side rdma_rxe || return
	done
}

# pings FROM ADDRESS
pings()
{
	local size

	for size in 0 1 56 1472 4020 4068 4096 8192 32768 65000; do
		ping_ok "$1" "$2" $size || fail "size $size" || return
	done
}

# content SIDE ADDRESS: datagrams and 1 MB of TCP each way; the client is on SIDE.
content()
{
	between "$(other_side "$1")" 18700 python3 $netcheck serve "$2" -- \
		python3 $netcheck client "$2" 5 1000037 1 1472 4097 20000 64000
}

# What a transfer from A to B moves: the driver's and rxe's counters, not UDP's
count()
{
	local s

	for s in a b; do
		echo "$(counter $s roce_tx_packets)" "$(counter $s roce_rx_packets)" \
			"$(snmp $s Udp:InDatagrams)" "$(snmp $s Udp:NoPorts)" \
			"$(on $s cat "/sys/class/infiniband/$(rxe_of $s)/ports/1/hw_counters/link_sent_pkts")"
	done | xargs
}

bypassed()
{
	local before after n

	read -ra before <<< "$(count)"
	perftest b ib_write_bw -s 65536 -n 50 || return
	# The last acknowledgment may be counted a moment later.
	sleep 0.5
	read -ra after <<< "$(count)"
	for n in "${!after[@]}"; do
		after[n]=$((after[n] - before[n]))
	done
	echo "A, B: tx, rx, UDP, no port, rxe: ${after[*]}"
	# two packets for each message, of 15 MTUs at most
	[ "${#after[@]}" = 10 ] && [ "${after[0]}" -ge 100 ] &&
		[ "${after[0]}" -lt 200 ] && [ "${after[6]}" = "${after[0]}" ] &&
		[ "${after[1]}" = "${after[5]}" ] && [ "${after[5]}" -ge 1 ] &&
		[ "${after[4]}" = "${after[0]}" ] &&
		[ "${after[9]}" = "${after[5]}" ] &&
		[ "${after[2]}${after[3]}${after[7]}${after[8]}" = 0000 ]
}

# hold a|b: a program that has a queue pair, and does not look after it: it waits
# for somebody who calls. It goes on until "let_go".
hold()
{
	local side=$1

	bg_on "$side" ibv_rc_pingpong -d "$(rxe_of "$side")" \
		-g "$(gid_index "$side")" -p $((18550 + ${#held[@]})) \
		> "/tmp/hold.$side" 2>&1
	held+=("$BG_PID")
	busywait 10000 listening "$side" $((18549 + ${#held[@]}))
}
held=()

let_go()
{
	local pid rc=0

	for pid in "${held[@]}"; do
		! _gone "$pid" || fail "a program has ended" || rc=1
		kill "$pid" && wait "$pid"
	done
	held=()
	return $rc
}

no_rdma()
{
	[ -z "$(on a rdma link show)$(on b rdma link show)" ]
}

gone()
{
	netdevs_gone && no_rdma
}

works()
{
	ping_ok a "$B_IP" 8000 && ping_ok b "$A_IP6" 8000 && rping_ok a &&
		verbs_check b -s 1,4097,65536
}

# The RDMA devices go with the cable, whoever has them open. If they do not, the
# programs have to end first, or nothing goes on.
replug()
{
	local rc=0

	hold a && hold b && emu unplug 0.1 || return
	within 3000 busywait 20000 gone || {
		on_a rdma link show
		on_b rdma link show
		rc=1
		let_go
	}
	emu plug 0.1 1.1 && link_wait && link_addr && rxe_up && works || rc=1
	return $rc
}

# The modules go, and the programs then.
reload()
{
	hold a && hold b && emu unplug 0.1 || return
	busywait 10000 gone || {
		let_go
		return 1
	}
	mod_unload rdma_rxe usb4net_rdma roce_link && let_go && load_ours &&
		emu plug 0.1 1.1 && link_wait && link_addr && rxe_up && works
}

# If they are not equal, why
alike()
{
	busywait 20000 stats_equal || {
		no_losses
		return 1
	}
}

ktap_print_header
ktap_set_plan 20
fix_cpuinfo
check "the kernels" kernels
run_step "the link comes up" link_up
run_step "the first ping" losses_start
check "ping, A to B, IPv4" pings a "$B_IP"
check "ping, B to A, IPv6" pings b "$A_IP6"
check "UDP and TCP, A to B, IPv4" content a "$B_IP"
check "UDP and TCP, B to A, IPv6" content b "$A_IP6"
run_step "the patched rxe loads" load_ours
check "all modules are ours" all_ours
run_step "rdma link add" rxe_up
check "rping" rping_ok a
check "ibv_rc_pingpong" pingpong b rc -n 100
check "verbs_check: every verb, content" verbs_check b -s 1,4097,65536
check "ib_send_lat" perftest b ib_send_lat -e -s 64 -n 100
check "ib_write_bw does not pass the IP stack" bypassed
check "statistics agree" busywait 20000 stats_equal
check "no loss is counted" no_losses
run_step "replug, under programs" replug
run_step "reload, under programs" reload
check "statistics agree at the end" alike
ktap_finished
