// SPDX-License-Identifier: GPL-2.0
/*
 * Surroundings of the core for the fuzz targets.
 */
#include "fuzz.h"

u8 fuzz_mem[FUZZ_MEM_SIZE];

static u64 fuzz_time;
static u32 fuzz_irqs;

void fuzz_bytes(struct fuzz_input *in, void *buf, size_t len)
{
	size_t n = min(len, in->len);

	memcpy(buf, in->data, n);
	memset((u8 *)buf + n, 0, len - n);
	in->data += n;
	in->len -= n;
}

u8 fuzz_u8(struct fuzz_input *in)
{
	u8 val;

	fuzz_bytes(in, &val, sizeof(val));
	return val;
}

u16 fuzz_u16(struct fuzz_input *in)
{
	u16 val;

	fuzz_bytes(in, &val, sizeof(val));
	return val;
}

u32 fuzz_u32(struct fuzz_input *in)
{
	u32 val;

	fuzz_bytes(in, &val, sizeof(val));
	return val;
}

u64 fuzz_u64(struct fuzz_input *in)
{
	u64 val;

	fuzz_bytes(in, &val, sizeof(val));
	return val;
}

static void *fuzz_dma(void *priv, u32 r, u64 addr, size_t *len, bool write)
{
	u64 off = addr - FUZZ_MEM_BASE;
	u64 end = off < FUZZ_MEM_SIZE / 2 ? FUZZ_MEM_SIZE / 2 : FUZZ_MEM_SIZE;

	if (addr < FUZZ_MEM_BASE || off >= FUZZ_MEM_SIZE)
		return NULL;
	*len = min((u64)*len, end - off);
	return fuzz_mem + off;
}

/* Now and then nobody is there to take the interrupt. */
static bool fuzz_irq(void *priv, u32 r, u32 vec)
{
	return ++fuzz_irqs % 5;
}

static u64 fuzz_now(void *priv)
{
	return fuzz_time += 100;
}

static void fuzz_log(void *priv, enum emu_log_level level, const char *line)
{
	if (!*line)
		abort();
}

static int fuzz_capture_open(void *priv, const char *path)
{
	return 0;
}

/* Touches every byte, for the sanitizers; fails once in a long while. */
static bool fuzz_capture_write(void *priv, const void *buf, size_t len)
{
	static u32 writes;

	if (len && emu_crc32c(buf, len) == 0x12345678)
		writes++;
	return ++writes % 4099;
}

static void fuzz_capture_close(void *priv)
{
}

static const struct emu_ops fuzz_ops = {
	.dma		= fuzz_dma,
	.irq		= fuzz_irq,
	.now		= fuzz_now,
	.log		= fuzz_log,
	.capture_open	= fuzz_capture_open,
	.capture_write	= fuzz_capture_write,
	.capture_close	= fuzz_capture_close,
};

static void fuzz_out(void *arg, const char *text)
{
	if (!*text)
		abort();
}

void fuzz_command(struct emu *e, const char *line)
{
	emu_command(e, line, fuzz_out, NULL);
}

struct emu *fuzz_start(bool single_msi, bool own_msi)
{
	struct emu_config cfg = {
		.nr_routers = FUZZ_ROUTERS,
		.usb4_version = 2,
		.gen = 4,
		.hop_count = EMU_MAX_HOPS,
		.single_msi = single_msi,
		.own_msi = own_msi,
		.verbose = EMU_LOG_TRACE,
	};
	struct emu *e;
	u32 i;

	fuzz_time = 0;
	fuzz_irqs = 0;
	memset(fuzz_mem, 0, sizeof(fuzz_mem));
	e = emu_new(&cfg, &fuzz_ops, NULL);
	if (!e)
		abort();
	fuzz_command(e, "plug 0.1 1.1");
	fuzz_command(e, "capture memory");
	for (i = 0; i < FUZZ_ROUTERS; i++)
		emu_pci_write(e, i, PCI_CMD, PCI_CMD_MASTER, 2);
	return e;
}

void fuzz_advance(struct emu *e, u64 ns)
{
	fuzz_time += ns;
	if (emu_deadline(e) <= fuzz_time)
		emu_run_timers(e);
}

static void fuzz_ring(const struct emu_ring *ring)
{
	if (ring->size ? ring->dev >= ring->size || ring->drv >= ring->size :
	    ring->dev || ring->drv)
		abort();
	if (ring->stalled && (!emu_ring_enabled(ring) || ring->wedged))
		abort();
	if (ring->withheld && ring->withheld_drv >= ring->size)
		abort();
}

void fuzz_invariants(const struct emu *e)
{
	u32 stalled = 0, r, hop;

	for (r = 0; r < e->cfg.nr_routers; r++) {
		const struct emu_router *rt = &e->router[r];

		if (rt->ctl.count > EMU_CTL_QUEUE || rt->ctl.head >= EMU_CTL_QUEUE)
			abort();
		for (hop = 0; hop < EMU_MAX_HOPS; hop++) {
			fuzz_ring(&rt->tx[hop]);
			fuzz_ring(&rt->rx[hop]);
			stalled += rt->tx[hop].stalled;
		}
	}
	if (stalled != e->nr_stalled)
		abort();
}

/* Printing all counters takes longer than most inputs. */
void fuzz_stop(struct emu *e)
{
	static u32 runs;

	fuzz_invariants(e);
	if (!(++runs % 64)) {
		fuzz_command(e, "stats");
		fuzz_command(e, "status");
	}
	emu_free(e);
}
