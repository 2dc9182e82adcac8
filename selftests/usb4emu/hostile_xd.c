// SPDX-License-Identifier: GPL-2.0
/*
 * The hostile peer's XDomain messages: those of the core, by which hosts find each
 * other, and those of the service.
 */
#include "emu.h"

/* b638d70e-42ff-40bb-97c2-90e2c0b2ff07 and ce9f25d8-fb8a-4afb-8bea-0456e9da5722 */
static const u32 hostile_core_uuid[4] = { 0x0ed738b6, 0xbb40ff42, 0xe290c297, 0x07ffb2c0 };
static const u32 hostile_service_uuid[4] = { 0xd8259fce, 0xfb4a8afb, 0x5604ea8b, 0x2257dae9 };
/* Who it says it is */
static const u32 hostile_uuid[4] = { 0x6c696576, 0x40de0b0b, 0xadde0080, 0x01000000 };

/* Requests and answers of the core */
enum {
	HOSTILE_UUID_OLD = 1,
	HOSTILE_UUID_RESPONSE = 2,
	HOSTILE_PROPERTIES,
	HOSTILE_PROPERTIES_RESPONSE,
	HOSTILE_CHANGED,
	HOSTILE_CHANGED_RESPONSE,
	HOSTILE_ERROR,
	HOSTILE_UUID = 12,
	HOSTILE_LINK_STATUS = 15,
	HOSTILE_LINK_CHANGE = 17,
};

#define HOSTILE_NOT_SUPPORTED	3
#define HOSTILE_HELLO		1
#define HOSTILE_HELLO_ACK	2
#define HOSTILE_READY_REQ	3
#define HOSTILE_BYE		5
#define HOSTILE_WINDOW		511
#define HOSTILE_HOPID		8	/* its transmit path */

/* Properties: the root directory, then that of the service. */
static const u32 hostile_block[] = {
	0x55584401, 16,
	0x64657669, 0x63656964, 'v' << 24 | 1, 0x666,	/* deviceid */
	0x76656e64, 0x6f726964, 'v' << 24 | 1, 0x1d6b,	/* vendorid */
	0x6d617868, 0x6f706964, 'v' << 24 | 1, 31,	/* maxhopid */
	0x75736234, 0x72646d61, 'D' << 24 | 20, 18,	/* usb4rdma */
	0xd7270073, 0x4d4709d5, 0x3f8f8a36, 0x752d4a7b,
	0x70727463, 0x69640000, 'v' << 24 | 1, 1,	/* prtcid */
	0x70727463, 0x76657273, 'v' << 24 | 1, 2,	/* prtcvers */
	0x70727463, 0x72657673, 'v' << 24 | 1, 1,	/* prtcrevs */
	0x70727463, 0x73746e73, 'v' << 24 | 1, 0x3f,	/* prtcstns */
};

static void hostile_xd_send(struct emu_hostile *h, u32 type, u32 *dw, u32 n)
{
	const struct emu_port *port = &h->rt->port[h->port];

	if (!port->up)
		return;
	dw[0] = CTL_FROM_ROUTER;
	dw[1] = emu_port_adapter(port->peer_port);
	emu_ctl_send(port->peer, type, dw, n);
}

/* One to three dwords of a message, and now and then its length */
static u32 hostile_xd_twist(struct emu_hostile *h, u32 *dw, u32 n, u32 max)
{
	u32 fields = 1 + hostile_below(h, 3);

	while (fields--) {
		u32 at = 2 + hostile_below(h, n - 2);

		dw[at] = hostile_odd(h, dw[at], hostile_below(h, 2) ? 32 : 16);
	}
	if (!hostile_below(h, 6))
		n = 3 + hostile_below(h, max - 3);
	return n;
}

/* The core's part */

static void hostile_core_begin(u32 *dw, const u32 *req, u32 type, u32 n)
{
	memset(dw, 0, 4 * n);
	dw[2] = (n - 3) | (req[2] & ~0x3fU);
	memcpy(dw + 3, hostile_core_uuid, 16);
	dw[7] = type;
}

/*
 * A changed directory makes the host's core read it again. What it made of the old one
 * may go, the network device included.
 */
static void hostile_properties(struct emu_hostile *h, const u32 *req)
{
	u32 dw[18 + ARRAY_SIZE(hostile_block)], n = ARRAY_SIZE(dw);

	hostile_core_begin(dw, req, HOSTILE_PROPERTIES_RESPONSE, n);
	memcpy(dw + 8, hostile_uuid, 16);
	memcpy(dw + 12, req + 8, 16);
	dw[16] = (req[16] & 0xffff) | ARRAY_SIZE(hostile_block) << 16;
	dw[17] = ++h->generation;
	memcpy(dw + 18, hostile_block, sizeof(hostile_block));
	if (h->properties && hostile_below(h, 2)) {
		u32 at = 16 + hostile_below(h, n - 16);

		/* a length of 0 would have Linux 7.3.4 ask for ever */
		dw[at] = hostile_odd(h, dw[at], 32);
		if (!(dw[16] >> 16))
			dw[16] |= 1 << 16;
		h->count[HOSTILE_N_MESSAGES_FORGED]++;
	}
	hostile_xd_send(h, CTL_XDOMAIN_RESP, dw, n);
}

static void hostile_core_error(struct emu_hostile *h, const u32 *req)
{
	u32 dw[9];

	hostile_core_begin(dw, req, HOSTILE_ERROR, ARRAY_SIZE(dw));
	dw[8] = HOSTILE_NOT_SUPPORTED;
	hostile_xd_send(h, CTL_XDOMAIN_RESP, dw, ARRAY_SIZE(dw));
}

static void hostile_core_request(struct emu_hostile *h, const u32 *req, u32 n)
{
	u32 dw[14];

	h->count[HOSTILE_N_CORE]++;
	switch (req[7]) {
	case HOSTILE_UUID_OLD:
	case HOSTILE_UUID:
		hostile_core_begin(dw, req, HOSTILE_UUID_RESPONSE, 14);
		memcpy(dw + 8, hostile_uuid, 16);
		dw[13] = emu_port_adapter(h->port);
		hostile_xd_send(h, CTL_XDOMAIN_RESP, dw, 14);
		break;
	case HOSTILE_PROPERTIES:
		if (n < 17)
			return;
		memcpy(h->host, req + 8, 16);
		hostile_properties(h, req);
		if (h->state == HOSTILE_AWAY)
			hostile_enter(h, HOSTILE_MET);
		break;
	case HOSTILE_CHANGED:
		hostile_core_begin(dw, req, HOSTILE_CHANGED_RESPONSE, 8);
		hostile_xd_send(h, CTL_XDOMAIN_RESP, dw, 8);
		break;
	case HOSTILE_LINK_STATUS:
	case HOSTILE_LINK_CHANGE:
		hostile_core_error(h, req);
		break;
	}
}

/* A request to the core that nobody has asked for */
static void hostile_core_say(struct emu_hostile *h)
{
	static const u8 types[] = {
		HOSTILE_UUID, HOSTILE_PROPERTIES, HOSTILE_LINK_STATUS, HOSTILE_LINK_CHANGE, 99,
		HOSTILE_UUID_RESPONSE, HOSTILE_PROPERTIES_RESPONSE,
	};
	u32 dw[40] = { 0 }, n = 17;
	u32 type = types[hostile_below(h, ARRAY_SIZE(types))];

	if (h->properties && !hostile_below(h, 4))
		type = HOSTILE_CHANGED;
	hostile_core_begin(dw, dw, type, n);
	memcpy(dw + 8, hostile_uuid, 16);
	memcpy(dw + 12, h->host, 16);
	if (hostile_forge(h))
		n = hostile_xd_twist(h, dw, n, ARRAY_SIZE(dw));
	h->count[HOSTILE_N_CORE]++;
	hostile_xd_send(h, hostile_below(h, 8) ? CTL_XDOMAIN_REQ : CTL_XDOMAIN_RESP, dw, n);
}

/* The service's part */

static void hostile_fill(struct emu_hostile *h, u32 *dw, u32 type, u32 id, u32 status)
{
	memset(dw, 0, 4 * HOSTILE_XD_DWORDS);
	dw[2] = HOSTILE_XD_DWORDS - 3;
	memcpy(dw + 3, hostile_service_uuid, 16);
	memcpy(dw + 7, hostile_uuid, 16);
	memcpy(dw + 11, h->host, 16);
	dw[15] = type;
	dw[16] = id;
	dw[17] = status;
	dw[18] = h->cookie;
	dw[19] = h->host_cookie;
	dw[20] = 2 << 16 | 2;
	dw[21] = HOSTILE_HOPID;
	dw[22] = HOSTILE_WINDOW;
	dw[23] = 65520;
	dw[24] = 0x3f;
	dw[25] = 0x02bad000;
	dw[26] = 0x0001 << 16;
	dw[27] = HOSTILE_BODIES;
}

static void hostile_message(struct emu_hostile *h, u32 packet, u32 *dw, bool forge)
{
	u32 n = HOSTILE_XD_DWORDS;

	h->count[HOSTILE_N_MESSAGES]++;
	if (dw[15] == HOSTILE_HELLO)
		h->count[HOSTILE_N_HANDSHAKES]++;
	if (forge) {
		h->count[HOSTILE_N_MESSAGES_FORGED]++;
		n = hostile_xd_twist(h, dw, n, 60);
	}
	hostile_xd_send(h, packet, dw, n);
}

/* A request, forged now and then, but less often than in a script */
void hostile_say(struct emu_hostile *h, u32 type)
{
	u32 dw[64] = { 0 };

	hostile_fill(h, dw, type, ++h->id, 0);
	hostile_message(h, CTL_XDOMAIN_REQ, dw, hostile_forge(h) && !hostile_below(h, 4));
}

/* One message of a script */
void hostile_script(struct emu_hostile *h)
{
	static const u8 types[] = { 1, 1, 1, 1, 3, 3, 5, 5, 2, 4, 6, 7, 0 };
	u32 type = types[hostile_below(h, ARRAY_SIZE(types))];
	u32 dw[64] = { 0 };

	if (h->flood) {
		type = HOSTILE_HELLO;
	} else if (!hostile_below(h, 24)) {
		hostile_core_say(h);
		return;
	}
	if (h->flood || !hostile_below(h, 4))
		h->cookie = hostile_random(h) | 1;
	hostile_fill(h, dw, type, ++h->id, hostile_below(h, 4) ? 0 : hostile_below(h, 14));
	if (!hostile_below(h, 6))
		dw[19] = hostile_random(h);
	hostile_message(h, type & 1 ? CTL_XDOMAIN_REQ : CTL_XDOMAIN_RESP, dw,
			hostile_forge(h));
}

/* The paths: what the host sends ends in a ring, what we send begins in one. */
static void hostile_paths(struct emu_hostile *h, u32 host_hop)
{
	u32 lane = emu_port_adapter(h->port);

	memset(h->rt->hops, 0, sizeof(h->rt->hops));
	if (host_hop < EMU_LANE_HOPS)
		h->rt->hops[lane][2 * host_hop] = HOP_ENABLE | EMU_NHI_ADAPTER << 11 |
						  HOSTILE_RING;
	h->rt->hops[EMU_NHI_ADAPTER][2 * HOSTILE_RING] = HOP_ENABLE | lane << 11 | HOSTILE_HOPID;
}

static void hostile_learn(struct emu_hostile *h, const u32 *dw)
{
	h->host_cookie = dw[18];
	h->limit = dw[22];
	h->mac[0] = dw[25];
	h->mac[1] = dw[26];
	hostile_paths(h, dw[21]);
	if (h->state == HOSTILE_GREET)
		h->agreed = true;
}

static void hostile_answer(struct emu_hostile *h, const u32 *req, u32 status)
{
	u32 dw[64] = { 0 };

	hostile_fill(h, dw, req[15] + 1, req[16], status);
	if (h->mutate && !hostile_below(h, 40))
		return;		/* never */
	hostile_message(h, CTL_XDOMAIN_RESP, dw, hostile_forge(h) && !hostile_below(h, 3));
}

static void hostile_request(struct emu_hostile *h, const u32 *req)
{
	switch (req[15]) {
	case HOSTILE_HELLO:
		/* it has begun anew */
		if (h->state > HOSTILE_GREET && req[18] != h->host_cookie)
			hostile_next(h);
		if (h->state == HOSTILE_SCRIPTED && !h->flood && hostile_below(h, 3)) {
			h->host_cookie = req[18];
			hostile_answer(h, req, hostile_below(h, 7));
			return;
		}
		hostile_learn(h, req);
		hostile_answer(h, req, 0);
		break;
	case HOSTILE_READY_REQ:
		if (h->state == HOSTILE_READY)
			h->host_ready = true;
		hostile_answer(h, req, h->state == HOSTILE_SCRIPTED ? hostile_below(h, 7) : 0);
		break;
	case HOSTILE_BYE:
		hostile_answer(h, req, 0);
		if (h->state >= HOSTILE_GREET)
			hostile_next(h);
		break;
	}
}

static void hostile_response(struct emu_hostile *h, const u32 *res)
{
	if (res[17])
		return;
	h->count[HOSTILE_N_ANSWERS]++;
	if (res[15] == HOSTILE_HELLO_ACK && h->state == HOSTILE_GREET && res[19] == h->cookie)
		hostile_learn(h, res);
	else if (res[15] == HOSTILE_READY_REQ + 1 && h->state == HOSTILE_READY)
		h->we_ready = true;
}

/* A packet of the control channel has come to the router without a host. */
void emu_hostile_control(struct emu_router *rt, u32 type, const u32 *dw, u32 n)
{
	struct emu_hostile *h = rt->e->hostile;

	if (n < 8 || (dw[1] & 0xff) != emu_port_adapter(h->port))
		return;
	if (type == CTL_XDOMAIN_REQ && !memcmp(dw + 3, hostile_core_uuid, 16))
		hostile_core_request(h, dw, n);
	if (n < HOSTILE_XD_DWORDS || !h->on || memcmp(dw + 3, hostile_service_uuid, 16))
		return;
	if (type == CTL_XDOMAIN_REQ)
		hostile_request(h, dw);
	else if (type == CTL_XDOMAIN_RESP)
		hostile_response(h, dw);
}
