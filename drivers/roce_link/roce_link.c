// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCE link: the meeting point of network drivers that can carry RoCEv2
 * packets without the IP stack, and of the RDMA devices on top of them.
 *
 * A link is reference counted: the driver holds one reference from
 * roce_link_register() to roce_link_unregister(), the client one from
 * roce_link_attach() to roce_link_detach(). What each side calls of the other
 * hangs off an RCU pointer, so that either can leave at any time: it clears
 * the pointer and waits for the read sections of calls in progress.
 */
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <rdma/roce_link.h>

struct roce_link_client {
	const struct roce_link_client_ops *ops;
	void *data;
};

struct roce_link {
	struct list_head list;
	struct kref ref;
	struct net_device *ndev;	/* valid as long as @ops is set */
	struct mutex lock;		/* slow calls, and writers of the below */
	const struct roce_link_ops __rcu *ops;
	struct roce_link_client __rcu *client;
};

static LIST_HEAD(roce_links);
static DEFINE_MUTEX(roce_links_lock);	/* outside of roce_link.lock */

static struct roce_link *roce_link_find(const struct net_device *ndev)
{
	struct roce_link *link;

	lockdep_assert_held(&roce_links_lock);
	list_for_each_entry(link, &roce_links, list)
		if (link->ndev == ndev)
			return link;
	return NULL;
}

static void roce_link_release(struct kref *ref)
{
	struct roce_link *link = container_of(ref, struct roce_link, ref);

	mutex_destroy(&link->lock);
	kfree(link);
}

static const struct roce_link_ops *roce_link_ops_locked(struct roce_link *link)
{
	return rcu_dereference_protected(link->ops,
					 lockdep_is_held(&link->lock));
}

static struct roce_link_client *roce_link_client_locked(struct roce_link *link)
{
	return rcu_dereference_protected(link->client,
					 lockdep_is_held(&link->lock));
}

/**
 * roce_link_register - make a net_device a RoCE link
 * @ndev: the net_device
 * @ops: the driver's operations
 *
 * To be called before register_netdev(), since a client looks for the link only
 * when it is created on the net_device. May sleep.
 *
 * Return: the link, or an ERR_PTR().
 */
struct roce_link *roce_link_register(struct net_device *ndev,
				     const struct roce_link_ops *ops)
{
	struct roce_link *link;

	link = kzalloc_obj(*link);
	if (!link)
		return ERR_PTR(-ENOMEM);
	kref_init(&link->ref);
	mutex_init(&link->lock);
	link->ndev = ndev;
	RCU_INIT_POINTER(link->ops, ops);

	mutex_lock(&roce_links_lock);
	if (roce_link_find(ndev)) {
		mutex_unlock(&roce_links_lock);
		kref_put(&link->ref, roce_link_release);
		return ERR_PTR(-EEXIST);
	}
	list_add_tail(&link->list, &roce_links);
	mutex_unlock(&roce_links_lock);
	return link;
}
EXPORT_SYMBOL_GPL(roce_link_register);

/**
 * roce_link_unregister - revoke a RoCE link
 * @link: what roce_link_register() returned
 *
 * To be called before unregister_netdev(), and never from a NAPI poll that is
 * in roce_link_rcv(). After it has returned, the driver's operations are not
 * called any more and the driver must not use @link. Waits for calls in
 * progress only. May sleep, with or without RTNL.
 */
void roce_link_unregister(struct roce_link *link)
{
	mutex_lock(&roce_links_lock);
	list_del(&link->list);
	mutex_unlock(&roce_links_lock);

	mutex_lock(&link->lock);
	RCU_INIT_POINTER(link->ops, NULL);
	mutex_unlock(&link->lock);
	synchronize_net();

	kref_put(&link->ref, roce_link_release);
}
EXPORT_SYMBOL_GPL(roce_link_unregister);

/**
 * roce_link_rcv - give a received packet to the client
 * @link: the link
 * @skb: a packet that starts at its IP header
 *
 * To be called from the driver's NAPI poll for packets that the peer sent
 * through its own link. dev, protocol and the network header are set, the skb
 * is neither shared nor cloned and pkt_type is PACKET_HOST. Headers and payload
 * may be in page fragments, but not in a fragment list. &struct roce_link_cb is
 * set.
 *
 * Return: true if the packet was consumed; false if there is no client, and
 * the caller still owns @skb, which is unchanged.
 */
bool roce_link_rcv(struct roce_link *link, struct sk_buff *skb)
{
	struct roce_link_client *client;

	rcu_read_lock();
	client = rcu_dereference(link->client);
	if (client)
		client->ops->rcv(client->data, skb);
	rcu_read_unlock();
	return client;
}
EXPORT_SYMBOL_GPL(roce_link_rcv);

/**
 * roce_link_attach - become the client of a net_device's RoCE link
 * @ndev: the net_device, to which the caller holds a reference
 * @cops: the client's callbacks
 * @data: first argument of the callbacks
 *
 * Callbacks may run before this function returns. May sleep.
 *
 * Return: the link; NULL if @ndev is none; an ERR_PTR() if it already has a
 * client, the driver refuses, or there is no memory.
 */
struct roce_link *roce_link_attach(struct net_device *ndev,
				   const struct roce_link_client_ops *cops,
				   void *data)
{
	const struct roce_link_ops *ops;
	struct roce_link_client *client;
	struct roce_link *link;
	int err = 0;

	mutex_lock(&roce_links_lock);
	link = roce_link_find(ndev);
	if (link)
		kref_get(&link->ref);
	mutex_unlock(&roce_links_lock);
	if (!link)
		return NULL;

	client = kzalloc_obj(*client);
	if (!client) {
		err = -ENOMEM;
		goto put;
	}
	client->ops = cops;
	client->data = data;

	mutex_lock(&link->lock);
	ops = roce_link_ops_locked(link);
	if (!ops)
		err = -ENODEV;
	else if (roce_link_client_locked(link))
		err = -EBUSY;
	else if (ops->start)
		err = ops->start(link->ndev, cops->caps);
	if (!err)
		rcu_assign_pointer(link->client, client);
	mutex_unlock(&link->lock);
	if (!err)
		return link;

	kfree(client);
put:
	kref_put(&link->ref, roce_link_release);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(roce_link_attach);

/**
 * roce_link_detach - stop being the client of a RoCE link
 * @link: what roce_link_attach() returned
 *
 * After it has returned no callback runs or will be called, and the driver has
 * forgotten the client's GIDs. Packets given to roce_link_xmit() may still be
 * on their way: their skb destructors run later. May sleep.
 */
void roce_link_detach(struct roce_link *link)
{
	const struct roce_link_ops *ops;
	struct roce_link_client *client;

	mutex_lock(&link->lock);
	client = roce_link_client_locked(link);
	RCU_INIT_POINTER(link->client, NULL);
	synchronize_net();
	ops = roce_link_ops_locked(link);
	if (ops && ops->stop)
		ops->stop(link->ndev);
	mutex_unlock(&link->lock);

	kfree(client);
	kref_put(&link->ref, roce_link_release);
}
EXPORT_SYMBOL_GPL(roce_link_detach);

/**
 * roce_link_gid_add - announce a GID of the client
 * @link: the link
 * @gid: a GID that is now an address of exactly this net_device
 *
 * May sleep.
 *
 * Return: 0, or a negative error: the GID is reachable through the IP stack
 * only.
 */
int roce_link_gid_add(struct roce_link *link, const union ib_gid *gid)
{
	const struct roce_link_ops *ops;
	int err = -ENODEV;

	mutex_lock(&link->lock);
	ops = roce_link_ops_locked(link);
	if (ops)
		err = ops->gid_add(link->ndev, gid);
	mutex_unlock(&link->lock);
	return err;
}
EXPORT_SYMBOL_GPL(roce_link_gid_add);

/**
 * roce_link_gid_del - withdraw a GID of the client
 * @link: the link
 * @gid: a GID that no longer is an address of this net_device
 *
 * May sleep.
 */
void roce_link_gid_del(struct roce_link *link, const union ib_gid *gid)
{
	const struct roce_link_ops *ops;

	mutex_lock(&link->lock);
	ops = roce_link_ops_locked(link);
	if (ops)
		ops->gid_del(link->ndev, gid);
	mutex_unlock(&link->lock);
}
EXPORT_SYMBOL_GPL(roce_link_gid_del);

/**
 * roce_link_caps - what the link can do towards a destination
 * @link: the link
 * @dgid: the destination's GID
 *
 * Return: ROCE_LINK_CAP_*; 0 if packets for @dgid have to take the IP stack.
 */
u32 roce_link_caps(struct roce_link *link, const union ib_gid *dgid)
{
	const struct roce_link_ops *ops;
	u32 caps = 0;

	rcu_read_lock();
	ops = rcu_dereference(link->ops);
	if (ops)
		caps = ops->caps(link->ndev, dgid);
	rcu_read_unlock();
	return caps;
}
EXPORT_SYMBOL_GPL(roce_link_caps);

/**
 * roce_link_xmit - send a packet to the link's peer
 * @link: the link
 * @skb: the packet, see &struct roce_link_ops; always consumed
 *
 * Return: 0, or a negative error if the packet was dropped.
 */
int roce_link_xmit(struct roce_link *link, struct sk_buff *skb)
{
	const struct roce_link_ops *ops;
	int err = -ENODEV;

	rcu_read_lock();
	ops = rcu_dereference(link->ops);
	if (ops)
		err = ops->xmit(link->ndev, skb);
	else
		kfree_skb(skb);
	rcu_read_unlock();
	return err;
}
EXPORT_SYMBOL_GPL(roce_link_xmit);

/**
 * roce_link_reap - free packets that have been sent
 * @link: the link
 *
 * The driver does that by itself within a bounded time; this is for who waits
 * for one of them.
 */
void roce_link_reap(struct roce_link *link)
{
	const struct roce_link_ops *ops;

	rcu_read_lock();
	ops = rcu_dereference(link->ops);
	if (ops && ops->reap)
		ops->reap(link->ndev);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(roce_link_reap);

MODULE_DESCRIPTION("RoCE packets past the IP stack: registry of links");
MODULE_LICENSE("Dual BSD/GPL");
