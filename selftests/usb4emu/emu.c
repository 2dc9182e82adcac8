// SPDX-License-Identifier: GPL-2.0
/*
 * The emulator as a whole: life cycle, resets, timers, logging.
 */
#include "emu.h"

#define EMU_LOG_BURST	10
#define EMU_LOG_WINDOW	1000000000ULL

void emu_log(struct emu *e, enum emu_log_level level, const char *fmt, ...)
{
	char line[200];
	va_list ap;

	if (level > e->cfg.verbose)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	e->ops->log(e->priv, level, line);
}

/* A guest can cause these at any rate: count all, print a few a second. */
void emu_guest_error(struct emu_router *rt, const char *fmt, ...)
{
	char line[160];
	va_list ap;
	u64 now = emu_now(rt->e);

	rt->stats.guest_errors++;
	if (now - rt->log_window >= EMU_LOG_WINDOW) {
		if (rt->log_lines > EMU_LOG_BURST)
			emu_log(rt->e, EMU_LOG_ERR, "router %u: %u more errors", rt->nr,
				rt->log_lines - EMU_LOG_BURST);
		rt->log_window = now;
		rt->log_lines = 0;
	}
	if (rt->log_lines++ >= EMU_LOG_BURST)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	emu_log(rt->e, EMU_LOG_ERR, "router %u: %s", rt->nr, line);
}

u64 emu_now(struct emu *e)
{
	return e->ops->now(e->priv);
}

void emu_set_deadline(struct emu *e, u64 when)
{
	e->deadline = min(e->deadline, when);
}

static bool emu_config_valid(const struct emu_config *cfg)
{
	return cfg->nr_routers >= 1 && cfg->nr_routers <= EMU_MAX_ROUTERS &&
	       (cfg->usb4_version == 1 || cfg->usb4_version == 2) &&
	       (cfg->gen == 3 || cfg->gen == 4) &&
	       cfg->hop_count >= EMU_MIN_HOPS && cfg->hop_count <= EMU_MAX_HOPS;
}

struct emu *emu_new(const struct emu_config *cfg, const struct emu_ops *ops, void *priv)
{
	struct emu *e;
	u32 i;

	if (!emu_config_valid(cfg))
		return NULL;
	e = env_zalloc(sizeof(*e) + cfg->nr_routers * sizeof(e->router[0]));
	if (!e)
		return NULL;
	e->cfg = *cfg;
	e->ops = ops;
	e->priv = priv;
	e->deadline = EMU_NEVER;
	emu_fault_seed(e, 1);
	if (cfg->stranger) {
		e->hostile = emu_hostile_new(&e->router[cfg->nr_routers - 1]);
		if (!e->hostile) {
			env_free(e);
			return NULL;
		}
	}
	for (i = 0; i < cfg->nr_routers; i++) {
		struct emu_router *rt = &e->router[i];

		rt->e = e;
		rt->nr = i;
		rt->nr_rings = cfg->hop_count;
		rt->attached = true;
		emu_pci_reset(rt);
		emu_nhi_reset(rt);
		emu_router_reset(rt);
	}
	return e;
}

void emu_free(struct emu *e)
{
	if (!e)
		return;
	emu_capture_stop(e);
	env_free(e->hostile);
	env_free(e);
}

u32 emu_nr_routers(const struct emu *e)
{
	return e->cfg.nr_routers;
}

/* Rings and interrupts; counters stay. */
void emu_nhi_reset(struct emu_router *rt)
{
	u32 hop;

	for (hop = 0; hop < EMU_MAX_HOPS; hop++) {
		struct emu_ring *rings[] = { &rt->tx[hop], &rt->rx[hop] };
		u32 i;

		emu_tx_stop(rt, hop);
		for (i = 0; i < ARRAY_SIZE(rings); i++) {
			struct emu_ring *ring = rings[i];

			ring->base = 0;
			ring->options = 0;
			ring->pdf_mask = 0;
			ring->size = 0;
			ring->frame_size = 0;
			ring->dev = 0;
			ring->drv = 0;
			ring->wedged = false;
			ring->withheld = false;
		}
	}
	emu_irq_reset(rt);
	emu_ctl_reset(rt);
}

static void emu_reset_all(struct emu_router *rt)
{
	emu_pci_reset(rt);
	emu_nhi_reset(rt);
	emu_router_reset(rt);
}

void emu_reset(struct emu *e, u32 r)
{
	struct emu_router *rt = &e->router[r];

	emu_info(e, "router %u: function reset", r);
	emu_reset_all(rt);
	emu_rings_retry(e);
}

bool emu_router_on(const struct emu_router *rt)
{
	return rt->attached && !rt->no_power;
}

static void emu_lose(struct emu_router *rt)
{
	emu_links_update(rt);
	emu_reset_all(rt);
	emu_rings_retry(rt->e);
}

/* Under a guest that goes on running: its driver has not been asked. */
void emu_power(struct emu *e, u32 r, bool on)
{
	struct emu_router *rt = &e->router[r];

	if (rt->no_power != on)
		return;
	emu_info(e, "router %u: power %s", r, on ? "on" : "off");
	rt->no_power = !on;
	if (on)
		emu_links_update(rt);
	else
		emu_lose(rt);
}

void emu_detach(struct emu *e, u32 r)
{
	struct emu_router *rt = &e->router[r];

	if (!rt->attached)
		return;
	emu_info(e, "router %u: detached", r);
	rt->attached = false;
	emu_lose(rt);
}

void emu_attach(struct emu *e, u32 r)
{
	struct emu_router *rt = &e->router[r];

	if (rt->attached)
		return;
	emu_info(e, "router %u: attached", r);
	rt->attached = true;
	emu_links_update(rt);
}

void emu_dma_retry(struct emu *e, u32 r)
{
	struct emu_router *rt = &e->router[r];
	u32 hop;

	for (hop = 0; hop < rt->nr_rings; hop++)
		emu_tx_run(rt, hop);
	emu_ctl_flush(rt);
	emu_rings_retry(e);
}

u64 emu_deadline(const struct emu *e)
{
	return e->deadline;
}

u64 emu_run_timers(struct emu *e)
{
	u64 now = emu_now(e), next;
	u32 i;

	e->deadline = EMU_NEVER;
	next = emu_fault_timers(e, now);
	for (i = 0; i < e->cfg.nr_routers; i++) {
		next = min(next, emu_irq_timers(&e->router[i], now));
		next = min(next, emu_port_timers(&e->router[i], now));
		next = min(next, emu_hostile_timers(&e->router[i], now));
	}
	emu_set_deadline(e, next);
	return e->deadline;
}
