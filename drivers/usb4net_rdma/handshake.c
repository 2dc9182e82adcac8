// SPDX-License-Identifier: GPL-2.0
/*
 * Handshake: from a cable to carrier, and back when something goes wrong.
 *
 * A work item per link runs the state machine, and nothing else changes its
 * state or makes requests of the peer. Requests of the peer, NAPI and the network
 * device's operations leave a note under the lock and kick the work.
 *
 * A session is named by two cookies, one of each side. Whoever ends a session
 * takes a new cookie, so what is left of the old one is told apart. A session is
 * agreed on when each side knows the other's cookie; either side may begin.
 */
#include <linux/random.h>

#include "trace.h"
#include "u4n.h"

#define U4N_HS_REQUEST_MS	1000	/* wait for an answer, at most */
#define U4N_HS_BYE_MS		300
#define U4N_HS_KEEPALIVE_MS	500
#define U4N_HS_RX_QUIET_MS	1200	/* then keepalives say so */
#define U4N_HS_RX_DEAD_MS	3000
#define U4N_HS_BACKOFF_MIN_MS	100
#define U4N_HS_BACKOFF_MAX_MS	4000
#define U4N_HS_TX_STALL_MAX	4	/* keepalives without a completion */
#define U4N_HS_UNHEARD		6	/* HELLOs, and every 12 from then on */

static struct workqueue_struct *u4n_hs_wq;

static const char * const u4n_reasons[] = {
	[U4N_WHY_NONE]		= "no reason",
	[U4N_WHY_CLOSED]	= "device closed",
	[U4N_WHY_PEER_BYE]	= "peer has left",
	[U4N_WHY_PEER_RESTART]	= "peer has restarted",
	[U4N_WHY_STALE]		= "peer does not know the session",
	[U4N_WHY_SETUP]		= "rings or paths could not be set up",
	[U4N_WHY_NOT_READY]	= "peer does not become ready",
	[U4N_WHY_PROBE]		= "no frame passes both ways",
	[U4N_WHY_RX_DEAD]	= "nothing received from the peer",
	[U4N_WHY_TX_DEAD]	= "peer receives nothing",
	[U4N_WHY_TX_STALL]	= "transmit ring has stalled",
	[U4N_WHY_PROTOCOL]	= "peer breaks flow control",
	[U4N_WHY_NO_CREDIT]	= "peer takes nothing",
};

static_assert(ARRAY_SIZE(u4n_reasons) == U4N_NUM_WHYS);

/**
 * u4n_reason_text - name of a reason
 * @reason: &enum u4n_reason, perhaps from the wire
 *
 * Return: the text.
 */
const char *u4n_reason_text(u32 reason)
{
	return reason < U4N_NUM_WHYS ? u4n_reasons[reason] : "unknown reason";
}

static const char * const u4n_hs_states[] = {
	[U4N_HS_DOWN]		= "down",
	[U4N_HS_HELLO]		= "hello",
	[U4N_HS_SETUP]		= "setup",
	[U4N_HS_READY]		= "ready",
	[U4N_HS_PROBE]		= "probe",
	[U4N_HS_UP]		= "up",
	[U4N_HS_REFUSED]	= "refused",
};

static_assert(ARRAY_SIZE(u4n_hs_states) == U4N_HS_NUM);

/**
 * u4n_hs_state_text - name of a state
 * @state: the state
 *
 * Return: the name.
 */
const char *u4n_hs_state_text(enum u4n_hs_state state)
{
	return u4n_hs_states[state];
}

/**
 * u4n_hs_kick - run the state machine now
 * @l: the link
 */
void u4n_hs_kick(struct u4n_link *l)
{
	unsigned long flags;

	spin_lock_irqsave(&l->hs.lock, flags);
	if (l->hs.enabled)
		mod_delayed_work(u4n_hs_wq, &l->hs.work, 0);
	spin_unlock_irqrestore(&l->hs.lock, flags);
}

/**
 * u4n_hs_tell - tell the peer now what keepalives say
 * @l: the link
 */
void u4n_hs_tell(struct u4n_link *l)
{
	WRITE_ONCE(l->hs.tell, true);
	u4n_hs_kick(l);
}

/**
 * u4n_hs_end - end the session and begin another one
 * @l: the link
 * @reason: why
 */
void u4n_hs_end(struct u4n_link *l, enum u4n_reason reason)
{
	unsigned long flags;

	spin_lock_irqsave(&l->hs.lock, flags);
	if (!l->hs.reason)
		l->hs.reason = reason;
	spin_unlock_irqrestore(&l->hs.lock, flags);
	u4n_hs_kick(l);
}

/**
 * u4n_hs_probe_acked - our probe has come back
 * @l: the link
 */
void u4n_hs_probe_acked(struct u4n_link *l)
{
	if (READ_ONCE(l->hs.probe_acked))
		return;
	WRITE_ONCE(l->hs.probe_acked, true);
	u4n_hs_kick(l);
}

static bool u4n_hs_expired(unsigned long since, unsigned int ms)
{
	return time_after(jiffies, since + msecs_to_jiffies(ms));
}

/*
 * Requests of the peer. They kick the work only if they change something, or two
 * hosts that do not agree would go on to ask each other as fast as they can.
 */

static void u4n_hs_version_log(struct u4n_link *l, u32 versions)
{
	if (l->hs.version_logged)
		return;
	l->hs.version_logged = true;
	u4n_log(l, warn,
		"peer speaks versions %u to %u of the protocol, this driver %u to %u: no link\n",
		versions & 0xffff, versions >> 16, U4N_VERSION_MIN,
		U4N_VERSION_MAX);
}

/**
 * u4n_hs_rx_hello - the peer says HELLO
 * @l: the link
 * @msg: the message
 *
 * Return: the answer's status.
 */
enum u4n_xd_status u4n_hs_rx_hello(struct u4n_link *l,
				   const struct u4n_xd_msg *msg)
{
	struct u4n_hs *hs = &l->hs;
	enum u4n_xd_status status = U4N_XD_OK;
	struct u4n_peer peer;
	bool news = false;
	int ret;

	ret = u4n_hello_parse(msg, &peer);
	if (ret) {
		if (ret == -EPROTONOSUPPORT && READ_ONCE(hs->enabled))
			u4n_hs_version_log(l, msg->versions);
		return U4N_XD_VERSION;
	}

	spin_lock_irq(&hs->lock);
	if (!hs->enabled) {
		status = U4N_XD_DOWN;
	} else if (hs->busy || hs->reason) {
		status = U4N_XD_BUSY;
	} else if (hs->state == U4N_HS_HELLO || hs->state == U4N_HS_REFUSED) {
		news = hs->peer.cookie != peer.cookie;
		if (news)
			hs->peer_ready = false;
		hs->peer = peer;
		hs->peer_knows = true;
	} else if (hs->peer.cookie != peer.cookie) {
		hs->reason = U4N_WHY_PEER_RESTART;
		status = U4N_XD_BUSY;
		news = true;
	}
	spin_unlock_irq(&hs->lock);

	if (news)
		u4n_hs_kick(l);
	return status;
}

/* Does the message belong to our session? Under the lock. */
static bool u4n_hs_same_session(const struct u4n_hs *hs,
				const struct u4n_xd_msg *msg)
{
	return hs->enabled && !hs->busy && !hs->reason && hs->peer.cookie &&
	       hs->peer.cookie == msg->cookie && hs->cookie == msg->peer_cookie;
}

/**
 * u4n_hs_rx_ready - the peer says READY
 * @l: the link
 * @msg: the message
 *
 * Return: the answer's status.
 */
enum u4n_xd_status u4n_hs_rx_ready(struct u4n_link *l,
				   const struct u4n_xd_msg *msg)
{
	struct u4n_hs *hs = &l->hs;
	enum u4n_xd_status status;
	bool news = false;

	spin_lock_irq(&hs->lock);
	if (u4n_hs_same_session(hs, msg)) {
		news = !hs->peer_ready;
		hs->peer_ready = true;
		status = U4N_XD_OK;
	} else if (hs->enabled && !hs->busy && !hs->peer.cookie &&
		   hs->cookie == msg->peer_cookie) {
		/* its answer to our HELLO is still on the way */
		status = U4N_XD_UNKNOWN;
	} else {
		status = U4N_XD_STALE;
	}
	spin_unlock_irq(&hs->lock);

	if (news)
		u4n_hs_kick(l);
	return status;
}

/**
 * u4n_hs_rx_bye - the peer says BYE
 * @l: the link
 * @msg: the message
 *
 * Return: the answer's status.
 */
enum u4n_xd_status u4n_hs_rx_bye(struct u4n_link *l,
				 const struct u4n_xd_msg *msg)
{
	struct u4n_hs *hs = &l->hs;
	enum u4n_xd_status status = U4N_XD_STALE;

	spin_lock_irq(&hs->lock);
	if (u4n_hs_same_session(hs, msg)) {
		hs->reason = U4N_WHY_PEER_BYE;
		hs->peer_reason = msg->status;
		status = U4N_XD_OK;
	}
	spin_unlock_irq(&hs->lock);

	if (status == U4N_XD_OK)
		u4n_hs_kick(l);
	return status;
}

static void u4n_hs_rings_down(struct u4n_link *l)
{
	struct u4n_hs *hs = &l->hs;

	if (hs->rings_up) {
		/*
		 * Paths first: frames under way need rings to end in, or the
		 * path's pending bit may never clear.
		 */
		if (!u4n_xd_wait_lock(l->xd) &&
		    tb_xdomain_disable_paths(l->xd, l->out_hopid,
					     l->tx.ring.tb->hop, hs->in_hopid,
					     l->rx.ring.tb->hop))
			u4n_log(l, warn, "could not close the paths\n");
		napi_disable(&l->napi);
		u4n_ring_stop(l);
		hs->rings_up = false;
	}
	u4n_tx_flush(l);
	u4n_rx_flush(l);
	if (hs->in_hopid)
		tb_xdomain_release_in_hopid(l->xd, hs->in_hopid);
	hs->in_hopid = 0;
}

static int u4n_hs_rings_up(struct u4n_link *l)
{
	struct u4n_hs *hs = &l->hs;
	int ret;

	ret = tb_xdomain_alloc_in_hopid(l->xd, hs->peer.hopid);
	if (ret != hs->peer.hopid) {
		if (ret >= 0)
			tb_xdomain_release_in_hopid(l->xd, ret);
		u4n_log(l, warn, "HopID %u of the peer is in use here\n",
			hs->peer.hopid);
		return -EBUSY;
	}
	hs->in_hopid = ret;

	u4n_ring_start(l);
	ret = u4n_rx_start(l, l->rx.size - 1, hs->peer.cookie, hs->cookie);
	if (ret)
		goto stop;
	u4n_tx_start(l, hs->peer.window, hs->cookie, hs->peer.caps);
	napi_enable(&l->napi);

	/* last, when what comes in finds buffers */
	ret = u4n_xd_wait_lock(l->xd);
	if (!ret)
		ret = tb_xdomain_enable_paths(l->xd, l->out_hopid,
					      l->tx.ring.tb->hop, hs->in_hopid,
					      l->rx.ring.tb->hop);
	if (ret)
		goto disable;
	hs->rings_up = true;
	return 0;

disable:
	u4n_tx_close(l);
	napi_disable(&l->napi);
stop:
	u4n_ring_stop(l);
	/* a cable that has just been pulled is no trouble of ours */
	if (ret != -ENODEV)
		u4n_log(l, warn, "could not set up the link: %d\n", ret);
	return ret;
}

/*
 * A step returns 0 to go on to the next state, -EAGAIN to be called again later,
 * or another error to end the session.
 */

/*
 * Both know what they need. A peer that begins one session after the other must
 * not have us set up rings and paths all the time: then it has to wait. It does so
 * patiently, for U4N_HS_READY.
 */
static int u4n_hs_agreed(struct u4n_link *l)
{
	return u4n_limit_ok(&l->hs.setups, jiffies) ? 0 : -EINPROGRESS;
}

/*
 * Nobody answers at all: the peer may have read our properties before we were in
 * there, and missed that they have changed, as the core does while it adds a host.
 * So it is told again.
 */
static void u4n_hs_unheard(struct u4n_link *l)
{
	if (l->hs.unheard++ % (2 * U4N_HS_UNHEARD) == U4N_HS_UNHEARD - 1)
		tb_service_properties_changed(l->svc);
}

/* Exchange of cookies and parameters */
static int u4n_hs_hello(struct u4n_link *l)
{
	struct u4n_hs *hs = &l->hs;
	struct u4n_xd_msg ack;
	struct u4n_peer peer;
	int ret;

	if (READ_ONCE(hs->peer_knows))
		return u4n_hs_agreed(l);

	/*
	 * The first ones may be lost: the peer's service is found at another
	 * time than ours. Its own HELLO does not end our waiting for an answer.
	 */
	ret = u4n_xd_request(l, U4N_XD_HELLO, 0,
			     min(hs->backoff, U4N_HS_REQUEST_MS), &ack);
	if (READ_ONCE(hs->peer_knows))
		return u4n_hs_agreed(l);	/* it was faster */
	if (ret)
		u4n_hs_unheard(l);
	else
		hs->unheard = 0;
	if (!ret && ack.status == U4N_XD_BUSY)
		hs->backoff = U4N_HS_BACKOFF_MIN_MS;
	if (ret || ack.status == U4N_XD_BUSY || ack.status == U4N_XD_DOWN)
		return -EAGAIN;

	ret = u4n_hello_parse(&ack, &peer);
	if (ret == -EPROTONOSUPPORT || ack.status == U4N_XD_VERSION) {
		u4n_hs_version_log(l, ack.versions);
		return -EPROTONOSUPPORT;
	}
	if (ret || ack.status != U4N_XD_OK || ack.peer_cookie != hs->cookie)
		return -EAGAIN;

	spin_lock_irq(&hs->lock);
	if (!hs->peer_knows) {
		hs->peer = peer;
		hs->peer_knows = true;
	}
	spin_unlock_irq(&hs->lock);
	return u4n_hs_agreed(l);
}

static int u4n_hs_rings(struct u4n_link *l)
{
	u4n_roce_reset(l);
	return u4n_hs_rings_up(l);
}

/* Each side waits until the other one's ring is primed */
static int u4n_hs_ready(struct u4n_link *l)
{
	struct u4n_hs *hs = &l->hs;
	struct u4n_xd_msg ack;
	int ret;

	ret = u4n_xd_request(l, U4N_XD_READY, 0, U4N_HS_REQUEST_MS, &ack);
	if (ret || ack.status == U4N_XD_UNKNOWN)
		return -EAGAIN;
	if (ack.status != U4N_XD_OK) {
		u4n_hs_end(l, U4N_WHY_STALE);
		return -EAGAIN;
	}
	return READ_ONCE(hs->peer_ready) ? 0 : -EAGAIN;
}

/* Carrier is for links that have been seen to work, both ways */
static int u4n_hs_probe(struct u4n_link *l)
{
	struct u4n_hs *hs = &l->hs;

	if (!READ_ONCE(hs->probe_acked)) {
		u4n_control_probe(l);
		return -EAGAIN;
	}

	hs->sessions++;
	hs->backoff = U4N_HS_BACKOFF_MIN_MS;
	hs->deadline = jiffies;
	hs->tx_stalled = 0;
	hs->mtu_logged = 0;
	hs->version_logged = false;
	u4n_tx_open(l);
	netif_carrier_on(l->ndev);
	u4n_log(l, info, "link to %pUb is up, protocol version %u\n",
		l->xd->remote_uuid, hs->peer.version);
	return 0;
}

static void u4n_hs_check_mtu(struct u4n_link *l)
{
	u32 peer = READ_ONCE(l->rx.peer_mtu);
	u32 own = READ_ONCE(l->ndev->mtu);

	if (peer == own || l->hs.mtu_logged == peer) {
		if (peer == own)
			l->hs.mtu_logged = 0;
		return;
	}
	l->hs.mtu_logged = peer;
	u4n_log(l, warn,
		"MTU is %u here and %u at the peer: packets larger than the smaller of the two pass one way only\n",
		own, peer);
}

static bool u4n_hs_tx_stalled(struct u4n_link *l)
{
	struct u4n_hs *hs = &l->hs;
	u32 head, tail;

	spin_lock_bh(&l->tx.lock);
	head = l->tx.head;
	tail = l->tx.tail;
	spin_unlock_bh(&l->tx.lock);

	if (head == tail || tail != hs->tx_tail)
		hs->tx_stalled = 0;
	else
		hs->tx_stalled++;
	hs->tx_tail = tail;
	return hs->tx_stalled >= U4N_HS_TX_STALL_MAX;
}

/* Runs at least every U4N_HS_KEEPALIVE_MS */
static int u4n_hs_up(struct u4n_link *l)
{
	unsigned long last = READ_ONCE(l->rx.last);
	bool quiet = u4n_hs_expired(last, U4N_HS_RX_QUIET_MS);
	struct u4n_hs *hs = &l->hs;

	u4n_hs_check_mtu(l);

	/* in case that an interrupt got lost */
	local_bh_disable();
	napi_schedule(&l->napi);
	local_bh_enable();

	if (time_after_eq(jiffies, hs->deadline)) {
		hs->deadline = jiffies + msecs_to_jiffies(U4N_HS_KEEPALIVE_MS);
		if (u4n_hs_expired(last, U4N_HS_RX_DEAD_MS))
			u4n_hs_end(l, U4N_WHY_RX_DEAD);
		else if (u4n_hs_tx_stalled(l))
			u4n_hs_end(l, U4N_WHY_TX_STALL);
		else
			u4n_control_keepalive(l, !quiet);
	} else if (xchg(&hs->tell, false)) {
		u4n_control_keepalive(l, !quiet);
	}
	return u4n_roce_send_gids(l) ? -EINPROGRESS : -EAGAIN;
}

/* Whatever the peer does next, a HELLO of its own comes of it */
static int u4n_hs_refused(struct u4n_link *l)
{
	return READ_ONCE(l->hs.peer_knows) ? 0 : -EAGAIN;
}

/**
 * struct u4n_hs_desc - a state
 * @step: what to do in it
 * @next: state after success
 * @interval: time between calls of @step in milliseconds, 0 for u4n_hs.backoff
 * @limit: largest time in this state in milliseconds, 0 for any
 * @failed: reason to end the session on an error or after @limit
 */
struct u4n_hs_desc {
	int (*step)(struct u4n_link *l);
	enum u4n_hs_state next;
	unsigned int interval;
	unsigned int limit;
	enum u4n_reason failed;
};

static const struct u4n_hs_desc u4n_hs_table[U4N_HS_NUM] = {
	[U4N_HS_HELLO] = {
		u4n_hs_hello, U4N_HS_SETUP, 0, 0, U4N_WHY_NONE
	},
	[U4N_HS_SETUP] = {
		u4n_hs_rings, U4N_HS_READY, 0, 0, U4N_WHY_SETUP
	},
	[U4N_HS_READY] = {
		u4n_hs_ready, U4N_HS_PROBE, 50, 5000, U4N_WHY_NOT_READY
	},
	[U4N_HS_PROBE] = {
		u4n_hs_probe, U4N_HS_UP, 20, 1500, U4N_WHY_PROBE
	},
	[U4N_HS_UP] = {
		u4n_hs_up, U4N_HS_UP, U4N_HS_KEEPALIVE_MS, 0, U4N_WHY_NONE
	},
	[U4N_HS_REFUSED] = {
		u4n_hs_refused, U4N_HS_HELLO, U4N_HS_BACKOFF_MAX_MS, 0,
		U4N_WHY_NONE
	},
};

static void u4n_hs_enter(struct u4n_link *l, enum u4n_hs_state state)
{
	spin_lock_irq(&l->hs.lock);
	l->hs.state = state;
	spin_unlock_irq(&l->hs.lock);
	l->hs.since = jiffies;
	trace_u4n_hs_state(l, NULL, 0);
}

static u32 u4n_hs_new_cookie(u32 old)
{
	u32 cookie;

	/* its low half must differ as well, it is what frames carry */
	do {
		cookie = get_random_u32();
	} while (!(cookie & 0xffff) || (cookie & 0xffff) == (old & 0xffff));
	return cookie;
}

/* End the session, if there is one, and forget all about it */
static void u4n_hs_leave(struct u4n_link *l, enum u4n_reason reason)
{
	struct u4n_hs *hs = &l->hs;
	enum u4n_hs_state state = hs->state;
	struct u4n_xd_msg ack;

	spin_lock_irq(&hs->lock);
	hs->busy = true;
	hs->last_end = reason;
	spin_unlock_irq(&hs->lock);

	hs->ends[reason]++;
	trace_u4n_hs_leave(l, NULL, reason);
	u4n_tx_close(l);
	if (reason == U4N_WHY_TX_STALL)
		u4n_tx_stalled(l);
	if (state == U4N_HS_UP) {
		netif_carrier_off(l->ndev);
		if (reason == U4N_WHY_PEER_BYE)
			u4n_log(l, info, "link is down: peer has left, %s\n",
				u4n_reason_text(hs->peer_reason));
		else
			u4n_log(l, info, "link is down: %s\n",
				u4n_reason_text(reason));
	} else if (state > U4N_HS_HELLO && state < U4N_HS_UP) {
		netdev_dbg(l->ndev, "handshake failed: %s\n",
			   u4n_reason_text(reason));
	}

	if (state > U4N_HS_HELLO && state <= U4N_HS_UP &&
	    reason != U4N_WHY_PEER_BYE && reason != U4N_WHY_PEER_RESTART &&
	    reason != U4N_WHY_STALE)
		u4n_xd_request(l, U4N_XD_BYE, reason, U4N_HS_BYE_MS, &ack);
	u4n_roce_reset(l);
	u4n_hs_rings_down(l);

	spin_lock_irq(&hs->lock);
	hs->state = U4N_HS_HELLO;
	hs->cookie = u4n_hs_new_cookie(hs->cookie);
	memset(&hs->peer, 0, sizeof(hs->peer));
	hs->peer_knows = false;
	hs->peer_ready = false;
	hs->probe_acked = false;
	hs->reason = U4N_WHY_NONE;
	hs->busy = false;
	spin_unlock_irq(&hs->lock);
}

/* Time until the next try, longer each time until carrier is on */
static unsigned int u4n_hs_backoff(struct u4n_hs *hs)
{
	unsigned int delay = hs->backoff;

	hs->backoff = min(2 * delay, U4N_HS_BACKOFF_MAX_MS);
	return delay;
}

/* Run one step. Returns the time until the next one in milliseconds. */
static unsigned int u4n_hs_step(struct u4n_link *l)
{
	struct u4n_hs *hs = &l->hs;
	enum u4n_reason reason = READ_ONCE(hs->reason);
	const struct u4n_hs_desc *desc;
	int ret;

	if (reason) {
		u4n_hs_leave(l, reason);
		return u4n_hs_backoff(hs);
	}

	desc = &u4n_hs_table[hs->state];
	ret = desc->step(l);
	switch (ret) {
	case 0:
		u4n_hs_enter(l, desc->next);
		return 0;
	case -EINPROGRESS:
		return U4N_HS_BACKOFF_MIN_MS;
	case -EPROTONOSUPPORT:
		u4n_hs_enter(l, U4N_HS_REFUSED);
		return U4N_HS_BACKOFF_MAX_MS;
	case -EAGAIN:
		if (!desc->limit || !u4n_hs_expired(hs->since, desc->limit))
			break;
		fallthrough;
	default:
		u4n_hs_end(l, desc->failed);
	}
	return desc->interval ?: u4n_hs_backoff(hs);
}

static void u4n_hs_work(struct work_struct *work)
{
	struct u4n_link *l = container_of(work, struct u4n_link, hs.work.work);
	struct u4n_hs *hs = &l->hs;
	unsigned int delay;

	do {
		if (!READ_ONCE(hs->enabled))
			return;
		delay = u4n_hs_step(l);
	} while (!delay);

	spin_lock_irq(&hs->lock);
	/* unless kicked meanwhile */
	if (hs->enabled && !delayed_work_pending(&hs->work))
		queue_delayed_work(u4n_hs_wq, &hs->work,
				   msecs_to_jiffies(delay));
	spin_unlock_irq(&hs->lock);
}

/**
 * u4n_hs_start - begin to look for the peer
 * @l: the link, whose rings are allocated
 */
void u4n_hs_start(struct u4n_link *l)
{
	struct u4n_hs *hs = &l->hs;

	spin_lock_irq(&hs->lock);
	hs->state = U4N_HS_HELLO;
	hs->cookie = u4n_hs_new_cookie(hs->cookie);
	hs->enabled = true;
	spin_unlock_irq(&hs->lock);
	hs->backoff = U4N_HS_BACKOFF_MIN_MS;
	hs->unheard = 0;
	u4n_hs_kick(l);
}

/**
 * u4n_hs_stop - say goodbye to the peer
 * @l: the link. Its rings are stopped and nothing waits after return.
 */
void u4n_hs_stop(struct u4n_link *l)
{
	struct u4n_hs *hs = &l->hs;

	spin_lock_irq(&hs->lock);
	hs->enabled = false;
	spin_unlock_irq(&hs->lock);
	cancel_delayed_work_sync(&hs->work);

	u4n_hs_leave(l, U4N_WHY_CLOSED);
	u4n_hs_enter(l, U4N_HS_DOWN);
}

/**
 * u4n_hs_setup - initialise the handshake of a new link
 * @l: the link
 */
void u4n_hs_setup(struct u4n_link *l)
{
	INIT_DELAYED_WORK(&l->hs.work, u4n_hs_work);
	u4n_limit_init(&l->hs.setups, U4N_SETUP_BURST, U4N_SETUP_RATE);
	spin_lock_init(&l->hs.lock);
}

/**
 * u4n_hs_init - allocate what all links share
 *
 * Return: 0 or -ENOMEM.
 */
int u4n_hs_init(void)
{
	u4n_hs_wq = alloc_workqueue("usb4net_rdma", WQ_UNBOUND, 0);
	return u4n_hs_wq ? 0 : -ENOMEM;
}

/**
 * u4n_hs_exit - undo u4n_hs_init()
 */
void u4n_hs_exit(void)
{
	destroy_workqueue(u4n_hs_wq);
}
