// SPDX-License-Identifier: GPL-2.0
/* Device, buffers and queue pair. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs_check.h"

static struct ibv_context *vc_open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i]; i++) {
		if (!name || !strcmp(ibv_get_device_name(list[i]), name)) {
			ctx = ibv_open_device(list[i]);
			break;
		}
	}
	if (!ctx)
		vc_die(2, "no RDMA device %s", name ? name : "at all");
	ibv_free_device_list(list);
	return ctx;
}

static struct ibv_mr *vc_reg(struct vc *vc, void *buf, size_t len, int access)
{
	struct ibv_mr *mr;

	if (vc->par.odp)
		access |= IBV_ACCESS_ON_DEMAND;
	mr = ibv_reg_mr(vc->pd, buf, len, IBV_ACCESS_LOCAL_WRITE | access);
	if (!mr)
		vc_die(2, "cannot register %zu bytes: %s", len,
		       strerror(errno));
	return mr;
}

static void *vc_alloc(size_t len)
{
	void *p;

	if (posix_memalign(&p, 4096, len))
		vc_die(2, "no memory for %zu bytes", len);
	memset(p, VC_FILL, len);
	return p;
}

/* Messages of a round: fewer when they are large. */
unsigned int vc_round_count(const struct vc_params *par, uint32_t size)
{
	unsigned int n = par->count;

	if (size && n > VC_ROUND_BYTES / size)
		n = VC_ROUND_BYTES / size;
	return n ? n : 1;
}

static void vc_alloc_buffers(struct vc *vc)
{
	const struct vc_params *par = &vc->par;
	size_t len, atom_len = VC_ATOMICS * sizeof(uint64_t);
	unsigned int i;

	vc->buf_len = 0;
	for (i = 0; i < par->num_sizes; i++) {
		len = (size_t)vc_round_count(par, par->sizes[i]) *
		      (par->sizes[i] + VC_GAP) + VC_GAP + 4096;
		if (len > vc->buf_len)
			vc->buf_len = len;
	}
	vc->src = vc_alloc(vc->buf_len);
	vc->dst = vc_alloc(vc->buf_len);
	vc->grh = vc_alloc(VC_MAX_COUNT * VC_GRH);
	vc->atom = vc_alloc(2 * atom_len);

	vc->src_mr = vc_reg(vc, vc->src, vc->buf_len, IBV_ACCESS_REMOTE_READ);
	vc->dst_mr = vc_reg(vc, vc->dst, vc->buf_len, IBV_ACCESS_REMOTE_WRITE);
	vc->grh_mr = vc_reg(vc, vc->grh, VC_MAX_COUNT * VC_GRH, 0);
	vc->atom_mr = vc_reg(vc, vc->atom, 2 * atom_len,
			     IBV_ACCESS_REMOTE_ATOMIC);
}

void vc_create(struct vc *vc)
{
	struct ibv_qp_init_attr init = {
		.qp_type = vc->par.qp_type,
		.cap = {
			.max_send_wr = 2 * VC_MAX_COUNT,
			.max_recv_wr = 2 * VC_MAX_COUNT,
			.max_send_sge = VC_MAX_SGE,
			.max_recv_sge = VC_MAX_SGE,
			.max_inline_data = VC_INLINE,
		},
	};
	struct ibv_port_attr port;

	vc->ctx = vc_open_device(vc->dev_name);
	if (ibv_query_port(vc->ctx, 1, &port) ||
	    ibv_query_gid(vc->ctx, 1, vc->gid_index, &vc->self.gid))
		vc_die(2, "cannot query the port or GID %d", vc->gid_index);
	vc->pd = ibv_alloc_pd(vc->ctx);
	vc->chan = ibv_create_comp_channel(vc->ctx);
	if (!vc->pd || !vc->chan)
		vc_die(2, "no protection domain or channel: %s",
		       strerror(errno));
	vc->cq = ibv_create_cq(vc->ctx, 6 * VC_MAX_COUNT, NULL, vc->chan, 0);
	if (!vc->cq)
		vc_die(2, "no completion queue: %s", strerror(errno));
	init.send_cq = vc->cq;
	init.recv_cq = vc->cq;
	vc->qp = ibv_create_qp(vc->pd, &init);
	if (!vc->qp)
		vc_die(2, "no queue pair: %s", strerror(errno));
	vc_alloc_buffers(vc);

	vc->self.qpn = vc->qp->qp_num;
	vc->self.psn = vc_mix(vc->par.seed + vc->side) & 0xffffff;
	vc->self.mtu = port.active_mtu;
	vc->self.src = (uintptr_t)vc->src;
	vc->self.dst = (uintptr_t)vc->dst;
	vc->self.atom = (uintptr_t)vc->atom;
	vc->self.src_rkey = vc->src_mr->rkey;
	vc->self.dst_rkey = vc->dst_mr->rkey;
	vc->self.atom_rkey = vc->atom_mr->rkey;
}

static void vc_modify(struct vc *vc, struct ibv_qp_attr *attr, int mask,
		      const char *state)
{
	int ret = ibv_modify_qp(vc->qp, attr, mask | IBV_QP_STATE);

	if (ret)
		vc_die(2, "queue pair does not go to %s: %s", state,
		       strerror(ret));
}

void vc_to_init(struct vc *vc)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = VC_QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	int mask = IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (vc->par.qp_type == IBV_QPT_RC)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ |
					IBV_ACCESS_REMOTE_ATOMIC;
	mask |= vc->par.qp_type == IBV_QPT_UD ? IBV_QP_QKEY :
						IBV_QP_ACCESS_FLAGS;
	vc_modify(vc, &attr, mask, "INIT");
}

void vc_to_rts(struct vc *vc)
{
	bool ud = vc->par.qp_type == IBV_QPT_UD;
	bool rc = vc->par.qp_type == IBV_QPT_RC;
	struct ibv_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = {
			.dgid = vc->peer.gid,
			.sgid_index = vc->gid_index,
			.hop_limit = 64,
		},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = vc->par.mtu,
		.dest_qp_num = vc->peer.qpn,
		.rq_psn = vc->peer.psn,
		.ah_attr = ah,
		.max_dest_rd_atomic = 16,
		.max_rd_atomic = 16,
		.min_rnr_timer = 12,
		.sq_psn = vc->self.psn,
		.timeout = 17,
		.retry_cnt = 6,
		.rnr_retry = 0,
	};
	int mask = 0;

	if (!ud)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
	if (rc)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	vc_modify(vc, &attr, mask, "RTR");

	attr.qp_state = IBV_QPS_RTS;
	mask = IBV_QP_SQ_PSN;
	if (rc)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	vc_modify(vc, &attr, mask, "RTS");

	if (ud) {
		vc->ah = ibv_create_ah(vc->pd, &ah);
		if (!vc->ah)
			vc_die(2, "no address handle: %s", strerror(errno));
	}
}
