#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A peer that means ill: it speaks our service well enough to get a link, and forges
# messages, frames, credits, metadata and RoCE packets (usb4emu's hostile peer). The
# kernel does not complain, nothing leaks or hangs, memory that it was not given access
# to is not written, and an honest peer gets a link afterwards, each time. What it can
# have us do is limited.
#
#	A (router 0) ---- hostile peer (router 2)
#	    \ - - - - - - B (router 1), now and then
#
# SEED= begins elsewhere, BATCHES= is another number of batches. A session that fails is
# repeated by its seed and number, and the other words that the batch was started with:
# emu hostile start seed SEED skip SESSION sessions 1 ...
#
# Sessions that are kept for what they reach are in hostile.seeds, and come first. PICK=N
# looks for such ones among N sessions, and does nothing else.
#
# beds: uml qemu
# topology: netns
# timeout: 1800
# emu-args: -x -u
# runs: uml:smoke
# runs-long: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

seed=${SEED:-1}
# Sessions in each batch: with frames, of so many packets, others in which every packet
# is forged, and scripts of which one in so many is another one with frames
batches=${BATCHES:-20} deep=8 packets=2000 forged=80 shallow=5300 one_in=600
[ "$SMOKE" = 0 ] ||
	batches=${BATCHES:-2} deep=30 packets=600 forged=4 shallow=250 one_in=24
host_ip=10.66.0.1 peer_ip=10.66.0.66
stop_file=/tmp/hostile-stop

# --- the hostile peer ---------------------------------------------------------

hostile()
{
	emu hostile "$@" > /dev/null
}

hostile_stat()
{
	emu_stat "2.hostile.$1"
}

hostile_done()
{
	[ "$(hostile_stat running)" = 0 ]
}

# Two hours of the guest's time. To look costs more than most of what happens there.
hostile_wait()
{
	for _ in $(seq 1440); do
		! hostile_done || return 0
		sleep 5
	done
	fail "does not end"
}

# A knows it, and has addresses to talk to it.
plug_hostile()
{
	emu plug 0.1 2.1 > /dev/null && patiently 20000 _netdev a &&
		A_DEV=$(find_dev a) || fail "no netdev" || return
	ip addr replace $host_ip/24 dev "$A_DEV" &&
		ip -6 addr replace fd00:66::1/64 dev "$A_DEV" nodad &&
		ip link set "$A_DEV" up &&
		ip neigh replace $peer_ip lladdr 02:ba:d0:00:00:01 dev "$A_DEV" \
			nud permanent
}

_netdev()
{
	find_dev "$1" > /dev/null 2>&1
}

_no_netdev()
{
	! _netdev a
}

unplug_all_cables()
{
	emu unplug 0.1 > /dev/null && patiently 10000 _no_netdev
}

rdma_up()
{
	rm -f $stop_file
	rdma link add "$A_RXE" type rxe netdev "$A_DEV" || return
	busywait 5000 _gid > /dev/null || fail "no GID" || return
	python3 "$(dirname "$0")/hostile_rdma.py" "$1" "$A_RXE" "$(_gid)" \
		$host_ip $peer_ip $stop_file > /tmp/hostile-rdma 2> /tmp/hostile-err &
	rdma_pid=$!
	patiently 30000 grep -qsE 'told|posted' /tmp/hostile-rdma ||
		fail "$(cat /tmp/hostile-err)"
}

_gid()
{
	(cd "/sys/class/infiniband/$A_RXE/ports/1/gids" &&
		grep -l "^0000:0000:0000:0000:0000:ffff:0a42:0001$" ./* |
		head -n 1 | tr -dc 0-9 | grep .)
}

# It is told of the QPs.
rdma_serve()
{
	local line

	rdma_up serve || return
	while read -r line; do
		[ "$line" != told ] || break
		# shellcheck disable=SC2086 # words
		hostile $line || return
	done < /tmp/hostile-rdma
}

rdma_stop()
{
	local rc=0

	touch $stop_file
	wait "$rdma_pid" || rc=$?
	cat /tmp/hostile-err
	rdma link delete "$A_RXE" || return
	[ $rc = 0 ] || fail "memory, or the program: exit status $rc"
}

# --- what must hold -----------------------------------------------------------

complaints='BUG:|WARNING:|Oops|Call Trace:|refcount_t:|DMA-API: .*:|UBSAN:|KASAN:'
complaints+='|page_pool_release_retry|blocked for more|soft lockup|leaked'

# The log wraps in a long run, so it is looked at after each batch.
no_complaint()
{
	! dmesg -c | tee -a /tmp/hostile-log | grep -E "$complaints" ||
		fail "the kernel complained" || return
	[ "$(cat /proc/sys/kernel/tainted)" = "$taint" ] ||
		fail "tainted is $(cat /proc/sys/kernel/tainted), was $taint"
}

# batch SESSIONS DEEP PACKETS MUTATE: sessions, one of DEEP with so many packets. One
# in MUTATE is forged.
batch()
{
	hostile start seed "$seed" sessions "$1" mutate "$4" deep "$2" \
		packets "$3" && hostile_wait || return
	seed=$((seed + 1))
	no_complaint
}

honest()
{
	unplug_all_cables && emu plug 0.1 1.1 > /dev/null &&
		patiently 60000 _netdev a && patiently 60000 _netdev b && link_wait &&
		link_addr && ping_ok a "$B_IP" && ping_ok b "$A_IP" 9000 || return
	on_b ip addr flush dev "$B_DEV"
	unplug_all_cables
}

# So much of a session is right that there are links, and what is right is not refused.
behaves()
{
	local drops

	hostile rdma own $((0x0a420042)) host $((0x0a420001)) len 1 mtu 1024 &&
		hostile start seed 7 sessions 6 mutate 0 deep 1 || return
	patiently 120000 hostile_done || fail "does not end" || return
	drops=$(ethtool -S "$A_DEV" | grep -E 'rx_drop_|requests_ignored|end_protocol' |
		grep -v ': 0$')
	echo "$(hostile_stat links) links, $(hostile_stat frames) frames"
	echo "$drops"
	[ "$(hostile_stat links)" -ge 4 ] && [ "$(hostile_stat frames)" -ge 5000 ] &&
		[ -z "$drops" ]
}

# How the driver classed what came, as TAP comments
classed()
{
	ethtool -S "$A_DEV" | awk '/rx_drop_|end_|_ignored|setups_delayed/ && $2 {
		printf "%s%s %s", n++ % 4 ? "; " : (n > 1 ? "\n" : ""), $1, $2 }
		END { print "" }' | sed 's/://g'
}

# Adds what the driver has counted to the file of sums: its netdev goes.
add_up()
{
	ethtool -S "$A_DEV" | sed -n 's/^ *\(rx_drop_[a-z_]*\|end_[a-z_]*\|[a-z]*_ignored\|setups_delayed\|roce_rx_packets\): \([0-9]*\)$/\1 \2/p' \
		>> /tmp/hostile-sums
}

sums()
{
	sort /tmp/hostile-sums | awk '
		$1 != k { if (v) printf "%s %d; ", k, v; k = $1; v = 0 }
		{ v += $2 }
		END { if (v) printf "%s %d\n", k, v }' | fold -s -w 90
}

# --- batches ------------------------------------------------------------------

frames_batch()
{
	plug_hostile && rdma_serve && batch $deep 1 $packets 4 && rdma_stop && add_up
}

# Few of these sessions last for long.
forged_batch()
{
	plug_hostile && rdma_serve && batch $forged 1 600 1 && rdma_stop && add_up
}

scripts_batch()
{
	plug_hostile && batch $shallow $one_in $packets 4 && add_up
}

one_batch()
{
	frames_batch && honest && forged_batch && honest && scripts_batch && honest
}

# reached > FILE: what tells the parts of the grammar and the driver's answers apart
reached()
{
	{
		ethtool -S "$A_DEV" | sed -nE 's/^ *((rx|roce_rx)_drop_.*|end_.*|.*_ignored|setups_delayed|roce_rx_to_stack): /\1 /p'
		emu stats 2 | sed -nE 's/^2\.(hostile\.[a-z_.]* )/\1/p' |
			grep -vE 'running|session |state|sessions'
	} | sort
}

# kept SEED SESSION: one session alone. What it has moved is in /tmp/moved.
kept()
{
	plug_hostile && rdma_serve && reached > /tmp/reached &&
		hostile start seed "$1" skip "$2" sessions 1 mutate 4 deep 1 &&
		patiently 60000 hostile_done || return
	# how the session ended, the host finds out after three seconds at the latest
	sleep 4
	reached | join /tmp/reached - | awk '$3 > $2 { print $1 }' > /tmp/moved
	no_complaint && rdma_stop && unplug_all_cables
}

# Most of what their lines promise is reached again: some of it depends on when what the
# host does meets it.
corpus()
{
	local s session what missing

	: > /tmp/promised
	: > /tmp/kept
	while read -r s session what; do
		case $s in '' | '#'*) continue ;; esac
		echo "seed $s, session $session: $what"
		kept "$s" "$session" || return
		cat /tmp/moved >> /tmp/kept
		tr ' ' '\n' <<< "$what" >> /tmp/promised
	done < "$(dirname "$0")/hostile.seeds"
	missing=$(sort -u /tmp/promised | comm -23 - <(sort -u /tmp/kept))
	echo "$(sort -u /tmp/promised | wc -l) parts and answers, not reached:" \
		"${missing:-none}" > /tmp/corpus
	cat /tmp/corpus
	[ "$(wc -w <<< "$missing")" -le 5 ]
}

# pick N: of the first N sessions those that reach what none before has reached, as
# lines of hostile.seeds
pick()
{
	local n new

	: > /tmp/known
	for n in $(seq 0 $(($1 - 1))); do
		kept "$seed" "$n" > /tmp/pick || { cat /tmp/pick; return 1; }
		new=$(comm -23 /tmp/moved /tmp/known)
		[ -n "$new" ] || continue
		echo "pick: $seed $n ${new//$'\n'/ }"
		sort -u -o /tmp/known /tmp/known /tmp/moved
	done
}

# Its properties change all the time: network devices come and go.
properties()
{
	plug_hostile && hostile start seed 99 sessions 40 mutate 3 deep 20 \
		properties 1 || return
	patiently 600000 hostile_done || fail "does not end" || return
	no_complaint && honest
}

# --- limits -------------------------------------------------------------------

setups()
{
	ethtool -S "$A_DEV" | awk '/end_/ { n += $2 } END { print n }'
}

# HELLO, and HELLO again: the host does not set up rings and paths for each
flood()
{
	local n answers

	plug_hostile && answers=$(hostile_stat answers_ok) || return
	hostile start seed 1 flood 1 mutate 0 deep 0 || return
	sleep 20
	hostile stop
	n=$(setups) answers=$(($(hostile_stat answers_ok) - answers))
	echo "$(hostile_stat handshakes) HELLOs in all, $n sessions set up in 20 s," \
		"$answers answers"
	ethtool -S "$A_DEV" | grep -E '_ignored|setups_delayed'
	[ "$n" -ge 5 ] && [ "$n" -le 60 ] && [ $answers -ge 100 ] &&
		[ $answers -le 1100 ]
}

# Another list of GIDs with every frame: few of them are taken, and kept for a while
lists()
{
	local sent taken start most

	unplug_all_cables && plug_hostile && sent=$(hostile_stat control) || return
	hostile rdma own $((0x0a420042)) host $((0x0a420001)) len 1 mtu 1024 &&
		start=$(now_ms) &&
		hostile start seed 4 gids 1 mutate 0 deep 1 &&
		patiently 20000 _is_up && sleep 10 && hostile stop || return
	sent=$(($(hostile_stat control) - sent))
	taken=$((sent - $(counter a gids_ignored)))
	most=$((20 + 20 * ($(now_ms) - start + 999) / 1000))
	echo "$taken of $sent were taken, $most are allowed"
	[ $sent -ge 5000 ] && [ $taken -ge 50 ] && [ $taken -le $most ]
}

lines()
{
	dmesg | grep -cF "$A_DEV: "
}

# Each session is a link that comes up and goes down again: two lines, if all are said
few_lines()
{
	local before start n most

	unplug_all_cables && plug_hostile && no_complaint || return
	before=$(lines) start=$(now_ms)
	hostile start seed 5 sessions 80 mutate 0 deep 1 packets 1 &&
		patiently 300000 hostile_done || return
	n=$(($(lines) - before))
	most=$((40 * (2 + ($(now_ms) - start) / 60000) + 5))
	echo "$n lines of the kernel log, $most are allowed"
	[ "$(counter a sessions)" -ge 70 ] && [ "$n" -le $most ] && no_complaint
}

# A peer that gives no credits must not keep a program from going.
stingy()
{
	local start

	unplug_all_cables && plug_hostile || return
	hostile rdma own $((0x0a420042)) host $((0x0a420001)) len 1 mtu 1024 &&
		hostile start seed 3 stingy 1 mutate 0 deep 1 &&
		patiently 20000 _is_up && rdma_up stuck || return
	patiently 5000 _waiting || fail "nothing waits for credits" || return
	start=$(now_ms)
	kill -KILL "$rdma_pid"
	wait "$rdma_pid" 2> /dev/null
	busywait 10000 _no_qps || fail "there are still QPs" || return
	echo "gone after $(($(now_ms) - start)) ms"
	[ $(($(now_ms) - start)) -le 4000 ]
}

_is_up()
{
	[ "$(hostile_stat state)" = 6 ] && sleep 1
}

_waiting()
{
	[ "$(counter a roce_tx_waiting)" -gt 0 ]
}

_no_qps()
{
	! rdma resource show qp link "$A_RXE/1" 2> /dev/null | grep -q 'type RC'
}

# In 20 batches a million forged frames and a hundred thousand handshakes
enough()
{
	local frames handshakes
	local want_frames=$((50000 * batches))
	local want_handshakes=$((5000 * batches))

	[ "$SMOKE" = 0 ] || want_frames=$((7000 * batches)) want_handshakes=$((250 * batches))
	frames=$(hostile_stat frames_forged) handshakes=$(hostile_stat handshakes)
	echo "$frames frames of forged packets, $handshakes handshakes"
	[ "$frames" -ge $want_frames ] && [ "$handshakes" -ge $want_handshakes ]
}

# --- memory -------------------------------------------------------------------

# Bytes in use, by where they were allocated, if the kernel tells
allocations()
{
	[ ! -e /proc/allocinfo ] ||
		awk '$1 ~ /^[0-9]+$/ { print $1, $3, $NF }' /proc/allocinfo
}

# All of it is unloaded, and the memory is there again.
no_leak()
{
	local after

	rdma link delete "$A_RXE" 2> /dev/null
	unplug_all_cables
	unload_all || return
	after=$(used_kb)
	{ echo "used: $before kB before, $after kB after"; grew; } |
		tee /tmp/memory
	# The debug kernel keeps notes of its own, and bed/leaks knows each allocation.
	[ "$KERNEL" = debug ] || [ $((after - before)) -le 4096 ]
}

# Where more is in use than in the beginning
grew()
{
	allocations | awk '
		FNR == NR { was[$2 " " $3] += $1; next }
		{ now[$2 " " $3] += $1 }
		END {
			for (at in now)
				if (now[at] - was[at] >= 65536)
					print int((now[at] - was[at]) / 1024), "kB more:", at
		}' /tmp/allocations - | sort -rn
}

unload_all()
{
	mod_unload rdma_ucm rdma_rxe usb4net_rdma roce_link || return
	sleep 10
}

# Everything once, for what the kernel allocates once and keeps
warm_up()
{
	load_ours && taint=$(cat /proc/sys/kernel/tainted) &&
		plug_hostile && rdma_serve && batch 8 1 $packets 4 && rdma_stop &&
		honest && unload_all && before=$(used_kb) &&
		allocations > /tmp/allocations && load_ours
}

ktap_print_header
[ -z "${PICK:-}" ] || {
	ktap_set_plan 2
	run_step "once around" warm_up
	picked=$(pick "$PICK")
	rc=$?
	msg "$picked"
	check "the first $PICK sessions" [ $rc = 0 ]
	ktap_finished
}
ktap_set_plan $((batches + 12))
run_step "once around" warm_up
run_step "a hostile peer is found" plug_hostile
check "one that behaves gets links, and nothing is refused" behaves
run_step "an honest peer gets a link" honest
check "the sessions that were kept" corpus
msg "$(cat /tmp/corpus)"
for n in $(seq "$batches"); do
	check "batch $n, and an honest peer behind each part" one_batch
done
msg "$(emu stats 2 | sed -n 's/^2\.hostile\.\([a-z_.]*\) \([0-9]*\)$/\1 \2/p' |
	grep -vE '^(running|session|state) ' | paste -s -d ';' |
	sed 's/;/; /g' | fold -s -w 90)"
msg "$(sums)"
check "properties that change" properties
check "HELLO without end: setups are limited" flood
check "links without end: few lines of the log" few_lines
check "lists of GIDs without end: few are taken" lists
check "no credits: a killed program goes" stingy
check "enough" enough
check "memory is free again" no_leak
msg "$(cat /tmp/memory 2> /dev/null)"
ktap_finished
