// SPDX-License-Identifier: GPL-2.0
/*
 * Path routing: from a transmit ring through the HOPS space of each adapter
 * on the way, over cables, to a receive ring.
 *
 *	TX ring h = HopID h into the NHI adapter
 *	entry (adapter, HopID): enable, out adapter, next HopID
 *	out adapter is a lane: over the cable into the peer's lane adapter
 *	out adapter is the NHI: RX ring = next HopID
 */
#include "emu.h"

static u32 emu_path_hops(const struct emu_router *rt, u32 adapter)
{
	return adapter == EMU_NHI_ADAPTER ? rt->nr_rings : EMU_LANE_HOPS;
}

enum emu_drop emu_path_find(struct emu_router *rt, u32 hop, struct emu_path *path)
{
	u32 adapter = EMU_NHI_ADAPTER;
	u32 i;

	memset(path, 0, sizeof(*path));
	path->src = rt;
	path->tx_ring = hop;
	for (i = 0; i < EMU_MAX_PATH; i++) {
		const struct emu_port *port;
		u32 dw0, out;
		int p;

		if (hop >= emu_path_hops(rt, adapter))
			return EMU_DROP_BAD_PATH;
		dw0 = rt->hops[adapter][2 * hop];
		if (!(dw0 & HOP_ENABLE))
			return i ? EMU_DROP_PEER_NO_PATH : EMU_DROP_NO_PATH;
		out = HOP_OUT_PORT(dw0);
		hop = HOP_NEXT(dw0);
		if (out == EMU_NHI_ADAPTER) {
			path->dst = rt;
			path->ring = hop;
			return i && hop < rt->nr_rings ? EMU_DROP_NONE : EMU_DROP_BAD_PATH;
		}
		p = emu_adapter_port(out);
		if (p < 0)
			return EMU_DROP_BAD_PATH;
		port = &rt->port[p];
		if (!i) {
			path->out_port = p;
			path->out_hop = hop;
		}
		if (!port->up)
			return EMU_DROP_UNPLUGGED;
		path->cables++;
		path->in_port = port->peer_port;
		path->in_hop = hop;
		rt = port->peer;
		adapter = emu_port_adapter(path->in_port);
	}
	return EMU_DROP_LOOP;
}
