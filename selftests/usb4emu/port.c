// SPDX-License-Identifier: GPL-2.0
/*
 * USB4 ports: cables, link state as the lane adapters show it, and plug
 * events, which are sent again until the connection manager acknowledges
 * them. A link that went down and came back before its unplug event was
 * acknowledged still yields both events.
 */
#include "emu.h"

#define EMU_EVENT_TIMEOUT_MS	255
#define EMU_NS_PER_MS		1000000ULL
#define EMU_PORT_WAKE_CONNECT	BIT(16)	/* PORT_CS_19 */
#define EMU_PORT_WAKE_DISCONNECT BIT(17)

/* The port whose first lane is @adapter, or -1. */
int emu_adapter_port(u32 adapter)
{
	if (adapter % 2 == 0 || adapter >= EMU_NHI_ADAPTER)
		return -1;
	return adapter / 2;
}

/* Lane registers */

static u8 emu_port_gen(const struct emu_router *rt, const struct emu_port *port)
{
	return rt->e->cfg.usb4_version == 1 || port->gen == 3 ? 3 : 4;
}

static bool emu_lane_wants_dual(const struct emu_router *rt, u32 port)
{
	u32 cs1 = rt->adapter[emu_port_adapter(port)][LANE_CS_1];

	return LANE_CS_1_TARGET_WIDTH(cs1) == LANE_WIDTH_DUAL;
}

static bool emu_lane_bonding(const struct emu_router *rt, u32 port)
{
	return rt->adapter[emu_port_adapter(port)][LANE_CS_1] & LANE_CS_1_LB;
}

/* Gen 4 comes up with both lanes, Gen 3 is bonded by its managers. */
static bool emu_port_dual(const struct emu_router *rt, u32 nr)
{
	const struct emu_port *port = &rt->port[nr];

	if (!port->up || port->width < 2)
		return false;
	if (emu_port_gen(rt, port) == 4)
		return true;
	return (emu_lane_bonding(rt, nr) || emu_lane_bonding(port->peer, port->peer_port)) &&
	       emu_lane_wants_dual(rt, nr) && emu_lane_wants_dual(port->peer, port->peer_port);
}

void emu_port_refresh(struct emu_router *rt, u32 nr)
{
	const struct emu_port *port = &rt->port[nr];
	u32 adapter = emu_port_adapter(nr), lane;
	u32 speed = emu_port_gen(rt, port) == 4 ? 2 : 4;
	u32 width = emu_port_dual(rt, nr) ? 2 : 1;

	for (lane = 0; lane < 2; lane++) {
		u32 *cs1 = &rt->adapter[adapter + lane][LANE_CS_1];
		u32 state = port->up ? LANE_STATE_UP : LANE_STATE_UNPLUGGED;

		if (*cs1 & LANE_CS_1_LD)
			state = LANE_STATE_DISABLED;
		*cs1 &= ~(LANE_CS_1_SPEED | LANE_CS_1_WIDTH | LANE_CS_1_STATE);
		*cs1 |= speed << 16 | width << 20 | state << 26;
	}
	rt->adapter[adapter][PORT_CS_18] = port->up ? PORT_CS_18_BE : 0;
}

void emu_port_refresh_pair(struct emu_router *rt, u32 nr)
{
	const struct emu_port *port = &rt->port[nr];

	emu_port_refresh(rt, nr);
	if (port->peer)
		emu_port_refresh(port->peer, port->peer_port);
}

/* Plug events */

/* The manager programs the timeout. */
static void emu_event_arm(struct emu_router *rt, struct emu_port *port)
{
	u32 ms = rt->cs[RTR_CS_4] & 0xff;

	port->resend = emu_now(rt->e) + (ms ? ms : EMU_EVENT_TIMEOUT_MS) * EMU_NS_PER_MS;
	emu_set_deadline(rt->e, port->resend);
}

static void emu_event_send(struct emu_router *rt, u32 nr, bool unplug)
{
	struct emu_port *port = &rt->port[nr];
	u32 dw[3] = { CTL_FROM_ROUTER, 0, emu_port_adapter(nr) };

	if (unplug)
		dw[2] |= CTL_EVENT_UNPLUG;
	emu_info(rt->e, "router %u: %splug event, adapter %u", rt->nr, unplug ? "un" : "",
		 emu_port_adapter(nr));
	port->sent = unplug ? EMU_EV_UNPLUG : EMU_EV_PLUG;
	emu_event_arm(rt, port);
	if (!emu_fault_event_drop(rt))
		emu_ctl_send(rt, CTL_EVENT, dw, ARRAY_SIZE(dw));
}

/* Not while packets wait for a descriptor: the event may be one of them. */
static void emu_event_resend(struct emu_router *rt, u32 nr)
{
	struct emu_port *port = &rt->port[nr];

	if (rt->ctl.count) {
		emu_event_arm(rt, port);
		return;
	}
	port->retries++;
	emu_event_send(rt, nr, port->sent == EMU_EV_UNPLUG);
}

static void emu_port_wake(struct emu_router *rt, u32 nr, bool unplug)
{
	u32 cs19 = rt->adapter[emu_port_adapter(nr)][PORT_CS_19];

	if (cs19 & (unplug ? EMU_PORT_WAKE_DISCONNECT : EMU_PORT_WAKE_CONNECT))
		emu_pci_wake(rt);
}

/* Send what the manager has to know of the port, unless it was told. */
void emu_port_update(struct emu_router *rt, u32 nr)
{
	struct emu_port *port = &rt->port[nr];
	bool unplug = port->lost;

	if (!unplug && (!port->up || port->known))
		return;
	if (!emu_ring_enabled(&rt->rx[0])) {
		emu_port_wake(rt, nr, unplug);
		return;
	}
	if (rt->adapter[emu_port_adapter(nr)][ADP_CS_5] & ADP_CS_5_DHP)
		return;
	if (port->sent == (unplug ? EMU_EV_UNPLUG : EMU_EV_PLUG))
		return;
	port->events++;
	emu_event_send(rt, nr, unplug);
}

/* The receive ring of the control channel was enabled. */
void emu_port_announce(struct emu_router *rt)
{
	u32 nr;

	for (nr = 0; nr < EMU_NR_PORTS; nr++) {
		rt->port[nr].sent = EMU_EV_NONE;
		emu_port_update(rt, nr);
	}
}

void emu_port_ack(struct emu_router *rt, u32 adapter, bool unplug)
{
	int nr = emu_adapter_port(adapter);
	struct emu_port *port;

	if (nr < 0)
		return;
	port = &rt->port[nr];
	if (port->sent != (unplug ? EMU_EV_UNPLUG : EMU_EV_PLUG))
		return;
	port->sent = EMU_EV_NONE;
	port->known = !unplug;
	if (unplug)
		port->lost = false;
	emu_port_update(rt, nr);
}

u64 emu_port_timers(struct emu_router *rt, u64 now)
{
	u64 next = EMU_NEVER;
	u32 nr;

	for (nr = 0; nr < EMU_NR_PORTS; nr++) {
		struct emu_port *port = &rt->port[nr];

		if (!emu_ring_enabled(&rt->rx[0]))
			port->sent = EMU_EV_NONE;
		if (port->sent == EMU_EV_NONE)
			continue;
		if (now >= port->resend)
			emu_event_resend(rt, nr);
		next = min(next, port->resend);
	}
	return next;
}

/* Links */

static void emu_link_set(struct emu_router *rt, u32 nr, bool up)
{
	struct emu_port *port = &rt->port[nr];

	if (port->up == up)
		return;
	port->up = up;
	if (!up) {
		rt->adapter[emu_port_adapter(nr)][LANE_CS_1] &= ~LANE_CS_1_LB;
		if (port->known || port->sent == EMU_EV_PLUG)
			port->lost = true;
		port->sent = EMU_EV_NONE;
	}
	emu_info(rt->e, "router %u: port %u.%u link %s", rt->nr, rt->nr,
		 emu_port_adapter(nr), up ? "up" : "down");
}

static void emu_link_update(struct emu_router *rt, u32 nr, bool up)
{
	struct emu_port *port = &rt->port[nr];
	struct emu_router *peer = port->peer;
	u32 peer_port = port->peer_port;

	emu_link_set(rt, nr, up);
	emu_link_set(peer, peer_port, up);
	emu_port_refresh_pair(rt, nr);
	emu_port_update(rt, nr);
	emu_port_update(peer, peer_port);
}

/* A host was powered on or off. */
void emu_links_update(struct emu_router *rt)
{
	u32 nr;

	for (nr = 0; nr < EMU_NR_PORTS; nr++) {
		struct emu_port *port = &rt->port[nr];

		if (port->peer)
			emu_link_update(rt, nr, emu_router_on(rt) && emu_router_on(port->peer));
	}
}

/* The port was reset from this side: the peer sees the link go and return. */
void emu_port_bounce(struct emu_router *rt, u32 nr)
{
	struct emu_port *port = &rt->port[nr];

	if (!port->up)
		return;
	emu_link_update(rt, nr, false);
	emu_link_update(rt, nr, true);
}

/* The connection manager starts anew and knows of nothing. */
void emu_port_forget(struct emu_router *rt, u32 nr)
{
	struct emu_port *port = &rt->port[nr];

	port->known = false;
	port->lost = false;
	port->sent = EMU_EV_NONE;
}

/* Cables */

void emu_cable_plug(struct emu_router *a, u32 pa, struct emu_router *b, u32 pb)
{
	a->port[pa].peer = b;
	a->port[pa].peer_port = pb;
	b->port[pb].peer = a;
	b->port[pb].peer_port = pa;
	emu_cable_set(a, pa, a->e->cfg.gen, 2);
	emu_link_update(a, pa, emu_router_on(a) && emu_router_on(b));
	emu_rings_retry(a->e);
}

void emu_cable_unplug(struct emu_router *rt, u32 nr)
{
	struct emu_port *port = &rt->port[nr];
	struct emu_port *peer = &port->peer->port[port->peer_port];

	emu_link_update(rt, nr, false);
	peer->peer = NULL;
	port->peer = NULL;
	emu_rings_retry(rt->e);
}

void emu_cable_set(struct emu_router *rt, u32 nr, u8 gen, u8 width)
{
	struct emu_port *port = &rt->port[nr];
	struct emu_port *peer = &port->peer->port[port->peer_port];

	port->gen = gen;
	peer->gen = gen;
	port->width = width;
	peer->width = width;
	emu_port_refresh_pair(rt, nr);
}
