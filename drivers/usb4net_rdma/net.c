// SPDX-License-Identifier: GPL-2.0
/* The network device */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/siphash.h>

#include "u4n.h"

static int u4n_net_poll(struct napi_struct *napi, int budget)
{
	struct u4n_link *l = container_of(napi, struct u4n_link, napi);
	int done;

	WRITE_ONCE(l->napi_cpu, smp_processor_id());
	done = u4n_rx_poll(l, budget);
	WRITE_ONCE(l->napi_cpu, -1);
	u4n_tx_poll(l, budget);
	u4n_control_poll(l);

	if (done < budget && napi_complete_done(napi, done)) {
		u4n_moder_poll(l);
		u4n_ring_unmask(l);
	}
	return done;
}

static int u4n_net_alloc(struct u4n_link *l)
{
	int ret;

	ret = u4n_ring_alloc(l);
	if (ret)
		return ret;
	ret = u4n_tx_alloc(l);
	if (ret)
		goto free_ring;
	ret = u4n_rx_alloc(l);
	if (ret)
		goto free_tx;
	return 0;

free_tx:
	u4n_tx_free(l);
free_ring:
	u4n_ring_free(l);
	return ret;
}

static void u4n_net_free(struct u4n_link *l)
{
	u4n_rx_free(l);
	u4n_tx_free(l);
	u4n_ring_free(l);
}

static int u4n_net_open(struct net_device *ndev)
{
	struct u4n_link *l = netdev_priv(ndev);
	int ret;

	netif_carrier_off(ndev);
	ret = u4n_net_alloc(l);
	if (ret)
		return ret;
	u4n_hs_start(l);
	return 0;
}

static int u4n_net_stop(struct net_device *ndev)
{
	struct u4n_link *l = netdev_priv(ndev);

	/* u4n_net_resize() may have failed */
	if (!l->rx.frames)
		return 0;
	u4n_hs_stop(l);
	u4n_net_free(l);
	return 0;
}

/**
 * u4n_net_resize - change the sizes of the rings
 * @l: the link; RTNL is held
 * @tx: descriptors of the transmit ring, a power of two from %U4N_RING_MIN to
 *	%U4N_RING_MAX
 * @rx: the same for the receive ring
 *
 * The peer has been told the size of the receive ring, and there may be no second
 * pair of rings. So the session ends and another one begins, which takes
 * some tenths of a second.
 *
 * Return: 0 or a negative error, with the old sizes if that can be.
 */
int u4n_net_resize(struct u4n_link *l, unsigned int tx, unsigned int rx)
{
	unsigned int old_tx = l->tx.size;
	unsigned int old_rx = l->rx.size;
	int ret;

	ASSERT_RTNL();
	if (tx == old_tx && rx == old_rx)
		return 0;
	if (!netif_running(l->ndev)) {
		l->tx.size = tx;
		l->rx.size = rx;
		return 0;
	}

	u4n_hs_stop(l);
	u4n_net_free(l);
	l->tx.size = tx;
	l->rx.size = rx;
	ret = u4n_net_alloc(l);
	if (ret) {
		l->tx.size = old_tx;
		l->rx.size = old_rx;
		if (u4n_net_alloc(l)) {
			netdev_err(l->ndev, "closed, for lack of memory\n");
			dev_close(l->ndev);
			return ret;
		}
	}
	if (netif_device_present(l->ndev))
		u4n_hs_start(l);
	return ret;
}

static int u4n_net_change_mtu(struct net_device *ndev, int mtu)
{
	struct u4n_link *l = netdev_priv(ndev);

	WRITE_ONCE(ndev->mtu, mtu);
	/* nothing here depends on it, but the peer wants to know */
	u4n_hs_tell(l);
	return 0;
}

/* Whether the peer may leave checksums to us is said in keepalives */
static int u4n_net_set_features(struct net_device *ndev,
				netdev_features_t features)
{
	if ((ndev->features ^ features) & NETIF_F_RXCSUM) {
		ndev->features ^= NETIF_F_RXCSUM;
		u4n_hs_tell(netdev_priv(ndev));
	}
	return 0;
}

static void u4n_net_get_stats64(struct net_device *ndev,
				struct rtnl_link_stats64 *stats)
{
	struct u4n_link *l = netdev_priv(ndev);
	u64 packets, bytes, dropped, crc, over, errors;
	unsigned int start, i;

	do {
		start = u64_stats_fetch_begin(&l->tx.syncp);
		packets = u64_stats_read(&l->tx.packets);
		bytes = u64_stats_read(&l->tx.bytes);
		dropped = u64_stats_read(&l->tx.count[U4N_TX_DROP_DOWN]) +
			  u64_stats_read(&l->tx.count[U4N_TX_DROP_SIZE]) +
			  u64_stats_read(&l->tx.count[U4N_TX_DROP_META]) +
			  u64_stats_read(&l->tx.count[U4N_TX_DROP_NOMEM]) +
			  u64_stats_read(&l->tx.count[U4N_TX_DROP_MAP]) +
			  u64_stats_read(&l->tx.count[U4N_TX_ROCE_DROP_FULL]) +
			  u64_stats_read(&l->tx.count[U4N_TX_ROCE_DROP_OLD]) +
			  u64_stats_read(&l->tx.count[U4N_TX_ROCE_DROP_DOWN]);
	} while (u64_stats_fetch_retry(&l->tx.syncp, start));
	stats->tx_packets = packets;
	stats->tx_bytes = bytes;
	stats->tx_dropped = dropped;

	do {
		start = u64_stats_fetch_begin(&l->rx.syncp);
		packets = u64_stats_read(&l->rx.packets);
		bytes = u64_stats_read(&l->rx.bytes);
		crc = u64_stats_read(&l->rx.drops[U4N_DROP_CRC]);
		over = u64_stats_read(&l->rx.drops[U4N_DROP_OVERRUN]);
		dropped = u64_stats_read(&l->rx.drops[U4N_DROP_NO_SKB]) +
			  u64_stats_read(&l->rx.drops[U4N_DROP_NO_PAGE]);
		errors = 0;
		for (i = 0; i < U4N_NUM_DROPS; i++)
			errors += u64_stats_read(&l->rx.drops[i]);
	} while (u64_stats_fetch_retry(&l->rx.syncp, start));
	stats->rx_packets = packets;
	stats->rx_bytes = bytes;
	stats->rx_dropped = dropped;
	stats->rx_errors = errors - dropped;
	stats->rx_crc_errors = crc;
	stats->rx_over_errors = over;
}

static void u4n_net_tx_timeout(struct net_device *ndev, unsigned int txqueue)
{
	struct u4n_link *l = netdev_priv(ndev);
	bool empty;

	/* called with the queue's lock */
	spin_lock(&l->tx.lock);
	empty = l->tx.head == l->tx.tail;
	spin_unlock(&l->tx.lock);
	u4n_hs_end(l, empty ? U4N_WHY_NO_CREDIT : U4N_WHY_TX_STALL);
}

static const struct net_device_ops u4n_net_ops = {
	.ndo_open = u4n_net_open,
	.ndo_stop = u4n_net_stop,
	.ndo_start_xmit = u4n_tx_xmit,
	.ndo_select_queue = u4n_queue_select,
	.ndo_features_check = u4n_meta_features,
	.ndo_set_features = u4n_net_set_features,
	.ndo_change_mtu = u4n_net_change_mtu,
	.ndo_get_stats64 = u4n_net_get_stats64,
	.ndo_tx_timeout = u4n_net_tx_timeout,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

/*
 * The same address each time for the same two hosts and port, a different one
 * for each port and each side.
 */
static void u4n_net_set_mac(struct u4n_link *l)
{
	static const siphash_key_t key = { { 0x7562347264726d61ULL,
					     0x6d61632061646472ULL } };
	struct {
		uuid_t local;
		uuid_t remote;
		__le64 route;
	} id;
	u8 mac[ETH_ALEN];
	u64 hash;

	uuid_copy(&id.local, l->xd->local_uuid);
	uuid_copy(&id.remote, l->xd->remote_uuid);
	id.route = cpu_to_le64(l->xd->route);
	hash = siphash(&id, sizeof(id), &key);
	u64_to_ether_addr(hash >> 16, mac);
	/* unicast, locally administered */
	mac[0] = (mac[0] & 0xfc) | 0x02;
	eth_hw_addr_set(l->ndev, mac);
}

/* All of it is a matter of metadata. What the peer takes is seen per packet. */
static void u4n_net_set_offloads(struct net_device *ndev)
{
	netdev_features_t f;

	f = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_TSO |
	    NETIF_F_TSO6 | NETIF_F_TSO_ECN | NETIF_F_GSO_UDP_L4;
	ndev->vlan_features = f | NETIF_F_HIGHDMA;
	if (U4N_HAVE_TUNNEL)
		f |= NETIF_F_GSO_UDP_TUNNEL | NETIF_F_GSO_UDP_TUNNEL_CSUM;
	ndev->hw_enc_features = f | NETIF_F_HIGHDMA;
	ndev->hw_features = f | NETIF_F_RXCSUM;
	ndev->features = f | NETIF_F_RXCSUM | NETIF_F_HIGHDMA |
			 NETIF_F_GSO_ROBUST;
	netif_set_tso_max_size(ndev, U4N_BIG_SIZE);
}

/**
 * u4n_link_create - make the network device of a service
 * @svc: service of the peer
 *
 * Return: the link or an ERR_PTR().
 */
struct u4n_link *u4n_link_create(struct tb_service *svc)
{
	struct net_device *ndev;
	struct u4n_link *l;
	int ret;

	ndev = alloc_etherdev_mqs(sizeof(*l), U4N_NUM_QUEUES, 1);
	if (!ndev)
		return ERR_PTR(-ENOMEM);
	SET_NETDEV_DEV(ndev, &svc->dev);

	l = netdev_priv(ndev);
	l->ndev = ndev;
	l->svc = svc;
	l->xd = tb_service_parent(svc);
	l->tx.size = U4N_RING_SIZE;
	l->tx.copybreak = U4N_TX_COPYBREAK;
	l->rx.size = U4N_RING_SIZE;
	l->rx.copybreak = U4N_RX_COPYBREAK;
	spin_lock_init(&l->tx.lock);
	__skb_queue_head_init(&l->tx.roce);
	u64_stats_init(&l->tx.syncp);
	u64_stats_init(&l->rx.syncp);
	l->napi_cpu = -1;
	u4n_limit_init(&l->requests, U4N_REQUEST_BURST, U4N_REQUEST_RATE);
	ratelimit_state_init(&l->log, U4N_LOG_INTERVAL, U4N_LOG_BURST);
	u4n_timer_setup(l);
	u4n_hs_setup(l);
	u4n_roce_setup(l);
	u4n_moder_setup(l);

	strscpy(ndev->name, "usb4net%d");
	ndev->netdev_ops = &u4n_net_ops;
	ndev->ethtool_ops = &u4n_ethtool_ops;
	ndev->sysfs_groups[0] = &u4n_sysfs_group;
	ndev->dev_port = u4n_link_port(l);
	u4n_net_set_offloads(ndev);
	ndev->min_mtu = ETH_MIN_MTU;
	ndev->max_mtu = U4N_MAX_MTU;
	ndev->mtu = U4N_MAX_MTU;
	ndev->watchdog_timeo = 5 * HZ;
	ndev->priv_flags |= IFF_LIVE_ADDR_CHANGE | IFF_DISABLE_NETPOLL;
	u4n_net_set_mac(l);
	netif_napi_add(ndev, &l->napi, u4n_net_poll);

	u4n_xd_add(l);
	ret = u4n_roce_register(l);
	if (ret)
		goto free;
	ret = register_netdev(ndev);
	if (ret)
		goto unregister_roce;
	return l;

unregister_roce:
	u4n_roce_unregister(l);
free:
	u4n_xd_del(l);
	u4n_roce_free(l);
	free_netdev(ndev);
	return ERR_PTR(ret);
}

/**
 * u4n_link_destroy - undo u4n_link_create()
 * @l: the link
 *
 * The RoCE link goes first: what is on top of it must not wait for packets of a
 * device that is on its way out.
 */
void u4n_link_destroy(struct u4n_link *l)
{
	struct net_device *ndev = l->ndev;

	u4n_roce_unregister(l);
	unregister_netdev(ndev);
	u4n_xd_del(l);
	u4n_roce_free(l);
	free_netdev(ndev);
}
