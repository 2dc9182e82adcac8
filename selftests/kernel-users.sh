#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# NVMe over fabrics, a user of RDMA in the kernel, over the link and past the IP
# stack: A is the host, B the target, with a block device in memory. What is written
# is read back and verified; the connection ends, the RDMA devices go and the cable
# is pulled under load.
#
# NVMe's RDMA knows the initial network namespace alone. With one kernel for both
# hosts, as on User Mode Linux, B's netdev stays there, and routes send what is meant
# for the other one over the cable.
#
# beds: qemu uml
# topology: pair
# timeout: 600
# uml-mode: basic
# runs: none
# runs-long: qemu
# runs-debug: uml:topology=netns:kernel=debug

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

nqn=nqn.2014-08.org.nvmexpress:usb4net
megabytes=32
[ "$SMOKE" = 0 ] || megabytes=8
check=/usb4net/selftests/blockcheck.py
# Seconds. If the host hears that its device goes before it sees an error, it waits for
# what the target owes it, and whoever removes the device waits for the host.
io_timeout=5

# --- one kernel -------------------------------------------------------------------

if [ "$TOPOLOGY" = netns ]; then
	on_b()
	{
		"$@"
	}

	link_wait()
	{
		A_DEV=$(busywait 60000 find_dev a) && B_DEV=$(busywait 60000 find_dev b)
	}

	# link_addr, but nothing says that the other one's address is our own.
	eval "_$(declare -f link_addr)"
	link_addr()
	{
		_link_addr &&
			ip route del local "$A_IP" dev "$A_DEV" table local &&
			ip route del local "$B_IP" dev "$B_DEV" table local &&
			cabled "$A_DEV" "$B_DEV" "$B_IP" &&
			cabled "$B_DEV" "$A_DEV" "$A_IP"
	}

	# cabled DEV OTHER ADDRESS: OTHER's address is reached through DEV, and is
	# OTHER's own.
	cabled()
	{
		ip route replace "$3" dev "$1" &&
			ip route append "$3" dev "$2" metric 10 &&
			ip neigh replace "$3" dev "$1" nud permanent lladdr \
				"$(cat "/sys/class/net/$2/address")"
	}
fi

# --- NVMe ---------------------------------------------------------------------------

# At any address: nvmet does not listen again at one whose device has gone.
target_up()
{
	# shellcheck disable=SC2016 # the other shell's
	on_b sh -c '
		modprobe nvmet-rdma && modprobe null_blk nr_devices=0 || exit
		cd /sys/kernel/config 2>/dev/null && [ -d nvmet ] || {
			mount -t configfs configfs /sys/kernel/config || exit
		}
		cd /sys/kernel/config/nullb && mkdir nullb7 && cd nullb7 &&
		echo '"$megabytes"' > size && echo 4096 > blocksize &&
		echo 1 > memory_backed && echo 1 > power || exit
		cd ../../nvmet && mkdir subsystems/"$0" && cd subsystems/"$0" &&
		echo 1 > attr_allow_any_host &&
		mkdir namespaces/1 && cd namespaces/1 &&
		printf /dev/nullb7 > device_path && echo 1 > enable &&
		cd ../../../../ports && mkdir 1 && cd 1 &&
		echo ipv4 > addr_adrfam && echo rdma > addr_trtype &&
		echo 0.0.0.0 > addr_traddr && echo 4420 > addr_trsvcid &&
		ln -s ../../subsystems/"$0" subsystems/' $nqn &&
	modprobe nvme-core io_timeout=$io_timeout admin_timeout=$io_timeout &&
		modprobe nvme-rdma
}

target_down()
{
	disconnect || return
	# nvmet takes two locks in both orders when its port goes. Lockdep would tell,
	# and from then on nothing any more.
	[ "$KERNEL" != debug ] || return 0
	# shellcheck disable=SC2016 # the other shell's
	on_b sh -c '
		cd /sys/kernel/config/nvmet && rm ports/1/subsystems/"$0" &&
		rmdir ports/1 subsystems/"$0"/namespaces/1 subsystems/"$0" &&
		rmdir /sys/kernel/config/nullb/nullb7 &&
		modprobe -r nvmet-rdma null_blk' $nqn &&
	modprobe -r nvme-rdma
}

# The block device of the connection
disk()
{
	local ns

	for ns in /sys/class/block/nvme*n1; do
		ns=${ns##*/}
		# "c" is that of a path
		[[ $ns == nvme*[c*]*n1 ]] || { echo "/dev/$ns" && return; }
	done
	return 1
}

connect_once()
{
	local options=transport=rdma,traddr=$B_IP,trsvcid=4420,nqn=$nqn

	[ "$TOPOLOGY" != netns ] || options+=,host_traddr=$A_IP
	options+=,nr_io_queues=2,keep_alive_tmo=5,reconnect_delay=1
	echo "$options,ctrl_loss_tmo=120,fast_io_fail_tmo=2" > /dev/nvme-fabrics
}

connect()
{
	busywait 30000 connect_once && DISK=$(busywait 10000 disk) &&
		busywait 5000 test -b "$DISK"
}

controllers()
{
	ls -d /sys/class/nvme/nvme* 2>/dev/null
}

no_controllers()
{
	! controllers
}

disconnect()
{
	local c

	for c in $(controllers); do
		echo 1 > "$c/delete_controller"
	done
	busywait 10000 no_controllers
}

roce()
{
	counter a roce_tx_packets 2>/dev/null || echo 0
}

# What A and B say to each other about it bypasses the IP stack.
content()
{
	local before udp

	before=$(roce) udp=$(snmp a Udp:InDatagrams)
	timeout 100 python3 $check "$DISK" fill "$1" &&
		timeout 100 python3 $check "$DISK" verify "$1" || return
	udp=$(($(snmp a Udp:InDatagrams) - udp))
	echo "$(($(roce) - before)) packets, $udp datagrams"
	rxe_is_stock ||
		{ [ $(($(roce) - before)) -ge 100 ] && [ $udp -eq 0 ]; }
}

# What was written before
still_there()
{
	timeout 100 python3 $check "$DISK" verify "$1"
}

load_begin()
{
	local before

	before=$(disk_bytes) || return
	timeout 100 python3 $check "$DISK" load 5 > /tmp/load 2>&1 &
	LOAD=$!
	busywait 20000 disk_moves "$before" || fail "no load: $(cat /tmp/load)"
}

# Sectors that were read and written
disk_bytes()
{
	awk '{ print $3 + $7 }' "/sys/class/block/${DISK##*/}/stat"
}

disk_moves()
{
	[ "$(disk_bytes)" -gt $(($1 + 4000)) ]
}

# load_ends SECONDS: with an error of the device, and nothing was wrong before
load_ends()
{
	local rc=0

	busywait $(($1 * 1000)) _gone "$LOAD" ||
		fail "it is still there: $(cat "/proc/$LOAD/task"/*/stack)" ||
		return
	wait "$LOAD" || rc=$?
	cat /tmp/load
	[ $rc -eq 1 ] || fail "exit status $rc"
}

under_load()
{
	load_begin || return
	"$@" || return
	load_ends 30
}

# ends_under_load CMD...: and there is no connection any more
ends_under_load()
{
	under_load "$@" && busywait 30000 no_controllers
}

# Whether the controller has gone with the cable, or waits for its target, is a
# question of what it hears of first: the error or the device.
back()
{
	controllers > /dev/null || connect || return
	still_there 1
}

rxe_gone()
{
	on_"$1" rdma link delete "$(rxe_of "$1")"
}

cable_out()
{
	emu unplug 0.1 > /dev/null && within 2000 busywait 10000 netdevs_gone
}

cable_in()
{
	emu plug 0.1 1.1 > /dev/null && link_wait && link_addr && rxe_up
}

ktap_print_header
ktap_set_plan 20
run_step "the link comes up" link_up
run_step "rxe loads" load_rxe
run_step "rxe devices" rxe_up
run_step "NVMe: a target at B" target_up
run_step "NVMe: A connects" connect
check "NVMe: write, read, verify" content 1
check "NVMe: disconnected under load" ends_under_load disconnect
run_step "NVMe: A connects again" connect
check "NVMe: the data is there" still_there 1
check "NVMe: A's RDMA device goes under load" ends_under_load rxe_gone a
run_step "NVMe: it is there again" rxe_up_on a
run_step "NVMe: A connects after that" connect
check "NVMe: B's RDMA device goes under load" under_load rxe_gone b
run_step "NVMe: it is there again" rxe_up_on b
check "NVMe: A finds the data again by itself" busywait 100000 still_there 1
check "NVMe: the cable is pulled under load" under_load cable_out
run_step "NVMe: the cable is plugged in again" cable_in
check "NVMe: the data is there again" busywait 100000 back
check "NVMe: write, read, verify at last" content 2
check "NVMe: the end" target_down
ktap_finished
