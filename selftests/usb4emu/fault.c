// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: which rule applies, and what comes of it.
 *
 * A rule is asked where its kind of thing happens. It matches if all its
 * filters do, and then fires as its words say: the first "after" times never,
 * one time in "every", one in "chance" at random, at most "count" times.
 */
#include "emu.h"

static bool emu_rule_has(const struct emu_fault_rule *rule, enum emu_fault_word word)
{
	return rule->given & BIT(word);
}

/* splitmix64 */
static u64 emu_fault_random(struct emu_faults *faults)
{
	u64 z = faults->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* 0 to @n - 1 */
static u32 emu_fault_below(struct emu_faults *faults, u32 n)
{
	return (u32)(emu_fault_random(faults) >> 32) % n;
}

void emu_fault_seed(struct emu *e, u32 seed)
{
	e->faults.random = seed;
}

static bool emu_rule_matches(const struct emu_fault_rule *rule, const u32 *what, u32 amount)
{
	static const u8 larger_than[] = { EMU_WORD_ABOVE, EMU_WORD_LEN, EMU_WORD_OFFSET };
	u32 i;

	/* The control channel is left alone unless it is meant. */
	if (!what[EMU_WORD_RING] && !emu_rule_has(rule, EMU_WORD_RING))
		return false;
	for (i = 0; i < EMU_NR_FILTERS; i++)
		if (emu_rule_has(rule, i) && rule->val[i] != what[i])
			return false;
	for (i = 0; i < ARRAY_SIZE(larger_than); i++)
		if (emu_rule_has(rule, larger_than[i]) && amount <= rule->val[larger_than[i]])
			return false;
	return true;
}

/* Random numbers are drawn even if another word says no: rules stay in step. */
static bool emu_rule_fires(struct emu_faults *faults, struct emu_fault_rule *rule)
{
	bool fires = true;

	rule->matched++;
	if (emu_rule_has(rule, EMU_WORD_CHANCE))
		fires = !emu_fault_below(faults, rule->val[EMU_WORD_CHANCE]);
	if (emu_rule_has(rule, EMU_WORD_AFTER) && rule->matched <= rule->val[EMU_WORD_AFTER])
		return false;
	if (emu_rule_has(rule, EMU_WORD_COUNT) && rule->done >= rule->val[EMU_WORD_COUNT])
		return false;
	if (emu_rule_has(rule, EMU_WORD_EVERY)) {
		u64 n = rule->matched;

		if (emu_rule_has(rule, EMU_WORD_AFTER))
			n -= rule->val[EMU_WORD_AFTER];
		if ((u32)n % rule->val[EMU_WORD_EVERY])
			return false;
	}
	return fires;
}

/*
 * The first rule of this kind that fires, or NULL. Those behind it do not see
 * what happened. @amount is the length of a frame, or what there is in flight.
 */
static const struct emu_fault_rule *emu_fault_find(struct emu_router *rt, enum emu_fault kind,
						   const u32 *what, u32 amount)
{
	struct emu_faults *faults = &rt->e->faults;
	u32 i;

	if (!(faults->active & BIT(kind)))
		return NULL;
	for (i = 0; i < EMU_FAULT_RULES; i++) {
		struct emu_fault_rule *rule = &faults->rule[i];

		if (!rule->id || rule->kind != kind || !emu_rule_matches(rule, what, amount))
			continue;
		if (!emu_rule_fires(faults, rule))
			continue;
		rule->done++;
		rt->stats.faults[kind]++;
		return rule;
	}
	return NULL;
}

static const struct emu_fault_rule *emu_fault_at(struct emu_router *rt, enum emu_fault kind,
						 u32 ring, u32 amount)
{
	const u32 what[EMU_NR_FILTERS] = {
		rt->nr, ring, EMU_FAULT_ANY, EMU_FAULT_ANY, EMU_FAULT_ANY
	};

	return emu_fault_find(rt, kind, what, amount);
}

/* Frames */

static void emu_fault_truncate(struct emu_faults *faults, const struct emu_fault_rule *rule,
			       struct emu_frame_fault *f, u32 len)
{
	if (emu_rule_has(rule, EMU_WORD_LEN))
		f->len = rule->val[EMU_WORD_LEN];
	else if (len > 1)
		f->len = 1 + emu_fault_below(faults, len - 1);
}

#define EMU_WORDS_VALUE	(BIT(EMU_WORD_SET) | BIT(EMU_WORD_ADD) | BIT(EMU_WORD_XOR))

static void emu_fault_patch(struct emu_faults *faults, const struct emu_fault_rule *rule,
			    struct emu_frame_fault *f, u32 len)
{
	f->offset = rule->val[EMU_WORD_OFFSET];
	if (!emu_rule_has(rule, EMU_WORD_OFFSET))
		f->offset = emu_fault_below(faults, len);
	f->size = emu_rule_has(rule, EMU_WORD_SIZE) ? rule->val[EMU_WORD_SIZE] : 1;
	f->keep = emu_rule_has(rule, EMU_WORD_SET) ? 0 : ~0U;
	f->add = rule->val[EMU_WORD_SET] + rule->val[EMU_WORD_ADD];
	f->xor = rule->val[EMU_WORD_XOR];
	if (!(rule->given & EMU_WORDS_VALUE))
		f->xor = 1 + emu_fault_below(faults, 255);
}

/* Decided once for each frame, however often it has to wait afterwards. */
void emu_fault_frame(const struct emu_path *path, u32 sof, u32 eof, u32 len,
		     struct emu_frame_fault *f)
{
	struct emu_router *rt = path->src;
	struct emu *e = rt->e;
	const u32 what[EMU_NR_FILTERS] = { rt->nr, path->tx_ring, path->out_hop, sof, eof };
	const struct emu_fault_rule *hit[EMU_FAULT_DUP + 1];
	u32 kind;

	memset(f, 0, sizeof(*f));
	if (!(e->faults.active & EMU_FAULTS_FRAME))
		return;
	for (kind = 0; kind <= EMU_FAULT_DUP; kind++)
		hit[kind] = emu_fault_find(rt, kind, what, len);
	if (hit[EMU_FAULT_DELAY])
		f->release = emu_now(e) + hit[EMU_FAULT_DELAY]->val[EMU_WORD_US] * EMU_NS_PER_US;
	if (hit[EMU_FAULT_UNPLUG])
		emu_fault_pull(rt, path->out_port);
	if (hit[EMU_FAULT_TRUNCATE])
		emu_fault_truncate(&e->faults, hit[EMU_FAULT_TRUNCATE], f, len);
	if (hit[EMU_FAULT_CORRUPT])
		emu_fault_patch(&e->faults, hit[EMU_FAULT_CORRUPT], f, f->len ? f->len : len);
	/* Whoever does not look at the flag shall see what it stands for. */
	if (hit[EMU_FAULT_CRC] && !f->size)
		emu_fault_patch(&e->faults, hit[EMU_FAULT_CRC], f, f->len ? f->len : len);
	f->drop = hit[EMU_FAULT_DROP];
	f->crc = hit[EMU_FAULT_CRC];
	f->dup = hit[EMU_FAULT_DUP];
}

/*
 * In the buffer of the receiver @rt: what the sender has in memory stays as it
 * is. Numbers of several bytes are little endian.
 */
void emu_fault_corrupt(struct emu_router *rt, const struct emu_frame_fault *f, u64 addr, u32 len)
{
	u32 val = 0, size, i;
	u8 buf[4];

	if (!f->size || f->offset >= len)
		return;
	size = min(f->size, len - f->offset);
	if (!emu_dma_read(rt, addr + f->offset, buf, size))
		return;
	for (i = 0; i < size; i++)
		val |= (u32)buf[i] << 8 * i;
	val = ((val & f->keep) + f->add) ^ f->xor;
	for (i = 0; i < size; i++)
		buf[i] = val >> 8 * i;
	emu_dma_write(rt, addr + f->offset, buf, size);
}

/* Rings */

bool emu_fault_stall(struct emu_router *rt, u32 ring, u32 in_flight)
{
	return emu_fault_at(rt, EMU_FAULT_STALL, ring, in_flight);
}

bool emu_fault_withheld(struct emu_router *rt, u32 ring)
{
	return emu_fault_at(rt, EMU_FAULT_WITHHOLD, ring, EMU_FAULT_ANY);
}

bool emu_fault_starved(struct emu_router *rt, u32 ring)
{
	return emu_fault_at(rt, EMU_FAULT_STARVE, ring, EMU_FAULT_ANY);
}

/* Interrupts */

bool emu_fault_irq_drop(struct emu_router *rt, u32 ring)
{
	return emu_fault_at(rt, EMU_FAULT_IRQ_DROP, ring, EMU_FAULT_ANY);
}

/* In nanoseconds, 0 if it is not to be delayed */
u64 emu_fault_irq_delay(struct emu_router *rt, u32 ring)
{
	const struct emu_fault_rule *rule;

	rule = emu_fault_at(rt, EMU_FAULT_IRQ_DELAY, ring, EMU_FAULT_ANY);
	return rule ? rule->val[EMU_WORD_US] * EMU_NS_PER_US : 0;
}

/* Control packets: they have no ring that one could leave alone. */

bool emu_fault_xd(struct emu_router *rt, enum emu_fault kind)
{
	return emu_fault_at(rt, kind, EMU_FAULT_ANY, EMU_FAULT_ANY);
}

/* Every rule whose number is in the packet applies, to the first such dword. */
void emu_fault_xd_replace(struct emu_router *rt, u32 *dw, u32 n)
{
	const u32 what[EMU_NR_FILTERS] = {
		rt->nr, EMU_FAULT_ANY, EMU_FAULT_ANY, EMU_FAULT_ANY, EMU_FAULT_ANY
	};
	struct emu_faults *faults = &rt->e->faults;
	u32 i, at;

	if (!(faults->active & BIT(EMU_FAULT_XD_REPLACE)))
		return;
	for (i = 0; i < EMU_FAULT_RULES; i++) {
		struct emu_fault_rule *rule = &faults->rule[i];

		if (!rule->id || rule->kind != EMU_FAULT_XD_REPLACE ||
		    !emu_rule_matches(rule, what, EMU_FAULT_ANY))
			continue;
		for (at = 0; at < n && dw[at] != rule->val[EMU_WORD_FIND]; at++)
			;
		if (at == n || !emu_rule_fires(faults, rule))
			continue;
		dw[at] = rule->val[EMU_WORD_SET];
		rule->done++;
		rt->stats.faults[EMU_FAULT_XD_REPLACE]++;
	}
}

bool emu_fault_event_drop(struct emu_router *rt)
{
	return emu_fault_at(rt, EMU_FAULT_EVENT_DROP, EMU_FAULT_ANY, EMU_FAULT_ANY);
}

/* Later, when nobody is in the middle of a ring. */
void emu_fault_pull(struct emu_router *rt, u32 port)
{
	rt->port[port].pull = true;
	rt->e->faults.pull = true;
	emu_set_deadline(rt->e, emu_now(rt->e));
}

static void emu_fault_pull_all(struct emu *e)
{
	u32 r, port;

	e->faults.pull = false;
	for (r = 0; r < e->cfg.nr_routers; r++) {
		for (port = 0; port < EMU_NR_PORTS; port++) {
			struct emu_port *p = &e->router[r].port[port];

			if (p->pull && p->peer)
				emu_cable_unplug(&e->router[r], port);
			p->pull = false;
		}
	}
}

/* Rules come and go */

static void emu_withheld_release(struct emu *e)
{
	u32 r, hop;

	for (r = 0; r < e->cfg.nr_routers; r++) {
		for (hop = 0; hop < EMU_MAX_HOPS; hop++) {
			struct emu_ring *rx = &e->router[r].rx[hop];

			if (rx->withheld)
				rx->drv = rx->withheld_drv;
			rx->withheld = false;
		}
		emu_ctl_flush(&e->router[r]);
	}
}

/* What was held back by a rule that is gone must go on; others hold it again. */
void emu_fault_changed(struct emu *e)
{
	u32 i;

	e->faults.active = 0;
	for (i = 0; i < EMU_FAULT_RULES; i++)
		if (e->faults.rule[i].id)
			e->faults.active |= BIT(e->faults.rule[i].kind);
	emu_withheld_release(e);
	emu_rings_retry(e);
}

static u64 emu_fault_expire(struct emu *e, u64 now)
{
	u64 next = EMU_NEVER;
	bool changed = false;
	u32 i;

	for (i = 0; i < EMU_FAULT_RULES; i++) {
		struct emu_fault_rule *rule = &e->faults.rule[i];

		if (!rule->id)
			continue;
		if (now < rule->end) {
			next = min(next, rule->end);
			continue;
		}
		rule->id = 0;
		changed = true;
	}
	if (changed)
		emu_fault_changed(e);
	return next;
}

/* Frames that are delayed; the ring that holds them looks at the clock itself. */
static u64 emu_fault_releases(struct emu *e, u64 now)
{
	u64 next = EMU_NEVER;
	bool due = false;
	u32 r, hop;

	for (r = 0; r < e->cfg.nr_routers; r++) {
		for (hop = 1; hop < EMU_MAX_HOPS; hop++) {
			const struct emu_ring *tx = &e->router[r].tx[hop];

			if (!tx->stalled || !tx->judged || !tx->fault.release)
				continue;
			if (now < tx->fault.release)
				next = min(next, tx->fault.release);
			else
				due = true;
		}
	}
	if (due)
		emu_rings_retry(e);
	return next;
}

u64 emu_fault_timers(struct emu *e, u64 now)
{
	u64 next = EMU_NEVER;

	if (e->faults.pull)
		emu_fault_pull_all(e);
	if (e->faults.active)
		next = emu_fault_expire(e, now);
	if (e->nr_stalled)
		next = min(next, emu_fault_releases(e, now));
	return next;
}
