/* SPDX-License-Identifier: GPL-2.0 */
/* What ring_direct.c does for each frame. Included by u4n.h, at its end. */
#ifndef _U4N_RING_DIRECT_H
#define _U4N_RING_DIRECT_H

#include <linux/bitfield.h>

/**
 * struct u4n_desc - descriptor in memory
 * @addr: DMA address of the frame
 * @info: %U4N_DESC_LEN and so on. For transmission all of it is ours but
 *	%RING_DESC_COMPLETED, for reception only %RING_DESC_POSTED and
 *	%RING_DESC_INTERRUPT are, until the hardware replaces all of it.
 * @time: always 0
 */
struct u4n_desc {
	__le64 addr;
	__le32 info;
	__le32 time;
};

#define U4N_DESC_LEN	GENMASK(11, 0)		/* 0 means 4096 */
#define U4N_DESC_EOF	GENMASK(15, 12)
#define U4N_DESC_SOF	GENMASK(19, 16)
#define U4N_DESC_FLAGS	GENMASK(31, 20)		/* enum ring_desc_flags */

/* Of a received frame: everything but the flags that say nothing about it */
#define U4N_DESC_RX	(U4N_DESC_LEN | U4N_DESC_EOF | U4N_DESC_SOF | \
			 FIELD_PREP(U4N_DESC_FLAGS, RING_DESC_COMPLETED | \
				    RING_DESC_CRC_ERROR | \
				    RING_DESC_BUFFER_OVERRUN))

/* What a buffer is posted with */
#define U4N_DESC_BUF	FIELD_PREP(U4N_DESC_FLAGS, \
				   RING_DESC_POSTED | RING_DESC_INTERRUPT)

/* From one BODY frame to the next, exclusive or */
#define U4N_DESC_TURN	FIELD_PREP(U4N_DESC_EOF, U4N_BODY_TURN)

static_assert(sizeof(struct u4n_desc) == 16);

static inline void u4n_ring_fill(struct u4n_desc *desc, dma_addr_t dma, u32 info)
{
	desc->addr = cpu_to_le64(dma);
	desc->time = 0;
	/* the hardware may look ahead: nothing is valid before the flag is */
	dma_wmb();
	WRITE_ONCE(desc->info, cpu_to_le32(info));
}

static inline void u4n_ring_post(struct u4n_ring *r, struct ring_frame *frame,
				 u32 info)
{
	u32 head = r->head;

	u4n_ring_fill(&r->desc[head & r->mask], frame->buffer_phy, info);
	WRITE_ONCE(r->head, head + 1);
}

/* What COMPLETED descriptors say, or 0 */
static inline u32 u4n_ring_completed(const struct u4n_ring *r)
{
	u32 tail = READ_ONCE(r->tail);
	u32 info;

	if (tail == READ_ONCE(r->head))
		return 0;
	info = le32_to_cpu(READ_ONCE(r->desc[tail & r->mask].info));
	if (!(info & FIELD_PREP(U4N_DESC_FLAGS, RING_DESC_COMPLETED)))
		return 0;
	/* nothing that the hardware has written before may be read earlier */
	dma_rmb();
	return info;
}

static inline struct ring_frame *u4n_ring_take(struct u4n_ring *r)
{
	u32 tail = r->tail;

	WRITE_ONCE(r->tail, tail + 1);
	return r->frames[tail & r->mask];
}

/**
 * u4n_ring_post_tx - give a frame to the transmit ring
 * @l: the link
 * @frame: frame, one less than the ring's size may be in there
 *
 * It may stay there unsent until u4n_ring_kick_tx().
 */
static inline void u4n_ring_post_tx(struct u4n_link *l, struct ring_frame *frame)
{
	u4n_ring_post(&l->tx.ring, frame,
		      FIELD_PREP(U4N_DESC_LEN, frame->size) |
		      FIELD_PREP(U4N_DESC_EOF, frame->eof) |
		      FIELD_PREP(U4N_DESC_SOF, frame->sof) |
		      FIELD_PREP(U4N_DESC_FLAGS, RING_DESC_POSTED));
}

/**
 * u4n_ring_post_piece - the same for memory that takes several BODY frames
 * @l: the link
 * @index: number of the first one. The driver counts them as the ring does.
 * @dma: address
 * @len: bytes, at least one; all frames but the last one are full
 * @eof: end tag of the first one
 */
static inline void u4n_ring_post_piece(struct u4n_link *l, u32 index,
				       dma_addr_t dma, unsigned int len,
				       unsigned int eof)
{
	u32 info = FIELD_PREP(U4N_DESC_SOF, U4N_PDF_SOF) |
		   FIELD_PREP(U4N_DESC_EOF, eof) |
		   FIELD_PREP(U4N_DESC_FLAGS, RING_DESC_POSTED);
	struct u4n_ring *r = &l->tx.ring;
	struct u4n_desc *desc = r->desc;
	u32 mask = r->mask;

	for (; len > U4N_FRAME_SIZE; len -= U4N_FRAME_SIZE) {
		u4n_ring_fill(&desc[index++ & mask], dma, info);
		info ^= U4N_DESC_TURN;
		dma += U4N_FRAME_SIZE;
	}
	u4n_ring_fill(&desc[index++ & mask], dma, info |
		      FIELD_PREP(U4N_DESC_LEN, len & (U4N_FRAME_SIZE - 1)));
	WRITE_ONCE(r->head, index);
}

/**
 * u4n_ring_post_rx - give a buffer to the receive ring
 * @l: the link
 * @frame: frame, one less than the ring's size may be in there
 *
 * It is of no use until u4n_ring_kick_rx(), so the peer must not be told before.
 */
static inline void u4n_ring_post_rx(struct u4n_link *l, struct ring_frame *frame)
{
	struct u4n_ring *r = &l->rx.ring;

	r->frames[r->head & r->mask] = frame;
	u4n_ring_post(r, frame, U4N_DESC_BUF);
}

/**
 * u4n_ring_reap_tx - take the oldest frames if all of them have been sent
 * @l: the link
 * @n: their number, so many must be in the ring
 *
 * Frames are sent in order, so the last one tells.
 *
 * Return: true if they are the driver's again.
 */
static inline bool u4n_ring_reap_tx(struct u4n_link *l, unsigned int n)
{
	struct u4n_ring *r = &l->tx.ring;
	u32 tail = r->tail + n;
	u32 info = le32_to_cpu(READ_ONCE(r->desc[(tail - 1) & r->mask].info));

	if (!(info & FIELD_PREP(U4N_DESC_FLAGS, RING_DESC_COMPLETED)))
		return false;
	WRITE_ONCE(r->tail, tail);
	return true;
}

/**
 * u4n_ring_poll_rx - take the next received frame
 * @l: the link
 * @info: what it says. The frame's own fields are not set.
 *
 * Return: the frame or NULL.
 */
static inline struct ring_frame *u4n_ring_poll_rx(struct u4n_link *l,
						  struct u4n_ring_info *info)
{
	struct u4n_ring *r = &l->rx.ring;
	u32 desc = u4n_ring_completed(r);

	if (!desc)
		return NULL;
	info->size = FIELD_GET(U4N_DESC_LEN, desc) ?: U4N_FRAME_SIZE;
	info->flags = FIELD_GET(U4N_DESC_FLAGS, desc);
	info->sof = FIELD_GET(U4N_DESC_SOF, desc);
	info->eof = FIELD_GET(U4N_DESC_EOF, desc);
	return u4n_ring_take(r);
}

/**
 * u4n_ring_run_begin - begin to take BODY frames that are nothing special, and to give
 *	buffers for them
 * @l: the link. Nothing else is done with the receive ring before u4n_ring_run_end().
 * @eof: end tag that the first one is to have
 *
 * Return: the run.
 */
static inline struct u4n_ring_run u4n_ring_run_begin(struct u4n_link *l,
						     unsigned int eof)
{
	const struct u4n_ring *r = &l->rx.ring;

	return (struct u4n_ring_run){
		.desc = r->desc,
		.frames = r->frames,
		.mask = r->mask,
		.head = r->head,
		.tail = r->tail,
		.info = FIELD_PREP(U4N_DESC_EOF, eof) |
			FIELD_PREP(U4N_DESC_SOF, U4N_PDF_SOF) |
			FIELD_PREP(U4N_DESC_FLAGS, RING_DESC_COMPLETED),
	};
}

/**
 * u4n_ring_run_ready - is there another one?
 * @run: the run
 *
 * Return: true if there is a frame of 4096 bytes that has the right tags and is intact.
 */
static inline bool u4n_ring_run_ready(const struct u4n_ring_run *run)
{
	u32 info;

	if (run->tail == run->head)
		return false;
	info = le32_to_cpu(READ_ONCE(run->desc[run->tail & run->mask].info));
	if ((info & U4N_DESC_RX) != run->info)
		return false;
	/* nothing that the hardware has written before may be read earlier */
	dma_rmb();
	return true;
}

/**
 * u4n_ring_run_next - take it
 * @run: the run, which is ready
 *
 * Return: the frame. What it says itself is not set.
 */
static inline struct ring_frame *u4n_ring_run_next(struct u4n_ring_run *run)
{
	run->info ^= U4N_DESC_TURN;
	return run->frames[run->tail++ & run->mask];
}

/**
 * u4n_ring_run_post - u4n_ring_post_rx() during a run
 * @run: the run
 * @frame: frame
 */
static inline void u4n_ring_run_post(struct u4n_ring_run *run,
				     struct ring_frame *frame)
{
	u32 i = run->head++ & run->mask;

	run->frames[i] = frame;
	u4n_ring_fill(&run->desc[i], frame->buffer_phy, U4N_DESC_BUF);
}

/**
 * u4n_ring_run_end - end a run
 * @l: the link
 * @run: the run
 */
static inline void u4n_ring_run_end(struct u4n_link *l,
				    const struct u4n_ring_run *run)
{
	struct u4n_ring *r = &l->rx.ring;

	WRITE_ONCE(r->tail, run->tail);
	WRITE_ONCE(r->head, run->head);
}

/**
 * u4n_ring_rx_ready - is there a received frame to be polled?
 * @l: the link, whose rings run
 *
 * Any context, so it may be out of date.
 *
 * Return: true if there is.
 */
static inline bool u4n_ring_rx_ready(const struct u4n_link *l)
{
	return u4n_ring_completed(&l->rx.ring);
}

#endif /* _U4N_RING_DIRECT_H */
