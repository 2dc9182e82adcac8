// SPDX-License-Identifier: GPL-2.0
/* ethtool */
#include <linux/ethtool.h>
#include <linux/log2.h>
#include <linux/utsname.h>
#include <net/page_pool/helpers.h>

#include "u4n.h"

static const char * const u4n_priv_names[] = {
	"roce-bypass",
	"roce-icrc-elision",
	"roce-multi-psn",
};

static const char * const u4n_tx_names[] = {
	[U4N_TX_FRAMES]		= "tx_frames",
	[U4N_TX_INLINE]		= "tx_inline_packets",
	[U4N_TX_PACKED]		= "tx_packed",
	[U4N_TX_BIG]		= "tx_big",
	[U4N_TX_CONTROL]	= "tx_control_frames",
	[U4N_TX_CREDITS]	= "tx_credit_frames",
	[U4N_TX_FORCED]		= "tx_forced_frames",
	[U4N_TX_STOPS]		= "tx_queue_stops",
	[U4N_TX_SMALL]		= "tx_small_packets",
	[U4N_TX_SMALL_STOPS]	= "tx_small_queue_stops",
	[U4N_TX_TIMER]		= "timer_calls",
	[U4N_TX_LOST_IRQS]	= "rx_lost_interrupts",
	[U4N_TX_DROP_DOWN]	= "tx_drop_link_down",
	[U4N_TX_DROP_SIZE]	= "tx_drop_size",
	[U4N_TX_DROP_META]	= "tx_drop_metadata",
	[U4N_TX_DROP_NOMEM]	= "tx_drop_no_memory",
	[U4N_TX_DROP_MAP]	= "tx_drop_dma_map",
	[U4N_TX_ROCE_PACKETS]	= "roce_tx_packets",
	[U4N_TX_ROCE_BYTES]	= "roce_tx_bytes",
	[U4N_TX_ROCE_QUEUED]	= "roce_tx_queued",
	[U4N_TX_ROCE_DROP_FULL]	= "roce_tx_drop_queue_full",
	[U4N_TX_ROCE_DROP_OLD]	= "roce_tx_drop_old",
	[U4N_TX_ROCE_DROP_DOWN]	= "roce_tx_drop_link_down",
};

static_assert(ARRAY_SIZE(u4n_tx_names) == U4N_TX_NUM);

static const char * const u4n_rx_names[] = {
	[U4N_RX_FRAMES]		= "rx_frames",
	[U4N_RX_CONTROL]	= "rx_control_frames",
	[U4N_RX_COPIED]		= "rx_copied_packets",
	[U4N_RX_LOST_FRAMES]	= "rx_lost_frames",
	[U4N_RX_LOST_PACKETS]	= "rx_lost_packets",
	[U4N_RX_PROTO_ERRORS]	= "rx_flow_control_errors",
	[U4N_RX_ROCE_PACKETS]	= "roce_rx_packets",
	[U4N_RX_ROCE_BYTES]	= "roce_rx_bytes",
	[U4N_RX_ROCE_TO_STACK]	= "roce_rx_to_stack",
	[U4N_RX_ROCE_DROP_NO_ICRC] = "roce_rx_drop_no_icrc",
	[U4N_RX_ROCE_DROP_MULTI_PSN] = "roce_rx_drop_multi_psn",
};

static_assert(ARRAY_SIZE(u4n_rx_names) == U4N_RX_NUM);

static const char * const u4n_drop_names[] = {
	[U4N_DROP_NONE]		= "rx_drop_none",
	[U4N_DROP_CRC]		= "rx_drop_crc",
	[U4N_DROP_OVERRUN]	= "rx_drop_overrun",
	[U4N_DROP_PDF]		= "rx_drop_pdf",
	[U4N_DROP_SHORT]	= "rx_drop_short",
	[U4N_DROP_TYPE]		= "rx_drop_type",
	[U4N_DROP_FLAGS]	= "rx_drop_flags",
	[U4N_DROP_META]		= "rx_drop_metadata",
	[U4N_DROP_CSUM]		= "rx_drop_csum",
	[U4N_DROP_GSO]		= "rx_drop_gso",
	[U4N_DROP_TUNNEL]	= "rx_drop_tunnel",
	[U4N_DROP_HEADERS]	= "rx_drop_headers",
	[U4N_DROP_LENGTH]	= "rx_drop_length",
	[U4N_DROP_BODIES]	= "rx_drop_frame_count",
	[U4N_DROP_GEN]		= "rx_drop_generation",
	[U4N_DROP_ORPHAN]	= "rx_drop_orphan_body",
	[U4N_DROP_BODY]		= "rx_drop_bad_body",
	[U4N_DROP_TRUNCATED]	= "rx_drop_truncated",
	[U4N_DROP_CTL]		= "rx_drop_control",
	[U4N_DROP_NO_SKB]	= "rx_drop_no_skb",
	[U4N_DROP_NO_PAGE]	= "rx_drop_no_page",
	[U4N_DROP_STOPPED]	= "rx_drop_stopped",
};

static_assert(ARRAY_SIZE(u4n_drop_names) == U4N_NUM_DROPS);

static const char * const u4n_end_names[] = {
	[U4N_WHY_CLOSED]	= "end_closed",
	[U4N_WHY_PEER_BYE]	= "end_peer_bye",
	[U4N_WHY_PEER_RESTART]	= "end_peer_restart",
	[U4N_WHY_STALE]		= "end_stale",
	[U4N_WHY_SETUP]		= "end_setup",
	[U4N_WHY_NOT_READY]	= "end_not_ready",
	[U4N_WHY_PROBE]		= "end_probe",
	[U4N_WHY_RX_DEAD]	= "end_rx_dead",
	[U4N_WHY_TX_DEAD]	= "end_tx_dead",
	[U4N_WHY_TX_STALL]	= "end_tx_stall",
	[U4N_WHY_PROTOCOL]	= "end_protocol",
	[U4N_WHY_NO_CREDIT]	= "end_no_credit",
};

static_assert(ARRAY_SIZE(u4n_end_names) == U4N_NUM_WHYS);

static const char * const u4n_link_names[] = {
	"sessions", "mtu", "peer_mtu", "tx_credits", "tx_ring_used",
	"tx_window",	"roce_tx_waiting", "rx_usecs_now",
	"requests_ignored", "setups_delayed", "gids_ignored", "roce_peer_gids",
};

#define U4N_NUM_STATS	(ARRAY_SIZE(u4n_tx_names) + ARRAY_SIZE(u4n_rx_names) + \
			 ARRAY_SIZE(u4n_drop_names) - 1 + \
			 ARRAY_SIZE(u4n_end_names) - 1 + \
			 ARRAY_SIZE(u4n_link_names))

static void u4n_ethtool_puts(u8 **data, const char * const *names,
			     unsigned int from, unsigned int to)
{
	unsigned int i;

	for (i = from; i < to; i++)
		ethtool_puts(data, names[i]);
}

/* Same order as u4n_ethtool_get_stats() */
static void u4n_ethtool_get_strings(struct net_device *ndev, u32 set, u8 *data)
{
	if (set == ETH_SS_PRIV_FLAGS)
		u4n_ethtool_puts(&data, u4n_priv_names, 0,
				 ARRAY_SIZE(u4n_priv_names));
	if (set != ETH_SS_STATS)
		return;
	u4n_ethtool_puts(&data, u4n_tx_names, 0, ARRAY_SIZE(u4n_tx_names));
	u4n_ethtool_puts(&data, u4n_rx_names, 0, ARRAY_SIZE(u4n_rx_names));
	u4n_ethtool_puts(&data, u4n_drop_names, 1, ARRAY_SIZE(u4n_drop_names));
	u4n_ethtool_puts(&data, u4n_end_names, 1, ARRAY_SIZE(u4n_end_names));
	u4n_ethtool_puts(&data, u4n_link_names, 0, ARRAY_SIZE(u4n_link_names));
	page_pool_ethtool_stats_get_strings(data);
}

static int u4n_ethtool_get_sset_count(struct net_device *ndev, int set)
{
	if (set == ETH_SS_PRIV_FLAGS)
		return ARRAY_SIZE(u4n_priv_names);
	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return U4N_NUM_STATS + page_pool_ethtool_stats_get_count();
}

static void u4n_ethtool_pool_stats(struct u4n_link *l, u64 *data)
{
#ifdef CONFIG_PAGE_POOL_STATS
	struct page_pool_stats stats = { };

	if (l->rx.pool) {
		page_pool_get_stats(l->rx.pool, &stats);
		page_pool_get_stats(l->rx.small, &stats);
	}
	page_pool_ethtool_stats_get(data, &stats);
#endif
}

static void u4n_ethtool_get_stats(struct net_device *ndev,
				  struct ethtool_stats *es, u64 *data)
{
	struct u4n_link *l = netdev_priv(ndev);
	unsigned int start, i, n;

	n = U4N_TX_NUM;
	do {
		start = u64_stats_fetch_begin(&l->tx.syncp);
		for (i = 0; i < n; i++)
			data[i] = u64_stats_read(&l->tx.count[i]);
	} while (u64_stats_fetch_retry(&l->tx.syncp, start));
	data += n;

	n = U4N_RX_NUM;
	do {
		start = u64_stats_fetch_begin(&l->rx.syncp);
		for (i = 0; i < n; i++)
			data[i] = u64_stats_read(&l->rx.count[i]);
		for (i = 1; i < U4N_NUM_DROPS; i++)
			data[n + i - 1] = u64_stats_read(&l->rx.drops[i]);
	} while (u64_stats_fetch_retry(&l->rx.syncp, start));
	data += n + U4N_NUM_DROPS - 1;

	for (i = 1; i < U4N_NUM_WHYS; i++)
		*data++ = l->hs.ends[i];

	*data++ = l->hs.sessions;
	*data++ = READ_ONCE(ndev->mtu);
	*data++ = READ_ONCE(l->rx.peer_mtu);
	spin_lock_bh(&l->tx.lock);
	*data++ = l->tx.running ? max(u4n_credit_tx_avail(&l->tx.credit), 0) : 0;
	*data++ = l->tx.head - l->tx.tail;
	*data++ = l->tx.window;
	*data++ = skb_queue_len(&l->tx.roce);
	spin_unlock_bh(&l->tx.lock);
	*data++ = READ_ONCE(l->moder.now);
	*data++ = READ_ONCE(l->requests.refused);
	*data++ = READ_ONCE(l->hs.setups.refused);
	*data++ = READ_ONCE(l->roce.taken.refused);
	*data++ = u4n_roce_remote_count(l);
	u4n_ethtool_pool_stats(l, data);
}

static void u4n_ethtool_get_drvinfo(struct net_device *ndev,
				    struct ethtool_drvinfo *info)
{
	struct u4n_link *l = netdev_priv(ndev);

	strscpy(info->driver, "usb4net_rdma");
	strscpy(info->version, init_utsname()->release);
	strscpy(info->bus_info, dev_name(&l->svc->dev));
	/* what is at the other end of the cable; longer names are cut */
	mutex_lock(&l->xd->lock);
	if (l->xd->device_name)
		snprintf(info->fw_version, sizeof(info->fw_version),
			 "peer %s", l->xd->device_name);
	mutex_unlock(&l->xd->lock);
}

static void u4n_ethtool_get_ringparam(struct net_device *ndev,
				      struct ethtool_ringparam *ring,
				      struct kernel_ethtool_ringparam *kring,
				      struct netlink_ext_ack *extack)
{
	const struct u4n_link *l = netdev_priv(ndev);

	ring->rx_max_pending = U4N_RING_MAX;
	ring->rx_pending = l->rx.size;
	ring->tx_max_pending = U4N_RING_MAX;
	ring->tx_pending = l->tx.size;
}

/* The core has compared with the largest sizes */
static int u4n_ethtool_set_ringparam(struct net_device *ndev,
				     struct ethtool_ringparam *ring,
				     struct kernel_ethtool_ringparam *kring,
				     struct netlink_ext_ack *extack)
{
	if (ring->tx_pending < U4N_RING_MIN || ring->rx_pending < U4N_RING_MIN) {
		NL_SET_ERR_MSG_FMT_MOD(extack, "a ring has at least %u descriptors",
				       U4N_RING_MIN);
		return -EINVAL;
	}
	return u4n_net_resize(netdev_priv(ndev),
			      roundup_pow_of_two(ring->tx_pending),
			      roundup_pow_of_two(ring->rx_pending));
}

static void u4n_ethtool_get_channels(struct net_device *ndev,
				     struct ethtool_channels *ch)
{
	/* a channel, and the queue for small packets */
	ch->max_combined = 1;
	ch->combined_count = 1;
	ch->max_tx = U4N_NUM_QUEUES - 1;
	ch->tx_count = U4N_NUM_QUEUES - 1;
}

static int u4n_ethtool_get_coalesce(struct net_device *ndev,
				    struct ethtool_coalesce *coal,
				    struct kernel_ethtool_coalesce *kcoal,
				    struct netlink_ext_ack *extack)
{
	struct u4n_link *l = netdev_priv(ndev);

	coal->rx_coalesce_usecs = l->moder.usecs;
	coal->use_adaptive_rx_coalesce = l->moder.adaptive;
	return 0;
}

static int u4n_ethtool_set_coalesce(struct net_device *ndev,
				    struct ethtool_coalesce *coal,
				    struct kernel_ethtool_coalesce *kcoal,
				    struct netlink_ext_ack *extack)
{
	struct u4n_link *l = netdev_priv(ndev);
	int ret;

	if (coal->rx_coalesce_usecs > U4N_MODER_MAX) {
		NL_SET_ERR_MSG_FMT_MOD(extack, "rx-usecs is at most %u",
				       U4N_MODER_MAX);
		return -EINVAL;
	}
	ret = u4n_moder_set(l, coal->rx_coalesce_usecs,
			    coal->use_adaptive_rx_coalesce);
	if (ret == -EOPNOTSUPP)
		NL_SET_ERR_MSG_MOD(extack,
				   "the host interface has one interrupt for everything");
	return ret;
}

static int u4n_ethtool_get_tunable(struct net_device *ndev,
				   const struct ethtool_tunable *tuna,
				   void *data)
{
	const struct u4n_link *l = netdev_priv(ndev);

	switch (tuna->id) {
	case ETHTOOL_TX_COPYBREAK:
		*(u32 *)data = l->tx.copybreak;
		return 0;
	case ETHTOOL_RX_COPYBREAK:
		*(u32 *)data = l->rx.copybreak;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int u4n_ethtool_set_tunable(struct net_device *ndev,
				   const struct ethtool_tunable *tuna,
				   const void *data)
{
	struct u4n_link *l = netdev_priv(ndev);
	u32 val = *(const u32 *)data;

	switch (tuna->id) {
	case ETHTOOL_TX_COPYBREAK:
		if (val > U4N_TX_COPYBREAK_MAX)
			return -ERANGE;
		WRITE_ONCE(l->tx.copybreak, val);
		return 0;
	case ETHTOOL_RX_COPYBREAK:
		if (val < U4N_RX_COPYBREAK_MIN || val > U4N_RX_COPYBREAK_MAX)
			return -ERANGE;
		WRITE_ONCE(l->rx.copybreak, val);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* Lanes that carry what we send */
static unsigned int u4n_ethtool_lanes(enum tb_link_width width)
{
	switch (width) {
	case TB_LINK_WIDTH_DUAL:
		return 2;
	case TB_LINK_WIDTH_ASYM_TX:
		return 3;
	default:
		return 1;
	}
}

static int u4n_ethtool_get_link_ksettings(struct net_device *ndev,
					  struct ethtool_link_ksettings *cmd)
{
	const struct u4n_link *l = netdev_priv(ndev);

	ethtool_link_ksettings_zero_link_mode(cmd, supported);
	ethtool_link_ksettings_zero_link_mode(cmd, advertising);
	cmd->lanes = u4n_ethtool_lanes(l->xd->link_width);
	/* link_speed is Gb/s of one lane */
	cmd->base.speed = l->xd->link_speed * 1000 * cmd->lanes;
	if (!cmd->base.speed)
		cmd->base.speed = SPEED_UNKNOWN;
	cmd->base.duplex = DUPLEX_FULL;
	cmd->base.autoneg = AUTONEG_DISABLE;
	cmd->base.port = PORT_OTHER;
	return 0;
}

static u32 u4n_ethtool_get_priv_flags(struct net_device *ndev)
{
	struct u4n_link *l = netdev_priv(ndev);

	return READ_ONCE(l->roce.flags);
}

static int u4n_ethtool_set_priv_flags(struct net_device *ndev, u32 flags)
{
	u4n_roce_set_flags(netdev_priv(ndev), flags);
	return 0;
}

const struct ethtool_ops u4n_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_RX_USECS |
				     ETHTOOL_COALESCE_USE_ADAPTIVE_RX,
	.cap_link_lanes_supported = true,
	.get_drvinfo = u4n_ethtool_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = u4n_ethtool_get_link_ksettings,
	.get_channels = u4n_ethtool_get_channels,
	.get_coalesce = u4n_ethtool_get_coalesce,
	.set_coalesce = u4n_ethtool_set_coalesce,
	.get_ringparam = u4n_ethtool_get_ringparam,
	.set_ringparam = u4n_ethtool_set_ringparam,
	.get_sset_count = u4n_ethtool_get_sset_count,
	.get_strings = u4n_ethtool_get_strings,
	.get_ethtool_stats = u4n_ethtool_get_stats,
	.get_tunable = u4n_ethtool_get_tunable,
	.set_tunable = u4n_ethtool_set_tunable,
	.get_ts_info = ethtool_op_get_ts_info,
	.get_priv_flags = u4n_ethtool_get_priv_flags,
	.set_priv_flags = u4n_ethtool_set_priv_flags,
};
