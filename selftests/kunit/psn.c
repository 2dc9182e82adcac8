// SPDX-License-Identifier: GPL-2.0
/*
 * PSN arithmetic of the patched rxe: comparisons where numbers wrap, and packets
 * that stand for several. What is tested is rxe_recv.c, without the rest of rxe.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "rxe_recv.c"
#include "rxe_opcode.c"

/* --- what rxe_recv.c calls and is not tested ------------------------------- */

static unsigned int requests, responses;

void rxe_resp_queue_pkt(struct rxe_qp *qp, struct sk_buff *skb)
{
	requests++;
}

void rxe_comp_queue_pkt(struct rxe_qp *qp, struct sk_buff *skb)
{
	responses++;
}

int rxe_icrc_check(struct sk_buff *skb, struct rxe_pkt_info *pkt)
{
	return 0;
}

int rxe_mr_copy(struct rxe_mr *mr, u64 iova, void *addr, unsigned int length,
		enum rxe_mr_copy_dir dir)
{
	return -EINVAL;
}

int copy_data(struct rxe_pd *pd, int access, struct rxe_dma_info *dma,
	      void *addr, int length, enum rxe_mr_copy_dir dir)
{
	return -EINVAL;
}

void *rxe_pool_get_index(struct rxe_pool *pool, u32 index)
{
	return NULL;
}

int __rxe_get(struct rxe_pool_elem *elem)
{
	return 1;
}

int __rxe_put(struct rxe_pool_elem *elem)
{
	return 1;
}

struct rxe_mcg *rxe_lookup_mcg(struct rxe_dev *rxe, union ib_gid *mgid)
{
	return NULL;
}

void rxe_cleanup_mcg(struct kref *kref)
{
}

/* --- tests ----------------------------------------------------------------- */

#define MTU	1024U

struct ends {
	struct rxe_dev rxe;
	struct rxe_qp qp;
	struct rxe_pkt_info pkt;
	u8 hdr[128];
};

static struct ends *ends_of(struct kunit *test)
{
	struct ends *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, e);
	refcount_set(&e->rxe.ib_dev.refcount, 1);
	e->qp.ibqp.device = &e->rxe.ib_dev;
	e->qp.ibqp.qp_type = IB_QPT_RC;
	e->qp.mtu = MTU;
	skb_queue_head_init(&e->qp.req_pkts);
	skb_queue_head_init(&e->qp.resp_pkts);
	e->pkt.rxe = &e->rxe;
	e->pkt.qp = &e->qp;
	e->pkt.hdr = e->hdr;
	return e;
}

static void set_payload(struct rxe_pkt_info *pkt, u8 opcode, unsigned int payload,
			u8 npsn)
{
	pkt->opcode = opcode;
	pkt->mask = rxe_opcode[opcode].mask;
	pkt->npsn = npsn;
	pkt->paylen = payload_offset(pkt) + payload + RXE_ICRC_SIZE;
}

static void comparison(struct kunit *test)
{
	static const u32 at[] = {
		0, 1, 1000, 0x7fffff, 0x800000, 0xfffffe, 0xffffff
	};
	unsigned int i;
	u32 psn;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		psn = at[i];
		KUNIT_EXPECT_EQ(test, psn_compare(psn, psn), 0);
		KUNIT_EXPECT_GT(test, psn_compare((psn + 1) & BTH_PSN_MASK, psn), 0);
		KUNIT_EXPECT_LT(test, psn_compare(psn, (psn + 1) & BTH_PSN_MASK), 0);
		KUNIT_EXPECT_GT(test, psn_compare((psn + 0x7fffff) & BTH_PSN_MASK,
						  psn), 0);
		KUNIT_EXPECT_LT(test, psn_compare((psn + 0x800001) & BTH_PSN_MASK,
						  psn), 0);
	}
}

static void last_psn(struct kunit *test)
{
	struct rxe_pkt_info pkt = { };
	u32 first;

	for (pkt.npsn = 1; pkt.npsn <= ROCE_LINK_MAX_NPSN; pkt.npsn++) {
		for (first = 0xffffe0; first <= 0xffffff; first++) {
			pkt.psn = first;
			KUNIT_EXPECT_EQ(test, pkt_last_psn(&pkt),
					(first + pkt.npsn - 1) % (1 << 24));
			/* it is the last one and not the one after it */
			KUNIT_EXPECT_EQ(test, psn_compare(pkt_last_psn(&pkt),
							  pkt.psn) >> 8,
					pkt.npsn - 1);
		}
	}
}

struct npsn_case {
	const char *name;
	u8 opcode;
	unsigned int payload;
	u8 npsn;
	int err;
	u8 becomes;
};

#define TOLD(op, bytes, n, e, b) \
	{ #op ": " #bytes " as " #n, IB_OPCODE_ ## op, bytes, n, e, b }

/* 1 is what a request becomes that the responder will refuse for its length. */
static const struct npsn_case npsn_cases[] = {
	TOLD(RC_RDMA_WRITE_MIDDLE, 2 * MTU, 2, 0, 2),
	TOLD(RC_RDMA_WRITE_MIDDLE, 15 * MTU, 15, 0, 15),
	TOLD(RC_RDMA_WRITE_MIDDLE, 16 * MTU, 16, 0, 1),
	TOLD(RC_RDMA_WRITE_MIDDLE, 2 * MTU - 1, 2, 0, 1),
	TOLD(RC_RDMA_WRITE_MIDDLE, 2 * MTU + 1, 3, 0, 1),
	TOLD(RC_RDMA_WRITE_FIRST, 3 * MTU, 3, 0, 3),
	TOLD(RC_RDMA_WRITE_LAST, MTU + 1, 2, 0, 2),
	TOLD(RC_RDMA_WRITE_LAST, 2 * MTU, 2, 0, 2),
	TOLD(RC_RDMA_WRITE_LAST, 2 * MTU + 1, 2, 0, 1),
	TOLD(RC_RDMA_WRITE_LAST, MTU, 2, 0, 1),
	TOLD(RC_RDMA_WRITE_ONLY, 15 * MTU, 15, 0, 15),
	TOLD(RC_RDMA_WRITE_ONLY, 14 * MTU + 1, 15, 0, 15),
	TOLD(RC_RDMA_WRITE_ONLY, 100, 255, 0, 1),
	TOLD(RC_RDMA_WRITE_ONLY, 0, 2, 0, 1),
	TOLD(RC_SEND_FIRST, 2 * MTU, 3, 0, 1),
	TOLD(RC_SEND_ONLY, 1500, 2, 0, 2),
	TOLD(RC_RDMA_READ_RESPONSE_MIDDLE, 5 * MTU, 5, 0, 5),
	TOLD(RC_RDMA_READ_RESPONSE_MIDDLE, 5 * MTU, 4, -EINVAL, 1),
	TOLD(RC_RDMA_READ_RESPONSE_LAST, 4 * MTU + 1, 5, 0, 5),
	TOLD(RC_RDMA_READ_RESPONSE_ONLY, 16 * MTU, 16, -EINVAL, 1),
	/* what cannot stand for several */
	TOLD(RC_RDMA_READ_REQUEST, 0, 2, -EINVAL, 2),
	TOLD(RC_ACKNOWLEDGE, 0, 2, -EINVAL, 2),
	TOLD(RC_COMPARE_SWAP, 0, 2, -EINVAL, 2),
	TOLD(RC_ATOMIC_WRITE, 8, 2, -EINVAL, 2),
};

static void told_npsn(struct kunit *test)
{
	const struct npsn_case *c = test->param_value;
	struct ends *e = ends_of(test);

	set_payload(&e->pkt, c->opcode, c->payload, c->npsn);
	KUNIT_ASSERT_EQ(test, payload_size(&e->pkt), c->payload);
	KUNIT_EXPECT_EQ(test, check_npsn(&e->pkt), c->err);
	KUNIT_EXPECT_EQ(test, e->pkt.npsn, c->becomes);
}

static void wrong_qp(struct kunit *test)
{
	struct ends *e = ends_of(test);

	set_payload(&e->pkt, IB_OPCODE_RC_SEND_ONLY, 2 * MTU, 2);
	KUNIT_EXPECT_EQ(test, check_npsn(&e->pkt), 0);
	e->qp.ibqp.qp_type = IB_QPT_UC;
	KUNIT_EXPECT_EQ(test, check_npsn(&e->pkt), 0);
	e->qp.ibqp.qp_type = IB_QPT_UD;
	KUNIT_EXPECT_EQ(test, check_npsn(&e->pkt), -EINVAL);
	e->qp.ibqp.qp_type = IB_QPT_GSI;
	KUNIT_EXPECT_EQ(test, check_npsn(&e->pkt), -EINVAL);
	/* multicast */
	e->pkt.qp = NULL;
	KUNIT_EXPECT_EQ(test, check_npsn(&e->pkt), -EINVAL);
}

/* A peer cannot have more than so many PSNs wait here. */
static void queued(struct kunit *test)
{
	struct sk_buff *skbs[RXE_MAX_QUEUED_PSNS / 15 + 2];
	unsigned int i, n = 0, most = RXE_MAX_QUEUED_PSNS / 15;
	struct ends *e = ends_of(test);
	struct rxe_pkt_info *pkt;

	requests = 0;
	for (i = 0; i < ARRAY_SIZE(skbs); i++) {
		struct sk_buff *skb = alloc_skb(64, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, skb);
		pkt = SKB_TO_PKT(skb);
		*pkt = e->pkt;
		set_payload(pkt, IB_OPCODE_RC_RDMA_WRITE_MIDDLE, 15 * MTU, 15);
		refcount_inc(&e->rxe.ib_dev.refcount);
		rxe_rcv_pkt(pkt, skb);
		if (requests > n)
			skbs[n++] = skb;
	}
	KUNIT_EXPECT_EQ(test, n, most);
	KUNIT_EXPECT_EQ(test, atomic_read(&e->qp.queued_psns), most * 15);
	for (i = 0; i < n; i++)
		rxe_free_rcvd(&e->qp, skbs[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&e->qp.queued_psns), 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&e->rxe.ib_dev.refcount), 1);
}

KUNIT_ARRAY_PARAM_DESC(npsn, npsn_cases, name);

static struct kunit_case psn_cases[] = {
	KUNIT_CASE(comparison),
	KUNIT_CASE(last_psn),
	KUNIT_CASE_PARAM(told_npsn, npsn_gen_params),
	KUNIT_CASE(wrong_qp),
	KUNIT_CASE(queued),
	{ }
};

static struct kunit_suite psn_suite = {
	.name = "rxe_psn",
	.test_cases = psn_cases,
};

kunit_test_suite(psn_suite);

MODULE_DESCRIPTION("Unit tests of the PSNs of rxe");
MODULE_LICENSE("GPL");
