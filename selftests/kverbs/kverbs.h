/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVERBS_H
#define KVERBS_H

#include <linux/completion.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#define KV_SIZE		65536
#define KV_PAGES	(KV_SIZE / PAGE_SIZE)
#define KV_DEPTH	32
#define KV_WAIT		(10 * HZ)

/**
 * struct kv_op - something that completes
 * @cqe: its handler
 * @done: it has
 * @wc: how
 * @at: and when
 */
struct kv_op {
	struct ib_cqe cqe;
	struct completion done;
	struct ib_wc wc;
	ktime_t at;
};

/**
 * struct kv_end - one end of an RC connection
 * @dev: device, with a reference
 * @gid: its GID, with a reference
 * @pd: protection domain
 * @cq: one completion queue for all
 * @qp: queue pair
 * @connected: it has left the state in which it cannot be drained
 * @mr: MR for fast registration, of all of @buf
 * @buf: memory
 * @dma: its DMA address
 * @sg: the same
 */
struct kv_end {
	struct ib_device *dev;
	const struct ib_gid_attr *gid;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	bool connected;
	struct ib_mr *mr;
	void *buf;
	u64 dma;
	struct scatterlist sg;
};

int kv_open(struct kv_end *end, const char *name, int gid,
	    enum ib_poll_context poll);
void kv_close(struct kv_end *end);
int kv_connect(struct kv_end *end, const struct kv_end *peer);

void kv_op_init(struct kv_op *op);
int kv_post(struct kv_end *end, struct ib_send_wr *wr, struct kv_op *op);
int kv_send(struct kv_end *end, struct kv_op *op, u32 lkey, u64 addr,
	    u32 len, u32 invalidate);
int kv_recv(struct kv_end *end, struct kv_op *op, u32 len);
int kv_read(struct kv_end *end, struct kv_op *op, const struct kv_end *from,
	    u32 len);
int kv_register(struct kv_end *end, struct kv_op *op);
int kv_invalidate(struct kv_end *end, struct kv_op *op, u32 rkey);
int kv_wait(struct kv_op *op, enum ib_wc_status want, const char *what);

#endif /* KVERBS_H */
