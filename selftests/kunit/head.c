// SPDX-License-Identifier: GPL-2.0
/* HEAD frames: what is right is read, each field that is wrong is refused. */
#include "driver.h"

#define INLINE_ETH	100
#define INLINE_TCP	54	/* Ethernet, IPv4 and TCP */
#define INLINE_TUNNEL	104	/* with VXLAN in between */

/* Frames to begin with */
enum base {
	ETH,		/* a packet in one frame */
	BODY,		/* in three */
	ROCE,		/* of three PSNs */
	TCP,		/* with segmentation left to do */
	TUNNEL,		/* the same in a tunnel */
	NUM_BASES
};

static const struct u4n_head bases[NUM_BASES] = {
	[ETH] = {
		.type = U4N_HEAD_ETH, .gen = 0x1234, .sent = 5, .limit = 77,
		.seq = 9, .inl = INLINE_ETH, .len = INLINE_ETH,
	},
	[BODY] = {
		.type = U4N_HEAD_ETH, .inl = INLINE_ETH,
		.len = INLINE_ETH + 5000, .bodies = 2,
	},
	[ROCE] = {
		.type = U4N_HEAD_ROCE, .inl = INLINE_ETH,
		.len = INLINE_ETH + 9000, .bodies = 3,
		.meta = { .flags = U4N_META_NO_ICRC, .npsn = 3 },
	},
	[TCP] = {
		.type = U4N_HEAD_ETH, .inl = INLINE_TCP,
		.len = INLINE_TCP + 20000, .bodies = 5,
		.meta = {
			.flags = U4N_META_NEEDS_CSUM, .gso_type = U4N_GSO_TCPV4,
			.gso_hdr_len = INLINE_TCP, .gso_size = 1448,
			.csum_start = 34, .csum_offset = 16,
		},
	},
	[TUNNEL] = {
		.type = U4N_HEAD_ETH, .inl = INLINE_TUNNEL,
		.len = INLINE_TUNNEL + 20000, .bodies = 5,
		.meta = {
			.flags = U4N_META_NEEDS_CSUM | U4N_META_TUNNEL_CSUM,
			.gso_type = U4N_GSO_TCPV4 | U4N_GSO_TUNNEL_V4,
			.gso_hdr_len = INLINE_TUNNEL, .gso_size = 1398,
			.csum_start = 84, .csum_offset = 16,
			.outer_th = 34, .inner_nh = 64,
		},
	},
};

struct change {
	const char *name;
	enum base base;
	unsigned int offset, size;
	u32 value;
	enum u4n_drop why;
};

#define CHANGE(base, size, field, value, why) { \
	#base ": " #field " = " #value, base, \
	offsetof(struct u4n_wire_head, field), size, value, U4N_DROP_ ## why }

static const struct change changes[] = {
	CHANGE(ETH, 1, common.type, 0, TYPE),
	CHANGE(ETH, 1, common.type, 3, TYPE),
	CHANGE(ETH, 1, common.type, U4N_CTL_CREDIT, TYPE),
	CHANGE(ETH, 2, common.gen, 0xffff, NONE),
	CHANGE(ETH, 4, common.sent, 0xffffffff, NONE),
	CHANGE(ETH, 4, common.limit, 0xffffffff, NONE),
	CHANGE(ETH, 4, seq, 0xffffffff, NONE),
	CHANGE(ETH, 1, reserved1, 1, FLAGS),
	CHANGE(ETH, 2, reserved2, 0x8000, FLAGS),
	CHANGE(ETH, 4, reserved3, 1, FLAGS),
	CHANGE(ETH, 2, inl, INLINE_ETH - 1, LENGTH),
	CHANGE(ETH, 2, inl, INLINE_ETH + 1, LENGTH),
	CHANGE(ETH, 2, inl, 0, LENGTH),
	CHANGE(ETH, 4, len, INLINE_ETH - 1, LENGTH),
	CHANGE(ETH, 4, len, INLINE_ETH + 1, LENGTH),
	CHANGE(ETH, 4, len, 0xffffffff, LENGTH),
	CHANGE(ETH, 1, bodies, 1, BODIES),
	CHANGE(ETH, 1, npsn, 2, META),
	CHANGE(ETH, 1, common.flags, BIT(2), FLAGS),
	CHANGE(ETH, 1, common.flags, BIT(4), FLAGS),
	CHANGE(ETH, 1, common.flags, U4N_META_NO_ICRC, FLAGS),
	CHANGE(ETH, 1, common.flags, U4N_META_DATA_VALID, NONE),
	CHANGE(ETH, 1, common.flags, U4N_META_NEEDS_CSUM, CSUM),
	CHANGE(ETH, 1, common.flags, U4N_META_TUNNEL_CSUM, TUNNEL),
	CHANGE(ETH, 1, gso_type, U4N_GSO_TCPV4, GSO),
	CHANGE(ETH, 2, gso_size, 1448, GSO),
	CHANGE(ETH, 2, gso_hdr_len, 54, GSO),
	CHANGE(ETH, 2, csum_start, 34, CSUM),
	CHANGE(ETH, 2, csum_offset, 16, CSUM),
	CHANGE(ETH, 2, outer_th, 34, TUNNEL),
	CHANGE(ETH, 2, inner_nh, 64, TUNNEL),

	CHANGE(BODY, 1, bodies, 0, BODIES),
	CHANGE(BODY, 1, bodies, 1, LENGTH),
	CHANGE(BODY, 1, bodies, U4N_MAX_BODIES, NONE),
	CHANGE(BODY, 1, bodies, U4N_MAX_BODIES + 1, BODIES),
	CHANGE(BODY, 1, bodies, 255, BODIES),
	CHANGE(BODY, 4, len, INLINE_ETH, LENGTH),
	CHANGE(BODY, 4, len, INLINE_ETH + 1, LENGTH),
	CHANGE(BODY, 4, len, INLINE_ETH + 2, NONE),
	CHANGE(BODY, 4, len, INLINE_ETH + 8192, NONE),
	CHANGE(BODY, 4, len, INLINE_ETH + 8193, LENGTH),
	CHANGE(BODY, 4, len, U4N_MAX_PACKET + 1, LENGTH),

	CHANGE(ROCE, 1, common.flags, 0, NONE),
	CHANGE(ROCE, 1, common.flags, U4N_META_NEEDS_CSUM, FLAGS),
	CHANGE(ROCE, 1, npsn, 0, NONE),
	CHANGE(ROCE, 1, npsn, 1, META),
	CHANGE(ROCE, 1, npsn, U4N_MAX_NPSN, NONE),
	CHANGE(ROCE, 1, npsn, U4N_MAX_NPSN + 1, META),
	CHANGE(ROCE, 1, npsn, 255, META),
	CHANGE(ROCE, 1, gso_type, U4N_GSO_TCPV4, META),
	CHANGE(ROCE, 2, gso_size, 1, META),
	CHANGE(ROCE, 2, gso_hdr_len, 1, META),
	CHANGE(ROCE, 2, csum_start, 34, META),
	CHANGE(ROCE, 2, csum_offset, 1, META),
	CHANGE(ROCE, 2, outer_th, 34, META),
	CHANGE(ROCE, 2, inner_nh, 64, META),
	CHANGE(ROCE, 4, len, U4N_MAX_PACKET + 1, LENGTH),

	CHANGE(TCP, 1, common.flags, 0, CSUM),
	CHANGE(TCP, 1, common.flags,
	       U4N_META_NEEDS_CSUM | U4N_META_DATA_VALID, CSUM),
	CHANGE(TCP, 2, csum_start, 13, CSUM),
	CHANGE(TCP, 2, csum_start, 33, GSO),
	CHANGE(TCP, 2, csum_start, 35, GSO),
	CHANGE(TCP, 2, csum_start, 0xffff, CSUM),
	CHANGE(TCP, 2, csum_offset, 6, GSO),
	CHANGE(TCP, 2, csum_offset, 18, GSO),
	CHANGE(TCP, 2, csum_offset, 19, CSUM),
	CHANGE(TCP, 2, csum_offset, 0xffff, CSUM),
	CHANGE(TCP, 2, gso_hdr_len, INLINE_TCP - 1, GSO),
	CHANGE(TCP, 2, gso_hdr_len, INLINE_TCP + 1, GSO),
	CHANGE(TCP, 2, gso_hdr_len, 0, GSO),
	CHANGE(TCP, 2, gso_size, 0, GSO),
	CHANGE(TCP, 2, gso_size, 0xffff, GSO),
	CHANGE(TCP, 1, gso_type, 2, GSO),
	CHANGE(TCP, 1, gso_type, U4N_GSO_TCPV6, GSO),
	CHANGE(TCP, 1, gso_type, U4N_GSO_UDP_L4, GSO),
	CHANGE(TCP, 1, gso_type, U4N_GSO_TCPV4 | U4N_GSO_ECN, NONE),
	CHANGE(TCP, 1, gso_type, U4N_GSO_TCPV4 | U4N_GSO_TUNNEL_V4, TUNNEL),
	CHANGE(TCP, 1, gso_type, U4N_GSO_TCPV4 | U4N_GSO_TUNNEL, TUNNEL),
	CHANGE(TCP, 4, len, INLINE_TCP, GSO),

	CHANGE(TUNNEL, 2, outer_th, 33, TUNNEL),
	CHANGE(TUNNEL, 2, outer_th, 0xffff, TUNNEL),
	CHANGE(TUNNEL, 2, inner_nh, 41, TUNNEL),
	CHANGE(TUNNEL, 2, inner_nh, 42, NONE),
	CHANGE(TUNNEL, 2, inner_nh, 65, TUNNEL),
	CHANGE(TUNNEL, 2, inner_nh, 0xffff, TUNNEL),
	CHANGE(TUNNEL, 1, gso_type, U4N_GSO_TCPV4, TUNNEL),
	CHANGE(TUNNEL, 1, gso_type, U4N_GSO_TCPV4 | U4N_GSO_TUNNEL_V6, TUNNEL),
};

static enum u4n_pdf pdf_of(const struct u4n_head *head)
{
	return head->bodies ? U4N_PDF_HEAD_END : U4N_PDF_HEAD_ONLY;
}

static u8 *build(struct kunit *test, const struct u4n_head *head,
		 unsigned int *size)
{
	u8 buf[U4N_HEAD_SIZE + INLINE_TUNNEL] = { };

	*size = U4N_HEAD_SIZE + head->inl;
	KUNIT_ASSERT_LE(test, *size, sizeof(buf));
	u4n_head_build(buf, head);
	return exactly(test, buf, *size);
}

static void round_trip(struct kunit *test)
{
	const struct u4n_head *b = test->param_value;
	struct u4n_head h;
	unsigned int size;
	u8 *buf;

	memset(&h, 0xff, sizeof(h));
	buf = build(test, b, &size);
	KUNIT_EXPECT_EQ(test, u4n_head_parse(buf, size, pdf_of(b), ALL_CAPS, &h),
			U4N_DROP_NONE);
	KUNIT_EXPECT_EQ(test, h.type, b->type);
	KUNIT_EXPECT_EQ(test, h.bodies, b->bodies);
	KUNIT_EXPECT_EQ(test, h.gen, b->gen);
	KUNIT_EXPECT_EQ(test, h.inl, b->inl);
	KUNIT_EXPECT_EQ(test, h.sent, b->sent);
	KUNIT_EXPECT_EQ(test, h.limit, b->limit);
	KUNIT_EXPECT_EQ(test, h.seq, b->seq);
	KUNIT_EXPECT_EQ(test, h.len, b->len);
	KUNIT_EXPECT_EQ(test, h.meta.flags, b->meta.flags);
	KUNIT_EXPECT_EQ(test, h.meta.gso_type, b->meta.gso_type);
	KUNIT_EXPECT_EQ(test, h.meta.gso_hdr_len, b->meta.gso_hdr_len);
	KUNIT_EXPECT_EQ(test, h.meta.gso_size, b->meta.gso_size);
	KUNIT_EXPECT_EQ(test, h.meta.csum_start, b->meta.csum_start);
	KUNIT_EXPECT_EQ(test, h.meta.csum_offset, b->meta.csum_offset);
	KUNIT_EXPECT_EQ(test, h.meta.outer_th, b->meta.outer_th);
	KUNIT_EXPECT_EQ(test, h.meta.inner_nh, b->meta.inner_nh);
	KUNIT_EXPECT_EQ(test, h.meta.npsn, b->meta.npsn);
}

static void one_change(struct kunit *test)
{
	const struct change *c = test->param_value;
	const struct u4n_head *b = &bases[c->base];
	__le32 value = cpu_to_le32(c->value);
	struct u4n_head h;
	unsigned int size;
	u8 *buf;

	buf = build(test, b, &size);
	memcpy(buf + c->offset, &value, c->size);
	KUNIT_EXPECT_EQ(test, u4n_head_parse(buf, size, pdf_of(b), ALL_CAPS, &h),
			c->why);
}

static void too_short(struct kunit *test)
{
	struct u4n_head h;
	unsigned int size, n;
	u8 *buf;

	buf = build(test, &bases[ETH], &size);
	for (n = 0; n < size; n++) {
		u8 *cut = exactly(test, buf, n);

		KUNIT_EXPECT_EQ(test, u4n_head_parse(cut, n, U4N_PDF_HEAD_ONLY,
						     ALL_CAPS, &h),
				n < U4N_HEAD_SIZE ? U4N_DROP_SHORT :
						    U4N_DROP_LENGTH);
	}
}

/* Nothing that we have not announced is accepted. */
static void capabilities(struct kunit *test)
{
	static const struct {
		enum base base;
		u32 cap;
	} needs[] = {
		{ TCP, U4N_CAP_CSUM },
		{ TCP, U4N_CAP_GSO },
		{ TUNNEL, U4N_CAP_CSUM },
		{ TUNNEL, U4N_CAP_GSO },
		{ TUNNEL, U4N_CAP_TUNNEL },
		{ ROCE, U4N_CAP_NO_ICRC },
		{ ROCE, U4N_CAP_MULTI_PSN },
	};
	struct u4n_head h;
	unsigned int size, i;
	enum u4n_drop why;
	u32 base, bit;
	bool need;
	u8 *buf;

	for (base = 0; base < NUM_BASES; base++) {
		buf = build(test, &bases[base], &size);
		for (bit = 1; bit & ALL_CAPS; bit <<= 1) {
			need = false;
			for (i = 0; i < ARRAY_SIZE(needs); i++)
				need |= needs[i].base == base &&
					needs[i].cap == bit;
			why = u4n_head_parse(buf, size, pdf_of(&bases[base]),
					     ALL_CAPS & ~bit, &h);
			KUNIT_EXPECT_EQ_MSG(test, why, need ? U4N_DROP_META :
							      U4N_DROP_NONE,
					    "frame %u without capability %#x",
					    base, bit);
		}
	}
}

static void big_packets(struct kunit *test)
{
	struct u4n_head b = bases[TCP], h;
	unsigned int size;
	u8 *buf;

	b.bodies = U4N_MAX_BODIES;
	b.len = U4N_MAX_BIG_PACKET;
	buf = build(test, &b, &size);
	KUNIT_EXPECT_EQ(test, u4n_head_parse(buf, size, U4N_PDF_HEAD_END,
					     ALL_CAPS, &h), U4N_DROP_NONE);
	KUNIT_EXPECT_EQ(test, u4n_head_parse(buf, size, U4N_PDF_HEAD_END,
					     ALL_CAPS & ~U4N_CAP_BIG, &h),
			U4N_DROP_LENGTH);
	b.len++;
	buf = build(test, &b, &size);
	KUNIT_EXPECT_EQ(test, u4n_head_parse(buf, size, U4N_PDF_HEAD_END,
					     ALL_CAPS, &h), U4N_DROP_LENGTH);
}

/* What holds for all that is accepted, and the rest of the driver relies on */
static bool sound(const struct u4n_head *h, unsigned int size, enum u4n_pdf pdf)
{
	const struct u4n_meta *m = &h->meta;
	unsigned int rest = h->len - h->inl;

	if (h->inl != size - U4N_HEAD_SIZE || h->inl < ETH_HLEN ||
	    h->len < h->inl || h->len > U4N_MAX_BIG_PACKET ||
	    m->npsn > U4N_MAX_NPSN)
		return false;
	if (pdf == U4N_PDF_HEAD_ONLY ? h->bodies || rest :
	    !h->bodies || h->bodies > U4N_MAX_BODIES || rest < h->bodies ||
	    rest > h->bodies * U4N_FRAME_SIZE)
		return false;
	if (m->flags & U4N_META_NEEDS_CSUM && h->type == U4N_HEAD_ETH &&
	    m->csum_start + m->csum_offset + 2 > h->inl)
		return false;
	return !m->gso_type || (m->gso_hdr_len <= h->inl && m->gso_size &&
				m->csum_start < m->gso_hdr_len &&
				m->inner_nh < m->csum_start);
}

/* One or two fields get another value; some of that is accepted. */
static void random_changes(struct kunit *test)
{
	unsigned int size, i, n, accepted = 0;
	struct rnd_state rnd;
	struct u4n_head h;
	enum u4n_drop why;
	enum u4n_pdf pdf;
	u8 *buf, saved[U4N_HEAD_SIZE];
	u32 base;

	prandom_seed_state(&rnd, 1);
	for (base = 0; base < NUM_BASES; base++) {
		buf = build(test, &bases[base], &size);
		memcpy(saved, buf, sizeof(saved));
		for (i = 0; i < 20000; i++) {
			memcpy(buf, saved, sizeof(saved));
			for (n = prandom_u32_state(&rnd) % 2 + 1; n; n--)
				buf[prandom_u32_state(&rnd) % sizeof(saved)] =
					prandom_u32_state(&rnd);
			pdf = prandom_u32_state(&rnd) % 8 ?
				pdf_of(&bases[base]) : U4N_PDF_HEAD_END;
			why = u4n_head_parse(buf, size, pdf, ALL_CAPS, &h);
			if (why)
				continue;
			accepted++;
			if (!sound(&h, size, pdf)) {
				KUNIT_FAIL(test, "accepted: %*ph",
					   (int)sizeof(saved), buf);
				return;
			}
		}
	}
	kunit_info(test, "%u of %u accepted", accepted, NUM_BASES * 20000);
	KUNIT_EXPECT_GT(test, accepted, 1000);
}

static void base_name(const struct u4n_head *b, char *desc)
{
	static const char * const names[] = {
		"ETH", "BODY", "ROCE", "TCP", "TUNNEL"
	};

	strscpy(desc, names[b - bases], KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(base, bases, base_name);
KUNIT_ARRAY_PARAM_DESC(change, changes, name);

static struct kunit_case head_cases[] = {
	KUNIT_CASE_PARAM(round_trip, base_gen_params),
	KUNIT_CASE_PARAM(one_change, change_gen_params),
	KUNIT_CASE(too_short),
	KUNIT_CASE(capabilities),
	KUNIT_CASE(big_packets),
	KUNIT_CASE(random_changes),
	{ }
};

static struct kunit_suite head_suite = {
	.name = "usb4net_head",
	.test_cases = head_cases,
};

kunit_test_suite(head_suite);
