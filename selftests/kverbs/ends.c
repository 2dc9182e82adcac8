// SPDX-License-Identifier: GPL-2.0
/*
 * The ends of a connection, and what can be posted at them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/random.h>
#include <rdma/ib_cache.h>

#include "kverbs.h"

static const char *kv_name;	/* of the device that is wanted */
static struct ib_device *kv_found;

static int kv_client_add(struct ib_device *dev)
{
	if (!strcmp(dev_name(&dev->dev), kv_name) && ib_device_try_get(dev))
		kv_found = dev;
	return 0;
}

static void kv_client_remove(struct ib_device *dev, void *data)
{
}

static struct ib_client kv_client = {
	.name = "kverbs",
	.add = kv_client_add,
	.remove = kv_client_remove,
};

/* A client is shown all devices. */
static struct ib_device *kv_find(const char *name)
{
	int err;

	kv_name = name ?: "";
	kv_found = NULL;
	err = ib_register_client(&kv_client);
	if (err)
		return NULL;
	ib_unregister_client(&kv_client);
	return kv_found;
}

/**
 * kv_open - an end, not connected yet
 * @end: to be filled in
 * @name: RDMA device
 * @gid: index of its GID
 * @poll: where completions are handled
 *
 * Return: 0 or a negative error, and then nothing is left to be closed
 */
int kv_open(struct kv_end *end, const char *name, int gid,
	    enum ib_poll_context poll)
{
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = KV_DEPTH, .max_recv_wr = KV_DEPTH,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	int err;

	memset(end, 0, sizeof(*end));
	end->dev = kv_find(name);
	if (!end->dev)
		return -ENODEV;

	end->gid = rdma_get_gid_attr(end->dev, 1, gid);
	if (IS_ERR(end->gid)) {
		err = PTR_ERR(end->gid);
		end->gid = NULL;
		goto fail;
	}

	err = -ENOMEM;
	end->buf = (void *)__get_free_pages(GFP_KERNEL, get_order(KV_SIZE));
	if (!end->buf)
		goto fail;
	get_random_bytes(end->buf, KV_SIZE);

	end->pd = ib_alloc_pd(end->dev, 0);
	if (IS_ERR(end->pd)) {
		end->pd = NULL;
		goto fail;
	}

	sg_init_one(&end->sg, end->buf, KV_SIZE);
	if (ib_dma_map_sg(end->dev, &end->sg, 1, DMA_BIDIRECTIONAL) != 1)
		goto fail;
	end->dma = sg_dma_address(&end->sg);

	end->cq = ib_alloc_cq(end->dev, end, 4 * KV_DEPTH, 0, poll);
	if (IS_ERR(end->cq)) {
		end->cq = NULL;
		goto fail;
	}

	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	end->qp = ib_create_qp(end->pd, &init);
	if (IS_ERR(end->qp)) {
		end->qp = NULL;
		goto fail;
	}

	end->mr = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, KV_PAGES);
	if (IS_ERR(end->mr)) {
		end->mr = NULL;
		goto fail;
	}
	return 0;

fail:
	kv_close(end);
	return err;
}

/**
 * kv_close - undo kv_open()
 * @end: the end, as far as there is anything
 */
void kv_close(struct kv_end *end)
{
	if (end->connected)
		ib_drain_qp(end->qp);
	if (end->mr)
		ib_dereg_mr(end->mr);
	if (end->qp)
		ib_destroy_qp(end->qp);
	if (end->cq)
		ib_free_cq(end->cq);
	if (end->dma)
		ib_dma_unmap_sg(end->dev, &end->sg, 1, DMA_BIDIRECTIONAL);
	if (end->pd)
		ib_dealloc_pd(end->pd);
	free_pages((unsigned long)end->buf, get_order(KV_SIZE));
	if (end->gid)
		rdma_put_gid_attr(end->gid);
	if (end->dev)
		ib_device_put(end->dev);
	memset(end, 0, sizeof(*end));
}

/**
 * kv_connect - make a QP ready to send to another one
 * @end: its end
 * @peer: the other one's
 *
 * Return: 0 or a negative error
 */
int kv_connect(struct kv_end *end, const struct kv_end *peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT, .port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_WRITE,
	};
	int err;

	err = ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	end->connected = true;

	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_4096;
	attr.dest_qp_num = peer->qp->qp_num;
	attr.rq_psn = peer->qp->qp_num;
	attr.max_dest_rd_atomic = 4;
	attr.min_rnr_timer = 1;
	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_grh(&attr.ah_attr, (union ib_gid *)&peer->gid->gid, 0,
			end->gid->index, 64, 0);
	err = ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_AV |
			   IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;

	attr.qp_state = IB_QPS_RTS;
	attr.sq_psn = end->qp->qp_num;
	attr.max_rd_atomic = 4;
	/* None: a READ that is repeated after its memory was invalidated, as no
	 * ULP would have it, is an error.
	 */
	attr.timeout = 0;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	return ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

static void kv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_op *op = container_of(wc->wr_cqe, struct kv_op, cqe);

	op->wc = *wc;
	op->at = ktime_get();
	complete(&op->done);
}

/**
 * kv_op_init - prepare for something to be posted
 * @op: what shows how it ends
 */
void kv_op_init(struct kv_op *op)
{
	memset(op, 0, sizeof(*op));
	op->cqe.done = kv_done;
	init_completion(&op->done);
}

/**
 * kv_post - post a WR that is signaled
 * @end: where
 * @wr: the WR
 * @op: to be initialised
 *
 * Return: 0 or a negative error
 */
int kv_post(struct kv_end *end, struct ib_send_wr *wr, struct kv_op *op)
{
	kv_op_init(op);
	wr->wr_cqe = &op->cqe;
	wr->send_flags |= IB_SEND_SIGNALED;
	return ib_post_send(end->qp, wr, NULL);
}

/**
 * kv_send - post a SEND
 * @end: where
 * @op: to be initialised
 * @lkey: key of the memory
 * @addr: its address for that key
 * @len: length
 * @invalidate: rkey for the peer to invalidate, or 0
 *
 * Return: 0 or a negative error
 */
int kv_send(struct kv_end *end, struct kv_op *op, u32 lkey, u64 addr,
	    u32 len, u32 invalidate)
{
	struct ib_sge sge = { .addr = addr, .length = len, .lkey = lkey };
	struct ib_send_wr wr = {
		.sg_list = &sge, .num_sge = 1,
		.opcode = invalidate ? IB_WR_SEND_WITH_INV : IB_WR_SEND,
		.ex.invalidate_rkey = invalidate,
	};

	return kv_post(end, &wr, op);
}

/**
 * kv_recv - post a receive, at the beginning of the buffer
 * @end: where
 * @op: to be initialised
 * @len: length
 *
 * Return: 0 or a negative error
 */
int kv_recv(struct kv_end *end, struct kv_op *op, u32 len)
{
	struct ib_sge sge = {
		.addr = end->dma, .length = len, .lkey = end->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	kv_op_init(op);
	wr.wr_cqe = &op->cqe;
	return ib_post_recv(end->qp, &wr, NULL);
}

/**
 * kv_read - post a READ of the peer's MR, into the buffer
 * @end: where
 * @op: to be initialised
 * @from: the peer
 * @len: length
 *
 * Return: 0 or a negative error
 */
int kv_read(struct kv_end *end, struct kv_op *op, const struct kv_end *from,
	    u32 len)
{
	struct ib_sge sge = {
		.addr = end->dma, .length = len, .lkey = end->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = { .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_READ },
		.remote_addr = from->mr->iova, .rkey = from->mr->rkey,
	};

	return kv_post(end, &wr.wr, op);
}

/**
 * kv_register - register the MR, with a new key
 * @end: its end
 * @op: to be initialised
 *
 * Return: 0 or a negative error
 */
int kv_register(struct kv_end *end, struct kv_op *op)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR, .mr = end->mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ,
	};
	int n;

	n = ib_map_mr_sg(end->mr, &end->sg, 1, NULL, PAGE_SIZE);
	if (n != 1)
		return n < 0 ? n : -EINVAL;

	ib_update_fast_reg_key(end->mr, ib_inc_rkey(end->mr->rkey));
	wr.key = end->mr->rkey;
	return kv_post(end, &wr.wr, op);
}

/**
 * kv_invalidate - post a LOCAL_INV
 * @end: where
 * @op: to be initialised
 * @rkey: of the MR
 *
 * Return: 0 or a negative error
 */
int kv_invalidate(struct kv_end *end, struct kv_op *op, u32 rkey)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = rkey,
	};

	return kv_post(end, &wr, op);
}

/**
 * kv_wait - wait for a completion
 * @op: of what
 * @want: how it has to end
 * @what: for the message if it does not
 *
 * Return: 0, -ETIMEDOUT or -EIO
 */
int kv_wait(struct kv_op *op, enum ib_wc_status want, const char *what)
{
	if (!wait_for_completion_timeout(&op->done, KV_WAIT)) {
		pr_info("%s: no completion\n", what);
		return -ETIMEDOUT;
	}
	if (op->wc.status == want)
		return 0;

	pr_info("%s: %s, should be %s\n", what, ib_wc_status_msg(op->wc.status),
		ib_wc_status_msg(want));
	return -EIO;
}
