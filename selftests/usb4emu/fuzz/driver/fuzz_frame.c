// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's parsers of frames, in the order in which rx.c calls them: link headers,
 * CONTROL messages, BODY frames, credits, and the headers that metadata speaks of.
 * Each frame and each packet is in memory of its exact size, for ASan to see what is
 * read or written beyond.
 *
 * Input: u8 the capabilities announced (bit 7: STEPS), then records: u8 tag (7:
 * BODY_ODD) and flags, u16 length, the frame. With a flag, what ends a session is put
 * right first, or the lengths are.
 */
#include "../../../../drivers/usb4net_rdma/proto.h"
#include "../../../../drivers/usb4net_rdma/credit.h"

#define FUZZ_FLOW	BIT(3)	/* right generation, number and limit */
#define FUZZ_LENGTH	BIT(4)	/* right lengths */
#define FUZZ_WINDOW	511
#define FUZZ_GEN	0x5678

struct session {
	u32 caps;
	struct u4n_credit_rx rx;
	struct u4n_credit_tx tx;
	u32 limit;
	bool broken;
	u8 *packet;		/* whose BODY frames are awaited */
	u32 len;
	u32 got;
	u32 bodies;
	struct u4n_body_tags tags;
	struct u4n_meta meta;
	u8 type;
};

static void session_abort(struct session *s)
{
	free(s->packet);
	s->packet = NULL;
	s->bodies = 0;
}

/* As u4n_rx_credit(), and u4n_tx_poll() behind it */
static bool session_credit(struct session *s, u16 gen, u32 sent, u32 limit)
{
	int lost;

	if (gen != FUZZ_GEN)
		return false;
	lost = u4n_credit_rx_sent(&s->rx, sent);
	if (lost < 0 || (s32)(limit - s->limit) < 0) {
		s->broken = true;
		return false;
	}
	fuzz_check(lost <= FUZZ_WINDOW + (int)U4N_WINDOW_SLACK);
	s->limit = limit;
	if (!u4n_credit_tx_update(&s->tx, limit))
		s->broken = true;
	fuzz_check(u4n_credit_tx_avail(&s->tx) <= FUZZ_WINDOW);
	return true;
}

/* A packet is complete: what the stack is told of it must be within it. */
static void session_deliver(struct session *s)
{
	const struct u4n_meta *m = &s->meta;
	u8 *headers;

	fuzz_check(s->got == s->len && s->len >= ETH_HLEN && s->len <= U4N_MAX_BIG_PACKET);
	if (s->type == U4N_HEAD_ROCE)
		fuzz_check(m->npsn <= U4N_MAX_NPSN && m->npsn != 1 && !m->gso_type);
	if (s->type == U4N_HEAD_ETH && m->flags & U4N_META_NEEDS_CSUM)
		fuzz_check(m->csum_start + m->csum_offset + 2U <= s->len);
	if (s->type == U4N_HEAD_ETH && m->gso_type) {
		fuzz_check(m->gso_size && m->gso_hdr_len < s->len);
		headers = malloc(m->gso_hdr_len);
		fuzz_check(headers);
		memcpy(headers, s->packet, m->gso_hdr_len);
		u4n_headers_match(headers, m);
		free(headers);
	}
	session_abort(s);
}

static void session_head(struct session *s, const u8 *frame, u32 size, enum u4n_pdf pdf)
{
	struct u4n_head head;
	enum u4n_drop why;

	session_abort(s);
	why = u4n_head_parse(frame, size, pdf, s->caps, &head);
	fuzz_check(why < U4N_NUM_DROPS);
	if (why == U4N_DROP_SHORT || !session_credit(s, head.gen, head.sent, head.limit) || why)
		return;
	fuzz_check(head.bodies <= U4N_MAX_BODIES);
	s->packet = malloc(head.len);
	fuzz_check(s->packet);
	s->len = head.len;
	s->got = head.inl;
	s->bodies = head.bodies;
	s->tags = u4n_body_tags(head.seq, s->caps);
	s->meta = head.meta;
	s->type = head.type;
	memcpy(s->packet, frame + U4N_HEAD_SIZE, head.inl);
	if (pdf == U4N_PDF_HEAD_LAST)
		session_deliver(s);
	else
		fuzz_check(s->bodies);
}

static void session_body(struct session *s, const u8 *frame, u32 size, u8 eof)
{
	if (!s->bodies)
		return;
	if (u4n_body_check(eof, s->tags.more, size, s->bodies, s->len - s->got)) {
		session_abort(s);
		return;
	}
	memcpy(s->packet + s->got, frame, size);
	s->got += size;
	s->tags.more ^= s->tags.turn;
	if (!--s->bodies)
		session_deliver(s);
}

static void session_control(struct session *s, const u8 *frame, u32 size)
{
	u8 gids[U4N_MAX_GIDS * U4N_GID_SIZE];
	struct u4n_ctl ctl;
	enum u4n_drop why;

	session_abort(s);
	why = u4n_ctl_parse(frame, size, &ctl);
	fuzz_check(why < U4N_NUM_DROPS);
	if (why == U4N_DROP_SHORT || !session_credit(s, ctl.gen, ctl.sent, ctl.limit) || why)
		return;
	if (ctl.type == U4N_CTL_GIDS)
		memcpy(gids, ctl.gids, ctl.count * U4N_GID_SIZE);
}

static void put_right(struct session *s, u8 *frame, u32 size, u8 flags)
{
	struct u4n_wire_head *wire = (struct u4n_wire_head *)frame;

	if (flags & FUZZ_FLOW && size >= sizeof(wire->common)) {
		wire->common.gen = cpu_to_le16(FUZZ_GEN);
		wire->common.sent = cpu_to_le32(s->rx.seen);
		wire->common.limit = cpu_to_le32(s->limit);
	}
	if (flags & FUZZ_LENGTH && size >= sizeof(*wire)) {
		wire->reserved1 = 0;
		wire->reserved2 = 0;
		wire->reserved3 = 0;
		wire->inl = cpu_to_le16(size - sizeof(*wire));
		if (!wire->bodies)
			wire->len = cpu_to_le32(size - sizeof(*wire));
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct session s = { 0 };
	u8 flags, *frame;
	u32 size;

	if (!len)
		return 0;
	s.caps = data[0] & ~BIT(7);
	if (data[0] & BIT(7))
		s.caps |= U4N_CAP_STEPS;
	u4n_credit_rx_init(&s.rx, FUZZ_WINDOW);
	u4n_credit_tx_init(&s.tx, FUZZ_WINDOW);
	s.limit = FUZZ_WINDOW;
	for (data++, len--; len > 3 && !s.broken; data += size, len -= size) {
		flags = data[0];
		size = (data[1] | data[2] << 8) % U4N_FRAME_SIZE + 1;
		data += 3;
		len -= 3;
		size = min_t(u32, size, len);
		frame = malloc(size);
		fuzz_check(frame);
		memcpy(frame, data, size);
		put_right(&s, frame, size, flags);
		switch (flags & 7) {
		case U4N_PDF_HEAD_MORE:
		case U4N_PDF_HEAD_LAST:
			session_head(&s, frame, size, flags & 7);
			break;
		case U4N_PDF_BODY_MORE:
		case U4N_PDF_BODY_LAST:
			session_body(&s, frame, size, flags & 7);
			break;
		case 7:
			session_body(&s, frame, size, U4N_PDF_BODY_ODD);
			break;
		case U4N_PDF_CONTROL:
			session_control(&s, frame, size);
		}
		s.rx.seen++;
		u4n_credit_rx_publish(&s.rx);
		free(frame);
	}
	session_abort(&s);
	return 0;
}
