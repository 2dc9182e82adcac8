// SPDX-License-Identifier: GPL-2.0
/* Work requests and completions. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "verbs_check.h"

/* Cuts a buffer into pieces at odd places. */
static int vc_pieces(struct ibv_sge *sge, const uint8_t *p, uint32_t len,
		     uint32_t lkey, unsigned int pieces)
{
	unsigned int n = 0;
	uint32_t cut;

	while (n + 1 < pieces && len > 2) {
		cut = (len / 2 | 1) - (len > 8 ? 2 : 0);
		sge[n].addr = (uintptr_t)p;
		sge[n].length = cut;
		sge[n++].lkey = lkey;
		p += cut;
		len -= cut;
	}
	if (len) {
		sge[n].addr = (uintptr_t)p;
		sge[n].length = len;
		sge[n++].lkey = lkey;
	}
	return n;
}

static bool vc_op_receives(enum vc_op op)
{
	return op == VC_SEND || op == VC_SEND_IMM || op == VC_WRITE_IMM;
}

bool vc_is_atomic(enum vc_op op)
{
	return op == VC_FETCH_ADD || op == VC_CMP_SWAP;
}

/* A WRITE on UC tells nobody when it has arrived: an empty SEND follows. */
static bool vc_needs_flush(const struct vc *vc)
{
	return vc->op == VC_WRITE && vc->par.qp_type == IBV_QPT_UC;
}

unsigned int vc_num_recvs(const struct vc *vc)
{
	if (vc_op_receives(vc->op))
		return vc->count;
	return vc_needs_flush(vc) ? 1 : 0;
}

void vc_post_recvs(struct vc *vc)
{
	struct ibv_sge sge[VC_MAX_SGE];
	struct ibv_recv_wr wr = { .sg_list = sge }, *bad;
	unsigned int m, pieces = 1 + vc->round % 2;
	int n;

	vc->next_recv = 0;
	for (m = 0; m < vc_num_recvs(vc); m++) {
		n = 0;
		if (vc->par.qp_type == IBV_QPT_UD) {
			sge[0].addr = (uintptr_t)vc->grh + m * VC_GRH;
			sge[0].length = VC_GRH;
			sge[0].lkey = vc->grh_mr->lkey;
			n = 1;
		}
		if (vc->op == VC_SEND || vc->op == VC_SEND_IMM)
			n += vc_pieces(sge + n, vc->dst + vc_dst_off(vc, m),
				       vc->size, vc->dst_mr->lkey, pieces);
		wr.wr_id = m;
		wr.num_sge = n;
		if (ibv_post_recv(vc->qp, &wr, &bad))
			vc_die(1, "cannot post a receive: %s",
			       strerror(errno));
	}
}

static enum ibv_wr_opcode vc_opcode(enum vc_op op)
{
	switch (op) {
	case VC_SEND:
		return IBV_WR_SEND;
	case VC_SEND_IMM:
		return IBV_WR_SEND_WITH_IMM;
	case VC_WRITE:
		return IBV_WR_RDMA_WRITE;
	case VC_WRITE_IMM:
		return IBV_WR_RDMA_WRITE_WITH_IMM;
	case VC_READ:
		return IBV_WR_RDMA_READ;
	case VC_FETCH_ADD:
		return IBV_WR_ATOMIC_FETCH_AND_ADD;
	default:
		return IBV_WR_ATOMIC_CMP_AND_SWP;
	}
}

static uint32_t vc_imm(const struct vc *vc, unsigned int msg)
{
	return htonl(vc->round << 8 | msg);
}

static void vc_atomic_wr(struct vc *vc, unsigned int m, struct ibv_send_wr *wr)
{
	unsigned int peer = VC_FROM_BOTH - vc->side;
	uint64_t old = vc_atom_old(vc, m, peer);

	wr->sg_list->addr = (uintptr_t)(vc->atom + VC_ATOMICS + m);
	wr->sg_list->length = sizeof(uint64_t);
	wr->sg_list->lkey = vc->atom_mr->lkey;
	wr->num_sge = 1;
	wr->wr.atomic.remote_addr = vc->peer.atom + m * sizeof(uint64_t);
	wr->wr.atomic.rkey = vc->peer.atom_rkey;
	if (vc->op == VC_FETCH_ADD) {
		wr->wr.atomic.compare_add = vc_atom_arg(vc, m);
	} else {
		wr->wr.atomic.compare_add = m & 1 ? ~old : old;
		wr->wr.atomic.swap = vc_atom_arg(vc, m);
	}
}

static void vc_build_wr(struct vc *vc, unsigned int m, struct ibv_send_wr *wr)
{
	unsigned int pieces = 1 + vc->round % VC_MAX_SGE;

	wr->wr_id = m;
	wr->opcode = vc_opcode(vc->op);
	wr->send_flags = IBV_SEND_SIGNALED;
	wr->imm_data = vc_imm(vc, m);
	if (vc_is_atomic(vc->op)) {
		vc_atomic_wr(vc, m, wr);
		return;
	}
	if (vc->op == VC_READ) {
		wr->num_sge = vc_pieces(wr->sg_list,
					vc->dst + vc_dst_off(vc, m), vc->size,
					vc->dst_mr->lkey, pieces);
		wr->wr.rdma.remote_addr = vc->peer.src + vc_src_off(vc, m);
		wr->wr.rdma.rkey = vc->peer.src_rkey;
		return;
	}
	wr->num_sge = vc_pieces(wr->sg_list, vc->src + vc_src_off(vc, m),
				vc->size, vc->src_mr->lkey, pieces);
	if (vc->size <= VC_INLINE && m & 1)
		wr->send_flags |= IBV_SEND_INLINE;
	if (vc->op == VC_WRITE || vc->op == VC_WRITE_IMM) {
		wr->wr.rdma.remote_addr = vc->peer.dst + vc_dst_off(vc, m);
		wr->wr.rdma.rkey = vc->peer.dst_rkey;
	}
	if (vc->par.qp_type == IBV_QPT_UD) {
		wr->wr.ud.ah = vc->ah;
		wr->wr.ud.remote_qpn = vc->peer.qpn;
		wr->wr.ud.remote_qkey = VC_QKEY;
	}
}

unsigned int vc_post_sends(struct vc *vc)
{
	struct ibv_sge sge[VC_MAX_SGE];
	struct ibv_send_wr wr, *bad;
	unsigned int m, posted = 0;

	for (m = 0; m < vc->count + vc_needs_flush(vc); m++) {
		memset(&wr, 0, sizeof(wr));
		wr.sg_list = sge;
		if (m < vc->count) {
			vc_build_wr(vc, m, &wr);
		} else {
			wr.opcode = IBV_WR_SEND;
			wr.send_flags = IBV_SEND_SIGNALED;
		}
		if (ibv_post_send(vc->qp, &wr, &bad))
			vc_die(1, "cannot post message %u: %s", m,
			       strerror(errno));
		posted++;
	}
	return posted;
}

static void vc_check_grh(struct vc *vc, unsigned int msg)
{
	static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *grh = vc->grh + msg * VC_GRH;
	const uint8_t *sgid = vc->peer.gid.raw, *dgid = vc->self.gid.raw;
	bool wrong;

	/* An IPv4 header stands in the last 20 bytes. */
	if (!memcmp(sgid, v4_prefix, sizeof(v4_prefix)))
		wrong = memcmp(grh + 32, sgid + 12, 4) ||
			memcmp(grh + 36, dgid + 12, 4);
	else
		wrong = memcmp(grh + 8, sgid, 16) || memcmp(grh + 24, dgid, 16);
	if (wrong)
		vc_die(1, "message %u: wrong addresses in the GRH", msg);
}

static void vc_check_recv(struct vc *vc, const struct ibv_wc *wc)
{
	bool imm = vc->op == VC_SEND_IMM || vc->op == VC_WRITE_IMM;
	bool ud = vc->par.qp_type == IBV_QPT_UD;
	uint32_t len = vc_needs_flush(vc) ? 0 : vc->size;
	unsigned int msg = vc->next_recv++;

	if (wc->wr_id != msg)
		vc_die(1, "receive %u completed in place of %u",
		       (unsigned int)wc->wr_id, msg);
	if (wc->byte_len != len + (ud ? VC_GRH : 0))
		vc_die(1, "message %u: received %u bytes", msg, wc->byte_len);
	if (imm != !!(wc->wc_flags & IBV_WC_WITH_IMM))
		vc_die(1, "message %u: %s immediate data", msg,
		       imm ? "no" : "unexpected");
	if (imm && wc->imm_data != vc_imm(vc, msg))
		vc_die(1, "message %u: wrong immediate data %08x", msg,
		       ntohl(wc->imm_data));
	if (ud) {
		if (wc->src_qp != vc->peer.qpn)
			vc_die(1, "message %u: wrong source QP %u", msg,
			       wc->src_qp);
		vc_check_grh(vc, msg);
	}
}

/* Takes one completion, waits for it if need be. */
static void vc_next_wc(struct vc *vc, struct ibv_wc *wc)
{
	struct pollfd pfd = { .fd = vc->chan->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;
	int n, pass;

	while (true) {
		for (pass = 0; pass < 2; pass++) {
			n = ibv_poll_cq(vc->cq, 1, wc);
			if (n < 0)
				vc_die(1, "cannot poll the completion queue");
			if (n > 0)
				return;
			if (!pass && ibv_req_notify_cq(vc->cq, 0))
				vc_die(1, "cannot arm the completion queue");
		}
		n = poll(&pfd, 1, vc->par.timeout * 1000);
		if (n == 0)
			vc_die(1, "no completion for %u s", vc->par.timeout);
		if (n < 0 || ibv_get_cq_event(vc->chan, &cq, &context))
			vc_die(1, "no completion event: %s", strerror(errno));
		ibv_ack_cq_events(cq, 1);
	}
}

void vc_wait(struct vc *vc, unsigned int sends, unsigned int recvs)
{
	struct ibv_wc wc;

	while (sends || recvs) {
		vc_next_wc(vc, &wc);
		if (wc.status != IBV_WC_SUCCESS)
			vc_die(1, "work request %u: %s (%u sends, %u receives outstanding)",
			       (unsigned int)wc.wr_id,
			       ibv_wc_status_str(wc.status), sends, recvs);
		if (wc.opcode & IBV_WC_RECV) {
			if (!recvs--)
				vc_die(1, "a receive too many");
			vc_check_recv(vc, &wc);
		} else if (!sends--) {
			vc_die(1, "a send completion too many");
		}
	}
}
