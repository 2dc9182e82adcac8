// SPDX-License-Identifier: GPL-2.0
/* CONTROL and BODY frames, and HELLO */
#include "driver.h"

struct ctl_case {
	const char *name;
	u8 type, flags;
	u16 count, reserved;
	int more;	/* bytes that the frame is longer than it should be */
	enum u4n_drop why;
};

static const struct ctl_case ctl_cases[] = {
	{ "credit", U4N_CTL_CREDIT },
	{ "probe", U4N_CTL_PROBE },
	{ "probe ack", U4N_CTL_PROBE_ACK },
	{ "keepalive", U4N_CTL_KEEPALIVE,
	  U4N_KEEPALIVE_RX_ALIVE | U4N_KEEPALIVE_PLAIN },
	{ "no GIDs", U4N_CTL_GIDS },
	{ "GIDs", U4N_CTL_GIDS, U4N_GIDS_NO_ICRC | U4N_GIDS_MULTI_PSN, 3 },
	{ "as many GIDs as there may be", U4N_CTL_GIDS, 0, U4N_MAX_GIDS },
	{ "GIDs ack", U4N_CTL_GIDS_ACK },
	{ "types of HEAD", U4N_HEAD_ROCE, .why = U4N_DROP_TYPE },
	{ "below the first type", U4N_CTL_CREDIT - 1, .why = U4N_DROP_TYPE },
	{ "above the last type", U4N_CTL_GIDS_ACK + 1, .why = U4N_DROP_TYPE },
	{ "flags of a credit", U4N_CTL_CREDIT, 1, .why = U4N_DROP_FLAGS },
	{ "flags of a probe", U4N_CTL_PROBE, 0x80, .why = U4N_DROP_FLAGS },
	{ "flags of a keepalive", U4N_CTL_KEEPALIVE, 4, .why = U4N_DROP_FLAGS },
	{ "flags of GIDs", U4N_CTL_GIDS, 4, 1, .why = U4N_DROP_FLAGS },
	{ "reserved", U4N_CTL_CREDIT, .reserved = 1, .why = U4N_DROP_FLAGS },
	{ "GIDs in a credit", U4N_CTL_CREDIT, 0, 1, .why = U4N_DROP_CTL },
	{ "GIDs in an ack", U4N_CTL_GIDS_ACK, 0, 1, .why = U4N_DROP_CTL },
	{ "a GID too many", U4N_CTL_GIDS, 0, U4N_MAX_GIDS + 1,
	  .why = U4N_DROP_CTL },
	{ "a byte too many", U4N_CTL_PROBE, .more = 1, .why = U4N_DROP_CTL },
	{ "a byte too few", U4N_CTL_GIDS, 0, 2, .more = -1,
	  .why = U4N_DROP_CTL },
	{ "a GID too few", U4N_CTL_GIDS, 0, 2, .more = -16,
	  .why = U4N_DROP_CTL },
};

static void control(struct kunit *test)
{
	const struct ctl_case *c = test->param_value;
	struct u4n_ctl out = {
		.type = c->type, .flags = c->flags, .gen = 0x1234,
		.count = c->count, .sent = 0xfffffffe, .limit = 62,
		.arg = 0xabcdef01, .cookie = 0x11223344,
	}, in;
	unsigned int size;
	u8 *gids, *buf;

	gids = kunit_kmalloc(test, c->count * U4N_GID_SIZE + 1, GFP_KERNEL);
	buf = kunit_kmalloc(test, U4N_FRAME_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, gids);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	memset(gids, 0x5a, c->count * U4N_GID_SIZE);
	out.gids = gids;

	size = u4n_ctl_build(buf, &out);
	KUNIT_EXPECT_EQ(test, size, U4N_CTL_SIZE + c->count * U4N_GID_SIZE);
	((struct u4n_wire_ctl *)buf)->reserved = cpu_to_le16(c->reserved);
	size += c->more;
	buf = exactly(test, buf, size);
	memset(&in, 0xff, sizeof(in));
	KUNIT_EXPECT_EQ(test, u4n_ctl_parse(buf, size, &in), c->why);
	/* these count in any case */
	KUNIT_EXPECT_EQ(test, in.gen, out.gen);
	KUNIT_EXPECT_EQ(test, in.sent, out.sent);
	KUNIT_EXPECT_EQ(test, in.limit, out.limit);
	if (c->why)
		return;
	KUNIT_EXPECT_EQ(test, in.type, out.type);
	KUNIT_EXPECT_EQ(test, in.flags, out.flags);
	KUNIT_EXPECT_EQ(test, in.count, out.count);
	KUNIT_EXPECT_EQ(test, in.arg, out.arg);
	KUNIT_EXPECT_EQ(test, in.cookie, out.cookie);
	KUNIT_EXPECT_MEMEQ(test, in.gids, gids, c->count * U4N_GID_SIZE);
}

static void control_too_short(struct kunit *test)
{
	u8 full[U4N_CTL_SIZE];
	struct u4n_ctl ctl = { .type = U4N_CTL_CREDIT };
	unsigned int n;

	u4n_ctl_build(full, &ctl);
	for (n = 0; n < sizeof(full); n++)
		KUNIT_EXPECT_EQ(test,
				u4n_ctl_parse(exactly(test, full, n), n, &ctl),
				U4N_DROP_SHORT);
}

/* Neighbours differ, and nothing is taken for a BODY frame that is none. */
static void bodies_tags(struct kunit *test)
{
	unsigned int n, eof;

	for (n = 0; n < U4N_MAX_BODIES; n++) {
		eof = u4n_body_eof(n);
		KUNIT_EXPECT_TRUE(test, u4n_is_body(eof));
		KUNIT_EXPECT_TRUE(test, U4N_EOF_MASK & BIT(eof));
		KUNIT_EXPECT_EQ(test, u4n_body_eof(n + 1), eof ^ U4N_BODY_TURN);
		KUNIT_EXPECT_FALSE(test, u4n_body_eof(n + 1) == eof);
	}
	KUNIT_EXPECT_EQ(test, u4n_body_eof(0), U4N_PDF_BODY_EVEN);
	for (eof = 0; eof < 16; eof++)
		if (eof != U4N_PDF_BODY_EVEN && eof != U4N_PDF_BODY_ODD)
			KUNIT_EXPECT_FALSE(test, u4n_is_body(eof));
	KUNIT_EXPECT_FALSE(test, U4N_SOF_MASK & U4N_EOF_MASK);
}

struct hello_case {
	const char *name;
	unsigned int offset;
	u32 value;
	int ret;
};

#define HELLO(field, v, r) \
	{ #field " = " #v, offsetof(struct u4n_xd_msg, field), v, r }
#define VERSIONS(low, high)	((u32)(high) << 16 | (low))

static const struct hello_case hellos[] = {
	HELLO(versions, VERSIONS(2, 2), 0),
	HELLO(versions, VERSIONS(0, 2), 0),
	HELLO(versions, VERSIONS(2, 0xffff), 0),
	HELLO(versions, VERSIONS(U4N_VERSION_MAX + 1, 9), -EPROTONOSUPPORT),
	HELLO(versions, VERSIONS(0, U4N_VERSION_MIN - 1), -EPROTONOSUPPORT),
	HELLO(versions, VERSIONS(3, 2), -EPROTO),
	HELLO(cookie, 0, -EPROTO),
	HELLO(cookie, 0xffffffff, 0),
	HELLO(hopid, 0x7ff, 0),
	HELLO(hopid, 0x800, -EPROTO),
	HELLO(hopid, 0xffffffff, -EPROTO),
	HELLO(window, U4N_MIN_WINDOW, 0),
	HELLO(window, U4N_MIN_WINDOW - 1, -EPROTO),
	HELLO(window, U4N_MAX_WINDOW, 0),
	HELLO(window, U4N_MAX_WINDOW + 1, -EPROTO),
	HELLO(window, 0xffffffff, -EPROTO),
	HELLO(mac_hi, 0x03112233, -EPROTO),	/* a group's */
	HELLO(mac_hi, 0, 0),
	HELLO(limits, U4N_MAX_BODIES - 1, -EPROTO),
	HELLO(limits, 0xffffff00 | U4N_MAX_BODIES, 0),
	HELLO(limits, 0xff, 0),
	HELLO(caps, 0xffffffff, 0),
	HELLO(mtu, 0xffffffff, 0),
	HELLO(reserved[3], 0xffffffff, 0),
};

static void hello(struct kunit *test)
{
	static const u8 mac[ETH_ALEN] = { 2, 0x11, 0x22, 0x33, 0x44, 0x55 };
	const struct hello_case *c = test->param_value;
	struct u4n_xd_msg msg = {
		.cookie = 77, .versions = VERSIONS(2, 2), .hopid = 8,
		.window = 255, .mtu = 65520, .caps = ALL_CAPS,
		.mac_hi = 0x02112233, .mac_lo = 0x44550000,
		.limits = U4N_MAX_BODIES,
	};
	struct u4n_peer peer = { };

	memcpy((u8 *)&msg + c->offset, &c->value, sizeof(c->value));
	KUNIT_EXPECT_EQ(test, u4n_hello_parse(&msg, &peer), c->ret);
	if (c->ret)
		return;
	KUNIT_EXPECT_EQ(test, peer.version, 2);
	KUNIT_EXPECT_EQ(test, peer.cookie, msg.cookie);
	KUNIT_EXPECT_EQ(test, peer.hopid, msg.hopid);
	KUNIT_EXPECT_EQ(test, peer.window, msg.window);
	KUNIT_EXPECT_EQ(test, peer.mtu, msg.mtu);
	KUNIT_EXPECT_EQ(test, peer.caps, msg.caps);
	if (msg.mac_hi)
		KUNIT_EXPECT_MEMEQ(test, peer.mac, mac, ETH_ALEN);
}

KUNIT_ARRAY_PARAM_DESC(ctl, ctl_cases, name);
KUNIT_ARRAY_PARAM_DESC(hello, hellos, name);

static struct kunit_case message_cases[] = {
	KUNIT_CASE_PARAM(control, ctl_gen_params),
	KUNIT_CASE(control_too_short),
	KUNIT_CASE(bodies_tags),
	KUNIT_CASE_PARAM(hello, hello_gen_params),
	{ }
};

static struct kunit_suite message_suite = {
	.name = "usb4net_message",
	.test_cases = message_cases,
};

kunit_test_suite(message_suite);
