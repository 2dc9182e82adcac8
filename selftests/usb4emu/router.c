// SPDX-License-Identifier: GPL-2.0
/*
 * Configuration spaces of a router and its adapters.
 */
#include "emu.h"

#define EMU_UID			0x00e4b40000000001ULL
#define EMU_TOTAL_BUFFERS	120
#define EMU_CTL_CREDITS		2
#define EMU_LANE_SPEED_GEN3	0xc
#define EMU_LANE_SPEED_GEN4	0xe
#define EMU_LANE_TARGET		(0xc | 1 << 4)	/* Gen 3 or better, one lane */
#define EMU_LANE_WRITE		0x4000dcff	/* targets, CLx, disable, bonding, PMS */

/**
 * struct emu_cfg_reg - dwords of a configuration space
 * @first: first dword
 * @count: how many
 * @reset: value after reset
 * @write: bits a write changes
 * @written: called after a write with the dword's offset and old value
 *
 * Dwords without an entry read as zero, writes to them are ignored.
 */
struct emu_cfg_reg {
	u16 first;
	u16 count;
	u32 reset;
	u32 write;
	void (*written)(struct emu_router *rt, u32 adapter, u32 off, u32 old);
};

struct emu_cfg_table {
	const struct emu_cfg_reg *regs;
	u32 count;
	const struct emu_cfg_table *base;	/* searched after @regs */
};

/* Router operations */

static u32 emu_op_buffer_alloc(struct emu_router *rt)
{
	/* baMaxHI is what a host router must name; the others it has no use for. */
	static const u32 params[] = {
		5 | 64 << 16,	/* baMaxHI */
		1 | 0 << 16,	/* baMaxUSB3 */
		2 | 1 << 16,	/* baMinDPaux */
		3 | 18 << 16,	/* baMinDPmain */
		4 | 0 << 16,	/* baMaxPCIe */
	};

	memcpy(&rt->cs[RTR_OP_DATA], params, sizeof(params));
	rt->cs[RTR_OP_META] = ARRAY_SIZE(params);
	return 0;
}

static void emu_router_op(struct emu_router *rt, u32 adapter, u32 off, u32 old)
{
	u32 op = rt->cs[RTR_OP];
	u32 status = RTR_OP_UNSUPPORTED;

	if (!(op & RTR_OP_VALID))
		return;
	if ((op & RTR_OP_OPCODE) == RTR_OP_BUFFER_ALLOC)
		status = emu_op_buffer_alloc(rt);
	rt->cs[RTR_OP] = (op & RTR_OP_OPCODE) | status;
	emu_dbg(rt->e, "router %u: operation %#x%s", rt->nr, (u32)(op & RTR_OP_OPCODE),
		status ? " not supported" : "");
}

static void emu_router_sleep(struct emu_router *rt, u32 adapter, u32 off, u32 old)
{
	if (rt->cs[RTR_CS_5] & RTR_CS_5_SLP)
		rt->cs[RTR_CS_6] |= RTR_CS_6_SLPR;
	else
		rt->cs[RTR_CS_6] &= ~RTR_CS_6_SLPR;
}

static const struct emu_cfg_reg emu_router_regs[] = {
	{ 0x00, 1, CFG_ID, 0, NULL },
	{ RTR_CS_1, 1, RTR_TMU | EMU_NHI_ADAPTER << 8 | EMU_NHI_ADAPTER << 14 | 1 << 24, 0, NULL },
	{ 0x02, 2, 0, ~0U, NULL },	/* route, valid */
	{ RTR_CS_4, 1, 0, 0xffff, NULL },
	{ RTR_CS_5, 1, 0, ~0U, emu_router_sleep },
	{ RTR_CS_6, 1, RTR_CS_6_RR | RTR_CS_6_CR | RTR_CS_6_TNS, 0, NULL },
	{ RTR_OP_DATA, 16, 0, ~0U, NULL },
	{ RTR_OP_META, 1, 0, ~0U, NULL },
	{ RTR_OP, 1, 0, ~0U, emu_router_op },
	{ RTR_TMU, 1, CAP_TMU << 8 | RTR_TMU_UCAP, GENMASK(27, 16), NULL },
	{ RTR_TMU + 1, 25, 0, ~0U, NULL },
};

/* Adapters */

static void emu_adapter_hotplug(struct emu_router *rt, u32 adapter, u32 off, u32 old)
{
	int port = emu_adapter_port(adapter);

	if (port >= 0 && !(rt->adapter[adapter][ADP_CS_5] & ADP_CS_5_DHP))
		emu_port_update(rt, port);
}

static void emu_lane_written(struct emu_router *rt, u32 adapter, u32 off, u32 old)
{
	emu_port_refresh_pair(rt, (adapter - 1) / 2);
}

/* Sideband: the router answers, there are no retimers that could. */
static void emu_sideband(struct emu_router *rt, u32 adapter, u32 off, u32 old)
{
	u32 *cs1 = &rt->adapter[adapter][PORT_CS_1];

	if (!(*cs1 & PORT_CS_1_PND))
		return;
	*cs1 &= ~(PORT_CS_1_PND | PORT_CS_1_NR | PORT_CS_1_RC);
	if (PORT_CS_1_TARGET(*cs1))
		*cs1 |= PORT_CS_1_NR;
}

/* Downstream port reset: released, the link trains and is announced anew. */
static void emu_port_control(struct emu_router *rt, u32 adapter, u32 off, u32 old)
{
	u32 port = emu_adapter_port(adapter);
	u32 val = rt->adapter[adapter][PORT_CS_19];

	if (!(old & PORT_CS_19_DPR) || (val & PORT_CS_19_DPR))
		return;
	emu_info(rt->e, "router %u: adapter %u: downstream port reset", rt->nr, adapter);
	emu_port_forget(rt, port);
	emu_port_bounce(rt, port);
}

static const struct emu_cfg_reg emu_adapter_regs[] = {
	{ 0x00, 1, CFG_ID, 0, NULL },
	{ ADP_CS_4, 1, ADP_CS_4_TOTAL(EMU_TOTAL_BUFFERS), ADP_CS_4_NFC | ADP_CS_4_LCK, NULL },
};

static const struct emu_cfg_reg emu_nhi_regs[] = {
	{ ADP_CS_1, 1, 1 << 24, 0, NULL },
	{ ADP_CS_2, 1, ADP_TYPE_NHI, 0, NULL },
	{ ADP_CS_5, 1, 0, ADP_CS_5_LCA, NULL },
};

static const struct emu_cfg_reg emu_lane_regs[] = {
	{ ADP_CS_1, 1, LANE_CAP | 1 << 24, 0, NULL },
	{ ADP_CS_2, 1, ADP_TYPE_LANE, 0, NULL },
	{ ADP_CS_5, 1, (EMU_LANE_HOPS - 1) | (EMU_LANE_HOPS - 1) << 11 | ADP_CS_5_DHP,
	  ADP_CS_5_LCA | ADP_CS_5_DHP, emu_adapter_hotplug },
	{ LANE_CAP, 1, ADP_TMU | CAP_LANE << 8 | 3 << 20, 0, NULL },
	{ LANE_CS_1, 1, EMU_LANE_TARGET, EMU_LANE_WRITE, emu_lane_written },
	{ ADP_TMU, 1, CAP_TMU << 8, 0, NULL },
	{ ADP_TMU + 1, 9, 0, ~0U, NULL },
};

/* The first lane has the port's capability between its own and the TMU's. */
static const struct emu_cfg_reg emu_lane0_regs[] = {
	{ LANE_CAP, 1, PORT_CAP | CAP_LANE << 8 | 3 << 20, 0, NULL },
	{ PORT_CAP, 1, ADP_TMU | CAP_USB4 << 8, 0, NULL },
	{ PORT_CS_1, 1, 0, ~0U, emu_sideband },
	{ PORT_CS_2, 16, 0, ~0U, NULL },
	{ PORT_CS_18, 1, 0, 0, NULL },
	{ PORT_CS_19, 1, 0, ~0U, emu_port_control },
};

static const struct emu_cfg_table emu_router_table = {
	emu_router_regs, ARRAY_SIZE(emu_router_regs), NULL
};

static const struct emu_cfg_table emu_adapter_table = {
	emu_adapter_regs, ARRAY_SIZE(emu_adapter_regs), NULL
};

static const struct emu_cfg_table emu_nhi_table = {
	emu_nhi_regs, ARRAY_SIZE(emu_nhi_regs), &emu_adapter_table
};

static const struct emu_cfg_table emu_lane1_table = {
	emu_lane_regs, ARRAY_SIZE(emu_lane_regs), &emu_adapter_table
};

static const struct emu_cfg_table emu_lane0_table = {
	emu_lane0_regs, ARRAY_SIZE(emu_lane0_regs), &emu_lane1_table
};

static const struct emu_cfg_table *const emu_adapter_tables[EMU_NR_ADAPTERS] = {
	NULL, &emu_lane0_table, &emu_lane1_table, &emu_lane0_table, &emu_lane1_table,
	&emu_nhi_table
};

static const struct emu_cfg_reg *emu_cfg_find(const struct emu_cfg_table *table, u32 off)
{
	u32 i;

	for (; table; table = table->base)
		for (i = 0; i < table->count; i++) {
			const struct emu_cfg_reg *reg = &table->regs[i];

			if (off >= reg->first && off < (u32)reg->first + reg->count)
				return reg;
		}
	return NULL;
}

static void emu_cfg_reset(const struct emu_cfg_table *table, u32 *cs)
{
	const struct emu_cfg_reg *reg;
	u32 off;

	for (off = 0; off < CFG_DWORDS; off++) {
		reg = emu_cfg_find(table, off);
		cs[off] = reg ? reg->reset : 0;
	}
}

/* The number of rings, as registers of router and host interface show it */
void emu_router_rings(struct emu_router *rt, u32 rings)
{
	u32 *cs5 = &rt->adapter[EMU_NHI_ADAPTER][ADP_CS_5];

	rt->nr_rings = rings;
	*cs5 &= ~ADP_CS_5_HOPS;
	*cs5 |= (rings - 1) | (rings - 1) << 11;
}

static void emu_adapter_reset(struct emu_router *rt, u32 adapter)
{
	u32 version = rt->e->cfg.usb4_version == 2 ? 0x40 : 0x20;
	u32 *cs = rt->adapter[adapter];

	emu_cfg_reset(emu_adapter_tables[adapter], cs);
	cs[ADP_CS_2] |= version << 24;
	cs[ADP_CS_3] = adapter << 20;
	if (adapter == EMU_NHI_ADAPTER)
		emu_router_rings(rt, rt->nr_rings);
	else
		cs[LANE_CAP] |= (version == 0x40 ? EMU_LANE_SPEED_GEN4 : EMU_LANE_SPEED_GEN3) << 16;
	memset(rt->hops[adapter], 0, sizeof(rt->hops[adapter]));
	if (emu_adapter_port(adapter) >= 0)
		rt->hops[adapter][0] = EMU_CTL_CREDITS << 17 | HOP_ENABLE;
}

/* The links of a router that is reset go down and come up again. */
void emu_router_reset(struct emu_router *rt)
{
	u64 uid = EMU_UID + ((u64)rt->nr << 8);
	u32 i;

	emu_cfg_reset(&emu_router_table, rt->cs);
	rt->cs[RTR_CS_4] |= (rt->e->cfg.usb4_version == 2 ? 0x40U : 0x20U) << 24;
	rt->cs[RTR_CS_7] = (u32)uid;
	rt->cs[RTR_CS_8] = uid >> 32;
	for (i = 1; i < EMU_NR_ADAPTERS; i++)
		emu_adapter_reset(rt, i);
	for (i = 0; i < EMU_NR_PORTS; i++) {
		emu_port_forget(rt, i);
		emu_port_refresh_pair(rt, i);
		emu_port_bounce(rt, i);
	}
}

/* Access from the control channel */

u32 *emu_cfg_space(struct emu_router *rt, u32 space, u32 adapter, u32 *dwords)
{
	*dwords = CFG_DWORDS;
	if (space == SPACE_ROUTER)
		return rt->cs;
	if (space == SPACE_COUNTERS)
		return NULL;
	if (space == SPACE_PORT)
		return rt->adapter[adapter];
	*dwords = 2 * (adapter == EMU_NHI_ADAPTER ? rt->nr_rings : EMU_LANE_HOPS);
	return rt->hops[adapter];
}

static void emu_hop_write(struct emu_router *rt, u32 adapter, u32 off, u32 val)
{
	u32 *dw = &rt->hops[adapter][off];
	u32 old = *dw;

	if (off % 2) {
		*dw = val & HOP_DW1_WRITE;
		return;
	}
	*dw = val & HOP_DW0_WRITE;
	if ((old ^ val) & HOP_ENABLE)
		emu_info(rt->e, "router %u: path %u:%u %s, to %u:%u, %u credits", rt->nr,
			 adapter, off / 2, val & HOP_ENABLE ? "enabled" : "disabled",
			 HOP_OUT_PORT(val), HOP_NEXT(val), HOP_CREDITS(val));
}

void emu_cfg_write(struct emu_router *rt, u32 space, u32 adapter, u32 off, u32 val)
{
	const struct emu_cfg_table *table = &emu_router_table;
	const struct emu_cfg_reg *reg;
	u32 *cs = rt->cs;
	u32 old;

	if (space == SPACE_HOPS) {
		emu_hop_write(rt, adapter, off, val);
		return;
	}
	if (space == SPACE_PORT) {
		table = emu_adapter_tables[adapter];
		cs = rt->adapter[adapter];
	}
	reg = emu_cfg_find(table, off);
	if (!reg)
		return;
	old = cs[off];
	cs[off] = (old & ~reg->write) | (val & reg->write);
	if (reg->written)
		reg->written(rt, adapter, off, old);
}
