/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KUNIT_DRIVER_H
#define _KUNIT_DRIVER_H

#include <kunit/test.h>
#include <linux/prandom.h>

#include "../../drivers/usb4net_rdma/credit.h"
#include "../../drivers/usb4net_rdma/limit.h"
#include "../../drivers/usb4net_rdma/proto.h"

#define ALL_CAPS	(U4N_CAP_ROCE | U4N_CAP_META | U4N_CAP_NO_ICRC | \
			 U4N_CAP_MULTI_PSN)

/**
 * exactly - memory of just so many bytes, so that KASAN sees who reads behind it
 * @test: the test
 * @from: contents
 * @size: number of bytes
 *
 * Return: the memory, until the test is over.
 */
static inline void *exactly(struct kunit *test, const void *from, size_t size)
{
	void *p = kunit_kmalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	memcpy(p, from, size);
	return p;
}

#endif /* _KUNIT_DRIVER_H */
