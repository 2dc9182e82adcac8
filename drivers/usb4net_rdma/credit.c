// SPDX-License-Identifier: GPL-2.0
/* Credit arithmetic, see credit.h */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/minmax.h>

#include "credit.h"
#include "proto.h"

/**
 * u4n_credit_tx_init - begin a session
 * @c: the sender's side
 * @window: what the receiver has posted
 */
void u4n_credit_tx_init(struct u4n_credit_tx *c, u32 window)
{
	c->sent = 0;
	c->limit = window;
	c->window = window;
}

/**
 * u4n_credit_tx_avail - number of frames that may be sent now
 * @c: the sender's side
 *
 * Return: the number, below 0 after keepalives that were sent without credit.
 */
int u4n_credit_tx_avail(const struct u4n_credit_tx *c)
{
	return (s32)(c->limit - c->sent);
}

/**
 * u4n_credit_tx_update - take over a limit that the peer told
 * @c: the sender's side
 * @limit: from the wire
 *
 * Return: false if the limit goes backwards or is beyond the window, which no
 * loss of frames can explain. Nothing is changed then.
 */
bool u4n_credit_tx_update(struct u4n_credit_tx *c, u32 limit)
{
	/* what is below the old limit wraps to a large number */
	if (limit - c->limit > c->sent + c->window - c->limit)
		return false;
	c->limit = limit;
	return true;
}

/**
 * u4n_credit_rx_init - begin a session
 * @c: the receiver's side
 * @window: frames that will be kept posted
 */
void u4n_credit_rx_init(struct u4n_credit_rx *c, u32 window)
{
	c->seen = 0;
	c->published = 0;
	c->window = window;
}

/**
 * u4n_credit_rx_sent - take over the number of a frame
 * @c: the receiver's side, before the frame itself is counted
 * @sent: the frame's number, from the wire
 *
 * Return: number of frames that were lost before it, -EPROTO if the number is
 * impossible.
 */
int u4n_credit_rx_sent(struct u4n_credit_rx *c, u32 sent)
{
	s32 gap = (s32)(sent - c->seen);

	if (gap < 0 || gap > (s32)(c->window + U4N_WINDOW_SLACK))
		return -EPROTO;
	c->seen = sent;
	return gap;
}

/**
 * u4n_credit_rx_publish - all frames seen have got a new buffer
 * @c: the receiver's side
 */
void u4n_credit_rx_publish(struct u4n_credit_rx *c)
{
	WRITE_ONCE(c->published, c->seen);
}

/**
 * u4n_credit_rx_limit - the limit to tell the sender
 * @c: the receiver's side
 *
 * Return: number of the first frame that would find no buffer.
 */
u32 u4n_credit_rx_limit(const struct u4n_credit_rx *c)
{
	return READ_ONCE(c->published) + c->window;
}

/**
 * u4n_credit_rx_batch - frames to be published at a time
 * @c: the receiver's side
 *
 * Return: their number, a small part of the window.
 */
u32 u4n_credit_rx_batch(const struct u4n_credit_rx *c)
{
	return clamp(c->window / 32, 1U, 32U);
}

/**
 * u4n_credit_rx_due - is the sender to be told about its limit?
 * @c: the receiver's side
 * @told: the limit it was told last
 *
 * A quarter of the window, with what is not published, is small enough for the
 * sender never to be stopped by credits that exist but were not told, see the
 * static_assert in tx.c.
 *
 * Return: true if it is.
 */
bool u4n_credit_rx_due(const struct u4n_credit_rx *c, u32 told)
{
	return u4n_credit_rx_limit(c) - told >=
		c->window / 4 - u4n_credit_rx_batch(c);
}
