/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Wire protocol of usb4net_rdma. Documentation/protocol.rst is the
 * specification; what is here follows it.
 *
 * The functions declared here are pure: they see a buffer and return numbers,
 * and so can be tested without hardware.
 */
#ifndef _U4N_PROTO_H
#define _U4N_PROTO_H

#include <linux/bits.h>
#include <linux/if_ether.h>
#include <linux/types.h>
#include <linux/uuid.h>

/* XDomain property directory */
#define U4N_SERVICE_KEY		"usb4rdma"
#define U4N_PRTCID		1
#define U4N_PRTCVERS		2
#define U4N_PRTCREVS		1

/* Protocol versions that this driver speaks */
#define U4N_VERSION_MIN		2
#define U4N_VERSION_MAX		2

/* Capabilities, in prtcstns and in HELLO */
#define U4N_CAP_ROCE		BIT(0)	/* ROCE packets and GIDS messages */
#define U4N_CAP_CSUM		BIT(1)	/* checksums may be left to the receiver */
#define U4N_CAP_GSO		BIT(2)	/* and segmentation */
#define U4N_CAP_TUNNEL		BIT(3)	/* and that within UDP tunnels */
#define U4N_CAP_NO_ICRC		BIT(4)	/* ROCE packets without ICRC */
#define U4N_CAP_MULTI_PSN	BIT(5)	/* and with several PSNs */
#define U4N_CAP_BIG		BIT(6)	/* TCP packets above U4N_MAX_PACKET */
#define U4N_CAP_META		(U4N_CAP_CSUM | U4N_CAP_GSO | \
				 U4N_CAP_TUNNEL | U4N_CAP_BIG)

#define U4N_FRAME_SIZE		4096U
#define U4N_MAX_BODIES		17U	/* BODY frames of one packet */
#define U4N_MAX_PACKET		65600U	/* with its link-layer header */
#define U4N_MAX_BIG_PACKET	(U4N_MAX_BODIES * U4N_FRAME_SIZE)
#define U4N_MAX_MTU		65520U
#define U4N_MIN_WINDOW		63U	/* frames a receiver has posted, least */
#define U4N_MAX_WINDOW		16383U
#define U4N_MAX_GIDS		64U

/*
 * A keepalive that finds no credit is sent nevertheless, since it is what
 * repairs lost credits. So this many frames may be outside the window.
 */
#define U4N_WINDOW_SLACK	64U

/**
 * enum u4n_pdf - frame tags
 * @U4N_PDF_SOF: start of any frame
 * @U4N_PDF_HEAD_END: HEAD, end of a packet whose BODY frames are before it
 * @U4N_PDF_HEAD_ONLY: HEAD that is a packet of its own
 * @U4N_PDF_BODY_EVEN: BODY, the first of a packet, the third, and so on
 * @U4N_PDF_BODY_ODD: BODY, the second, the fourth, and so on
 * @U4N_PDF_CONTROL: CONTROL message
 */
enum u4n_pdf {
	U4N_PDF_SOF = 1,
	U4N_PDF_HEAD_END,
	U4N_PDF_HEAD_ONLY,
	U4N_PDF_BODY_EVEN,
	U4N_PDF_BODY_ODD,
	U4N_PDF_CONTROL,
};

/* From one BODY frame to the next, exclusive or */
#define U4N_BODY_TURN	(U4N_PDF_BODY_EVEN ^ U4N_PDF_BODY_ODD)

#define U4N_SOF_MASK	BIT(U4N_PDF_SOF)
#define U4N_EOF_MASK	(BIT(U4N_PDF_HEAD_END) | BIT(U4N_PDF_HEAD_ONLY) | \
			 BIT(U4N_PDF_BODY_EVEN) | BIT(U4N_PDF_BODY_ODD) | \
			 BIT(U4N_PDF_CONTROL))

/**
 * enum u4n_head_type - what a packet is
 * @U4N_HEAD_ETH: Ethernet packet
 * @U4N_HEAD_ROCE: Ethernet packet that holds a RoCEv2 packet for a GID of the
 *	receiver
 */
enum u4n_head_type {
	U4N_HEAD_ETH = 1,
	U4N_HEAD_ROCE = 2,
};

/**
 * enum u4n_ctl_type - CONTROL messages
 * @U4N_CTL_CREDIT: nothing but the common fields
 * @U4N_CTL_PROBE: prove that frames pass; answered by PROBE_ACK
 * @U4N_CTL_PROBE_ACK: answer, with the probe's @arg
 * @U4N_CTL_KEEPALIVE: sender is alive; @arg is its MTU
 * @U4N_CTL_GIDS: all GIDs of the sender; @arg is the version of the list
 * @U4N_CTL_GIDS_ACK: list of version @arg is in use
 */
enum u4n_ctl_type {
	U4N_CTL_CREDIT = 16,
	U4N_CTL_PROBE,
	U4N_CTL_PROBE_ACK,
	U4N_CTL_KEEPALIVE,
	U4N_CTL_GIDS,
	U4N_CTL_GIDS_ACK,
};

#define U4N_KEEPALIVE_RX_ALIVE	BIT(0)	/* sender has received lately */
#define U4N_KEEPALIVE_PLAIN	BIT(1)	/* send me packets without metadata */

#define U4N_GIDS_NO_ICRC	BIT(0)	/* packets for them may lack the ICRC */
#define U4N_GIDS_MULTI_PSN	BIT(1)	/* and may stand for several PSNs */

/* Metadata of ROCE packets: flags, and the largest number of PSNs */
#define U4N_META_NO_ICRC	BIT(7)
#define U4N_MAX_NPSN		15U

/* Metadata of ETH packets: flags, and types of segmentation */
#define U4N_META_NEEDS_CSUM	BIT(0)
#define U4N_META_DATA_VALID	BIT(1)
#define U4N_META_TUNNEL_CSUM	BIT(3)

#define U4N_GSO_TCPV4		1U
#define U4N_GSO_TCPV6		4U
#define U4N_GSO_UDP_L4		5U
#define U4N_GSO_TUNNEL_V4	BIT(5)
#define U4N_GSO_TUNNEL_V6	BIT(6)
#define U4N_GSO_TUNNEL		(U4N_GSO_TUNNEL_V4 | U4N_GSO_TUNNEL_V6)
#define U4N_GSO_ECN		BIT(7)
#define U4N_GSO_TYPE(type)	((type) & ~(U4N_GSO_TUNNEL | U4N_GSO_ECN))

/**
 * struct u4n_wire_common - beginning of HEAD and CONTROL frames
 * @type: &enum u4n_head_type or &enum u4n_ctl_type
 * @flags: by type
 * @gen: low half of the sender's cookie
 * @sent: frames sent in this session before this one, BODY frames of its own included
 * @limit: the receiver may send the frames numbered below this
 */
struct u4n_wire_common {
	u8 type;
	u8 flags;
	__le16 gen;
	__le32 sent;
	__le32 limit;
} __packed;

/**
 * struct u4n_wire_head - link header of a packet, at the start of a HEAD frame
 * @common: common fields
 * @seq: number of the packet
 * @len: length of the packet, inline and BODY parts
 * @inl: bytes of the packet that follow this header
 * @bodies: number of BODY frames, which are before this frame
 * @gso_type: as in &struct virtio_net_hdr
 * @gso_hdr_len: length of all headers in front of what is segmented
 * @gso_size: as in &struct virtio_net_hdr
 * @csum_start: as in &struct virtio_net_hdr
 * @csum_offset: as in &struct virtio_net_hdr
 * @outer_th: outer transport header of a tunnel
 * @inner_nh: inner network header of a tunnel
 * @npsn: PSNs that a ROCE packet stands for if there are several, else 0
 * @reserved1: 0, like all of them
 * @reserved2: 0
 * @reserved3: 0
 */
struct u4n_wire_head {
	struct u4n_wire_common common;
	__le32 seq;
	__le32 len;
	__le16 inl;
	u8 bodies;
	u8 gso_type;
	__le16 gso_hdr_len;
	__le16 gso_size;
	__le16 csum_start;
	__le16 csum_offset;
	__le16 outer_th;
	__le16 inner_nh;
	u8 npsn;
	u8 reserved1;
	__le16 reserved2;
	__le64 reserved3;
} __packed;

#define U4N_HEAD_SIZE		48U

/**
 * struct u4n_wire_ctl - a CONTROL frame
 * @common: common fields
 * @arg: by type
 * @cookie: the receiver's cookie, in full
 * @count: GIDS: number of GIDs after this header; else 0
 * @reserved: 0
 */
struct u4n_wire_ctl {
	struct u4n_wire_common common;
	__le32 arg;
	__le32 cookie;
	__le16 count;
	__le16 reserved;
} __packed;

#define U4N_CTL_SIZE		24U
#define U4N_GID_SIZE		16U

/**
 * enum u4n_drop - why a received frame or packet is dropped
 * @U4N_DROP_NONE: it is not
 * @U4N_DROP_CRC: the host interface saw a CRC error
 * @U4N_DROP_OVERRUN: the host interface had no room for all of it
 * @U4N_DROP_PDF: unknown tags
 * @U4N_DROP_SHORT: too short for its header
 * @U4N_DROP_TYPE: unknown type
 * @U4N_DROP_FLAGS: reserved bits or fields are set
 * @U4N_DROP_META: GSO or checksum metadata that was not agreed on
 * @U4N_DROP_CSUM: impossible checksum metadata
 * @U4N_DROP_GSO: impossible GSO metadata
 * @U4N_DROP_TUNNEL: impossible metadata of a tunnel
 * @U4N_DROP_HEADERS: packet that is not what its metadata says
 * @U4N_DROP_LENGTH: lengths contradict each other or are out of range
 * @U4N_DROP_BODIES: impossible number of BODY frames
 * @U4N_DROP_GEN: belongs to another session
 * @U4N_DROP_ORPHAN: BODY frames without a HEAD
 * @U4N_DROP_BODY: BODY frame out of turn, or one too many
 * @U4N_DROP_TRUNCATED: packet whose BODY frames are not those that it was sent with,
 *	or may not be
 * @U4N_DROP_CTL: malformed CONTROL message
 * @U4N_DROP_NO_SKB: no memory for a packet
 * @U4N_DROP_NO_PAGE: no memory to replace a page
 * @U4N_DROP_STOPPED: arrived after the session was given up
 * @U4N_NUM_DROPS: number of reasons
 */
enum u4n_drop {
	U4N_DROP_NONE,
	U4N_DROP_CRC,
	U4N_DROP_OVERRUN,
	U4N_DROP_PDF,
	U4N_DROP_SHORT,
	U4N_DROP_TYPE,
	U4N_DROP_FLAGS,
	U4N_DROP_META,
	U4N_DROP_CSUM,
	U4N_DROP_GSO,
	U4N_DROP_TUNNEL,
	U4N_DROP_HEADERS,
	U4N_DROP_LENGTH,
	U4N_DROP_BODIES,
	U4N_DROP_GEN,
	U4N_DROP_ORPHAN,
	U4N_DROP_BODY,
	U4N_DROP_TRUNCATED,
	U4N_DROP_CTL,
	U4N_DROP_NO_SKB,
	U4N_DROP_NO_PAGE,
	U4N_DROP_STOPPED,
	U4N_NUM_DROPS,
};

/**
 * struct u4n_meta - what is left to the receiver of a packet, or to where it
 *	sends it
 * @flags: U4N_META_*
 * @gso_type: U4N_GSO_*
 * @gso_hdr_len: length of all headers
 * @gso_size: payload of a segment
 * @csum_start: where the sum begins
 * @csum_offset: where it belongs, from there
 * @outer_th: outer transport header of a tunnel
 * @inner_nh: inner network header of a tunnel
 * @npsn: PSNs that a ROCE packet stands for if there are several, else 0
 */
struct u4n_meta {
	u8 flags;
	u8 gso_type;
	u16 gso_hdr_len;
	u16 gso_size;
	u16 csum_start;
	u16 csum_offset;
	u16 outer_th;
	u16 inner_nh;
	u8 npsn;
};

/**
 * struct u4n_head - HEAD in host byte order
 * @type: &enum u4n_head_type
 * @bodies: number of BODY frames
 * @gen: generation
 * @inl: inline bytes
 * @sent: frames sent before
 * @limit: credit for the receiver
 * @seq: packet number
 * @len: packet length
 * @meta: metadata
 */
struct u4n_head {
	u8 type;
	u8 bodies;
	u16 gen;
	u16 inl;
	u32 sent;
	u32 limit;
	u32 seq;
	u32 len;
	struct u4n_meta meta;
};

/**
 * struct u4n_ctl - CONTROL in host byte order
 * @type: &enum u4n_ctl_type
 * @flags: by type
 * @gen: generation
 * @count: number of GIDs
 * @sent: frames sent before
 * @limit: credit for the receiver
 * @arg: by type
 * @cookie: the receiver's cookie
 * @gids: GIDS: the list, @count times %U4N_GID_SIZE bytes
 */
struct u4n_ctl {
	u8 type;
	u8 flags;
	u16 gen;
	u16 count;
	u32 sent;
	u32 limit;
	u32 arg;
	u32 cookie;
	const void *gids;
};

void u4n_head_build(void *buf, const struct u4n_head *head);
enum u4n_drop u4n_head_parse(const void *buf, unsigned int size,
			     enum u4n_pdf pdf, u32 caps, struct u4n_head *head);
unsigned int u4n_ctl_build(void *buf, const struct u4n_ctl *ctl);
enum u4n_drop u4n_ctl_parse(const void *buf, unsigned int size,
			    struct u4n_ctl *ctl);

/* XDomain messages, arrays of dwords in the byte order of the control channel */

/**
 * enum u4n_xd_type - XDomain messages, each request is followed by its answer
 * @U4N_XD_HELLO: here is my generation and what I need to be told
 * @U4N_XD_HELLO_ACK: answer, same contents
 * @U4N_XD_READY: my ring is primed and my paths are open
 * @U4N_XD_READY_ACK: answer
 * @U4N_XD_BYE: I have left this session
 * @U4N_XD_BYE_ACK: answer
 */
enum u4n_xd_type {
	U4N_XD_HELLO = 1,
	U4N_XD_HELLO_ACK,
	U4N_XD_READY,
	U4N_XD_READY_ACK,
	U4N_XD_BYE,
	U4N_XD_BYE_ACK,
};

/**
 * enum u4n_xd_status - result in an answer
 * @U4N_XD_OK: agreed
 * @U4N_XD_DOWN: the network device is down; it will say HELLO when it is up
 * @U4N_XD_BUSY: leaving an older session, ask again soon
 * @U4N_XD_VERSION: no common version; mine are in the answer
 * @U4N_XD_STALE: no such session
 * @U4N_XD_UNKNOWN: I do not know your generation yet, ask again soon
 */
enum u4n_xd_status {
	U4N_XD_OK,
	U4N_XD_DOWN,
	U4N_XD_BUSY,
	U4N_XD_VERSION,
	U4N_XD_STALE,
	U4N_XD_UNKNOWN,
};

/**
 * struct u4n_xd_msg - an XDomain message; all have the same layout
 * @route_hi: route, filled in for requests and answers alike
 * @route_lo: route
 * @length_sn: length in dwords after this one
 * @uuid: %u4n_xd_uuid
 * @initiator: UUID of the sender
 * @target: UUID of the receiver
 * @type: &enum u4n_xd_type
 * @id: number of the request, repeated in its answer
 * @status: &enum u4n_xd_status in answers; BYE: &enum u4n_reason
 * @cookie: sender's generation, not 0
 * @peer_cookie: what the sender believes to be the receiver's, 0 if unknown
 * @versions: lowest version in bits 15:0, highest in 31:16
 * @hopid: HopID on which the sender transmits
 * @window: frames that the sender keeps posted for reception
 * @mtu: sender's MTU
 * @caps: U4N_CAP_*
 * @mac_hi: first four bytes of the sender's MAC address
 * @mac_lo: last two, in bits 31:16
 * @limits: largest number of BODY frames of a packet in bits 7:0
 * @reserved: 0
 */
struct u4n_xd_msg {
	u32 route_hi;
	u32 route_lo;
	u32 length_sn;
	uuid_t uuid;
	uuid_t initiator;
	uuid_t target;
	u32 type;
	u32 id;
	u32 status;
	u32 cookie;
	u32 peer_cookie;
	u32 versions;
	u32 hopid;
	u32 window;
	u32 mtu;
	u32 caps;
	u32 mac_hi;
	u32 mac_lo;
	u32 limits;
	u32 reserved[4];
};

/**
 * struct u4n_peer - what a HELLO says
 * @cookie: generation, 0 if nothing is known
 * @version: the highest version that both sides speak
 * @hopid: HopID on which the peer transmits
 * @window: frames that the peer keeps posted
 * @mtu: its MTU
 * @caps: its capabilities
 * @mac: its MAC address
 */
struct u4n_peer {
	u32 cookie;
	u32 version;
	u32 hopid;
	u32 window;
	u32 mtu;
	u32 caps;
	u8 mac[ETH_ALEN];
};

int u4n_hello_parse(const struct u4n_xd_msg *msg, struct u4n_peer *peer);

/* headers.c */
bool u4n_headers_match(const u8 *data, const struct u4n_meta *m);

/**
 * u4n_body_eof - end tag of a BODY frame
 * @n: number of the packet's BODY frames before it
 *
 * A lost and a doubled frame of a packet would add up if all of them had the same.
 *
 * Return: the tag.
 */
static inline enum u4n_pdf u4n_body_eof(unsigned int n)
{
	return n & 1 ? U4N_PDF_BODY_ODD : U4N_PDF_BODY_EVEN;
}

/**
 * u4n_is_body - is it a BODY frame?
 * @eof: its end tag
 *
 * Return: true if it is.
 */
static inline bool u4n_is_body(unsigned int eof)
{
	return eof == U4N_PDF_BODY_EVEN || eof == U4N_PDF_BODY_ODD;
}

#endif /* _U4N_PROTO_H */
