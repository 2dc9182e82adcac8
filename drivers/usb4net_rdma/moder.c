// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt moderation. Two interrupts of the receive ring are at least as far
 * apart as the interval says, and one that comes after a longer pause is not
 * late. So an interval costs latency only where packets follow each other
 * faster than that; there it saves interrupts.
 *
 * The interval is fixed, or net_dim chooses one by what it does to throughput.
 */
#include <linux/dim.h>

#include "u4n.h"

#define U4N_MODER_USECS		8	/* default interval */

static void u4n_moder_apply(struct u4n_link *l, unsigned int usecs)
{
	lockdep_assert_held(&l->moder.lock);
	if (!u4n_ring_throttle(l, usecs * NSEC_PER_USEC))
		WRITE_ONCE(l->moder.now, usecs);
}

static void u4n_moder_work(struct work_struct *work)
{
	struct dim *dim = container_of(work, struct dim, work);
	struct u4n_link *l = container_of(dim, struct u4n_link, moder.dim);
	struct dim_cq_moder cq;

	mutex_lock(&l->moder.lock);
	cq = net_dim_get_rx_moderation(dim->mode, dim->profile_ix);
	if (l->moder.adaptive)
		u4n_moder_apply(l, cq.usec);
	dim->state = DIM_START_MEASURE;
	mutex_unlock(&l->moder.lock);
}

/**
 * u4n_moder_poll - NAPI has nothing more to do for now
 * @l: the link
 */
void u4n_moder_poll(struct u4n_link *l)
{
	struct dim_sample sample = { };

	if (!READ_ONCE(l->moder.adaptive))
		return;
	/* NAPI itself writes these counters */
	dim_update_sample(++l->moder.events, u64_stats_read(&l->rx.packets),
			  u64_stats_read(&l->rx.bytes), &sample);
	net_dim(&l->moder.dim, &sample);
}

/**
 * u4n_moder_set - configure moderation
 * @l: the link; the caller holds its network device's lock
 * @usecs: least time between two interrupts while not adaptive
 * @adaptive: the interval follows the traffic
 *
 * Return: 0; -EOPNOTSUPP if the interrupt is not the ring's own.
 */
int u4n_moder_set(struct u4n_link *l, unsigned int usecs, bool adaptive)
{
	struct u4n_moder *m = &l->moder;
	int ret = 0;

	mutex_lock(&m->lock);
	if (l->rx.ring.tb) {
		ret = u4n_ring_throttle(l, usecs * NSEC_PER_USEC);
		if (ret)
			goto unlock;
		WRITE_ONCE(m->now, usecs);
	}
	m->usecs = usecs;
	if (!m->adaptive)
		m->dim.state = DIM_START_MEASURE;
	WRITE_ONCE(m->adaptive, adaptive);
unlock:
	mutex_unlock(&m->lock);
	return ret;
}

/**
 * u4n_moder_start - configure a new ring
 * @l: the link, whose rings are allocated
 */
void u4n_moder_start(struct u4n_link *l)
{
	mutex_lock(&l->moder.lock);
	u4n_moder_apply(l, l->moder.usecs);
	mutex_unlock(&l->moder.lock);
}

/**
 * u4n_moder_again - configure a ring that has just been started
 * @l: the link
 *
 * A core without tb_ring_throttling() has an interval of its own for all rings, to
 * which it returns when the host interface resumes.
 */
void u4n_moder_again(struct u4n_link *l)
{
	mutex_lock(&l->moder.lock);
	u4n_moder_apply(l, l->moder.now);
	mutex_unlock(&l->moder.lock);
}

/**
 * u4n_moder_stop - leave the ring alone
 * @l: the link, whose rings are stopped
 */
void u4n_moder_stop(struct u4n_link *l)
{
	cancel_work_sync(&l->moder.dim.work);
	l->moder.dim.state = DIM_START_MEASURE;
	l->moder.now = 0;
}

/**
 * u4n_moder_setup - initialise the moderation of a new link
 * @l: the link
 */
void u4n_moder_setup(struct u4n_link *l)
{
	mutex_init(&l->moder.lock);
	l->moder.usecs = U4N_MODER_USECS;
	INIT_WORK(&l->moder.dim.work, u4n_moder_work);
	l->moder.dim.mode = DIM_CQ_PERIOD_MODE_START_FROM_CQE;
	l->moder.dim.profile_ix = NET_DIM_DEF_PROFILE_CQE;
}
