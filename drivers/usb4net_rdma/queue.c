// SPDX-License-Identifier: GPL-2.0
/*
 * The two transmit queues that the stack sees. Both end in the one ring, whose
 * order is that in which they reach the driver. The first is for everything. It is
 * stopped while a packet of the largest size would not fit, and what waits then,
 * waits long. The second is for what is small and may pass by that: it has the
 * room that bulk leaves.
 *
 * The order within a flow is kept. A flow moves from one queue to the other only
 * when none of its packets waits in the one that it leaves:
 *
 *	to the small queue	if the kernel says so (skb->ooo_okay): everything
 *				that the socket has sent is on its way or there
 *	to the other one	if the small queue is empty
 *
 * Which queue a socket has used last, the socket remembers. Exempt are packets
 * whose order does not matter, acknowledgements of TCP without data among them.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/sch_generic.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "u4n.h"

/* One frame, whatever tx-copybreak is: see u4n_tx_plan() */
static bool u4n_queue_fits(const struct u4n_link *l, const struct sk_buff *skb)
{
	if (skb->len <= U4N_INLINE_HDR && !skb_is_nonlinear(skb))
		return true;
	return skb->len <= READ_ONCE(l->tx.copybreak);
}

/* A segment that only acknowledges. @len: length of header and data */
static bool u4n_queue_tcp_ack(const struct sk_buff *skb, unsigned int th,
			      unsigned int len)
{
	const struct tcphdr *tcp;
	struct tcphdr buf;

	tcp = skb_header_pointer(skb, th, sizeof(buf), &buf);
	return tcp && tcp->ack && !tcp->syn && !tcp->fin && !tcp->rst &&
	       len == __tcp_hdrlen(tcp);
}

/* Packets that may overtake others of their flow */
static bool u4n_queue_unordered(const struct sk_buff *skb)
{
	unsigned int nh = skb_network_offset(skb);
	const struct ipv6hdr *ip6;
	const struct iphdr *ip4;
	struct ipv6hdr buf;
	unsigned int th;

	if (skb_is_tcp_pure_ack(skb))
		return true;
	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_ARP):
		return true;
	case htons(ETH_P_IP):
		ip4 = skb_header_pointer(skb, nh, sizeof(*ip4), &buf);
		if (!ip4 || ip4->ihl < 5 || ip_is_fragment(ip4))
			return false;
		if (ip4->protocol == IPPROTO_ICMP)
			return true;
		th = nh + ip4->ihl * 4;
		return ip4->protocol == IPPROTO_TCP &&
		       u4n_queue_tcp_ack(skb, th, nh + ntohs(ip4->tot_len) - th);
	case htons(ETH_P_IPV6):
		ip6 = skb_header_pointer(skb, nh, sizeof(*ip6), &buf);
		if (!ip6)
			return false;
		if (ip6->nexthdr == IPPROTO_ICMPV6)
			return true;
		return ip6->nexthdr == IPPROTO_TCP &&
		       u4n_queue_tcp_ack(skb, nh + sizeof(*ip6),
					 ntohs(ip6->payload_len));
	default:
		/* neighbours' own protocols: STP, LACP, LLDP */
		return is_link_local_ether_addr(skb->data);
	}
}

/*
 * Has the driver got everything that was given to the small queue? If the
 * administrator has put one qdisc in front of both queues, the order is that
 * one's.
 */
static bool u4n_queue_drained(struct net_device *ndev)
{
	struct netdev_queue *txq = netdev_get_tx_queue(ndev, U4N_QUEUE_SMALL);
	struct Qdisc *q = rcu_dereference_bh(txq->qdisc);

	return q->dev_queue != txq ||
	       (qdisc_is_empty(q) && !qdisc_is_running(q));
}

/**
 * u4n_queue_select - ndo_select_queue
 * @ndev: network device
 * @skb: packet, with its Ethernet header
 * @sb_dev: not used
 *
 * Return: the queue that it goes to.
 */
u16 u4n_queue_select(struct net_device *ndev, struct sk_buff *skb,
		     struct net_device *sb_dev)
{
	bool small = u4n_queue_fits(netdev_priv(ndev), skb);
	struct sock *sk = skb->sk;
	bool was_small;
	u16 queue;

	if (!sk || !sk_fullsock(sk))
		return small && u4n_queue_unordered(skb) ? U4N_QUEUE_SMALL :
							   U4N_QUEUE_BULK;

	was_small = READ_ONCE(sk->sk_tx_queue_mapping) == U4N_QUEUE_SMALL;
	if (small) {
		if (!was_small && !u4n_skb_alone(skb))
			return u4n_queue_unordered(skb) ? U4N_QUEUE_SMALL :
							  U4N_QUEUE_BULK;
		queue = U4N_QUEUE_SMALL;
	} else {
		queue = U4N_QUEUE_BULK;
		if (was_small && !u4n_skb_alone(skb) && !u4n_queue_drained(ndev))
			queue = U4N_QUEUE_SMALL;
	}
	sk_tx_queue_set(sk, queue);
	return queue;
}
