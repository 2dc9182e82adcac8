// SPDX-License-Identifier: GPL-2.0
/*
 * Any packets on the control channels of two cabled routers.
 *
 * Record: u8 packet type and flags, u8 length in dwords, the dwords in the
 * machine's order. The CRC is right unless a flag says otherwise.
 */
#include "fuzz.h"

#define FUZZ_RING	4
#define FUZZ_BAD_CRC	BIT(4)
#define FUZZ_ROUTER_1	BIT(5)
#define FUZZ_NO_POST	BIT(6)
#define FUZZ_WAIT	BIT(7)

static u32 fuzz_off(u32 r, u32 what)
{
	return r * 0x8000 + what * 0x1000;
}

static void fuzz_post(struct emu *e, u32 r)
{
	u32 i, word = DESC_INTERRUPT;
	u64 addr;

	for (i = 0; i < FUZZ_RING; i++) {
		addr = FUZZ_MEM_BASE + fuzz_off(r, 3) + i * 256;
		memcpy(fuzz_mem + fuzz_off(r, 1) + i * DESC_SIZE, &addr, 8);
		memcpy(fuzz_mem + fuzz_off(r, 1) + i * DESC_SIZE + 8, &word, 4);
	}
	emu_mmio_write(e, r, NHI_RX_RING + 8, (e->router[r].rx[0].dev + 3) % FUZZ_RING, 4);
}

static void fuzz_ring_start(struct emu *e, u32 r)
{
	emu_mmio_write(e, r, NHI_TX_RING, FUZZ_MEM_BASE + fuzz_off(r, 0), 8);
	emu_mmio_write(e, r, NHI_TX_RING + 12, FUZZ_RING, 4);
	emu_mmio_write(e, r, NHI_RX_RING, FUZZ_MEM_BASE + fuzz_off(r, 1), 8);
	emu_mmio_write(e, r, NHI_RX_RING + 12, FUZZ_RING | 256 << 16, 4);
	emu_mmio_write(e, r, NHI_TX_OPTIONS, NHI_OPT_ENABLE | NHI_OPT_RAW, 4);
	emu_mmio_write(e, r, NHI_RX_OPTIONS, NHI_OPT_ENABLE | NHI_OPT_RAW, 4);
	fuzz_post(e, r);
}

static void fuzz_packet(struct emu *e, struct fuzz_input *in)
{
	u8 head = fuzz_u8(in), dwords = fuzz_u8(in) % 70;
	u32 r = head & FUZZ_ROUTER_1 ? 1 : 0;
	u32 slot = e->router[r].tx[0].dev;
	u32 buf[70], word, i;
	u64 addr = FUZZ_MEM_BASE + fuzz_off(r, 2);

	for (i = 0; i < dwords; i++)
		buf[i] = cpu_to_be32(fuzz_u32(in));
	if (dwords && !(head & FUZZ_BAD_CRC))
		buf[dwords - 1] = cpu_to_be32(emu_crc32c(buf, 4 * dwords - 4));
	memcpy(fuzz_mem + fuzz_off(r, 2), buf, 4 * dwords);
	word = 4 * dwords | (head & 0xf) << 12 | DESC_INTERRUPT;
	memcpy(fuzz_mem + fuzz_off(r, 0) + slot * DESC_SIZE, &addr, 8);
	memcpy(fuzz_mem + fuzz_off(r, 0) + slot * DESC_SIZE + 8, &word, 4);
	emu_mmio_write(e, r, NHI_TX_RING + 8, (slot + 1) % FUZZ_RING << 16, 4);
	if (e->router[r].tx[0].dev == slot)
		abort();	/* the control channel never stalls */
	if (!(head & FUZZ_NO_POST))
		for (i = 0; i < FUZZ_ROUTERS; i++)
			fuzz_post(e, i);
	if (head & FUZZ_WAIT)
		fuzz_advance(e, 300000000);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct fuzz_input in = { data, len };
	struct emu *e = fuzz_start(false, false);
	u32 r;

	for (r = 0; r < FUZZ_ROUTERS; r++)
		fuzz_ring_start(e, r);
	while (in.len)
		fuzz_packet(e, &in);
	fuzz_stop(e);
	return 0;
}
