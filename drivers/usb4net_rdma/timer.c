// SPDX-License-Identifier: GPL-2.0
/*
 * One timer per link, for what nothing else would notice: frames that have been
 * sent while nothing is received or sent any more, and a receive interrupt that
 * never came.
 *
 * It runs while there is traffic and a few times after the last of it: soon after
 * a packet whose sender may wait for it to be done with, else once in a
 * millisecond. How soon depends on whether that has helped lately: it has not if
 * the packet was reaped by then because there was other traffic, or if what is
 * sent next comes from one who has not waited.
 */
#include <linux/hrtimer.h>
#include <net/sock.h>

#include "u4n.h"

#define U4N_TIMER_USECS		1000U
#define U4N_TIMER_BUSY_USECS	100U	/* there are packets in the ring */
#define U4N_TIMER_SOON_USECS	25U	/* after the first of them, one of 64 KiB */
#define U4N_TIMER_LATER_MAX	3U	/* both are doubled so often if of no use */
#define U4N_TIMER_IDLE_MAX	3U	/* the time is doubled so often when idle */

/*
 * A ring that has something, is not masked, and makes no progress for long
 * enough. An interrupt that is only late is not lost.
 */
static bool u4n_timer_lost_irq(struct u4n_link *l, u32 seen)
{
	unsigned int usecs = max(U4N_TIMER_USECS,
				 2 * READ_ONCE(l->moder.now));
	struct u4n_timer *t = &l->timer;
	ktime_t now = ktime_get();

	if (!u4n_ring_rx_ready(l)) {
		t->rx_ready = false;
		return false;
	}
	if (!t->rx_ready || t->rx_seen != seen) {
		t->rx_ready = true;
		t->rx_seen = seen;
		t->rx_since = now;
		return false;
	}
	if (ktime_us_delta(now, t->rx_since) < usecs)
		return false;
	t->rx_ready = false;
	return true;
}

/* Changes with each frame that is sent or received */
static u32 u4n_timer_stamp(const struct u4n_link *l)
{
	return l->tx.head + READ_ONCE(l->rx.credit.seen);
}

/* Of no use: not so soon the next time */
static void u4n_timer_later(struct u4n_timer *t)
{
	if (t->later < U4N_TIMER_LATER_MAX)
		t->later++;
}

static enum hrtimer_restart u4n_timer_fire(struct hrtimer *timer)
{
	struct u4n_link *l = container_of(timer, struct u4n_link, timer.hrtimer);
	struct u4n_timer *t = &l->timer;
	u32 seen = READ_ONCE(l->rx.credit.seen);
	bool poll, reaped, lost = false;

	spin_lock(&l->tx.lock);
	t->armed = false;
	t->soon = false;
	u4n_tx_count(l, U4N_TX_TIMER, 1);

	/* masked: NAPI is to be scheduled or is already, see u4n_ring_start_poll() */
	poll = test_bit(0, &l->rx.masked);
	if (!poll)
		lost = u4n_timer_lost_irq(l, seen);
	if (lost)
		u4n_tx_count(l, U4N_TX_LOST_IRQS, 1);
	reaped = t->tail != l->tx.tail;
	if (reaped)
		u4n_timer_later(t);
	else if (l->tx.skbs)
		t->asked = true;
	/*
	 * Whoever has reaped so far, and has for long, does it the next time, too. But
	 * what has been received and waits for an interrupt need not.
	 */
	if (l->tx.tail != l->tx.head &&
	    (t->rx_ready || !reaped || t->later < U4N_TIMER_LATER_MAX))
		poll = true;

	t->idle = u4n_timer_stamp(l) == t->stamp ? t->idle + 1 : 0;
	t->stamp = u4n_timer_stamp(l);
	if (l->tx.running)
		u4n_timer_arm(l);
	spin_unlock(&l->tx.lock);

	if (poll || lost)
		napi_schedule(&l->napi);
	return HRTIMER_NORESTART;
}

static void u4n_timer_start(struct u4n_link *l, unsigned int usecs)
{
	l->timer.armed = true;
	l->timer.tail = l->tx.tail;
	hrtimer_start(&l->timer.hrtimer, ns_to_ktime(usecs * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_SOFT);
}

/**
 * u4n_timer_arm - there is something to watch, or has been a moment ago
 * @l: the link, locked
 */
void u4n_timer_arm(struct u4n_link *l)
{
	struct u4n_timer *t = &l->timer;
	unsigned int idle = t->idle;
	unsigned int usecs;

	if (t->armed)
		return;
	/* a frame that has been seen waiting is looked at again */
	if (l->tx.tail != l->tx.head || t->rx_ready ||
	    u4n_timer_stamp(l) != t->stamp) {
		idle = 0;
	} else if (idle > U4N_TIMER_IDLE_MAX) {
		if (!netif_queue_stopped(l->ndev) &&
		    skb_queue_empty(&l->tx.roce))
			return;
		idle = U4N_TIMER_IDLE_MAX;
	}
	usecs = l->tx.skbs ? U4N_TIMER_BUSY_USECS << t->later : U4N_TIMER_USECS;
	u4n_timer_start(l, usecs << idle);
}

/**
 * u4n_timer_soon - the stack waits for frames to be sent
 * @l: the link, locked
 *
 * More frames take longer.
 */
void u4n_timer_soon(struct u4n_link *l)
{
	u32 frames = l->tx.head - l->tx.tail;
	unsigned int usecs;

	if (l->timer.soon || !frames)
		return;
	l->timer.soon = true;
	usecs = max(U4N_TIMER_SOON_USECS,
		    frames * U4N_TIMER_SOON_USECS / U4N_MAX_FRAMES);
	u4n_timer_start(l, usecs << l->timer.later);
}

/**
 * u4n_timer_sent - a packet is being sent: has its sender waited for the timer?
 * @l: the link, locked
 * @sk: socket of the packet or NULL
 *
 * TCP that has waited sends when it is called back, in a softirq. A process that
 * sends over TCP would have done so anyway, and nobody waits for a packet without
 * a socket.
 */
void u4n_timer_sent(struct u4n_link *l, const struct sock *sk)
{
	struct u4n_timer *t = &l->timer;

	if (!t->asked)
		return;
	t->asked = false;
	if (!sk || (sk_fullsock(sk) && sk->sk_protocol == IPPROTO_TCP &&
		    !in_serving_softirq()))
		u4n_timer_later(t);
	else
		t->later = 0;
}

/**
 * u4n_timer_poll - have the rings polled from a softirq
 * @l: the link
 */
void u4n_timer_poll(struct u4n_link *l)
{
	hrtimer_start(&l->timer.hrtimer, 0, HRTIMER_MODE_REL_SOFT);
}

/**
 * u4n_timer_cancel - the session has ended
 * @l: the link, for which nothing arms the timer any more
 */
void u4n_timer_cancel(struct u4n_link *l)
{
	struct u4n_timer *t = &l->timer;

	hrtimer_cancel(&t->hrtimer);
	t->armed = false;
	t->soon = false;
	t->asked = false;
	t->rx_ready = false;
	t->later = 0;
	t->idle = 0;
}

/**
 * u4n_timer_setup - initialise the timer of a new link
 * @l: the link
 */
void u4n_timer_setup(struct u4n_link *l)
{
	hrtimer_setup(&l->timer.hrtimer, u4n_timer_fire, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}
