/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All groups of tests, one per file.
 */
#ifndef USB4EMU_TESTS_GROUPS_H
#define USB4EMU_TESTS_GROUPS_H

#include "tap.h"

extern const struct tap_test core_tests[];
extern const struct tap_test vfio_tests[];
extern const struct tap_test pci_tests[];
extern const struct tap_test nhi_tests[];
extern const struct tap_test ctl_tests[];
extern const struct tap_test plug_tests[];
extern const struct tap_test path_tests[];
extern const struct tap_test irq_tests[];
extern const struct tap_test cmd_tests[];
extern const struct tap_test capture_tests[];
extern const struct tap_test fault_tests[];

static const struct tap_test *const test_groups[] = {
	core_tests, vfio_tests, pci_tests, nhi_tests, ctl_tests, plug_tests, path_tests,
	irq_tests, cmd_tests, capture_tests, fault_tests, NULL
};

#endif /* USB4EMU_TESTS_GROUPS_H */
