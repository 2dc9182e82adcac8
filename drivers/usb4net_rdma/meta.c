// SPDX-License-Identifier: GPL-2.0
/*
 * Checksum and segmentation metadata: between skbs and the fields of a HEAD
 * frame, which have the meaning that virtio has given them.
 *
 * A packet whose checksum is still to be filled in, or that is still to be cut
 * into segments, travels as it is. Its receiver does what is missing if and when
 * it sends the packet on to a device that does not.
 */
#include <linux/if_vlan.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include "u4n.h"

static_assert(U4N_META_NEEDS_CSUM == VIRTIO_NET_HDR_F_NEEDS_CSUM);
static_assert(U4N_META_DATA_VALID == VIRTIO_NET_HDR_F_DATA_VALID);
static_assert(U4N_GSO_TCPV4 == VIRTIO_NET_HDR_GSO_TCPV4);
static_assert(U4N_GSO_TCPV6 == VIRTIO_NET_HDR_GSO_TCPV6);
static_assert(U4N_GSO_UDP_L4 == VIRTIO_NET_HDR_GSO_UDP_L4);
static_assert(U4N_GSO_ECN == VIRTIO_NET_HDR_GSO_ECN);

/**
 * u4n_meta_gso_hdr_len - length of all headers of a GSO packet
 * @skb: packet
 *
 * Return: the length, or 0 if they are not where they should be: in the linear
 * part, and not too long for a HEAD frame.
 */
unsigned int u4n_meta_gso_hdr_len(const struct sk_buff *skb)
{
	unsigned int th = skb_checksum_start_offset(skb);
	unsigned int len;

	if (skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4) {
		len = th + sizeof(struct udphdr);
	} else {
		if (skb_headlen(skb) < th + sizeof(struct tcphdr))
			return 0;
		len = th + __tcp_hdrlen((struct tcphdr *)(skb->data + th));
	}
	if (len > skb_headlen(skb) || len > U4N_INLINE_MAX || len >= skb->len)
		return 0;
	return len;
}

/**
 * u4n_meta_features - ndo_features_check
 * @skb: packet
 * @ndev: network device
 * @features: what the stack would leave to us
 *
 * Return: those of @features that the peer takes in the case of this packet.
 */
netdev_features_t u4n_meta_features(struct sk_buff *skb,
				    struct net_device *ndev,
				    netdev_features_t features)
{
	const struct u4n_link *l = netdev_priv(ndev);
	u32 caps = READ_ONCE(l->tx.caps);
	unsigned int end;
	__be16 proto;

	features = vlan_features_check(skb, features);
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		return skb_is_gso(skb) ? features & ~NETIF_F_GSO_MASK :
					 features;

	end = skb_checksum_start_offset(skb) + skb->csum_offset +
	      sizeof(__sum16);
	if (!(caps & U4N_CAP_CSUM) || end > U4N_INLINE_MAX)
		return features & ~(NETIF_F_CSUM_MASK | NETIF_F_GSO_MASK);
	if (!skb_is_gso(skb))
		return features;

	proto = vlan_get_protocol(skb);
	if (!(caps & U4N_CAP_GSO) || !u4n_meta_gso_hdr_len(skb) ||
	    (skb->len > U4N_MAX_PACKET && !u4n_big_ok(l, skb)) ||
	    (proto != htons(ETH_P_IP) && proto != htons(ETH_P_IPV6)))
		return features & ~NETIF_F_GSO_MASK;
	if (!(caps & U4N_CAP_TUNNEL))
		features &= ~(NETIF_F_GSO_UDP_TUNNEL |
			      NETIF_F_GSO_UDP_TUNNEL_CSUM);
	return features;
}

/**
 * u4n_meta_from_skb - what the receiver has to know about a packet
 * @skb: packet to be sent, with its Ethernet header
 * @caps: what the peer understands
 * @m: result
 *
 * What the peer does not understand is done here if it is a checksum; a GSO
 * packet is refused, u4n_meta_features() should have kept it away.
 *
 * Return: 0 or a negative error.
 */
int u4n_meta_from_skb(struct sk_buff *skb, u32 caps, struct u4n_meta *m)
{
	struct u4n_vnet_hdr vh;
	int ret;

	*m = (struct u4n_meta){ };
	if (skb->ip_summed == CHECKSUM_NONE && !skb_is_gso(skb))
		return 0;
	if (skb_is_gso(skb)) {
		if (!(caps & U4N_CAP_GSO) ||
		    skb->ip_summed != CHECKSUM_PARTIAL)
			return -EOPNOTSUPP;
		m->gso_hdr_len = u4n_meta_gso_hdr_len(skb);
		if (!m->gso_hdr_len)
			return -EINVAL;
	}
	if (!(caps & U4N_CAP_CSUM))
		return skb->ip_summed == CHECKSUM_PARTIAL ?
			skb_checksum_help(skb) : 0;

	ret = u4n_vnet_from_skb(skb, &vh, caps & U4N_CAP_TUNNEL);
	if (ret)
		return ret;
	m->flags = vh.hdr.flags;
	m->gso_type = vh.hdr.gso_type;
	m->gso_size = __virtio16_to_cpu(true, vh.hdr.gso_size);
	m->csum_start = __virtio16_to_cpu(true, vh.hdr.csum_start);
	m->csum_offset = __virtio16_to_cpu(true, vh.hdr.csum_offset);
	m->outer_th = vh.outer_th;
	m->inner_nh = vh.inner_nh;
	return 0;
}

/**
 * u4n_meta_to_skb - tell the stack what is missing in a received packet
 * @skb: complete packet, with its Ethernet header
 * @m: its metadata, checked by u4n_head_parse()
 * @rxcsum: take the peer's word for checksums that it has verified
 *
 * Return: %U4N_DROP_NONE or %U4N_DROP_HEADERS.
 */
enum u4n_drop u4n_meta_to_skb(struct sk_buff *skb, const struct u4n_meta *m,
			      bool rxcsum)
{
	struct u4n_vnet_hdr vh = {
		.hdr.flags = m->flags,
		.hdr.gso_type = m->gso_type,
		.hdr.hdr_len = __cpu_to_virtio16(true, m->gso_hdr_len),
		.hdr.gso_size = __cpu_to_virtio16(true, m->gso_size),
		.hdr.csum_start = __cpu_to_virtio16(true, m->csum_start),
		.hdr.csum_offset = __cpu_to_virtio16(true, m->csum_offset),
		.outer_th = m->outer_th,
		.inner_nh = m->inner_nh,
	};

	if (m->flags & U4N_META_DATA_VALID && rxcsum)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	if (!(m->flags & U4N_META_NEEDS_CSUM))
		return U4N_DROP_NONE;
	if (m->gso_type && (!pskb_may_pull(skb, m->gso_hdr_len) ||
			    !u4n_headers_match(skb->data, m)))
		return U4N_DROP_HEADERS;
	return u4n_vnet_to_skb(skb, &vh) ? U4N_DROP_HEADERS : U4N_DROP_NONE;
}
