// SPDX-License-Identifier: GPL-2.0
/*
 * Building and checking of frames and messages. Everything that is parsed here
 * was written by the peer and is not to be trusted.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/minmax.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/unaligned.h>
#include <net/tcp.h>

#include "proto.h"

#define U4N_TCP_HDR_MAX		60U

static_assert(sizeof(struct u4n_wire_head) == U4N_HEAD_SIZE);
static_assert(sizeof(struct u4n_wire_ctl) == U4N_CTL_SIZE);
static_assert(U4N_CTL_SIZE + U4N_MAX_GIDS * U4N_GID_SIZE <= U4N_FRAME_SIZE);
static_assert(U4N_MAX_BODIES * U4N_FRAME_SIZE >= U4N_MAX_PACKET);

/**
 * u4n_head_build - write the link header of a packet
 * @buf: the first %U4N_HEAD_SIZE bytes of a HEAD frame
 * @head: what to write
 */
void u4n_head_build(void *buf, const struct u4n_head *head)
{
	struct u4n_wire_head *wire = buf;

	memset(wire, 0, sizeof(*wire));
	wire->common.type = head->type;
	wire->common.gen = cpu_to_le16(head->gen);
	wire->common.sent = cpu_to_le32(head->sent);
	wire->common.limit = cpu_to_le32(head->limit);
	wire->seq = cpu_to_le32(head->seq);
	wire->len = cpu_to_le32(head->len);
	wire->inl = cpu_to_le16(head->inl);
	wire->bodies = head->bodies;

	wire->common.flags = head->meta.flags;
	wire->gso_type = head->meta.gso_type;
	wire->gso_hdr_len = cpu_to_le16(head->meta.gso_hdr_len);
	wire->gso_size = cpu_to_le16(head->meta.gso_size);
	wire->csum_start = cpu_to_le16(head->meta.csum_start);
	wire->csum_offset = cpu_to_le16(head->meta.csum_offset);
	wire->outer_th = cpu_to_le16(head->meta.outer_th);
	wire->inner_nh = cpu_to_le16(head->meta.inner_nh);
	wire->npsn = head->meta.npsn;
}

static enum u4n_drop u4n_meta_check_csum(const struct u4n_head *head)
{
	const struct u4n_meta *m = &head->meta;

	if (!(m->flags & U4N_META_NEEDS_CSUM))
		return m->csum_start || m->csum_offset ?
			U4N_DROP_CSUM : U4N_DROP_NONE;
	if (m->flags & U4N_META_DATA_VALID || m->csum_start < ETH_HLEN ||
	    m->csum_start + m->csum_offset + sizeof(__sum16) > head->inl)
		return U4N_DROP_CSUM;
	return U4N_DROP_NONE;
}

/* Least length of the (inner) network header */
static unsigned int u4n_meta_l3_min(const struct u4n_meta *m)
{
	return U4N_GSO_TYPE(m->gso_type) == U4N_GSO_TCPV6 ?
		sizeof(struct ipv6hdr) : sizeof(struct iphdr);
}

/* Headers are in the HEAD frame, and the checksum is part of the last one */
static enum u4n_drop u4n_meta_check_gso(const struct u4n_head *head)
{
	const struct u4n_meta *m = &head->meta;
	unsigned int payload = head->len - m->gso_hdr_len;
	unsigned int l4 = m->gso_hdr_len - m->csum_start;

	if (m->csum_start < ETH_HLEN + u4n_meta_l3_min(m) ||
	    m->gso_hdr_len < m->csum_start || m->gso_hdr_len > head->inl ||
	    m->gso_hdr_len >= head->len || m->gso_size == GSO_BY_FRAGS)
		return U4N_DROP_GSO;

	switch (U4N_GSO_TYPE(m->gso_type)) {
	case U4N_GSO_TCPV4:
	case U4N_GSO_TCPV6:
		if (m->csum_offset != offsetof(struct tcphdr, check) ||
		    l4 < sizeof(struct tcphdr) || l4 > U4N_TCP_HDR_MAX ||
		    m->gso_size < TCP_MIN_GSO_SIZE)
			return U4N_DROP_GSO;
		return U4N_DROP_NONE;
	case U4N_GSO_UDP_L4:
		if (m->csum_offset != offsetof(struct udphdr, check) ||
		    l4 != sizeof(struct udphdr) || !m->gso_size ||
		    m->gso_type & U4N_GSO_ECN ||
		    payload > m->gso_size * UDP_MAX_SEGMENTS)
			return U4N_DROP_GSO;
		return U4N_DROP_NONE;
	default:
		return U4N_DROP_GSO;
	}
}

static enum u4n_drop u4n_meta_check_tunnel(const struct u4n_head *head)
{
	const struct u4n_meta *m = &head->meta;
	unsigned int l3 = ETH_HLEN;

	switch (m->gso_type & U4N_GSO_TUNNEL) {
	case 0:
		return m->outer_th || m->inner_nh ||
		       m->flags & U4N_META_TUNNEL_CSUM ?
			U4N_DROP_TUNNEL : U4N_DROP_NONE;
	case U4N_GSO_TUNNEL_V4:
		l3 += sizeof(struct iphdr);
		break;
	case U4N_GSO_TUNNEL_V6:
		l3 += sizeof(struct ipv6hdr);
		break;
	default:
		return U4N_DROP_TUNNEL;
	}
	if (m->outer_th < l3 ||
	    m->inner_nh < m->outer_th + sizeof(struct udphdr) ||
	    m->csum_start < m->inner_nh + u4n_meta_l3_min(m))
		return U4N_DROP_TUNNEL;
	return U4N_DROP_NONE;
}

/* Offsets and lengths; what is in the headers is up to u4n_headers_match() */
static enum u4n_drop u4n_meta_check(const struct u4n_head *head, u32 caps)
{
	const struct u4n_meta *m = &head->meta;
	enum u4n_drop why;

	if (head->type == U4N_HEAD_ROCE) {
		if (m->flags & ~U4N_META_NO_ICRC)
			return U4N_DROP_FLAGS;
		if (m->flags && !(caps & U4N_CAP_NO_ICRC))
			return U4N_DROP_META;
		if (m->npsn && (!(caps & U4N_CAP_MULTI_PSN) || m->npsn == 1 ||
				m->npsn > U4N_MAX_NPSN))
			return U4N_DROP_META;
		if (m->gso_type || m->gso_hdr_len || m->gso_size ||
		    m->csum_start || m->csum_offset || m->outer_th ||
		    m->inner_nh)
			return U4N_DROP_META;
		return U4N_DROP_NONE;
	}

	if (m->flags & ~(U4N_META_NEEDS_CSUM | U4N_META_DATA_VALID |
			 U4N_META_TUNNEL_CSUM))
		return U4N_DROP_FLAGS;
	if (m->npsn)
		return U4N_DROP_META;
	if ((m->flags && !(caps & U4N_CAP_CSUM)) ||
	    (m->gso_type && !(caps & U4N_CAP_GSO)) ||
	    (m->gso_type & U4N_GSO_TUNNEL && !(caps & U4N_CAP_TUNNEL)))
		return U4N_DROP_META;

	why = u4n_meta_check_csum(head);
	if (why)
		return why;
	if (!m->gso_type) {
		if (m->gso_hdr_len || m->gso_size)
			return U4N_DROP_GSO;
	} else {
		if (!(m->flags & U4N_META_NEEDS_CSUM))
			return U4N_DROP_GSO;
		why = u4n_meta_check_gso(head);
		if (why)
			return why;
	}
	return u4n_meta_check_tunnel(head);
}

/* IP has no words for a length above 64 KiB, but that of TCP may be left out */
static unsigned int u4n_head_max_len(const struct u4n_head *head, u32 caps)
{
	u8 type = head->meta.gso_type & ~U4N_GSO_ECN;

	if (caps & U4N_CAP_BIG && head->type == U4N_HEAD_ETH &&
	    (type == U4N_GSO_TCPV4 || type == U4N_GSO_TCPV6))
		return U4N_MAX_BIG_PACKET;
	return U4N_MAX_PACKET;
}

/**
 * u4n_head_parse - check a HEAD frame and read its link header
 * @buf: the frame
 * @size: its size
 * @pdf: %U4N_PDF_HEAD_END or %U4N_PDF_HEAD_ONLY
 * @caps: capabilities that we have announced
 * @head: result. Its @gen, @sent and @limit are set in any case but
 *	%U4N_DROP_SHORT, since they count even if the packet is refused.
 *
 * On success the packet's first @head->inl bytes, a whole Ethernet header at
 * least, follow in the frame, and the rest fits into so many BODY frames.
 *
 * Return: %U4N_DROP_NONE or the reason to drop the packet.
 */
enum u4n_drop u4n_head_parse(const void *buf, unsigned int size,
			     enum u4n_pdf pdf, u32 caps, struct u4n_head *head)
{
	const struct u4n_wire_head *wire = buf;
	enum u4n_drop why;
	unsigned int rest;

	if (size < sizeof(*wire))
		return U4N_DROP_SHORT;

	head->type = wire->common.type;
	head->gen = le16_to_cpu(wire->common.gen);
	head->sent = le32_to_cpu(wire->common.sent);
	head->limit = le32_to_cpu(wire->common.limit);
	head->seq = le32_to_cpu(wire->seq);
	head->len = le32_to_cpu(wire->len);
	head->inl = le16_to_cpu(wire->inl);
	head->bodies = wire->bodies;
	head->meta = (struct u4n_meta){
		.flags = wire->common.flags,
		.gso_type = wire->gso_type,
		.gso_hdr_len = le16_to_cpu(wire->gso_hdr_len),
		.gso_size = le16_to_cpu(wire->gso_size),
		.csum_start = le16_to_cpu(wire->csum_start),
		.csum_offset = le16_to_cpu(wire->csum_offset),
		.outer_th = le16_to_cpu(wire->outer_th),
		.inner_nh = le16_to_cpu(wire->inner_nh),
		.npsn = wire->npsn,
	};

	if (head->type != U4N_HEAD_ETH && head->type != U4N_HEAD_ROCE)
		return U4N_DROP_TYPE;
	if (wire->reserved1 || wire->reserved2 || wire->reserved3)
		return U4N_DROP_FLAGS;

	if (head->inl < ETH_HLEN || head->inl != size - sizeof(*wire) ||
	    head->len < head->inl || head->len > u4n_head_max_len(head, caps))
		return U4N_DROP_LENGTH;
	rest = head->len - head->inl;

	why = u4n_meta_check(head, caps);
	if (why)
		return why;

	if (pdf == U4N_PDF_HEAD_ONLY) {
		if (head->bodies)
			return U4N_DROP_BODIES;
		return rest ? U4N_DROP_LENGTH : U4N_DROP_NONE;
	}

	if (!head->bodies || head->bodies > U4N_MAX_BODIES)
		return U4N_DROP_BODIES;
	if (rest < head->bodies || rest > head->bodies * U4N_FRAME_SIZE)
		return U4N_DROP_LENGTH;
	return U4N_DROP_NONE;
}

/**
 * u4n_ctl_build - write a CONTROL message
 * @buf: the frame, with room for the list of GIDs if there is one
 * @ctl: what to write
 *
 * Return: size of the frame.
 */
unsigned int u4n_ctl_build(void *buf, const struct u4n_ctl *ctl)
{
	struct u4n_wire_ctl *wire = buf;
	unsigned int len = ctl->count * U4N_GID_SIZE;

	memset(wire, 0, sizeof(*wire));
	wire->common.type = ctl->type;
	wire->common.flags = ctl->flags;
	wire->common.gen = cpu_to_le16(ctl->gen);
	wire->common.sent = cpu_to_le32(ctl->sent);
	wire->common.limit = cpu_to_le32(ctl->limit);
	wire->arg = cpu_to_le32(ctl->arg);
	wire->cookie = cpu_to_le32(ctl->cookie);
	wire->count = cpu_to_le16(ctl->count);
	if (len)
		memcpy(wire + 1, ctl->gids, len);
	return sizeof(*wire) + len;
}

/**
 * u4n_ctl_parse - check a CONTROL frame and read it
 * @buf: the frame
 * @size: its size
 * @ctl: result. @gen, @sent and @limit are set in any case but
 *	%U4N_DROP_SHORT. @gids points into @buf.
 *
 * Return: %U4N_DROP_NONE or the reason to drop the message.
 */
enum u4n_drop u4n_ctl_parse(const void *buf, unsigned int size,
			    struct u4n_ctl *ctl)
{
	const struct u4n_wire_ctl *wire = buf;
	u8 flags = 0;

	if (size < sizeof(*wire))
		return U4N_DROP_SHORT;

	ctl->type = wire->common.type;
	ctl->flags = wire->common.flags;
	ctl->gen = le16_to_cpu(wire->common.gen);
	ctl->sent = le32_to_cpu(wire->common.sent);
	ctl->limit = le32_to_cpu(wire->common.limit);
	ctl->arg = le32_to_cpu(wire->arg);
	ctl->cookie = le32_to_cpu(wire->cookie);
	ctl->count = le16_to_cpu(wire->count);
	ctl->gids = wire + 1;

	switch (ctl->type) {
	case U4N_CTL_KEEPALIVE:
		flags = U4N_KEEPALIVE_RX_ALIVE | U4N_KEEPALIVE_PLAIN;
		fallthrough;
	case U4N_CTL_CREDIT:
	case U4N_CTL_PROBE:
	case U4N_CTL_PROBE_ACK:
	case U4N_CTL_GIDS_ACK:
		if (ctl->count)
			return U4N_DROP_CTL;
		break;
	case U4N_CTL_GIDS:
		flags = U4N_GIDS_NO_ICRC | U4N_GIDS_MULTI_PSN;
		if (ctl->count > U4N_MAX_GIDS)
			return U4N_DROP_CTL;
		break;
	default:
		return U4N_DROP_TYPE;
	}

	if (ctl->flags & ~flags || wire->reserved)
		return U4N_DROP_FLAGS;
	if (size != sizeof(*wire) + ctl->count * U4N_GID_SIZE)
		return U4N_DROP_CTL;
	return U4N_DROP_NONE;
}

/**
 * u4n_hello_parse - check the contents of HELLO or HELLO_ACK
 * @msg: the message, of full length
 * @peer: result
 *
 * Return: 0, -EPROTONOSUPPORT if there is no common version, -EPROTO if the
 * peer makes no sense.
 */
int u4n_hello_parse(const struct u4n_xd_msg *msg, struct u4n_peer *peer)
{
	u32 lowest = msg->versions & 0xffff;
	u32 highest = msg->versions >> 16;

	if (lowest > highest)
		return -EPROTO;
	if (lowest > U4N_VERSION_MAX || highest < U4N_VERSION_MIN)
		return -EPROTONOSUPPORT;

	peer->version = min_t(u32, highest, U4N_VERSION_MAX);
	peer->cookie = msg->cookie;
	peer->hopid = msg->hopid;
	peer->window = msg->window;
	peer->mtu = msg->mtu;
	peer->caps = msg->caps;
	put_unaligned_be32(msg->mac_hi, peer->mac);
	put_unaligned_be16(msg->mac_lo >> 16, peer->mac + 4);

	if (!peer->cookie || peer->window < U4N_MIN_WINDOW ||
	    peer->window > U4N_MAX_WINDOW || peer->hopid > 0x7ff ||
	    !is_valid_ether_addr(peer->mac) ||
	    (msg->limits & 0xff) < U4N_MAX_BODIES)
		return -EPROTO;
	return 0;
}
