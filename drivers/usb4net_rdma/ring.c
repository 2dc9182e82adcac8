// SPDX-License-Identifier: GPL-2.0
/*
 * The host interface's rings. The rest of the driver sees struct tb_ring only
 * as something to give to the functions in here.
 *
 * The transmit ring has no interrupt and is polled. The receive ring's interrupt
 * schedules NAPI. No frame has a callback: frames are taken by polling, and what
 * the ring holds when it is stopped is found by our own indices.
 */
#include <linux/hardirq.h>

#include "u4n.h"

/**
 * u4n_ring_dma_dev - the device that does DMA
 * @l: the link, whose rings are allocated
 *
 * Return: the device.
 */
struct device *u4n_ring_dma_dev(const struct u4n_link *l)
{
	return tb_ring_dma_device(l->rx.ring);
}

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
		hrtimer_start(&l->tx.timer, 0, HRTIMER_MODE_REL_SOFT);
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
	int ret;

	l->tx.ring = tb_ring_alloc_tx(nhi, -1, U4N_RING_SIZE,
				      RING_FLAG_FRAME | RING_FLAG_NO_INTERRUPT);
	if (!l->tx.ring)
		goto no_ring;

	l->rx.ring = tb_ring_alloc_rx(nhi, -1, U4N_RING_SIZE, RING_FLAG_FRAME, 0,
				      U4N_SOF_MASK, U4N_EOF_MASK,
				      u4n_ring_start_poll, l);
	if (!l->rx.ring)
		goto free_tx;

	ret = tb_xdomain_alloc_out_hopid(l->xd, -1);
	if (ret < 0) {
		netdev_err(l->ndev, "no free HopID on the link: %d\n", ret);
		goto free_rx;
	}
	l->out_hopid = ret;

	tb_ring_throttling(l->rx.ring, U4N_THROTTLE_NS);
	return 0;

free_rx:
	tb_ring_free(l->rx.ring);
	l->rx.ring = NULL;
	tb_ring_free(l->tx.ring);
	l->tx.ring = NULL;
	return ret;

free_tx:
	tb_ring_free(l->tx.ring);
	l->tx.ring = NULL;
no_ring:
	netdev_err(l->ndev,
		   "no free pair of rings: the host interface has %u, one of them for control; close another user (thunderbolt_net?) first\n",
		   nhi->hop_count);
	return -ENOSPC;
}

/**
 * u4n_ring_free - undo u4n_ring_alloc()
 * @l: the link
 */
void u4n_ring_free(struct u4n_link *l)
{
	tb_xdomain_release_out_hopid(l->xd, l->out_hopid);
	tb_ring_free(l->rx.ring);
	l->rx.ring = NULL;
	tb_ring_free(l->tx.ring);
	l->tx.ring = NULL;
}

/**
 * u4n_ring_start - enable both rings, empty
 * @l: the link
 */
void u4n_ring_start(struct u4n_link *l)
{
	/* u4n_ring_stop() has taken it away */
	l->rx.ring->start_poll = u4n_ring_start_poll;
	clear_bit(0, &l->rx.masked);

	tb_ring_start(l->tx.ring);
	tb_ring_start(l->rx.ring);
}

/*
 * tb_ring_stop() warns if the interrupt is masked, which it is from the time it
 * fires until it has been polled. So make sure that it is unmasked and that
 * nothing masks it again: without start_poll an interrupt only queues the
 * ring's work, which finds frames without a callback. What is masked changes
 * under these two locks only.
 */
static void u4n_ring_end_polling(struct u4n_link *l)
{
	struct tb_ring *ring = l->rx.ring;
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
	u4n_ring_end_polling(l);
	tb_ring_stop(l->rx.ring);
	tb_ring_stop(l->tx.ring);
}

/**
 * u4n_ring_post_tx - give a frame to the transmit ring
 * @l: the link
 * @frame: frame, one of at most %U4N_RING_SIZE - 1 in the ring
 *
 * It may stay there unsent until u4n_ring_kick_tx().
 *
 * Fails only if the host interface is being removed. The frame then stays where
 * it is until the ring is flushed, like one that is never completed.
 */
void u4n_ring_post_tx(struct u4n_link *l, struct ring_frame *frame)
{
	tb_ring_tx(l->tx.ring, frame);
}

/**
 * u4n_ring_kick_tx - have all frames sent that were posted
 * @l: the link
 */
void u4n_ring_kick_tx(struct u4n_link *l)
{
	/* tb_ring_tx() has done it */
}

/**
 * u4n_ring_post_rx - give a buffer to the receive ring
 * @l: the link
 * @frame: frame, one of at most %U4N_RING_SIZE - 1 in the ring
 *
 * It is of no use until u4n_ring_kick_rx(), so the peer must not be told before.
 */
void u4n_ring_post_rx(struct u4n_link *l, struct ring_frame *frame)
{
	tb_ring_rx(l->rx.ring, frame);
}

/**
 * u4n_ring_kick_rx - make all buffers known that were posted
 * @l: the link
 */
void u4n_ring_kick_rx(struct u4n_link *l)
{
	/* tb_ring_rx() has done it */
}

/**
 * u4n_ring_poll_tx - take the oldest frame if it has been sent
 * @l: the link
 *
 * Return: the frame or NULL.
 */
struct ring_frame *u4n_ring_poll_tx(struct u4n_link *l)
{
	return tb_ring_poll(l->tx.ring);
}

/**
 * u4n_ring_poll_rx - take the next received frame
 * @l: the link
 *
 * Return: the frame or NULL.
 */
struct ring_frame *u4n_ring_poll_rx(struct u4n_link *l)
{
	return tb_ring_poll(l->rx.ring);
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
		tb_ring_poll_complete(l->rx.ring);
}
