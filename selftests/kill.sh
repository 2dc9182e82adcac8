#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# RDMA programs of every kind are killed (SIGKILL) in the middle of their work,
# again and again: they go at once, what they had goes with them, and the next one
# works. Then what they use is taken away under them, with a time limit for each:
#
#	the carrier			queue pairs have only their own timeouts
#	the cable			netdev gone and queue pairs in error: 2 s
#	"rdma link del"			5 s
#	the driver's module, rdma_rxe	5 s
#	the network namespace		the netdev is in the initial one, and the
#					RDMA device if it was in there: 5 s
#
# beds: uml qemu
# topology: netns
# timeout: 900
# uml-mode: basic
# runs: uml:smoke
# runs-long: uml qemu

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"
# shellcheck source=selftests/fault-lib.sh
. "$(dirname "$0")/fault-lib.sh"

gone_limit=2000		# ms: a killed program, queue pairs without a netdev
remove_limit=5000	# ms: rdma link del, rmmod, netdev back from its namespace
free_limit=5000		# ms: what a killed program had
rounds=4
[ "$SMOKE" = 0 ] || rounds=1

# A program on both sides that goes on until it is killed: the server's command,
# when it is ready, the client's command. "DEV GID" are filled in for each side.
bin=/usb4net/bin/verbs_check
declare -A ready=() server=() client=()

program()
{
	ready[$1]=$2 server[$1]=$3 client[$1]=$4
	programs+=("$1")
}

programs=()
program verbs_check-rc 18600 "$bin -d DEV -g GID -T 60" \
	"$bin -d DEV -g GID -n 8 -T 60 -t 3600 -s 64,4097,65536 PEER"
program verbs_check-uc 18600 "$bin -d DEV -g GID -T 60" \
	"$bin -d DEV -g GID -q uc -n 8 -T 60 -t 3600 -s 64,4097,65536 PEER"
program verbs_check-ud 18600 "$bin -d DEV -g GID -T 60" \
	"$bin -d DEV -g GID -q ud -n 8 -T 60 -t 3600 -s 64,1000 PEER"
program rping cm "rping -s -a SELF -S 5000" "rping -c -a PEER -S 5000"
for tool in send_bw read_bw send_lat; do
	program ib_$tool 18515 "ib_$tool -F -e -d DEV -x GID -n 100000000" \
		"ib_$tool -F -e -d DEV -x GID -n 100000000 PEER"
done
for tool in write_bw write_lat atomic_bw; do
	program ib_$tool 18515 "ib_$tool -F -d DEV -x GID -n 100000000" \
		"ib_$tool -F -d DEV -x GID -n 100000000 PEER"
done
for tool in rc uc ud srq; do
	program ibv_${tool}_pingpong 18515 \
		"ibv_${tool}_pingpong -e -d DEV -g GID -n 100000000" \
		"ibv_${tool}_pingpong -e -d DEV -g GID -n 100000000 PEER"
done
program ucmatose cm "ucmatose -b SELF -C 100000000" \
	"ucmatose -s PEER -C 100000000"
program rstream 7471 "rstream -b SELF -S 65536 -I 100000000" \
	"rstream -s PEER -S 65536 -I 100000000"

# perftest measures the processor's clock first, which takes long in here.
[ "$SMOKE" = 0 ] || programs=(verbs_check-rc rping ib_send_bw ibv_ud_pingpong
	rstream)

# command_of SIDE TEMPLATE
command_of()
{
	local to

	to=$(other_side "$1")
	sed "s/DEV/$(rxe_of "$1")/; s/GID/$(gid_index "$1")/; s/SELF/$(ip_of "$1")/
		s/PEER/$(ip_of "$to")/" <<< "$2"
}

# objects: those of programs; the kernel has some of its own.
objects()
{
	local what

	for what in qp cq mr pd ctx cm_id srq; do
		rdma resource show $what 2> /dev/null | grep -w pid
	done
}

no_objects()
{
	! objects
}

frames()
{
	counter a tx_frames
}

moves()
{
	[ "$(frames)" -gt $(($1 + 30)) ]
}

# begin NAME: the program works on both sides; B is the server.
begin()
{
	local name=$1 before cond words

	before=$(frames)
	read -ra words <<< "$(command_of b "${server[$name]}")"
	bg_on b "${words[@]}" > /tmp/server 2>&1
	pid_b=$BG_PID
	case ${ready[$name]} in
	cm) cond=(cm_listening b) ;;
	7471) cond=(sleep 0.5) ;;
	*) cond=(listening b "${ready[$name]}") ;;
	esac
	busywait 10000 "${cond[@]}" || fail "$name does not listen" || return
	read -ra words <<< "$(command_of a "${client[$name]}")"
	bg_on a "${words[@]}" > /tmp/client 2>&1
	pid_a=$BG_PID
	busywait 20000 moves "$before" ||
		fail "$name does not move anything: $(cat /tmp/server /tmp/client)" ||
		return
	[ -n "$(objects)" ] || fail "rdma shows none of its objects"
}

# end PID...: by force, and in time
end()
{
	local pid

	for pid; do
		kill -9 "$pid" 2> /dev/null
		busywait $gone_limit _gone "$pid" ||
			fail "it is still there: $(cat "/proc/$pid/stack")" ||
			return
		wait "$pid" 2> /dev/null
	done
	return 0
}

# The client, the server, both at once; what stays alone ends or is killed.
kill_one()
{
	local name=$1 n

	for _ in $(seq $rounds); do
		begin "$name" || return
		case $((RANDOM % 3)) in
		0) end "$pid_a" && sleep 0.05 && end "$pid_b" ;;
		1) end "$pid_b" && sleep 0.05 && end "$pid_a" ;;
		2) kill -9 "$pid_a" "$pid_b" && end "$pid_a" "$pid_b" ;;
		esac || return
		busywait $free_limit no_objects ||
			fail "left behind: $(objects)" || return
	done
}

# Queue pairs that the programs in the background have, and that can work
working()
{
	rdma resource show qp | grep -w pid | grep -c 'state RTS'
}

none_works()
{
	[ "$(working)" = 0 ]
}

# carrier_back: and all is as it was
carrier_back()
{
	on_b ip link set "$B_DEV" up && both_up 6000 &&
		on_b ip -6 addr replace "$B_IP6/64" dev "$B_DEV" nodad
}

# RC goes on as if nothing had happened: shorter than its timeout
short_loss()
{
	local before

	begin verbs_check-rc || return
	on_b ip link set "$B_DEV" down && busywait 2000 no_carriers &&
		sleep 0.3 || return
	[ "$(working)" -ge 2 ] || fail "a queue pair has not waited" || return
	before=$(frames)
	on_b ip link set "$B_DEV" up && both_up 3000 || return
	on_b ip -6 addr replace "$B_IP6/64" dev "$B_DEV" nodad
	busywait 10000 moves "$before" || fail "it does not go on: $(cat \
		/tmp/client)" || return
	end "$pid_a" "$pid_b"
}

# It ends by its own timeout, neither before it nor much after it: ib_send_bw has
# timeout 14 and 7 retries, 0.07 to 2.2 s each as the verbs allow. It always has
# something to be acknowledged. The client of ib_send_lat may have nothing: it
# then waits for an answer that the server could not send, and rightly for ever.
long_loss()
{
	local start took

	begin ib_send_bw && on_b ip link set "$B_DEV" down &&
		busywait 2000 no_carriers || return
	start=$(now_ms)
	busywait 25000 _gone "$pid_a" || fail "the client waits for ever" || return
	took=$(($(now_ms) - start))
	echo "ended after $took ms"
	[ $took -ge 300 ] || fail "its retries were not waited for" || return
	! wait "$pid_a" || fail "it saw no error" || return
	end "$pid_b" && carrier_back
}

# What it has sent again without a carrier waits for nothing: the neighbour's
# address, for example.
killed_meanwhile()
{
	begin verbs_check-rc && on_b ip link set "$B_DEV" down &&
		busywait 2000 no_carriers && sleep 0.7 || return
	end "$pid_a" "$pid_b" && busywait $free_limit no_objects ||
		fail "left behind: $(objects)" || return
	carrier_back
}

# client_ended: the program at A has ended by itself, with an error.
client_ended()
{
	busywait $gone_limit _gone "$pid_a" ||
		fail "it goes on: $(cat "/proc/$pid_a/stack")" || return
	! wait "$pid_a" || fail "it saw no error"
}

cable_pulled()
{
	local start

	begin ib_send_bw && emu unplug 0.1 || return
	start=$(now_ms)
	within $gone_limit busywait 10000 netdevs_gone &&
		within $gone_limit busywait 10000 none_works && client_ended || return
	echo "all in $(($(now_ms) - start)) ms"
	end "$pid_b" && busywait $free_limit no_objects ||
		fail "left behind: $(objects)" || return
	emu plug 0.1 1.1 && link_wait && link_addr && rxe_up
}

link_deleted()
{
	begin "$1" && within $remove_limit on_a rdma link del "$A_RXE" &&
		client_ended && end "$pid_b" && busywait $free_limit no_objects ||
		fail "left behind: $(objects)" || return
	rxe_up_on a
}

module_removed()
{
	begin ib_send_bw && within $remove_limit mod_unload usb4net_rdma &&
		client_ended && end "$pid_b" && busywait $free_limit no_objects ||
		return
	mod_load usb4net_rdma && link_up usb4net && rxe_up
}

# Programs that have its devices open do not keep it.
rxe_removed()
{
	begin "$1" && within $remove_limit mod_unload rdma_rxe && client_ended &&
		end "$pid_b" && busywait $free_limit no_objects ||
		fail "left behind: $(objects)" || return
	mod_load rdma_rxe && rxe_up
}

# The processes in it keep a namespace, so they are killed.
namespace_deleted()
{
	begin "$1" && ip netns del b && end "$pid_b" || return
	within $remove_limit busywait 20000 test -e "/sys/class/net/$B_DEV" ||
		fail "the netdev did not come back" || return
	end "$pid_a" && busywait $free_limit no_objects || return
	# its RDMA device does not move with it
	! rdma link show "$B_RXE/1" 2> /dev/null || rdma link del "$B_RXE" ||
		return
	link_wait && link_addr && rxe_up_on b
}

# The RDMA device is in the namespace as well, and for no one else. That mode can be
# changed only while there is no other namespace.
rdma_namespace_deleted()
{
	rdma link del "$A_RXE" && rdma link del "$B_RXE" && mode exclusive || return
	! rdma link show "$B_RXE/1" 2> /dev/null || fail "it is not in there" || return
	namespace_deleted rping && rdma link del "$A_RXE" &&
		on_b rdma link del "$B_RXE" && mode shared
}

mode()
{
	ip netns del b && busywait 10000 rdma system set netns "$1" &&
		link_wait && link_addr && rxe_up
}

works()
{
	verbs_check b -s 1,4097,65536 && rping_ok a && ping_ok a "$B_IP" 8000
}

ktap_print_header
# Not in every short run
exclusive=1
[ "$SMOKE" = 0 ] || [ "$KERNEL" = debug ] || exclusive=0
ktap_set_plan $((3 + ${#programs[@]} + 12 + exclusive))
fix_cpuinfo
RANDOM=${SEED:-1}
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "RDMA devices" rxe_up
for name in "${programs[@]}"; do
	check "$name is killed" kill_one "$name"
done
check "all works" works
check "the carrier is lost for a short time" short_loss
check "the carrier is lost for good" long_loss
check "programs are killed without a carrier" killed_meanwhile
run_step "the cable is pulled" cable_pulled
run_step "rdma link del, ib_send_bw" link_deleted ib_send_bw
run_step "rdma link del, rping" link_deleted rping
run_step "the driver is removed" module_removed
run_step "rdma_rxe is removed, ib_send_bw" rxe_removed ib_send_bw
run_step "rdma_rxe is removed, rping" rxe_removed rping
run_step "the network namespace is deleted" namespace_deleted verbs_check-rc
[ $exclusive = 0 ] ||
	run_step "and one with the RDMA device in it" rdma_namespace_deleted
check "all works at the end" works
ktap_finished
