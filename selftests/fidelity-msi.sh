#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The fidelity test on a host interface with a single MSI.
#
# beds: qemu
# tb: stock
# topology: netns
# timeout: 300
# emu-args: -m

FIDELITY=msi

# shellcheck source=selftests/fidelity.sh
. "$(dirname "$0")/fidelity.sh"
