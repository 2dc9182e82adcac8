/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test results in TAP. A test is a function; a failed check ends it.
 */
#ifndef USB4EMU_TESTS_TAP_H
#define USB4EMU_TESTS_TAP_H

#include "../env.h"

struct tap_test {
	const char *name;
	void (*run)(void);
};

#define TAP_TEST(fn)	{ #fn, fn }
#define TAP_GROUP(group, ...)	\
	const struct tap_test group[] = { __VA_ARGS__, { 0 } }

__printf(3, 4) __noreturn
void tap_fail(const char *file, int line, const char *fmt, ...);

/* Called before a failed test ends: say what is known, clean up. */
void tap_failed(void);

#define check(cond) do {							\
	if (!(cond))								\
		tap_fail(__FILE__, __LINE__, "%s", #cond);			\
} while (0)

#define check_eq(got, want) do {						\
	unsigned long long _got = (got), _want = (want);			\
	if (_got != _want)							\
		tap_fail(__FILE__, __LINE__, "%s is %#llx, not %#llx",		\
			 #got, _got, _want);					\
} while (0)

#endif /* USB4EMU_TESTS_TAP_H */
