#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Traffic between the two hosts, for the tests. Sourced after lib.sh:
#
#	. "$(dirname "$0")/traffic.sh"
#
# Every function returns 0 only if both ends said that it worked, and prints
# what both ends printed.

# Longest time for one program, in seconds of the guest.
: "${TOOL_TIMEOUT:=60}"
export TOOL_TIMEOUT

other_side()
{
	[ "$1" = a ] && echo b || echo a
}

# What one end has sent the other one has received, since they exist.
stats_equal()
{
	local what from to x y rc=0

	for from in a b; do
		to=$(other_side $from)
		for what in packets bytes; do
			x=$(ifstat $from tx_$what)
			y=$(ifstat "$to" rx_$what)
			echo "$what: $from sent $x, $to received $y"
			[ "$x" = "$y" ] || rc=1
		done
	done
	return $rc
}

# losses_start: what the stack has dropped so far does not count. IPv6 reports its
# groups a random time after the netdev is up, before it may have a queue.
losses_start()
{
	local side

	ping_ok a "$B_IP" || return
	for side in a b; do
		losses[$side]=$(ifstat $side tx_dropped) || return
	done
}
declare -A losses=([a]=0 [b]=0)

# no_losses: nothing was dropped, lost or wrong at either end, since they exist.
# rx_lost_interrupts is no loss: an emulated interrupt can be later than the driver
# waits for it.
no_losses()
{
	local side what bad rc=0

	for side in a b; do
		bad=$(on $side ethtool -S "$(dev_of $side)" |
			grep -E 'drop|rx_lost_(frame|packet)|flow_control_errors|forced' |
			grep -v ': 0$')
		[ -z "$bad" ] || fail "$side: $bad" || rc=1
		for what in rx_errors tx_errors rx_dropped tx_dropped; do
			bad=$(ifstat $side $what)
			[ $what != tx_dropped ] || bad=$((bad - losses[$side]))
			[ "$bad" = 0 ] || fail "$side: $what $bad" || rc=1
		done
	done
	return $rc
}

# ip_of a|b [4|6]
ip_of()
{
	case $1${2:-4} in
	a4) echo "$A_IP" ;;
	b4) echo "$B_IP" ;;
	a6) echo "$A_IP6" ;;
	b6) echo "$B_IP6" ;;
	esac
}

dev_of()
{
	[ "$1" = a ] && echo "$A_DEV" || echo "$B_DEV"
}

rxe_of()
{
	[ "$1" = a ] && echo "$A_RXE" || echo "$B_RXE"
}

# run_step DESCRIPTION CMD...: like check, but CMD runs in this shell and may
# set variables. The test ends here if it fails.
run_step()
{
	local what=$1 out=/tmp/step.$BASHPID rc=0

	shift
	"$@" > "$out" 2>&1 || rc=$?
	if [ $rc -eq 0 ]; then
		ktap_test_pass "$what"
		return
	fi
	msg "$(cat "$out")"
	msg "exit status $rc: $*"
	ktap_test_fail "$what"
	ktap_exit_fail_msg "$what"
}

# perftest looks for the clock rate of the CPU, which some kernels don't show.
fix_cpuinfo()
{
	grep -q '^cpu MHz' /proc/cpuinfo && return
	awk '/^processor/ { print; print "cpu MHz\t\t: 1000.000"; next } 1' \
		/proc/cpuinfo > /run/cpuinfo
	mount --bind /run/cpuinfo /proc/cpuinfo
}

listening()
{
	on "$1" ss -Hltn "sport = :$2" | grep -q .
}

# An rdma_cm listener does not show up among the sockets.
cm_listening()
{
	on "$1" rdma resource show cm_id | grep -q LISTEN
}

# between SIDE READY SERVER... -- CLIENT...: the server on SIDE, the client
# on the other one, when the server is ready. READY is a TCP port, "cm" or a
# dash for no waiting. Both must end well.
between()
{
	local side=$1 ready=$2 pid rc=0 src=0 dir server=() cond=(true)

	shift 2
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	case $ready in
	cm) cond=(cm_listening "$side") ;;
	-) ;;
	*) cond=(listening "$side" "$ready") ;;
	esac
	dir=$(mktemp -d /tmp/between.XXXXXX)
	bg_on "$side" timeout -k 2 "$TOOL_TIMEOUT" "${server[@]}" \
		> "$dir/server" 2>&1
	pid=$BG_PID
	if busywait 15000 "${cond[@]}"; then
		on "$(other_side "$side")" timeout -k 2 "$TOOL_TIMEOUT" "$@" \
			> "$dir/client" 2>&1 < /dev/null || rc=$?
	else
		echo "the server did not listen" > "$dir/client"
		rc=1
	fi
	# A server whose client failed may wait for ever.
	[ $rc -eq 0 ] || kill "$pid" 2>/dev/null
	wait "$pid" || src=$?
	echo "server on $side: ${server[*]}: exit status $src"
	cat "$dir/server"
	echo "client: $*: exit status $rc"
	cat "$dir/client"
	rm -r "$dir"
	[ $rc -eq 0 ] && [ $src -eq 0 ]
}

# --- IP -------------------------------------------------------------------

# ping_ok FROM ADDRESS [SIZE] [OPTION...]: every echo comes back, with the
# bytes that were sent.
ping_ok()
{
	local from=$1 addr=$2 size=${3:-56} out

	shift 2
	[ $# -eq 0 ] || shift
	out=$(on "$from" ping -n -c 1 -W 5 -s "$size" "$@" "$addr" 2>&1) || {
		echo "$out"
		return 1
	}
	if grep -qE 'wrong data|corrupt|truncated|DUP!' <<< "$out"; then
		echo "$out"
		return 1
	fi
}

# iperf SERVER_SIDE OPTION...: to or (with -R) from the server.
iperf()
{
	local side=$1

	shift
	between "$side" 5201 iperf3 -s -1 -B "$(ip_of "$side")" -- \
		iperf3 -c "$(ip_of "$side")" -f m "$@"
}

# --- RDMA -----------------------------------------------------------------

# verbs_check [-6] SERVER_SIDE OPTION...: between the GIDs of the IPv4, or with
# -6 the IPv6 addresses.
verbs_check()
{
	local v=4 side other bin=/usb4net/bin/verbs_check

	if [ "$1" = -6 ]; then
		v=6
		shift
	fi
	side=$1
	other=$(other_side "$side")
	shift
	between "$side" 18600 \
		$bin -d "$(rxe_of "$side")" -g "$(gid_index "$side" $v)" -- \
		$bin -d "$(rxe_of "$other")" -g "$(gid_index "$other" $v)" "$@" \
		"$(ip_of "$side" $v)"
}

# perftest SERVER_SIDE TOOL OPTION...: fails as well if the tool printed no
# figures.
perftest()
{
	local side=$1 tool=$2 other out rc=0

	other=$(other_side "$side")
	shift 2
	out=$(between "$side" 18515 \
		"$tool" -F -d "$(rxe_of "$side")" -x "$(gid_index "$side")" "$@" -- \
		"$tool" -F -d "$(rxe_of "$other")" -x "$(gid_index "$other")" "$@" \
		"$(ip_of "$side")") || rc=$?
	echo "$out"
	[ $rc -eq 0 ] && figures "$out"
}

# The last line of numbers after the heading "#bytes" holds no nan or inf.
figures()
{
	# Where CPU work takes no time, a rate may be infinite.
	awk -v any="$([ "$BED" = uml ] && echo 1)" '
	     /^client:/ { client = 1 }
	     client && /#bytes/ { table = 1; next }
	     table && /^ *[0-9]+ / { line = $0 }
	     END { exit line == "" || (!any && line ~ /nan|inf/) }' <<< "$1" ||
		fail "no figures"
}

# pingpong SERVER_SIDE rc|uc|ud OPTION...
pingpong()
{
	local side=$1 tool=ibv_$2_pingpong other

	other=$(other_side "$side")
	shift 2
	between "$side" 18515 \
		"$tool" -d "$(rxe_of "$side")" -g "$(gid_index "$side")" "$@" -- \
		"$tool" -d "$(rxe_of "$other")" -g "$(gid_index "$other")" "$@" \
		"$(ip_of "$side")"
}

# rping SERVER_SIDE OPTION...: with the contents verified.
rping_ok()
{
	local side=$1 count=${RPING_COUNT:-10}

	shift
	between "$side" cm \
		rping -s -V -C "$count" -a "$(ip_of "$side")" "$@" -- \
		rping -c -V -C "$count" -a "$(ip_of "$side")" "$@"
}

# --- load -------------------------------------------------------------------

# load_start: TCP and verbs in both directions until load_end. Returns when
# data flows.
load_start()
{
	local bin=/usb4net/bin/verbs_check before rate=()

	# Without a limit TCP starves the rest of an emulated processor.
	[ "$BED" = uml ] || rate=(-b 100M)
	before=$(counter a roce_tx_packets) || return
	LOAD_VERBS=() LOAD_IP=()
	bg_on b iperf3 -s -1 -B "$B_IP" > /tmp/load.iperf.server 2>&1
	LOAD_IP+=("$BG_PID")
	bg_on b $bin -d "$B_RXE" -g "$(gid_index b)" -T 30 \
		> /tmp/load.verbs.server 2>&1
	LOAD_VERBS+=("$BG_PID")
	busywait 15000 listening b 5201 && busywait 15000 listening b 18600 ||
		return
	bg_on a iperf3 -c "$B_IP" --bidir "${rate[@]}" -t 3600 \
		> /tmp/load.iperf 2>&1
	LOAD_IP+=("$BG_PID")
	bg_on a $bin -d "$A_RXE" -g "$(gid_index a)" -n 8 -T 5 -t 3600 \
		-s 64,4097,65536 -o send,write,read "$B_IP" \
		> /tmp/load.verbs 2>&1
	LOAD_VERBS+=("$BG_PID")
	export LOAD_VERBS LOAD_IP
	busywait 20000 _load_flows "$before" || {
		cat /tmp/load.*
		return 1
	}
}

_load_flows()
{
	[ "$(counter a roce_tx_packets)" -gt $(($1 + 200)) ] &&
		[ "$(ifstat a tx_bytes)" -gt 1000000 ]
}

# load_end: after the link has been taken away. The RDMA programs must notice
# that themselves, with an error, within 15 s; TCP may wait, and is killed.
load_end()
{
	local pid rc=0

	for pid in "${LOAD_VERBS[@]}"; do
		busywait 15000 _gone "$pid" || {
			fail "an RDMA program hangs"
			kill -9 "$pid"
			rc=1
		}
		wait "$pid" && fail "verbs_check saw no error" && rc=1
	done
	for pid in "${LOAD_IP[@]}"; do
		kill "$pid" 2>/dev/null
		busywait 5000 _gone "$pid" || {
			fail "an IP program hangs"
			rc=1
		}
		wait "$pid"
	done
	[ $rc -eq 0 ] || cat /tmp/load.verbs*
	return $rc
}

_gone()
{
	! kill -0 "$1" 2>/dev/null
}

now_ms()
{
	local t=${EPOCHREALTIME/./}

	echo $((t / 1000))
}

# within MS CMD...: CMD must succeed in that time.
within()
{
	local limit=$1 start took rc=0

	shift
	start=$(now_ms)
	"$@" || rc=$?
	took=$(($(now_ms) - start))
	echo "$*: $took ms"
	[ $rc -eq 0 ] || return $rc
	[ $took -le "$limit" ] || fail "$*: $took ms, at most $limit are allowed"
}

# netdev_gone a|b: the side's netdev does not exist any more.
netdev_gone()
{
	! on "$1" test -e "/sys/class/net/$(dev_of "$1")"
}

netdevs_gone()
{
	netdev_gone a && netdev_gone b
}
