#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Any input whatever must not crash the emulator: a libFuzzer target each for
# vfio-user messages, register accesses, descriptors, control packets and lines of
# the control protocol.
# FUZZ_SECONDS is what all of them take together.
#
# beds: host
# timeout: 600

top=$(dirname "$(dirname "$(readlink -f "$0")")")

exec "$top/scripts/toolbox" run make -s -C "$top/selftests/usb4emu" fuzz \
	"O=$top/build/usb4emu-test" "FUZZ_SECONDS=${FUZZ_SECONDS:-60}"
