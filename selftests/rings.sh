#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the rings cost: register reads for each interrupt, register writes for
# each frame. On the kernel's own thunderbolt two reads for an interrupt, to mask
# and to unmask it; with patches/thunderbolt (TB=patched) none. No frame has a
# read of its own. And the kernel's own writes three registers for an interrupt,
# the patched one only that which clears it, unless another one follows.
#
# beds: uml qemu
# topology: netns
# timeout: 300
# uml-mode: basic
# runs: uml uml:tb=patched
# runs-long: qemu:smoke qemu:smoke:tb=patched

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

reads_per_interrupt=2
writes_per_interrupt=3
if [ "$TB" = patched ]; then
	reads_per_interrupt=0
	writes_per_interrupt=1
fi
pings=200
bytes=20M
[ "$SMOKE" = 0 ] || pings=50

declare -A before

# sums: totals of both hosts: register reads, writes, messages, frames
sums()
{
	emu stats | awk '
		/^[01]\.mmio_reads / { r += $2 }
		/^[01]\.mmio_writes / { w += $2 }
		/^[01]\.msis / { m += $2 }
		/^[01]\.tx[1-9][0-9]*\.frames / { f += $2 }
		END { print r, w, m, f }'
}

# cost CMD...: sets reads, writes, msis, frames to what happens meanwhile, and
# line to a text that says it
cost()
{
	local r w m f

	read -r r w m f <<< "$(sums)"
	"$@" > /dev/null || return
	read -r reads writes msis frames <<< "$(sums)"
	reads=$((reads - r)) writes=$((writes - w))
	msis=$((msis - m)) frames=$((frames - f))
	line="$1: $frames frames, $msis interrupts, $reads register reads, $writes writes"
}

# Whatever is sent, at most that many reads for an interrupt.
few_reads()
{
	cost "$@" || return
	[ "$frames" -ge $((2 * pings)) ] || fail "$frames frames" || return
	[ "$msis" -gt 0 ] || fail "no interrupt" || return
	[ "$reads" -le $((reads_per_interrupt * msis)) ] ||
		fail "$reads reads for $msis interrupts"
}

# What was written beside the interrupts' registers are doorbells, of both
# directions. For a frame on its own that is one to send it and, now and then, one
# to give its buffer back.
few_writes()
{
	local most=$((writes_per_interrupt * msis + frames + frames / 4))

	line="$writes writes, at most $most"
	[ "$writes" -le "$most" ] || fail "$line"
}

# In a stream, at most one doorbell for two frames.
few_doorbells()
{
	local doorbells=$((writes - writes_per_interrupt * msis))

	line="$doorbells doorbells"
	[ "$doorbells" -le $((frames / 2)) ] ||
		fail "$doorbells doorbells for $frames frames"
}

pings()
{
	on_a ping -c $pings -i 0.002 -q "$B_IP"
}

# The core that is to be tested is the one that is there.
core()
{
	local taint

	taint=$(root_a cat /sys/module/thunderbolt/taint) || return
	case $TB$taint in
	patched*O* | stock) ;;
	*) fail "thunderbolt's taint is '$taint' with TB=$TB" ;;
	esac
}

ktap_print_header
ktap_set_plan 7
run_step "link" link_up
need "thunderbolt is $TB" core
check "pings pass" ping_ok a "$B_IP"
check "reads during pings" few_reads pings
msg "$line"
check "writes during pings" few_writes
msg "$line"
check "reads during a TCP stream" few_reads iperf b -n "$bytes"
msg "$line"
check "doorbells during a TCP stream" few_doorbells
msg "$line"
ktap_finished
