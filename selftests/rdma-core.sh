#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The test suite of rdma-core, complete: what passes with the kernel's own
# rdma_rxe on veth has to pass with the patched one on the link, test by test.
#
#	loop	as the suite is: both ends use A's device, packets stay there
#	pair	the same tests with their server end on B's device
#
# The table of all tests goes into the report, and what is worse than with the
# stock rxe behind it.
#
# beds: uml qemu
# topology: netns
# timeout: 400
# runs: uml
# runs-long: qemu
# uml-mode: real

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

suite=/usb4net/selftests/rdma-core
rdmacore=/usb4net/selftests/rdmacore.py
res=/tmp/rdma-core
mkdir -p $res

stock_veth()
{
	mod_load veth && load_stock_rxe &&
	ip netns add b && ip -n b link set lo up &&
	ip link add veth0 mtu 9000 type veth peer name veth1 mtu 9000 netns b ||
		return
	A_DEV=veth0 B_DEV=veth1
	link_addr && rxe_up && [ "$(gid_index a)" = "$(gid_index b)" ]
}

stock_end()
{
	rdma link delete "$A_RXE" && rdma link delete "$B_RXE" &&
	mod_unload rdma_rxe && ip link del veth0
}

patched_link()
{
	# shellcheck disable=SC2119 # its arguments are optional
	link_up && load_ours && rxe_up &&
	grep -q O /sys/module/rdma_rxe/taint &&
	[ "$(gid_index a)" = "$(gid_index b)" ]
}

# run_suite NAME [PEER...]: it has run to its end. The tests print what nobody
# needs, the verdicts are in the results.
run_suite()
{
	local name=$1

	shift
	python3 $rdmacore run $suite "$res/$name" "$A_RXE" "$(gid_index a)" "$@" \
		> "$res/$name.log" 2>&1 || {
		tail -n 20 "$res/$name.log"
		return 1
	}
	grep -q ' pass ' "$res/$name" || fail "nothing passed"
}

bypass_used()
{
	local n

	n=$(counter a roce_tx_packets) || return
	echo "$n packets took the bypass"
	[ "$n" -gt 1000 ]
}

ktap_print_header
ktap_set_plan 9
run_step "stock rdma_rxe on veth" stock_veth
check "stock: rdma-core's tests, both ends on one device" run_suite loop-stock
check "stock: rdma-core's tests between two devices" \
	run_suite pair-stock "$B_RXE" "$B_IP" b
run_step "stock rdma_rxe is unloaded" stock_end
run_step "patched rdma_rxe on the link" patched_link
check "patched: rdma-core's tests, both ends on one device" run_suite loop-ours
check "patched: rdma-core's tests between two devices" \
	run_suite pair-ours "$B_RXE" "$B_IP" b
check "packets take the bypass" bypass_used
rc=0
python3 $rdmacore table $res/loop-{stock,ours} $res/pair-{stock,ours} \
	> $res/table || rc=$?
sed -n 's/^|/# |/p' $res/table
if [ $rc -eq 0 ]; then
	ktap_test_pass "whatever passes with stock passes with ours"
else
	sed -n '/^|/!s/^/# /p' $res/table
	ktap_test_fail "whatever passes with stock passes with ours"
fi
ktap_finished
