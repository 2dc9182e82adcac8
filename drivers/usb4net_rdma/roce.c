// SPDX-License-Identifier: GPL-2.0
/*
 * RoCE link: the way of an RDMA device on top of the network device past the
 * IP stack.
 *
 * Each side tells the other which GIDs are its own, as a list with a version
 * that is repeated until it is acknowledged. Packets for a GID of the peer take
 * the link; a packet for a GID of ours goes to the RDMA device. What comes in
 * for others goes up the stack as any packet does, but for packets without ICRC or
 * that stand for several PSNs: they are good for the link only, and dropped.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>
#include <rdma/roce_link.h>

#include "u4n.h"

static_assert(sizeof(union ib_gid) == U4N_GID_SIZE);
static_assert(U4N_MAX_NPSN == ROCE_LINK_MAX_NPSN);

/* What both ends have to want: a private flag, the protocol's names, the client's */
static const struct {
	u32 flag;
	u32 cap;
	u8 gids;
	u32 link_cap;
} u4n_roce_options[] = {
	{ U4N_ROCE_ELIDE_ICRC, U4N_CAP_NO_ICRC, U4N_GIDS_NO_ICRC,
	  ROCE_LINK_CAP_NO_ICRC },
	{ U4N_ROCE_MULTI_PSN, U4N_CAP_MULTI_PSN, U4N_GIDS_MULTI_PSN,
	  ROCE_LINK_CAP_MULTI_PSN },
};

/**
 * struct u4n_gids - a list of GIDs, constant once it is published
 * @rcu: to free it
 * @version: as on the wire
 * @caps: ROCE_LINK_CAP_* towards them
 * @count: number of GIDs
 * @gid: the GIDs
 */
struct u4n_gids {
	struct rcu_head rcu;
	u32 version;
	u32 caps;
	unsigned int count;
	union ib_gid gid[] __counted_by(count);
};

static int u4n_gids_find(const struct u4n_gids *gids, const union ib_gid *gid)
{
	unsigned int i;

	for (i = 0; gids && i < gids->count; i++)
		if (!memcmp(&gids->gid[i], gid, sizeof(*gid)))
			return i;
	return -ENOENT;
}

static struct u4n_gids *u4n_gids_alloc(unsigned int count, gfp_t gfp)
{
	struct u4n_gids *gids;

	gids = kzalloc(struct_size(gids, gid, count), gfp);
	if (gids)
		gids->count = count;
	return gids;
}

/* Publish a list and free the old one. Under the lock. */
static void u4n_gids_replace(struct u4n_roce *roce, struct u4n_gids __rcu **where,
			     struct u4n_gids *gids)
{
	struct u4n_gids *old;

	old = rcu_replace_pointer(*where, gids, lockdep_is_held(&roce->lock));
	if (old)
		kfree_rcu(old, rcu);
}

/*
 * Make the list of our GIDs that has @add and not @del. The client's calls are
 * serialised, so the list does not change before it is replaced.
 */
static int u4n_roce_change(struct u4n_link *l, const union ib_gid *add,
			   const union ib_gid *del)
{
	struct u4n_roce *roce = &l->roce;
	struct u4n_gids *gids, *old;
	unsigned int i, n = 0;

	old = rcu_dereference_protected(roce->local, true);
	if (add && u4n_gids_find(old, add) >= 0)
		return 0;
	if (del && u4n_gids_find(old, del) < 0)
		return 0;
	if (add && old && old->count >= U4N_MAX_GIDS)
		return -ENOSPC;

	gids = u4n_gids_alloc((old ? old->count : 0) + 1, GFP_KERNEL);
	if (!gids)
		return -ENOMEM;
	for (i = 0; old && i < old->count; i++)
		if (!del || memcmp(&old->gid[i], del, sizeof(*del)))
			gids->gid[n++] = old->gid[i];
	if (add)
		gids->gid[n++] = *add;
	gids->count = n;

	spin_lock_bh(&roce->lock);
	gids->version = ++roce->version;
	u4n_gids_replace(roce, &roce->local, gids);
	spin_unlock_bh(&roce->lock);

	u4n_hs_kick(l);
	return 0;
}

/* Have the list sent again, as it is or with other flags */
static void u4n_roce_renew(struct u4n_link *l)
{
	struct u4n_roce *roce = &l->roce;
	struct u4n_gids *local;

	lockdep_assert_held(&roce->lock);
	local = rcu_dereference_protected(roce->local,
					  lockdep_is_held(&roce->lock));
	roce->version++;
	if (local)
		WRITE_ONCE(local->version, roce->version);
	u4n_hs_kick(l);
}

static int u4n_roce_start(struct net_device *ndev, u32 caps)
{
	struct u4n_link *l = netdev_priv(ndev);

	WRITE_ONCE(l->roce.client_caps, caps);
	return 0;
}

static int u4n_roce_gid_add(struct net_device *ndev, const union ib_gid *gid)
{
	return u4n_roce_change(netdev_priv(ndev), gid, NULL);
}

/* The peer must not go on sending, so this must not fail for lack of memory */
static void u4n_roce_gid_del(struct net_device *ndev, const union ib_gid *gid)
{
	struct u4n_link *l = netdev_priv(ndev);
	struct u4n_roce *roce = &l->roce;

	if (u4n_roce_change(l, NULL, gid) != -ENOMEM)
		return;

	spin_lock_bh(&roce->lock);
	roce->version++;
	u4n_gids_replace(roce, &roce->local, NULL);
	spin_unlock_bh(&roce->lock);
	u4n_hs_kick(l);
}

static void u4n_roce_stop(struct net_device *ndev)
{
	struct u4n_link *l = netdev_priv(ndev);
	struct u4n_roce *roce = &l->roce;

	spin_lock_bh(&roce->lock);
	roce->version++;
	u4n_gids_replace(roce, &roce->local, NULL);
	spin_unlock_bh(&roce->lock);
	u4n_hs_kick(l);
}

static u32 u4n_roce_caps(struct net_device *ndev, const union ib_gid *dgid)
{
	struct u4n_link *l = netdev_priv(ndev);
	u32 flags = READ_ONCE(l->roce.flags);
	const struct u4n_gids *gids;
	u32 caps;

	gids = rcu_dereference(l->roce.remote);
	if (!(flags & U4N_ROCE_BYPASS) || u4n_gids_find(gids, dgid) < 0)
		return 0;
	caps = gids->caps;
	if (!(flags & U4N_ROCE_ELIDE_ICRC))
		caps &= ~ROCE_LINK_CAP_NO_ICRC;
	if (!(flags & U4N_ROCE_MULTI_PSN))
		caps &= ~ROCE_LINK_CAP_MULTI_PSN;
	return caps;
}

static int u4n_roce_xmit(struct net_device *ndev, struct sk_buff *skb)
{
	return u4n_tx_roce(netdev_priv(ndev), skb);
}

static void u4n_roce_reap(struct net_device *ndev)
{
	u4n_tx_roce_reap(netdev_priv(ndev));
}

static const struct roce_link_ops u4n_roce_ops = {
	.start = u4n_roce_start,
	.stop = u4n_roce_stop,
	.gid_add = u4n_roce_gid_add,
	.gid_del = u4n_roce_gid_del,
	.caps = u4n_roce_caps,
	.xmit = u4n_roce_xmit,
	.reap = u4n_roce_reap,
};

/**
 * u4n_roce_send_gids - tell the peer our GIDs unless it has acknowledged them
 * @l: the link
 *
 * Return: true if there is an acknowledgment to wait for.
 */
bool u4n_roce_send_gids(struct u4n_link *l)
{
	struct u4n_roce *roce = &l->roce;
	u32 flags = READ_ONCE(roce->flags);
	struct u4n_ctl ctl = {
		.type = U4N_CTL_GIDS,
		.cookie = l->hs.peer.cookie,
	};
	const struct u4n_gids *gids;
	unsigned int i;
	bool same;

	if (!(l->hs.peer.caps & U4N_CAP_ROCE))
		return false;
	ctl.arg = READ_ONCE(roce->version);
	if (ctl.arg == READ_ONCE(roce->acked))
		return false;

	rcu_read_lock();
	gids = rcu_dereference(roce->local);
	same = gids && READ_ONCE(gids->version) == ctl.arg;
	if (same && flags & U4N_ROCE_BYPASS) {
		ctl.count = gids->count;
		ctl.gids = gids->gid;
	}
	for (i = 0; i < ARRAY_SIZE(u4n_roce_options); i++)
		if (flags & u4n_roce_options[i].flag &&
		    l->hs.peer.caps & u4n_roce_options[i].cap &&
		    READ_ONCE(roce->client_caps) & u4n_roce_options[i].link_cap)
			ctl.flags |= u4n_roce_options[i].gids;
	/* else the list is empty, or newer and will be sent the next time */
	if (!gids || same)
		u4n_tx_control(l, &ctl, false);
	rcu_read_unlock();
	return true;
}

/**
 * u4n_roce_rcv_gids - the peer has sent the list of its GIDs
 * @l: the link
 * @ctl: the message, checked
 *
 * Without memory for it the message is as good as lost, and will be repeated. So is
 * one too many: old lists are freed late, and a peer could have us collect them.
 */
void u4n_roce_rcv_gids(struct u4n_link *l, const struct u4n_ctl *ctl)
{
	struct u4n_roce *roce = &l->roce;
	struct u4n_gids *gids;
	unsigned int i;

	if (u4n_roce_remote_version(l) == ctl->arg ||
	    !u4n_limit_ok(&roce->taken, jiffies))
		return;
	gids = u4n_gids_alloc(ctl->count, GFP_ATOMIC | __GFP_NOWARN);
	if (!gids)
		return;
	gids->version = ctl->arg;
	gids->caps = ROCE_LINK_CAP_REACH;
	for (i = 0; i < ARRAY_SIZE(u4n_roce_options); i++)
		if (ctl->flags & u4n_roce_options[i].gids)
			gids->caps |= u4n_roce_options[i].link_cap;
	memcpy(gids->gid, ctl->gids, ctl->count * U4N_GID_SIZE);

	spin_lock(&roce->lock);
	u4n_gids_replace(roce, &roce->remote, gids);
	spin_unlock(&roce->lock);
}

/**
 * u4n_roce_remote_version - version of the peer's list that is in use
 * @l: the link
 *
 * Return: the version, 0 if there is none.
 */
u32 u4n_roce_remote_version(struct u4n_link *l)
{
	const struct u4n_gids *gids;
	u32 version;

	rcu_read_lock();
	gids = rcu_dereference(l->roce.remote);
	version = gids ? gids->version : 0;
	rcu_read_unlock();
	return version;
}

/**
 * u4n_roce_remote_count - number of GIDs that the peer takes bypassed packets for
 * @l: the link
 *
 * Return: the number, 0 if it wants none.
 */
unsigned int u4n_roce_remote_count(struct u4n_link *l)
{
	const struct u4n_gids *gids;
	unsigned int count;

	rcu_read_lock();
	gids = rcu_dereference(l->roce.remote);
	count = gids ? gids->count : 0;
	rcu_read_unlock();
	return count;
}

/**
 * u4n_roce_rcv_gids_ack - the peer has our GIDs
 * @l: the link
 * @version: version of the list
 */
void u4n_roce_rcv_gids_ack(struct u4n_link *l, u32 version)
{
	WRITE_ONCE(l->roce.acked, version);
}

/* The GID that a RoCEv2 packet is for. Headers are in the linear part. */
static bool u4n_roce_dgid(const struct sk_buff *skb, union ib_gid *gid)
{
	const struct ipv6hdr *ip6 = (struct ipv6hdr *)skb->data;
	const struct iphdr *ip4 = (struct iphdr *)skb->data;
	const struct udphdr *udp;

	if (skb->protocol == htons(ETH_P_IP) &&
	    skb_headlen(skb) >= sizeof(*ip4) + sizeof(*udp) &&
	    ip4->version == 4 && ip4->ihl == 5 && !ip_is_fragment(ip4) &&
	    ip4->protocol == IPPROTO_UDP) {
		ipv6_addr_set_v4mapped(ip4->daddr, (struct in6_addr *)gid);
		udp = (struct udphdr *)(ip4 + 1);
	} else if (skb->protocol == htons(ETH_P_IPV6) &&
		   skb_headlen(skb) >= sizeof(*ip6) + sizeof(*udp) &&
		   ip6->version == 6 && ip6->nexthdr == IPPROTO_UDP) {
		memcpy(gid, &ip6->daddr, sizeof(*gid));
		udp = (struct udphdr *)(ip6 + 1);
	} else {
		return false;
	}
	return udp->dest == htons(ROCE_V2_UDP_DPORT);
}

/*
 * A copy of a packet for packet sockets. What the packet consists of may be
 * reused as soon as it has been sent or received, so nothing of it is shared. A
 * packet without ICRC gets what it is short of, zeros, for it to look like any
 * other.
 */
static struct sk_buff *u4n_roce_copy(const struct sk_buff *skb)
{
	unsigned int len = skb->len - skb_network_offset(skb);
	unsigned int short_of = 0, full = 0;
	struct sk_buff *copy;

	if (skb->protocol == htons(ETH_P_IP))
		full = ntohs(ip_hdr(skb)->tot_len);
	else if (skb->protocol == htons(ETH_P_IPV6))
		full = sizeof(struct ipv6hdr) +
		       ntohs(ipv6_hdr(skb)->payload_len);
	if (full > len && full - len <= U4N_ROCE_TRAILER_MAX)
		short_of = full - len;

	copy = skb_copy_expand(skb, skb_headroom(skb), short_of,
			       GFP_ATOMIC | __GFP_NOWARN);
	if (copy)
		skb_put_zero(copy, short_of);
	return copy;
}

/**
 * u4n_roce_tap_tx - show a packet that is sent to packet sockets
 * @l: the link
 * @skb: the packet, with its Ethernet header
 */
void u4n_roce_tap_tx(struct u4n_link *l, const struct sk_buff *skb)
{
	struct sk_buff *copy = u4n_roce_copy(skb);

	if (!copy)
		return;
	dev_queue_xmit_nit(copy, l->ndev);
	consume_skb(copy);
}

/*
 * The same for one that is received. The copy is marked as somebody else's, so
 * that IP drops it. A bridge or the like would forward it: then it is not shown.
 */
static void u4n_roce_tap_rx(struct u4n_link *l, const struct sk_buff *skb)
{
	struct sk_buff *copy;

	if (!dev_nit_active(l->ndev) || rcu_access_pointer(l->ndev->rx_handler))
		return;
	copy = u4n_roce_copy(skb);
	if (!copy)
		return;
	copy->pkt_type = PACKET_OTHERHOST;
	netif_receive_skb(copy);
}

/* Give a packet to the RDMA device if it is for one of its GIDs */
static bool u4n_roce_rcv_client(struct u4n_link *l, struct sk_buff *skb)
{
	unsigned int len = skb->len + ETH_HLEN;
	struct roce_link *link;
	union ib_gid gid;
	bool taken = false;

	if (!u4n_roce_dgid(skb, &gid))
		return false;

	rcu_read_lock();
	link = rcu_dereference(l->roce.link);
	if (link && u4n_gids_find(rcu_dereference(l->roce.local), &gid) >= 0) {
		u4n_roce_tap_rx(l, skb);
		taken = roce_link_rcv(link, skb);
	}
	rcu_read_unlock();
	if (!taken)
		return false;

	u4n_rx_count(l, U4N_RX_ROCE_PACKETS, 1);
	u4n_rx_count(l, U4N_RX_ROCE_BYTES, len);
	return true;
}

/*
 * A packet that is good for the link only and that nobody here can take. The peer
 * either does not know yet that the GID has gone, or has it wrong: see to it
 * that it is told.
 */
static void u4n_roce_drop(struct u4n_link *l, struct sk_buff *skb, u32 needs)
{
	struct u4n_roce *roce = &l->roce;

	if (needs & ROCE_LINK_CAP_NO_ICRC)
		u4n_rx_count(l, U4N_RX_ROCE_DROP_NO_ICRC, 1);
	if (needs & ROCE_LINK_CAP_MULTI_PSN)
		u4n_rx_count(l, U4N_RX_ROCE_DROP_MULTI_PSN, 1);
	kfree_skb(skb);

	spin_lock(&roce->lock);
	if (READ_ONCE(roce->acked) == roce->version &&
	    u4n_limit_ok(&roce->renewals, jiffies))
		u4n_roce_renew(l);
	spin_unlock(&roce->lock);
}

/**
 * u4n_roce_rcv - a packet has come through the peer's RoCE link
 * @l: the link
 * @skb: packet, with its Ethernet header
 * @m: its metadata, checked by u4n_head_parse()
 *
 * The peer's idea of our MAC address may be old, and does not matter: the packet
 * was meant for this host.
 */
void u4n_roce_rcv(struct u4n_link *l, struct sk_buff *skb,
		  const struct u4n_meta *m)
{
	bool no_icrc = m->flags & U4N_META_NO_ICRC;
	u32 needs = 0;

	if (no_icrc)
		needs |= ROCE_LINK_CAP_NO_ICRC;
	if (m->npsn)
		needs |= ROCE_LINK_CAP_MULTI_PSN;

	skb->protocol = eth_type_trans(skb, l->ndev);
	skb->pkt_type = PACKET_HOST;
	skb_reset_network_header(skb);
	ROCE_LINK_CB(skb)->flags = no_icrc ? ROCE_LINK_NO_ICRC : 0;
	ROCE_LINK_CB(skb)->npsn = m->npsn;

	if (!(needs & ~READ_ONCE(l->roce.client_caps)) &&
	    u4n_roce_rcv_client(l, skb))
		return;
	if (needs) {
		u4n_roce_drop(l, skb, needs);
		return;
	}

	u4n_rx_count(l, U4N_RX_ROCE_TO_STACK, 1);
	napi_gro_receive(&l->napi, skb);
}

/**
 * u4n_roce_meta_from_skb - what a packet from the RoCE link has to say of itself
 * @skb: the packet
 * @m: metadata, all 0
 */
void u4n_roce_meta_from_skb(const struct sk_buff *skb, struct u4n_meta *m)
{
	const struct roce_link_cb *cb = ROCE_LINK_CB(skb);

	if (cb->flags & ROCE_LINK_NO_ICRC)
		m->flags = U4N_META_NO_ICRC;
	if (cb->npsn > 1)
		m->npsn = cb->npsn;
}

/**
 * u4n_roce_needs - what the peer must understand to take a packet
 * @skb: the packet
 *
 * Return: U4N_CAP_*.
 */
u32 u4n_roce_needs(const struct sk_buff *skb)
{
	const struct roce_link_cb *cb = ROCE_LINK_CB(skb);
	u32 caps = U4N_CAP_ROCE;

	if (cb->flags & ROCE_LINK_NO_ICRC)
		caps |= U4N_CAP_NO_ICRC;
	if (cb->npsn > 1)
		caps |= U4N_CAP_MULTI_PSN;
	return caps;
}

/**
 * u4n_roce_set_flags - change the private flags
 * @l: the link
 * @flags: U4N_ROCE_*
 *
 * What they say holds for what we send, and the peer is told for what it sends.
 */
void u4n_roce_set_flags(struct u4n_link *l, u32 flags)
{
	struct u4n_roce *roce = &l->roce;

	spin_lock_bh(&roce->lock);
	if (flags != roce->flags) {
		WRITE_ONCE(roce->flags, flags);
		u4n_roce_renew(l);
	}
	spin_unlock_bh(&roce->lock);
}

/**
 * u4n_roce_reset - forget what the peer has told and what it was told
 * @l: the link
 */
void u4n_roce_reset(struct u4n_link *l)
{
	struct u4n_roce *roce = &l->roce;

	spin_lock_bh(&roce->lock);
	u4n_gids_replace(roce, &roce->remote, NULL);
	roce->acked = 0;
	if (!roce->version)
		roce->version = 1;
	spin_unlock_bh(&roce->lock);
}

/**
 * u4n_roce_setup - initialise the RoCE link of a new link
 * @l: the link
 */
void u4n_roce_setup(struct u4n_link *l)
{
	spin_lock_init(&l->roce.lock);
	l->roce.version = 1;
	u4n_limit_init(&l->roce.taken, U4N_GIDS_BURST, U4N_GIDS_RATE);
	u4n_limit_init(&l->roce.renewals, U4N_GIDS_BURST, U4N_GIDS_RATE);
	l->roce.flags = U4N_ROCE_BYPASS | U4N_ROCE_ELIDE_ICRC |
			U4N_ROCE_MULTI_PSN;
}

/**
 * u4n_roce_register - make the network device a RoCE link
 * @l: the link
 *
 * Return: 0 or a negative error.
 */
int u4n_roce_register(struct u4n_link *l)
{
	struct roce_link *link;

	link = roce_link_register(l->ndev, &u4n_roce_ops);
	if (IS_ERR(link))
		return PTR_ERR(link);
	rcu_assign_pointer(l->roce.link, link);
	return 0;
}

/**
 * u4n_roce_unregister - undo u4n_roce_register()
 * @l: the link
 *
 * NAPI must have let go of the registration before it is given back.
 */
void u4n_roce_unregister(struct u4n_link *l)
{
	struct roce_link *link;

	link = rcu_replace_pointer(l->roce.link, NULL, true);
	synchronize_net();
	roce_link_unregister(link);
}

/**
 * u4n_roce_free - free the lists
 * @l: the link, which nobody uses any more
 */
void u4n_roce_free(struct u4n_link *l)
{
	struct u4n_roce *roce = &l->roce;

	spin_lock_bh(&roce->lock);
	u4n_gids_replace(roce, &roce->local, NULL);
	u4n_gids_replace(roce, &roce->remote, NULL);
	spin_unlock_bh(&roce->lock);
}
