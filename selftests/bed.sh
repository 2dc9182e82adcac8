#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The test bed itself: two hosts, or the three of a chain, commands on each, the
# emulator's control channel, two USB4 domains that see each other over the cable.
#
# beds: uml qemu
# topology: netns
# timeout: 120
# runs: uml qemu:topology=pair
# runs-long: qemu:topology=chain

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"

exit_status()
{
	local rc=0

	"on_$1" sh -c 'exit 7' || rc=$?
	[ $rc -eq 7 ] || fail "status $rc instead of 7"
}

output()
{
	local out

	out=$("on_$1" sh -c 'echo out; echo err >&2' 2> /tmp/err)
	[ "$out" = out ] || fail "output is '$out'" || return
	[ "$(cat /tmp/err)" = err ] || fail "errors are '$(cat /tmp/err)'"
}

input()
{
	local a b

	head -c 300000 /dev/urandom > /tmp/data
	a=$(md5sum < /tmp/data)
	b=$("on_$1" md5sum < /tmp/data)
	[ "$a" = "$b" ] || fail "'$b' instead of '$a'"
}

# A command must end when its caller is gone.
orphan()
{
	bg_on "$1" sleep 4711 > /dev/null 2>&1
	busywait 5000 root_"$1" pgrep -fx 'sleep 4711' > /dev/null ||
		fail "sleep does not run" || return
	kill "$BG_PID"
	wait "$BG_PID"
	busywait 5000 root_"$1" sh -c '! pgrep -fx "sleep 4711"'
}

separate_networks()
{
	local host n

	for host in "${hosts[@]}"; do
		on "$host" readlink /proc/self/ns/net &&
		on "$host" cat /proc/sys/kernel/random/boot_id || return
	done | paste - - | tee /tmp/networks
	n=$(sort -u /tmp/networks | wc -l)
	[ "$n" = ${#hosts[@]} ] || fail "$n networks of ${#hosts[@]} hosts"
}

domains()
{
	mod_load thunderbolt &&
	busywait 20000 nhi_domain a && busywait 20000 nhi_domain b
}

xdomain()
{
	ls -d /sys/bus/thunderbolt/devices/"$(nhi_domain a | sed 's/domain//')"-[1-9]*
}

wrong_command()
{
	! emu no-such-command
}

hosts=(a b)
[ "$TOPOLOGY" != chain ] || hosts+=(c)
ktap_print_header
ktap_set_plan $((5 + 4 * ${#hosts[@]} - 1))

[ "$TOPOLOGY" != netns ] || ip netns add b
for host in "${hosts[@]}"; do
	check "exit status of ${host^}" exit_status "$host"
	check "output of ${host^}" output "$host"
	check "input of ${host^}" input "$host"
	[ "$host" = a ] ||
		check "a command of ${host^} ends with its caller" orphan "$host"
done
check "all have networks of their own" separate_networks
check "both interfaces have a USB4 domain" domains
check "emulator answers" emu status
check "emulator refuses what it does not know" wrong_command
check "A sees B over the cable" busywait 30000 xdomain
ktap_finished
