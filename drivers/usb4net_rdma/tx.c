// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit side: packets and CONTROL messages become frames.
 *
 * A small packet is copied into the slot of its HEAD frame. Of a large one the
 * headers are copied there, and the rest goes out as BODY frames straight from
 * where it is, see txmap.c. The skb belongs to its last frame and is freed when
 * that has been sent.
 *
 * Frames are posted one by one, and the ring is told of them once for all that
 * belong together: a packet, or more if the stack has more.
 *
 * Completions are reaped where we are anyway, in NAPI and on transmit, and by
 * the timer if neither comes along.
 */
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/vmalloc.h>
#include <rdma/roce_link.h>

#include "trace.h"
#include "u4n.h"

#define U4N_TX_BQL_MIN		(128 * 1024)	/* bytes in flight that are never too many */
#define U4N_TX_REAP_BATCH	32U		/* frames in flight before we reap on xmit */

/* Room that an skb needs, and room to go on with after a stop */
#define U4N_TX_STOP(packets)	((int)((packets) * U4N_MAX_FRAMES + U4N_RESERVE))
#define U4N_TX_WAKE(packets)	\
	((int)(2 * (packets) * U4N_MAX_FRAMES + U4N_RESERVE))

#define U4N_TX_WAKE_SMALL	4	/* the same for the small queue */
#define U4N_SMALL_SHARE		4	/* see u4n_tx_small_room() */

static_assert(U4N_TX_WAKE(1) <= U4N_STALL_WINDOW);

/*
 * A receiver keeps less than a quarter of its window from us, see
 * u4n_credit_rx_due(). What we know of must suffice to wake the queue, or it
 * sleeps for ever.
 */
static_assert(U4N_MIN_WINDOW - U4N_MIN_WINDOW / 4 >= U4N_TX_WAKE(1));
static_assert(U4N_BIG_WINDOW - U4N_BIG_WINDOW / 4 >=
	      U4N_TX_WAKE(U4N_BIG_PACKETS));

static bool u4n_tx_is_small(const struct sk_buff *skb)
{
	return skb_get_queue_mapping(skb) == U4N_QUEUE_SMALL;
}

/* Number of frames for which there are both descriptors and credits */
static int u4n_tx_room(const struct u4n_link *l)
{
	int space = l->tx.window - (l->tx.head - l->tx.tail);

	return min(space, u4n_credit_tx_avail(&l->tx.credit));
}

/* May this packet be sent now, leaving what is reserved for others? */
static bool u4n_tx_fits(const struct u4n_link *l, const struct u4n_tx_plan *plan)
{
	int reserve = plan->bodies ? U4N_RESERVE : U4N_RESERVE_CTL;

	return u4n_tx_room(l) >= (int)(1 + plan->bodies) + reserve;
}

/* Number of frames of the packet at the tail */
static unsigned int u4n_tx_frames(const struct u4n_link *l)
{
	return l->tx.frames[l->tx.tail & (l->tx.size - 1)].frames;
}

/* The frames of a packet, one by one: as they are posted, or when they are @done */
static void u4n_tx_trace(struct u4n_link *l, u32 index, bool done)
{
	u32 end = index + u4n_tx_frame(l, index)->frames;
	const struct ring_frame *head = &u4n_tx_frame(l, end - 1)->frame;
	unsigned int size, n = 0, rest = 0;
	enum u4n_pdf pdf;
	u32 i;

	for (; index != end; index++, n++) {
		if (index == end - 1) {
			size = head->size;
			pdf = head->eof;
		} else {
			if (!rest)
				rest = u4n_tx_frame(l, index)->map_len;
			size = min(rest, U4N_FRAME_SIZE);
			rest -= size;
			pdf = u4n_body_eof(n);
		}
		i = index & (l->tx.size - 1);
		if (done)
			trace_u4n_tx_frame_done(l->ndev, true, i, size, pdf,
						U4N_DROP_NONE);
		else
			trace_u4n_tx_frame(l->ndev, true, i, size, pdf,
					   U4N_DROP_NONE);
	}
}

/*
 * Forget the packet at the tail. The skb that it is the end of, if any, goes to
 * @done.
 */
static unsigned int u4n_tx_complete(struct u4n_link *l, unsigned int frames,
				    struct sk_buff_head *done)
{
	u32 end = l->tx.tail + frames;
	struct u4n_tx_frame *tf = u4n_tx_frame(l, end - 1);
	unsigned int bytes;

	if (trace_u4n_tx_frame_done_enabled())
		u4n_tx_trace(l, l->tx.tail, true);
	if (frames > 1 && (u4n_tx_frame(l, l->tx.tail)->packed ||
			   dma_need_unmap(u4n_ring_dma_dev(l))))
		u4n_tx_unmap(l, l->tx.tail, end - 1);
	l->tx.tail = end;

	bytes = tf->bytes;
	if (tf->skb) {
		__skb_queue_tail(done, tf->skb);
		l->tx.skbs--;
	}
	tf->skb = NULL;
	tf->bytes = 0;
	return bytes;
}

static void u4n_tx_reap(struct u4n_link *l, struct sk_buff_head *done)
{
	unsigned int packets = 0, bytes = 0, n;

	while (l->tx.tail != l->tx.head) {
		n = u4n_tx_frames(l);
		if (!u4n_ring_reap_tx(l, n))
			break;
		n = u4n_tx_complete(l, n, done);
		bytes += n;
		packets += !!n;
	}
	if (packets)
		netdev_completed_queue(l->ndev, packets, bytes);
}

/* Free outside of the lock: destructors belong to others */
static void u4n_tx_free_skbs(struct sk_buff_head *done, int budget)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(done)))
		napi_consume_skb(skb, budget);
}

/*
 * Room for packets of the small queue, behind what is kept for RoCE. While bulk waits
 * they get U4N_SMALL_SHARE frames, and half of what comes free: the rest is for bulk
 * to go on one day, however much there is of them.
 */
static int u4n_tx_small_room(const struct u4n_link *l)
{
	int room = u4n_tx_room(l);
	int left = room - (int)U4N_RESERVE;
	int share;

	if (!netif_queue_stopped(l->ndev))
		return left;
	share = U4N_SMALL_SHARE - (int)l->tx.small +
		(int)(l->tx.head + room - l->tx.horizon) / 2;
	return min(left, share);
}

/*
 * Keep the stack from sending what may not fit. To be called after everything
 * that takes room, so that a queue never runs while its largest packet does not
 * fit.
 */
static void u4n_tx_maybe_stop(struct u4n_link *l, struct sk_buff_head *done)
{
	int room = u4n_tx_room(l);

	if (room >= l->tx.stop)
		return;
	if (!netif_queue_stopped(l->ndev)) {
		u4n_tx_reap(l, done);
		room = u4n_tx_room(l);
		if (room >= l->tx.stop)
			return;
		netif_stop_queue(l->ndev);
		u4n_tx_count(l, U4N_TX_STOPS, 1);
		l->tx.horizon = l->tx.head + room;
		l->tx.small = 0;
	}
	if (u4n_tx_small_room(l) > 0 ||
	    __netif_subqueue_stopped(l->ndev, U4N_QUEUE_SMALL))
		return;
	u4n_tx_reap(l, done);
	if (u4n_tx_small_room(l) > 0)
		return;
	netif_stop_subqueue(l->ndev, U4N_QUEUE_SMALL);
	u4n_tx_count(l, U4N_TX_SMALL_STOPS, 1);
}

/* Have the ring send what was posted */
static void u4n_tx_kick(struct u4n_link *l)
{
	if (!l->tx.kick_due)
		return;
	l->tx.kick_due = false;
	u4n_ring_kick_tx(l);
}

/* The same, unless we are called by our own NAPI, which does it at its end */
static void u4n_tx_kick_soon(struct u4n_link *l)
{
	if (READ_ONCE(l->napi_cpu) != smp_processor_id())
		u4n_tx_kick(l);
}

/*
 * Post a HEAD or CONTROL frame, with what is in its slot, and before it @bodies BODY
 * frames, which go out piece by piece
 */
static void u4n_tx_post_all(struct u4n_link *l, enum u4n_pdf pdf,
			    unsigned int size, unsigned int bodies)
{
	u32 first = l->tx.head, index, n;
	u32 end = first + bodies;
	struct u4n_tx_frame *tf = u4n_tx_frame(l, end);
	const struct u4n_tx_frame *piece;

	tf->frame.buffer_phy = tf->slot_dma;
	tf->frame.size = size;
	tf->frame.flags = 0;
	tf->frame.eof = pdf;
	tf->frame.sof = U4N_PDF_SOF;
	u4n_tx_frame(l, first)->frames = 1 + bodies;
	if (trace_u4n_tx_frame_enabled())
		u4n_tx_trace(l, first, false);
	l->tx.head = end + 1;
	l->tx.credit.sent += 1 + bodies;
	l->tx.kick_due = true;
	dma_sync_single_for_device(u4n_ring_dma_dev(l), tf->slot_dma, size,
				   DMA_TO_DEVICE);
	for (index = first; index != end; index += n) {
		piece = u4n_tx_frame(l, index);
		n = u4n_tx_piece_frames(piece);
		u4n_ring_post_piece(l, index, piece->map_dma, piece->map_len,
				    u4n_body_eof(index - first));
	}
	u4n_ring_post_tx(l, &tf->frame);
}

/* The skb is done with when this frame has been sent */
static void u4n_tx_own(struct u4n_link *l, struct u4n_tx_frame *tf,
		       struct sk_buff *skb)
{
	tf->skb = skb;
	l->tx.skbs++;
}

/*
 * Send a packet for which u4n_tx_fits(). On success the skb belongs to the
 * ring, otherwise to the caller still. The stack gets one back at once, in @done,
 * of which nothing is left to be sent; RoCE counts what is in the ring by its
 * skbs.
 */
static int u4n_tx_packet(struct u4n_link *l, struct sk_buff *skb, u8 type,
			 struct u4n_tx_plan *plan,
			 struct sk_buff_head *done)
{
	struct u4n_tx_frame *tf = u4n_tx_frame(l, l->tx.head + plan->bodies);
	unsigned int len = plan->cut ? plan->inl + plan->end - plan->pos :
				       skb->len;
	struct u4n_head head = {
		.type = type,
		.bodies = plan->bodies,
		.gen = l->tx.gen,
		.inl = plan->inl,
		.sent = l->tx.credit.sent + plan->bodies,
		.limit = u4n_credit_rx_limit(&l->rx.credit),
		.seq = l->tx.seq,
		.len = len,
		.meta = plan->meta,
	};
	bool more = plan->end < skb->len;
	int ret;

	if (type == U4N_HEAD_ROCE)
		u4n_roce_meta_from_skb(skb, &head.meta);
	if (plan->bodies) {
		ret = u4n_tx_map(l, skb, plan);
		if (ret)
			return ret;
	}

	u4n_head_build(tf->slot, &head);
	/* cannot fail, the lengths are those of the skb */
	if (plan->inl <= skb_headlen(skb))
		memcpy(tf->slot + U4N_HEAD_SIZE, skb->data, plan->inl);
	else
		skb_copy_bits(skb, 0, tf->slot + U4N_HEAD_SIZE, plan->inl);
	if (plan->cut)
		u4n_big_header(skb, plan, tf->slot + U4N_HEAD_SIZE);

	u4n_tx_frame(l, l->tx.head)->packed = plan->packed;
	/* before the last frame is posted */
	if (plan->bodies || type == U4N_HEAD_ROCE) {
		if (!more)
			u4n_tx_own(l, tf, skb);
	} else {
		__skb_queue_tail(done, skb);
	}
	if (type == U4N_HEAD_ETH && !u4n_tx_is_small(skb)) {
		tf->bytes = len;
		netdev_sent_queue(l->ndev, len);
	}
	if (!more)
		skb_tx_timestamp(skb);
	/* the stack has shown its own packets to whoever listens */
	if (type == U4N_HEAD_ROCE && dev_nit_active(l->ndev))
		u4n_roce_tap_tx(l, skb);
	WRITE_ONCE(l->tx.told, head.limit);
	l->tx.seq++;
	trace_u4n_tx_skb(l->ndev, skb, type);

	u64_stats_update_begin(&l->tx.syncp);
	u64_stats_inc(&l->tx.packets);
	u64_stats_add(&l->tx.bytes, len);
	u64_stats_add(&l->tx.count[U4N_TX_FRAMES], 1 + plan->bodies);
	if (!plan->bodies)
		u64_stats_inc(&l->tx.count[U4N_TX_INLINE]);
	if (type == U4N_HEAD_ROCE) {
		u64_stats_inc(&l->tx.count[U4N_TX_ROCE_PACKETS]);
		u64_stats_add(&l->tx.count[U4N_TX_ROCE_BYTES], skb->len);
	} else if (u4n_tx_is_small(skb)) {
		l->tx.small += 1 + plan->bodies;
		u64_stats_inc(&l->tx.count[U4N_TX_SMALL]);
	}
	u64_stats_update_end(&l->tx.syncp);

	u4n_tx_post_all(l, plan->bodies ? U4N_PDF_HEAD_END : U4N_PDF_HEAD_ONLY,
			U4N_HEAD_SIZE + plan->inl, plan->bodies);

	/* TCP may hold the next packet back until this one is done with */
	if (!plan->bodies)
		u4n_timer_arm(l);
	else if (!more)
		u4n_timer_soon(l);
	return 0;
}

/* Send a big skb. On success it belongs to the ring, otherwise to the caller still. */
static int u4n_tx_big(struct u4n_link *l, struct sk_buff *skb,
		      struct sk_buff_head *done)
{
	struct u4n_tx_plan plan;
	u32 head = l->tx.head;
	int ret;

	if (u4n_tx_room(l) < l->tx.stop) {
		if (u4n_tx_is_small(skb))
			return -EBUSY;
		/* the queue is stopped in time, but the peer may have changed */
		u4n_tx_count(l, U4N_TX_DROP_SIZE, 1);
		return -EMSGSIZE;
	}
	ret = u4n_big_prepare(l, skb, &plan);
	while (!ret && u4n_big_next(l, skb, &plan))
		ret = u4n_tx_packet(l, skb, U4N_HEAD_ETH, &plan, done);
	if (ret && l->tx.head != head) {
		/* the first part is on its way, the rest is lost */
		u4n_tx_own(l, u4n_tx_frame(l, l->tx.head - 1), skb);
		u4n_timer_soon(l);
		ret = 0;
	}
	u4n_tx_count(l, U4N_TX_BIG, !ret);
	return ret;
}

/* Send a packet of the stack. On success it is ours, otherwise the caller's still. */
static int u4n_tx_stack(struct u4n_link *l, struct sk_buff *skb,
			struct sk_buff_head *done)
{
	struct u4n_tx_plan plan;
	int ret;

	if (unlikely(skb->len > u4n_tx_max_packet(l)))
		return u4n_tx_big(l, skb, done);
	ret = u4n_tx_prepare(l, skb, U4N_HEAD_ETH, &plan);
	if (ret)
		return ret;
	if (unlikely(!u4n_tx_fits(l, &plan)))
		return -EBUSY;
	return u4n_tx_packet(l, skb, U4N_HEAD_ETH, &plan, done);
}

/**
 * u4n_tx_xmit - ndo_start_xmit
 * @skb: packet
 * @ndev: network device
 *
 * Return: %NETDEV_TX_OK; %NETDEV_TX_BUSY only if the queue is running although
 * it should not be, or if there is a large packet in the small queue (which is
 * rare, see queue.c).
 */
netdev_tx_t u4n_tx_xmit(struct sk_buff *skb, struct net_device *ndev)
{
	struct netdev_queue *queue = skb_get_tx_queue(ndev, skb);
	struct u4n_link *l = netdev_priv(ndev);
	netdev_tx_t ret = NETDEV_TX_OK;
	struct sk_buff *bad = NULL;
	struct sk_buff_head done;

	__skb_queue_head_init(&done);
	spin_lock(&l->tx.lock);

	if (unlikely(!l->tx.open)) {
		u4n_tx_count(l, U4N_TX_DROP_DOWN, 1);
		bad = skb;
		goto unlock;
	}
	u4n_timer_sent(l, skb->sk);
	if (l->tx.head - l->tx.tail >= U4N_TX_REAP_BATCH)
		u4n_tx_reap(l, &done);
	switch (u4n_tx_stack(l, skb, &done)) {
	case 0:
		break;
	case -EBUSY:
		ret = NETDEV_TX_BUSY;
		/* it waits until there is room for anything */
		if (u4n_tx_is_small(skb)) {
			l->tx.small_wake = l->tx.wake;
			netif_tx_stop_queue(queue);
		}
		break;
	default:
		bad = skb;
	}
	u4n_tx_maybe_stop(l, &done);
	if (!netdev_xmit_more() || netif_xmit_stopped(queue))
		u4n_tx_kick_soon(l);
	if (netif_xmit_stopped(queue))
		u4n_timer_soon(l);
unlock:
	spin_unlock(&l->tx.lock);
	u4n_tx_free_skbs(&done, 0);
	if (bad)
		dev_kfree_skb_any(bad);
	return ret;
}

/* A RoCE packet that waits for credits */
struct u4n_tx_waiting {
	struct roce_link_cb cb;
	unsigned long since;
};

#define U4N_TX_WAITING(skb)	((struct u4n_tx_waiting *)(skb)->cb)

static_assert(sizeof(struct u4n_tx_waiting) <= sizeof_field(struct sk_buff, cb));

/* Put the Ethernet header in front of a packet that starts with its IP header */
static int u4n_tx_roce_header(struct u4n_link *l, struct sk_buff *skb)
{
	struct ethhdr *eth;

	if (skb_cow_head(skb, ETH_HLEN)) {
		u4n_tx_count(l, U4N_TX_DROP_NOMEM, 1);
		return -ENOMEM;
	}
	eth = skb_push(skb, ETH_HLEN);
	ether_addr_copy(eth->h_dest, l->hs.peer.mac);
	ether_addr_copy(eth->h_source, l->ndev->dev_addr);
	eth->h_proto = skb->protocol;
	skb_reset_mac_header(skb);
	return 0;
}

/**
 * u4n_tx_roce - send a packet that has come through the RoCE link
 * @l: the link
 * @skb: packet, starts with its IP header; always consumed
 *
 * A packet that does not fit is queued. The order is kept: nothing passes by
 * the queue. Bulk is queued as well while the network device's queue is stopped,
 * since that would never be woken if we took the room for every packet as it
 * comes free. u4n_tx_resume() shares it out.
 *
 * Return: 0 or a negative error: the packet was dropped.
 */
int u4n_tx_roce(struct u4n_link *l, struct sk_buff *skb)
{
	struct sk_buff_head done;
	struct u4n_tx_plan plan;
	int ret;

	__skb_queue_head_init(&done);
	spin_lock_bh(&l->tx.lock);

	if (!l->tx.open) {
		u4n_tx_count(l, U4N_TX_ROCE_DROP_DOWN, 1);
		ret = -ENETDOWN;
		goto drop;
	}
	/* the client has asked in another session */
	if (u4n_roce_needs(skb) & ~l->tx.caps) {
		u4n_tx_count(l, U4N_TX_DROP_META, 1);
		ret = -EOPNOTSUPP;
		goto drop;
	}
	u4n_timer_sent(l, skb->sk);
	if (l->tx.head - l->tx.tail >= U4N_TX_REAP_BATCH)
		u4n_tx_reap(l, &done);

	ret = u4n_tx_roce_header(l, skb);
	if (!ret)
		ret = u4n_tx_prepare(l, skb, U4N_HEAD_ROCE, &plan);
	if (ret)
		goto drop;

	if (!skb_queue_empty(&l->tx.roce) || !u4n_tx_fits(l, &plan) ||
	    (plan.bodies && netif_queue_stopped(l->ndev))) {
		if (skb_queue_len(&l->tx.roce) >= U4N_ROCE_QUEUE_MAX) {
			u4n_tx_count(l, U4N_TX_ROCE_DROP_FULL, 1);
			ret = -ENOBUFS;
			goto drop;
		}
		U4N_TX_WAITING(skb)->since = jiffies;
		__skb_queue_tail(&l->tx.roce, skb);
		u4n_tx_count(l, U4N_TX_ROCE_QUEUED, 1);
		u4n_timer_arm(l);
		goto unlock;
	}

	ret = u4n_tx_packet(l, skb, U4N_HEAD_ROCE, &plan, &done);
	if (ret)
		goto drop;
	u4n_tx_kick_soon(l);
	u4n_tx_maybe_stop(l, &done);
unlock:
	spin_unlock_bh(&l->tx.lock);
	u4n_tx_free_skbs(&done, 0);
	return 0;

drop:
	spin_unlock_bh(&l->tx.lock);
	u4n_tx_free_skbs(&done, 0);
	dev_kfree_skb_any(skb);
	return ret;
}

/**
 * u4n_tx_roce_reap - free the packets that have been sent
 * @l: the link
 */
void u4n_tx_roce_reap(struct u4n_link *l)
{
	struct sk_buff_head done;

	__skb_queue_head_init(&done);
	spin_lock_bh(&l->tx.lock);
	if (l->tx.running)
		u4n_tx_reap(l, &done);
	spin_unlock_bh(&l->tx.lock);
	u4n_tx_free_skbs(&done, 0);
}

/*
 * A peer that takes nothing, or next to nothing, must not keep the packets, which
 * the client waits for before it gives memory back. An honest one takes all that
 * can wait in much less time.
 */
static void u4n_tx_drop_old(struct u4n_link *l, struct sk_buff_head *bad)
{
	unsigned long wait = msecs_to_jiffies(U4N_ROCE_WAIT_MS);
	struct sk_buff *skb;

	while ((skb = skb_peek(&l->tx.roce)) &&
	       time_after(jiffies, U4N_TX_WAITING(skb)->since + wait)) {
		__skb_unlink(skb, &l->tx.roce);
		__skb_queue_tail(bad, skb);
		u4n_tx_count(l, U4N_TX_ROCE_DROP_OLD, 1);
	}
}

/* Send RoCE packets that have been waiting, with at most @share frames */
static void u4n_tx_flush_roce(struct u4n_link *l, int share,
			      struct sk_buff_head *bad)
{
	struct u4n_tx_plan plan;
	struct sk_buff *skb;

	while ((skb = skb_peek(&l->tx.roce))) {
		plan = (struct u4n_tx_plan){ .need = ETH_HLEN };
		u4n_tx_plan(l, skb, &plan);
		if (share <= 0 || !u4n_tx_fits(l, &plan))
			break;
		share -= 1 + plan.bodies;
		__skb_unlink(skb, &l->tx.roce);
		if (u4n_tx_packet(l, skb, U4N_HEAD_ROCE, &plan, bad))
			__skb_queue_tail(bad, skb);
	}
}

/*
 * There may be room again: go on with what waits. If the stack waits, both do
 * until there is room enough for both. Then RoCE gets half of it, or what is not
 * needed for a packet of the stack. If RoCE took room as it comes free, packet by
 * packet, there would never be enough to wake the stack.
 */
static void u4n_tx_resume(struct u4n_link *l, struct sk_buff_head *done)
{
	int room = u4n_tx_room(l);

	if (!netif_queue_stopped(l->ndev)) {
		u4n_tx_flush_roce(l, room, done);
		u4n_tx_maybe_stop(l, done);
	} else if (room >= l->tx.wake) {
		u4n_tx_flush_roce(l, min(room / 2, room - l->tx.stop), done);
		netif_wake_queue(l->ndev);
	}
	if (__netif_subqueue_stopped(l->ndev, U4N_QUEUE_SMALL) &&
	    u4n_tx_small_room(l) >= U4N_TX_WAKE_SMALL &&
	    room >= l->tx.small_wake) {
		l->tx.small_wake = 0;
		netif_wake_subqueue(l->ndev, U4N_QUEUE_SMALL);
	}
}

/**
 * u4n_tx_control - send a CONTROL message
 * @l: the link
 * @ctl: message; generation, numbers and limit are filled in here
 * @force: send it even if there is no credit, to repair just that
 *
 * Return: false if it was not sent. Everything that matters is repeated.
 */
bool u4n_tx_control(struct u4n_link *l, struct u4n_ctl *ctl, bool force)
{
	struct sk_buff_head done;
	unsigned int size;
	bool ok = false;
	int credit;
	u32 space;

	__skb_queue_head_init(&done);
	spin_lock_bh(&l->tx.lock);

	/* the ring's size, whatever window packets have */
	space = l->tx.size - 1 - (l->tx.head - l->tx.tail);
	credit = u4n_credit_tx_avail(&l->tx.credit);
	if (!l->tx.running || !space)
		goto unlock;
	if (credit <= 0) {
		if (!force || credit <= -(int)U4N_WINDOW_SLACK)
			goto unlock;
		u4n_tx_count(l, U4N_TX_FORCED, 1);
	}

	ctl->gen = l->tx.gen;
	ctl->sent = l->tx.credit.sent;
	ctl->limit = u4n_credit_rx_limit(&l->rx.credit);
	size = u4n_ctl_build(u4n_tx_frame(l, l->tx.head)->slot, ctl);
	WRITE_ONCE(l->tx.told, ctl->limit);
	u4n_tx_post_all(l, U4N_PDF_CONTROL, size, 0);
	u4n_tx_kick(l);

	u4n_tx_count(l, U4N_TX_FRAMES, 1);
	u4n_tx_count(l, U4N_TX_CONTROL, 1);
	if (ctl->type == U4N_CTL_CREDIT)
		u4n_tx_count(l, U4N_TX_CREDITS, 1);
	if (l->tx.open)
		u4n_tx_maybe_stop(l, &done);
	u4n_timer_arm(l);
	ok = true;
unlock:
	spin_unlock_bh(&l->tx.lock);
	u4n_tx_free_skbs(&done, 0);
	return ok;
}

/**
 * u4n_tx_owes_credit - is it time to tell the peer about its limit?
 * @l: the link
 *
 * Return: true if it is.
 */
bool u4n_tx_owes_credit(struct u4n_link *l)
{
	return u4n_credit_rx_due(&l->rx.credit, READ_ONCE(l->tx.told));
}

/**
 * u4n_tx_poll - the transmit side's part of a NAPI poll
 * @l: the link
 * @budget: as in NAPI
 */
void u4n_tx_poll(struct u4n_link *l, int budget)
{
	struct sk_buff_head done;
	bool broken = false;

	__skb_queue_head_init(&done);
	spin_lock(&l->tx.lock);

	if (l->tx.running) {
		u4n_tx_reap(l, &done);
		broken = !u4n_credit_tx_update(&l->tx.credit, l->rx.tx_limit);
		u4n_tx_drop_old(l, &done);
		if (l->tx.open)
			u4n_tx_resume(l, &done);
		u4n_tx_kick(l);
		u4n_timer_arm(l);
	}
	spin_unlock(&l->tx.lock);

	u4n_tx_free_skbs(&done, budget);
	if (broken)
		u4n_rx_broken(l);
}

/**
 * u4n_tx_start - begin a session: CONTROL messages may be sent
 * @l: the link, whose rings run
 * @window: frames that the peer keeps posted
 * @gen: our generation
 * @caps: the peer's capabilities
 */
void u4n_tx_start(struct u4n_link *l, u32 window, u16 gen, u32 caps)
{
	spin_lock_bh(&l->tx.lock);
	u4n_credit_tx_init(&l->tx.credit, window);
	l->tx.told = u4n_credit_rx_limit(&l->rx.credit);
	l->tx.gen = gen;
	l->tx.seq = 0;
	l->tx.caps = caps;
	l->tx.window = min(l->tx.size - 1, l->tx.max_window);
	l->tx.big = min(l->tx.window, window) >= U4N_BIG_WINDOW;
	l->tx.stop = U4N_TX_STOP(l->tx.big ? U4N_BIG_PACKETS : 1);
	l->tx.wake = U4N_TX_WAKE(l->tx.big ? U4N_BIG_PACKETS : 1);
	l->tx.running = true;
	spin_unlock_bh(&l->tx.lock);
}

/**
 * u4n_tx_open - packets may be sent
 * @l: the link
 */
void u4n_tx_open(struct u4n_link *l)
{
	spin_lock_bh(&l->tx.lock);
	l->tx.open = true;
	l->tx.small_wake = 0;
	netif_tx_wake_all_queues(l->ndev);
	spin_unlock_bh(&l->tx.lock);
}

/**
 * u4n_tx_close - nothing may be sent any more, and nothing waits
 * @l: the link
 */
void u4n_tx_close(struct u4n_link *l)
{
	struct sk_buff_head waiting;

	__skb_queue_head_init(&waiting);
	spin_lock_bh(&l->tx.lock);
	l->tx.running = false;
	l->tx.open = false;
	netif_tx_stop_all_queues(l->ndev);
	u4n_tx_count(l, U4N_TX_ROCE_DROP_DOWN, skb_queue_len(&l->tx.roce));
	skb_queue_splice_init(&l->tx.roce, &waiting);
	spin_unlock_bh(&l->tx.lock);
	__skb_queue_purge(&waiting);
}

/**
 * u4n_tx_flush - take back all frames
 * @l: the link, whose rings are stopped
 */
void u4n_tx_flush(struct u4n_link *l)
{
	struct sk_buff_head done;

	u4n_timer_cancel(l);
	__skb_queue_head_init(&done);
	spin_lock_bh(&l->tx.lock);
	while (l->tx.tail != l->tx.head)
		u4n_tx_complete(l, u4n_tx_frames(l), &done);
	netdev_reset_queue(l->ndev);
	l->tx.head = 0;
	l->tx.tail = 0;
	l->tx.kick_due = false;
	spin_unlock_bh(&l->tx.lock);
	__skb_queue_purge(&done);
}

/**
 * u4n_tx_stalled - frames stay in the transmit ring for ever
 * @l: the link, whose session is to end for it
 *
 * There are controllers that stop when too many are posted. Until the network
 * device is closed it does not happen again.
 */
void u4n_tx_stalled(struct u4n_link *l)
{
	netdev_warn(l->ndev,
		    "transmit ring has stalled with %u frames in it, no more than %u from now on\n",
		    l->tx.head - l->tx.tail, U4N_STALL_WINDOW);
	l->tx.max_window = U4N_STALL_WINDOW;
}

/**
 * u4n_tx_alloc - allocate descriptors and slots
 * @l: the link, whose rings are allocated
 *
 * Return: 0 or -ENOMEM.
 */
int u4n_tx_alloc(struct u4n_link *l)
{
	struct device *dev = u4n_ring_dma_dev(l);
	struct u4n_tx_frame *tf;
	unsigned int i;

	l->tx.max_window = UINT_MAX;
	netdev_queue_set_dql_min_limit(netdev_get_tx_queue(l->ndev, 0),
				       U4N_TX_BQL_MIN);
	l->tx.frames = kvcalloc(l->tx.size, sizeof(*tf), GFP_KERNEL);
	if (!l->tx.frames)
		return -ENOMEM;

	for (i = 0; i < l->tx.size; i++) {
		tf = &l->tx.frames[i];
		tf->slot = kmalloc(U4N_SLOT_SIZE, GFP_KERNEL);
		if (!tf->slot)
			goto free;
		tf->slot_dma = dma_map_single(dev, tf->slot, U4N_SLOT_SIZE,
					      DMA_TO_DEVICE);
		if (dma_mapping_error(dev, tf->slot_dma)) {
			kfree(tf->slot);
			tf->slot = NULL;
			goto free;
		}
	}
	return 0;

free:
	u4n_tx_free(l);
	return -ENOMEM;
}

/**
 * u4n_tx_free - undo u4n_tx_alloc()
 * @l: the link
 */
void u4n_tx_free(struct u4n_link *l)
{
	struct device *dev = u4n_ring_dma_dev(l);
	struct u4n_tx_frame *tf;
	unsigned int i;

	for (i = 0; i < l->tx.size; i++) {
		tf = &l->tx.frames[i];
		if (!tf->slot)
			break;
		dma_unmap_single(dev, tf->slot_dma, U4N_SLOT_SIZE,
				 DMA_TO_DEVICE);
		kfree(tf->slot);
	}
	kvfree(l->tx.frames);
	l->tx.frames = NULL;
}
