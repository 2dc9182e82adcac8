// SPDX-License-Identifier: GPL-2.0
/*
 * Frames through a core that takes and gives them by the list, which is what
 * patches/thunderbolt/ adds. Kbuild takes this file for such a core, else
 * ring_direct.c.
 */
#include "u4n.h"

#define U4N_RING_BATCH_MAX	64	/* frames to take from the core at once */

/**
 * u4n_ring_init - take over a ring from the core
 * @r: the ring
 * @tb: the core's, not started
 *
 * Return: 0.
 */
int u4n_ring_init(struct u4n_ring *r, struct tb_ring *tb)
{
	r->tb = tb;
	u4n_ring_reset(r);
	return 0;
}

/**
 * u4n_ring_exit - undo u4n_ring_init()
 * @r: the ring
 */
void u4n_ring_exit(struct u4n_ring *r)
{
	r->tb = NULL;
}

/**
 * u4n_ring_reset - begin with an empty ring
 * @r: the ring, just started or stopped
 */
void u4n_ring_reset(struct u4n_ring *r)
{
	INIT_LIST_HEAD(&r->posted);
	INIT_LIST_HEAD(&r->done);
	r->next = &r->done;
	r->num_done = 0;
}

static void u4n_ring_kick(struct u4n_ring *r)
{
	/* fails when the host interface goes away: then they stay where they are */
	tb_ring_enqueue_list(r->tb, &r->posted);
}

/*
 * The next received frame, if any. Those that the core has given are walked along,
 * and each may be posted again once the next one is known: what is behind is no
 * list any more.
 */
static struct ring_frame *u4n_ring_next(struct u4n_ring *r)
{
	if (r->next == &r->done) {
		INIT_LIST_HEAD(&r->done);
		tb_ring_poll_list(r->tb, &r->done, U4N_RING_BATCH_MAX);
		r->next = r->done.next;
		if (r->next == &r->done)
			return NULL;
	}
	return list_entry(r->next, struct ring_frame, list);
}

/**
 * u4n_ring_post_tx - give a frame to the transmit ring
 * @l: the link
 * @frame: frame, one less than the ring's size may be in there
 *
 * It stays unsent until u4n_ring_kick_tx().
 */
void u4n_ring_post_tx(struct u4n_link *l, struct ring_frame *frame)
{
	list_add_tail(&frame->list, &l->tx.ring.posted);
}

/**
 * u4n_ring_post_piece - the same for memory that takes several BODY frames
 * @l: the link
 * @index: number of the first one
 * @dma: address
 * @len: bytes, at least one; all frames but the last one are full
 * @eof: end tag of the first one
 */
void u4n_ring_post_piece(struct u4n_link *l, u32 index, dma_addr_t dma,
			 unsigned int len, unsigned int eof)
{
	struct ring_frame *frame;
	unsigned int n;

	for (; len; len -= n) {
		n = min(len, U4N_FRAME_SIZE);
		frame = &u4n_tx_frame(l, index++)->frame;
		frame->buffer_phy = dma;
		frame->size = n & (U4N_FRAME_SIZE - 1);	/* 0 means 4096 */
		frame->flags = 0;
		frame->eof = eof;
		frame->sof = U4N_PDF_SOF;
		eof ^= U4N_BODY_TURN;
		u4n_ring_post_tx(l, frame);
		dma += n;
	}
}

/**
 * u4n_ring_kick_tx - have all frames sent that were posted
 * @l: the link
 */
void u4n_ring_kick_tx(struct u4n_link *l)
{
	u4n_ring_kick(&l->tx.ring);
}

/**
 * u4n_ring_post_rx - give a buffer to the receive ring
 * @l: the link
 * @frame: frame, one less than the ring's size may be in there
 *
 * It is of no use until u4n_ring_kick_rx(), so the peer must not be told before.
 */
void u4n_ring_post_rx(struct u4n_link *l, struct ring_frame *frame)
{
	list_add_tail(&frame->list, &l->rx.ring.posted);
}

/**
 * u4n_ring_kick_rx - make all buffers known that were posted
 * @l: the link
 */
void u4n_ring_kick_rx(struct u4n_link *l)
{
	u4n_ring_kick(&l->rx.ring);
}

/**
 * u4n_ring_reap_tx - take the oldest frames if all of them have been sent
 * @l: the link
 * @n: their number, so many must be in the ring
 *
 * Return: true if they are the driver's again.
 */
bool u4n_ring_reap_tx(struct u4n_link *l, unsigned int n)
{
	struct u4n_ring *r = &l->tx.ring;
	struct list_head *next;
	LIST_HEAD(reaped);

	while (r->num_done < n) {
		unsigned int got = tb_ring_poll_list(r->tb, &r->done,
						     U4N_RING_BATCH_MAX);

		if (!got)
			return false;
		r->num_done += got;
	}
	r->num_done -= n;
	for (next = r->done.next; n; n--)
		next = next->next;
	list_cut_before(&reaped, &r->done, next);
	return true;
}

/**
 * u4n_ring_poll_rx - take the next received frame
 * @l: the link
 * @info: what it says
 *
 * Return: the frame or NULL.
 */
struct ring_frame *u4n_ring_poll_rx(struct u4n_link *l,
				    struct u4n_ring_info *info)
{
	struct ring_frame *frame = u4n_ring_next(&l->rx.ring);

	if (!frame)
		return NULL;
	l->rx.ring.next = frame->list.next;
	info->size = frame->size ?: U4N_FRAME_SIZE;
	info->flags = frame->flags;
	info->sof = frame->sof;
	info->eof = frame->eof;
	return frame;
}

/**
 * u4n_ring_run_begin - begin to take BODY frames that are nothing special, and to give
 *	buffers for them
 * @l: the link
 * @eof: end tag that the first one is to have
 *
 * Return: the run.
 */
struct u4n_ring_run u4n_ring_run_begin(struct u4n_link *l, unsigned int eof)
{
	return (struct u4n_ring_run){ .l = l, .eof = eof };
}

/**
 * u4n_ring_run_ready - is there another one?
 * @run: the run
 *
 * Return: true if there is a frame of 4096 bytes that has the right tags and is intact.
 */
bool u4n_ring_run_ready(const struct u4n_ring_run *run)
{
	struct ring_frame *frame = u4n_ring_next(&run->l->rx.ring);

	return frame && !frame->size && frame->sof == U4N_PDF_SOF &&
	       frame->eof == run->eof &&
	       !(frame->flags & (RING_DESC_CRC_ERROR | RING_DESC_BUFFER_OVERRUN));
}

/**
 * u4n_ring_run_next - take it
 * @run: the run, which is ready
 *
 * Return: the frame.
 */
struct ring_frame *u4n_ring_run_next(struct u4n_ring_run *run)
{
	struct u4n_ring *r = &run->l->rx.ring;
	struct ring_frame *frame = list_entry(r->next, struct ring_frame, list);

	r->next = frame->list.next;
	run->eof ^= U4N_BODY_TURN;
	return frame;
}

/**
 * u4n_ring_run_post - u4n_ring_post_rx() during a run
 * @run: the run
 * @frame: frame
 */
void u4n_ring_run_post(struct u4n_ring_run *run, struct ring_frame *frame)
{
	u4n_ring_post_rx(run->l, frame);
}

/**
 * u4n_ring_run_end - end a run
 * @l: the link
 * @run: the run
 */
void u4n_ring_run_end(struct u4n_link *l, const struct u4n_ring_run *run)
{
}

/**
 * u4n_ring_rx_ready - is there a received frame to be polled?
 * @l: the link, whose rings run
 *
 * Any context. It says nothing about frames that NAPI has in hand.
 *
 * Return: true if there is.
 */
bool u4n_ring_rx_ready(const struct u4n_link *l)
{
	return tb_ring_poll_ready(l->rx.ring.tb);
}
