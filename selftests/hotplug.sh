#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The cable is pulled and plugged in again 20 times, every other time under
# load: both ends notice, RDMA programs get an error and end, the carrier is
# back within 3 seconds of the other host's return (from the kernel's
# announcement of its XDomain to that of the carrier), and rxe comes back with
# "rdma link add". The guest's init looks for complaints of the kernel.
#
# beds: uml qemu
# topology: netns
# timeout: 400
# uml-mode: basic
# runs: uml
# runs-long: qemu qemu:topology=pair

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

replugs=20
load=load_start
[ "$KERNEL" != debug ] || replugs=50 load=write_start
[ "$SMOKE" = 0 ] || replugs=4
# Milliseconds from the XDomain's return to the carrier at both ends.
carrier_limit=3000
# and from the pulled cable to the end of both netdevs
gone_limit=2000
# Longest time, in seconds, for the other host to be found again at all.
found_limit=40

# watch_start, watch_end: carrier.py on each kernel sets the netdevs up when they
# appear, and measures. watch_end leaves the longest time in $wait.
watch_start()
{
	local side n=2

	WATCH=()
	[ "$TOPOLOGY" = netns ] || n=1
	for side in a b; do
		[ $side = a ] || [ "$TOPOLOGY" = pair ] || break
		# The netdevs come in the initial namespace, where host A is.
		bg_on $side python3 /usb4net/selftests/carrier.py $n usb4net \
			$found_limit > /tmp/carrier.$side 2>&1
		WATCH+=("$BG_PID:$side")
		busywait 20000 grep -q ready /tmp/carrier.$side ||
			fail "carrier.py does not start" || return
	done
}

watch_end()
{
	local w ms rc=0

	wait=0
	for w in "${WATCH[@]}"; do
		wait "${w%:*}" || rc=$?
		cat "/tmp/carrier.${w#*:}"
		ms=$(sed -n 's/^carrier after \([0-9]*\) ms$/\1/p' \
			"/tmp/carrier.${w#*:}")
		[ "${ms:-0}" -le "$wait" ] || wait=$ms
	done
	return $rc
}

# What a lost ping leaves to be seen
traces()
{
	local side

	dmesg | tail -n 8
	for side in a b; do
		echo "$side: $(on $side ip neigh | tr '\n' ' ')"
		on $side ethtool -S "$(dev_of $side)" | grep -v ': 0$'
		on $side ip -s link show dev "$(dev_of $side)"
	done
}

# first_ping: two of all may get lost. Two have been, in some two hundred replugs on a
# busy host: not on the link, the counters of which agree, but by the sender's stack,
# whose tx_dropped is one more than usual. Why is not known yet.
first_ping()
{
	ping_ok a "$B_IP" && return
	lost=$((lost + 1))
	traces >> /tmp/lost
	[ $lost -le 2 ] || return
	ping_ok a "$B_IP"
}
lost=0

# write_start: ib_write_bw alone, from A to B. Its server is told nothing by RDMA, and
# waits for its client's TCP.
write_start()
{
	local tool=(ib_write_bw -F -n 100000000)

	bg_on b "${tool[@]}" -d "$B_RXE" -x "$(gid_index b)" \
		> /tmp/load.verbs.server 2>&1
	LOAD_IP=("$BG_PID")
	busywait 15000 listening b 18515 || return
	bg_on a "${tool[@]}" -d "$A_RXE" -x "$(gid_index a)" "$B_IP" \
		> /tmp/load.verbs 2>&1
	LOAD_VERBS=("$BG_PID")
	export LOAD_VERBS LOAD_IP
	patiently 60000 writing || fail "$(cat /tmp/load.verbs*)" || return
	sleep 0.2
}

# The server's queue pair only receives.
writing()
{
	rdma resource show qp | grep ib_write_bw | grep -q 'state RTS'
}

# replug [load]
replug()
{
	if [ "${1:-}" = load ]; then
		rxe_up && $load || return
	fi
	emu unplug 0.1 || return
	within $gone_limit busywait 10000 netdevs_gone ||
		fail "a netdev stays" || return
	if [ "${1:-}" = load ]; then
		load_end || return
	fi
	watch_start && emu plug 0.1 1.1 && watch_end ||
		fail "the link does not come back" || return
	waits+=" $wait"
	[ "$wait" -le $carrier_limit ] ||
		fail "carrier after $wait ms, $carrier_limit are allowed" ||
		return
	# B's netdev goes to its namespace, which takes the carrier away again.
	link_wait && link_addr || return
	first_ping || fail "$(cat /tmp/lost)" || return
	ping_ok b "$A_IP6"
}

waits=
ktap_print_header
ktap_set_plan $((replugs + 5))
fix_cpuinfo
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
for n in $(seq $replugs); do
	if [ $((n % 2)) = 0 ] || [ "$KERNEL" = debug ]; then
		run_step "replug $n, under load" replug load
	else
		run_step "replug $n" replug
	fi
done
[ $lost -eq 0 ] || sed 's/^/# | first ping lost: /' /tmp/lost
msg "ms from the XDomain to the carrier:$waits"
run_step "rdma link add after the last one" rxe_up
check "verbs work after the last one" verbs_check b -s 1,4097,65536
check "rping works after the last one" rping_ok a
ktap_finished
