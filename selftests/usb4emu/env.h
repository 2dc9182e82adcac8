/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the emulator's core needs from its surroundings.
 *
 * The core is built twice from the same files: into a process (plain libc)
 * and into a kernel module of User Mode Linux. It includes this file and
 * nothing else from outside, allocates only in emu_new(), and never prints.
 */
#ifndef USB4EMU_ENV_H
#define USB4EMU_ENV_H

#ifdef __KERNEL__

#include <asm/barrier.h>
#include <linux/align.h>
#include <linux/bits.h>
#include <asm/byteorder.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/stdarg.h>
#include <linux/string.h>
#include <linux/types.h>

#define env_zalloc(size)		kvzalloc(size, GFP_KERNEL)
#define env_free(ptr)			kvfree(ptr)
#define env_read_once(ptr)		READ_ONCE(*(ptr))
/* A descriptor's word is read before the rest of it. */
#define env_load_acquire(ptr)		smp_load_acquire(ptr)
/* A descriptor's word becomes visible after the frame it tells of. */
#define env_store_release(ptr, val)	smp_store_release(ptr, val)

#else /* user space */

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef signed long long s64;

#define BIT(nr)			(1U << (nr))
#define BIT_ULL(nr)		(1ULL << (nr))
#define GENMASK(h, l)		((~0U << (l)) & (~0U >> (31 - (h))))
#define ARRAY_SIZE(arr)		(sizeof(arr) / sizeof((arr)[0]))
#define ALIGN(x, n) ({			\
	typeof(x) _align_n = (n);	\
	((x) + _align_n - 1) & ~(_align_n - 1); })
#ifndef __packed
#define __packed		__attribute__((__packed__))
#endif
#define __printf(a, b)		__attribute__((__format__(printf, a, b)))
#define __noreturn		__attribute__((__noreturn__))

#define min(a, b) ({			\
	typeof(a) _min_a = (a);		\
	typeof(b) _min_b = (b);		\
	_min_a < _min_b ? _min_a : _min_b; })

#define max(a, b) ({			\
	typeof(a) _max_a = (a);		\
	typeof(b) _max_b = (b);		\
	_max_a > _max_b ? _max_a : _max_b; })

#define min_t(type, a, b)	min((type)(a), (type)(b))

#define cpu_to_be32(x)		htobe32(x)
#define be32_to_cpu(x)		be32toh(x)
#define cpu_to_le32(x)		htole32(x)
#define le32_to_cpu(x)		le32toh(x)
#define cpu_to_le64(x)		htole64(x)
#define le64_to_cpu(x)		le64toh(x)

#define env_zalloc(size)	calloc(1, size)
#define env_free(ptr)		free(ptr)
#define env_read_once(ptr)	__atomic_load_n(ptr, __ATOMIC_RELAXED)
#define env_load_acquire(ptr)	__atomic_load_n(ptr, __ATOMIC_ACQUIRE)
#define env_store_release(ptr, val) __atomic_store_n(ptr, val, __ATOMIC_RELEASE)

#endif /* __KERNEL__ */

#endif /* USB4EMU_ENV_H */
