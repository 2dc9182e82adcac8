// SPDX-License-Identifier: GPL-2.0
/*
 * Messages over the XDomain control channel.
 *
 * One handler serves all links. The control channel's worker calls it, which
 * also takes in the answers to our own requests: so it must not wait for one.
 *
 * The core matches an answer to a request by route and protocol alone. Requests
 * of one XDomain are therefore made one at a time, by the link's handshake work,
 * and an answer that comes too late is told by its number.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/unaligned.h>
#include <linux/wait.h>

#include "trace.h"
#include "u4n.h"

/* ce9f25d8-fb8a-4afb-8bea-0456e9da5722 */
static const uuid_t u4n_xd_uuid =
	UUID_INIT(0xce9f25d8, 0xfb8a, 0x4afb,
		  0x8b, 0xea, 0x04, 0x56, 0xe9, 0xda, 0x57, 0x22);

static LIST_HEAD(u4n_xd_links);
static DEFINE_MUTEX(u4n_xd_links_lock);

/* Calls of the handler that have begun and that have ended */
static atomic_t u4n_xd_begun;
static atomic_t u4n_xd_ended;
static DECLARE_WAIT_QUEUE_HEAD(u4n_xd_idle);

static void u4n_xd_fill(struct u4n_link *l, struct u4n_xd_msg *msg, u32 type,
			u32 id)
{
	struct u4n_hs *hs = &l->hs;
	unsigned long flags;

	memset(msg, 0, sizeof(*msg));
	msg->route_hi = upper_32_bits(l->xd->route);
	msg->route_lo = lower_32_bits(l->xd->route);
	/* dwords after these three; the sequence number stays 0 */
	msg->length_sn = sizeof(*msg) / 4 - 3;
	uuid_copy(&msg->uuid, &u4n_xd_uuid);
	uuid_copy(&msg->initiator, l->xd->local_uuid);
	uuid_copy(&msg->target, l->xd->remote_uuid);
	msg->type = type;
	msg->id = id;
	msg->versions = U4N_VERSION_MAX << 16 | U4N_VERSION_MIN;
	msg->hopid = l->out_hopid;
	msg->window = l->rx.size - 1;
	msg->mtu = READ_ONCE(l->ndev->mtu);
	msg->caps = U4N_CAPS;
	msg->mac_hi = get_unaligned_be32(l->ndev->dev_addr);
	msg->mac_lo = get_unaligned_be16(l->ndev->dev_addr + 4) << 16;
	msg->limits = U4N_MAX_BODIES;

	spin_lock_irqsave(&hs->lock, flags);
	msg->cookie = hs->cookie;
	msg->peer_cookie = hs->peer.cookie;
	spin_unlock_irqrestore(&hs->lock, flags);
}

/**
 * u4n_xd_request - send a request and wait for its answer
 * @l: the link
 * @type: request
 * @status: reason of a BYE, else 0
 * @timeout: milliseconds to wait
 * @ack: answer
 *
 * Return: 0 or a negative error; -EAGAIN for an answer to something else.
 */
int u4n_xd_request(struct u4n_link *l, enum u4n_xd_type type, u32 status,
		   unsigned int timeout, struct u4n_xd_msg *ack)
{
	struct u4n_xd_msg msg;
	int ret;

	if (l->xd->is_unplugged)
		return -ENODEV;

	u4n_xd_fill(l, &msg, type, ++l->hs.xd_id);
	msg.status = status;
	trace_u4n_hs_send(l, &msg, 0);
	memset(ack, 0, sizeof(*ack));
	ret = tb_xdomain_request(l->xd, &msg, sizeof(msg),
				 TB_CFG_PKG_XDOMAIN_REQ, ack, sizeof(*ack),
				 TB_CFG_PKG_XDOMAIN_RESP, timeout);
	if (ret)
		return ret;
	trace_u4n_hs_receive(l, ack, 0);
	if (ack->type != type + 1 || ack->id != msg.id ||
	    (ack->length_sn & 0x3f) != msg.length_sn ||
	    !uuid_equal(&ack->initiator, l->xd->remote_uuid) ||
	    !uuid_equal(&ack->target, l->xd->local_uuid))
		return -EAGAIN;
	return 0;
}

static struct u4n_link *u4n_xd_find(const struct u4n_xd_msg *msg)
{
	u64 route = (u64)msg->route_hi << 32 | msg->route_lo;
	struct u4n_link *l;

	/* the router that delivers it sets the topmost bit */
	route &= ~BIT_ULL(63);

	lockdep_assert_held(&u4n_xd_links_lock);
	list_for_each_entry(l, &u4n_xd_links, list)
		if (l->xd->route == route &&
		    uuid_equal(l->xd->remote_uuid, &msg->initiator) &&
		    uuid_equal(l->xd->local_uuid, &msg->target))
			return l;
	return NULL;
}

/* Answer a request. The links' lock keeps the link alive. */
static int u4n_xd_answer(const struct u4n_xd_msg *msg)
{
	enum u4n_xd_status status;
	struct u4n_link *l;

	l = u4n_xd_find(msg);
	if (!l)
		return 0;
	/* as good as lost: who means it asks again */
	if (!u4n_limit_ok(&l->requests, jiffies))
		return 1;

	trace_u4n_hs_receive(l, msg, 0);
	switch (msg->type) {
	case U4N_XD_HELLO:
		status = u4n_hs_rx_hello(l, msg);
		break;
	case U4N_XD_READY:
		status = u4n_hs_rx_ready(l, msg);
		break;
	default:
		status = u4n_hs_rx_bye(l, msg);
		break;
	}

	u4n_xd_fill(l, &l->reply, msg->type + 1, msg->id);
	l->reply.status = status;
	trace_u4n_hs_send(l, &l->reply, 0);
	if (tb_xdomain_response(l->xd, &l->reply, sizeof(l->reply),
				TB_CFG_PKG_XDOMAIN_RESP))
		netdev_dbg(l->ndev, "could not answer the peer\n");
	return 1;
}

static int u4n_xd_handle(const void *buf, size_t size, void *data)
{
	const struct u4n_xd_msg *msg = buf;
	int handled = 0;

	atomic_inc(&u4n_xd_begun);
	/* answers are for whoever waits for them */
	if (size >= sizeof(*msg) &&
	    (msg->type == U4N_XD_HELLO || msg->type == U4N_XD_READY ||
	     msg->type == U4N_XD_BYE)) {
		mutex_lock(&u4n_xd_links_lock);
		handled = u4n_xd_answer(msg);
		mutex_unlock(&u4n_xd_links_lock);
	}
	atomic_inc(&u4n_xd_ended);
	wake_up(&u4n_xd_idle);
	return handled;
}

static struct tb_protocol_handler u4n_xd_handler = {
	.uuid = &u4n_xd_uuid,
	.callback = u4n_xd_handle,
};

/**
 * u4n_xd_add - let the link have its peer's requests
 * @l: the link
 */
void u4n_xd_add(struct u4n_link *l)
{
	mutex_lock(&u4n_xd_links_lock);
	list_add_tail(&l->list, &u4n_xd_links);
	mutex_unlock(&u4n_xd_links_lock);
}

/**
 * u4n_xd_del - undo u4n_xd_add()
 * @l: the link. No request for it is being handled after return.
 */
void u4n_xd_del(struct u4n_link *l)
{
	mutex_lock(&u4n_xd_links_lock);
	list_del(&l->list);
	mutex_unlock(&u4n_xd_links_lock);
}

/**
 * u4n_xd_wait_lock - wait until paths can be opened or closed
 * @xd: the peer
 *
 * Which takes the lock of the domain. When a host goes, its paths are closed with
 * that lock held, and the core closes none for it from then on: those opened by who
 * waited for the lock would keep their HopIDs for good. Before Linux 7.3 the services
 * are removed with it held, too, which waits for our work and for RTNL. So do not
 * wait for it once the host is on its way out. A moment between the two is left.
 *
 * Return: 0, or -ENODEV for a host that goes or has gone.
 */
int u4n_xd_wait_lock(struct tb_xdomain *xd)
{
	while (!mutex_trylock(&xd->tb->lock)) {
		if (READ_ONCE(xd->is_unplugged))
			return -ENODEV;
		usleep_range(1000, 2000);
	}
	mutex_unlock(&xd->tb->lock);
	return READ_ONCE(xd->is_unplugged) ? -ENODEV : 0;
}

/**
 * u4n_xd_init - register the protocol handler
 *
 * Return: 0 or a negative error.
 */
int u4n_xd_init(void)
{
	return tb_register_protocol_handler(&u4n_xd_handler);
}

/**
 * u4n_xd_exit - undo u4n_xd_init()
 *
 * The core calls the handler without a lock, so it may still be on its way into
 * it, in it, or on its way out. It does not sleep on its way, so a grace period
 * of tasks covers that. What is in it is counted. A grace period is slow, and a
 * second one is needed only if something was in the handler since the first began.
 */
void u4n_xd_exit(void)
{
	int ended;

	tb_unregister_protocol_handler(&u4n_xd_handler);
	ended = atomic_read(&u4n_xd_ended);
	synchronize_rcu_tasks();
	if (atomic_read(&u4n_xd_begun) == ended)
		return;

	wait_event(u4n_xd_idle, atomic_read(&u4n_xd_begun) ==
		   atomic_read(&u4n_xd_ended));
	synchronize_rcu_tasks();
}
