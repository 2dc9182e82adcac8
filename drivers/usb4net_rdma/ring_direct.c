// SPDX-License-Identifier: GPL-2.0
/*
 * Frames through the rings' descriptors, past tb_ring_tx(), tb_ring_rx() and
 * tb_ring_poll(). Those take a lock for each frame and write the doorbell for
 * each; we write it once for all frames of a batch.
 *
 * The core still owns the ring as such: its memory, its registers other than
 * the doorbell, its interrupt. No frame goes through the core, so that for it
 * head and tail are both 0 from start to stop: then neither its work nor
 * tb_ring_stop() looks at a descriptor. Never mix the two.
 *
 * The layout of descriptors and registers is that of "struct ring_desc" and
 * REG_TX_RING_BASE, REG_RX_RING_BASE in drivers/thunderbolt/nhi_regs.h; what is
 * written to them that of ring_write_descriptors() in nhi.c there. The same is
 * found in "Transmit Descriptor", "Receive Descriptor" and "Host Interface
 * Registers" of the USB4 specification.
 */
#include <linux/bitfield.h>
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "u4n.h"

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

/* Offset of a ring's doorbell in the host interface's registers */
#define U4N_REG_TX(hop)	(0x00000 + 16 * (hop) + 8)	/* index in bits 31:16 */
#define U4N_REG_RX(hop)	(0x08000 + 16 * (hop) + 8)	/* index in bits 15:0 */

static_assert(sizeof(struct u4n_desc) == 16);

/**
 * u4n_ring_init - take over a ring from the core
 * @r: the ring
 * @tb: the core's, not started
 *
 * Return: 0 or -ENOMEM.
 */
int u4n_ring_init(struct u4n_ring *r, struct tb_ring *tb)
{
	u32 size = tb_ring_size(tb);

	if (WARN_ON_ONCE(!is_power_of_2(size)))
		return -EINVAL;
	r->frames = kvcalloc(size, sizeof(*r->frames), GFP_KERNEL);
	if (!r->frames)
		return -ENOMEM;
	r->desc = (struct u4n_desc *)tb->descriptors;
	r->doorbell = tb->nhi->iobase + (tb->is_tx ? U4N_REG_TX(tb->hop) :
					 U4N_REG_RX(tb->hop));
	r->mask = size - 1;
	r->tb = tb;
	return 0;
}

/**
 * u4n_ring_exit - undo u4n_ring_init()
 * @r: the ring
 */
void u4n_ring_exit(struct u4n_ring *r)
{
	kvfree(r->frames);
	r->frames = NULL;
	r->tb = NULL;
}

/**
 * u4n_ring_reset - begin with an empty ring
 * @r: the ring, just started or stopped
 *
 * The core does not start a ring if the host interface is about to go away.
 * Then nothing is sent and nothing is received.
 */
void u4n_ring_reset(struct u4n_ring *r)
{
	r->head = 0;
	r->tail = 0;
	r->running = r->tb->running;
}

static void u4n_ring_post(struct u4n_ring *r, struct ring_frame *frame, u32 info)
{
	u32 head = r->head;
	struct u4n_desc *desc = &r->desc[head & r->mask];

	r->frames[head & r->mask] = frame;
	desc->addr = cpu_to_le64(frame->buffer_phy);
	desc->time = 0;
	/* the hardware may look ahead: nothing is valid before the flag is */
	dma_wmb();
	WRITE_ONCE(desc->info, cpu_to_le32(info));
	WRITE_ONCE(r->head, head + 1);
}

/* What COMPLETED descriptors say, or 0 */
static u32 u4n_ring_completed(const struct u4n_ring *r)
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

static struct ring_frame *u4n_ring_take(struct u4n_ring *r)
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
void u4n_ring_post_tx(struct u4n_link *l, struct ring_frame *frame)
{
	u4n_ring_post(&l->tx.ring, frame,
		      FIELD_PREP(U4N_DESC_LEN, frame->size) |
		      FIELD_PREP(U4N_DESC_EOF, frame->eof) |
		      FIELD_PREP(U4N_DESC_SOF, frame->sof) |
		      FIELD_PREP(U4N_DESC_FLAGS, RING_DESC_POSTED));
}

/**
 * u4n_ring_kick_tx - have all frames sent that were posted
 * @l: the link
 *
 * The other half of the register is the hardware's and ignores what is written.
 * iowrite32() comes after all that was written to descriptors and frames.
 */
void u4n_ring_kick_tx(struct u4n_link *l)
{
	struct u4n_ring *r = &l->tx.ring;

	if (r->running)
		iowrite32((r->head & r->mask) << 16, r->doorbell);
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
	u4n_ring_post(&l->rx.ring, frame,
		      FIELD_PREP(U4N_DESC_FLAGS,
				 RING_DESC_POSTED | RING_DESC_INTERRUPT));
}

/**
 * u4n_ring_kick_rx - make all buffers known that were posted
 * @l: the link
 */
void u4n_ring_kick_rx(struct u4n_link *l)
{
	struct u4n_ring *r = &l->rx.ring;

	if (r->running)
		iowrite32(r->head & r->mask, r->doorbell);
}

/**
 * u4n_ring_poll_tx - take the oldest frame if it has been sent
 * @l: the link
 *
 * Return: the frame or NULL.
 */
struct ring_frame *u4n_ring_poll_tx(struct u4n_link *l)
{
	struct u4n_ring *r = &l->tx.ring;

	return u4n_ring_completed(r) ? u4n_ring_take(r) : NULL;
}

/**
 * u4n_ring_poll_rx - take the next received frame
 * @l: the link
 *
 * Return: the frame or NULL.
 */
struct ring_frame *u4n_ring_poll_rx(struct u4n_link *l)
{
	struct u4n_ring *r = &l->rx.ring;
	u32 info = u4n_ring_completed(r);
	struct ring_frame *frame;

	if (!info)
		return NULL;
	frame = u4n_ring_take(r);
	frame->size = FIELD_GET(U4N_DESC_LEN, info);
	frame->eof = FIELD_GET(U4N_DESC_EOF, info);
	frame->sof = FIELD_GET(U4N_DESC_SOF, info);
	frame->flags = FIELD_GET(U4N_DESC_FLAGS, info);
	return frame;
}

/**
 * u4n_ring_rx_ready - is there a received frame to be polled?
 * @l: the link, whose rings run
 *
 * Any context, so it may be out of date.
 *
 * Return: true if there is.
 */
bool u4n_ring_rx_ready(const struct u4n_link *l)
{
	return u4n_ring_completed(&l->rx.ring);
}
