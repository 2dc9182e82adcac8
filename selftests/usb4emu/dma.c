// SPDX-License-Identifier: GPL-2.0
/*
 * Guest memory. Every address comes from the guest: the transport says what
 * of it is memory, and a piece at a time, since a buffer may span two maps.
 */
#include "emu.h"

void *emu_dma(struct emu_router *rt, u64 addr, size_t *len, bool write)
{
	size_t want = *len;
	void *ptr = NULL;

	if (emu_pci_master(rt) && addr + want > addr)
		ptr = rt->e->ops->dma(rt->e->priv, rt->nr, addr, len, write);
	if (ptr && *len && *len <= want)
		return ptr;
	rt->stats.dma_errors++;
	emu_guest_error(rt, "no memory to %s at %#llx+%zu", write ? "write" : "read", addr, want);
	return NULL;
}

bool emu_desc_get(struct emu_router *rt, const struct emu_ring *ring, struct emu_desc *d)
{
	u64 addr = (ring->base & ~(u64)(DESC_SIZE - 1)) + DESC_SIZE * ring->dev;
	size_t len = DESC_SIZE;
	u64 *desc = emu_dma(rt, addr, &len, true);

	if (!desc || len < DESC_SIZE)
		return false;
	d->slot = (u32 *)(desc + 1);
	/* The driver wrote the address before the doorbell that got us here. */
	d->word = le32_to_cpu(env_load_acquire(d->slot));
	d->phys = le64_to_cpu(env_read_once(desc));
	return true;
}

/* The driver polls this word: the frame must be there before it. */
void emu_desc_put(struct emu_desc *d, u32 word)
{
	env_store_release(d->slot, cpu_to_le32(word));
}

bool emu_dma_read(struct emu_router *rt, u64 addr, void *buf, u32 len)
{
	while (len) {
		size_t n = len;
		void *p = emu_dma(rt, addr, &n, false);

		if (!p)
			return false;
		memcpy(buf, p, n);
		buf = (u8 *)buf + n;
		addr += n;
		len -= n;
	}
	return true;
}

bool emu_dma_write(struct emu_router *rt, u64 addr, const void *buf, u32 len)
{
	while (len) {
		size_t n = len;
		void *p = emu_dma(rt, addr, &n, true);

		if (!p)
			return false;
		memcpy(p, buf, n);
		buf = (const u8 *)buf + n;
		addr += n;
		len -= n;
	}
	return true;
}

bool emu_dma_copy(struct emu_router *src, u64 from, struct emu_router *dst, u64 to, u32 len)
{
	while (len) {
		size_t n = len;
		void *s = emu_dma(src, from, &n, false);
		void *d = s ? emu_dma(dst, to, &n, true) : NULL;

		if (!d)
			return false;
		memmove(d, s, n);
		from += n;
		to += n;
		len -= n;
	}
	return true;
}

bool emu_dma_check(struct emu_router *rt, u64 addr, u32 len, bool write)
{
	while (len) {
		size_t n = len;

		if (!emu_dma(rt, addr, &n, write))
			return false;
		addr += n;
		len -= n;
	}
	return true;
}
