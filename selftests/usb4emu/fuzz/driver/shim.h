/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the driver's parsers need of the kernel, in user space. It is included before
 * anything else; the kernel's headers that user space does not have are empty files.
 */
#ifndef FUZZ_SHIM_H
#define FUZZ_SHIM_H

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/if_ether.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef struct { u8 b[16]; } uuid_t;

#define BIT(n)			(1UL << (n))
#define __packed		__attribute__((packed))
#define fallthrough		__attribute__((__fallthrough__))
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, val)	__atomic_store_n(&(x), val, __ATOMIC_RELAXED)

#define min(a, b) ({			\
	typeof(a) _min_a = (a);		\
	typeof(b) _min_b = (b);		\
	_min_a < _min_b ? _min_a : _min_b; })

#define max(a, b) ({			\
	typeof(a) _max_a = (a);		\
	typeof(b) _max_b = (b);		\
	_max_a > _max_b ? _max_a : _max_b; })

#define min_t(type, a, b)	min((type)(a), (type)(b))
#define clamp(val, lo, hi)	min_t(typeof(val), max(val, lo), hi)

#define cpu_to_le16(x)		htole16(x)
#define cpu_to_le32(x)		htole32(x)
#define le16_to_cpu(x)		le16toh(x)
#define le32_to_cpu(x)		le32toh(x)

#define VLAN_HLEN		4
#define NEXTHDR_HOP		0
#define NEXTHDR_ROUTING		43
#define NEXTHDR_FRAGMENT	44
#define NEXTHDR_AUTH		51
#define NEXTHDR_DEST		60
#define GSO_BY_FRAGS		0xffff
#define UDP_MAX_SEGMENTS	128
#define TCP_MIN_GSO_SIZE	8

static inline u16 get_unaligned_be16(const void *p)
{
	const u8 *b = p;

	return b[0] << 8 | b[1];
}

static inline void put_unaligned_be16(u16 val, void *p)
{
	u8 *b = p;

	b[0] = val >> 8;
	b[1] = val;
}

static inline void put_unaligned_be32(u32 val, void *p)
{
	put_unaligned_be16(val >> 16, p);
	put_unaligned_be16(val, (u8 *)p + 2);
}

static inline const void *memchr_inv(const void *p, int c, size_t len)
{
	const u8 *b = p;

	for (; len; b++, len--)
		if (*b != c)
			return b;
	return NULL;
}

static inline bool is_valid_ether_addr(const u8 *mac)
{
	return !(mac[0] & 1) && memchr_inv(mac, 0, ETH_ALEN);
}

/* Kept without the sanitizers' help: a finding is an abort. */
#define fuzz_check(cond)	do { if (!(cond)) abort(); } while (0)

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

#endif /* FUZZ_SHIM_H */
