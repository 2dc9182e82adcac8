// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs workloads: SEND, WRITE with immediate and READ over RC queue pairs,
 * sleeping on completion events.
 *
 * A ping-pong sends unsignalled but for one in 16, and sleeps on solicited
 * completions only, so that a message costs one wakeup. A stream signals a
 * quarter of its window at once, and the
 * receiver returns credits, empty messages whose immediate data is the number
 * of messages it has consumed; a receive is posted for whatever is under way.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "verbs.h"

#define BV_POLL		32
#define BV_SIGNAL	16

/* A work request's id: flow, these, number of messages sent with it. */
#define BV_CREDIT	(1u << 8)
#define BV_RECV		(1u << 9)
#define BV_SENT_SHIFT	16

/* Receive number @slot of a flow; those of the client of a stream get credits. */
void bv_post_recv(struct bv *v, unsigned int flow, uint64_t slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)v->dst + bv_slot(v, flow, slot),
		.length = v->b->par.size,
		.lkey = v->dst_mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = flow | BV_RECV,
		.sg_list = &sge,
		.num_sge = v->b->par.kind == BENCH_SEND,
	}, *bad;

	if (ibv_post_recv(v->flow[flow].qp, &wr, &bad))
		bench_die("cannot post a receive");
}

static void bv_post(struct bv *v, unsigned int flow, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int ret = ibv_post_send(v->flow[flow].qp, wr, &bad);

	if (ret)
		bench_die("cannot post: %s", strerror(ret));
}

/* The next message of a flow. */
static void bv_send(struct bv *v, unsigned int flow, bool full, bool signal)
{
	const struct bench_params *par = &v->b->par;
	struct bv_flow *f = &v->flow[flow];
	size_t slot = bv_slot(v, flow, f->sent);
	struct ibv_sge sge = {
		.addr = (uintptr_t)v->src + slot,
		.length = par->size,
		.lkey = v->src_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = flow | (f->sent + 1) << BV_SENT_SHIFT,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SOLICITED |
			      (signal ? IBV_SEND_SIGNALED : 0) |
			      (par->size <= BV_INLINE ? IBV_SEND_INLINE : 0),
		.wr.rdma = {
			.remote_addr = v->peer.dst + slot,
			.rkey = v->peer.dst_rkey,
		},
	};

	if (par->kind == BENCH_WRITE)
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	bench_fill(v->src + slot, par->size, f->sent, full);
	bv_post(v, flow, &wr);
	f->sent++;
}

static void bv_read(struct bv *v, unsigned int flow)
{
	struct bv_flow *f = &v->flow[flow];
	size_t slot = bv_slot(v, flow, f->sent);
	struct ibv_sge sge = {
		.addr = (uintptr_t)v->dst + slot,
		.length = v->b->par.size,
		.lkey = v->dst_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = flow | (f->sent + 1) << BV_SENT_SHIFT,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {
			.remote_addr = v->peer.src + slot,
			.rkey = v->peer.src_rkey,
		},
	};

	bv_post(v, flow, &wr);
	f->sent++;
}

static void bv_credit(struct bv *v, unsigned int flow)
{
	struct bv_flow *f = &v->flow[flow];
	struct ibv_send_wr wr = {
		.wr_id = flow | BV_CREDIT,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htonl((uint32_t)f->received),
	};

	f->told = f->received;
	bv_post(v, flow, &wr);
}

/* Some completions, sleeping until there are any. */
static int bv_wait(struct bv *v, struct ibv_wc *wc, bool solicited)
{
	struct ibv_cq *cq;
	void *ctx;
	int n, i;

	while (true) {
		n = ibv_poll_cq(v->cq, BV_POLL, wc);
		if (n)
			break;
		if (ibv_req_notify_cq(v->cq, solicited))
			bench_die("cannot ask for an event");
		n = ibv_poll_cq(v->cq, BV_POLL, wc);
		if (n)
			break;
		if (ibv_get_cq_event(v->chan, &cq, &ctx))
			bench_die("no completion event: %s", strerror(errno));
		if (++v->events == 1024) {
			ibv_ack_cq_events(v->cq, v->events);
			v->events = 0;
		}
	}
	for (i = 0; i < n; i++)
		if (wc[i].status)
			bench_die("completion: %s",
				  ibv_wc_status_str(wc[i].status));
	return n;
}

/* Account for completions; the number of messages that arrived. */
static unsigned int bv_reap(struct bv *v, struct ibv_wc *wc, int n, bool full)
{
	const struct bench_params *par = &v->b->par;
	unsigned int arrived = 0, flow;
	struct bv_flow *f;
	size_t slot;
	int i;

	for (i = 0; i < n; i++) {
		flow = wc[i].wr_id & (BENCH_MAX_FLOWS - 1);
		f = &v->flow[flow];
		if (wc[i].wr_id & BV_CREDIT)
			continue;
		if (!(wc[i].wr_id & BV_RECV)) {
			if (par->kind == BENCH_READ) {
				slot = bv_slot(v, flow, f->done);
				bench_verify(v->dst + slot, par->size,
					     f->done % v->depth, full);
				/* What is read next has to come from afar. */
				memset(v->dst + slot, 0, full ? par->size : 8);
			}
			f->done = wc[i].wr_id >> BV_SENT_SHIFT;
			continue;
		}
		if (par->stream && !v->b->is_server) {
			f->credited += (uint32_t)(ntohl(wc[i].imm_data) -
						  (uint32_t)f->credited);
			bv_post_recv(v, flow, 0);
			continue;
		}
		bench_verify(v->dst + bv_slot(v, flow, f->received), par->size,
			     f->received, full);
		bv_post_recv(v, flow, f->received + v->depth);
		f->received++;
		arrived++;
	}
	return arrived;
}

static void bv_pong_wait(struct bv *v, struct bench_pass *pass)
{
	struct ibv_wc wc[BV_POLL];

	while (!bv_reap(v, wc, bv_wait(v, wc, true), pass->full))
		;
}

static void bv_ping_client(struct bv *v, struct bench_pass *pass)
{
	uint64_t t, last = bench_now();
	uint32_t i;

	for (i = 0; i < pass->count; i++) {
		bv_send(v, 0, pass->full, !(v->flow[0].sent % BV_SIGNAL));
		bv_pong_wait(v, pass);
		t = bench_now();
		if (pass->laps)
			pass->laps[i] = t - last;
		last = t;
	}
}

static void bv_ping_server(struct bv *v, struct bench_pass *pass)
{
	uint32_t i;

	for (i = 0; i < pass->count; i++) {
		bv_pong_wait(v, pass);
		bv_send(v, 0, pass->full, !(v->flow[0].sent % BV_SIGNAL));
	}
}

/* READs; @window of them at a time, one for the latency. */
static void bv_read_client(struct bv *v, struct bench_pass *pass)
{
	unsigned int window = v->b->par.stream ? v->window : 1;
	struct bv_flow *f = &v->flow[0];
	uint64_t end = f->done + pass->count, t, last = bench_now();
	struct ibv_wc wc[BV_POLL];
	uint32_t lap = 0;

	while (f->done < end) {
		while (f->sent < end && f->sent - f->done < window)
			bv_read(v, 0);
		bv_reap(v, wc, bv_wait(v, wc, false), pass->full);
		t = bench_now();
		if (pass->laps)
			pass->laps[lap++] = t - last;
		last = t;
	}
}

/* Messages of a flow that may be posted now, up to @left. */
static unsigned int bv_room(const struct bv *v, unsigned int flow, uint64_t left)
{
	const struct bv_flow *f = &v->flow[flow];
	uint64_t room = v->depth - (f->sent - f->credited);

	if (room > v->window - (f->sent - f->done))
		room = v->window - (f->sent - f->done);
	return room < left ? room : left;
}

/* Which messages of a pass of @count belong to a flow. */
static uint32_t bv_share(const struct bv *v, unsigned int flow, uint32_t count)
{
	return count / v->b->par.flows + (flow < count % v->b->par.flows);
}

/* Post what may be posted of a flow whose last message is @end. */
static void bv_fill_window(struct bv *v, unsigned int flow, uint64_t end, bool full)
{
	unsigned int n, step = v->window > 4 ? v->window / 4 : 1;
	struct bv_flow *f = &v->flow[flow];

	for (n = bv_room(v, flow, end - f->sent); n; n--)
		bv_send(v, flow, full, f->sent % step == step - 1 ||
			f->sent + 1 == end);
}

static bool bv_sent_all(const struct bv *v, unsigned int flow, uint64_t end)
{
	return v->flow[flow].credited >= end && v->flow[flow].done >= end;
}

/* Only the flows of completions are looked at, however many there are. */
static void bv_stream_client(struct bv *v, struct bench_pass *pass)
{
	unsigned int flows = v->b->par.flows, flow, busy = 0;
	uint64_t end[BENCH_MAX_FLOWS];
	struct ibv_wc wc[BV_POLL];
	bool over;
	int n, i;

	for (flow = 0; flow < flows; flow++) {
		end[flow] = v->flow[flow].sent + bv_share(v, flow, pass->count);
		bv_fill_window(v, flow, end[flow], pass->full);
		busy += !bv_sent_all(v, flow, end[flow]);
	}
	while (busy) {
		n = bv_wait(v, wc, false);
		for (i = 0; i < n; i++) {
			flow = wc[i].wr_id & (BENCH_MAX_FLOWS - 1);
			over = bv_sent_all(v, flow, end[flow]);
			bv_reap(v, &wc[i], 1, pass->full);
			bv_fill_window(v, flow, end[flow], pass->full);
			busy -= !over && bv_sent_all(v, flow, end[flow]);
		}
	}
}

static void bv_stream_server(struct bv *v, struct bench_pass *pass)
{
	unsigned int flows = v->b->par.flows, flow, busy = 0;
	uint64_t end[BENCH_MAX_FLOWS];
	struct ibv_wc wc[BV_POLL];
	struct bv_flow *f;
	int n, i;

	for (flow = 0; flow < flows; flow++) {
		f = &v->flow[flow];
		end[flow] = f->received + bv_share(v, flow, pass->count);
		busy += f->received < end[flow];
	}
	while (busy) {
		n = bv_wait(v, wc, false);
		for (i = 0; i < n; i++) {
			flow = wc[i].wr_id & (BENCH_MAX_FLOWS - 1);
			f = &v->flow[flow];
			busy -= bv_reap(v, &wc[i], 1, pass->full) &&
				f->received == end[flow];
			if (f->received - f->told >= v->depth / 2 ||
			    (f->received == end[flow] && f->told < end[flow]))
				bv_credit(v, flow);
		}
	}
}

static void bv_client(struct bench *b, struct bench_pass *pass)
{
	struct bv *v = b->priv;

	if (b->par.kind == BENCH_READ)
		bv_read_client(v, pass);
	else if (b->par.stream)
		bv_stream_client(v, pass);
	else
		bv_ping_client(v, pass);
}

static void bv_server(struct bench *b, struct bench_pass *pass)
{
	struct bv *v = b->priv;

	/* READs need no work here. */
	if (b->par.kind == BENCH_READ)
		return;
	if (b->par.stream)
		bv_stream_server(v, pass);
	else
		bv_ping_server(v, pass);
}

const struct bench_ops bench_verbs_ops = {
	.setup = bv_setup,
	.client = bv_client,
	.server = bv_server,
};
