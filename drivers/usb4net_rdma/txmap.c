// SPDX-License-Identifier: GPL-2.0
/*
 * How a packet becomes frames: what of it is copied into the HEAD frame, and
 * what goes out from where it is.
 *
 * Each piece of a packet, that is the rest of its linear part or a fragment, is
 * mapped once and cut into frames. A packet in more pieces than a receiver takes
 * is packed: where a piece does not end with a full frame, the next 4096 bytes
 * are copied together.
 */
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>

#include "u4n.h"

/**
 * u4n_tx_walk_from - begin to walk along a packet
 * @skb: packet
 * @pos: where
 *
 * Return: the place.
 */
struct u4n_tx_walk u4n_tx_walk_from(const struct sk_buff *skb, unsigned int pos)
{
	return (struct u4n_tx_walk){
		.skb = skb,
		.more = skb_shinfo(skb)->frag_list,
		.offset = pos,
		.size = skb_headlen(skb),
	};
}

static bool u4n_tx_nested(const struct sk_buff *skb)
{
	const struct sk_buff *iter;

	skb_walk_frags(skb, iter)
		if (skb_has_frag_list(iter))
			return true;
	return false;
}

/* Number of BODY frames if nothing is copied. @skip: bytes that are not sent */
static unsigned int u4n_tx_pieces(const struct sk_buff *skb, unsigned int skip)
{
	const struct skb_shared_info *shinfo = skb_shinfo(skb);
	unsigned int i, n;

	n = DIV_ROUND_UP(skb_headlen(skb) - skip, U4N_FRAME_SIZE);
	for (i = 0; i < shinfo->nr_frags; i++)
		n += DIV_ROUND_UP(skb_frag_size(&shinfo->frags[i]),
				  U4N_FRAME_SIZE);
	return n;
}

/**
 * u4n_tx_plan - decide what of a packet is copied and what is not
 * @l: the link
 * @skb: packet that has passed u4n_tx_prepare()
 * @plan: result; its @meta and @need are set already
 *
 * Data in the linear part that does not fill a frame is copied with the headers,
 * which saves the frame.
 */
void u4n_tx_plan(struct u4n_link *l, const struct sk_buff *skb,
		 struct u4n_tx_plan *plan)
{
	unsigned int hdr = max(U4N_INLINE_HDR, plan->need);
	unsigned int headlen = skb_headlen(skb);
	const struct sk_buff *iter;
	unsigned int rest;

	plan->bodies = 0;
	plan->packed = false;
	plan->cut = false;
	plan->end = skb->len;
	plan->inl = skb->len;
	if (skb->len <= max(READ_ONCE(l->tx.copybreak), plan->need))
		return;

	plan->inl = headlen;
	if (headlen > hdr) {
		rest = (headlen - hdr) % U4N_FRAME_SIZE;
		plan->inl = hdr;
		if (rest <= U4N_INLINE_MAX - hdr)
			plan->inl += rest;
	}
	plan->pos = plan->inl;
	plan->walk = u4n_tx_walk_from(skb, plan->pos);
	plan->bodies = u4n_tx_pieces(skb, plan->inl);
	skb_walk_frags(skb, iter)
		plan->bodies += u4n_tx_pieces(iter, 0);
	if (plan->bodies > U4N_MAX_BODIES) {
		plan->packed = true;
		plan->bodies = DIV_ROUND_UP(skb->len - plan->inl,
					    U4N_FRAME_SIZE);
	}
}

/**
 * u4n_tx_prepare - check a packet and make a plan that the protocol allows
 * @l: the link
 * @skb: packet
 * @type: &enum u4n_head_type
 * @plan: result
 *
 * Return: 0 or a negative error; it has been counted.
 */
int u4n_tx_prepare(struct u4n_link *l, struct sk_buff *skb, u8 type,
		   struct u4n_tx_plan *plan)
{
	struct u4n_meta *m = &plan->meta;

	if (skb->len < ETH_HLEN ||
	    skb->len > (skb_is_gso(skb) ? u4n_tx_max_packet(l) :
					  U4N_MAX_PACKET)) {
		u4n_tx_count(l, U4N_TX_DROP_SIZE, 1);
		return -EMSGSIZE;
	}
	if (u4n_meta_from_skb(skb, type == U4N_HEAD_ETH ? l->tx.caps : 0, m)) {
		u4n_tx_count(l, U4N_TX_DROP_META, 1);
		return -EOPNOTSUPP;
	}

	/* what a receiver wants to find in the HEAD frame */
	plan->need = ETH_HLEN;
	if (m->gso_type)
		plan->need = m->gso_hdr_len;
	else if (m->flags & U4N_META_NEEDS_CSUM)
		plan->need = m->csum_start + m->csum_offset + sizeof(__sum16);
	if (plan->need > min(skb->len, U4N_INLINE_MAX)) {
		u4n_tx_count(l, U4N_TX_DROP_META, 1);
		return -EINVAL;
	}
	if (!pskb_may_pull(skb, plan->need) ||
	    (u4n_tx_nested(skb) && skb_linearize(skb))) {
		u4n_tx_count(l, U4N_TX_DROP_NOMEM, 1);
		return -ENOMEM;
	}

	u4n_tx_plan(l, skb, plan);
	if (plan->packed)
		u4n_tx_count(l, U4N_TX_PACKED, 1);
	return 0;
}

/* Go on to the next piece if this one is done with. False at the end. */
static bool u4n_tx_walk(struct u4n_tx_walk *w)
{
	const struct skb_shared_info *shinfo;

	while (w->offset >= w->size) {
		w->offset -= w->size;
		shinfo = skb_shinfo(w->skb);
		if (w->nr_frag < shinfo->nr_frags) {
			w->frag = &shinfo->frags[w->nr_frag++];
			w->size = skb_frag_size(w->frag);
		} else if (w->more) {
			w->skb = w->more;
			w->more = w->skb->next;
			w->frag = NULL;
			w->nr_frag = 0;
			w->size = skb_headlen(w->skb);
		} else {
			return false;
		}
	}
	return true;
}

/**
 * u4n_tx_pack - count the BODY frames for a part of a packet
 * @plan: its @walk, @pos and @end are used, @bodies and @packed are set
 */
void u4n_tx_pack(struct u4n_tx_plan *plan)
{
	struct u4n_tx_walk w = plan->walk;
	unsigned int pos = plan->pos;
	unsigned int rest;

	plan->bodies = 0;
	while (pos < plan->end && u4n_tx_walk(&w)) {
		rest = min(w.size - w.offset, plan->end - pos);
		plan->bodies += DIV_ROUND_UP(rest, U4N_FRAME_SIZE);
		w.offset += rest;
		pos += rest;
	}
	plan->packed = plan->bodies > U4N_MAX_BODIES;
	if (plan->packed)
		plan->bodies = DIV_ROUND_UP(plan->end - plan->pos,
					    U4N_FRAME_SIZE);
}

/* Map @len bytes of the current piece, for the frames from *@next on */
static int u4n_tx_map_piece(struct u4n_link *l, struct u4n_tx_walk *w,
			    unsigned int len, u32 *next)
{
	struct u4n_tx_frame *tf = u4n_tx_frame(l, *next);
	struct device *dev = u4n_ring_dma_dev(l);
	dma_addr_t dma;

	if (w->frag)
		dma = skb_frag_dma_map(dev, w->frag, w->offset, len,
				       DMA_TO_DEVICE);
	else
		dma = dma_map_single(dev, w->skb->data + w->offset, len,
				     DMA_TO_DEVICE);
	if (dma_mapping_error(dev, dma))
		return -ENOMEM;

	tf->map = w->frag ? U4N_MAP_PAGE : U4N_MAP_SINGLE;
	tf->map_dma = dma;
	tf->map_len = len;
	w->offset += len;
	*next += u4n_tx_piece_frames(tf);
	return 0;
}

/* Copy @len bytes from @pos of the packet on into a frame */
static int u4n_tx_map_copy(struct u4n_link *l, struct u4n_tx_walk *w,
			   const struct sk_buff *skb, unsigned int pos,
			   unsigned int len, u32 *next)
{
	struct u4n_tx_frame *tf = u4n_tx_frame(l, *next);
	struct device *dev = u4n_ring_dma_dev(l);
	struct page *page;
	dma_addr_t dma;

	page = dev_alloc_page();
	if (!page)
		return -ENOMEM;
	/* cannot fail, it is within the packet */
	skb_copy_bits(skb, pos, page_address(page), len);
	dma = dma_map_page(dev, page, 0, len, DMA_TO_DEVICE);
	if (dma_mapping_error(dev, dma)) {
		__free_page(page);
		return -ENOMEM;
	}

	tf->map = U4N_MAP_COPY;
	tf->map_dma = dma;
	tf->map_len = len;
	tf->copy = page;
	w->offset += len;
	(*next)++;
	return 0;
}

/**
 * u4n_tx_unmap - give back what is behind BODY frames
 * @l: the link
 * @index: the first one
 * @end: the first that is not one of them. They have been sent, or never will be.
 */
void u4n_tx_unmap(struct u4n_link *l, u32 index, u32 end)
{
	struct device *dev = u4n_ring_dma_dev(l);
	const struct u4n_tx_frame *tf;

	for (; index != end; index += u4n_tx_piece_frames(tf)) {
		tf = u4n_tx_frame(l, index);
		if (tf->map == U4N_MAP_SINGLE)
			dma_unmap_single(dev, tf->map_dma, tf->map_len,
					 DMA_TO_DEVICE);
		else
			dma_unmap_page(dev, tf->map_dma, tf->map_len,
				       DMA_TO_DEVICE);
		if (tf->map == U4N_MAP_COPY)
			__free_page(tf->copy);
	}
}

/**
 * u4n_tx_map - map everything behind the inline part, into the next frames
 * @l: the link
 * @skb: packet
 * @plan: its plan. @walk goes on to its end.
 *
 * Return: 0 or -ENOMEM; it has been counted.
 */
int u4n_tx_map(struct u4n_link *l, const struct sk_buff *skb,
	       struct u4n_tx_plan *plan)
{
	struct u4n_tx_walk w = plan->walk;
	unsigned int pos = plan->pos;
	u32 next = l->tx.head;
	unsigned int rest, part;

	while (pos < plan->end && u4n_tx_walk(&w)) {
		rest = min(w.size - w.offset, plan->end - pos);
		part = rest % U4N_FRAME_SIZE;
		if (!plan->packed || pos + rest == plan->end)
			part = 0;
		rest -= part;
		if (rest && u4n_tx_map_piece(l, &w, rest, &next))
			goto unmap;
		pos += rest;
		if (!part)
			continue;
		part = min(plan->end - pos, U4N_FRAME_SIZE);
		if (u4n_tx_map_copy(l, &w, skb, pos, part, &next))
			goto unmap;
		pos += part;
	}
	plan->walk = w;
	return 0;

unmap:
	u4n_tx_unmap(l, l->tx.head, next);
	u4n_tx_count(l, U4N_TX_DROP_MAP, 1);
	return -ENOMEM;
}
