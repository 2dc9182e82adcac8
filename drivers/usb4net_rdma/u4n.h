/* SPDX-License-Identifier: GPL-2.0 */
/* Networking and RDMA over USB4: structures shared by the driver's files */
#ifndef _U4N_H
#define _U4N_H

#include <linux/dim.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/ratelimit.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/u64_stats_sync.h>
#include <linux/workqueue.h>
#include <net/page_pool/types.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "credit.h"
#include "limit.h"
#include "proto.h"
#include "ring.h"

struct roce_link;
struct u4n_gids;

/* Descriptors of a ring, powers of two. One of them is never used. */
#define U4N_RING_SIZE		512U
#define U4N_RING_MIN		64U
#define U4N_RING_MAX		4096U
#define U4N_STALL_WINDOW	64U	/* frames in flight after a stall */

/* Frames and credits that bulk may not use up */
#define U4N_RESERVE_CTL		4U		/* kept for CONTROL frames */
#define U4N_RESERVE_HEAD	8U		/* kept for RoCE packets of one frame */
#define U4N_RESERVE		(U4N_RESERVE_CTL + U4N_RESERVE_HEAD)
#define U4N_MAX_FRAMES		(1U + U4N_MAX_BODIES)

/* Transmit queues that the stack sees, see queue.c */
#define U4N_QUEUE_BULK		0U
#define U4N_QUEUE_SMALL		1U	/* for packets of one frame */
#define U4N_NUM_QUEUES		2U

/*
 * An skb of TCP above 64 KiB ("BIG TCP") is cut into packets here, no more than
 * so many, if so many frames may be in flight.
 */
#define U4N_BIG_PACKETS		4U
#define U4N_BIG_SIZE		(U4N_BIG_PACKETS * 65536U + 1024U)
#define U4N_BIG_WINDOW		208U

#define U4N_SLOT_SIZE		2048U		/* HEAD frames that we send */
#define U4N_INLINE_MAX		(U4N_SLOT_SIZE - U4N_HEAD_SIZE)
#define U4N_INLINE_HDR		256U		/* linear data copied from large packets */
#define U4N_TX_COPYBREAK	U4N_INLINE_MAX	/* packets copied as a whole */
#define U4N_TX_COPYBREAK_MAX	U4N_INLINE_MAX
#define U4N_RX_COPYBREAK	U4N_SLOT_SIZE	/* bytes copied from a HEAD frame */
#define U4N_RX_COPYBREAK_MIN	U4N_INLINE_HDR
#define U4N_RX_COPYBREAK_MAX	U4N_FRAME_SIZE
#define U4N_ROCE_QUEUE_MAX	1024U		/* packets waiting for credits */
#define U4N_ROCE_TRAILER_MAX	7U		/* padding and ICRC */
#define U4N_ROCE_WAIT_MS	2000U		/* and may wait so long */

/*
 * What a peer that does nothing wrong never needs, and one that does would keep
 * us busy with. Times at once, and in a second later on.
 */
#define U4N_SETUP_BURST		10U		/* rings and paths for a session */
#define U4N_SETUP_RATE		2U
#define U4N_REQUEST_BURST	50U		/* XDomain requests answered */
#define U4N_REQUEST_RATE	50U
#define U4N_GIDS_BURST		20U		/* lists of GIDs taken, or renewed */
#define U4N_GIDS_RATE		20U
#define U4N_LOG_BURST		40		/* lines in the kernel log, */
#define U4N_LOG_INTERVAL	(60 * HZ)	/* in this time */

/**
 * enum u4n_reason - why a session ends, also told to the peer in BYE
 * @U4N_WHY_NONE: it does not
 * @U4N_WHY_CLOSED: the network device was closed
 * @U4N_WHY_PEER_BYE: the peer has left
 * @U4N_WHY_PEER_RESTART: the peer has begun a new generation
 * @U4N_WHY_STALE: the peer does not know the session
 * @U4N_WHY_SETUP: rings or paths could not be set up
 * @U4N_WHY_NOT_READY: the peer did not become ready in time
 * @U4N_WHY_PROBE: no probe came through
 * @U4N_WHY_RX_DEAD: nothing was received for too long
 * @U4N_WHY_TX_DEAD: the peer does not receive what we send
 * @U4N_WHY_TX_STALL: the transmit ring has stalled
 * @U4N_WHY_PROTOCOL: the peer has broken the rules of flow control
 * @U4N_WHY_NO_CREDIT: the peer does not let us send
 * @U4N_NUM_WHYS: number of reasons
 */
enum u4n_reason {
	U4N_WHY_NONE,
	U4N_WHY_CLOSED,
	U4N_WHY_PEER_BYE,
	U4N_WHY_PEER_RESTART,
	U4N_WHY_STALE,
	U4N_WHY_SETUP,
	U4N_WHY_NOT_READY,
	U4N_WHY_PROBE,
	U4N_WHY_RX_DEAD,
	U4N_WHY_TX_DEAD,
	U4N_WHY_TX_STALL,
	U4N_WHY_PROTOCOL,
	U4N_WHY_NO_CREDIT,
	U4N_NUM_WHYS,
};

/**
 * enum u4n_hs_state - states of the handshake
 * @U4N_HS_DOWN: network device is down
 * @U4N_HS_HELLO: looking for the peer
 * @U4N_HS_SETUP: setting up rings and paths
 * @U4N_HS_READY: waiting for the peer to be set up
 * @U4N_HS_PROBE: waiting for frames to pass both ways
 * @U4N_HS_UP: carrier is on
 * @U4N_HS_REFUSED: no common version, waiting for the peer to change
 * @U4N_HS_NUM: number of states
 */
enum u4n_hs_state {
	U4N_HS_DOWN,
	U4N_HS_HELLO,
	U4N_HS_SETUP,
	U4N_HS_READY,
	U4N_HS_PROBE,
	U4N_HS_UP,
	U4N_HS_REFUSED,
	U4N_HS_NUM,
};

/**
 * struct u4n_hs - handshake
 * @work: runs the state machine
 * @lock: protects what the protocol handler and NAPI write: all but the
 *	members from @since on
 * @state: current state, written by @work only
 * @enabled: network device is up
 * @busy: leaving a session, HELLOs are to be repeated
 * @reason: why the session is to end, %U4N_WHY_NONE if it is not
 * @peer_reason: reason in the peer's BYE
 * @last_end: why the last session ended
 * @cookie: our generation
 * @peer: what the peer has told, @peer.cookie is 0 if it has not
 * @peer_knows: the peer has our HELLO or an answer with the same contents
 * @peer_ready: the peer has said READY in this session
 * @probe_acked: our probe has come back
 * @since: time at which @state was entered, jiffies
 * @backoff: time to the next HELLO
 * @unheard: HELLOs in a row that nobody has answered
 * @deadline: next keepalive
 * @xd_id: number of the last request
 * @in_hopid: HopID allocated for reception, 0 if none
 * @tell: a keepalive is to be sent at once, it has news
 * @rings_up: rings are running and paths are open
 * @version_logged: it was said that there is no common version
 * @mtu_logged: MTU of the peer that was said to differ
 * @tx_tail: transmit ring's tail at the last keepalive
 * @tx_stalled: keepalives for which it has not moved
 * @ends: sessions ended, by reason
 * @sessions: number of times that carrier went on
 * @setups: limits how often rings and paths are set up
 */
struct u4n_hs {
	struct delayed_work work;
	spinlock_t lock;	/* see above */
	enum u4n_hs_state state;
	bool enabled;
	bool busy;
	enum u4n_reason reason;
	u32 peer_reason;
	enum u4n_reason last_end;
	u32 cookie;
	struct u4n_peer peer;
	bool peer_knows;
	bool peer_ready;
	bool probe_acked;

	unsigned long since;
	unsigned int backoff;
	unsigned int unheard;
	unsigned long deadline;
	u32 xd_id;
	int in_hopid;
	bool tell;
	bool rings_up;
	bool version_logged;
	u32 mtu_logged;
	u32 tx_tail;
	unsigned int tx_stalled;
	u64 ends[U4N_NUM_WHYS];
	u64 sessions;
	struct u4n_limit setups;
};

#define U4N_CAPS	(U4N_CAP_ROCE | U4N_CAP_CSUM | U4N_CAP_GSO | \
			 U4N_CAP_NO_ICRC | U4N_CAP_MULTI_PSN | \
			 (U4N_HAVE_TUNNEL ? U4N_CAP_TUNNEL : 0) | \
			 (U4N_HAVE_BIG ? U4N_CAP_BIG : 0))

/* What a piece of a packet is in, from which BODY frames are sent */
enum u4n_map {
	U4N_MAP_SINGLE,		/* linear part of an skb */
	U4N_MAP_PAGE,		/* fragment of an skb */
	U4N_MAP_COPY,		/* page of ours */
};

/**
 * struct u4n_tx_frame - a descriptor of the transmit ring
 * @frame: what the ring sees
 * @skb: packet that ends with this frame, or NULL
 * @bytes: its length if the stack's bulk queue accounts for it, else 0
 * @frames: number of frames that this one is the first of, a packet's or 1: CONTROL
 * @packed: there are %U4N_MAP_COPY pieces in that packet
 * @map: the piece of a packet that begins with this BODY frame, and takes as many as
 *	it needs
 * @map_len: its length
 * @map_dma: its address
 * @copy: %U4N_MAP_COPY: the page
 * @slot: memory for HEAD and CONTROL frames, mapped for good
 * @slot_dma: its address
 */
struct u4n_tx_frame {
	struct ring_frame frame;
	struct sk_buff *skb;
	u32 bytes;
	u8 frames;
	bool packed;
	enum u4n_map map;
	u32 map_len;
	dma_addr_t map_dma;
	struct page *copy;
	void *slot;
	dma_addr_t slot_dma;
};

/* Counters written under u4n_tx.lock */
enum u4n_tx_counter {
	U4N_TX_FRAMES,
	U4N_TX_INLINE,
	U4N_TX_PACKED,
	U4N_TX_BIG,
	U4N_TX_CONTROL,
	U4N_TX_CREDITS,
	U4N_TX_FORCED,
	U4N_TX_STOPS,
	U4N_TX_SMALL,
	U4N_TX_SMALL_STOPS,
	U4N_TX_TIMER,
	U4N_TX_LOST_IRQS,
	U4N_TX_DROP_DOWN,
	U4N_TX_DROP_SIZE,
	U4N_TX_DROP_META,
	U4N_TX_DROP_NOMEM,
	U4N_TX_DROP_MAP,
	U4N_TX_ROCE_PACKETS,
	U4N_TX_ROCE_BYTES,
	U4N_TX_ROCE_QUEUED,
	U4N_TX_ROCE_DROP_FULL,
	U4N_TX_ROCE_DROP_OLD,
	U4N_TX_ROCE_DROP_DOWN,
	U4N_TX_NUM,
};

/**
 * struct u4n_tx - transmit side
 * @lock: protects all members. Taken in process and softirq context, inside of
 *	the network device's own transmit lock.
 * @ring: the ring
 * @size: number of its descriptors
 * @window: frames that may be in it, less than @size
 * @max_window: bound of @window after a stall
 * @frames: its descriptors
 * @copybreak: packets up to this length are copied as a whole
 * @head: next to be used, free running
 * @tail: next to be completed, free running
 * @skbs: packets in the ring that somebody may wait for
 * @kick_due: the ring has not been told of the last frames
 * @running: CONTROL frames may be sent
 * @open: packets may be sent
 * @caps: what the peer understands, U4N_CAP_*. May be read without the lock.
 * @big: skbs above 64 KiB are taken. May be read without the lock.
 * @stop: room that an skb of any size needs
 * @wake: room to go on with after a stop
 * @horizon: first frame for which there was no room when the bulk queue was stopped
 * @small: frames that the small queue has sent since then
 * @small_wake: room to go on with after a stop of the small queue
 * @gen: generation in what we send
 * @seq: next packet
 * @credit: what the peer lets us send
 * @told: limit in the last frame that carried one
 * @roce: RoCE packets that wait for credits
 * @syncp: for 64-bit counters on 32-bit machines
 * @packets: sent
 * @bytes: sent
 * @count: the other counters
 */
struct u4n_tx {
	spinlock_t lock;	/* all of the below */
	struct u4n_ring ring;
	unsigned int size;
	unsigned int window;
	unsigned int max_window;
	struct u4n_tx_frame *frames;
	u32 copybreak;
	u32 head;
	u32 tail;
	unsigned int skbs;
	bool kick_due;
	bool running;
	bool open;
	u32 caps;
	bool big;
	int stop;
	int wake;
	u32 horizon;
	u32 small;
	int small_wake;
	u16 gen;
	u32 seq;
	struct u4n_credit_tx credit;
	u32 told;
	struct sk_buff_head roce;
	struct u64_stats_sync syncp;
	u64_stats_t packets;
	u64_stats_t bytes;
	u64_stats_t count[U4N_TX_NUM];
};

/**
 * struct u4n_timer - watches both rings, see timer.c. Under u4n_tx.lock.
 * @hrtimer: the timer
 * @armed: it runs
 * @soon: it was set to run early
 * @asked: it has run since the last packet was sent, and there was one to reap
 * @later: it is not to run quite so early, the time is doubled so often
 * @tail: transmit ring's tail when it was armed
 * @rx_ready: the receive ring had something the last time
 * @rx_seen: frames received then
 * @rx_since: and since then
 * @stamp: changes with traffic
 * @idle: calls without traffic
 */
struct u4n_timer {
	struct hrtimer hrtimer;
	bool armed;
	bool soon;
	bool asked;
	unsigned int later;
	u32 tail;
	bool rx_ready;
	u32 rx_seen;
	ktime_t rx_since;
	u32 stamp;
	unsigned int idle;
};

/**
 * struct u4n_rx_buf - buffer for a frame
 * @page: page of which it is a part, and holds a reference of
 * @offset: its place in the page
 * @single: the page is from u4n_rx.small
 */
struct u4n_rx_buf {
	struct page *page;
	unsigned int offset;
	bool single;
};

/**
 * struct u4n_rx_piece - neighbours in memory, which BODY frames were received into
 * @buf: the first one. Of its page, one reference belongs to the piece.
 * @size: bytes
 * @buffers: number of the buffers
 */
struct u4n_rx_piece {
	struct u4n_rx_buf buf;
	unsigned int size;
	unsigned int buffers;
};

/**
 * struct u4n_rx_frame - a descriptor of the receive ring
 * @frame: what the ring sees
 * @buf: its buffer
 */
struct u4n_rx_frame {
	struct ring_frame frame;
	struct u4n_rx_buf buf;
};

/* Counters written by NAPI */
enum u4n_rx_counter {
	U4N_RX_FRAMES,
	U4N_RX_CONTROL,
	U4N_RX_COPIED,
	U4N_RX_LOST_FRAMES,
	U4N_RX_LOST_PACKETS,
	U4N_RX_PROTO_ERRORS,
	U4N_RX_ROCE_PACKETS,
	U4N_RX_ROCE_BYTES,
	U4N_RX_ROCE_TO_STACK,
	U4N_RX_ROCE_DROP_NO_ICRC,
	U4N_RX_ROCE_DROP_MULTI_PSN,
	U4N_RX_NUM,
};

/**
 * struct u4n_rx - receive side, NAPI's own while a session lives
 * @ring: the ring
 * @size: number of its descriptors
 * @frames: its descriptors
 * @copybreak: bytes of a HEAD frame that are copied; if there are more, its page
 *	goes to the stack
 * @pool: large pages, each for several buffers
 * @small: pages of the smallest size, for when there is no large one
 * @fresh: next buffer
 * @fresh_end: end of its page
 * @fresh_dma: address of its page
 * @masked: the ring's interrupt is masked until we have polled (bit 0)
 * @stopped: session is broken, everything is dropped
 * @gen: generation that frames must carry
 * @cookie: our cookie, which probes must carry
 * @posted: buffers of which the ring has not been told
 * @batch: tell it when there are so many
 * @credit: what we let the peer send
 * @tx_limit: what the peer lets us send
 * @seq: next packet expected
 * @pieces: what has come of a packet, in its BODY frames
 * @num_pieces: their number
 * @bodies: that of the frames
 * @len: bytes
 * @bad: something of the packet is missing or wrong, its HEAD is waited for
 * @last: time of the last HEAD or CONTROL frame, jiffies
 * @deaf: keepalives in a row that said that the peer does not hear us
 * @peer_mtu: MTU in the last keepalive
 * @ack_probe: a probe is to be answered
 * @ack_gids: a list of GIDs is to be acknowledged
 * @probe_arg: what the probe carried
 * @syncp: for 64-bit counters on 32-bit machines
 * @packets: received
 * @bytes: received
 * @count: the other counters
 * @drops: drops by reason
 */
struct u4n_rx {
	struct u4n_ring ring;
	unsigned int size;
	struct u4n_rx_frame *frames;
	u32 copybreak;
	struct page_pool *pool;
	struct page_pool *small;
	struct u4n_rx_buf fresh;
	unsigned int fresh_end;
	dma_addr_t fresh_dma;
	unsigned long masked;
	bool stopped;
	u16 gen;
	u32 cookie;
	unsigned int posted;
	unsigned int batch;
	struct u4n_credit_rx credit;
	u32 tx_limit;
	u32 seq;
	struct u4n_rx_piece pieces[U4N_MAX_BODIES];
	unsigned int num_pieces;
	unsigned int bodies;
	u32 len;
	bool bad;
	unsigned long last;
	unsigned int deaf;
	u32 peer_mtu;
	bool ack_probe;
	bool ack_gids;
	u32 probe_arg;
	struct u64_stats_sync syncp;
	u64_stats_t packets;
	u64_stats_t bytes;
	u64_stats_t count[U4N_RX_NUM];
	u64_stats_t drops[U4N_NUM_DROPS];
};

/* Private flags of the network device, in the order of u4n_priv_names */
#define U4N_ROCE_BYPASS		BIT(0)
#define U4N_ROCE_ELIDE_ICRC	BIT(1)
#define U4N_ROCE_MULTI_PSN	BIT(2)

/**
 * struct u4n_roce - RoCE link
 * @link: our registration, RCU
 * @lock: protects writers of the tables
 * @flags: private flags, U4N_ROCE_*
 * @client_caps: ROCE_LINK_CAP_* of the client
 * @local: GIDs that the client has announced, RCU
 * @remote: GIDs that the peer has announced, RCU
 * @version: of @local
 * @acked: version of @local that the peer has acknowledged
 * @taken: limits how often a list of the peer is taken
 * @renewals: limits how often packets have the list sent again
 */
struct u4n_roce {
	struct roce_link __rcu *link;
	spinlock_t lock;	/* writers of the lists and flags */
	u32 flags;
	u32 client_caps;
	struct u4n_gids __rcu *local;
	struct u4n_gids __rcu *remote;
	u32 version;
	u32 acked;
	struct u4n_limit taken;
	struct u4n_limit renewals;
};

/**
 * struct u4n_moder - interrupt moderation
 * @lock: protects all members but those of NAPI, and the interval of the ring
 * @usecs: configured interval
 * @now: interval in force, 0 if there is no ring
 * @adaptive: the interval follows the traffic, begins with @usecs
 * @events: number of NAPI polls, NAPI's own
 * @dim: chooses the interval
 */
struct u4n_moder {
	struct mutex lock;	/* see above */
	unsigned int usecs;
	unsigned int now;
	bool adaptive;
	u16 events;
	struct dim dim;
};

/**
 * struct u4n_link - a cable's other end, private data of the network device
 * @list: in the list of links
 * @ndev: network device
 * @svc: service of the XDomain that it is for
 * @xd: the XDomain
 * @napi: polls both rings
 * @napi_cpu: processor that is in the receive side's part of it, or -1
 * @timer: watches both rings
 * @out_hopid: HopID that we transmit on
 * @reply: answer to the peer's last request. Not on the stack, since the
 *	control channel keeps a pointer to it for a while.
 * @requests: limits how many requests of the peer are answered
 * @log: limits the lines in the kernel log that the peer can be the cause of
 * @hs: handshake
 * @tx: transmit side
 * @rx: receive side
 * @roce: RoCE link
 * @moder: interrupt moderation
 */
struct u4n_link {
	struct list_head list;
	struct net_device *ndev;
	struct tb_service *svc;
	struct tb_xdomain *xd;
	struct napi_struct napi;
	int napi_cpu;
	struct u4n_timer timer;
	int out_hopid;
	struct u4n_xd_msg reply;
	struct u4n_limit requests;
	struct ratelimit_state log;
	struct u4n_hs hs;
	struct u4n_tx tx ____cacheline_aligned_in_smp;
	struct u4n_rx rx ____cacheline_aligned_in_smp;
	struct u4n_roce roce;
	struct u4n_moder moder;
};

/* net.c */
int u4n_net_resize(struct u4n_link *l, unsigned int tx, unsigned int rx);
struct u4n_link *u4n_link_create(struct tb_service *svc);
void u4n_link_destroy(struct u4n_link *l);

/* ethtool.c */
extern const struct ethtool_ops u4n_ethtool_ops;

/* moder.c */
#define U4N_MODER_MAX		16776U	/* microseconds, see u4n_ring_throttle() */
void u4n_moder_setup(struct u4n_link *l);
void u4n_moder_start(struct u4n_link *l);
void u4n_moder_again(struct u4n_link *l);
void u4n_moder_stop(struct u4n_link *l);
void u4n_moder_poll(struct u4n_link *l);
int u4n_moder_set(struct u4n_link *l, unsigned int usecs, bool adaptive);

/* sysfs.c */
extern const struct attribute_group u4n_sysfs_group;

/* peers.c */
int u4n_peers_init(const struct bus_type *bus);
void u4n_peers_exit(void);

/* xdomain.c */
int u4n_xd_init(void);
void u4n_xd_exit(void);
void u4n_xd_add(struct u4n_link *l);
void u4n_xd_del(struct u4n_link *l);
int u4n_xd_wait_lock(struct tb_xdomain *xd);
int u4n_xd_request(struct u4n_link *l, enum u4n_xd_type type, u32 status,
		   unsigned int timeout, struct u4n_xd_msg *ack);

/* handshake.c */
int u4n_hs_init(void);
void u4n_hs_exit(void);
void u4n_hs_setup(struct u4n_link *l);
void u4n_hs_start(struct u4n_link *l);
void u4n_hs_stop(struct u4n_link *l);
void u4n_hs_kick(struct u4n_link *l);
void u4n_hs_tell(struct u4n_link *l);
void u4n_hs_end(struct u4n_link *l, enum u4n_reason reason);
void u4n_hs_probe_acked(struct u4n_link *l);
enum u4n_xd_status u4n_hs_rx_hello(struct u4n_link *l,
				   const struct u4n_xd_msg *msg);
enum u4n_xd_status u4n_hs_rx_ready(struct u4n_link *l,
				   const struct u4n_xd_msg *msg);
enum u4n_xd_status u4n_hs_rx_bye(struct u4n_link *l,
				 const struct u4n_xd_msg *msg);
const char *u4n_reason_text(u32 reason);
const char *u4n_hs_state_text(enum u4n_hs_state state);

/* tx.c */
int u4n_tx_alloc(struct u4n_link *l);
void u4n_tx_free(struct u4n_link *l);
void u4n_tx_start(struct u4n_link *l, u32 window, u16 gen, u32 caps);
void u4n_tx_open(struct u4n_link *l);
void u4n_tx_close(struct u4n_link *l);
void u4n_tx_flush(struct u4n_link *l);
void u4n_tx_stalled(struct u4n_link *l);
netdev_tx_t u4n_tx_xmit(struct sk_buff *skb, struct net_device *ndev);
int u4n_tx_roce(struct u4n_link *l, struct sk_buff *skb);
void u4n_tx_roce_reap(struct u4n_link *l);
bool u4n_tx_control(struct u4n_link *l, struct u4n_ctl *ctl, bool force);
void u4n_tx_poll(struct u4n_link *l, int budget);
bool u4n_tx_owes_credit(struct u4n_link *l);

/* queue.c */
u16 u4n_queue_select(struct net_device *ndev, struct sk_buff *skb,
		     struct net_device *sb_dev);

/* timer.c */
void u4n_timer_setup(struct u4n_link *l);
void u4n_timer_arm(struct u4n_link *l);
void u4n_timer_soon(struct u4n_link *l);
void u4n_timer_sent(struct u4n_link *l, const struct sock *sk);
void u4n_timer_poll(struct u4n_link *l);
void u4n_timer_cancel(struct u4n_link *l);

/* txmap.c */

/**
 * struct u4n_tx_walk - a place in a packet
 * @skb: the packet or a member of its frag_list
 * @more: next member of the frag_list
 * @frag: fragment, NULL in a linear part
 * @nr_frag: next fragment
 * @offset: bytes of the piece that are done with
 * @size: length of the piece
 */
struct u4n_tx_walk {
	const struct sk_buff *skb;
	const struct sk_buff *more;
	const skb_frag_t *frag;
	unsigned int nr_frag;
	unsigned int offset;
	unsigned int size;
};

/**
 * struct u4n_tx_plan - how a packet becomes frames
 * @meta: metadata
 * @need: bytes that must be in the HEAD frame
 * @inl: bytes that are copied into the HEAD frame, from the beginning of the
 *	skb
 * @pos: where in the skb the BODY frames begin: at @inl, but in all packets but
 *	the first of a big skb
 * @end: and where they end
 * @walk: the place of @pos
 * @bodies: number of BODY frames
 * @packed: pieces are copied together to save frames
 * @cut: packet is a part of a big skb
 */
struct u4n_tx_plan {
	struct u4n_meta meta;
	unsigned int need;
	unsigned int inl;
	unsigned int pos;
	unsigned int end;
	struct u4n_tx_walk walk;
	unsigned int bodies;
	bool packed;
	bool cut;
};

int u4n_tx_prepare(struct u4n_link *l, struct sk_buff *skb, u8 type,
		   struct u4n_tx_plan *plan);
void u4n_tx_plan(struct u4n_link *l, const struct sk_buff *skb,
		 struct u4n_tx_plan *plan);
int u4n_tx_map(struct u4n_link *l, const struct sk_buff *skb,
	       struct u4n_tx_plan *plan);
void u4n_tx_unmap(struct u4n_link *l, u32 index, u32 end);
void u4n_tx_pack(struct u4n_tx_plan *plan);
struct u4n_tx_walk u4n_tx_walk_from(const struct sk_buff *skb, unsigned int pos);

/* big.c */
bool u4n_big_ok(const struct u4n_link *l, const struct sk_buff *skb);
int u4n_big_prepare(struct u4n_link *l, struct sk_buff *skb,
		    struct u4n_tx_plan *plan);
bool u4n_big_next(struct u4n_link *l, const struct sk_buff *skb,
		  struct u4n_tx_plan *plan);
void u4n_big_header(const struct sk_buff *skb, const struct u4n_tx_plan *plan,
		    void *buf);

/* meta.c */
unsigned int u4n_meta_gso_hdr_len(const struct sk_buff *skb);
netdev_features_t u4n_meta_features(struct sk_buff *skb,
				    struct net_device *ndev,
				    netdev_features_t features);
int u4n_meta_from_skb(struct sk_buff *skb, u32 caps, struct u4n_meta *m);
enum u4n_drop u4n_meta_to_skb(struct sk_buff *skb, const struct u4n_meta *m,
			      bool rxcsum);

/* rx.c */
int u4n_rx_alloc(struct u4n_link *l);
void u4n_rx_free(struct u4n_link *l);
int u4n_rx_start(struct u4n_link *l, u32 window, u16 gen, u32 cookie);
void u4n_rx_flush(struct u4n_link *l);
int u4n_rx_poll(struct u4n_link *l, int budget);
bool u4n_rx_credit(struct u4n_link *l, u16 gen, u32 sent, u32 limit);
void u4n_rx_broken(struct u4n_link *l);

/* control.c */
enum u4n_drop u4n_control_rcv(struct u4n_link *l, const void *buf,
			      unsigned int size);
void u4n_control_poll(struct u4n_link *l);
void u4n_control_probe(struct u4n_link *l);
void u4n_control_keepalive(struct u4n_link *l, bool rx_alive);

/* roce.c */
void u4n_roce_setup(struct u4n_link *l);
int u4n_roce_register(struct u4n_link *l);
void u4n_roce_unregister(struct u4n_link *l);
void u4n_roce_free(struct u4n_link *l);
void u4n_roce_reset(struct u4n_link *l);
bool u4n_roce_send_gids(struct u4n_link *l);
void u4n_roce_rcv_gids(struct u4n_link *l, const struct u4n_ctl *ctl);
void u4n_roce_rcv_gids_ack(struct u4n_link *l, u32 version);
unsigned int u4n_roce_remote_count(struct u4n_link *l);
u32 u4n_roce_remote_version(struct u4n_link *l);
void u4n_roce_rcv(struct u4n_link *l, struct sk_buff *skb,
		  const struct u4n_meta *m);
u32 u4n_roce_needs(const struct sk_buff *skb);
void u4n_roce_meta_from_skb(const struct sk_buff *skb, struct u4n_meta *m);
void u4n_roce_tap_tx(struct u4n_link *l, const struct sk_buff *skb);
void u4n_roce_set_flags(struct u4n_link *l, u32 flags);

static inline struct u4n_tx_frame *u4n_tx_frame(struct u4n_link *l, u32 index)
{
	return &l->tx.frames[index & (l->tx.size - 1)];
}

/* The device that does DMA. The rings are allocated. */
static inline struct device *u4n_ring_dma_dev(const struct u4n_link *l)
{
	return tb_ring_dma_device(l->rx.ring.tb);
}

/* Number of BODY frames that the piece of a packet takes which begins with this one */
static inline unsigned int u4n_tx_piece_frames(const struct u4n_tx_frame *tf)
{
	return DIV_ROUND_UP(tf->map_len, U4N_FRAME_SIZE);
}

/* The largest packet that the peer takes */
static inline unsigned int u4n_tx_max_packet(const struct u4n_link *l)
{
	return READ_ONCE(l->tx.caps) & U4N_CAP_BIG ? U4N_MAX_BIG_PACKET :
						     U4N_MAX_PACKET;
}

/* Adapter of our router that the cable is at */
static inline unsigned int u4n_link_port(const struct u4n_link *l)
{
	return l->xd->route & 0xff;
}

/* Counters: under tx.lock and in NAPI, respectively */
static inline void u4n_tx_count(struct u4n_link *l, enum u4n_tx_counter c,
				unsigned int n)
{
	u64_stats_update_begin(&l->tx.syncp);
	u64_stats_add(&l->tx.count[c], n);
	u64_stats_update_end(&l->tx.syncp);
}

static inline void u4n_rx_count(struct u4n_link *l, enum u4n_rx_counter c,
				unsigned int n)
{
	u64_stats_update_begin(&l->rx.syncp);
	u64_stats_add(&l->rx.count[c], n);
	u64_stats_update_end(&l->rx.syncp);
}

/* Lines of the kernel log that a peer can be the cause of */
#define u4n_log(link, level, fmt, ...)					\
	do {								\
		struct u4n_link *_l = link;				\
									\
		if (__ratelimit(&_l->log))				\
			netdev_##level(_l->ndev, fmt, ##__VA_ARGS__);	\
	} while (0)

#ifndef U4N_RING_BATCH
#include "ring_direct.h"
#endif

#endif /* _U4N_H */
