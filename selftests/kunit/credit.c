// SPDX-License-Identifier: GPL-2.0
/* Credits, and what limits how often a peer can have us do something */
#include "driver.h"

#define WINDOW	255U

/* Where the numbers of a session may be: at its start, and where they wrap */
static const u32 starts[] = {
	0, 1, S32_MAX - 100, S32_MAX, 1U << 31, U32_MAX - 300, U32_MAX
};

static void start_name(const u32 *start, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%#x", *start);
}

static void sender(struct kunit *test)
{
	u32 at = *(const u32 *)test->param_value;
	struct u4n_credit_tx c;

	u4n_credit_tx_init(&c, WINDOW);
	KUNIT_EXPECT_EQ(test, u4n_credit_tx_avail(&c), WINDOW);
	c.sent += at;
	c.limit += at;
	KUNIT_EXPECT_EQ(test, u4n_credit_tx_avail(&c), WINDOW);

	/* nothing new, back, beyond what the receiver has */
	KUNIT_EXPECT_TRUE(test, u4n_credit_tx_update(&c, at + WINDOW));
	KUNIT_EXPECT_FALSE(test, u4n_credit_tx_update(&c, at + WINDOW - 1));
	KUNIT_EXPECT_FALSE(test, u4n_credit_tx_update(&c, at + WINDOW + 1));
	KUNIT_EXPECT_FALSE(test, u4n_credit_tx_update(&c, at + (1U << 31)));
	KUNIT_EXPECT_EQ(test, u4n_credit_tx_avail(&c), WINDOW);

	c.sent += WINDOW;
	KUNIT_EXPECT_EQ(test, u4n_credit_tx_avail(&c), 0);
	/* a keepalive goes nevertheless */
	c.sent++;
	KUNIT_EXPECT_EQ(test, u4n_credit_tx_avail(&c), -1);
	KUNIT_EXPECT_TRUE(test, u4n_credit_tx_update(&c, c.sent));
	KUNIT_EXPECT_EQ(test, u4n_credit_tx_avail(&c), 0);
	KUNIT_EXPECT_TRUE(test, u4n_credit_tx_update(&c, c.sent + WINDOW));
	KUNIT_EXPECT_EQ(test, u4n_credit_tx_avail(&c), WINDOW);
}

static void receiver(struct kunit *test)
{
	u32 at = *(const u32 *)test->param_value;
	u32 most = WINDOW + U4N_WINDOW_SLACK;
	struct u4n_credit_rx c;

	u4n_credit_rx_init(&c, WINDOW);
	KUNIT_EXPECT_EQ(test, u4n_credit_rx_limit(&c), WINDOW);
	c.seen = at;
	u4n_credit_rx_publish(&c);
	KUNIT_EXPECT_EQ(test, u4n_credit_rx_limit(&c), at + WINDOW);

	KUNIT_EXPECT_EQ(test, u4n_credit_rx_sent(&c, at), 0);
	KUNIT_EXPECT_EQ(test, u4n_credit_rx_sent(&c, at - 1), -EPROTO);
	KUNIT_EXPECT_EQ(test, u4n_credit_rx_sent(&c, at + most + 1), -EPROTO);
	KUNIT_EXPECT_EQ(test, u4n_credit_rx_sent(&c, at + (1U << 31)), -EPROTO);
	KUNIT_EXPECT_EQ(test, c.seen, at);
	KUNIT_EXPECT_EQ(test, u4n_credit_rx_sent(&c, at + 3), 3);
	KUNIT_EXPECT_EQ(test, c.seen, at + 3);
	KUNIT_EXPECT_EQ(test, u4n_credit_rx_sent(&c, at + 3 + most), most);

	/* seen, but not published */
	KUNIT_EXPECT_EQ(test, u4n_credit_rx_limit(&c), at + WINDOW);
	u4n_credit_rx_publish(&c);
	KUNIT_EXPECT_EQ(test, u4n_credit_rx_limit(&c), at + 3 + most + WINDOW);
}

/*
 * A session in which frames and the messages about credits get lost: the sender
 * never overruns the receiver's buffers, and what a lost frame has taken comes
 * back with the next one that arrives.
 */
static void session(struct kunit *test)
{
	u32 at = *(const u32 *)test->param_value, told;
	unsigned int i, sent = 0, posted = WINDOW;
	struct u4n_credit_tx tx;
	struct u4n_credit_rx rx;
	struct rnd_state rnd;
	int gap;

	prandom_seed_state(&rnd, 3);
	u4n_credit_tx_init(&tx, WINDOW);
	u4n_credit_rx_init(&rx, WINDOW);
	tx.sent += at;
	tx.limit += at;
	rx.seen = at;
	u4n_credit_rx_publish(&rx);
	told = u4n_credit_rx_limit(&rx);
	for (i = 0; i < 20000; i++) {
		if (u4n_credit_tx_avail(&tx) <= 0) {
			/* what repairs all of it */
			gap = u4n_credit_rx_sent(&rx, tx.sent);
			KUNIT_ASSERT_GE(test, gap, 0);
			u4n_credit_rx_publish(&rx);
			posted = WINDOW;
			told = u4n_credit_rx_limit(&rx);
			KUNIT_ASSERT_TRUE(test, u4n_credit_tx_update(&tx, told));
			KUNIT_ASSERT_EQ(test, u4n_credit_tx_avail(&tx), WINDOW);
			continue;
		}
		sent++;
		tx.sent++;
		if (prandom_u32_state(&rnd) % 10 == 0)
			continue;	/* lost */
		KUNIT_ASSERT_GT(test, posted, 0);
		posted--;
		gap = u4n_credit_rx_sent(&rx, tx.sent - 1);
		KUNIT_ASSERT_GE(test, gap, 0);
		rx.seen++;
		if (prandom_u32_state(&rnd) % 4)
			continue;
		u4n_credit_rx_publish(&rx);
		posted = WINDOW;
		if (!u4n_credit_rx_due(&rx, told))
			continue;
		told = u4n_credit_rx_limit(&rx);
		if (prandom_u32_state(&rnd) % 5)
			KUNIT_ASSERT_TRUE(test, u4n_credit_tx_update(&tx, told));
	}
	KUNIT_EXPECT_GT(test, sent, 15000);
}

static void due(struct kunit *test)
{
	u32 at = *(const u32 *)test->param_value, told, n;
	struct u4n_credit_rx c;

	u4n_credit_rx_init(&c, 16);
	KUNIT_EXPECT_EQ(test, u4n_credit_rx_batch(&c), 1);
	u4n_credit_rx_init(&c, U4N_MAX_WINDOW);
	KUNIT_EXPECT_EQ(test, u4n_credit_rx_batch(&c), 32);
	u4n_credit_rx_init(&c, WINDOW);
	KUNIT_EXPECT_EQ(test, u4n_credit_rx_batch(&c), 7);
	c.seen = at;
	u4n_credit_rx_publish(&c);
	told = u4n_credit_rx_limit(&c);
	for (n = 0; n < WINDOW; n++) {
		KUNIT_EXPECT_EQ_MSG(test, u4n_credit_rx_due(&c, told),
				    n >= WINDOW / 4 - 7, "after %u frames", n);
		c.seen++;
		u4n_credit_rx_publish(&c);
	}
}

/* u4n_limit at any jiffies */
static void limit(struct kunit *test)
{
	unsigned long at = *(const u32 *)test->param_value;
	struct u4n_limit lim;
	unsigned int i, n = 0;

	at |= at << 32;
	u4n_limit_init(&lim, 4, 1);
	KUNIT_EXPECT_EQ(test, lim.interval, HZ);
	lim.since = at;
	for (i = 0; i < 10; i++)
		n += u4n_limit_ok(&lim, at);
	KUNIT_EXPECT_EQ(test, n, 4);
	KUNIT_EXPECT_EQ(test, lim.refused, 6);
	KUNIT_EXPECT_FALSE(test, u4n_limit_ok(&lim, at + HZ - 1));
	KUNIT_EXPECT_TRUE(test, u4n_limit_ok(&lim, at + HZ));
	KUNIT_EXPECT_FALSE(test, u4n_limit_ok(&lim, at + HZ));
	/* what is left of an interval counts for the next one */
	KUNIT_EXPECT_TRUE(test, u4n_limit_ok(&lim, at + 3 * HZ - 1));
	KUNIT_EXPECT_TRUE(test, u4n_limit_ok(&lim, at + 3 * HZ));
	/* but never more than the burst */
	for (i = 0, n = 0; i < 10; i++)
		n += u4n_limit_ok(&lim, at + 1000 * HZ);
	KUNIT_EXPECT_EQ(test, n, 4);
	/* faster than the clock: once for each tick */
	u4n_limit_init(&lim, 1, 2 * HZ);
	KUNIT_EXPECT_EQ(test, lim.interval, 1);
}

KUNIT_ARRAY_PARAM(start, starts, start_name);

static struct kunit_case credit_cases[] = {
	KUNIT_CASE_PARAM(sender, start_gen_params),
	KUNIT_CASE_PARAM(receiver, start_gen_params),
	KUNIT_CASE_PARAM(session, start_gen_params),
	KUNIT_CASE_PARAM(due, start_gen_params),
	KUNIT_CASE_PARAM(limit, start_gen_params),
	{ }
};

static struct kunit_suite credit_suite = {
	.name = "usb4net_credit",
	.test_cases = credit_cases,
};

kunit_test_suite(credit_suite);
