#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the debug kernel is for: a module does something wrong, one thing at a time
# (planted/planted.c), and the run has to fail and to say why. A run in which it
# does nothing wrong passes.
#
# beds: host
# timeout: 1800
# runs: none
# runs-debug: host

top=$(dirname "$(dirname "$(readlink -f "$0")")")
run=$top/selftests/bed/run
dir=$top/build/planted

KERNEL=debug "$top/selftests/bed/prepare" uml > /dev/null || exit 1
mkdir -p "$dir"
cache=$("$top/scripts/toolbox" path) || exit 1
# shellcheck disable=SC1091
. "$cache/src/tools/testing/selftests/kselftest/ktap_helpers.sh"

# attempt THING: a run in which the module does it. Its output is in $out.
attempt()
{
	cat > "$dir/debug-$1.sh" <<- END
	#!/bin/bash
	# beds: uml
	# kernel: debug
	# timeout: 120
	. "\$(dirname "\$0")/lib.sh"
	ktap_print_header
	ktap_set_plan 1
	mod_load thunderbolt
	busywait 10000 test -e /sys/bus/pci/drivers/thunderbolt/0000:00:00.0
	mod_load planted what=$1
	check "the module goes" mod_unload planted
	ktap_finished
	END
	BED=uml NOBUILD=1 LABEL=debug-$1.planted "$run" "$dir/debug-$1.sh" \
		> "$out" 2>&1 < /dev/null
}

# seen THING PATTERN: the run fails, and the reason that is given says so.
seen()
{
	local rc=0

	attempt "$1" || rc=$?
	if [ $rc -eq 1 ] &&
		sed -n 's/^bed: .* FAILED after//p' "$out" | grep -qE "$2"; then
		ktap_test_pass "$1: $2"
	else
		echo "# exit status $rc, expected: $2"
		tail -n 20 "$out" | sed 's/^/# /'
		ktap_test_fail "$1: $2"
	fi
}

out=$dir/debug.out
ktap_print_header
ktap_set_plan 13

if attempt nothing; then
	ktap_test_pass "nothing"
else
	tail -n 20 "$out" | sed 's/^/# /'
	ktap_test_fail "nothing"
fi
seen uaf 'KASAN: slab-use-after-free'
seen oob 'KASAN: slab-out-of-bounds'
seen leak 'leaks: unreferenced object'
seen page 'allocated at module unload'
seen shift 'UBSAN: shift-out-of-bounds'
seen lock 'possible circular locking'
seen atomic 'sleeping function called from invalid context|scheduling while atomic'
seen timer 'WARNING: .*debugobjects|ODEBUG'
seen list 'list_add'
seen dma_size 'dma/debug.c.* at check_unmap'
seen dma_left 'dma/debug.c.* at dma_debug_device_change'
seen hang 'no verdict'
ktap_finished
