// SPDX-License-Identifier: GPL-2.0
/*
 * The hostile peer's Ethernet packets: any that a network card may be given, with
 * checksums and segmentation left to the receiver.
 */
#include "emu.h"

#define HOSTILE_NEEDS_CSUM	BIT(0)
#define HOSTILE_DATA_VALID	BIT(1)
#define HOSTILE_TUNNEL_CSUM	BIT(3)
#define HOSTILE_VXLAN		8	/* bytes of its header */
#define HOSTILE_TCP		6
#define HOSTILE_UDP		17

/* Network byte order */
void hostile_put16(u8 *buf, u32 val)
{
	buf[0] = val >> 8;
	buf[1] = val;
}

void hostile_put32(u8 *buf, u32 val)
{
	hostile_put16(buf, val >> 16);
	hostile_put16(buf + 2, val);
}

u32 hostile_get32(const u8 *buf)
{
	return (u32)buf[0] << 24 | buf[1] << 16 | buf[2] << 8 | buf[3];
}

/* An Ethernet header to the host */
void hostile_ether(struct emu_hostile *h, u8 *buf, u32 proto)
{
	hostile_put32(buf, h->mac[0]);
	hostile_put16(buf + 4, h->mac[1] >> 16);
	if (!hostile_below(h, 16))
		memset(buf, 0xff, 6);
	hostile_put32(buf + 6, 0x02bad000);
	hostile_put16(buf + 10, 1);
	hostile_put16(buf + 12, proto);
}

static u32 hostile_sum(const u8 *buf, u32 len)
{
	u32 sum = 0, i;

	for (i = 0; i + 1 < len; i += 2)
		sum += buf[i] << 8 | buf[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static u32 hostile_ip4(struct emu_hostile *h, u8 *buf, u32 proto, u32 len)
{
	u32 own = h->own_ip ? h->own_ip : 0x0a420042, host = h->host_ip ? h->host_ip : 0x0a420001;

	memset(buf, 0, 20);
	buf[0] = 0x45;
	hostile_put16(buf + 2, 20 + len);
	hostile_put16(buf + 6, 0x4000);
	buf[8] = 64;
	buf[9] = proto;
	hostile_put32(buf + 12, own);
	hostile_put32(buf + 16, host);
	hostile_put16(buf + 10, ~hostile_sum(buf, 20));
	return 20;
}

/* Extension headers: hop by hop, destination, routing, fragment */
static u32 hostile_ext(struct emu_hostile *h, u8 *buf, u8 *next, u32 proto)
{
	static const u8 kinds[] = { 0, 60, 43, 44, 60, 60 };
	u32 n = hostile_below(h, 3), len = 0;

	while (n--) {
		u32 kind = kinds[hostile_below(h, ARRAY_SIZE(kinds))];
		u32 units = kind == 44 ? 0 : hostile_below(h, 3);

		*next = kind;
		next = buf + len;
		memset(next, 0, 8 * units + 8);
		next[1] = units;
		if (kind != 44 && kind != 43) {
			next[2] = 1;	/* PadN */
			next[3] = 8 * units + 4;
		}
		len += 8 * units + 8;
	}
	*next = proto;
	return len;
}

static u32 hostile_ip6(struct emu_hostile *h, u8 *buf, u32 proto, u32 len)
{
	u32 ext;

	memset(buf, 0, 40);
	buf[0] = 0x60;
	buf[7] = 64;
	/* fd00:66::66 to fd00:66::1 */
	hostile_put32(buf + 8, 0xfd000066);
	buf[23] = 0x66;
	hostile_put32(buf + 24, 0xfd000066);
	buf[39] = 1;
	buf[6] = proto;
	ext = hostile_below(h, 5) ? 0 : hostile_ext(h, buf + 40, buf + 6, proto);
	hostile_put16(buf + 4, len + ext);
	return 40 + ext;
}

/* A network header in front of @len bytes; returns its length. */
u32 hostile_ip(struct emu_hostile *h, u8 *buf, bool v6, u32 proto, u32 len)
{
	return v6 ? hostile_ip6(h, buf, proto, len) : hostile_ip4(h, buf, proto, len);
}

static u32 hostile_tcp(struct emu_hostile *h, u8 *buf)
{
	u32 opts = hostile_below(h, 3) ? 12 : 4 * hostile_below(h, 11);

	memset(buf, 0, 20);
	memset(buf + 20, 1, opts);
	hostile_put16(buf, 1024 + hostile_below(h, 4));
	hostile_put16(buf + 2, hostile_below(h, 2) ? 7 : 5201);
	hostile_put32(buf + 4, hostile_random(h));
	buf[12] = (20 + opts) / 4 << 4;
	buf[13] = hostile_below(h, 4) ? 0x10 : hostile_below(h, 64);
	hostile_put16(buf + 14, 512);
	return 20 + opts;
}

static u32 hostile_udp(struct emu_hostile *h, u8 *buf, u32 port, u32 len)
{
	memset(buf, 0, 8);
	hostile_put16(buf, 1024 + hostile_below(h, 4));
	hostile_put16(buf + 2, port);
	hostile_put16(buf + 4, 8 + len);
	return 8;
}

/* Length of the payload: mostly short, all lengths possible */
static u32 hostile_payload(struct emu_hostile *h, u32 most)
{
	switch (hostile_below(h, 8)) {
	case 0:
		return 1 + hostile_below(h, most);
	case 1:
		return 1 + hostile_below(h, min(most, 9000U));
	case 2:
		return most;
	default:
		return 1 + hostile_below(h, min(most, 600U));
	}
}

/* Anything: an ethertype and bytes */
static void hostile_plain(struct emu_hostile *h, struct hostile_packet *p)
{
	static const u16 types[] = { 0x0800, 0x86dd, 0x0806, 0x8100, 0x88a8, 0x0600, 46, 0x8847 };
	u32 i;

	hostile_ether(h, h->packet, types[hostile_below(h, ARRAY_SIZE(types))]);
	p->len = 14 + hostile_payload(h, 1500);
	if (!hostile_below(h, 16))
		p->len = 14;
	for (i = 14; i < min(p->len, 128U); i++)
		h->packet[i] = hostile_random(h);
	if (!hostile_below(h, 8))
		p->flags = HOSTILE_DATA_VALID;
}

/* VLAN tags, as a rule none */
static u32 hostile_vlan(struct emu_hostile *h, u8 *buf, u32 proto)
{
	u32 n = hostile_below(h, 6) ? 0 : 1 + hostile_below(h, 2), at = 14;

	hostile_ether(h, buf, n ? 0x8100 : proto);
	while (n--) {
		hostile_put16(buf + at, hostile_below(h, 4096));
		hostile_put16(buf + at + 2, n ? 0x8100 : proto);
		at += 4;
	}
	return at;
}

/* Outer headers of VXLAN. The inner packet, of @len bytes, is written later. */
static u32 hostile_tunnel(struct emu_hostile *h, struct hostile_packet *p, u32 at, bool v6,
			  u32 len)
{
	at += hostile_ip(h, h->packet + at, v6, HOSTILE_UDP, 8 + HOSTILE_VXLAN + len);
	p->outer_th = at;
	p->gso_type |= v6 ? 0x40 : 0x20;
	if (hostile_below(h, 2))
		p->flags |= HOSTILE_TUNNEL_CSUM;
	at += hostile_udp(h, h->packet + at, 4789, HOSTILE_VXLAN + len);
	memset(h->packet + at, 0, HOSTILE_VXLAN);
	h->packet[at] = 8;
	at += HOSTILE_VXLAN;
	hostile_ether(h, h->packet + at, 0x0800);
	return at;
}

/* TCP or UDP with the checksum, and perhaps segmentation, left to do */
static void hostile_offload(struct emu_hostile *h, struct hostile_packet *p)
{
	bool v6 = hostile_below(h, 2), udp = !hostile_below(h, 3), gso = hostile_below(h, 3);
	bool tunnel = gso && !hostile_below(h, 4), outer_v6 = hostile_below(h, 2);
	u32 payload = hostile_payload(h, 65000), at, l4, ip;
	u8 *tcp;

	p->gso_size = udp ? 1 + hostile_below(h, 1400) : 8 + hostile_below(h, 1440);
	if (udp && gso)
		payload = min(payload, p->gso_size * 128U);
	at = hostile_vlan(h, h->packet, (tunnel ? outer_v6 : v6) ? 0x86dd : 0x0800);
	p->l3 = at;
	if (tunnel) {
		at = hostile_tunnel(h, p, at, outer_v6, 14 + 20 + 60 + payload);
		hostile_put16(h->packet + at + 12, v6 ? 0x86dd : 0x0800);
		at += 14;
		p->inner_nh = at;
		p->l3 = hostile_below(h, 2) ? at : p->l3;
	}
	ip = hostile_ip(h, h->packet + at, v6, udp ? HOSTILE_UDP : HOSTILE_TCP,
			(udp ? 8 : 20) + payload);
	tcp = h->packet + at + ip;
	l4 = udp ? hostile_udp(h, tcp, 9, payload) : hostile_tcp(h, tcp);
	if (v6)
		hostile_put16(h->packet + at + 4, ip - 40 + l4 + payload);
	else
		hostile_put16(h->packet + at + 2, ip + l4 + payload);
	at += ip;
	p->csum_start = at;
	p->csum_offset = udp ? 6 : 16;
	p->flags |= HOSTILE_NEEDS_CSUM;
	p->hdr_len = at + l4;
	p->len = p->hdr_len + payload;
	if (gso) {
		p->gso_type |= udp ? 5 : v6 ? 4 : 1;
		h->count[HOSTILE_N_GSO]++;
		return;
	}
	p->hdr_len = 0;
	p->gso_size = 0;
}

void hostile_build(struct emu_hostile *h, struct hostile_packet *p)
{
	p->type = 1;
	if (hostile_below(h, 3))
		hostile_offload(h, p);
	else
		hostile_plain(h, p);
}

/* Bytes of the headers that the link header tells of: versions, lengths, protocols */
void hostile_twist_headers(struct emu_hostile *h, struct hostile_packet *p)
{
	static const u8 spots[] = { 0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 20, 32, 40, 41, 52 };
	u32 fields = 1 + hostile_below(h, 2);

	h->count[HOSTILE_N_FIELD_HEADERS]++;
	while (fields--) {
		u32 base = p->l3 ? p->l3 : 12, at;

		if (!hostile_below(h, 3))
			base = p->csum_start;
		else if (!hostile_below(h, 6))
			base = 12;
		at = base + spots[hostile_below(h, ARRAY_SIZE(spots))];
		h->packet[at] = hostile_odd(h, h->packet[at], 8);
	}
}
