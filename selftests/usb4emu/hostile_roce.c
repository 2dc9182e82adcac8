// SPDX-License-Identifier: GPL-2.0
/*
 * The hostile peer's RoCE packets, for QPs of the host that it was told of: requests
 * and responses with the right PSNs, as far as it has kept up, without ICRC and for
 * several PSNs as well.
 */
#include "emu.h"

#define ROCE_PORT	4791
#define ROCE_BTH	12
#define ROCE_NO_ICRC	BIT(7)
#define ROCE_MAX_NPSN	15
#define ROCE_QUIET	24	/* unanswered packets after which a QP is begun anew */
#define ROCE_PSN	0xffffff

enum {
	RC_SEND_FIRST, RC_SEND_MIDDLE, RC_SEND_LAST, RC_SEND_LAST_IMM, RC_SEND_ONLY,
	RC_SEND_ONLY_IMM, RC_WRITE_FIRST, RC_WRITE_MIDDLE, RC_WRITE_LAST, RC_WRITE_LAST_IMM,
	RC_WRITE_ONLY, RC_WRITE_ONLY_IMM, RC_READ, RC_READ_FIRST, RC_READ_MIDDLE, RC_READ_LAST,
	RC_READ_ONLY, RC_ACK, RC_ATOMIC_ACK, RC_CMP_SWAP, RC_FETCH_ADD,
	RC_SEND_LAST_INV = 0x16, RC_SEND_ONLY_INV, UC = 0x20, UD_SEND = 0x64, UD_SEND_IMM,
};

/* What is behind the BTH, and how many PSNs that is */
struct roce_part {
	u32 op;
	u32 psn;
	u32 ext;	/* bytes of headers */
	u32 len;	/* of payload */
	u32 npsn;
};

static u8 *roce_ext(struct emu_hostile *h, struct hostile_packet *p)
{
	return h->packet + p->bth + ROCE_BTH;
}

static u32 roce_reth(struct emu_hostile *h, u8 *buf, u32 len)
{
	u32 room = h->mr_len > len ? h->mr_len - len : 1;

	hostile_put32(buf, h->va[0]);
	hostile_put32(buf + 4, h->va[1] + hostile_below(h, room));
	hostile_put32(buf + 8, h->rkey);
	hostile_put32(buf + 12, len);
	return 16;
}

/* Payload of some packets, the last of them full or not */
static void roce_lengths(struct emu_hostile *h, struct roce_part *r, u32 most, bool full)
{
	u32 n = hostile_below(h, 3) ? 1 : 2 + hostile_below(h, ROCE_MAX_NPSN - 1);

	n = max(1U, min(n, most / h->mtu));
	r->npsn = n;
	r->len = n * h->mtu;
	if (!full)
		r->len -= hostile_below(h, h->mtu);
	if (!full && n == 1 && hostile_below(h, 2))
		r->len = hostile_below(h, 65);
}

/* The rest of a message that was begun */
static void roce_continue(struct emu_hostile *h, struct hostile_qp *qp, struct roce_part *r)
{
	roce_lengths(h, r, qp->left, true);
	if (r->len < qp->left) {
		r->op = qp->writing ? RC_WRITE_MIDDLE : RC_SEND_MIDDLE;
	} else {
		r->op = qp->writing ? RC_WRITE_LAST : RC_SEND_LAST;
		r->len = qp->left;
	}
	qp->left -= r->len;
}

static void roce_first(struct emu_hostile *h, struct hostile_qp *qp, struct roce_part *r, u8 *ext)
{
	qp->writing = hostile_below(h, 2);
	roce_lengths(h, r, 4 * h->mtu, true);
	qp->left = r->len + 1 + hostile_below(h, 6 * h->mtu);
	r->op = RC_SEND_FIRST;
	if (qp->writing) {
		r->op = RC_WRITE_FIRST;
		r->ext = roce_reth(h, ext, qp->left);
	}
	qp->left -= r->len;
}

static void roce_rc_request(struct emu_hostile *h, struct hostile_qp *qp, struct roce_part *r,
			    u8 *ext)
{
	if (qp->left && hostile_below(h, 16)) {
		roce_continue(h, qp, r);
		return;
	}
	qp->left = 0;
	switch (hostile_below(h, qp->kind ? 6 : 11)) {
	case 0:
	case 1:
		roce_first(h, qp, r, ext);
		break;
	case 2:
	case 3:
		r->op = RC_SEND_ONLY;
		roce_lengths(h, r, ROCE_MAX_NPSN * h->mtu, false);
		break;
	case 4:
	case 5:
		r->op = RC_WRITE_ONLY;
		roce_lengths(h, r, ROCE_MAX_NPSN * h->mtu, false);
		r->ext = roce_reth(h, ext, r->len);
		break;
	case 6:
		r->op = RC_WRITE_ONLY_IMM;
		r->len = hostile_below(h, h->mtu);
		r->ext = roce_reth(h, ext, r->len) + 4;
		break;
	case 7:
		r->op = RC_SEND_ONLY_INV;
		r->len = hostile_below(h, h->mtu);
		hostile_put32(ext, h->rkey ^ hostile_below(h, 4));
		r->ext = 4;
		break;
	case 8:
		r->op = hostile_below(h, 2) ? RC_CMP_SWAP : RC_FETCH_ADD;
		r->ext = 28;
		roce_reth(h, ext, 8);
		ext[7] &= ~7;
		memset(ext + 12, 1, 16);
		break;
	default:
		r->op = RC_READ;
		r->len = hostile_below(h, 12 * h->mtu);
		r->ext = roce_reth(h, ext, r->len);
		r->npsn = max(1U, (r->len + h->mtu - 1) / h->mtu);
		r->len = 0;
	}
}

/* An answer to the host's last request, or what it has not asked for */
static void roce_rc_response(struct emu_hostile *h, struct hostile_qp *qp, struct roce_part *r,
			     u8 *ext)
{
	static const u8 syndromes[] = {
		0x1f, 0x1f, 0x1f, 0, 0x20, 0x2e, 0x60, 0x61, 0x62, 0x63, 0x64,
	};

	r->psn = qp->req_psn;
	r->ext = 4;
	hostile_put32(ext, (u32)syndromes[hostile_below(h, ARRAY_SIZE(syndromes))] << 24 |
		      hostile_below(h, 1 << 24));
	if (qp->req_op == RC_READ && hostile_below(h, 8)) {
		r->op = RC_READ_ONLY;
		r->len = min(qp->req_len, ROCE_MAX_NPSN * h->mtu);
		r->npsn = max(1U, (r->len + h->mtu - 1) / h->mtu);
		hostile_put32(ext, 0x1f << 24);
		if (!hostile_below(h, 4))
			r->op = RC_READ_FIRST + hostile_below(h, 4);
		if (r->op == RC_READ_MIDDLE)
			r->ext = 0;
	} else if (qp->req_op >= RC_CMP_SWAP && hostile_below(h, 8)) {
		r->op = RC_ATOMIC_ACK;
		r->ext = 12;
		memset(ext + 4, 2, 8);
	} else {
		r->op = RC_ACK;
	}
	qp->asked = !hostile_below(h, 4);
}

static void roce_choose(struct emu_hostile *h, struct hostile_qp *qp, struct roce_part *r, u8 *ext)
{
	if (qp->quiet++ > ROCE_QUIET) {
		qp->quiet = 0;
		qp->psn = qp->start;
		qp->left = 0;
	}
	r->psn = qp->psn;
	r->npsn = 1;
	if (qp->kind == 2) {
		r->op = hostile_below(h, 4) ? UD_SEND : UD_SEND_IMM;
		hostile_put32(ext, 0x11111111);		/* Q_Key */
		hostile_put32(ext + 4, qp->num);
		r->ext = r->op == UD_SEND ? 8 : 12;
		r->len = hostile_below(h, h->mtu + 1);
	} else {
		if (!qp->kind && (qp->asked ? hostile_below(h, 4) : !hostile_below(h, 12))) {
			roce_rc_response(h, qp, r, ext);
			return;
		}
		roce_rc_request(h, qp, r, ext);
		r->op |= qp->kind ? UC : 0;
	}
	qp->psn = (qp->psn + r->npsn) & ROCE_PSN;
	/* again, or too early */
	if (!hostile_below(h, 12))
		r->psn -= hostile_below(h, 24);
	else if (!hostile_below(h, 24))
		r->psn += hostile_below(h, 6);
}

void hostile_roce_build(struct emu_hostile *h, struct hostile_packet *p)
{
	struct hostile_qp *qp = &h->qp[hostile_below(h, h->nr_qps)];
	struct roce_part r = { 0 };
	u32 pad, behind, at;
	u8 *bth;

	p->type = 2;
	p->l3 = 14;
	p->bth = 14 + 20 + 8;
	roce_choose(h, qp, &r, roce_ext(h, p));
	pad = -r.len & 3;
	behind = ROCE_BTH + r.ext + r.len + pad + 4;
	hostile_ether(h, h->packet, 0x0800);
	at = 14 + hostile_ip(h, h->packet + 14, false, 17, 8 + behind);
	hostile_put16(h->packet + at, 0xc000 | (qp->num & 0x3fff));
	hostile_put16(h->packet + at + 2, ROCE_PORT);
	hostile_put16(h->packet + at + 4, 8 + behind);
	hostile_put16(h->packet + at + 6, 0);
	bth = h->packet + p->bth;
	bth[0] = r.op;
	bth[1] = pad << 4 | 0x40;
	hostile_put16(bth + 2, 0xffff);
	hostile_put32(bth + 4, qp->num);
	hostile_put32(bth + 8, (r.psn & ROCE_PSN) | (u32)!!hostile_below(h, 3) << 31);
	p->flags = ROCE_NO_ICRC;
	if (r.npsn > 1 && r.op != RC_READ)
		p->npsn = r.npsn;
	p->len = p->bth + ROCE_BTH + r.ext + r.len;
	if (hostile_below(h, 4)) {
		memset(h->packet + p->len, 0, pad + 4);
		p->len += pad + 4;
	}
	h->count[HOSTILE_N_ROCE]++;
}

/* The headers that rxe looks at */
void hostile_roce_twist(struct emu_hostile *h, struct hostile_packet *p)
{
	static const u8 spots[] = {
		0, 0, 1, 2, 4, 5, 7, 8, 9, 10, 11, 11, 12, 13, 15, 16, 18, 19, 20, 23, 24, 25,
		26, 27, 31, 39,
	};
	u32 fields = 1 + hostile_below(h, 3), base, at;

	h->count[HOSTILE_N_FIELD_ROCE]++;
	while (fields--) {
		switch (hostile_below(h, 8)) {
		case 0:		/* IP and UDP */
			at = 14 + hostile_below(h, 28);
			break;
		case 1:
			p->npsn = hostile_below(h, 18);
			continue;
		case 2:		/* a length that is off */
			base = p->len > 60 ? p->len - 60 : 0;
			p->len = hostile_below(h, 2) ? 60 + hostile_below(h, base + 1) :
				 p->len + hostile_below(h, 16);
			continue;
		default:
			at = p->bth + spots[hostile_below(h, ARRAY_SIZE(spots))];
		}
		h->packet[at] = hostile_odd(h, h->packet[at], 8);
	}
}

static struct hostile_qp *roce_find(struct emu_hostile *h, u32 num)
{
	u32 i;

	for (i = 0; i < h->nr_qps; i++)
		if (h->qp[i].num == num)
			return &h->qp[i];
	return NULL;
}

static void roce_rcv_ack(struct emu_hostile *h, struct hostile_qp *qp, u32 psn, u32 syndrome)
{
	switch (syndrome >> 5) {
	case 0:
		qp->psn = (psn + 1) & ROCE_PSN;
		return;
	case 1:		/* RNR */
		qp->psn = psn;
		break;
	default:
		h->count[HOSTILE_N_NAKS]++;
		qp->psn = syndrome == 0x60 ? psn : qp->start;
	}
	qp->left = 0;
}

/* What the host says to a QP of ours, which has the number of its own. @buf is an
 * Ethernet packet, or its beginning.
 */
void hostile_roce_rcv(struct emu_hostile *h, const u8 *buf, u32 len)
{
	const u8 *bth = buf + 14 + 28;
	struct hostile_qp *qp;
	u32 psn;

	h->count[HOSTILE_N_RCVD_ROCE]++;
	if (len < 14 + 28 + ROCE_BTH + 4 || buf[12] != 8 || buf[13])
		return;
	qp = roce_find(h, hostile_get32(bth + 4) & ROCE_PSN);
	if (!qp)
		return;
	psn = hostile_get32(bth + 8) & ROCE_PSN;
	qp->quiet = 0;
	if (bth[0] == RC_ACK) {
		roce_rcv_ack(h, qp, psn, bth[12]);
	} else if (bth[0] <= RC_READ || bth[0] >= RC_CMP_SWAP) {
		qp->asked = true;
		qp->req_psn = psn;
		qp->req_op = bth[0];
		qp->req_len = hostile_get32(bth + ROCE_BTH + 12);
	}
}
