#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The fidelity test on USB4 v1, Gen 3 with lane bonding, and on a host interface
# with a single MSI.
#
# beds: qemu
# tb: stock
# topology: netns
# timeout: 300
# emu-args: -g3 -m

FIDELITY=gen3

# shellcheck source=selftests/fidelity.sh
. "$(dirname "$0")/fidelity.sh"
