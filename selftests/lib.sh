#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Library for the guest tests. A test is one bash script that begins with
#
#	. "$(dirname "$0")/lib.sh"
#
# Started on a host, that line hands the test over to the runner of the bed
# (selftests/bed/run), which starts the same script again inside the guest
# with USB4NET_GUEST=1. There it goes on, as root, on host A of two:
#
#   topology netns			topology pair
#
#   +---------- one kernel ----------+	+--- VM A ---+   +--- VM B ---+
#   | init_net: A      netns b: B    |	|     A      |   |     B      |
#   |   NHI 0            NHI 1       |	|   NHI 0    |   |   NHI 0    |
#   +-----|----------------|---------+	+-----|------+   +-----|------+
#         +---- cable -----+		      +---- cable -----+
#
# In the topology chain each of three hosts is a virtual machine, A and B cabled as
# in a pair; C is what the test cables it to.
#
# Results are written in TAP with the ktap_* functions. Everything a test
# leaves behind (processes, rdma links, modules) is cleaned up by the guest's
# init, which then fails the run if a module does not unload or the kernel
# has complained.

_lib_self=$(readlink -f "${BASH_SOURCE[0]}")
_lib_dir=$(dirname "$_lib_self")

if [ "${USB4NET_GUEST:-}" != 1 ]; then
	_lib_test=$(basename "$0" .sh)
	exec "$_lib_dir/bed/run" "$_lib_test" "$@"
fi

# BED (qemu, uml), TOPOLOGY (netns, pair, chain), SMOKE (1 for a short run) and
# what else the runner passes on.
# shellcheck disable=SC1091
. /usb4net/env
# What the guest's init has found out.
# shellcheck disable=SC1091
. /run/usb4net/env
: "${BED:=qemu}" "${TOPOLOGY:=netns}" "${SMOKE:=0}"
export BED TOPOLOGY SMOKE

# shellcheck disable=SC1091
. "$_lib_dir/ktap_helpers.sh"

# A host on each kernel
case $TOPOLOGY in
netns) _kernels=a ;;
pair) _kernels='a b' ;;
chain) _kernels='a b c' ;;
esac

# Addresses are constant, names of devices are known after link_up/rxe_up.
A_IP=10.0.0.1 B_IP=10.0.0.2
A_IP6=fd00::1 B_IP6=fd00::2
A_DEV='' B_DEV=''
A_RXE=rxe0 B_RXE=rxe1
[ "$TOPOLOGY" = netns ] || B_RXE=rxe0
export A_IP B_IP A_IP6 B_IP6 A_RXE B_RXE

# MTU of the link as link_up sets it; empty leaves the driver's default.
LINK_MTU=${LINK_MTU:-}

# --- running commands ---------------------------------------------------

# on_a CMD... / on_b CMD... / on_c CMD...: run a program on that host. Output,
# errors, input and exit status are those of the program.
on_a()
{
	"$@"
}

on_b()
{
	if [ "$TOPOLOGY" = netns ]; then
		ip netns exec b "$@"
	else
		/usb4net/bin/bed-agent run "$@"
	fi
}

on_c()
{
	USB4NET_PEER=198.51.100.3 /usb4net/bin/bed-agent run "$@"
}

# on a|b|c CMD...: the same with the side as an argument.
on()
{
	local side=$1

	shift
	"on_$side" "$@"
}

# bg_on a|b|c CMD...: run a program in the background; BG_PID is its process, and
# to kill that ends the program on either side (a function like on_b in the
# background would leave it running). Redirect its output if "check" is around.
bg_on()
{
	local side=$1

	shift
	if [ "$side" = a ]; then
		"$@" &
	elif [ "$TOPOLOGY" = netns ]; then
		ip netns exec "$side" "$@" &
	elif [ "$side" = b ]; then
		/usb4net/bin/bed-agent run "$@" < /dev/null &
	else
		USB4NET_PEER=198.51.100.3 /usb4net/bin/bed-agent run "$@" \
			< /dev/null &
	fi
	BG_PID=$!
	export BG_PID
}

# root_a CMD... / root_b CMD...: like on_a and on_b, but in the initial network
# namespace of the kernel that the host runs on. Modules, sysfs and rdma links
# belong there.
root_b()
{
	if [ "$TOPOLOGY" = netns ]; then
		"$@"
	else
		on_b "$@"
	fi
}

root_c()
{
	on_c "$@"
}

root_a()
{
	"$@"
}

# emu CMD...: one command to the emulator; prints the reply, fails on error.
emu()
{
	/usb4net/bin/usb4emu-ctl -s "${EMU_CTL:-/dev/usb4emu}" "$@"
}

# msg TEXT: a TAP comment.
msg()
{
	local line

	while IFS= read -r line; do
		printf '# %s\n' "$line"
	done <<< "$*"
}

# fail TEXT: for use in conditions, says why and is false.
fail()
{
	msg "FAIL: $*"
	return 1
}

# check DESCRIPTION CMD...: one TAP result from a command, which runs in this
# shell. Its output is shown as a TAP comment when it fails.
check()
{
	local _what=$1 _rc=0 _out

	_out=$(mktemp /tmp/check.XXXXXX)
	shift
	"$@" > "$_out" 2>&1 || _rc=$?
	if [ $_rc -eq 0 ]; then
		ktap_test_pass "$_what"
	else
		[ ! -s "$_out" ] || msg "$(< "$_out")"
		msg "exit status $_rc: $*"
		ktap_test_fail "$_what"
	fi
	rm -f "$_out"
	return $_rc
}

# need DESCRIPTION CMD...: like check, but the test cannot go on without it.
need()
{
	check "$@" || ktap_exit_fail_msg "$1"
}

# --- waiting ------------------------------------------------------------

# To fork is what costs most in a guest, so that nothing here does for the sake of
# the time: not to look at the clock, nor to sleep.
_now_us()
{
	now_us=${EPOCHREALTIME/./}
}

exec {_never}<> <(:)

# sleep SECONDS: as the program does, in this shell. Nobody writes to that pipe.
sleep()
{
	read -rt "$1" -u $_never
	[ $? -gt 128 ]
}

# busywait MS CMD...: until CMD succeeds, for at most MS milliseconds. Prints
# what CMD printed last and returns its last exit status.
busywait()
{
	local end now_us out rc=0

	_now_us
	end=$((now_us + $1 * 1000))
	shift
	while true; do
		rc=0
		out=$("$@" 2>&1) || rc=$?
		_now_us
		if [ $rc -eq 0 ] || [ "$now_us" -ge $end ]; then
			[ -n "$out" ] && printf '%s\n' "$out"
			return $rc
		fi
		sleep 0.05
	done
}

# patiently MS CMD...: like busywait, for what takes seconds anyway. To look
# every 50 ms costs more than all else in a guest without a processor's time.
patiently()
{
	local end now_us rc=0

	_now_us
	end=$((now_us + $1 * 1000))
	shift
	while true; do
		rc=0
		"$@" || rc=$?
		_now_us
		[ $rc -ne 0 ] && [ "$now_us" -lt $end ] || return $rc
		sleep 0.25
	done
}

# Programs that are not kernel complaints: dmesg_allow ERE lets the init's
# dmesg scan pass lines that match. For faults a test provokes on purpose.
dmesg_allow()
{
	local side

	for side in $_kernels; do
		# shellcheck disable=SC2016
		root_"$side" sh -c \
			'printf "%s\n" "$1" >> /run/usb4net/dmesg-allow' sh "$1"
	done
}

# --- modules ------------------------------------------------------------

# mod_load NAME [PARAM=VALUE...] / mod_unload NAME...: on all kernels. A
# module of this project is loaded from /usb4net/modules with what it depends
# on, any other one comes from the kernel's own package.
mod_load()
{
	local side

	for side in $_kernels; do
		mod_load_on "$side" "$@" || return
	done
}

mod_unload()
{
	local side

	for side in $_kernels; do
		mod_unload_on "$side" "$@" || return
	done
}

# mod_load_on a|b|c NAME..., mod_unload_on a|b|c NAME...: on one kernel. In the
# netns topology all sides share it.
mod_load_on()
{
	_mod "$1" load "${@:2}"
}

mod_unload_on()
{
	_mod "$1" unload "${@:2}"
}

_mod()
{
	local side=$1

	shift
	root_"$side" /usb4net/bed/modctl "$@"
}

# load_ours: the driver, the hook and the patched rxe, on all kernels.
load_ours()
{
	mod_load usb4net_rdma && mod_load rdma_rxe && mod_load rdma_ucm
}

# KARGS=rxe.stock: a test of rxe on the kernel's own
rxe_is_stock()
{
	grep -qw rxe.stock /proc/cmdline
}

# load_rxe: either, as the kernel's command line says.
load_rxe()
{
	if rxe_is_stock; then
		load_stock_rxe
	else
		load_ours
	fi
}

# load_lan: what bridge and 8021q depend on, which is built here for QEMU ("also: lan").
load_lan()
{
	[ "$BED" = uml ] || { mod_load stp && mod_load garp && mod_load mrp; }
}

# load_stock_rxe: the kernel's own rxe. Fails if the patched one is loaded.
load_stock_rxe()
{
	local side

	for side in $_kernels; do
		load_stock_rxe_on "$side" || return
	done
}

load_stock_rxe_on()
{
	_mod "$1" load-stock rdma_rxe && _mod "$1" load rdma_ucm
}

# --- the link -----------------------------------------------------------

# nhi_domain a|b: name of the USB4 domain ("domain0") of a side's interface.
# The PCI address tells the sides apart: A has the lower one.
nhi_domain()
{
	if [ "$1" = b ]; then
		root_b /usb4net/bed/netdev domain "$([ "$TOPOLOGY" = netns ] &&
			echo 1 || echo 0)"
	else
		/usb4net/bed/netdev domain 0
	fi
}

# find_dev a|b [PREFIX]: name of the side's netdev, looked up by its place in
# the USB4 device tree; the numbering of netdevs is a race. B's is only found
# before it moves into its namespace.
find_dev()
{
	local prefix=${2:-usb4net}

	if [ "$1" = a ]; then
		/usb4net/bed/netdev name 0 "$prefix"
	elif [ "$TOPOLOGY" = netns ]; then
		/usb4net/bed/netdev name 1 "$prefix"
	else
		on_b /usb4net/bed/netdev name 0 "$prefix"
	fi
}

carrier()
{
	[ "$(on "$1" cat "/sys/class/net/$2/carrier" 2>/dev/null)" = 1 ]
}

_carrier_both()
{
	carrier a "$A_DEV" && carrier b "$B_DEV"
}

# link_wait [PREFIX]: wait for a netdev on both sides, set A_DEV and B_DEV and
# move B's to its namespace.
link_wait()
{
	local prefix=${1:-usb4net}

	A_DEV=$(busywait "${LINK_TIMEOUT:-60000}" find_dev a "$prefix") ||
		{ fail "no $prefix netdev on A: $A_DEV"; return; }
	B_DEV=$(busywait "${LINK_TIMEOUT:-60000}" find_dev b "$prefix") ||
		{ fail "no $prefix netdev on B: $B_DEV"; return; }
	export A_DEV B_DEV
	if [ "$TOPOLOGY" = netns ]; then
		ip netns list | grep -q '^b\b' || {
			ip netns add b && ip -n b link set lo up || return
		}
		ip link set "$B_DEV" netns b || return
	fi
}

# link_addr: addresses and up, on both sides; then wait for the carrier.
link_addr()
{
	local side dev ip ip6

	for side in a b; do
		if [ $side = a ]; then
			dev=$A_DEV ip=$A_IP ip6=$A_IP6
		else
			dev=$B_DEV ip=$B_IP ip6=$B_IP6
		fi
		if [ -n "$LINK_MTU" ]; then
			on $side ip link set "$dev" mtu "$LINK_MTU" || return
		fi
		on $side ip addr replace "$ip/24" dev "$dev" &&
		on $side ip -6 addr replace "$ip6/64" dev "$dev" nodad &&
		on $side ip link set "$dev" up || return
	done
	busywait "${LINK_TIMEOUT:-60000}" _carrier_both ||
		fail "no carrier: A $(on_a cat "/sys/class/net/$A_DEV/carrier" \
		2>&1), B $(on_b cat "/sys/class/net/$B_DEV/carrier" 2>&1)"
}

# link_up [PREFIX]: from nothing to a link that carries IP. Loads our driver,
# or thunderbolt_net when PREFIX is "thunderbolt".
link_up()
{
	local module=usb4net_rdma

	[[ ${1:-usb4net} != thunderbolt* ]] || module=thunderbolt_net
	if [ -d /sys/module/thunderbolt ]; then
		mod_load $module || return
	else
		_load_unplugged $module || return
	fi
	link_wait "$@" && link_addr
}

# The kernel's thunderbolt can miss a host for good when that one's properties
# change while it reads them, as they do when a service driver is loaded. At
# first the modules are therefore loaded before the cable is plugged in.
_load_unplugged()
{
	emu unplug 0.1 > /dev/null || return
	mod_load "$1" && emu plug 0.1 1.1 > /dev/null
}

# rxe_up: one rxe device per side on the link's netdevs. Whichever rdma_rxe
# is loaded serves it; ours if none is.
rxe_up()
{
	rxe_up_on a && rxe_up_on b
}

rxe_up_on()
{
	local side=$1 dev=$A_DEV rxe=$A_RXE run=on_a

	[ "$side" = b ] && dev=$B_DEV rxe=$B_RXE run=root_b
	$run sh -c '[ -d /sys/module/rdma_rxe ]' ||
		_mod "$side" load rdma_rxe || return
	_mod "$side" load rdma_ucm || return
	on "$side" rdma link add "$rxe" type rxe netdev "$dev" || return
	busywait 10000 _rxe_active "$side" "$rxe" ||
		fail "$rxe is not active: $(on "$side" rdma link show "$rxe/1")"
}

_rxe_active()
{
	on "$1" rdma link show "$2/1" | grep -q 'state ACTIVE'
}

# gid_index a|b [4|6]: index of the RoCEv2 GID of the side's IPv4 or IPv6
# address.
gid_index()
{
	local rxe=$A_RXE n=1 gid

	[ "$1" = a ] || rxe=$B_RXE n=2
	gid=0000:0000:0000:0000:0000:ffff:0a00:000$n
	[ "${2:-4}" = 4 ] || gid=fd00:0000:0000:0000:0000:0000:0000:000$n
	"root_$1" sh -c "cd /sys/class/infiniband/$rxe/ports/1/gids &&
		grep -l '^$gid\$' * | head -n 1" | grep .
}

# --- numbers ------------------------------------------------------------

# counter a|b NAME: value of an ethtool -S counter of the side's netdev.
counter()
{
	local dev=$A_DEV v

	[ "$1" = b ] && dev=$B_DEV
	v=$(on "$1" ethtool -S "$dev") || return
	v=$(awk -v n="$2:" '$1 == n { print $2 }' <<< "$v")
	[ -n "$v" ] && echo "$v"
}

# ifstat a|b NAME: value of a standard netdev statistic (rx_packets, ...).
ifstat()
{
	local dev=$A_DEV

	[ "$1" = b ] && dev=$B_DEV
	on "$1" cat "/sys/class/net/$dev/statistics/$2"
}

# snmp a|b Proto:Name: value of a counter in /proc/net/snmp, as Ip:InReceives
# or Udp:OutDatagrams.
snmp()
{
	on "$1" cat /proc/net/snmp | awk -v p="${2%%:*}:" -v n="${2#*:}" '
		$1 == p && !c { for (i = 2; i <= NF; i++) if ($i == n) c = i; next }
		$1 == p { print $c; found = 1 }
		END { exit !found }'
}

# emu_stat KEY: one value of the emulator's statistics ("0.tx1.frames").
emu_stat()
{
	emu stats | awk -v k="$1" '$1 == k { print $2; f = 1 } END { exit !f }'
}

# kB that the kernel has for itself and cannot give back
used_kb()
{
	sync
	echo 3 > /proc/sys/vm/drop_caches
	sleep 2
	awk '$1 == "MemTotal:" { n += $2 }
		$1 ~ /^(MemFree|Buffers|Cached|SReclaimable|AnonPages):$/ { n -= $2 }
		END { print n }' \
		/proc/meminfo
}
