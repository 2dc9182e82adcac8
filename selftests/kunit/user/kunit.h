/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of KUnit as our suites use, in user space. It is included before anything
 * else, after fuzz/driver/shim.h; the headers of the kernel are empty files.
 */
#ifndef KUNIT_USER_H
#define KUNIT_USER_H

#include <setjmp.h>
#include <stdio.h>

#define HZ			250U
#define GFP_KERNEL		0
#define S32_MAX			0x7fffffff
#define U32_MAX			0xffffffffU
#define NEXTHDR_NONE		59
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d) ({ \
	typeof(d) _by = (d); \
	((n) + _by - 1) / _by; })
#define MODULE_DESCRIPTION(s)	_Static_assert(1, s)
#define MODULE_LICENSE(s)	_Static_assert(1, s)

static const unsigned long jiffies = 1000;

struct rnd_state { u64 s; };

static inline void prandom_seed_state(struct rnd_state *rnd, u64 seed)
{
	rnd->s = seed * 0x9e3779b97f4a7c15ULL + 1;
}

static inline u32 prandom_u32_state(struct rnd_state *rnd)
{
	rnd->s ^= rnd->s << 13;
	rnd->s ^= rnd->s >> 7;
	rnd->s ^= rnd->s << 17;
	return rnd->s >> 32;
}

#define strscpy(to, from, size)	snprintf(to, size, "%s", from)

#define KUNIT_PARAM_DESC_SIZE	128

struct kunit {
	const void *param_value;
	const char *suite, *name;
	char param[KUNIT_PARAM_DESC_SIZE];
	bool failed;
	jmp_buf end;
	void **mem;
	unsigned int num_mem;
};

struct kunit_case {
	const char *name;
	void (*run)(struct kunit *test);
	const void *(*gen)(struct kunit *test, const void *prev, char *desc);
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

void kunit_add(struct kunit_suite *suite);
void kunit_failed(struct kunit *test, const char *file, int line,
		  const char *what, bool stop);
void *kunit_kmalloc(struct kunit *test, size_t size, int gfp);

#define kunit_test_suite(suite) \
	static __attribute__((constructor)) void kunit_register(void) \
	{ kunit_add(&(suite)); } \
	_Static_assert(1, "")
#define KUNIT_CASE(fn)			{ #fn, fn, NULL }
#define KUNIT_CASE_PARAM(fn, gen)	{ #fn, fn, gen }

/* The parameter after @prev of an array */
static inline const void *kunit_next(const void *prev, const void *array,
				     size_t size, size_t each)
{
	const char *next = prev ? (const char *)prev + each : array;

	return next == (const char *)array + size ? NULL : next;
}

#define KUNIT_ARRAY_PARAM(name, array, get_desc) \
	static const void *name ## _gen_params(struct kunit *test, \
					       const void *prev, char *desc) \
	{ \
		typeof(array) *all = &(array); \
		const void *next = kunit_next(prev, all, sizeof(*all), \
					      sizeof((*all)[0])); \
		\
		if (next) \
			get_desc(next, desc); \
		return next; \
	}
#define KUNIT_ARRAY_PARAM_DESC(name, array, member) \
	static const void *name ## _gen_params(struct kunit *test, \
					       const void *prev, char *desc) \
	{ \
		typeof(array) *all = &(array); \
		const char *next = kunit_next(prev, all, sizeof(*all), \
					      sizeof((*all)[0])); \
		\
		if (next) \
			strscpy(desc, *(const char **)(next + \
				offsetof(typeof((*all)[0]), member)), \
				KUNIT_PARAM_DESC_SIZE); \
		return next; \
	}

#define KUNIT_IF(test, cond, stop) do { \
	if (!(cond)) \
		kunit_failed(test, __FILE__, __LINE__, #cond, stop); \
} while (0)

#define kunit_info(test, ...)			((void)(test))
#define KUNIT_FAIL(test, ...)			KUNIT_IF(test, 0, false)
#define KUNIT_EXPECT_TRUE(test, c)		KUNIT_IF(test, c, false)
#define KUNIT_EXPECT_FALSE(test, c)		KUNIT_IF(test, !(c), false)
#define KUNIT_EXPECT_FALSE_MSG(test, c, ...)	KUNIT_IF(test, !(c), false)
#define KUNIT_EXPECT_EQ(test, a, b)		KUNIT_IF(test, (a) == (b), false)
#define KUNIT_EXPECT_EQ_MSG(test, a, b, ...)	KUNIT_IF(test, (a) == (b), false)
#define KUNIT_EXPECT_GT(test, a, b)		KUNIT_IF(test, (a) > (b), false)
#define KUNIT_EXPECT_LT(test, a, b)		KUNIT_IF(test, (a) < (b), false)
#define KUNIT_EXPECT_MEMEQ(test, a, b, n) \
	KUNIT_IF(test, !memcmp(a, b, n), false)
#define KUNIT_ASSERT_TRUE(test, c)		KUNIT_IF(test, c, true)
#define KUNIT_ASSERT_NOT_NULL(test, p)		KUNIT_IF(test, p, true)
#define KUNIT_ASSERT_EQ(test, a, b)		KUNIT_IF(test, (a) == (b), true)
#define KUNIT_ASSERT_GE(test, a, b)		KUNIT_IF(test, (a) >= (b), true)
#define KUNIT_ASSERT_GT(test, a, b)		KUNIT_IF(test, (a) > (b), true)
#define KUNIT_ASSERT_LE(test, a, b)		KUNIT_IF(test, (a) <= (b), true)

#endif /* KUNIT_USER_H */
