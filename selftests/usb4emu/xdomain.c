// SPDX-License-Identifier: GPL-2.0
/*
 * Packets between the connection managers of two domains. The route names the
 * sender's adapter; the receiver sees the adapter the packet came in by.
 * Nothing is paired: requests and responses travel alike, by route alone.
 */
#include "emu.h"

void emu_xdomain_forward(struct emu_router *rt, u32 type, u32 *dw, u32 n)
{
	u32 adapter = dw[1] & 0xff;
	int port = emu_adapter_port(adapter);
	struct emu_router *peer;

	if (n < 3) {
		rt->stats.ctl.bad_length++;
		emu_guest_error(rt, "XDomain packet of %u dwords", n);
		return;
	}
	rt->stats.ctl.xdomain++;
	if (port < 0 || (dw[0] & CTL_ROUTE_HI) || dw[1] != adapter) {
		emu_ctl_error(rt, dw, adapter & 0x3f, CTL_ERR_NO_SUCH_PORT);
		return;
	}
	if (!rt->port[port].up) {
		emu_ctl_error(rt, dw, adapter, CTL_ERR_NOT_CONNECTED);
		return;
	}
	peer = rt->port[port].peer;
	dw[0] = CTL_FROM_ROUTER;
	dw[1] = emu_port_adapter(rt->port[port].peer_port);
	emu_dbg(rt->e, "router %u to %u: XDomain type %u, %u dwords", rt->nr, peer->nr, type, n);
	if (emu_fault_xd(rt, EMU_FAULT_XD_UNPLUG))
		emu_fault_pull(rt, port);
	if (emu_fault_xd(rt, EMU_FAULT_XD_DROP))
		return;
	emu_fault_xd_replace(rt, dw + 3, n - 3);
	emu_ctl_send(peer, type, dw, n);
	if (emu_fault_xd(rt, EMU_FAULT_XD_DUP))
		emu_ctl_send(peer, type, dw, n);
}
