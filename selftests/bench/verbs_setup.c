// SPDX-License-Identifier: GPL-2.0
/* Verbs workloads: device, buffers, queue pairs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "verbs.h"

static struct ibv_context *bv_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		bench_die("no RDMA device %s", name);
	ibv_free_device_list(list);
	return ctx;
}

static struct ibv_mr *bv_reg(struct bv *v, void *buf, size_t len)
{
	struct ibv_mr *mr = ibv_reg_mr(v->pd, buf, len, IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ);

	if (!mr)
		bench_die("cannot register %zu bytes: %s", len, strerror(errno));
	return mr;
}

static void bv_create_qps(struct bv *v)
{
	const struct bench_params *par = &v->b->par;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = v->cq,
		.recv_cq = v->cq,
		.cap = {
			.max_send_wr = v->depth + BV_CREDITS,
			.max_recv_wr = v->depth + BV_CREDITS,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = BV_INLINE,
		},
	};
	unsigned int i;

	for (i = 0; i < par->flows; i++) {
		v->flow[i].qp = ibv_create_qp(v->pd, &init);
		if (!v->flow[i].qp)
			bench_die("queue pair %u: %s", i, strerror(errno));
		v->self.qpn[i] = v->flow[i].qp->qp_num;
	}
}

static void bv_create(struct bv *v)
{
	const struct bench_params *par = &v->b->par;
	size_t len;

	v->window = BV_BYTES / par->size;
	if (v->window > BV_MESSAGES)
		v->window = BV_MESSAGES;
	v->window /= par->flows;
	if (!v->window)
		v->window = 1;
	/*
	 * Credits come back for half of it. They are messages, too, so they have
	 * to be few even if a queue pair has little room.
	 */
	v->depth = 2 * v->window;
	if (v->depth < 8)
		v->depth = 8;
	if (par->flows > 1 && v->depth < BV_DEPTH)
		v->depth = BV_DEPTH;
	len = (size_t)par->flows * v->depth * par->size;

	v->ctx = bv_open(v->b->dev);
	if (ibv_query_gid(v->ctx, 1, v->b->gid_index, &v->self.gid))
		bench_die("no GID %d", v->b->gid_index);
	v->pd = ibv_alloc_pd(v->ctx);
	v->chan = ibv_create_comp_channel(v->ctx);
	if (!v->pd || !v->chan)
		bench_die("no protection domain or channel: %s", strerror(errno));
	v->cq = ibv_create_cq(v->ctx, par->flows * (v->depth + v->window +
					     2 * BV_CREDITS),
			      NULL, v->chan, 0);
	if (!v->cq)
		bench_die("no completion queue: %s", strerror(errno));
	v->src = bench_alloc(len);
	v->dst = bench_alloc(len);
	v->src_mr = bv_reg(v, v->src, len);
	v->dst_mr = bv_reg(v, v->dst, len);
	bv_create_qps(v);
	v->self.src = (uintptr_t)v->src;
	v->self.dst = (uintptr_t)v->dst;
	v->self.src_rkey = v->src_mr->rkey;
	v->self.dst_rkey = v->dst_mr->rkey;
}

static void bv_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int ret = ibv_modify_qp(qp, attr, mask | IBV_QP_STATE);

	if (ret)
		bench_die("queue pair does not go to state %d: %s",
			  attr->qp_state, strerror(ret));
}

static void bv_connect(struct bv *v, unsigned int flow, enum ibv_mtu mtu)
{
	struct ibv_qp *qp = v->flow[flow].qp;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
		.path_mtu = mtu,
		.dest_qp_num = v->peer.qpn[flow],
		.rq_psn = 0,
		.sq_psn = 0,
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 12,
		.timeout = 17,
		.retry_cnt = 6,
		/* Credits keep receives posted: a mistake there must show. */
		.rnr_retry = 0,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {
				.dgid = v->peer.gid,
				.sgid_index = v->b->gid_index,
				.hop_limit = 64,
			},
		},
	};

	bv_modify(qp, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		  IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	bv_modify(qp, &attr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		  IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	bv_modify(qp, &attr, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

/**
 * bv_setup - make everything, connect all queue pairs, post the receives
 * @b: the benchmark; bench_ops.setup of the verbs workloads
 */
void bv_setup(struct bench *b)
{
	struct bv *v = bench_alloc(sizeof(*v));
	struct ibv_port_attr port;
	unsigned int i, j;

	memset(v, 0, sizeof(*v));
	v->b = b;
	b->priv = v;
	bv_create(v);
	bench_write(b->sock, &v->self, sizeof(v->self));
	bench_read(b->sock, &v->peer, sizeof(v->peer));
	if (ibv_query_port(v->ctx, 1, &port))
		bench_die("cannot query the port");
	if (!b->is_server)
		printf("# path MTU %d\n", 128 << port.active_mtu);
	for (i = 0; i < b->par.flows; i++) {
		bv_connect(v, i, port.active_mtu);
		for (j = 0; j < v->depth; j++)
			bv_post_recv(v, i, j);
	}
	/* For the client to read. */
	for (j = 0; b->is_server && j < v->depth; j++)
		bench_fill(v->src + bv_slot(v, 0, j), b->par.size, j, true);
}
