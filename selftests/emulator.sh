#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The emulator's unit tests, without a guest: usb4emu built with ASan and
# UBSan, spoken to over vfio-user.
#
# beds: host
# timeout: 300

top=$(dirname "$(dirname "$(readlink -f "$0")")")

exec "$top/scripts/toolbox" run make -s -C "$top/selftests/usb4emu" check \
	"O=$top/build/usb4emu-test"
