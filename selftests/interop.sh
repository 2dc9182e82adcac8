#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two kernels, each with our netdev; on each side the patched rxe or the
# distribution's own. All four pairs understand each other in both directions,
# and only two patched ones bypass the IP stack.
#
# beds: qemu
# topology: pair
# timeout: 400
# runs: qemu:smoke
# runs-long: qemu

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/traffic.sh"

sizes=1,1024,4096,4097,65537
iters=100
if [ "$SMOKE" = 1 ]; then
	sizes=1,4097,20000
	iters=20
fi

# use_rxe SIDE patched|stock
use_rxe()
{
	local taint

	mod_unload_on "$1" rdma_rxe || return
	if [ "$2" = patched ]; then
		mod_load_on "$1" rdma_rxe || return
	else
		load_stock_rxe_on "$1" || return
	fi
	taint=$(on "$1" cat /sys/module/rdma_rxe/taint)
	echo "$1: $2, taint '$taint'"
	case $2 in
	patched) [[ $taint == *O* ]] ;;
	stock) [[ $taint != *O* ]] ;;
	esac
}

use_both()
{
	use_rxe a "$1" && use_rxe b "$2" && rxe_up
}

roce_counters()
{
	local side name

	for side in a b; do
		for name in roce_tx_packets roce_rx_packets; do
			counter $side $name
		done
	done | tr '\n' ' '
}

# Whatever had happened, all four counters moved, or none.
counters_say()
{
	local old new moved=0 i

	read -ra old <<< "$2"
	read -ra new <<< "$(roce_counters)"
	echo "before: ${old[*]}, after: ${new[*]}"
	[ ${#old[@]} = 4 ] && [ ${#new[@]} = 4 ] || return
	for i in 0 1 2 3; do
		[ "${new[i]}" -le $((old[i] + 20)) ] || moved=$((moved + 1))
	done
	case $1 in
	bypass) [ $moved = 4 ] ;;
	stack) [ "${old[*]}" = "${new[*]}" ] ;;
	esac
}

ktap_print_header
per_pair=9
[ "$SMOKE" = 0 ] || per_pair=6
ktap_set_plan $((1 + 4 * per_pair))
run_step "the link comes up" link_up
for pair in patched:patched patched:stock stock:patched stock:stock; do
	a=${pair%:*}
	b=${pair#*:}
	run_step "A $a, B $b" use_both "$a" "$b"
	before=$(roce_counters)
	check "A $a, B $b: rping, server on B" rping_ok b
	check "A $a, B $b: ib_write_bw" perftest a ib_write_bw -s 4096 \
		-n $iters
	if [ "$SMOKE" = 0 ]; then
		check "A $a, B $b: rping, server on A" rping_ok a
		check "A $a, B $b: ib_send_bw" perftest b ib_send_bw -e \
			-s 4096 -n $iters
		check "A $a, B $b: ib_read_bw" perftest b ib_read_bw -e \
			-s 4096 -n $iters
	fi
	check "A $a, B $b: RC" verbs_check b -q rc -s $sizes
	check "A $a, B $b: UD" verbs_check a -q ud -s 1,1024
	case $pair in
	patched:patched)
		check "A $a, B $b: the IP stack is bypassed" \
			counters_say bypass "$before"
		;;
	*)
		check "A $a, B $b: the IP stack is used" \
			counters_say stack "$before"
		;;
	esac
done
ktap_finished
