/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RoCE link: carry RoCEv2 packets between an RDMA device and a network driver
 * without the IP stack.
 *
 * A network driver that knows which GIDs live at the other end of its wire
 * registers its net_device (a "link"). The RDMA device on top of that
 * net_device (the "client") attaches to the link, announces its own GIDs, and
 * exchanges whole RoCEv2 packets, from the IP header to the ICRC, with the
 * driver. Neither module depends on the other, both on this one.
 *
 * Life time and locking
 *
 * - The link belongs to the driver, from roce_link_register() (before
 *   register_netdev(), so that no client misses it) to roce_link_unregister()
 *   (before unregister_netdev()). Moving the net_device to another network
 *   namespace does not concern the link.
 * - roce_link_unregister() revokes the link. It waits for calls in progress,
 *   which are short, but not for the client to detach and so for no user
 *   process. Once it has returned no operation of the driver runs or will be
 *   called. A client still attached then sees a link that reaches nobody
 *   (roce_link_caps() is 0) and takes the IP stack; it detaches in its own
 *   time, even after the driver's module is gone.
 * - After roce_link_detach() has returned no client callback runs or will be
 *   called.
 * - There is one client per link at most.
 *
 * Contexts
 *
 * - roce_link_caps(), roce_link_xmit() and roce_link_reap(), and so the driver's
 *   operations of the same name: process or softirq context, inside an RCU read
 *   section, bottom halves on or off, interrupts on. They must not sleep.
 * - roce_link_rcv() and so the client's rcv(): the driver's NAPI poll. The
 *   client may answer from there, so the driver must not hold a lock that its
 *   caps(), xmit() or reap() take.
 * - everything else: process context, may sleep, one at a time per link. RTNL
 *   may be held by the caller or not, so start(), stop(), gid_add() and
 *   gid_del() must neither take it nor wait for anyone who does.
 */
#ifndef _RDMA_ROCE_LINK_H
#define _RDMA_ROCE_LINK_H

#include <linux/bits.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct net_device;
struct roce_link;
struct sk_buff;

/**
 * enum roce_link_cap - what a link can do towards one destination GID
 * @ROCE_LINK_CAP_REACH: the link's peer said that the GID is its own, so
 *	packets for it may be handed to roce_link_xmit()
 * @ROCE_LINK_CAP_NO_ICRC: and they may go without ICRC, see
 *	%ROCE_LINK_NO_ICRC
 * @ROCE_LINK_CAP_MULTI_PSN: and they may stand for several PSNs, see
 *	%ROCE_LINK_MAX_NPSN
 */
enum roce_link_cap {
	ROCE_LINK_CAP_REACH	= BIT(0),
	ROCE_LINK_CAP_NO_ICRC	= BIT(1),
	ROCE_LINK_CAP_MULTI_PSN	= BIT(2),
};

/**
 * struct roce_link_cb - what there is to know of a packet, in &sk_buff->cb
 * @flags: ROCE_LINK_*
 * @npsn: PSNs that it stands for, at most %ROCE_LINK_MAX_NPSN; 0 is as good as 1
 *
 * It is for whom the packet is given to, by roce_link_xmit() or roce_link_rcv(),
 * and stays as it is until the driver has sent the packet.
 */
struct roce_link_cb {
	u8 flags;
	u8 npsn;
};

#define ROCE_LINK_CB(skb)	((struct roce_link_cb *)(skb)->cb)

/*
 * The ICRC is not filled in, its four bytes are 0: the link itself protects what
 * it carries, from the driver's memory to the peer's. Such a packet must never
 * leave the link, so the driver drops one that the client of the receiving end
 * does not take.
 *
 * It may even end with its payload, shorter than its IP header says by the padding
 * and the ICRC, 4 to 7 bytes.
 */
#define ROCE_LINK_NO_ICRC	BIT(0)

/*
 * A packet of a SEND or WRITE request or of a READ response may have the payload of
 * several such packets, all but the last of them as long as the path MTU. It
 * stands for all of them: its PSN is that of the first, the one that follows has the
 * PSN that would follow the last. Its opcode is FIRST, MIDDLE, LAST or ONLY
 * by whether it has the first and the last payload of the message. The largest
 * path MTU is 4096, and what this limit leaves of the 65535 bytes of a UDP or IPv6
 * length is enough for the headers. Such a packet must never leave the link.
 */
#define ROCE_LINK_MAX_NPSN	15

/**
 * struct roce_link_ops - operations of the driver
 *
 * @start: a client has attached, that can receive what @caps say
 *	(ROCE_LINK_CAP_*). A negative return refuses it. Optional.
 * @stop: the client has detached and no further packet will be given to it:
 *	forget all its GIDs. Not called if the driver unregisters first.
 *	Optional.
 * @gid_add: the client now owns @gid on exactly this net_device: tell the peer,
 *	and from now on give packets for it to roce_link_rcv(). An address that
 *	is removed and added again may be announced twice without @gid_del in
 *	between, or the other way round: neither is an error. On a negative
 *	return the GID is served by the IP stack alone.
 * @gid_del: the client no longer owns @gid: withdraw it from the peer.
 * @caps: ROCE_LINK_CAP_* towards @dgid, 0 to have the packet take the IP stack.
 *	Called for every packet. It may change at any time; a driver should not
 *	let it flap, since a change of path within a connection can reorder
 *	packets and costs a retransmission.
 * @xmit: send one packet. @skb starts at the IP header (network and transport
 *	header and protocol are set, dev is @ndev) and is a complete RoCEv2
 *	packet: IP, UDP without checksum, BTH, payload, pad, ICRC, with what
 *	&struct roce_link_cb says. Its payload may be in page fragments. It has
 *	room for a link-layer header of LL_RESERVED_SPACE(@ndev) in front. The
 *	skb is consumed in any case; a negative return says that the packet was
 *	dropped, which the client treats as a loss on the wire.
 *
 *	Packets leave in the order of the calls. The skb must not be orphaned:
 *	its destructor tells the client that the hardware is done with the
 *	packet, and thereby bounds what each connection has in flight. It may
 *	have page fragments that are the client's memory and have no references
 *	of the skb (%SKBFL_MANAGED_FRAG_REFS): the client takes it back when the
 *	skb is freed. So the driver must not clone it, but may show a copy to
 *	packet sockets.
 *
 *	A driver short of descriptors should queue the packet, and drop it only
 *	when that queue, bounded as any transmit queue, is full. The skb is freed
 *	in process or softirq context, without waiting for anything that the peer
 *	might not do: when the net_device is closed or its link goes down
 *	all of them are freed, because destroying a connection waits for them.
 * @reap: free the skbs of all packets that the hardware is done with. The client
 *	calls it when it has to wait for one, because the peer has acknowledged
 *	it, which may be before the driver would have a look by itself. Optional.
 */
struct roce_link_ops {
	int (*start)(struct net_device *ndev, u32 caps);
	void (*stop)(struct net_device *ndev);
	int (*gid_add)(struct net_device *ndev, const union ib_gid *gid);
	void (*gid_del)(struct net_device *ndev, const union ib_gid *gid);
	u32 (*caps)(struct net_device *ndev, const union ib_gid *dgid);
	int (*xmit)(struct net_device *ndev, struct sk_buff *skb);
	void (*reap)(struct net_device *ndev);
};

/**
 * struct roce_link_client_ops - operations of the client
 *
 * @caps: what the client can receive, ROCE_LINK_CAP_* but for _REACH
 * @rcv: take one packet, always consumed. @skb is as roce_link_rcv() describes
 *	it. Nothing in it has been checked: it comes from the wire.
 */
struct roce_link_client_ops {
	u32 caps;
	void (*rcv)(void *client, struct sk_buff *skb);
};

/* for the driver */
struct roce_link *roce_link_register(struct net_device *ndev,
				     const struct roce_link_ops *ops);
void roce_link_unregister(struct roce_link *link);
bool roce_link_rcv(struct roce_link *link, struct sk_buff *skb);

/* for the client */
struct roce_link *roce_link_attach(struct net_device *ndev,
				   const struct roce_link_client_ops *cops,
				   void *client);
void roce_link_detach(struct roce_link *link);
int roce_link_gid_add(struct roce_link *link, const union ib_gid *gid);
void roce_link_gid_del(struct roce_link *link, const union ib_gid *gid);
u32 roce_link_caps(struct roce_link *link, const union ib_gid *dgid);
int roce_link_xmit(struct roce_link *link, struct sk_buff *skb);
void roce_link_reap(struct roce_link *link);

#endif /* _RDMA_ROCE_LINK_H */
