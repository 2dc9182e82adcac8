#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RDMA over the link, past the IP stack, with programs that wait for events:
# every verb on every type of queue pair, sizes around every boundary, every
# byte verified; rping and the pingpongs. perftest, which measures its clock
# and polls, is in verbs-perftest.sh.
#
# beds: uml qemu
# topology: netns
# timeout: 400
# runs: uml
# runs-long: uml:smoke:tb=patched qemu qemu:smoke:topology=pair qemu:smoke:tb=patched

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

# Boundaries: nothing, inline data, a frame, the path MTU and multiples, the
# requester's window of 128 packets, and large.
if [ "$SMOKE" = 1 ]; then
	sizes=0,1,65,1025,4095,4096,4097,65537
	small=1,1000,1024
	large=524289
	count=2
	iters=20
else
	sizes=0,1,2,3,7,8,9,63,64,65,127,255,256,257,1023,1024,1025,2047,2048
	sizes+=,2049,3967,4000,4031,4032,4033,4067,4084,4095,4096,4097,8191
	sizes+=,8192,8193,12287,12289,16385,32767,65535,65536,65537,131073
	small=0,1,2,15,16,17,63,64,65,255,256,257,1000,1023,1024
	large=262143,524287,524288,524289,1048577,4194303,8388607,8388608
	count=7
	iters=100
fi

bypass_used()
{
	local before after

	before=$(counter a roce_tx_packets)
	verbs_check b -s 65536 -n 4 -o write || return
	after=$(counter a roce_tx_packets)
	echo "roce_tx_packets: $before, then $after"
	# 16 path MTUs of payload take two packets
	[ $((after - before)) -ge 8 ]
}

ktap_print_header
ktap_set_plan 22

run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "rdma link add" rxe_up
check "packets take the bypass" bypass_used

for mtu in 4096 1024; do
	check "RC, path MTU $mtu" verbs_check b -q rc -m $mtu -s $sizes -n $count
	check "UC, path MTU $mtu" verbs_check a -q uc -m $mtu -s $sizes -n $count
done
check "UD" verbs_check b -q ud -s "$small,4095,4096" -n $count
check "RC, large" verbs_check b -q rc -s $large -n 2 \
	-o send,write,write_imm,read
check "UC, large" verbs_check b -q uc -s $large -n 2 -o send,write_imm
check "RC, 64 messages in flight" verbs_check a -q rc -s 1,4096,9000 -n 64
check "RC, path MTU 256" verbs_check a -q rc -m 256 -s $small,5000 -n $count
check "RC, IPv6" verbs_check -6 b -q rc -s 1,4097,65536
check "UD, IPv6" verbs_check -6 a -q ud -s 1,1000,4096

check "rping, server on B" rping_ok b
check "rping, server on A" rping_ok a
check "rping, 64000 bytes" rping_ok b -S 64000
check "ibv_rc_pingpong" pingpong b rc -e -c -n $iters -s 65536 -m 4096
check "ibv_uc_pingpong" pingpong b uc -e -c -n $iters -s 65536 -m 4096
check "ibv_ud_pingpong" pingpong b ud -e -c -n $iters -s 1024
check "ibv_rc_pingpong, odd size" pingpong a rc -e -c -n $iters -s 4097

ktap_finished
