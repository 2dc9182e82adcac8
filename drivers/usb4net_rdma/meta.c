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
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>

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

/*
 * Is there a network header at @nh whose transport header, of protocol @l4,
 * begins at @th? Everything in front of @th is in the linear part.
 */
static bool u4n_meta_l3(const struct sk_buff *skb, unsigned int nh,
			unsigned int th, bool v6, u8 l4)
{
	const struct ipv6hdr *ip6 = (struct ipv6hdr *)(skb->data + nh);
	const struct iphdr *ip4 = (struct iphdr *)(skb->data + nh);
	unsigned int start = nh + sizeof(*ip6);
	__be16 frag_off = 0;
	u8 nexthdr;

	if (!v6)
		return th >= nh + sizeof(*ip4) && ip4->version == 4 &&
		       ip4->protocol == l4 && nh + ip4->ihl * 4 == th &&
		       !ip_is_fragment(ip4);

	if (th < start || ip6->version != 6)
		return false;
	nexthdr = ip6->nexthdr;
	if (th != start)
		start = ipv6_skip_exthdr(skb, start, &nexthdr, &frag_off);
	return start == th && nexthdr == l4 && !frag_off;
}

/* Are the headers of a GSO packet what its metadata says? */
static bool u4n_meta_match(struct sk_buff *skb, const struct u4n_meta *m)
{
	u8 type = U4N_GSO_TYPE(m->gso_type);
	u8 l4 = type == U4N_GSO_UDP_L4 ? IPPROTO_UDP : IPPROTO_TCP;
	unsigned int th = m->csum_start;
	const struct tcphdr *tcp;
	int nh = ETH_HLEN;
	__be16 proto;
	bool v6;

	if (!pskb_may_pull(skb, m->gso_hdr_len))
		return false;
	proto = ((struct ethhdr *)skb->data)->h_proto;
	if (eth_type_vlan(proto))
		proto = __vlan_get_protocol(skb, proto, &nh);
	v6 = proto == htons(ETH_P_IPV6);
	if (!v6 && proto != htons(ETH_P_IP))
		return false;

	if (m->gso_type & U4N_GSO_TUNNEL) {
		if (v6 != !!(m->gso_type & U4N_GSO_TUNNEL_V6) ||
		    !u4n_meta_l3(skb, nh, m->outer_th, v6, IPPROTO_UDP))
			return false;
		nh = m->inner_nh;
		v6 = ((struct iphdr *)(skb->data + nh))->version == 6;
	}
	if ((type == U4N_GSO_TCPV4 && v6) || (type == U4N_GSO_TCPV6 && !v6) ||
	    !u4n_meta_l3(skb, nh, th, v6, l4))
		return false;
	if (l4 == IPPROTO_UDP)
		return true;

	tcp = (struct tcphdr *)(skb->data + th);
	return th + __tcp_hdrlen(tcp) == m->gso_hdr_len;
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
	if (m->gso_type && !u4n_meta_match(skb, m))
		return U4N_DROP_HEADERS;
	return u4n_vnet_to_skb(skb, &vh) ? U4N_DROP_HEADERS : U4N_DROP_NONE;
}
