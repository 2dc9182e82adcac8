#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The unit tests of the emulator of USB4 host interfaces, under ASan and UBSan.

dir=$(mktemp -d) || exit 4
trap 'rm -rf "$dir"' EXIT
make -s -C "$(dirname "$0")/usb4emu" O="$dir" check
