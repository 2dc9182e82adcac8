// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts of the host interface: status, mask, vector allocation,
 * moderation, and, where nobody else keeps it, the MSI-X table.
 *
 * Every completion is a reason to send a message, also while its status bit
 * is still set: the driver's clear may be under way to us when the completion
 * happens, and would take the new status with it. Moderation is per vector:
 * no two messages closer than the vector's interval.
 */
#include "emu.h"

#define EMU_ITR_UNIT	256	/* ns */

static u32 emu_irq_vector(const struct emu_router *rt, u32 bit)
{
	if (rt->e->cfg.single_msi)
		return 0;
	return rt->irq.ivr[bit / 8] >> bit % 8 * 4 & 0xf;
}

/* own_msi: does the guest accept this vector now? */
static bool emu_msi_open(const struct emu_router *rt, u32 vec)
{
	u32 ctrl = emu_pci_get(rt, PCI_MSI_CTRL, 2);

	if (rt->e->cfg.single_msi)
		return ctrl & PCI_MSI_ENABLE;
	return (ctrl & PCI_MSIX_ENABLE) && !(ctrl & PCI_MSIX_MASKALL) &&
	       !(rt->irq.vec[vec].table[3] & 1);
}

static void emu_irq_send(struct emu_router *rt, u32 vec, u64 now)
{
	struct emu_vector *v = &rt->irq.vec[vec];
	u32 itr = rt->e->cfg.no_moderation ? 0 : rt->irq.itr[vec];

	if (rt->e->cfg.own_msi && !emu_msi_open(rt, vec)) {
		v->masked = true;
		return;
	}
	v->pending = false;
	v->next = itr ? now + (u64)itr * EMU_ITR_UNIT : 0;
	if (emu_fault_irq_drop(rt, v->ring))
		return;
	if (!rt->e->ops->irq(rt->e->priv, rt->nr, vec)) {
		v->blocked = true;
		v->pending = true;
		return;
	}
	rt->stats.msis++;
}

static void emu_irq_trigger(struct emu_router *rt, u32 bit)
{
	u32 vec = emu_irq_vector(rt, bit);
	struct emu_vector *v = &rt->irq.vec[vec];
	u64 now = 0, delay;

	if (v->blocked)
		return;
	v->ring = bit % rt->nr_rings;
	delay = v->pending ? 0 : emu_fault_irq_delay(rt, v->ring);
	if (rt->irq.itr[vec] || v->pending || delay)
		now = emu_now(rt->e);
	if (delay)
		v->next = max(v->next, now + delay);
	if (now >= v->next) {
		emu_irq_send(rt, vec, now);
		return;
	}
	v->pending = true;
	emu_set_deadline(rt->e, v->next);
}

void emu_irq_raise(struct emu_router *rt, u32 bit)
{
	rt->irq.status |= BIT_ULL(bit);
	if (rt->irq.mask & BIT(bit))
		emu_irq_trigger(rt, bit);
}

/* Status only: the interrupt mask has no bits for overflows. */
void emu_irq_overflow(struct emu_router *rt, u32 hop)
{
	rt->irq.status |= BIT_ULL(2 * rt->nr_rings + hop);
}

static bool emu_irq_wanted(const struct emu_router *rt, u32 vec)
{
	u32 bits = (u32)rt->irq.status & rt->irq.mask;
	u32 bit;

	for (bit = 0; bit < 32; bit++)
		if ((bits & BIT(bit)) && emu_irq_vector(rt, bit) == vec)
			return true;
	return false;
}

u64 emu_irq_timers(struct emu_router *rt, u64 now)
{
	u64 next = EMU_NEVER;
	u32 vec;

	for (vec = 0; vec < EMU_NR_VECTORS; vec++) {
		struct emu_vector *v = &rt->irq.vec[vec];

		if (!v->pending || v->blocked)
			continue;
		if (now < v->next)
			next = min(next, v->next);
		else if (emu_irq_wanted(rt, vec))
			emu_irq_send(rt, vec, now);
		else
			v->pending = false;
	}
	return next;
}

void emu_irq_retry(struct emu *e, u32 r)
{
	struct emu_router *rt = &e->router[r];
	u32 vec;

	for (vec = 0; vec < EMU_NR_VECTORS; vec++) {
		struct emu_vector *v = &rt->irq.vec[vec];

		if (!v->blocked)
			continue;
		v->blocked = false;
		emu_irq_send(rt, vec, emu_now(e));
	}
}

void emu_irq_reset(struct emu_router *rt)
{
	struct emu_irq *irq = &rt->irq;
	u32 vec;

	memset(irq, 0, sizeof(*irq));
	for (vec = 0; vec < EMU_NR_VECTORS; vec++)
		irq->vec[vec].table[3] = 1;
}

/* Registers */

u32 emu_notify_read(struct emu_router *rt, u32 off)
{
	u32 shift = off * 8;
	u32 val = rt->irq.status >> shift;

	if (!(rt->irq.dma_misc & NHI_DMA_MISC_NO_AUTO_CLEAR))
		rt->irq.status &= ~((u64)val << shift);
	return val;
}

void emu_int_clear(struct emu_router *rt, u32 off, u32 val)
{
	rt->irq.status &= ~((u64)val << off * 8);
}

/* A ring enabled with its status set fires: polling drivers rely on it. */
void emu_mask_write(struct emu_router *rt, u32 off, u32 val)
{
	u32 enabled = val & ~rt->irq.mask;
	u32 fire = enabled & (u32)rt->irq.status;
	u32 bit;

	if (off)
		return;
	rt->irq.mask = val;
	for (bit = 0; fire && bit < 2 * rt->nr_rings; bit++)
		if (fire & BIT(bit))
			emu_irq_trigger(rt, bit);
}

void emu_itr_write(struct emu_router *rt, u32 off, u32 val)
{
	u32 vec = off / 4;

	rt->irq.itr[vec] = val & 0xffff;
	if (!rt->irq.itr[vec] && !rt->irq.vec[vec].pending)
		rt->irq.vec[vec].next = 0;
}

/* MSI-X table and messages, for transports without their own */

void emu_msi_unmasked(struct emu_router *rt)
{
	u32 vec;

	if (!rt->e->cfg.own_msi)
		return;
	for (vec = 0; vec < EMU_NR_VECTORS; vec++) {
		if (!rt->irq.vec[vec].masked || !emu_msi_open(rt, vec))
			continue;
		rt->irq.vec[vec].masked = false;
		emu_irq_send(rt, vec, emu_now(rt->e));
	}
}

static u32 emu_msix_dword(struct emu_router *rt, u32 off)
{
	u32 vec, pba = 0;

	if (off < 16 * EMU_NR_VECTORS)
		return rt->irq.vec[off / 16].table[off / 4 % 4];
	if (off != MSIX_PBA)
		return 0;
	for (vec = 0; vec < EMU_NR_VECTORS; vec++)
		pba |= rt->irq.vec[vec].masked ? BIT(vec) : 0;
	return pba;
}

static bool emu_msix_valid(struct emu_router *rt, u32 off, u32 size)
{
	if ((size == 4 || size == 8) && !(off % size) && off < EMU_BAR2_SIZE)
		return true;
	emu_guest_error(rt, "bad MSI-X access at %#x size %u", off, size);
	return false;
}

u64 emu_msix_read(struct emu *e, u32 r, u32 off, u32 size)
{
	struct emu_router *rt = &e->router[r];
	u64 val;

	if (!emu_msix_valid(rt, off, size))
		return ~0ULL;
	val = emu_msix_dword(rt, off);
	if (size == 8)
		val |= (u64)emu_msix_dword(rt, off + 4) << 32;
	return val;
}

void emu_msix_write(struct emu *e, u32 r, u32 off, u64 val, u32 size)
{
	struct emu_router *rt = &e->router[r];

	if (!emu_msix_valid(rt, off, size))
		return;
	for (; size && off < 16 * EMU_NR_VECTORS; size -= 4, off += 4, val >>= 32)
		rt->irq.vec[off / 16].table[off / 4 % 4] = (u32)val;
	emu_msi_unmasked(rt);
}

u64 emu_msi_address(const struct emu *e, u32 r, u32 vec)
{
	const struct emu_router *rt = &e->router[r];
	const u32 *table = rt->irq.vec[vec].table;

	if (e->cfg.single_msi)
		return emu_pci_get(rt, PCI_MSI_CTRL + 2, 4) |
		       (u64)emu_pci_get(rt, PCI_MSI_CTRL + 6, 4) << 32;
	return table[0] | (u64)table[1] << 32;
}

u32 emu_msi_data(const struct emu *e, u32 r, u32 vec)
{
	const struct emu_router *rt = &e->router[r];

	if (e->cfg.single_msi)
		return emu_pci_get(rt, PCI_MSI_CTRL + 10, 2);
	return rt->irq.vec[vec].table[2];
}
