// SPDX-License-Identifier: GPL-2.0
/*
 * Receive side: frames become packets.
 *
 * BODY frames are collected until the HEAD frame behind them says what they are, and
 * proves by its number that they are all.
 *
 * Buffers are pieces of a pool's pages. What a HEAD or CONTROL frame holds is
 * copied, as a rule, and its buffer goes back to the ring. The buffer of a BODY
 * frame becomes part of the packet, but only after another one has been found to
 * take its place: so the ring is always full, and a frame that the peer may send
 * always finds a buffer.
 *
 * A page has eight buffers, and they are posted one after the other. So what
 * comes in BODY frames that follow each other is in one piece of memory for the
 * most part, and makes a few large fragments of a packet instead of many small
 * ones.
 *
 * Buffers are posted one by one, and the ring is told of them once for a batch,
 * of which a part may wait for the next poll. The peer must not hear of a buffer
 * before the ring has.
 */
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/vmalloc.h>
#include <net/page_pool/helpers.h>

#include "trace.h"
#include "u4n.h"

static_assert(U4N_MAX_BODIES <= MAX_SKB_FRAGS);
static_assert(U4N_FRAME_SIZE <= PAGE_SIZE);

#define U4N_RX_GFP	(GFP_ATOMIC | __GFP_NOWARN)
#define U4N_RX_ORDER	get_order(8 * U4N_FRAME_SIZE)

static void u4n_rx_drop(struct u4n_link *l, enum u4n_drop why)
{
	u64_stats_update_begin(&l->rx.syncp);
	u64_stats_inc(&l->rx.drops[why]);
	u64_stats_update_end(&l->rx.syncp);
}

/**
 * u4n_rx_broken - the peer has broken the rules of flow control
 * @l: the link
 *
 * Neither side knows any more what the other has room for: begin anew.
 */
void u4n_rx_broken(struct u4n_link *l)
{
	if (l->rx.stopped)
		return;
	l->rx.stopped = true;
	u4n_rx_count(l, U4N_RX_PROTO_ERRORS, 1);
	u4n_hs_end(l, U4N_WHY_PROTOCOL);
}

static struct page_pool *u4n_rx_pool(const struct u4n_link *l,
				     const struct u4n_rx_buf *buf)
{
	return buf->single ? l->rx.small : l->rx.pool;
}

/* What the hardware has written to the buffer is ours now */
static void u4n_rx_sync(const struct u4n_link *l, const struct u4n_rx_buf *buf,
			unsigned int size)
{
	page_pool_dma_sync_for_cpu(u4n_rx_pool(l, buf), buf->page, buf->offset,
				   size);
}

/* The buffer is not in use any more. @napi: said by NAPI */
static void u4n_rx_put(const struct u4n_link *l, const struct u4n_rx_buf *buf,
		       bool napi)
{
	page_pool_put_full_page(u4n_rx_pool(l, buf), buf->page, napi);
}

/* Tell the ring of the buffers posted, and then let the peer be told */
static void u4n_rx_kick(struct u4n_link *l)
{
	l->rx.posted = 0;
	u4n_ring_kick_rx(l);
	u4n_credit_rx_publish(&l->rx.credit);
}

/* Give the frame's buffer, the same or a new one, back to the ring */
static void u4n_rx_repost(struct u4n_link *l, struct u4n_rx_frame *rf)
{
	u4n_ring_post_rx(l, &rf->frame);
	if (++l->rx.posted >= l->rx.batch)
		u4n_rx_kick(l);
}

/*
 * Another page to cut buffers from, each of which holds a reference. Large pages
 * may be hard to get when memory is in pieces, small ones are not.
 */
static bool u4n_rx_refill(struct u4n_link *l, gfp_t gfp)
{
	struct page_pool *pool = l->rx.pool;
	unsigned int size = PAGE_SIZE << U4N_RX_ORDER;
	struct page *page;

	page = page_pool_alloc_pages(pool, gfp);
	if (unlikely(!page)) {
		pool = l->rx.small;
		size = PAGE_SIZE;
		page = page_pool_alloc_pages(pool, gfp);
		if (!page)
			return false;
	}
	page_pool_fragment_page(page, size / U4N_FRAME_SIZE);
	l->rx.fresh = (struct u4n_rx_buf){
		.page = page,
		.single = pool == l->rx.small,
	};
	l->rx.fresh_end = size;
	l->rx.fresh_dma = page_pool_get_dma_addr(page);
	return true;
}

/* Find the frame another buffer. The one it has is the caller's then. */
static bool u4n_rx_replace(struct u4n_link *l, struct u4n_rx_frame *rf, gfp_t gfp)
{
	struct u4n_rx_buf *fresh = &l->rx.fresh;

	if (fresh->offset >= l->rx.fresh_end && !u4n_rx_refill(l, gfp))
		return false;
	rf->buf = *fresh;
	rf->frame.buffer_phy = l->rx.fresh_dma + fresh->offset;
	fresh->offset += U4N_FRAME_SIZE;
	return true;
}

static void *u4n_rx_data(const struct u4n_rx_frame *rf)
{
	return page_address(rf->buf.page) + rf->buf.offset;
}

/* Add buffers, from @buf on, which hold @size bytes of a packet, to what is collected */
static void u4n_rx_collect(struct u4n_link *l, const struct u4n_rx_buf *buf,
			   unsigned int size, unsigned int buffers)
{
	struct u4n_rx_piece *piece = &l->rx.pieces[l->rx.num_pieces];
	unsigned int refs = buffers;

	u4n_rx_sync(l, buf, size);
	l->rx.bodies += buffers;
	l->rx.len += size;
	if (l->rx.num_pieces && piece[-1].buf.page == buf->page &&
	    piece[-1].buf.offset + piece[-1].size == buf->offset) {
		piece[-1].size += size;
		piece[-1].buffers += buffers;
	} else {
		piece->buf = *buf;
		piece->size = size;
		piece->buffers = buffers;
		l->rx.num_pieces++;
		refs--;
	}
	/* one reference is enough for a piece */
	if (refs)
		page_pool_unref_page(buf->page, refs);
}

/* What is collected becomes part of the packet, behind what it has. */
static void u4n_rx_attach(struct u4n_link *l, struct sk_buff *skb)
{
	const struct u4n_rx_piece *piece = l->rx.pieces;
	const struct u4n_rx_piece *end = piece + l->rx.num_pieces;

	for (; piece != end; piece++)
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, piece->buf.page,
				piece->buf.offset, piece->size,
				piece->buffers * U4N_FRAME_SIZE);
	skb_mark_for_recycle(skb);
	l->rx.num_pieces = 0;
	l->rx.bodies = 0;
	l->rx.len = 0;
}

/* Or is of no use. @napi: said by NAPI */
static void u4n_rx_forget(struct u4n_link *l, bool napi)
{
	unsigned int i;

	for (i = 0; i < l->rx.num_pieces; i++)
		u4n_rx_put(l, &l->rx.pieces[i].buf, napi);
	l->rx.num_pieces = 0;
	l->rx.bodies = 0;
	l->rx.len = 0;
}

/*
 * The usual case of u4n_rx_body(): full frames in buffers that are neighbours. Takes
 * as many as there are.
 */
static unsigned int u4n_rx_bodies(struct u4n_link *l)
{
	unsigned int max = U4N_MAX_BODIES - l->rx.bodies;
	struct u4n_rx_buf fresh = l->rx.fresh;
	unsigned int fresh_end = l->rx.fresh_end;
	dma_addr_t fresh_dma = l->rx.fresh_dma;
	struct u4n_rx_buf piece = { };
	unsigned int size = 0;
	struct u4n_rx_frame *rf;
	struct ring_frame *frame;
	struct u4n_ring_run run;
	unsigned int frames;

	run = u4n_ring_run_begin(l, u4n_body_eof(l->rx.bodies));
	for (frames = 0; frames < max && u4n_ring_run_ready(&run); frames++) {
		if (fresh.offset >= fresh_end) {
			if (!u4n_rx_refill(l, U4N_RX_GFP))
				break;
			fresh = l->rx.fresh;
			fresh_end = l->rx.fresh_end;
			fresh_dma = l->rx.fresh_dma;
		}
		frame = u4n_ring_run_next(&run);
		rf = container_of(frame, struct u4n_rx_frame, frame);
		if (rf->buf.page != piece.page ||
		    rf->buf.offset != piece.offset + size) {
			if (size)
				u4n_rx_collect(l, &piece, size,
					       size / U4N_FRAME_SIZE);
			piece = rf->buf;
			size = 0;
		}
		size += U4N_FRAME_SIZE;
		rf->buf = fresh;
		frame->buffer_phy = fresh_dma + fresh.offset;
		fresh.offset += U4N_FRAME_SIZE;
		u4n_ring_run_post(&run, frame);
	}
	u4n_ring_run_end(l, &run);
	l->rx.fresh = fresh;
	if (!frames)
		return 0;

	u4n_rx_collect(l, &piece, size, size / U4N_FRAME_SIZE);
	l->rx.credit.seen += frames;
	l->rx.posted += frames;
	if (l->rx.posted >= l->rx.batch)
		u4n_rx_kick(l);
	return frames;
}

static enum u4n_drop u4n_rx_deliver(struct u4n_link *l, struct sk_buff *skb,
				    const struct u4n_head *head)
{
	enum u4n_drop why;

	why = u4n_meta_to_skb(skb, &head->meta,
			      l->ndev->features & NETIF_F_RXCSUM);
	if (why) {
		kfree_skb(skb);
		return why;
	}
	trace_u4n_rx_skb(l->ndev, skb, head->type);
	u64_stats_update_begin(&l->rx.syncp);
	u64_stats_inc(&l->rx.packets);
	u64_stats_add(&l->rx.bytes, skb->len);
	u64_stats_update_end(&l->rx.syncp);

	if (head->type == U4N_HEAD_ROCE) {
		u4n_roce_rcv(l, skb, &head->meta);
		return U4N_DROP_NONE;
	}
	skb->protocol = eth_type_trans(skb, l->ndev);
	napi_gro_receive(&l->napi, skb);
	return U4N_DROP_NONE;
}

/**
 * u4n_rx_credit - take over the fields that HEAD and CONTROL have in common
 * @l: the link
 * @gen: generation of the frame
 * @sent: its number
 * @limit: what the peer lets us send
 *
 * Return: false if the frame is to be ignored, because it is of another session
 * or the session is at its end.
 */
bool u4n_rx_credit(struct u4n_link *l, u16 gen, u32 sent, u32 limit)
{
	int lost;

	if (gen != l->rx.gen)
		return false;

	lost = u4n_credit_rx_sent(&l->rx.credit, sent);
	if (lost < 0 || (s32)(limit - l->rx.tx_limit) < 0) {
		u4n_rx_broken(l);
		return false;
	}
	if (lost) {
		/* who knows of which packet */
		l->rx.bad = true;
		u4n_rx_count(l, U4N_RX_LOST_FRAMES, lost);
		/* publish with this frame: there may be few more of them */
		l->rx.posted = l->rx.batch;
	}
	l->rx.tx_limit = limit;
	WRITE_ONCE(l->rx.last, jiffies);
	return true;
}

static enum u4n_drop u4n_rx_head(struct u4n_link *l, enum u4n_pdf pdf,
				 struct u4n_rx_frame *rf, unsigned int size)
{
	const struct u4n_rx_buf old = rf->buf;
	const void *buf = u4n_rx_data(rf);
	struct u4n_head head;
	struct sk_buff *skb;
	enum u4n_drop why;
	unsigned int copy;

	why = u4n_head_parse(buf, size, pdf, U4N_CAPS, &head);
	if (why == U4N_DROP_SHORT)
		return why;
	if (!u4n_rx_credit(l, head.gen, head.sent, head.limit))
		return U4N_DROP_GEN;
	if (why)
		return why;

	if (head.seq != l->rx.seq)
		u4n_rx_count(l, U4N_RX_LOST_PACKETS, head.seq - l->rx.seq);
	l->rx.seq = head.seq + 1;

	if (pdf == U4N_PDF_HEAD_END &&
	    (l->rx.bad || head.bodies != l->rx.bodies ||
	     head.len - head.inl != l->rx.len))
		return U4N_DROP_TRUNCATED;

	copy = head.inl;
	/* one fragment is needed for the rest, and BODY frames need theirs */
	if (copy > READ_ONCE(l->rx.copybreak) && head.bodies < MAX_SKB_FRAGS)
		copy = U4N_RX_COPYBREAK_MIN;
	skb = napi_alloc_skb(&l->napi, copy);
	if (!skb)
		return U4N_DROP_NO_SKB;
	skb_put_data(skb, buf + U4N_HEAD_SIZE, copy);
	if (copy < head.inl) {
		if (!u4n_rx_replace(l, rf, U4N_RX_GFP)) {
			kfree_skb(skb);
			return U4N_DROP_NO_PAGE;
		}
		skb_add_rx_frag(skb, 0, old.page,
				old.offset + U4N_HEAD_SIZE + copy,
				head.inl - copy, U4N_FRAME_SIZE);
		skb_mark_for_recycle(skb);
	}

	if (pdf == U4N_PDF_HEAD_ONLY) {
		u4n_rx_count(l, U4N_RX_COPIED, copy == head.inl);
		return u4n_rx_deliver(l, skb, &head);
	}

	/* leave no buffer behind in the midst of those for BODY frames */
	if (copy == head.inl && u4n_rx_replace(l, rf, U4N_RX_GFP))
		u4n_rx_put(l, &old, true);
	u4n_rx_attach(l, skb);
	return u4n_rx_deliver(l, skb, &head);
}

/* If it is taken the frame has got a new buffer. */
static enum u4n_drop u4n_rx_body(struct u4n_link *l, struct u4n_rx_frame *rf,
				 const struct u4n_ring_info *info)
{
	const struct u4n_rx_buf old = rf->buf;

	if (l->rx.bad)
		return U4N_DROP_NONE;
	if (l->rx.bodies == U4N_MAX_BODIES ||
	    info->eof != u4n_body_eof(l->rx.bodies))
		return U4N_DROP_BODY;
	if (!u4n_rx_replace(l, rf, U4N_RX_GFP))
		return U4N_DROP_NO_PAGE;
	u4n_rx_collect(l, &old, info->size, 1);
	return U4N_DROP_NONE;
}

/* A frame with which no packet ends that has BODY frames */
static void u4n_rx_orphans(struct u4n_link *l)
{
	if (!l->rx.bodies)
		return;
	u4n_rx_forget(l, true);
	u4n_rx_drop(l, U4N_DROP_ORPHAN);
}

static enum u4n_drop u4n_rx_frame(struct u4n_link *l, struct u4n_rx_frame *rf,
				  const struct u4n_ring_info *info)
{
	unsigned int size = info->size;
	enum u4n_pdf pdf = info->eof;

	if (info->flags & RING_DESC_CRC_ERROR)
		return U4N_DROP_CRC;
	if (info->flags & RING_DESC_BUFFER_OVERRUN)
		return U4N_DROP_OVERRUN;
	if (info->sof != U4N_PDF_SOF)
		return U4N_DROP_PDF;
	if (l->rx.stopped)
		return U4N_DROP_STOPPED;

	switch (pdf) {
	case U4N_PDF_HEAD_END:
		u4n_rx_sync(l, &rf->buf, size);
		return u4n_rx_head(l, pdf, rf, size);
	case U4N_PDF_HEAD_ONLY:
		u4n_rx_orphans(l);
		u4n_rx_sync(l, &rf->buf, size);
		return u4n_rx_head(l, pdf, rf, size);
	case U4N_PDF_CONTROL:
		u4n_rx_orphans(l);
		u4n_rx_sync(l, &rf->buf, size);
		u4n_rx_count(l, U4N_RX_CONTROL, 1);
		return u4n_control_rcv(l, u4n_rx_data(rf), size);
	case U4N_PDF_BODY_EVEN:
	case U4N_PDF_BODY_ODD:
		return u4n_rx_body(l, rf, info);
	default:
		return U4N_DROP_PDF;
	}
}

/**
 * u4n_rx_poll - the receive side's part of a NAPI poll
 * @l: the link
 * @budget: how much to do
 *
 * Everything counts but BODY frames that are collected, of which there are no more
 * than %U4N_MAX_BODIES at a time.
 *
 * Return: how much was done.
 */
int u4n_rx_poll(struct u4n_link *l, int budget)
{
	bool bodies = l->rx.bodies && !l->rx.bad;
	struct u4n_ring_info info;
	struct ring_frame *frame;
	struct u4n_rx_frame *rf;
	unsigned int frames = 0;
	enum u4n_drop why;
	dma_addr_t dma;
	int done = 0;
	u32 seen;

	while (done < budget) {
		if (bodies && !trace_u4n_rx_frame_enabled())
			frames += u4n_rx_bodies(l);
		frame = u4n_ring_poll_rx(l, &info);
		if (!frame)
			break;
		frames++;
		rf = container_of(frame, struct u4n_rx_frame, frame);
		dma = frame->buffer_phy;
		seen = l->rx.credit.seen;
		trace_u4n_rx_frame(l->ndev, false, rf - l->rx.frames,
				   info.size, info.eof, U4N_DROP_NONE);

		why = u4n_rx_frame(l, rf, &info);
		if (!u4n_is_body(info.eof))
			l->rx.bad = false;
		else if (why)
			l->rx.bad = true;
		/* a packet that has BODY frames is followed by others, mostly */
		bodies = !l->rx.bad && (info.eof == U4N_PDF_HEAD_END ||
					u4n_is_body(info.eof));
		if (why) {
			trace_u4n_rx_frame_drop(l->ndev, false,
						rf - l->rx.frames, info.size,
						info.eof, why);
			u4n_rx_drop(l, why);
			/* nothing of what belongs to it is of use */
			u4n_rx_forget(l, true);
		}
		if (frame->buffer_phy == dma)
			dma_sync_single_for_device(u4n_ring_dma_dev(l), dma,
						   info.size, DMA_FROM_DEVICE);
		if (l->rx.bad || !u4n_is_body(info.eof))
			done++;
		/* a frame of another session was not sent in this one */
		if (why == U4N_DROP_GEN)
			l->rx.credit.seen = seen;
		else
			l->rx.credit.seen++;
		u4n_rx_repost(l, rf);
	}

	if (frames)
		u4n_rx_count(l, U4N_RX_FRAMES, frames);
	return done;
}

/**
 * u4n_rx_start - begin a session: fill the ring
 * @l: the link, whose rings run
 * @window: frames to post
 * @gen: generation that the peer's frames must carry
 * @cookie: ours, which its probes must carry
 *
 * Return: 0 or -ENOMEM; u4n_rx_flush() is needed in any case.
 */
int u4n_rx_start(struct u4n_link *l, u32 window, u16 gen, u32 cookie)
{
	struct u4n_rx_frame *rf;
	unsigned int i;

	u4n_credit_rx_init(&l->rx.credit, window);
	l->rx.stopped = false;
	l->rx.gen = gen;
	l->rx.cookie = cookie;
	l->rx.tx_limit = l->hs.peer.window;
	l->rx.seq = 0;
	l->rx.num_pieces = 0;
	l->rx.bodies = 0;
	l->rx.len = 0;
	l->rx.bad = false;
	l->rx.posted = 0;
	l->rx.batch = u4n_credit_rx_batch(&l->rx.credit);
	l->rx.last = jiffies;
	l->rx.deaf = 0;
	l->rx.peer_mtu = l->hs.peer.mtu;
	l->rx.ack_probe = false;
	l->rx.ack_gids = false;

	for (i = 0; i < window; i++) {
		rf = &l->rx.frames[i];
		if (!u4n_rx_replace(l, rf, GFP_KERNEL | __GFP_NOWARN))
			return -ENOMEM;
		u4n_ring_post_rx(l, &rf->frame);
	}
	u4n_ring_kick_rx(l);
	return 0;
}

/**
 * u4n_rx_flush - take back all pages
 * @l: the link, whose NAPI is disabled and whose rings are stopped
 */
void u4n_rx_flush(struct u4n_link *l)
{
	struct u4n_rx_buf *buf = &l->rx.fresh;
	unsigned int i;

	u4n_rx_forget(l, false);
	for (; buf->offset < l->rx.fresh_end; buf->offset += U4N_FRAME_SIZE)
		u4n_rx_put(l, buf, false);
	for (i = 0; i < l->rx.size; i++) {
		buf = &l->rx.frames[i].buf;
		if (buf->page)
			u4n_rx_put(l, buf, false);
		buf->page = NULL;
	}
}

/**
 * u4n_rx_alloc - allocate descriptors and pools of pages
 * @l: the link, whose rings are allocated
 *
 * Return: 0 or a negative error.
 */
int u4n_rx_alloc(struct u4n_link *l)
{
	struct page_pool_params params = {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.order = U4N_RX_ORDER,
		.pool_size = l->rx.size >> U4N_RX_ORDER,
		.nid = NUMA_NO_NODE,
		.dev = u4n_ring_dma_dev(l),
		.napi = &l->napi,
		.netdev = l->ndev,
		.dma_dir = DMA_FROM_DEVICE,
		.max_len = PAGE_SIZE << U4N_RX_ORDER,
	};
	int ret;

	l->rx.frames = kvcalloc(l->rx.size, sizeof(*l->rx.frames),
				GFP_KERNEL);
	if (!l->rx.frames)
		return -ENOMEM;

	l->rx.pool = page_pool_create(&params);
	if (IS_ERR(l->rx.pool)) {
		ret = PTR_ERR(l->rx.pool);
		goto free_frames;
	}
	params.order = 0;
	params.max_len = PAGE_SIZE;
	l->rx.small = page_pool_create(&params);
	if (IS_ERR(l->rx.small)) {
		ret = PTR_ERR(l->rx.small);
		goto destroy_pool;
	}
	return 0;

destroy_pool:
	page_pool_destroy(l->rx.pool);
	l->rx.pool = NULL;
free_frames:
	kvfree(l->rx.frames);
	l->rx.frames = NULL;
	return ret;
}

/**
 * u4n_rx_free - undo u4n_rx_alloc()
 * @l: the link
 *
 * Pages that are still with sockets return to their pool later, which then goes
 * away by itself.
 */
void u4n_rx_free(struct u4n_link *l)
{
	page_pool_destroy(l->rx.small);
	page_pool_destroy(l->rx.pool);
	l->rx.small = NULL;
	l->rx.pool = NULL;
	kvfree(l->rx.frames);
	l->rx.frames = NULL;
}
