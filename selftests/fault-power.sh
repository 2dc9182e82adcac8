#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The peer's host interface is reset, or loses its power, under load, without a word from
# its driver: the netdev goes in 2 s, comes back with the peer, and there is a link
# again. The peer is usb4emu's own (router 2), which has no driver that would have to be
# told: the kernel's thunderbolt cannot go on with a host interface that was reset behind
# its back, and a machine that is reset as a whole is what reset-pair is for. An honest
# peer gets a link at the end.
#
# beds: uml qemu
# topology: netns
# timeout: 600
# emu-args: -x -u
# runs: none
# runs-long: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

gone_limit=2000		# ms: the netdev
found_limit=10000	# ms: the netdev that comes back
link_limit=6000		# ms: the carrier, the longest pause between two attempts
rounds=5
[ "$SMOKE" = 0 ] || rounds=1

found()
{
	find_dev a > /dev/null 2>&1
}

lost()
{
	! found
}

up()
{
	carrier a "$A_DEV"
}

# A link with the peer, which says that it is alive as long as it is left to itself
peer_link()
{
	within $found_limit patiently 20000 found || fail "no netdev" || return
	A_DEV=$(find_dev a) && ip addr replace 10.66.0.1/24 dev "$A_DEV" &&
		ip link set "$A_DEV" up &&
		ip neigh replace 10.66.0.66 lladdr 02:ba:d0:00:00:01 \
			dev "$A_DEV" nud permanent || return
	emu hostile start seed 4 gids 1 mutate 0 deep 1 > /dev/null || return
	within $link_limit patiently 20000 up || fail "no carrier"
}

# Datagrams that nobody reads, as many as go
load()
{
	python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setblocking(False)
while True:
    try:
        for _ in range(16):
            s.sendto(bytes(8000), ("10.66.0.66", 9))
    except BlockingIOError:
        pass
    except OSError:
        break
    time.sleep(0.001)' &
	LOAD=$!
	before=$(counter a tx_frames) || return
	busywait 5000 moves || fail "nothing is sent"
}

moves()
{
	[ "$(counter a tx_frames)" -gt $((before + 500)) ]
}

unload()
{
	busywait 5000 _gone "$LOAD" || fail "the sender hangs" || return
	wait "$LOAD"
	return 0
}

peer_reset()
{
	load && emu reset 2 && within $gone_limit busywait 10000 netdev_gone a &&
		unload && peer_link
}

# and nothing comes as long as there is no power
peer_power()
{
	load && emu power 2 off && within $gone_limit busywait 10000 netdev_gone a &&
		unload || return
	! patiently 5000 found || fail "there is a netdev" || return
	emu power 2 on && peer_link
}

honest()
{
	emu unplug 0.1 && patiently 10000 lost && emu plug 0.1 1.1 &&
		link_up usb4net && ping_ok a "$B_IP" 9000 && rxe_up &&
		verbs_check b -s 1,4097,65536 -n 4
}

first()
{
	load_ours && emu plug 0.1 2.1 && peer_link
}

ktap_print_header
ktap_set_plan $((2 * rounds + 2))
run_step "a link with the peer" first
for n in $(seq $rounds); do
	run_step "$n: the peer is reset" peer_reset
	run_step "$n: the peer loses its power" peer_power
done
run_step "an honest peer gets a link" honest
ktap_finished
