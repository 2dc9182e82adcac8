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
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "u4n.h"

/* Offset of a ring's doorbell in the host interface's registers */
#define U4N_REG_TX(hop)	(0x00000 + 16 * (hop) + 8)	/* index in bits 31:16 */
#define U4N_REG_RX(hop)	(0x08000 + 16 * (hop) + 8)	/* index in bits 15:0 */

/**
 * u4n_ring_init - take over a ring from the core
 * @r: the ring
 * @tb: the core's, not started
 *
 * Return: 0 or -ENOMEM.
 */
int u4n_ring_init(struct u4n_ring *r, struct tb_ring *tb)
{
	u32 size = tb->size;

	if (WARN_ON_ONCE(!is_power_of_2(size)))
		return -EINVAL;
	if (!tb->is_tx) {
		r->frames = kvcalloc(size, sizeof(*r->frames), GFP_KERNEL);
		if (!r->frames)
			return -ENOMEM;
	}
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
 * u4n_ring_kick_rx - make all buffers known that were posted
 * @l: the link
 */
void u4n_ring_kick_rx(struct u4n_link *l)
{
	struct u4n_ring *r = &l->rx.ring;

	if (r->running)
		iowrite32(r->head & r->mask, r->doorbell);
}
