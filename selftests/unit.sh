#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The unit tests of the driver's frames, messages, packet headers, credits and limits
# in user space, under ASan and UBSan. The same run in the kernel, with KUnit, on the
# debug kernel: kunit.sh.
#
# beds: host
# timeout: 120

top=$(dirname "$(dirname "$(readlink -f "$0")")")

exec "$top/scripts/toolbox" run make -s -C "$top/selftests/usb4emu" unit \
	"O=$top/build/usb4emu-test"
