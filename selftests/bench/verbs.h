/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the verbs workloads share. */
#ifndef BENCH_VERBS_H
#define BENCH_VERBS_H

#include <infiniband/verbs.h>

#include "bench.h"

#define BV_INLINE	64
/* Under way at most, of all queue pairs together: bytes, messages. */
#define BV_BYTES	(4u << 20)
#define BV_MESSAGES	256
/* Receives for credits, which carry no data. */
#define BV_CREDITS	16
/* Of one of many queue pairs at least */
#define BV_DEPTH	64

/* Both ways: where it goes. */
struct bv_addr {
	union ibv_gid gid;
	uint64_t src;
	uint64_t dst;
	uint32_t src_rkey;
	uint32_t dst_rkey;
	uint32_t qpn[BENCH_MAX_FLOWS];
};

/**
 * struct bv_flow - a queue pair
 * @qp: the queue pair
 * @sent: messages posted
 * @done: messages known to be complete
 * @received: messages received
 * @credited: what the peer has told of its @received
 * @told: what the peer was told of @received
 */
struct bv_flow {
	struct ibv_qp *qp;
	uint64_t sent;
	uint64_t done;
	uint64_t received;
	uint64_t credited;
	uint64_t told;
};

/**
 * struct bv - the verbs workloads
 * @b: the workload and its peer
 * @ctx: the device
 * @pd: protection domain
 * @chan: where the process sleeps
 * @cq: completions of all flows
 * @src_mr: registration of @src
 * @dst_mr: registration of @dst
 * @window: messages of a flow on their way
 * @depth: receives of a flow, slots of a flow in the buffers
 * @src: messages to send, @depth slots for each flow
 * @dst: messages received, likewise
 * @events: events got from @chan that are not acknowledged yet
 * @self: our addresses
 * @peer: the peer's
 * @flow: the queue pairs
 */
struct bv {
	struct bench *b;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_mr *src_mr, *dst_mr;
	char *src, *dst;
	unsigned int window;
	unsigned int depth;
	unsigned int events;
	struct bv_addr self, peer;
	struct bv_flow flow[BENCH_MAX_FLOWS];
};

/* verbs_setup.c */
void bv_setup(struct bench *b);

/* verbs.c */
void bv_post_recv(struct bv *v, unsigned int flow, uint64_t slot);

/* Slot of message @seq of a flow, as an offset into a buffer. */
static inline size_t bv_slot(const struct bv *v, unsigned int flow, uint64_t seq)
{
	return ((size_t)flow * v->depth + seq % v->depth) * v->b->par.size;
}

#endif
