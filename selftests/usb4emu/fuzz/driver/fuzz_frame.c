// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's parsers of frames, in the order in which rx.c calls them: BODY frames,
 * link headers, CONTROL messages, credits, and the headers that metadata speaks of.
 * Each frame and each packet is in memory of its exact size, for ASan to see what is
 * read or written beyond.
 *
 * Input: u8 the capabilities announced, then records: u8 tag and flags, u16 length, the
 * frame. With a flag, what ends a session is put right first, or the lengths are.
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
	u8 *body;		/* what BODY frames have brought, whose HEAD is awaited */
	u32 got;
	u32 bodies;
	bool bad;
};

static void session_forget(struct session *s)
{
	free(s->body);
	s->body = NULL;
	s->got = 0;
	s->bodies = 0;
	s->bad = false;
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
	s->bad |= lost;
	s->limit = limit;
	if (!u4n_credit_tx_update(&s->tx, limit))
		s->broken = true;
	fuzz_check(u4n_credit_tx_avail(&s->tx) <= FUZZ_WINDOW);
	return true;
}

/* A packet is complete: what the stack is told of it must be within it. */
static void session_deliver(const struct u4n_head *head, const u8 *packet, u32 len)
{
	const struct u4n_meta *m = &head->meta;
	u8 *headers;

	fuzz_check(len == head->len && len >= ETH_HLEN && len <= U4N_MAX_BIG_PACKET);
	if (head->type == U4N_HEAD_ROCE)
		fuzz_check(m->npsn <= U4N_MAX_NPSN && m->npsn != 1 && !m->gso_type);
	if (head->type == U4N_HEAD_ETH && m->flags & U4N_META_NEEDS_CSUM)
		fuzz_check(m->csum_start + m->csum_offset + 2U <= len);
	if (head->type == U4N_HEAD_ETH && m->gso_type) {
		fuzz_check(m->gso_size && m->gso_hdr_len < len);
		headers = malloc(m->gso_hdr_len);
		fuzz_check(headers);
		memcpy(headers, packet, m->gso_hdr_len);
		u4n_headers_match(headers, m);
		free(headers);
	}
}

static void session_head(struct session *s, const u8 *frame, u32 size, enum u4n_pdf pdf)
{
	struct u4n_head head;
	enum u4n_drop why;
	u8 *packet;

	why = u4n_head_parse(frame, size, pdf, s->caps, &head);
	fuzz_check(why < U4N_NUM_DROPS);
	if (why == U4N_DROP_SHORT || !session_credit(s, head.gen, head.sent, head.limit) || why)
		return;
	fuzz_check(head.bodies <= U4N_MAX_BODIES);
	fuzz_check(!head.bodies == (pdf == U4N_PDF_HEAD_ONLY));
	if (head.bodies && (s->bad || head.bodies != s->bodies || head.len - head.inl != s->got))
		return;
	packet = malloc(head.len);
	fuzz_check(packet);
	memcpy(packet, frame + U4N_HEAD_SIZE, head.inl);
	if (head.bodies)
		memcpy(packet + head.inl, s->body, s->got);
	session_deliver(&head, packet, head.inl + (head.bodies ? s->got : 0));
	free(packet);
}

static void session_body(struct session *s, const u8 *frame, u32 size, enum u4n_pdf pdf)
{
	if (s->bad)
		return;
	if (s->bodies == U4N_MAX_BODIES || pdf != u4n_body_eof(s->bodies)) {
		session_forget(s);
		s->bad = true;
		return;
	}
	s->body = realloc(s->body, s->got + size);
	fuzz_check(s->body);
	memcpy(s->body + s->got, frame, size);
	s->got += size;
	s->bodies++;
}

static void session_control(struct session *s, const u8 *frame, u32 size)
{
	u8 gids[U4N_MAX_GIDS * U4N_GID_SIZE];
	struct u4n_ctl ctl;
	enum u4n_drop why;

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
		if ((flags & 7) == U4N_PDF_HEAD_END) {
			wire->bodies = s->bodies;
			wire->len = cpu_to_le32(size - sizeof(*wire) + s->got);
		} else if (!wire->bodies) {
			wire->len = cpu_to_le32(size - sizeof(*wire));
		}
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct session s = { 0 };
	u8 flags, *frame;
	u32 size;

	if (!len)
		return 0;
	s.caps = data[0];
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
		case U4N_PDF_HEAD_END:
		case U4N_PDF_HEAD_ONLY:
			session_head(&s, frame, size, flags & 7);
			session_forget(&s);
			break;
		case U4N_PDF_BODY_EVEN:
		case U4N_PDF_BODY_ODD:
			session_body(&s, frame, size, flags & 7);
			break;
		case U4N_PDF_CONTROL:
			session_control(&s, frame, size);
			session_forget(&s);
		}
		s.rx.seen++;
		u4n_credit_rx_publish(&s.rx);
		free(frame);
	}
	session_forget(&s);
	return 0;
}
