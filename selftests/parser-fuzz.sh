#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The driver's parsers of frames and of the handshake, the same files in user space,
# as libFuzzer targets under ASan and UBSan. Both run at the same time, for
# FUZZ_SECONDS.
#
# beds: host
# timeout: 300

top=$(dirname "$(dirname "$(readlink -f "$0")")")

exec "$top/scripts/toolbox" run make -s -C "$top/selftests/usb4emu" fuzz-parsers \
	"O=$top/build/usb4emu-test" "FUZZ_SECONDS=${FUZZ_SECONDS:-20}"
