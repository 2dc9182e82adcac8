/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernel versions. What is not here is written for 7.3. */
#ifndef _U4N_COMPAT_H
#define _U4N_COMPAT_H

#include <linux/thunderbolt.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
/* Without it the interval in the interrupt vector's register stays */
static inline int tb_ring_throttling(struct tb_ring *ring, unsigned int nsec)
{
	return -EOPNOTSUPP;
}
#endif

#endif /* _U4N_COMPAT_H */
