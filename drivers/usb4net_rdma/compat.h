/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernel versions. What is not here is written for 7.3. */
#ifndef _U4N_COMPAT_H
#define _U4N_COMPAT_H

#include <linux/thunderbolt.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
/* A ring does not know an interval, its vector's register stays as written */
static inline void u4n_ring_set_interval(struct tb_ring *ring,
					 unsigned int nsec)
{
}
#else
/* The interval between interrupts that a ring is started with */
static inline void u4n_ring_set_interval(struct tb_ring *ring,
					 unsigned int nsec)
{
	ring->interval_nsec = nsec;
}
#endif

#endif /* _U4N_COMPAT_H */
