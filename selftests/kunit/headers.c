// SPDX-License-Identifier: GPL-2.0
/* Headers of packets with segmentation left to do, against their metadata */
#include <linux/if_ether.h>
#include <linux/unaligned.h>
#include <net/ipv6.h>

#include "driver.h"

#define PKT_MAX		160

/* Where the parts of a packet are; 0 if it has none */
struct layout {
	const char *name;
	u8 type;
	bool v6, vlan, tunnel, inner_v6;
	unsigned int ext;	/* bytes of IPv6 extension headers */
	/* filled in */
	unsigned int nh, outer_th, inner_nh, th, end;
};

static const struct layout layouts[] = {
	{ "TCP over IPv4", U4N_GSO_TCPV4 },
	{ "TCP over IPv6", U4N_GSO_TCPV6, .v6 = true },
	{ "UDP over IPv4", U4N_GSO_UDP_L4 },
	{ "UDP over IPv6", U4N_GSO_UDP_L4, .v6 = true },
	{ "TCP in a VLAN", U4N_GSO_TCPV4, .vlan = true },
	{ "TCP behind extension headers", U4N_GSO_TCPV6, .v6 = true, .ext = 24 },
	{ "IPv4 in IPv4", U4N_GSO_TCPV4, .tunnel = true },
	{ "IPv6 in IPv4", U4N_GSO_TCPV6, .tunnel = true, .inner_v6 = true },
	{ "IPv4 in IPv6", U4N_GSO_TCPV4, .v6 = true, .tunnel = true },
	{ "UDP in IPv6 in IPv6", U4N_GSO_UDP_L4, .v6 = true, .tunnel = true,
	  .inner_v6 = true },
};

/* An IP header with what is to follow it; returns where that is */
static unsigned int put_l3(u8 *p, unsigned int nh, bool v6, u8 proto,
			   unsigned int ext)
{
	unsigned int at = nh + 40;

	if (!v6) {
		p[nh] = 0x45;
		p[nh + 9] = proto;
		return nh + 20;
	}
	p[nh] = 0x60;
	p[nh + 6] = ext ? NEXTHDR_HOP : proto;
	if (ext) {
		/* one of 16 bytes, one of 8 */
		p[at] = NEXTHDR_DEST;
		p[at + 1] = 1;
		p[at + 16] = proto;
		at += 24;
	}
	return at;
}

static void make(struct layout *l, u8 *p, struct u4n_meta *m)
{
	u8 l4 = l->type == U4N_GSO_UDP_L4 ? IPPROTO_UDP : IPPROTO_TCP;
	bool v6 = l->tunnel ? l->inner_v6 : l->v6;

	memset(p, 0, PKT_MAX);
	memset(m, 0, sizeof(*m));
	l->nh = ETH_HLEN;
	if (l->vlan) {
		put_unaligned_be16(ETH_P_8021Q, p + 12);
		l->nh += 4;
	}
	put_unaligned_be16(l->v6 ? ETH_P_IPV6 : ETH_P_IP, p + l->nh - 2);
	m->gso_type = l->type;
	if (l->tunnel) {
		l->outer_th = put_l3(p, l->nh, l->v6, IPPROTO_UDP, 0);
		l->inner_nh = l->outer_th + 8 + 8 + ETH_HLEN;
		m->gso_type |= l->v6 ? U4N_GSO_TUNNEL_V6 : U4N_GSO_TUNNEL_V4;
		m->outer_th = l->outer_th;
		m->inner_nh = l->inner_nh;
	}
	l->th = put_l3(p, l->tunnel ? l->inner_nh : l->nh, v6, l4, l->ext);
	l->end = l->th + 8;
	if (l4 == IPPROTO_TCP) {
		p[l->th + 12] = 0x80;	/* with 12 bytes of options */
		l->end = l->th + 32;
	}
	m->csum_start = l->th;
	m->gso_hdr_len = l->end;
}

static bool matches(struct kunit *test, const u8 *p, const struct u4n_meta *m)
{
	return u4n_headers_match(exactly(test, p, m->gso_hdr_len), m);
}

static void right(struct kunit *test)
{
	struct layout l = *(const struct layout *)test->param_value;
	struct u4n_meta m;
	u8 p[PKT_MAX];

	make(&l, p, &m);
	KUNIT_ASSERT_LE(test, l.end, PKT_MAX);
	KUNIT_EXPECT_TRUE(test, matches(test, p, &m));
}

/* The packet with another byte */
static void wrong_byte(struct kunit *test, u8 *p, const struct u4n_meta *m,
		       unsigned int at, u8 value, const char *what)
{
	u8 saved = p[at];

	p[at] = value;
	KUNIT_EXPECT_FALSE_MSG(test, matches(test, p, m), "%s", what);
	p[at] = saved;
}

#define WRONG(at, v)	wrong_byte(test, p, &m, at, v, #v)

/* Each field that the network stack will go by */
static void wrong(struct kunit *test)
{
	struct layout l = *(const struct layout *)test->param_value;
	unsigned int nh;
	struct u4n_meta m;
	u8 p[PKT_MAX];
	bool v6;

	make(&l, p, &m);
	KUNIT_ASSERT_LE(test, l.end, PKT_MAX);
	WRONG(l.nh - 2, 0x09);
	WRONG(l.nh - 1, l.v6 ? 0x00 : 0xdd);
	WRONG(l.nh, 0x50);
	if (l.tunnel && !l.v6) {
		WRONG(l.nh + 9, IPPROTO_TCP);
		WRONG(l.nh, 0x46);
	}
	if (l.tunnel && l.v6)
		WRONG(l.nh + 6, IPPROTO_TCP);
	nh = l.tunnel ? l.inner_nh : l.nh;
	v6 = l.tunnel ? l.inner_v6 : l.v6;
	if (v6) {
		WRONG(nh, 0x45);
		WRONG(nh + 6, IPPROTO_ICMP);
	} else {
		WRONG(nh, 0x60);
		WRONG(nh, 0x44);
		WRONG(nh, 0x46);
		WRONG(nh + 9, IPPROTO_ICMP);
		WRONG(nh + 6, 0x20);	/* more fragments */
		WRONG(nh + 7, 0x01);	/* not the first one */
	}
	if (l.ext) {
		nh += 40;
		WRONG(nh, NEXTHDR_NONE);
		WRONG(nh + 1, 2);
		WRONG(nh + 1, 255);
		WRONG(nh + 16, NEXTHDR_AUTH);
		WRONG(nh + 17, 1);
		/* a fragment that is the whole packet, and others */
		p[nh] = NEXTHDR_FRAGMENT;
		KUNIT_EXPECT_TRUE(test, matches(test, p, &m));
		WRONG(nh + 16 + 2, 0x01);
		WRONG(nh + 16 + 3, 0x01);
		p[nh] = NEXTHDR_DEST;
	}
	if (l.type != U4N_GSO_UDP_L4) {
		WRONG(l.th + 12, 0x70);
		WRONG(l.th + 12, 0x90);
		WRONG(l.th + 12, 0x00);
	}
	m.csum_start++;
	KUNIT_EXPECT_FALSE(test, matches(test, p, &m));
	m.csum_start -= 2;
	KUNIT_EXPECT_FALSE(test, matches(test, p, &m));
}

/* More tags than the stack looks behind, and tags to the end */
static void vlans(struct kunit *test)
{
	struct layout l = { .type = U4N_GSO_TCPV4 };
	u8 p[PKT_MAX], q[PKT_MAX + 60];
	struct u4n_meta m;
	unsigned int n, i;

	make(&l, p, &m);
	for (n = 0; n <= 10; n++) {
		struct u4n_meta tagged = m;

		memset(q, 0, sizeof(q));
		for (i = 0; i < n; i++)
			put_unaligned_be16(i ? ETH_P_8021Q : ETH_P_8021AD,
					   q + 12 + 4 * i);
		memcpy(q + 12 + 4 * n, p + 12, l.end - 12);
		tagged.csum_start += 4 * n;
		tagged.gso_hdr_len += 4 * n;
		KUNIT_EXPECT_EQ(test, matches(test, q, &tagged), n <= 8);
	}
	for (i = 12; i < sizeof(q) - 1; i += 4)
		put_unaligned_be16(ETH_P_8021Q, q + i);
	KUNIT_EXPECT_FALSE(test, matches(test, q, &m));
}

/* Anything, in memory that ends where the headers are said to end */
static void noise(struct kunit *test)
{
	struct layout l = *(const struct layout *)test->param_value;
	unsigned int i, n, found = 0;
	struct rnd_state rnd;
	struct u4n_meta m;
	u8 p[PKT_MAX], *copy;

	prandom_seed_state(&rnd, 7);
	make(&l, p, &m);
	copy = exactly(test, p, l.end);
	for (i = 0; i < 5000; i++) {
		memcpy(copy, p, l.end);
		for (n = prandom_u32_state(&rnd) % 3 + 1; n; n--)
			copy[prandom_u32_state(&rnd) % l.end] =
				prandom_u32_state(&rnd);
		found += u4n_headers_match(copy, &m);
	}
	/* addresses and the like do not matter, all else does */
	KUNIT_EXPECT_GT(test, found, 500);
	KUNIT_EXPECT_LT(test, found, 4900);
}

KUNIT_ARRAY_PARAM_DESC(layout, layouts, name);

static struct kunit_case header_cases[] = {
	KUNIT_CASE_PARAM(right, layout_gen_params),
	KUNIT_CASE_PARAM(wrong, layout_gen_params),
	KUNIT_CASE(vlans),
	KUNIT_CASE_PARAM(noise, layout_gen_params),
	{ }
};

static struct kunit_suite header_suite = {
	.name = "usb4net_headers",
	.test_cases = header_cases,
};

kunit_test_suite(header_suite);
