#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A machine is reset under load, as by its reset button: nothing is shut down, the
# kernel of the other one goes on. There the netdev goes in 2 s, and programs get an
# error and end; when the machine has its drivers again, there is a link in 10 s. First
# B, and then A, where this script runs: its second part begins when A has booted again,
# with what B has noted meanwhile.
#
# beds: qemu
# topology: pair
# timeout: 500
# qemu-args: -action reboot=reset
# runs: none
# runs-long: qemu

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"
# shellcheck source=selftests/fault-lib.sh
. "$(dirname "$0")/fault-lib.sh"

gone_limit=2000		# ms: the netdev, from when the link goes
noted_limit=10000	# ms: the same from the button, which takes a while to act
end_limit=15000		# ms: its RDMA programs
carrier_limit=10000	# ms: from the driver's return to the carrier
boot_limit=150000	# ms: until a machine answers again
notes=/run/usb4net/reset
bin=/usb4net/bin/verbs_check
rounds=2
[ "$SMOKE" = 0 ] || rounds=1

# The processor is reset at once, without a word to any driver.
button='echo 1 > /proc/sys/kernel/sysrq; echo b > /proc/sysrq-trigger'

boot_id()
{
	timeout 5 /usb4net/bin/bed-agent run cat /proc/sys/kernel/random/boot_id \
		< /dev/null
}

b_is_new()
{
	local now

	now=$(boot_id) && [ -n "$now" ] && [ "$now" != "$boot_b" ]
}

sees_other()
{
	on "$1" sh -c 'ls -d /sys/bus/thunderbolt/devices/*-[1-9]*' \
		> /dev/null 2>&1
}

# The kernel's thunderbolt can miss a host for good if a driver is loaded while its
# properties are read, so that is not done at the same time.
drivers_on()
{
	mod_load_on "$1" thunderbolt && patiently 30000 sees_other a &&
		patiently 30000 sees_other b || fail "the other host is not seen" ||
		return
	sleep 2
	mod_load_on "$1" usb4net_rdma
}

# back SIDE: that machine has booted, and does what it does then.
back()
{
	local start

	drivers_on "$1" || return
	start=$(now_ms)
	link_wait && link_addr || return
	took=$(($(now_ms) - start))
	echo "carrier after $took ms"
	[ $took -le $carrier_limit ] || fail "at most $carrier_limit are allowed" ||
		return
	mod_load_on "$1" rdma_rxe && mod_load_on "$1" rdma_ucm && rxe_up
}

works()
{
	ping_ok a "$B_IP" 60000 && ping_ok b "$A_IP6" &&
		verbs_check b -s 1,4097,65536 && verbs_check a -s 1,4097,65536
}

# --- B is reset -----------------------------------------------------------------

link_went()
{
	[ "$(emu_stat 0.port1.events)" != "$events" ]
}

reset_b()
{
	local pid

	boot_b=$(boot_id) && load_start && events=$(emu_stat 0.port1.events) ||
		return
	bg_on b sh -c "$button"
	pid=$BG_PID
	busywait 20000 link_went || fail "the link stays" || return
	within $gone_limit busywait 10000 netdev_gone a || return
	# these cannot know that their host has gone
	kill $pid "${LOAD_VERBS[0]}" "${LOAD_IP[0]}"
	LOAD_VERBS=("${LOAD_VERBS[1]}")
	LOAD_IP=("${LOAD_IP[1]}")
	load_end
}

b_boots()
{
	within $boot_limit patiently $boot_limit b_is_new
}

# --- A is reset -----------------------------------------------------------------

# What B does and notes: the time since the button was pressed, in ms.
watch_on_b()
{
	on_b sh -c "cat > $notes.sh" <<- 'END'
	notes=$1 dev=$2 peer=$3
	shift 3
	now() { local t=${EPOCHREALTIME/./}; echo $((t / 1000)); }
	iperf3 -c "$peer" --bidir -b 100M -t 3600 > /dev/null 2>&1 &
	ip=$!
	"$@" > "$notes.client" 2>&1 &
	pid=$!
	until [ -e "$notes.pressed" ]; do sleep 0.02; done
	start=$(now)
	while [ -e "/sys/class/net/$dev" ]; do sleep 0.02; done
	echo "gone $(($(now) - start))" >> "$notes.times"
	wait $pid
	echo "status $?" >> "$notes.times"
	echo "ended $(($(now) - start))" >> "$notes.times"
	kill $ip
	END
}

reset_a()
{
	local before

	before=$(counter a roce_rx_packets) || return
	bg_on a iperf3 -s -1 -B "$A_IP" > /dev/null 2>&1
	bg_on a $bin -d "$A_RXE" -g "$(gid_index a)" -T 60 > /dev/null 2>&1
	busywait 15000 listening a 5201 && busywait 15000 listening a 18600 &&
		watch_on_b || return
	on_b sh -c 'setsid bash "$@" > /dev/null 2>&1 < /dev/null &' sh $notes.sh \
		$notes "$B_DEV" "$A_IP" $bin -d "$B_RXE" -g "$(gid_index b)" \
		-n 8 -T 5 -t 3600 -s 64,4097,65536 -o send,write,read "$A_IP" ||
		return
	busywait 20000 moves_at_a "$before" || fail "nothing moves: $(on_b cat \
		$notes.client)"
}

moves_at_a()
{
	[ "$(counter a roce_rx_packets)" -gt $(($1 + 200)) ]
}

noted()
{
	on_b sed -n "s/^$1 //p" $notes.times | grep .
}

b_noticed()
{
	local gone ended

	ended=$(patiently $end_limit noted ended) ||
		fail "B's program goes on: $(on_b cat $notes.client)" || return
	gone=$(noted gone) || return
	echo "netdev gone after $gone ms, program ended after $ended ms, with" \
		"status $(noted status)"
	[ "$gone" -le $noted_limit ] && [ "$ended" -le $end_limit ] &&
		[ "$(noted status)" != 0 ]
}

# --------------------------------------------------------------------------------

if on_b test -e $notes.stage; then
	# A has booted again.
	read -r KTAP_TESTNO KTAP_CNT_PASS KSFT_NUM_TESTS < <(on_b cat $notes.stage)
	mod_load_on b rdma_rxe
	check "B notices that A has gone, and its programs end" b_noticed
	run_step "there is a link again, from A's side" back a
	check "all works" works
	ktap_finished
fi

ktap_print_header
ktap_set_plan $((3 + 4 * rounds + 1 + 3))
run_step "the link comes up" link_up
run_step "the patched rxe loads" load_ours
run_step "RDMA devices" rxe_up
for n in $(seq $rounds); do
	run_step "B is reset under load, A's netdev goes, its programs end" reset_b
	run_step "B boots" b_boots
	run_step "there is a link again, from B's side" back b
	check "all works" works
done
run_step "A is reset under load" reset_a
on_b sh -c "echo $KTAP_TESTNO $KTAP_CNT_PASS $KSFT_NUM_TESTS > $notes.stage
	touch $notes.pressed"
sh -c "$button"
