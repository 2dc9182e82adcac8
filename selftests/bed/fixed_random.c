// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded to User Mode Linux in virtual time: the host's random numbers are
 * the same in each run, from the seed FIXED_RANDOM (default 1). With them the
 * kernel's are, and what it chooses at random: ports, cookies, addresses.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static uint64_t fixed_random_state;

/* splitmix64 */
static uint64_t fixed_random_next(void)
{
	uint64_t z;

	if (!fixed_random_state) {
		const char *seed = getenv("FIXED_RANDOM");

		fixed_random_state = seed ? strtoull(seed, NULL, 0) : 1;
	}
	z = fixed_random_state += 0x9e3779b97f4a7c15ULL;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
	size_t at;

	(void)flags;
	for (at = 0; at < len; at += sizeof(uint64_t)) {
		uint64_t val = fixed_random_next();

		memcpy((char *)buf + at, &val, len - at < sizeof(val) ? len - at : sizeof(val));
	}
	return len;
}
