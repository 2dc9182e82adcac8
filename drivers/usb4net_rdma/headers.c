// SPDX-License-Identifier: GPL-2.0
/*
 * Are the headers of a received packet what its metadata says? Everything that is
 * looked at here was written by the peer.
 */
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/unaligned.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "proto.h"

#define U4N_VLAN_DEPTH	8	/* tags that the stack looks behind */
#define U4N_EXT_MIN	8U	/* shortest extension header */

/* Length of an extension header, 0 if it is none, and what is behind it */
static unsigned int u4n_headers_ext(const u8 *ext, u8 *nexthdr)
{
	u8 kind = *nexthdr;

	*nexthdr = ext[0];
	switch (kind) {
	case NEXTHDR_HOP:
	case NEXTHDR_ROUTING:
	case NEXTHDR_DEST:
		return (ext[1] + 1) * 8;
	case NEXTHDR_AUTH:
		return (ext[1] + 2) * 4;
	case NEXTHDR_FRAGMENT:
		/* one that is the whole packet is none */
		return get_unaligned_be16(ext + 2) ? 0 : 8;
	default:
		return 0;
	}
}

/* Is there a network header at @nh that leads to one of protocol @l4 at @th? */
static bool u4n_headers_l3(const u8 *data, unsigned int nh, unsigned int th,
			   bool v6, u8 l4)
{
	unsigned int start = nh + sizeof(struct ipv6hdr), len;
	u8 nexthdr;

	if (!v6)
		return th >= nh + sizeof(struct iphdr) && data[nh] >> 4 == 4 &&
		       data[nh + 9] == l4 && nh + (data[nh] & 15) * 4 == th &&
		       !(get_unaligned_be16(data + nh + 6) & 0x3fff);

	if (th < start || data[nh] >> 4 != 6)
		return false;
	nexthdr = data[nh + 6];
	while (start < th) {
		if (th - start < U4N_EXT_MIN)
			return false;
		len = u4n_headers_ext(data + start, &nexthdr);
		if (!len)
			return false;
		start += len;
	}
	return start == th && nexthdr == l4;
}

static bool u4n_headers_is_vlan(u16 proto)
{
	return proto == ETH_P_8021Q || proto == ETH_P_8021AD;
}

/* The ethertype behind any VLAN tags, and where they end */
static u16 u4n_headers_proto(const u8 *data, unsigned int end, unsigned int *nh)
{
	u16 proto = get_unaligned_be16(data + 2 * ETH_ALEN);
	unsigned int tags = 0;

	*nh = ETH_HLEN;
	while (u4n_headers_is_vlan(proto)) {
		if (end - *nh < VLAN_HLEN || ++tags > U4N_VLAN_DEPTH)
			return 0;
		proto = get_unaligned_be16(data + *nh + 2);
		*nh += VLAN_HLEN;
	}
	return proto;
}

/**
 * u4n_headers_match - are the headers of a GSO packet what its metadata says?
 * @data: the packet, its first @m->gso_hdr_len bytes at least
 * @m: metadata with a GSO type, checked by u4n_head_parse()
 *
 * Return: true if they are.
 */
bool u4n_headers_match(const u8 *data, const struct u4n_meta *m)
{
	u8 type = U4N_GSO_TYPE(m->gso_type);
	u8 l4 = type == U4N_GSO_UDP_L4 ? IPPROTO_UDP : IPPROTO_TCP;
	unsigned int th = m->csum_start, nh;
	u16 proto;
	bool v6;

	proto = u4n_headers_proto(data, m->gso_hdr_len, &nh);
	v6 = proto == ETH_P_IPV6;
	if (!v6 && proto != ETH_P_IP)
		return false;

	if (m->gso_type & U4N_GSO_TUNNEL) {
		if (v6 != !!(m->gso_type & U4N_GSO_TUNNEL_V6) ||
		    !u4n_headers_l3(data, nh, m->outer_th, v6, IPPROTO_UDP))
			return false;
		nh = m->inner_nh;
		v6 = data[nh] >> 4 == 6;
	}
	if ((type == U4N_GSO_TCPV4 && v6) || (type == U4N_GSO_TCPV6 && !v6) ||
	    !u4n_headers_l3(data, nh, th, v6, l4))
		return false;
	if (l4 == IPPROTO_UDP)
		return true;
	/* the length of a TCP header */
	return th + (data[th + 12] >> 4) * 4 == m->gso_hdr_len;
}
