// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit and receive rings. A frame moves from one guest's memory to the
 * other's inside the doorbell write that posts it.
 *
 * With end-to-end flow control the sender waits until the receiver posts a
 * descriptor. Without it a frame that finds none is lost and the receiver's
 * overflow status is set, as in hardware. The receive ring's option decides:
 * it is the one that grants credits, and thunderbolt_net sets no other.
 */
#include "emu.h"

const char *const emu_drop_names[EMU_NR_DROPS] = {
	[EMU_DROP_NONE]		= "none",
	[EMU_DROP_NO_PATH]	= "no_path",
	[EMU_DROP_PEER_NO_PATH]	= "peer_no_path",
	[EMU_DROP_BAD_PATH]	= "bad_path",
	[EMU_DROP_LOOP]		= "loop",
	[EMU_DROP_UNPLUGGED]	= "unplugged",
	[EMU_DROP_RX_DISABLED]	= "rx_disabled",
	[EMU_DROP_OVERFLOW]	= "overflow",
	[EMU_DROP_PDF]		= "pdf",
	[EMU_DROP_DMA]		= "dma",
	[EMU_DROP_FAULT]	= "fault",
};

bool emu_ring_enabled(const struct emu_ring *ring)
{
	return ring->options & NHI_OPT_ENABLE;
}

/* Indices outside the ring are refused when written, see nhi.c. */
bool emu_rx_room(const struct emu_ring *ring)
{
	return emu_ring_enabled(ring) && ring->dev != ring->drv;
}

static void emu_ring_advance(struct emu_ring *ring, u32 len)
{
	ring->dev = (ring->dev + 1) % ring->size;
	ring->frames++;
	ring->bytes += len;
}

static void emu_tx_set_stalled(struct emu_router *rt, struct emu_ring *tx, bool stalled)
{
	if (tx->stalled == stalled)
		return;
	tx->stalled = stalled;
	if (stalled) {
		tx->stalls++;
		rt->e->nr_stalled++;
	} else {
		rt->e->nr_stalled--;
	}
}

void emu_tx_stop(struct emu_router *rt, u32 hop)
{
	emu_tx_set_stalled(rt, &rt->tx[hop], false);
	rt->tx[hop].judged = false;
}

/* The length is the guest's: cut what does not fit and mark it, as hardware. */
static u32 emu_rx_word(const struct emu_ring *rx, u32 *len, u32 sof, u32 eof)
{
	u32 flags = DESC_COMPLETED;
	u32 max = DESC_MAX_FRAME;

	if (rx->frame_size && rx->frame_size < max)
		max = rx->frame_size;
	if (*len > max) {
		*len = max;
		flags |= DESC_OVERRUN;
	}
	return flags | sof << 16 | eof << 12 | (*len & 0xfff);
}

static void emu_rx_complete(struct emu_router *rt, u32 hop, struct emu_desc *d, u32 word, u32 len)
{
	bool interrupt = d->word & DESC_INTERRUPT;

	emu_desc_put(d, word);
	emu_ring_advance(&rt->rx[hop], len);
	if (interrupt)
		emu_irq_raise(rt, rt->nr_rings + hop);
}

/* Returns false if the ring's memory cannot be reached: the packet waits. */
bool emu_rx_control(struct emu_router *rt, const struct emu_ctl_packet *p)
{
	struct emu_ring *rx = &rt->rx[0];
	struct emu_desc d;
	u32 len = p->len, word;

	if (!emu_desc_get(rt, rx, &d))
		return false;
	word = emu_rx_word(rx, &len, 0, p->type);
	emu_dma_write(rt, d.phys, p->data, len);
	emu_rx_complete(rt, 0, &d, word, len);
	return true;
}

static bool emu_rx_accepts(const struct emu_ring *rx, u32 sof, u32 eof)
{
	return (rx->options & NHI_OPT_RAW) ||
	       ((rx->pdf_mask >> 16 & BIT(sof)) && (rx->pdf_mask & BIT(eof)));
}

/*
 * A frame travels in packets: the first one has the start tag, the last one the
 * end tag. A start tag that the receiver takes for an end tag ends the frame.
 */
static void emu_rx_cut(struct emu_ring *rx, u32 *len, u32 sof, u32 *eof)
{
	if ((rx->options & NHI_OPT_RAW) || *len <= DESC_PACKET || !(rx->pdf_mask & BIT(sof)))
		return;
	*len = DESC_PACKET;
	*eof = sof;
	rx->cuts++;
}

/* Where a frame goes, and what its descriptor will say */
struct emu_rx_slot {
	struct emu_desc desc;
	u32 word;
	u32 len;
};

static enum emu_drop emu_rx_begin(const struct emu_path *path, u32 sof, u32 eof, u32 len,
				  struct emu_rx_slot *slot)
{
	struct emu_router *rt = path->dst;
	struct emu_ring *rx = &rt->rx[path->ring];

	if (!emu_ring_enabled(rx))
		return EMU_DROP_RX_DISABLED;
	if (!emu_rx_accepts(rx, sof, eof))
		return EMU_DROP_PDF;
	if ((rx->options & NHI_OPT_E2E) && emu_fault_starved(rt, path->ring))
		return EMU_STALL;
	if (!emu_rx_room(rx)) {
		if (rx->options & NHI_OPT_E2E)
			return EMU_STALL;
		emu_irq_overflow(rt, path->ring);
		return EMU_DROP_OVERFLOW;
	}
	if (!emu_desc_get(rt, rx, &slot->desc))
		return EMU_DROP_DMA;
	slot->len = len;
	emu_rx_cut(rx, &slot->len, sof, &eof);
	slot->word = emu_rx_word(rx, &slot->len, sof, eof);
	return EMU_DROP_NONE;
}

static enum emu_drop emu_rx_frame(const struct emu_path *path, const struct emu_desc *from,
				  u32 len, const struct emu_frame_fault *f)
{
	struct emu_router *rt = path->dst;
	struct emu_rx_slot to;
	enum emu_drop drop;

	if (emu_is_stranger(rt))
		return emu_hostile_frame(path, from, len);
	drop = emu_rx_begin(path, DESC_SOF(from->word), DESC_EOF(from->word), len, &to);
	if (drop != EMU_DROP_NONE)
		return drop;
	if (!emu_dma_copy(path->src, from->phys, rt, to.desc.phys, to.len))
		return EMU_DROP_DMA;
	emu_fault_corrupt(rt, f, to.desc.phys, to.len);
	emu_rx_complete(rt, path->ring, &to.desc, to.word | (f->crc ? DESC_CRC_ERROR : 0),
			to.len);
	return EMU_DROP_NONE;
}

/*
 * A frame that is in nobody's memory. @tags are those of a descriptor, and the flags
 * that the receiver's will have.
 */
enum emu_drop emu_rx_inject(const struct emu_path *path, const void *buf, u32 len, u32 tags)
{
	struct emu_router *rt = path->dst;
	struct emu_rx_slot to;
	enum emu_drop drop;

	drop = emu_rx_begin(path, DESC_SOF(tags), DESC_EOF(tags), len, &to);
	if (drop != EMU_DROP_NONE)
		return drop;
	if (!emu_dma_write(rt, to.desc.phys, buf, to.len))
		return EMU_DROP_DMA;
	emu_rx_complete(rt, path->ring, &to.desc,
			to.word | (tags & (DESC_CRC_ERROR | DESC_OVERRUN)), to.len);
	return EMU_DROP_NONE;
}

/* Returns false if the frame is held back by a fault. */
static bool emu_tx_judge(const struct emu_path *path, struct emu_ring *tx, u32 word, u32 len)
{
	struct emu *e = path->src->e;

	if (!tx->judged)
		emu_fault_frame(path, DESC_SOF(word), DESC_EOF(word), len, &tx->fault);
	tx->judged = true;
	if (!tx->fault.release || emu_now(e) >= tx->fault.release)
		return true;
	emu_set_deadline(e, tx->fault.release);
	return false;
}

static enum emu_drop emu_tx_deliver(const struct emu_path *path, struct emu_ring *tx,
				    const struct emu_desc *d, u32 len)
{
	const struct emu_frame_fault *f = &tx->fault;
	enum emu_drop drop;

	if (!emu_tx_judge(path, tx, d->word, len))
		return EMU_STALL;
	if (f->drop)
		return EMU_DROP_FAULT;
	if (f->len)
		len = f->len;
	drop = emu_rx_frame(path, d, len, f);
	if (f->dup && drop == EMU_DROP_NONE)
		emu_rx_frame(path, d, len, f);
	return drop;
}

/* Returns false if the frame has to wait. */
static bool emu_tx_frame(struct emu_router *rt, u32 hop, const struct emu_desc *d, u32 len)
{
	struct emu_ring *tx = &rt->tx[hop];
	struct emu_path path;
	enum emu_drop drop;

	drop = emu_path_find(rt, hop, &path);
	if (drop == EMU_DROP_NONE && !emu_dma_check(rt, d->phys, len, false))
		drop = EMU_DROP_DMA;
	if (drop == EMU_DROP_NONE)
		drop = emu_tx_deliver(&path, tx, d, len);
	if (drop == EMU_STALL)
		return false;
	tx->judged = false;
	if (rt->e->capturing)
		emu_capture_frame(&path, d->phys, len, DESC_SOF(d->word), DESC_EOF(d->word), drop);
	if (drop == EMU_DROP_NONE)
		return true;
	tx->drops[drop]++;
	if (drop == EMU_DROP_OVERFLOW)
		path.dst->rx[path.ring].drops[EMU_DROP_OVERFLOW]++;
	return true;
}

/* Returns true if a descriptor was consumed. */
static bool emu_tx_step(struct emu_router *rt, u32 hop)
{
	struct emu_ring *tx = &rt->tx[hop];
	struct emu_desc d;
	u32 len;

	if (!emu_ring_enabled(tx) || tx->wedged || tx->dev == tx->drv ||
	    !emu_desc_get(rt, tx, &d)) {
		emu_tx_set_stalled(rt, tx, false);
		return false;
	}
	len = DESC_LEN(d.word) ? DESC_LEN(d.word) : DESC_MAX_FRAME;
	if (!hop) {
		emu_ctl_input(rt, DESC_EOF(d.word), d.phys, len);
	} else if (!emu_tx_frame(rt, hop, &d, len)) {
		emu_tx_set_stalled(rt, tx, true);
		return false;
	}
	emu_tx_set_stalled(rt, tx, false);
	emu_desc_put(&d, d.word | DESC_COMPLETED);
	emu_ring_advance(tx, len);
	if (d.word & DESC_INTERRUPT)
		emu_irq_raise(rt, hop);
	return true;
}

void emu_tx_run(struct emu_router *rt, u32 hop)
{
	while (emu_tx_step(rt, hop))
		;
}

/* The driver has posted something. */
void emu_tx_doorbell(struct emu_router *rt, u32 hop)
{
	struct emu_ring *tx = &rt->tx[hop];
	u32 in_flight = tx->size ? (tx->drv + tx->size - tx->dev) % tx->size : 0;

	if (!tx->wedged && emu_ring_enabled(tx) && emu_fault_stall(rt, hop, in_flight)) {
		emu_info(rt->e, "router %u: tx ring %u stops with %u frames in flight", rt->nr,
			 hop, in_flight);
		tx->wedged = true;
	}
	emu_tx_run(rt, hop);
}

/*
 * Something a stalled sender may wait for has changed. One frame of each ring
 * at a time, beginning after the one served last, so that several senders to
 * one ring share it.
 */
void emu_rings_retry(struct emu *e)
{
	const u32 hops = EMU_MAX_HOPS;
	u32 total = e->cfg.nr_routers * hops;
	u32 idle = 0, ring;

	if (!e->nr_stalled)
		return;
	while (idle++ < total) {
		ring = e->next_ring;
		e->next_ring = (ring + 1) % total;
		if (ring % hops && emu_tx_step(&e->router[ring / hops], ring % hops))
			idle = 0;
	}
}
