#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A kernel that takes signed modules only, as with Secure Boot, and modules that are not
# signed: "usb4net up" says what that means, and doctor what to do. There is no way back
# in the running kernel, so nothing else is tested here.
#
# beds: qemu
# topology: netns
# runs: none
# runs-long: qemu

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

usb4net=/usb4net/tools/usb4net

# As "make install" leaves them
installed()
{
	local dir m

	dir=/lib/modules/$(uname -r)/updates/usb4net-rdma
	mkdir -p "$dir"
	for m in roce_link usb4net_rdma rdma_rxe; do
		cp "/usb4net/modules/$m.ko" "$dir/" || return
	done
	depmod && modinfo -F filename usb4net_rdma | grep "$dir" &&
		[ -z "$(modinfo -F signer usb4net_rdma)" ] && mod_load thunderbolt
}

# says WORDS: up fails with them and explains them, and doctor says what to do.
says()
{
	! $usb4net up 2> /tmp/err && cat /tmp/err && grep "$1" /tmp/err &&
	grep 'only modules that are signed' /tmp/err &&
	$usb4net doctor | grep -A 2 'FAIL  secure-boot' | grep 'mokutil --import'
}

# Debian's kernel locks itself down when it finds Secure Boot.
locked_down()
{
	mountpoint -q /sys/kernel/security ||
		mount -t securityfs none /sys/kernel/security || return
	echo integrity > /sys/kernel/security/lockdown &&
		says 'Operation not permitted'
}

# module.sig_enforce, which others have
enforced()
{
	echo Y > /sys/module/module/parameters/sig_enforce &&
		says 'Key was rejected by service'
}

ktap_print_header
ktap_set_plan 3
run_step "modules without signatures are installed" installed
check "a kernel that is locked down" locked_down
check "a kernel that insists on signatures" enforced
ktap_finished
