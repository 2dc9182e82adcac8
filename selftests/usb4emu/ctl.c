// SPDX-License-Identifier: GPL-2.0
/*
 * Control channel: packets between a router and its connection manager on
 * ring 0. Big-endian dwords, a CRC32C at the end; a packet's type is the EOF
 * of its descriptor. Packets to the manager queue until it posts a descriptor.
 */
#include "emu.h"

/* To the connection manager */

void emu_ctl_reset(struct emu_router *rt)
{
	rt->ctl.head = 0;
	rt->ctl.count = 0;
}

void emu_ctl_flush(struct emu_router *rt)
{
	struct emu_ctl *ctl = &rt->ctl;

	while (ctl->count && emu_rx_room(&rt->rx[0])) {
		if (!emu_rx_control(rt, &ctl->queue[ctl->head]))
			return;
		ctl->head = (ctl->head + 1) % EMU_CTL_QUEUE;
		ctl->count--;
	}
}

void emu_ctl_send(struct emu_router *rt, u32 type, const u32 *dw, u32 n)
{
	struct emu_ctl *ctl = &rt->ctl;
	struct emu_ctl_packet *p;
	u32 i, be;

	if (emu_is_stranger(rt)) {
		emu_hostile_control(rt, type, dw, n);
		return;
	}
	if (!emu_ring_enabled(&rt->rx[0])) {
		rt->stats.ctl.unsent++;
		return;
	}
	if (ctl->count == EMU_CTL_QUEUE) {
		rt->stats.ctl.queue_full++;
		return;
	}
	p = &ctl->queue[(ctl->head + ctl->count) % EMU_CTL_QUEUE];
	p->type = type;
	p->len = 4 * n + 4;
	for (i = 0; i < n; i++) {
		be = cpu_to_be32(dw[i]);
		memcpy(p->data + 4 * i, &be, 4);
	}
	be = cpu_to_be32(emu_crc32c(p->data, 4 * n));
	memcpy(p->data + 4 * n, &be, 4);
	if (rt->e->capturing)
		emu_capture_control(rt, false, type, p->data, p->len);
	ctl->count++;
	emu_ctl_flush(rt);
}

void emu_ctl_error(struct emu_router *rt, const u32 *dw, u32 adapter, u32 error)
{
	u32 reply[3] = { CTL_FROM_ROUTER | (dw[0] & CTL_ROUTE_HI), dw[1], error | adapter << 8 };

	rt->stats.ctl.errors++;
	emu_dbg(rt->e, "router %u: error %u, route %x, adapter %u", rt->nr, error, dw[1], adapter);
	emu_ctl_send(rt, CTL_ERROR, reply, ARRAY_SIZE(reply));
}

/* From the connection manager */

static void emu_ctl_bad_length(struct emu_router *rt, u32 type, u32 dwords)
{
	rt->stats.ctl.bad_length++;
	emu_guest_error(rt, "control packet type %u of %u dwords", type, dwords);
}

/*
 * Another router's configuration space: there is either nothing or another
 * domain's host router at the other end of a port, which does not answer us.
 */
static void emu_ctl_elsewhere(struct emu_router *rt, const u32 *dw)
{
	u32 adapter = dw[1] & 0xff;
	int port = emu_adapter_port(adapter);

	if (port < 0)
		emu_ctl_error(rt, dw, adapter & 0x3f, CTL_ERR_NO_SUCH_PORT);
	else if (!rt->port[port].up)
		emu_ctl_error(rt, dw, adapter, CTL_ERR_NOT_CONNECTED);
	else
		emu_ctl_error(rt, dw, emu_port_adapter(rt->port[port].peer_port),
			      CTL_ERR_OTHER_DOMAIN);
}

/* The space and adapter an address means, NULL after an error was sent. */
static u32 *emu_ctl_target(struct emu_router *rt, const u32 *dw)
{
	u32 a = dw[2], space = CTL_ADDR_SPACE(a), adapter = CTL_ADDR_PORT(a);
	u32 *cs, dwords;

	if ((dw[0] & CTL_ROUTE_HI) || dw[1]) {
		emu_ctl_elsewhere(rt, dw);
		return NULL;
	}
	if (space != SPACE_ROUTER && (!adapter || adapter > EMU_NHI_ADAPTER)) {
		emu_ctl_error(rt, dw, adapter, CTL_ERR_NO_SUCH_PORT);
		return NULL;
	}
	cs = emu_cfg_space(rt, space, adapter, &dwords);
	if (!cs || CTL_ADDR_OFFSET(a) + CTL_ADDR_LEN(a) > dwords) {
		emu_ctl_error(rt, dw, adapter, CTL_ERR_INVALID_SPACE);
		return NULL;
	}
	return cs + CTL_ADDR_OFFSET(a);
}

/* Replies name the upstream adapter for the router's own space. */
static void emu_ctl_reply_header(u32 *reply, u32 a)
{
	if (CTL_ADDR_SPACE(a) == SPACE_ROUTER)
		a = (a & ~CTL_ADDR_PORT_MASK) | EMU_NHI_ADAPTER << 19;
	reply[0] = CTL_FROM_ROUTER;
	reply[1] = 0;
	reply[2] = a;
}

static void emu_ctl_read(struct emu_router *rt, u32 type, u32 *dw, u32 n)
{
	u32 reply[3 + CTL_MAX_DATA], len;
	const u32 *cs;

	len = n == 3 ? CTL_ADDR_LEN(dw[2]) : 0;
	if (!len || len > CTL_MAX_DATA) {
		emu_ctl_bad_length(rt, type, n);
		return;
	}
	rt->stats.ctl.reads++;
	cs = emu_ctl_target(rt, dw);
	if (!cs)
		return;
	emu_ctl_reply_header(reply, dw[2]);
	memcpy(reply + 3, cs, 4 * len);
	emu_dbg(rt->e, "router %u: read space %u adapter %u dword %#x+%u: %08x", rt->nr,
		CTL_ADDR_SPACE(dw[2]), CTL_ADDR_PORT(dw[2]), CTL_ADDR_OFFSET(dw[2]), len, cs[0]);
	emu_ctl_send(rt, CTL_READ, reply, 3 + len);
}

/* The reply goes first: what the write causes comes after it. */
static void emu_ctl_write(struct emu_router *rt, u32 type, u32 *dw, u32 n)
{
	u32 reply[3], len, i;

	len = n > 3 ? CTL_ADDR_LEN(dw[2]) : 0;
	if (!len || n != 3 + len) {
		emu_ctl_bad_length(rt, type, n);
		return;
	}
	rt->stats.ctl.writes++;
	if (!emu_ctl_target(rt, dw))
		return;
	emu_dbg(rt->e, "router %u: write space %u adapter %u dword %#x+%u: %08x", rt->nr,
		CTL_ADDR_SPACE(dw[2]), CTL_ADDR_PORT(dw[2]), CTL_ADDR_OFFSET(dw[2]), len, dw[3]);
	emu_ctl_reply_header(reply, dw[2]);
	emu_ctl_send(rt, CTL_WRITE, reply, ARRAY_SIZE(reply));
	for (i = 0; i < len; i++)
		emu_cfg_write(rt, CTL_ADDR_SPACE(dw[2]), CTL_ADDR_PORT(dw[2]),
			      CTL_ADDR_OFFSET(dw[2]) + i, dw[3 + i]);
	if (CTL_ADDR_SPACE(dw[2]) == SPACE_HOPS)
		emu_rings_retry(rt->e);
}

/* The only error a manager sends acknowledges a plug event. */
static void emu_ctl_ack(struct emu_router *rt, u32 type, u32 *dw, u32 n)
{
	u32 page;

	if (n != 3) {
		emu_ctl_bad_length(rt, type, n);
		return;
	}
	page = dw[2] >> 30;
	if ((dw[2] & 0xff) == CTL_ERR_ACK_PLUG && page >= CTL_ACK_PG_PLUG)
		emu_port_ack(rt, dw[2] >> 8 & 0x3f, page == CTL_ACK_PG_UNPLUG);
}

static void emu_ctl_ignore(struct emu_router *rt, u32 type, u32 *dw, u32 n)
{
}

static void (*const emu_ctl_handlers[CTL_NR_TYPES])(struct emu_router *rt, u32 type,
						    u32 *dw, u32 n) = {
	[CTL_READ]		= emu_ctl_read,
	[CTL_WRITE]		= emu_ctl_write,
	[CTL_ERROR]		= emu_ctl_ack,
	[CTL_NOTIFY_ACK]	= emu_ctl_ignore,
	[CTL_XDOMAIN_REQ]	= emu_xdomain_forward,
	[CTL_XDOMAIN_RESP]	= emu_xdomain_forward,
};

void emu_ctl_input(struct emu_router *rt, u32 type, u64 addr, u32 len)
{
	u32 dw[CTL_MAX_DWORDS];
	u32 n = len / 4 - 1, i;

	if (len % 4 || len < 12 || len > sizeof(dw)) {
		emu_ctl_bad_length(rt, type, len / 4);
		return;
	}
	if (!emu_dma_read(rt, addr, dw, len))
		return;
	if (rt->e->capturing)
		emu_capture_control(rt, true, type, dw, len);
	if (be32_to_cpu(dw[n]) != emu_crc32c(dw, 4 * n)) {
		rt->stats.ctl.bad_crc++;
		emu_guest_error(rt, "control packet type %u: bad CRC", type);
		return;
	}
	for (i = 0; i < n; i++)
		dw[i] = be32_to_cpu(dw[i]);
	if (type < CTL_NR_TYPES && emu_ctl_handlers[type]) {
		emu_ctl_handlers[type](rt, type, dw, n);
		return;
	}
	rt->stats.ctl.unknown++;
	emu_guest_error(rt, "control packet of unknown type %u", type);
}
