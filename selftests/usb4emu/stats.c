// SPDX-License-Identifier: GPL-2.0
/*
 * Counters, one "key value" line each. They count from the start and are
 * never reset.
 */
#include "emu.h"

void emu_out(struct emu_out *out, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	out->fn(out->arg, text);
}

static void emu_stats_tx(struct emu_out *out, u32 r, u32 hop, const struct emu_ring *tx)
{
	u32 i;

	emu_out(out, "%u.tx%u.frames %llu\n%u.tx%u.bytes %llu\n%u.tx%u.stalls %llu\n",
		r, hop, tx->frames, r, hop, tx->bytes, r, hop, tx->stalls);
	for (i = EMU_DROP_NONE + 1; i < EMU_NR_DROPS; i++)
		emu_out(out, "%u.tx%u.drop.%s %llu\n", r, hop, emu_drop_names[i], tx->drops[i]);
}

static void emu_stats_rx(struct emu_out *out, u32 r, u32 hop, const struct emu_ring *rx)
{
	emu_out(out, "%u.rx%u.frames %llu\n%u.rx%u.bytes %llu\n%u.rx%u.overflows %llu\n"
		"%u.rx%u.cuts %llu\n", r, hop, rx->frames, r, hop, rx->bytes, r, hop,
		rx->drops[EMU_DROP_OVERFLOW], r, hop, rx->cuts);
}

static void emu_stats_ports(struct emu_router *rt, struct emu_out *out)
{
	u32 i;

	for (i = 0; i < EMU_NR_PORTS; i++)
		emu_out(out, "%u.port%u.events %llu\n%u.port%u.retries %llu\n",
			rt->nr, emu_port_adapter(i), rt->port[i].events,
			rt->nr, emu_port_adapter(i), rt->port[i].retries);
}

static void emu_stats_ctl(struct emu_router *rt, struct emu_out *out)
{
	const struct emu_ctl_stats *ctl = &rt->stats.ctl;
	const struct {
		const char *name;
		u64 val;
	} lines[] = {
		{ "reads", ctl->reads },
		{ "writes", ctl->writes },
		{ "xdomain", ctl->xdomain },
		{ "errors", ctl->errors },
		{ "bad_crc", ctl->bad_crc },
		{ "bad_length", ctl->bad_length },
		{ "unknown", ctl->unknown },
		{ "unsent", ctl->unsent },
		{ "queue_full", ctl->queue_full },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		emu_out(out, "%u.ctl.%s %llu\n", rt->nr, lines[i].name, lines[i].val);
}

static void emu_stats_faults(struct emu_router *rt, struct emu_out *out)
{
	u32 i;

	for (i = 0; i < EMU_NR_FAULTS; i++)
		emu_out(out, "%u.fault.%s %llu\n", rt->nr, emu_fault_name(i),
			rt->stats.faults[i]);
}

void emu_stats_print(struct emu_router *rt, struct emu_out *out)
{
	const struct emu_stats *s = &rt->stats;
	u32 r = rt->nr, hop;

	emu_out(out, "%u.mmio_reads %llu\n%u.mmio_writes %llu\n%u.msis %llu\n",
		r, s->mmio_reads, r, s->mmio_writes, r, s->msis);
	emu_out(out, "%u.guest_errors %llu\n%u.dma_errors %llu\n",
		r, s->guest_errors, r, s->dma_errors);
	emu_stats_ctl(rt, out);
	emu_stats_ports(rt, out);
	emu_stats_faults(rt, out);
	if (emu_is_stranger(rt))
		emu_hostile_stats(rt, out);
	for (hop = 0; hop < rt->nr_rings; hop++) {
		if (rt->tx[hop].used)
			emu_stats_tx(out, r, hop, &rt->tx[hop]);
		if (rt->rx[hop].used)
			emu_stats_rx(out, r, hop, &rt->rx[hop]);
	}
}
