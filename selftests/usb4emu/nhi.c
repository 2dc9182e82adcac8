// SPDX-License-Identifier: GPL-2.0
/*
 * Register file of the host interface, BAR 0.
 */
#include "emu.h"

#define EMU_CAPS_V1	0x20
#define EMU_CAPS_V2	0x40

/**
 * struct emu_reg - a range of registers
 * @start: first offset
 * @stride: bytes per ring, or length of the range if @per_hop is unset
 * @per_hop: the range repeats for every ring
 * @read: value of the register at @off, which counts from the range's start
 * @write: likewise
 *
 * For @per_hop ranges @off counts from the ring's first register.
 */
struct emu_reg {
	u32 start;
	u32 stride;
	bool per_hop;
	u32 (*read)(struct emu_router *rt, u32 hop, u32 off);
	void (*write)(struct emu_router *rt, u32 hop, u32 off, u32 val);
};

/* Rings */

static u32 emu_ring_read(const struct emu_ring *ring, u32 off, u32 index)
{
	switch (off) {
	case NHI_RING_BASE_LO:
		return (u32)ring->base;
	case NHI_RING_BASE_HI:
		return ring->base >> 32;
	case NHI_RING_INDEX:
		return index;
	default:
		return ring->size | (u32)ring->frame_size << 16;
	}
}

static u32 emu_txring_read(struct emu_router *rt, u32 hop, u32 off)
{
	const struct emu_ring *tx = &rt->tx[hop];

	return emu_ring_read(tx, off, tx->dev | (u32)tx->drv << 16);
}

static u32 emu_rxring_read(struct emu_router *rt, u32 hop, u32 off)
{
	const struct emu_ring *rx = &rt->rx[hop];

	return emu_ring_read(rx, off, rx->drv | (u32)rx->dev << 16);
}

static bool emu_ring_index_valid(struct emu_router *rt, const struct emu_ring *ring, u32 hop,
				 u32 index)
{
	if (!index || index < ring->size)
		return true;
	emu_guest_error(rt, "%s ring %u: index %u of %u", ring == &rt->tx[hop] ? "tx" : "rx",
			hop, index, ring->size);
	return false;
}

/* The index registers must stay inside whatever size is written. */
static void emu_ring_resize(struct emu_ring *ring, u32 size)
{
	ring->size = size;
	if (ring->dev >= size)
		ring->dev = 0;
	if (ring->drv >= size)
		ring->drv = ring->dev;
	ring->withheld = false;
}

static void emu_ring_base(struct emu_ring *ring, u32 off, u32 val)
{
	if (off == NHI_RING_BASE_LO)
		ring->base = (ring->base & ~0xffffffffULL) | val;
	else
		ring->base = (ring->base & 0xffffffffULL) | (u64)val << 32;
}

static void emu_txring_write(struct emu_router *rt, u32 hop, u32 off, u32 val)
{
	struct emu_ring *tx = &rt->tx[hop];

	switch (off) {
	case NHI_RING_INDEX:
		if (!emu_ring_index_valid(rt, tx, hop, val >> 16))
			break;
		tx->drv = val >> 16;
		emu_tx_doorbell(rt, hop);
		break;
	case NHI_RING_SIZE:
		emu_ring_resize(tx, val & 0xffff);
		break;
	default:
		emu_ring_base(tx, off, val);
	}
}

static void emu_rx_posted(struct emu_router *rt, u32 hop, u32 index)
{
	struct emu_ring *rx = &rt->rx[hop];

	rx->withheld = emu_fault_withheld(rt, hop);
	if (rx->withheld) {
		rx->withheld_drv = index;
		return;
	}
	rx->drv = index;
	if (hop)
		emu_rings_retry(rt->e);
	else
		emu_ctl_flush(rt);
}

static void emu_rxring_write(struct emu_router *rt, u32 hop, u32 off, u32 val)
{
	struct emu_ring *rx = &rt->rx[hop];

	switch (off) {
	case NHI_RING_INDEX:
		if (emu_ring_index_valid(rt, rx, hop, val & 0xffff))
			emu_rx_posted(rt, hop, val & 0xffff);
		break;
	case NHI_RING_SIZE:
		emu_ring_resize(rx, val & 0xffff);
		rx->frame_size = val >> 16;
		break;
	default:
		emu_ring_base(rx, off, val);
	}
}

/* Options */

static void emu_ring_options(struct emu_router *rt, struct emu_ring *ring, u32 hop, u32 val)
{
	bool was = emu_ring_enabled(ring);

	ring->options = val;
	if (was == emu_ring_enabled(ring))
		return;
	emu_info(rt->e, "router %u: %s ring %u %s, size %u, options %08x", rt->nr,
		 ring == &rt->tx[hop] ? "tx" : "rx", hop,
		 was ? "disabled" : "enabled", ring->size, val);
	if (was)
		return;
	ring->dev = 0;
	ring->drv = 0;
	ring->wedged = false;
	ring->withheld = false;
	ring->used = true;
}

static u32 emu_txopt_read(struct emu_router *rt, u32 hop, u32 off)
{
	return off ? 0 : rt->tx[hop].options;
}

static void emu_txopt_write(struct emu_router *rt, u32 hop, u32 off, u32 val)
{
	if (off)
		return;		/* isochronous time stamp: not modelled */
	emu_ring_options(rt, &rt->tx[hop], hop, val);
	if (!emu_ring_enabled(&rt->tx[hop]))
		emu_tx_stop(rt, hop);
}

static u32 emu_rxopt_read(struct emu_router *rt, u32 hop, u32 off)
{
	if (off == 4)
		return rt->rx[hop].pdf_mask;
	return off ? 0 : rt->rx[hop].options;
}

static void emu_rxopt_write(struct emu_router *rt, u32 hop, u32 off, u32 val)
{
	if (off == 4)
		rt->rx[hop].pdf_mask = val;
	if (off)
		return;
	emu_ring_options(rt, &rt->rx[hop], hop, val);
	if (!hop && emu_ring_enabled(&rt->rx[0]))
		emu_port_announce(rt);
	if (!hop && !emu_ring_enabled(&rt->rx[0]))
		emu_ctl_reset(rt);
	emu_rings_retry(rt->e);
}

/* Interrupts and the rest */

static u32 emu_reg_notify(struct emu_router *rt, u32 hop, u32 off)
{
	return emu_notify_read(rt, off);
}

static void emu_reg_int_clear(struct emu_router *rt, u32 hop, u32 off, u32 val)
{
	emu_int_clear(rt, off, val);
}

static u32 emu_reg_mask(struct emu_router *rt, u32 hop, u32 off)
{
	return off ? 0 : rt->irq.mask;
}

static void emu_reg_mask_write(struct emu_router *rt, u32 hop, u32 off, u32 val)
{
	emu_mask_write(rt, off, val);
}

static void emu_reg_mask_clear(struct emu_router *rt, u32 hop, u32 off, u32 val)
{
	if (!off)
		rt->irq.mask &= ~val;
}

static u32 emu_reg_itr(struct emu_router *rt, u32 hop, u32 off)
{
	return rt->irq.itr[off / 4];
}

static void emu_reg_itr_write(struct emu_router *rt, u32 hop, u32 off, u32 val)
{
	emu_itr_write(rt, off, val);
}

static u32 emu_reg_ivr(struct emu_router *rt, u32 hop, u32 off)
{
	return rt->irq.ivr[off / 4];
}

static void emu_reg_ivr_write(struct emu_router *rt, u32 hop, u32 off, u32 val)
{
	rt->irq.ivr[off / 4] = val;
}

static u32 emu_reg_caps(struct emu_router *rt, u32 hop, u32 off)
{
	u32 version = rt->e->cfg.usb4_version == 2 ? EMU_CAPS_V2 : EMU_CAPS_V1;

	return rt->nr_rings | version << 16;
}

static u32 emu_reg_dma_misc(struct emu_router *rt, u32 hop, u32 off)
{
	return rt->irq.dma_misc;
}

static void emu_reg_dma_misc_write(struct emu_router *rt, u32 hop, u32 off, u32 val)
{
	rt->irq.dma_misc = val;
}

/* Done before the write returns, so it always reads as done. */
static u32 emu_reg_reset(struct emu_router *rt, u32 hop, u32 off)
{
	return 0;
}

/* Host router reset: version 2 only. The links go down and come up again. */
static void emu_reg_reset_write(struct emu_router *rt, u32 hop, u32 off, u32 val)
{
	if (!(val & NHI_RESET_HRR) || rt->e->cfg.usb4_version < 2)
		return;
	emu_info(rt->e, "router %u: host router reset", rt->nr);
	emu_nhi_reset(rt);
	emu_router_reset(rt);
	emu_rings_retry(rt->e);
}

static const struct emu_reg emu_regs[] = {
	{ NHI_TX_RING, NHI_RING_STRIDE, true, emu_txring_read, emu_txring_write },
	{ NHI_RX_RING, NHI_RING_STRIDE, true, emu_rxring_read, emu_rxring_write },
	{ NHI_INTERRUPT, 8, false, emu_reg_mask, emu_reg_mask_write },
	{ NHI_INT_CLEAR, 8, false, NULL, emu_reg_int_clear },
	{ NHI_NOTIFY, 8, false, emu_reg_notify, NULL },
	{ NHI_MASK_CLEAR, 8, false, NULL, emu_reg_mask_clear },
	{ NHI_TX_OPTIONS, NHI_OPTIONS_STRIDE, true, emu_txopt_read, emu_txopt_write },
	{ NHI_RX_OPTIONS, NHI_OPTIONS_STRIDE, true, emu_rxopt_read, emu_rxopt_write },
	{ NHI_ITR, 4 * EMU_NR_VECTORS, false, emu_reg_itr, emu_reg_itr_write },
	{ NHI_IVR, 16, false, emu_reg_ivr, emu_reg_ivr_write },
	{ NHI_CAPS, 4, false, emu_reg_caps, NULL },
	{ NHI_DMA_MISC, 4, false, emu_reg_dma_misc, emu_reg_dma_misc_write },
	{ NHI_RESET, 4, false, emu_reg_reset, emu_reg_reset_write },
};

static const struct emu_reg *emu_reg_find(const struct emu_router *rt, u32 *off, u32 *hop)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(emu_regs); i++) {
		const struct emu_reg *reg = &emu_regs[i];
		u32 len = reg->stride * (reg->per_hop ? rt->nr_rings : 1);

		if (*off < reg->start || *off >= reg->start + len)
			continue;
		*off -= reg->start;
		*hop = *off / reg->stride;
		*off %= reg->stride;
		return reg;
	}
	return NULL;
}

static u32 emu_reg_read(struct emu_router *rt, u32 addr)
{
	u32 off = addr, hop;
	const struct emu_reg *reg = emu_reg_find(rt, &off, &hop);
	u32 val = 0;

	if (reg && reg->read)
		val = reg->read(rt, hop, off);
	else
		emu_dbg(rt->e, "router %u: read of register %#x", rt->nr, addr);
	emu_log(rt->e, EMU_LOG_TRACE, "router %u: read %05x: %08x", rt->nr, addr, val);
	return val;
}

static void emu_reg_write(struct emu_router *rt, u32 addr, u32 val)
{
	u32 off = addr, hop;
	const struct emu_reg *reg = emu_reg_find(rt, &off, &hop);

	emu_log(rt->e, EMU_LOG_TRACE, "router %u: write %05x: %08x", rt->nr, addr, val);
	if (reg && reg->write)
		reg->write(rt, hop, off, val);
	else
		emu_dbg(rt->e, "router %u: write to register %#x", rt->nr, addr);
}

static bool emu_mmio_valid(struct emu_router *rt, u32 off, u32 size)
{
	if ((size != 4 && size != 8) || off % size || off >= EMU_BAR0_SIZE) {
		emu_guest_error(rt, "bad register access at %#x size %u", off, size);
		return false;
	}
	if (emu_pci_asleep(rt)) {
		emu_guest_error(rt, "register access at %#x while asleep", off);
		return false;
	}
	return true;
}

u64 emu_mmio_read(struct emu *e, u32 r, u32 off, u32 size)
{
	struct emu_router *rt = &e->router[r];
	u64 val;

	rt->stats.mmio_reads++;
	if (rt->no_power || !emu_mmio_valid(rt, off, size))
		return ~0ULL;
	val = emu_reg_read(rt, off);
	if (size == 8)
		val |= (u64)emu_reg_read(rt, off + 4) << 32;
	return val;
}

void emu_mmio_write(struct emu *e, u32 r, u32 off, u64 val, u32 size)
{
	struct emu_router *rt = &e->router[r];

	rt->stats.mmio_writes++;
	if (rt->no_power || !emu_mmio_valid(rt, off, size))
		return;
	emu_reg_write(rt, off, (u32)val);
	if (size == 8)
		emu_reg_write(rt, off + 4, val >> 32);
}
