#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The recipes of Documentation/applications.rst: programs as the distribution has
# them, over the bypass. Each has to end well, and to have used the link: most of
# what it sent passed by the IP stack.
#
# Most of them poll, and two that do share the one processor of User Mode Linux:
# the clock has to be the real one, and iterations few.
#
# beds: uml
# topology: netns
# timeout: 600
# uml-mode: real
# extra: apps
# runs: none
# runs-long: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

iters=50
[ "$SMOKE" = 0 ] || iters=10

# --- how the programs are told which device and GID ---------------------------

# On two machines both would be called rxe0, and these the same on either.
environment()
{
	local side

	for side in a b; do
		cat > /tmp/env.$side <<- END
		export UCX_NET_DEVICES=$(rxe_of $side):1,$(dev_of $side)
		export UCX_IB_GID_INDEX=$(gid_index $side)
		export UCX_TLS=rc_verbs,tcp:aux,self
		export FI_VERBS_DEVICE_NAME=$(rxe_of $side)
		export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
		export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
		ulimit -l unlimited
		END
	done
	cat > /tmp/as <<- 'END'
	#!/bin/bash
	# as a|b CMD...: with the environment of that host
	side=$1
	shift
	. "/tmp/env.$side"
	exec "$@"
	END
	chmod 755 /tmp/as
}

# uses_link BYTES CMD...: what CMD does goes through the link, as many bytes at
# least, and not through UDP
uses_link()
{
	local least=$1 packets bytes udp

	shift
	packets=$(counter a roce_tx_packets) bytes=$(roce_bytes)
	udp=$(snmp a Udp:OutDatagrams)
	"$@" || return
	packets=$(($(counter a roce_tx_packets) - packets))
	bytes=$(($(roce_bytes) - bytes))
	udp=$(($(snmp a Udp:OutDatagrams) - udp))
	echo "$packets packets of A bypassed IP, $bytes bytes of both, $udp of UDP"
	[ $packets -ge $iters ] && [ $bytes -ge "$least" ] &&
		[ $udp -lt $((packets / 4 + 20)) ]
}

roce_bytes()
{
	echo $(($(counter a roce_tx_bytes) + $(counter b roce_tx_bytes)))
}

# The neighbours' GIDs have to arrive first.
ready()
{
	uses_link 0 verbs_check b -s 64 -n "$iters"
}

# --- UCX ------------------------------------------------------------------------

# ucx TEST SIZE. Without a terminal it would wait for mpirun.
ucx()
{
	between b 13337 /tmp/as b ucx_perftest -P 0 -p 13337 -- \
		/tmp/as a ucx_perftest -P 0 -p 13337 -t "$1" -s "$2" -n "$iters" \
		-w 2 "$B_IP"
}

# --- libfabric ----------------------------------------------------------------------

# fabric PROVIDER ENDPOINT-TYPE SIZE
fabric()
{
	between b 47592 /tmp/as b fi_pingpong -p "$1" -e "$2" -S "$3" \
		-I "$iters" -s "$B_IP" -- \
		/tmp/as a fi_pingpong -p "$1" -e "$2" -S "$3" -I "$iters" "$B_IP"
}

# --- MPI ------------------------------------------------------------------------------

# Two hosts by name, and in place of ssh a program that runs a command on B.
mpi_hosts()
{
	printf '%s\n' "$A_IP host-a" "$B_IP host-b" >> /etc/hosts
	cat > /tmp/rsh <<- 'END'
	#!/bin/bash
	shift
	exec ip netns exec b unshare --uts sh -c \
		'hostname host-b; exec sh -c "$*"' sh "$@"
	END
	cat > /tmp/rank <<- 'END'
	#!/bin/bash
	name=$(hostname)
	exec /tmp/as "${name#host-}" "$@"
	END
	chmod 755 /tmp/rsh /tmp/rank
}

# mpi PROGRAM...: a rank on each host
mpi()
{
	/tmp/as a timeout -k 2 120 mpirun --host host-a:1,host-b:1 -n 2 \
		--prtemca plm_ssh_agent /tmp/rsh \
		--prtemca prte_if_include 10.0.0.0/24 \
		--mca pml ucx --mca osc ucx --bind-to none \
		/tmp/rank "$@"
}

mpi_hello()
{
	mpi python3 -m mpi4py.bench helloworld > /tmp/hello 2>&1
	cat /tmp/hello
	grep -q 'process 0 of 2 on host-a' /tmp/hello &&
		grep -q 'process 1 of 2 on host-b' /tmp/hello
}

mpi_ring()
{
	mpi python3 -m mpi4py.bench ringtest -l "$iters" -n 65536
}

# --- an ordinary user -----------------------------------------------------------------

# The limit is what a container's --ulimit memlock sets.
as_nobody()
{
	between b 18600 /tmp/as b setpriv --reuid 65534 --regid 65534 \
		--clear-groups --inh-caps=-all /usb4net/bin/verbs_check \
		-d "$B_RXE" -g "$(gid_index b)" -- \
		/tmp/as a setpriv --reuid 65534 --regid 65534 --clear-groups \
		--inh-caps=-all /usb4net/bin/verbs_check -d "$A_RXE" \
		-g "$(gid_index a)" -s 65536 -n "$iters" "$B_IP"
}

# A memory region of 1 MiB
region()
{
	# shellcheck disable=SC2016 # the inner shell's
	timeout 60 bash -c 'ulimit -l "$1"; exec setpriv --reuid 65534 \
		--regid 65534 --clear-groups --inh-caps=-all python3 -c "
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.mr import MR
MR(PD(Context(name=\"$0\")), 1 << 20, 1)"' "$A_RXE" "$1" 2>&1
}

too_little_memory()
{
	region unlimited || return
	! region 64 > /tmp/limited || return
	cat /tmp/limited
	grep -q 'Cannot allocate memory' /tmp/limited
}

ktap_print_header
ktap_set_plan 14
fix_cpuinfo
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "rdma link add" rxe_up
run_step "settings" environment
need "RDMA takes the link" busywait 20000 ready
check "UCX: latency of tagged messages" uses_link $((128 * iters)) ucx tag_lat 64
check "UCX: rendezvous, 256 KiB" uses_link $((262144 * iters)) \
	ucx tag_bw 262144
check "UCX: put" uses_link $((65536 * iters)) ucx ucp_put_bw 65536
check "libfabric: msg endpoints" uses_link $((2048 * iters)) \
	fabric verbs msg 1024
run_step "MPI: two hosts" mpi_hosts
check "Open MPI: a rank on each host" mpi_hello
check "Open MPI: a ring of 64 KiB messages" uses_link $((131072 * iters)) mpi_ring
check "a user with memlock unlimited" uses_link $((65536 * iters)) \
	as_nobody
check "a user with memlock 64 KiB is told" too_little_memory
ktap_finished
