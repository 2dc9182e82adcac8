#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two machines, started by systemd, reboot with the cable in, one after the other. Names,
# addresses and RDMA devices are there again on both, and nobody has done anything for
# it. First B, and then A, where this script runs: its second part begins when A has
# booted again. What is configured is in reboot-pair.boot.
#
# beds: qemu
# topology: pair
# timeout: 600
# init: systemd
# qemu-args: -action reboot=reset
# runs: none
# runs-long: qemu

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

boot_limit=240000	# ms: until a machine has shut down, and answers again
up_limit=90000		# ms: from then on, until all is there on both
stage=/run/usb4net/reboot
A_DEV=to-other B_DEV=to-other
A_RXE=rxe_to-other B_RXE=rxe_to-other

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

# there a|b: the driver was loaded at boot, and the link has its name, its address,
# carrier, and an RDMA device.
there()
{
	local rdma

	carrier "$1" to-other &&
	on "$1" ip -4 addr show dev to-other | grep -q "inet $(ip_of "$1")/24" &&
	rdma=$(on "$1" rdma link show) &&
	grep -q 'link rxe_to-other/1 state ACTIVE .*netdev to-other' <<< "$rdma"
}

both()
{
	there a && there b
}

state()
{
	local side

	for side in a b; do
		echo "host $side:"
		on $side usb4net status
		on $side sh -c 'systemctl --failed --no-pager
			ls /sys/bus/thunderbolt/devices
			journalctl -b --no-pager -o short-monotonic -k -g "usb4net|thunderbolt"
			journalctl -b --no-pager -o short-monotonic -u "usb4net-rdma*" \
				-u systemd-udevd -u systemd-networkd' | tail -n 60
	done
}

comes_up()
{
	within $up_limit patiently $up_limit both 2> /dev/null ||
		{ state; fail "not up"; }
}

# Both ways, and past the IP stack
works()
{
	local before

	fix_cpuinfo
	before=$(counter a roce_tx_packets) && ping_ok a "$B_IP" 8000 &&
	ping_ok b "$A_IP" 8000 && verbs_check b -s 1,4097,65536 &&
	verbs_check a -s 1,4097,65536 &&
	[ "$(counter a roce_tx_packets)" -gt $((before + 20)) ]
}

# reboot a|b: from here on the bed looks at the console for what goes wrong.
reboot()
{
	on "$1" sh -c 'dmesg -n 5; echo "<1>usb4net: powering off" > /dev/kmsg
		systemctl --no-block reboot'
}

reboots_b()
{
	boot_b=$(boot_id) && reboot b &&
		within $boot_limit patiently $boot_limit b_is_new
}

if on_b test -e $stage; then
	# A has booted again.
	read -r KTAP_TESTNO KTAP_CNT_PASS KSFT_NUM_TESTS boot_a < <(on_b cat $stage)
	check "A has rebooted" test "$boot_a" != "$(cat /proc/sys/kernel/random/boot_id)"
	check "all is there again on both" comes_up
	check "IP and RDMA work" works
	ktap_finished
fi

ktap_print_header
ktap_set_plan 8
run_step "names, addresses and RDMA devices are there on both" comes_up
check "IP and RDMA work" works
run_step "B reboots" reboots_b
check "all is there again on both" comes_up
check "IP and RDMA work" works
on_b sh -c "echo $KTAP_TESTNO $KTAP_CNT_PASS $KSFT_NUM_TESTS \
	$(cat /proc/sys/kernel/random/boot_id) > $stage"
reboot a > /tmp/reboot 2>&1
sleep 120
ktap_exit_fail_msg "A does not reboot"
