// SPDX-License-Identifier: GPL-2.0
/*
 * The host interface's rings as a whole, and their interrupt. The rest of the
 * driver knows no more of them than ring.h tells.
 *
 * The transmit ring has no interrupt and is polled. The receive ring's interrupt
 * schedules NAPI. It is masked by the core when it fires, and unmasked through
 * the core when NAPI is done, which is two register reads. With
 * patches/thunderbolt/ it reads none, and masks what fires twice only. What the
 * rings hold when they are stopped is found by the indices of tx.c and rx.c.
 */
#include <linux/hardirq.h>
#include <linux/io.h>

#include "u4n.h"

/* Registers that linux/thunderbolt.h does not have */
#define U4N_NHI_THROTTLING	0x38c00	/* interval of each vector */
#define U4N_NHI_THROTTLING_NS	256	/* its unit */
#define U4N_NHI_THROTTLING_MAX	0xffff

/*
 * In hard interrupt context as a rule. With one interrupt for all rings it is a
 * work item with interrupts off, where nothing would look at a raised softirq
 * for a while: the timer does.
 */
static void u4n_ring_start_poll(void *data)
{
	struct u4n_link *l = data;

	set_bit(0, &l->rx.masked);
	if (in_hardirq())
		napi_schedule(&l->napi);
	else
		u4n_timer_poll(l);
}

/**
 * u4n_ring_alloc - get a pair of rings and a HopID to transmit on
 * @l: the link
 *
 * Return: 0 or a negative error; it has been logged.
 */
int u4n_ring_alloc(struct u4n_link *l)
{
	struct tb_nhi *nhi = l->xd->tb->nhi;
	struct tb_ring *tx, *rx;
	int ret;

	tx = tb_ring_alloc_tx(nhi, -1, l->tx.size,
			      RING_FLAG_FRAME | RING_FLAG_NO_INTERRUPT);
	if (!tx)
		goto no_ring;
	rx = tb_ring_alloc_rx(nhi, -1, l->rx.size, RING_FLAG_FRAME, 0,
			      U4N_SOF_MASK, U4N_EOF_MASK,
			      u4n_ring_start_poll, l);
	if (!rx)
		goto free_tx;

	ret = u4n_ring_init(&l->tx.ring, tx);
	if (ret)
		goto free_rx;
	ret = u4n_ring_init(&l->rx.ring, rx);
	if (ret)
		goto exit_tx;

	ret = tb_xdomain_alloc_out_hopid(l->xd, -1);
	if (ret < 0) {
		netdev_err(l->ndev, "no free HopID on the link: %d\n", ret);
		goto exit_rx;
	}
	l->out_hopid = ret;

	u4n_moder_start(l);
	return 0;

exit_rx:
	u4n_ring_exit(&l->rx.ring);
exit_tx:
	u4n_ring_exit(&l->tx.ring);
free_rx:
	tb_ring_free(rx);
	tb_ring_free(tx);
	return ret;

free_tx:
	tb_ring_free(tx);
no_ring:
	netdev_err(l->ndev,
		   "no free pair of rings: the host interface has %u, one of them for control; close another user (thunderbolt_net?) first, unless it is memory that is short\n",
		   nhi->hop_count);
	return -ENOSPC;
}

/**
 * u4n_ring_free - undo u4n_ring_alloc()
 * @l: the link
 */
void u4n_ring_free(struct u4n_link *l)
{
	struct tb_ring *tx = l->tx.ring.tb;
	struct tb_ring *rx = l->rx.ring.tb;

	u4n_moder_stop(l);
	tb_xdomain_release_out_hopid(l->xd, l->out_hopid);
	u4n_ring_exit(&l->rx.ring);
	u4n_ring_exit(&l->tx.ring);
	tb_ring_free(rx);
	tb_ring_free(tx);
}

/**
 * u4n_ring_start - enable both rings, empty
 * @l: the link
 */
void u4n_ring_start(struct u4n_link *l)
{
	/* u4n_ring_stop() has taken it away */
	l->rx.ring.tb->start_poll = u4n_ring_start_poll;
	clear_bit(0, &l->rx.masked);

	tb_ring_start(l->tx.ring.tb);
	u4n_ring_reset(&l->tx.ring);
	tb_ring_start(l->rx.ring.tb);
	u4n_ring_reset(&l->rx.ring);
	u4n_moder_again(l);
}

/*
 * tb_ring_stop() warns if the interrupt is masked, which it is from the time it
 * fires until it has been polled. So make sure that it is unmasked and that
 * nothing masks it again: without start_poll an interrupt only queues the
 * ring's work, which finds the ring empty. What is masked changes
 * under these two locks only.
 */
static void u4n_ring_end_polling(struct u4n_link *l)
{
	struct tb_ring *ring = l->rx.ring.tb;
	bool masked;

	do {
		if (test_and_clear_bit(0, &l->rx.masked))
			tb_ring_poll_complete(ring);

		spin_lock_irq(&ring->nhi->lock);
		spin_lock(&ring->lock);
		masked = test_bit(0, &l->rx.masked);
		if (!masked)
			ring->start_poll = NULL;
		spin_unlock(&ring->lock);
		spin_unlock_irq(&ring->nhi->lock);
	} while (masked);
}

/**
 * u4n_ring_stop - disable both rings
 * @l: the link, whose NAPI is disabled and whose paths are closed
 *
 * The memory of all frames belongs to the driver again.
 */
void u4n_ring_stop(struct u4n_link *l)
{
	struct tb_nhi *nhi = l->xd->tb->nhi;

	u4n_ring_end_polling(l);
	tb_ring_stop(l->rx.ring.tb);
	u4n_ring_reset(&l->rx.ring);
	tb_ring_stop(l->tx.ring.tb);
	u4n_ring_reset(&l->tx.ring);

	/* what has stopped the rings are writes: this reads after them */
	if (!nhi->going_away)
		ioread32(nhi->iobase + U4N_NHI_THROTTLING);
}

/**
 * u4n_ring_unmask - let the receive ring interrupt again after polling
 * @l: the link
 *
 * NAPI is scheduled by the timer as well, and then there is nothing to unmask.
 */
void u4n_ring_unmask(struct u4n_link *l)
{
	if (test_and_clear_bit(0, &l->rx.masked))
		tb_ring_poll_complete(l->rx.ring.tb);
}

/**
 * u4n_ring_throttle - set the least time between two interrupts
 * @l: the link, whose rings are allocated; they may run
 * @nsec: the time, 0 for none
 *
 * tb_ring_throttling() does the same for rings that are stopped: it leaves the
 * interval for when the ring is started.
 *
 * Return: 0; -EOPNOTSUPP if the ring shares its interrupt with the control
 * channel, -ERANGE.
 */
int u4n_ring_throttle(struct u4n_link *l, unsigned int nsec)
{
	unsigned int interval = DIV_ROUND_UP(nsec, U4N_NHI_THROTTLING_NS);
	struct tb_ring *ring = l->rx.ring.tb;
	struct tb_nhi *nhi = ring->nhi;
	unsigned long flags;

	if (interval > U4N_NHI_THROTTLING_MAX)
		return -ERANGE;
	if (ring->irq <= 0)
		return -EOPNOTSUPP;

	/* the first is what starts and stops interrupts, which write it too */
	spin_lock_irqsave(&nhi->lock, flags);
	spin_lock(&ring->lock);
	u4n_ring_set_interval(ring, nsec);
	if (!nhi->going_away)
		iowrite32(interval, nhi->iobase + U4N_NHI_THROTTLING +
			  ring->vector * 4);
	spin_unlock(&ring->lock);
	spin_unlock_irqrestore(&nhi->lock, flags);
	return 0;
}
