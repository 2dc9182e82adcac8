// SPDX-License-Identifier: GPL-2.0
/*
 * Any descriptors in running rings, any doorbell.
 *
 * First FUZZ_DESCS descriptors for each of the four rings (16 bytes each),
 * then records: u8 what, u16 value.
 */
#include "fuzz.h"

#define FUZZ_DESCS	8

static u64 fuzz_ring_base(u32 r, bool rx)
{
	/* The last one ends where the maps meet or where memory ends. */
	return FUZZ_MEM_BASE + (rx ? FUZZ_MEM_SIZE : FUZZ_MEM_SIZE / 2) -
	       (r + 1) * FUZZ_DESCS * DESC_SIZE;
}

static void fuzz_enable(struct emu *e, u32 r, bool rx, u32 options)
{
	u32 ring = (rx ? NHI_RX_RING : NHI_TX_RING) + NHI_RING_STRIDE;
	u32 opt = (rx ? NHI_RX_OPTIONS : NHI_TX_OPTIONS) + NHI_OPTIONS_STRIDE;

	emu_mmio_write(e, r, ring, fuzz_ring_base(r, rx), 8);
	emu_mmio_write(e, r, ring + NHI_RING_SIZE, FUZZ_DESCS, 4);
	emu_mmio_write(e, r, opt + 4, 0xfffefffe, 4);
	emu_mmio_write(e, r, opt, NHI_OPT_ENABLE | options, 4);
}

static void fuzz_disable(struct emu *e, u32 r, bool rx)
{
	u32 opt = (rx ? NHI_RX_OPTIONS : NHI_TX_OPTIONS) + NHI_OPTIONS_STRIDE;

	emu_mmio_write(e, r, opt, 0, 4);
}

static void fuzz_paths(struct emu *e)
{
	u32 r;

	for (r = 0; r < FUZZ_ROUTERS; r++) {
		e->router[r].hops[EMU_NHI_ADAPTER][2] = HOP_ENABLE | 1 << 11 | 8;
		e->router[r].hops[1][16] = HOP_ENABLE | EMU_NHI_ADAPTER << 11 | 1;
	}
}

static void fuzz_record(struct emu *e, struct fuzz_input *in)
{
	u8 what = fuzz_u8(in);
	u16 val = fuzz_u16(in);
	u32 r = what & 1, hop;

	switch (what >> 1 & 7) {
	case 0:
	case 1:
		emu_mmio_write(e, r, NHI_TX_RING + 24, (u32)val % (FUZZ_DESCS + 1) << 16, 4);
		break;
	case 2:
	case 3:
		emu_mmio_write(e, r, NHI_RX_RING + 24, val % (FUZZ_DESCS + 1), 4);
		break;
	case 4:		/* the guest changes its mind, or its descriptors */
		fuzz_mem[(fuzz_ring_base(r, what & 16) - FUZZ_MEM_BASE +
			  val % (FUZZ_DESCS * DESC_SIZE)) % FUZZ_MEM_SIZE] = val >> 8;
		break;
	case 5:
		if (val & 1)
			fuzz_disable(e, r, what & 16);
		else
			fuzz_enable(e, r, what & 16, (u32)val << 16 & (NHI_OPT_E2E | NHI_OPT_RAW));
		break;
	case 6:
		emu_mmio_write(e, r, (what & 16 ? NHI_RX_RING : NHI_TX_RING) + 28,
			       val | (u32)val << 16, 4);
		break;
	default:
		hop = what & 16 ? 1 : EMU_NHI_ADAPTER;
		e->router[r].hops[hop][hop == 1 ? 16 : 2] = HOP_ENABLE | val;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct fuzz_input in = { data, len };
	u8 mode = fuzz_u8(&in);
	struct emu *e = fuzz_start(false, false);
	u32 r;

	for (r = 0; r < FUZZ_ROUTERS; r++) {
		fuzz_bytes(&in, fuzz_mem + (fuzz_ring_base(r, false) - FUZZ_MEM_BASE),
			   FUZZ_DESCS * DESC_SIZE);
		fuzz_bytes(&in, fuzz_mem + (fuzz_ring_base(r, true) - FUZZ_MEM_BASE),
			   FUZZ_DESCS * DESC_SIZE);
		fuzz_enable(e, r, false, 0);
		fuzz_enable(e, r, true, mode & 1 ? NHI_OPT_E2E : 0);
		emu_mmio_write(e, r, NHI_INTERRUPT, ~0U, 4);
	}
	fuzz_paths(e);
	while (in.len)
		fuzz_record(e, &in);
	fuzz_stop(e);
	return 0;
}
