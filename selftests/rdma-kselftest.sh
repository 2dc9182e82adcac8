#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's own tests of rdma_rxe, tools/testing/selftests/rdma: first as
# they are, with the kernel's own rdma_rxe on veth, tun and dummy netdevs, then
# with the patched one, and each netdev that they make is one of ours. What has
# passed at first has to pass again.
#
# beds: uml qemu
# topology: netns
# timeout: 300
# runs: uml

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

dir=/usb4net/selftests/kernel/rdma
mapfile -t scripts < <(sed -n 's/.*\(rxe_[a-zA-Z0-9_]*\.sh\).*/\1/p' $dir/Makefile)
shim=/run/usb4net/shim
declare -A stock=()

# one_script NAME: some count on a module that another one has unloaded.
one_script()
{
	modprobe tun
	timeout -k 5 60 "$dir/$1"
}

ours_loaded()
{
	mkdir -p $shim && ln -s /usb4net/selftests/as-veth $shim/ip &&
	ln -s /usb4net/selftests/as-veth $shim/modprobe && emu unplug 0.1 &&
	mod_load usb4net_rdma
}

free_dev()
{
	/usb4net/bed/netdev name "$1" usb4net "$2"
}

# Both cables in, as if for the first time.
cables()
{
	local port nhi

	for port in 1 3; do
		emu unplug 0.$port > /dev/null 2>&1
	done
	busywait 10000 no_hosts || return
	rm -rf /run/usb4net/as-veth
	for port in 1 3; do
		emu plug 0.$port 1.$port || return
		for nhi in 0 1; do
			busywait 20000 free_dev $nhi $port || return
		done
	done
}

no_hosts()
{
	! compgen -G '/sys/bus/thunderbolt/devices/*-[1-9]*'
}

# The patched rxe is there when the script makes its device, and gone when the
# script has ended.
ours_one()
{
	local rc=0

	cables || return
	rm -f /run/usb4net/as-veth.log
	PATH=$shim:$PATH one_script "$1" || rc=$?
	[ -s /run/usb4net/as-veth.log ] || fail "no netdev of ours was used" ||
		rc=1
	[ ! -d /sys/module/rdma_rxe ] || {
		echo "rdma_rxe is still there"
		rmmod rdma_rxe
	}
	return $rc
}

# verdict EXIT_STATUS
verdict()
{
	case $1 in
	0) echo pass ;;
	4) echo skip ;;
	*) echo "fail $1" ;;
	esac
}

need_scripts()
{
	[ ${#scripts[@]} -ge 6 ]
}

ktap_print_header
ktap_set_plan $((2 + 2 * ${#scripts[@]}))
need "the scripts are there" need_scripts
for s in "${scripts[@]}"; do
	rc=0
	one_script "$s" > /tmp/out 2>&1 || rc=$?
	stock[$s]=$(verdict $rc)
	[ $rc = 0 ] || sed 's/^/#   /' /tmp/out
	[ ! -d /sys/module/rdma_rxe ] || mod_unload rdma_rxe
	ktap_test_pass "stock, $s: ${stock[$s]}"
done
run_step "our driver and two cables" ours_loaded
for s in "${scripts[@]}"; do
	rc=0
	ours_one "$s" > /tmp/out 2>&1 || rc=$?
	now=$(verdict $rc)
	[ $rc = 0 ] || sed 's/^/#   /' /tmp/out
	if [ "$now" = pass ] || [ "${stock[$s]}" != pass ]; then
		ktap_test_pass "ours, $s: $now"
	else
		ktap_test_fail "ours, $s: $now"
	fi
done
ktap_finished
