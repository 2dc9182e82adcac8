/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a peer can have us do at any rate, and how often we do it. Free of locks:
 * the caller has one.
 */
#ifndef _U4N_LIMIT_H
#define _U4N_LIMIT_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/types.h>

/**
 * struct u4n_limit - so many times at once, and once in each interval later on
 * @burst: times at once
 * @interval: jiffies
 * @left: times left
 * @since: when @left was right
 * @refused: times that were refused
 */
struct u4n_limit {
	unsigned int burst;
	unsigned long interval;
	unsigned int left;
	unsigned long since;
	u64 refused;
};

static inline void u4n_limit_init(struct u4n_limit *lim, unsigned int burst,
				  unsigned int per_second)
{
	lim->burst = burst;
	lim->interval = max(HZ / per_second, 1U);
	lim->left = burst;
	lim->since = jiffies;
	lim->refused = 0;
}

/**
 * u4n_limit_ok - may it be done once more?
 * @lim: the limit
 * @now: jiffies
 *
 * Return: true if it may, and then that is one time.
 */
static inline bool u4n_limit_ok(struct u4n_limit *lim, unsigned long now)
{
	unsigned long n = (now - lim->since) / lim->interval;

	if (n >= lim->burst - lim->left) {
		lim->left = lim->burst;
		lim->since = now;
	} else {
		lim->left += n;
		lim->since += n * lim->interval;
	}
	if (!lim->left) {
		lim->refused++;
		return false;
	}
	lim->left--;
	return true;
}

#endif /* _U4N_LIMIT_H */
