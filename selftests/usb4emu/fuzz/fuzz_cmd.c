// SPDX-License-Identifier: GPL-2.0
/*
 * Any lines of the control protocol while frames pass.
 *
 * Record: u8 what, then by that a line as text, a line of words from the
 * dictionary (a byte each), frames to post, buffers to post, or time to pass.
 */
#include "fuzz.h"

#define FUZZ_DESCS	8
#define FUZZ_WORDS	12

static const char *const fuzz_words[] = {
	"fault", "delay", "unplug", "drop", "truncate", "corrupt", "crc", "dup", "stall",
	"withhold", "starve", "irq-drop", "irq-delay", "event-drop", "xd-drop", "xd-dup",
	"xd-unplug", "router", "ring", "hop", "sof", "eof", "after", "every", "chance", "count",
	"for", "us", "above", "len", "offset", "size", "set", "add", "xor", "list", "off", "seed",
	"help", "hops", "plug", "link", "gen", "width", "stats", "status", "verbose",
	"0", "1", "2", "3", "4", "8", "16", "64", "4095", "4294967295", "0.1", "1.1", "1.3",
	"xd-replace", "find",
};

static u64 fuzz_base(u32 r, bool rx)
{
	return FUZZ_MEM_BASE + (2 * r + rx) * FUZZ_DESCS * DESC_SIZE;
}

static void fuzz_ring_start(struct emu *e, u32 r, bool rx, bool e2e)
{
	u32 ring = (rx ? NHI_RX_RING : NHI_TX_RING) + NHI_RING_STRIDE;
	u32 opt = (rx ? NHI_RX_OPTIONS : NHI_TX_OPTIONS) + NHI_OPTIONS_STRIDE;
	u32 i;

	for (i = 0; i < FUZZ_DESCS; i++) {
		u64 at = fuzz_base(r, rx) - FUZZ_MEM_BASE + i * DESC_SIZE;
		u64 addr = FUZZ_MEM_BASE + 0x2000 + (2 * r + rx) * 0x1000;
		u32 word = (64 * i & 0xfff) | 2 << 12 | 1 << 16 | DESC_INTERRUPT;

		memcpy(fuzz_mem + at, &addr, 8);
		memcpy(fuzz_mem + at + 8, &word, 4);
	}
	emu_mmio_write(e, r, ring, fuzz_base(r, rx), 8);
	emu_mmio_write(e, r, ring + NHI_RING_SIZE, FUZZ_DESCS, 4);
	emu_mmio_write(e, r, opt + 4, 0x00020004, 4);
	emu_mmio_write(e, r, opt, NHI_OPT_ENABLE | (rx && e2e ? NHI_OPT_E2E : 0), 4);
}

static void fuzz_start_all(struct emu *e, bool e2e)
{
	u32 r;

	for (r = 0; r < FUZZ_ROUTERS; r++) {
		e->router[r].hops[EMU_NHI_ADAPTER][2] = HOP_ENABLE | 1 << 11 | 8;
		e->router[r].hops[1][16] = HOP_ENABLE | EMU_NHI_ADAPTER << 11 | 1;
		fuzz_ring_start(e, r, false, e2e);
		fuzz_ring_start(e, r, true, e2e);
		emu_mmio_write(e, r, NHI_INTERRUPT, ~0U, 4);
	}
}

/* Not "capture": the file would be closed and opened for each word. */
static void fuzz_line(struct emu *e, struct fuzz_input *in)
{
	char line[300];
	u32 n = fuzz_u8(in) % FUZZ_WORDS + 1;
	size_t len = 0;

	while (n--)
		len += snprintf(line + len, sizeof(line) - len, "%s ",
				fuzz_words[fuzz_u8(in) % ARRAY_SIZE(fuzz_words)]);
	fuzz_command(e, line);
}

static void fuzz_text(struct emu *e, struct fuzz_input *in)
{
	char line[300];
	u32 len = fuzz_u8(in) + 1;

	fuzz_bytes(in, line, len);
	line[len] = '\0';
	fuzz_command(e, line);
}

static void fuzz_record(struct emu *e, struct fuzz_input *in)
{
	u8 what = fuzz_u8(in), val;
	u32 r = what & 1;

	switch (what >> 1 & 7) {
	case 0:
		fuzz_text(e, in);
		break;
	case 1:
	case 2:
		fuzz_line(e, in);
		break;
	case 3:
	case 4:
		val = fuzz_u8(in) % FUZZ_DESCS;
		emu_mmio_write(e, r, NHI_TX_RING + 24, (u32)val << 16, 4);
		break;
	case 5:
		val = fuzz_u8(in) % FUZZ_DESCS;
		emu_mmio_write(e, r, NHI_RX_RING + 24, val, 4);
		break;
	case 6:
		fuzz_advance(e, (u64)fuzz_u16(in) * 1000);
		break;
	default:
		fuzz_start_all(e, what & 16);
	}
	fuzz_invariants(e);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct fuzz_input in = { data, len };
	struct emu *e = fuzz_start(false, false);

	fuzz_start_all(e, fuzz_u8(&in) & 1);
	while (in.len)
		fuzz_record(e, &in);
	fuzz_stop(e);
	return 0;
}
