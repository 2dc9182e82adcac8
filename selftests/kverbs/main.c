// SPDX-License-Identifier: GPL-2.0
/*
 * A user of RDMA in the kernel, for tests of rdma_rxe:
 *
 *	insmod kverbs.ko a=rxe0 a_gid=1 b=rxe1 b_gid=1 case=local_inv [hold=MS]
 *
 * runs the case between the two devices, and can be loaded if all was as it should
 * be. If not the kernel's log says why.
 *
 *	data		SENDs and READs from both kinds of memory regions, verified
 *	local_inv	LOCAL_INV of an MR that READ responses are sent from
 *	send_inv	the same, invalidated by the peer with a SEND
 *	drain		ib_drain_qp() meanwhile
 *	locks		work posted under locks that the completion handlers take too
 *	other_pd	MRs of another PD are not invalidated: not by a SEND of the
 *			peer, and not by a LOCAL_INV
 *
 * "hold" says that whoever runs this has the next large packet of A held back for
 * so long, and what depends on it must not take less.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/random.h>

#include "kverbs.h"

#define KV_ROUNDS	500
#define KV_SLACK	1000	/* ms */

static char *a;
module_param(a, charp, 0444);
MODULE_PARM_DESC(a, "RDMA device of A");
static char *b;
module_param(b, charp, 0444);
MODULE_PARM_DESC(b, "RDMA device of B");
static int a_gid;
module_param(a_gid, int, 0444);
MODULE_PARM_DESC(a_gid, "index of A's GID");
static int b_gid;
module_param(b_gid, int, 0444);
MODULE_PARM_DESC(b_gid, "index of B's GID");
static char *kv_case = "data";
module_param_named(case, kv_case, charp, 0444);
MODULE_PARM_DESC(case, "what to do");
static unsigned int hold;
module_param(hold, uint, 0444);
MODULE_PARM_DESC(hold, "milliseconds that A's ring is held");

/* what may be under way, which must not end with the function that posts it */
static struct kv_op kv_ops[4];

/* Nothing that has to wait for the ring is done before it has been held. */
static int kv_took(ktime_t start, const struct kv_op *op, const char *what)
{
	s64 ms = ktime_ms_delta(op->at, start);

	pr_info("%s: %lld ms\n", what, ms);
	if (ms >= hold * 9 / 10 && ms <= hold + KV_SLACK)
		return 0;

	pr_info("%s: %lld ms, should be %u to %u\n", what, ms, hold * 9 / 10,
		hold + KV_SLACK);
	return -ETIME;
}

static int kv_same(const struct kv_end *from, const struct kv_end *to, u32 len,
		   const char *what)
{
	if (!memcmp(from->buf, to->buf, len))
		return 0;
	pr_info("%s of %u bytes: not what was sent\n", what, len);
	return -EBADMSG;
}

static int kv_register_wait(struct kv_end *end)
{
	struct kv_op *op = &kv_ops[3];

	return kv_register(end, op) ?: kv_wait(op, IB_WC_SUCCESS, "register");
}

/* One message of A with the memory region that @lkey says, one of B's READs */
static int kv_exchange(struct kv_end *x, struct kv_end *y, u32 len, bool fast)
{
	struct kv_op *send = &kv_ops[0], *recv = &kv_ops[1], *read = &kv_ops[2];
	u32 lkey = fast ? x->mr->lkey : x->pd->local_dma_lkey;
	u64 addr = fast ? x->mr->iova : x->dma;

	get_random_bytes(x->buf, len);
	return kv_recv(y, recv, KV_SIZE) ?:
	       kv_send(x, send, lkey, addr, len, 0) ?:
	       kv_wait(send, IB_WC_SUCCESS, "send") ?:
	       kv_wait(recv, IB_WC_SUCCESS, "receive") ?:
	       kv_same(x, y, len, "SEND") ?:
	       (memset(y->buf, 0, len), 0) ?:
	       kv_read(y, read, x, len) ?:
	       kv_wait(read, IB_WC_SUCCESS, "read") ?:
	       kv_same(x, y, len, "READ");
}

static int kv_data(struct kv_end *x, struct kv_end *y)
{
	static const u32 sizes[] = {
		1, 64, 2047, 2048, 4095, 4096, 4097, 61440, 61441, 65535, KV_SIZE,
	};
	int i, err;

	err = kv_register_wait(x);
	for (i = 0; !err && i < 2 * ARRAY_SIZE(sizes); i++)
		err = kv_exchange(x, y, sizes[i / 2], i & 1);
	return err;
}

/* Whoever invalidates an MR gets its memory back. So must wait: READ responses
 * from it are in the ring. And then nobody reads it any more.
 */
static int kv_local_inv(struct kv_end *x, struct kv_end *y)
{
	struct kv_op *read = &kv_ops[0], *inv = &kv_ops[1], *late = &kv_ops[2];
	ktime_t start = ktime_get();
	int err;

	err = kv_register_wait(x) ?: kv_read(y, read, x, KV_SIZE);
	if (err)
		return err;
	msleep(20);

	return kv_invalidate(x, inv, x->mr->rkey) ?:
	       kv_wait(inv, IB_WC_SUCCESS, "LOCAL_INV") ?:
	       kv_took(start, inv, "LOCAL_INV") ?:
	       kv_wait(read, IB_WC_SUCCESS, "read") ?:
	       kv_same(x, y, KV_SIZE, "READ") ?:
	       kv_read(y, late, x, KV_SIZE) ?:
	       kv_wait(late, IB_WC_REM_ACCESS_ERR, "READ afterwards");
}

static int kv_send_inv(struct kv_end *x, struct kv_end *y)
{
	struct kv_op *read = &kv_ops[0], *recv = &kv_ops[1], *send = &kv_ops[2];
	ktime_t start = ktime_get();
	u32 rkey;
	int err;

	err = kv_register_wait(x) ?: kv_read(y, read, x, KV_SIZE);
	if (err)
		return err;
	rkey = x->mr->rkey;
	/* where the data is that is being read, of which no byte may change */
	err = kv_recv(x, recv, 0) ?: kv_send(y, send, 0, 0, 0, rkey) ?:
	      kv_wait(recv, IB_WC_SUCCESS, "receive") ?:
	      kv_took(start, recv, "SEND_WITH_INV");
	if (err)
		return err;
	if (!(recv->wc.wc_flags & IB_WC_WITH_INVALIDATE) ||
	    recv->wc.ex.invalidate_rkey != rkey) {
		pr_info("%#x was not invalidated\n", rkey);
		return -EINVAL;
	}

	return kv_wait(send, IB_WC_SUCCESS, "SEND_WITH_INV") ?:
	       kv_wait(read, IB_WC_SUCCESS, "read") ?:
	       kv_same(x, y, KV_SIZE, "READ") ?:
	       kv_read(y, read, x, KV_SIZE) ?:
	       kv_wait(read, IB_WC_REM_ACCESS_ERR, "READ afterwards");
}

/* Z is on A's device, W on B's. Each has a PD of its own. */
static int kv_foreign(struct kv_end *x, struct kv_end *y, struct kv_end *z,
		      struct kv_end *w)
{
	struct kv_op *recv = &kv_ops[0], *send = &kv_ops[1], *inv = &kv_ops[2];

	return kv_connect(z, w) ?: kv_connect(w, z) ?:
	       kv_register_wait(y) ?: kv_register_wait(z) ?:
	       kv_recv(x, recv, 0) ?: kv_send(y, send, 0, 0, 0, z->mr->rkey) ?:
	       kv_wait(recv, IB_WC_REM_INV_REQ_ERR, "SEND_WITH_INV") ?:
	       /* the MR is as it was */
	       kv_read(w, recv, z, KV_SIZE) ?:
	       kv_wait(recv, IB_WC_SUCCESS, "READ") ?:
	       kv_same(z, w, KV_SIZE, "READ") ?:
	       kv_invalidate(w, inv, y->mr->rkey) ?:
	       kv_wait(inv, IB_WC_LOC_QP_OP_ERR, "LOCAL_INV");
}

static int kv_other_pd(struct kv_end *x, struct kv_end *y)
{
	struct kv_end z, w;
	int err;

	err = kv_open(&z, a, a_gid, IB_POLL_SOFTIRQ);
	if (err)
		return err;
	err = kv_open(&w, b, b_gid, IB_POLL_SOFTIRQ);
	if (!err)
		err = kv_foreign(x, y, &z, &w);

	kv_close(&w);
	kv_close(&z);
	return err;
}

static int kv_drain(struct kv_end *x, struct kv_end *y)
{
	struct kv_op *read = &kv_ops[0], *drained = &kv_ops[1];
	ktime_t start = ktime_get();
	int err;

	err = kv_register_wait(x) ?: kv_read(y, read, x, KV_SIZE);
	if (err)
		return err;
	msleep(20);

	ib_drain_qp(x->qp);
	drained->at = ktime_get();
	return kv_took(start, drained, "drain");
}

/* --- locks ---------------------------------------------------------------- */

/* A ULP that takes a lock wherever it posts and in its handlers */
struct kv_ulp {
	struct kv_end *end;
	spinlock_t lock;	/* everything here, and held while posting */
	struct ib_cqe sent;
	struct ib_cqe received;
	bool irqs_off;
	bool asks;
	unsigned int rounds;
	u32 len;
	int err;
	struct completion done;
};

static struct kv_ulp kv_ulps[2];

static void kv_ulp_lock(struct kv_ulp *ulp, unsigned long *flags)
{
	if (ulp->irqs_off)
		spin_lock_irqsave(&ulp->lock, *flags);
	else
		spin_lock_bh(&ulp->lock);
}

static void kv_ulp_unlock(struct kv_ulp *ulp, unsigned long flags)
{
	if (ulp->irqs_off)
		spin_unlock_irqrestore(&ulp->lock, flags);
	else
		spin_unlock_bh(&ulp->lock);
}

/* Under the lock */
static int kv_ulp_recv(struct kv_ulp *ulp)
{
	struct ib_sge sge = {
		.addr = ulp->end->dma, .length = KV_SIZE,
		.lkey = ulp->end->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &ulp->received, .sg_list = &sge, .num_sge = 1,
	};

	return ib_post_recv(ulp->end->qp, &wr, NULL);
}

/* Under the lock */
static int kv_ulp_send(struct kv_ulp *ulp)
{
	struct ib_sge sge = {
		.addr = ulp->end->dma, .length = ulp->len,
		.lkey = ulp->end->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &ulp->sent, .sg_list = &sge, .num_sge = 1,
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
	};

	return ib_post_send(ulp->end->qp, &wr, NULL);
}

static void kv_ulp_end(struct kv_ulp *ulp, int err)
{
	ulp->err = err;
	complete(&ulp->done);
}

static void kv_ulp_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_ulp *ulp = container_of(wc->wr_cqe, struct kv_ulp, sent);
	unsigned long flags = 0;

	kv_ulp_lock(ulp, &flags);
	if (wc->status != IB_WC_SUCCESS && wc->status != IB_WC_WR_FLUSH_ERR)
		kv_ulp_end(ulp, -EIO);
	kv_ulp_unlock(ulp, flags);
}

static void kv_ulp_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_ulp *ulp = container_of(wc->wr_cqe, struct kv_ulp, received);
	unsigned long flags = 0;
	int err = 0;

	if (wc->status == IB_WC_WR_FLUSH_ERR)
		return;

	kv_ulp_lock(ulp, &flags);
	if (wc->status != IB_WC_SUCCESS || wc->byte_len != ulp->len)
		err = -EIO;
	ulp->rounds++;
	err = err ?: kv_ulp_recv(ulp);
	if (!err && (!ulp->asks || ulp->rounds < KV_ROUNDS))
		err = kv_ulp_send(ulp);
	if (err || ulp->rounds == KV_ROUNDS)
		kv_ulp_end(ulp, err);
	kv_ulp_unlock(ulp, flags);
}

static void kv_ulp_init(struct kv_ulp *ulp, struct kv_end *end, u32 len,
			bool irqs_off, bool asks)
{
	memset(ulp, 0, sizeof(*ulp));
	ulp->end = end;
	spin_lock_init(&ulp->lock);
	ulp->sent.done = kv_ulp_sent;
	ulp->received.done = kv_ulp_received;
	ulp->irqs_off = irqs_off;
	ulp->asks = asks;
	ulp->len = len;
	init_completion(&ulp->done);
}

static int kv_locks(struct kv_end *x, struct kv_end *y, u32 len, bool irqs_off)
{
	struct kv_ulp *ulp = &kv_ulps[0];
	unsigned long flags = 0;
	int i, err;

	kv_ulp_init(&kv_ulps[0], x, len, irqs_off, true);
	kv_ulp_init(&kv_ulps[1], y, len, irqs_off, false);
	err = kv_ulp_recv(&kv_ulps[0]) ?: kv_ulp_recv(&kv_ulps[1]);
	if (err)
		return err;

	kv_ulp_lock(ulp, &flags);
	err = kv_ulp_send(ulp);
	kv_ulp_unlock(ulp, flags);

	for (i = 0; !err && i < ARRAY_SIZE(kv_ulps); i++) {
		if (!wait_for_completion_timeout(&kv_ulps[i].done, KV_WAIT))
			err = -ETIMEDOUT;
		else
			err = kv_ulps[i].err;
	}
	pr_info("locks, interrupts %s, %u bytes: %u rounds, err %d\n",
		irqs_off ? "off" : "on", len, ulp->rounds, err);
	return err;
}

static int kv_locks_irq(struct kv_end *x, struct kv_end *y)
{
	return kv_locks(x, y, 64, true);
}

static int kv_locks_bh(struct kv_end *x, struct kv_end *y)
{
	return kv_locks(x, y, 64, false);
}

static int kv_locks_large(struct kv_end *x, struct kv_end *y)
{
	return kv_locks(x, y, 8192, false);
}

/* --- cases ---------------------------------------------------------------- */

static int kv_run(int (*func)(struct kv_end *, struct kv_end *),
		  enum ib_poll_context poll)
{
	struct kv_end x, y;
	int err;

	err = kv_open(&x, a, a_gid, poll);
	if (err)
		return err;
	err = kv_open(&y, b, b_gid, poll);
	if (!err)
		err = kv_connect(&x, &y) ?: kv_connect(&y, &x) ?: func(&x, &y);

	kv_close(&y);
	kv_close(&x);
	return err;
}

static const struct {
	const char *name;
	int (*func)(struct kv_end *x, struct kv_end *y);
} kv_cases[] = {
	{ "data", kv_data },
	{ "local_inv", kv_local_inv },
	{ "send_inv", kv_send_inv },
	{ "drain", kv_drain },
	{ "other_pd", kv_other_pd },
	{ "locks", kv_locks_irq },
	{ "locks", kv_locks_bh },
	{ "locks", kv_locks_large },
};

/* Where completions are handled matters to what is not about time. */
static int __init kv_init(void)
{
	int i, err = -ENOENT;

	for (i = 0; i < ARRAY_SIZE(kv_cases); i++) {
		if (strcmp(kv_case, kv_cases[i].name))
			continue;
		err = kv_run(kv_cases[i].func, IB_POLL_SOFTIRQ);
		if (!err && !hold)
			err = kv_run(kv_cases[i].func, IB_POLL_WORKQUEUE);
		if (err)
			break;
	}
	pr_info("%s: %s, %d\n", kv_case, err ? "failed" : "passed", err);
	return err;
}
module_init(kv_init);

static void __exit kv_exit(void)
{
}
module_exit(kv_exit);

MODULE_DESCRIPTION("User of RDMA in the kernel, for tests");
MODULE_LICENSE("GPL");
