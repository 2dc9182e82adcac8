#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# reload.sh on two kernels: one end is removed and loaded again under load.
#
# beds: qemu
# topology: pair
# timeout: 400
# runs: none
# runs-long: qemu

# shellcheck source=selftests/reload.sh
. "$(dirname "$0")/reload.sh"
