// SPDX-License-Identifier: GPL-2.0
/*
 * The hostile peer's frames: packets with their link header, and CONTROL messages,
 * right or forged.
 */
#include "emu.h"

#define HOSTILE_HEAD		48
#define HOSTILE_CTL		24
#define HOSTILE_MAX_GIDS	64
#define HOSTILE_CREDIT		17	/* kept for control frames */

enum { HOSTILE_END = 2, HOSTILE_ONLY, HOSTILE_EVEN, HOSTILE_ODD, HOSTILE_CONTROL };

struct hostile_field {
	u8 offset;
	u8 size;
	u8 flow;		/* ends the session if it is wrong */
};

static const struct hostile_field hostile_head_fields[] = {
	{ 0, 1, 0 }, { 1, 1, 0 }, { 12, 4, 0 }, { 16, 4, 0 }, { 20, 2, 0 }, { 22, 1, 0 },
	{ 23, 1, 0 }, { 24, 2, 0 }, { 26, 2, 0 }, { 28, 2, 0 }, { 30, 2, 0 }, { 32, 2, 0 },
	{ 34, 2, 0 }, { 36, 1, 0 }, { 37, 4, 0 }, { 44, 4, 0 },
	{ 2, 2, 1 }, { 4, 4, 1 }, { 8, 4, 1 },
};

static const struct hostile_field hostile_ctl_fields[] = {
	{ 0, 1, 0 }, { 1, 1, 0 }, { 12, 4, 0 }, { 16, 4, 0 }, { 20, 2, 0 }, { 22, 2, 0 },
	{ 24, 4, 0 },
	{ 2, 2, 1 }, { 4, 4, 1 }, { 8, 4, 1 },
};

static void hostile_le16(u8 *buf, u32 val)
{
	buf[0] = val;
	buf[1] = val >> 8;
}

static void hostile_le32(u8 *buf, u32 val)
{
	hostile_le16(buf, val);
	hostile_le16(buf + 2, val >> 16);
}

static void hostile_twist(struct emu_hostile *h, u8 *buf, const struct hostile_field *f)
{
	u32 val = 0, i;

	for (i = 0; i < f->size; i++)
		val |= (u32)buf[f->offset + i] << 8 * i;
	val = hostile_odd(h, val, 8 * f->size);
	for (i = 0; i < f->size; i++)
		buf[f->offset + i] = val >> 8 * i;
	h->count[f->flow ? HOSTILE_N_FIELD_FLOW : HOSTILE_N_FIELD_HEAD]++;
}

/* What ends a session is rare, or there would be none. */
static void hostile_twist_any(struct emu_hostile *h, u8 *buf, const struct hostile_field *f, u32 n)
{
	u32 fields = 1 + hostile_below(h, 3) / 2;

	while (fields--) {
		const struct hostile_field *pick = &f[hostile_below(h, n)];

		if (pick->flow && hostile_below(h, 16))
			pick = &f[0];
		hostile_twist(h, buf, pick);
	}
}

/* What the host may send. A stingy peer lets it probe, and no more. */
static u32 hostile_limit(struct emu_hostile *h)
{
	h->told = h->stingy ? 511 : h->seen + 511;
	return h->told;
}

static void hostile_common(struct emu_hostile *h, u8 *buf, u32 type, u32 flags)
{
	buf[0] = type;
	buf[1] = flags;
	hostile_le16(buf + 2, h->cookie);
	hostile_le32(buf + 4, h->sent);
	hostile_le32(buf + 8, hostile_limit(h));
}

/* Returns false if it is lost: the host has no buffer. */
static bool hostile_frame(struct emu_hostile *h, u32 eof, u32 len, u32 flags)
{
	struct emu_path path;
	enum emu_drop drop;

	drop = emu_path_find(h->rt, HOSTILE_RING, &path);
	if (drop == EMU_DROP_NONE && !emu_is_stranger(path.dst))
		drop = emu_rx_inject(&path, h->frame, len, eof << 12 | 1 << 16 | flags);
	if (drop != EMU_DROP_NONE) {
		h->count[HOSTILE_N_LOST]++;
		return false;
	}
	h->count[HOSTILE_N_FRAMES]++;
	h->sent++;
	return true;
}

static u32 hostile_credit(struct emu_hostile *h)
{
	s32 left = h->limit - h->sent;

	return left > 0 ? left : 0;
}

/* Tags and flags of a descriptor, which the host interface makes of the cable's */
static void hostile_tags(struct emu_hostile *h, u32 *eof, u32 *flags)
{
	h->count[HOSTILE_N_TAGS]++;
	switch (hostile_below(h, 4)) {
	case 0:
		*flags = DESC_CRC_ERROR;
		break;
	case 1:
		*flags = DESC_OVERRUN;
		break;
	default:
		*eof = HOSTILE_END + hostile_below(h, 5);
	}
}

/* CONTROL */

/* The host's GID lists: ours, and others that are not */
static u32 hostile_gids(struct emu_hostile *h, u8 *buf)
{
	u32 n = hostile_below(h, 4) ? 1 : hostile_below(h, HOSTILE_MAX_GIDS + 1);
	u32 i;

	memset(buf + HOSTILE_CTL, 0, 16 * HOSTILE_MAX_GIDS);
	for (i = 0; i < n; i++) {
		u8 *gid = buf + HOSTILE_CTL + 16 * i;

		gid[10] = 0xff;
		gid[11] = 0xff;
		hostile_put32(gid + 12, h->own_ip + i);
	}
	hostile_le16(buf + 20, n);
	return 16 * n;
}

static bool hostile_control(struct emu_hostile *h, u32 type, u32 flags, u32 arg, bool forge)
{
	u32 len = HOSTILE_CTL, eof = HOSTILE_CONTROL, tags = 0;

	if (!hostile_credit(h))
		return false;
	memset(h->frame, 0, HOSTILE_CTL);
	hostile_common(h, h->frame, type, flags);
	hostile_le32(h->frame + 12, arg);
	hostile_le32(h->frame + 16, h->host_cookie);
	if (type == 20)
		len += hostile_gids(h, h->frame);
	h->count[HOSTILE_N_CONTROL]++;
	if (forge) {
		h->count[HOSTILE_N_CONTROL_FORGED]++;
		h->count[HOSTILE_N_FRAMES_FORGED]++;
		switch (hostile_below(h, 6)) {
		case 0:
			len = 1 + hostile_below(h, 2 * len);
			h->count[HOSTILE_N_CUT]++;
			break;
		case 1:
			hostile_tags(h, &eof, &tags);
			break;
		default:
			hostile_twist_any(h, h->frame, hostile_ctl_fields,
					  ARRAY_SIZE(hostile_ctl_fields));
		}
	}
	return hostile_frame(h, eof, len, tags);
}

/* One that the session needs */
bool hostile_control_frame(struct emu_hostile *h, u32 type, u32 arg)
{
	u32 flags = type == 19 ? 1 : type == 20 ? 3 : 0;

	return hostile_control(h, type, flags, arg, false);
}

/* One that it does not */
static void hostile_any_control(struct emu_hostile *h)
{
	static const u8 types[] = { 16, 16, 17, 18, 19, 19, 20, 20, 21 };
	u32 type = types[hostile_below(h, ARRAY_SIZE(types))];
	u32 flags = type == 19 ? 1 | hostile_below(h, 2) << 1 :
		    type == 20 ? hostile_below(h, 4) : 0;
	u32 arg = type == 18 ? h->host_cookie : type == 19 ? 1280 + hostile_below(h, 8000) :
		  type == 20 ? (u32)hostile_random(h) : h->host_gids;

	hostile_control(h, type, flags, arg, hostile_forge(h));
}

/* Packets */

static void hostile_head(struct emu_hostile *h, const struct hostile_packet *p)
{
	u8 *buf = h->frame;

	memset(buf, 0, HOSTILE_HEAD);
	hostile_common(h, buf, p->type, p->flags);
	hostile_le32(buf + 12, h->seq++);
	hostile_le32(buf + 16, p->len);
	hostile_le16(buf + 20, p->inl);
	buf[22] = p->bodies;
	buf[23] = p->gso_type;
	hostile_le16(buf + 24, p->hdr_len);
	hostile_le16(buf + 26, p->gso_size);
	hostile_le16(buf + 28, p->csum_start);
	hostile_le16(buf + 30, p->csum_offset);
	hostile_le16(buf + 32, p->outer_th);
	hostile_le16(buf + 34, p->inner_nh);
	buf[36] = p->npsn;
	memcpy(buf + HOSTILE_HEAD, h->packet, p->inl);
}

/* How much goes in the HEAD frame, and the rest into any frames that hold it */
static void hostile_split(struct emu_hostile *h, struct hostile_packet *p)
{
	u32 least = p->hdr_len > 14 ? p->hdr_len : 14, rest, left, i;
	u32 most = min(p->len, 4096U - HOSTILE_HEAD);

	least = max(least, p->csum_start + p->csum_offset + 2U);
	p->inl = most;
	if (least < most && hostile_below(h, 3))
		p->inl = least + hostile_below(h, min(most - least, 400U));
	rest = p->len - p->inl;
	/* no more than seventeen frames */
	if (rest > HOSTILE_BODIES * 4096U) {
		p->inl = most;
		rest = p->len - p->inl;
	}
	p->bodies = (rest + 4095) / 4096;
	left = min_t(u32, rest, HOSTILE_BODIES) - p->bodies;
	if (left && !hostile_below(h, 3))
		p->bodies += hostile_below(h, left + 1);
	for (i = 0; i < p->bodies; i++) {
		u32 after = p->bodies - i - 1;
		u32 low = rest > after * 4096 ? rest - after * 4096 : 1;
		u32 high = min(4096U, rest - after);

		p->size[i] = low + (high > low ? hostile_below(h, high - low + 1) : 0);
		rest -= p->size[i];
	}
}

static void hostile_body(struct emu_hostile *h, const struct hostile_packet *p, u32 i, u32 *at,
			 bool forge)
{
	u32 eof = i % 2 ? HOSTILE_ODD : HOSTILE_EVEN;
	u32 len = p->size[i], tags = 0;

	memcpy(h->frame, h->packet + *at, len);
	*at += len;
	if (!forge) {
		hostile_frame(h, eof, len, 0);
		return;
	}
	switch (hostile_below(h, 5)) {
	case 0:
		hostile_tags(h, &eof, &tags);
		break;
	case 1:		/* is not there */
		h->count[HOSTILE_N_ORDER]++;
		h->sent++;
		return;
	case 2:		/* comes twice */
		h->count[HOSTILE_N_ORDER]++;
		hostile_frame(h, eof, len, 0);
		break;
	default:
		h->count[HOSTILE_N_CUT]++;
		len = 1 + hostile_below(h, hostile_below(h, 2) ? 4096 : 2 * len);
		len = min(len, 4096U);
	}
	hostile_frame(h, eof, len, tags);
}

/* Forge the HEAD frame, and return how it is sent. */
static u32 hostile_forge_head(struct emu_hostile *h, struct hostile_packet *p, u32 *eof, u32 *tags)
{
	u32 len = HOSTILE_HEAD + p->inl;

	switch (hostile_below(h, 10)) {
	case 0:
		hostile_tags(h, eof, tags);
		break;
	case 1:
		h->count[HOSTILE_N_CUT]++;
		len = 1 + hostile_below(h, 4096);
		break;
	default:
		hostile_twist_any(h, h->frame, hostile_head_fields,
				  ARRAY_SIZE(hostile_head_fields));
	}
	return len;
}

void hostile_send(struct emu_hostile *h, struct hostile_packet *p)
{
	bool forge = hostile_forge(h), roce = p->type == 2;
	u32 eof, tags = 0, len, at, i, which = 0, bad = HOSTILE_BODIES;
	u64 before;

	if (forge) {
		/* 0 and 1: the HEAD, 2: a BODY, 3 and 4: the packet's own headers */
		which = hostile_below(h, 5);
		h->count[HOSTILE_N_PACKETS_FORGED]++;
		if (roce)
			h->count[HOSTILE_N_ROCE_FORGED]++;
		if (which > 2 && roce)
			hostile_roce_twist(h, p);
		else if (which > 2)
			hostile_twist_headers(h, p);
	}
	hostile_split(h, p);
	if (hostile_credit(h) < p->bodies + 1 + HOSTILE_CREDIT)
		return;
	if (forge && which == 2 && p->bodies)
		bad = hostile_below(h, p->bodies);
	h->count[HOSTILE_N_PACKETS]++;
	before = h->count[HOSTILE_N_FRAMES];
	at = p->inl;
	for (i = 0; i < p->bodies; i++)
		hostile_body(h, p, i, &at, i == bad);
	hostile_head(h, p);
	eof = p->bodies ? HOSTILE_END : HOSTILE_ONLY;
	len = HOSTILE_HEAD + p->inl;
	if (forge && (which < 2 || (which == 2 && !p->bodies)))
		len = hostile_forge_head(h, p, &eof, &tags);
	hostile_frame(h, eof, len, tags);
	/* of a packet that is forged all of them */
	if (forge)
		h->count[HOSTILE_N_FRAMES_FORGED] += h->count[HOSTILE_N_FRAMES] - before;
}

/* Send something, mostly a packet. */
void hostile_packet(struct emu_hostile *h)
{
	struct hostile_packet p;

	if (!hostile_below(h, 12)) {
		hostile_any_control(h);
		return;
	}
	memset(&p, 0, sizeof(p));
	if (h->nr_qps && hostile_below(h, 2))
		hostile_roce_build(h, &p);
	else
		hostile_build(h, &p);
	hostile_send(h, &p);
}
