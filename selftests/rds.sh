#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RDS, a user of RDMA in the kernel, over the link and past the IP stack: messages
# there and back, every byte verified; the RDMA device goes and the cable is pulled
# under load, and it finds its peer again.
#
# beds: qemu
# topology: pair
# timeout: 400
# also: rds
# runs: none
# runs-long: qemu

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

rds=/usb4net/selftests/rdscheck.py
count=500
[ "$SMOKE" = 0 ] || count=100

# The server is there to the end.
server()
{
	mod_load rds && mod_load rds_rdma || return
	bg_on b python3 $rds serve "$B_IP" > /tmp/rds.server 2>&1
	SERVER=$BG_PID
	busywait 10000 grep -q ready /tmp/rds.server
}

roce()
{
	counter a roce_tx_packets 2>/dev/null || echo 0
}

# messages COUNT: which bypass the IP stack
messages()
{
	local before udp

	before=$(roce) udp=$(snmp a Udp:InDatagrams)
	timeout 100 python3 $rds client "$A_IP" "$B_IP" "$1" || return
	udp=$(($(snmp a Udp:InDatagrams) - udp))
	echo "$(($(roce) - before)) packets, $udp datagrams"
	rxe_is_stock || { [ $(($(roce) - before)) -ge "$1" ] && [ $udp -eq 0 ]; }
}

moves()
{
	[ "$(roce)" -gt $(($1 + 200)) ]
}

load_begin()
{
	local before

	before=$(roce)
	timeout 100 python3 $rds client "$A_IP" "$B_IP" load > /tmp/load 2>&1 &
	LOAD=$!
	if rxe_is_stock; then
		sleep 2
	else
		busywait 20000 moves "$before" || fail "no load: $(cat /tmp/load)"
	fi
}

# What was under way may have been lost, but nothing was wrong.
load_ends()
{
	local rc=0

	! _gone "$LOAD" || fail "it has ended: $(cat /tmp/load)" || return
	kill "$LOAD"
	wait "$LOAD" || rc=$?
	cat /tmp/load
	[ $rc -eq 143 ] || fail "exit status $rc"
}

rxe_gone()
{
	on_"$1" rdma link delete "$(rxe_of "$1")"
}

# device_goes a|b
device_goes()
{
	load_begin && rxe_gone "$1" && rxe_up_on "$1" && load_ends &&
		busywait 60000 messages 20
}

pulled()
{
	load_begin && emu unplug 0.1 > /dev/null &&
		busywait 10000 netdevs_gone && emu plug 0.1 1.1 > /dev/null &&
		link_wait && link_addr && rxe_up && load_ends &&
		busywait 60000 messages 20
}

the_end()
{
	kill "$SERVER"
	wait "$SERVER"
	rxe_gone a && rxe_gone b && mod_unload rds_rdma rds
}

ktap_print_header
ktap_set_plan 10
run_step "the link comes up" link_up
run_step "rxe loads" load_rxe
run_step "rxe devices" rxe_up
run_step "a server at B" server
check "messages there and back" messages "$count"
check "A's RDMA device goes under load" device_goes a
check "B's RDMA device goes under load" device_goes b
check "the cable is pulled under load" pulled
check "messages there and back at last" messages "$count"
check "the end" the_end
ktap_finished
