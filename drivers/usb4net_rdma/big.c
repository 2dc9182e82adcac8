// SPDX-License-Identifier: GPL-2.0
/*
 * What TCP hands us in one piece of more than 64 KiB ("BIG TCP", once the
 * administrator has raised gso_max_size or gso_ipv4_max_size) does not fit a packet
 * of the protocol. It is cut where a segment ends, into packets as large as can
 * be, and the headers of each are made from those of the whole, as a network
 * card would. The receiver sees nothing but packets; its GRO may put them together
 * again.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>

#include "u4n.h"

/* Payload of one packet: full segments, and no more than an IP header can tell */
static unsigned int u4n_big_payload(const struct sk_buff *skb, unsigned int hdr)
{
	unsigned int max = IP_MAX_MTU + skb_network_offset(skb) - hdr;

	return max / skb_shinfo(skb)->gso_size * skb_shinfo(skb)->gso_size;
}

/**
 * u4n_big_ok - can this skb be cut here?
 * @l: the link
 * @skb: GSO packet above %U4N_MAX_PACKET, whose headers are where they should be
 *
 * Return: true if it can.
 */
bool u4n_big_ok(const struct u4n_link *l, const struct sk_buff *skb)
{
	unsigned int hdr = u4n_meta_gso_hdr_len(skb);
	unsigned int payload;

	if (!READ_ONCE(l->tx.big) || skb->encapsulation ||
	    skb_has_frag_list(skb) ||
	    hdr - skb_network_offset(skb) > U4N_INLINE_HDR)
		return false;
	if (skb_shinfo(skb)->gso_type & SKB_GSO_TCPV6) {
		/* without a jumbo payload option */
		if (ipv6_hdr(skb)->nexthdr != IPPROTO_TCP)
			return false;
	} else if (!(skb_shinfo(skb)->gso_type & SKB_GSO_TCPV4)) {
		return false;
	}
	payload = u4n_big_payload(skb, hdr);
	return payload && skb->len - hdr <= payload * U4N_BIG_PACKETS;
}

/**
 * u4n_big_prepare - get ready to cut a big skb
 * @l: the link
 * @skb: the skb
 * @plan: result, for u4n_big_next()
 *
 * Return: 0 or a negative error; it has been counted.
 */
int u4n_big_prepare(struct u4n_link *l, struct sk_buff *skb,
		    struct u4n_tx_plan *plan)
{
	if (!skb_is_gso(skb) || !u4n_meta_gso_hdr_len(skb) ||
	    !u4n_big_ok(l, skb) ||
	    u4n_meta_from_skb(skb, l->tx.caps, &plan->meta)) {
		u4n_tx_count(l, U4N_TX_DROP_META, 1);
		return -EOPNOTSUPP;
	}
	plan->inl = plan->meta.gso_hdr_len;
	plan->end = plan->inl;
	plan->walk = u4n_tx_walk_from(skb, plan->end);
	plan->cut = true;
	return 0;
}

/**
 * u4n_big_next - plan the next packet of a big skb
 * @l: the link
 * @skb: the skb
 * @plan: the plan for the packet before
 *
 * Return: false if that was the last one.
 */
bool u4n_big_next(struct u4n_link *l, const struct sk_buff *skb,
		  struct u4n_tx_plan *plan)
{
	unsigned int len;

	plan->pos = plan->end;
	len = min(skb->len - plan->pos, u4n_big_payload(skb, plan->inl));
	if (!len)
		return false;
	plan->end += len;
	if (len <= skb_shinfo(skb)->gso_size) {
		plan->meta.gso_type = 0;
		plan->meta.gso_size = 0;
		plan->meta.gso_hdr_len = 0;
	}
	u4n_tx_pack(plan);
	if (plan->packed)
		u4n_tx_count(l, U4N_TX_PACKED, 1);
	return true;
}

/**
 * u4n_big_header - make the headers of a packet
 * @skb: big skb
 * @plan: which part of it the packet is
 * @buf: where to, holds the headers of the skb
 */
void u4n_big_header(const struct sk_buff *skb, const struct u4n_tx_plan *plan,
		    void *buf)
{
	unsigned int segs = (plan->pos - plan->inl) / skb_shinfo(skb)->gso_size;
	unsigned int nh = skb_network_offset(skb);
	unsigned int th = skb_checksum_start_offset(skb);
	unsigned int len = plan->inl + plan->end - plan->pos;
	struct ipv6hdr *ip6;
	struct tcphdr *tcp;
	struct iphdr *ip4;
	/* IP headers are aligned in here */
	u8 hdr[U4N_INLINE_HDR] __aligned(4);

	memcpy(hdr, buf + nh, plan->inl - nh);
	tcp = (struct tcphdr *)(hdr + th - nh);
	if (skb_shinfo(skb)->gso_type & SKB_GSO_TCPV6) {
		ip6 = (struct ipv6hdr *)hdr;
		ip6->payload_len = htons(len - nh - sizeof(*ip6));
		tcp->check = ~tcp_v6_check(len - th, &ip6->saddr, &ip6->daddr,
					   0);
	} else {
		ip4 = (struct iphdr *)hdr;
		ip4->tot_len = htons(len - nh);
		ip4->id = htons(ntohs(ip4->id) + segs);
		ip_send_check(ip4);
		tcp->check = ~tcp_v4_check(len - th, ip4->saddr, ip4->daddr, 0);
	}
	tcp->seq = htonl(ntohl(tcp->seq) + plan->pos - plan->inl);
	if (plan->pos != plan->inl)
		tcp->cwr = 0;
	if (plan->end != skb->len) {
		tcp->fin = 0;
		tcp->psh = 0;
	}
	memcpy(buf + nh, hdr, plan->inl - nh);
}
