/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints: frames on the rings, packets, and the handshake */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM usb4net_rdma

#if !defined(_U4N_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _U4N_TRACE_H

#include <linux/tracepoint.h>

#include "u4n.h"

TRACE_DEFINE_ENUM(U4N_PDF_HEAD_END);
TRACE_DEFINE_ENUM(U4N_PDF_HEAD_ONLY);
TRACE_DEFINE_ENUM(U4N_PDF_BODY_EVEN);
TRACE_DEFINE_ENUM(U4N_PDF_BODY_ODD);
TRACE_DEFINE_ENUM(U4N_PDF_CONTROL);

#define u4n_show_pdf(pdf)					\
	__print_symbolic(pdf,					\
			 { U4N_PDF_HEAD_END, "HEAD_END" },	\
			 { U4N_PDF_HEAD_ONLY, "HEAD_ONLY" },	\
			 { U4N_PDF_BODY_EVEN, "BODY_EVEN" },	\
			 { U4N_PDF_BODY_ODD, "BODY_ODD" },	\
			 { U4N_PDF_CONTROL, "CONTROL" })

DECLARE_EVENT_CLASS(u4n_frame,
	TP_PROTO(const struct net_device *ndev, bool tx, u32 index,
		 unsigned int size, enum u4n_pdf pdf, enum u4n_drop why),
	TP_ARGS(ndev, tx, index, size, pdf, why),
	TP_STRUCT__entry(
		__string(dev, ndev->name)
		__field(u32, index)
		__field(u16, size)
		__field(u8, pdf)
		__field(u8, why)
		__field(bool, tx)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->index = index;
		__entry->size = size;
		__entry->pdf = pdf;
		__entry->why = why;
		__entry->tx = tx;
	),
	TP_printk("dev=%s dir=%s index=%u pdf=%s size=%u drop=%u",
		  __get_str(dev), __entry->tx ? "tx" : "rx", __entry->index,
		  u4n_show_pdf(__entry->pdf), __entry->size, __entry->why)
);

DEFINE_EVENT(u4n_frame, u4n_tx_frame,
	TP_PROTO(const struct net_device *ndev, bool tx, u32 index,
		 unsigned int size, enum u4n_pdf pdf, enum u4n_drop why),
	TP_ARGS(ndev, tx, index, size, pdf, why)
);

DEFINE_EVENT(u4n_frame, u4n_tx_frame_done,
	TP_PROTO(const struct net_device *ndev, bool tx, u32 index,
		 unsigned int size, enum u4n_pdf pdf, enum u4n_drop why),
	TP_ARGS(ndev, tx, index, size, pdf, why)
);

DEFINE_EVENT(u4n_frame, u4n_rx_frame,
	TP_PROTO(const struct net_device *ndev, bool tx, u32 index,
		 unsigned int size, enum u4n_pdf pdf, enum u4n_drop why),
	TP_ARGS(ndev, tx, index, size, pdf, why)
);

DEFINE_EVENT(u4n_frame, u4n_rx_frame_drop,
	TP_PROTO(const struct net_device *ndev, bool tx, u32 index,
		 unsigned int size, enum u4n_pdf pdf, enum u4n_drop why),
	TP_ARGS(ndev, tx, index, size, pdf, why)
);

TRACE_DEFINE_ENUM(U4N_HEAD_ETH);
TRACE_DEFINE_ENUM(U4N_HEAD_ROCE);

DECLARE_EVENT_CLASS(u4n_skb,
	TP_PROTO(const struct net_device *ndev, const struct sk_buff *skb,
		 u8 type),
	TP_ARGS(ndev, skb, type),
	TP_STRUCT__entry(
		__string(dev, ndev->name)
		__field(const void *, addr)
		__field(unsigned int, len)
		__field(unsigned int, data_len)
		__field(u16, gso_size)
		__field(u8, nr_frags)
		__field(u8, type)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->addr = skb;
		__entry->len = skb->len;
		__entry->data_len = skb->data_len;
		__entry->gso_size = skb_shinfo(skb)->gso_size;
		__entry->nr_frags = skb_shinfo(skb)->nr_frags;
		__entry->type = type;
	),
	TP_printk("dev=%s type=%s skb=%p len=%u data_len=%u nr_frags=%u gso_size=%u",
		  __get_str(dev),
		  __print_symbolic(__entry->type, { U4N_HEAD_ETH, "ETH" },
				   { U4N_HEAD_ROCE, "ROCE" }),
		  __entry->addr, __entry->len, __entry->data_len,
		  __entry->nr_frags, __entry->gso_size)
);

DEFINE_EVENT(u4n_skb, u4n_tx_skb,
	TP_PROTO(const struct net_device *ndev, const struct sk_buff *skb,
		 u8 type),
	TP_ARGS(ndev, skb, type)
);

DEFINE_EVENT(u4n_skb, u4n_rx_skb,
	TP_PROTO(const struct net_device *ndev, const struct sk_buff *skb,
		 u8 type),
	TP_ARGS(ndev, skb, type)
);

TRACE_DEFINE_ENUM(U4N_HS_DOWN);
TRACE_DEFINE_ENUM(U4N_HS_HELLO);
TRACE_DEFINE_ENUM(U4N_HS_SETUP);
TRACE_DEFINE_ENUM(U4N_HS_READY);
TRACE_DEFINE_ENUM(U4N_HS_PROBE);
TRACE_DEFINE_ENUM(U4N_HS_UP);
TRACE_DEFINE_ENUM(U4N_HS_REFUSED);
TRACE_DEFINE_ENUM(U4N_XD_HELLO);
TRACE_DEFINE_ENUM(U4N_XD_HELLO_ACK);
TRACE_DEFINE_ENUM(U4N_XD_READY);
TRACE_DEFINE_ENUM(U4N_XD_READY_ACK);
TRACE_DEFINE_ENUM(U4N_XD_BYE);
TRACE_DEFINE_ENUM(U4N_XD_BYE_ACK);

#define u4n_show_state(state)					\
	__print_symbolic(state,					\
			 { U4N_HS_DOWN, "down" },		\
			 { U4N_HS_HELLO, "hello" },		\
			 { U4N_HS_SETUP, "setup" },		\
			 { U4N_HS_READY, "ready" },		\
			 { U4N_HS_PROBE, "probe" },		\
			 { U4N_HS_UP, "up" },			\
			 { U4N_HS_REFUSED, "refused" })

#define u4n_show_message(type)					\
	__print_symbolic(type,					\
			 { 0, "none" },				\
			 { U4N_XD_HELLO, "HELLO" },		\
			 { U4N_XD_HELLO_ACK, "HELLO_ACK" },	\
			 { U4N_XD_READY, "READY" },		\
			 { U4N_XD_READY_ACK, "READY_ACK" },	\
			 { U4N_XD_BYE, "BYE" },			\
			 { U4N_XD_BYE_ACK, "BYE_ACK" })

/* @msg is NULL where the event is not a message; @reason is for the end then */
DECLARE_EVENT_CLASS(u4n_handshake,
	TP_PROTO(const struct u4n_link *l, const struct u4n_xd_msg *msg,
		 u32 reason),
	TP_ARGS(l, msg, reason),
	TP_STRUCT__entry(
		__string(dev, l->ndev->name)
		__field(u32, state)
		__field(u32, type)
		__field(u32, id)
		__field(u32, status)
		__field(u32, cookie)
		__field(u32, peer_cookie)
		__field(u32, reason)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->state = READ_ONCE(l->hs.state);
		__entry->type = msg ? msg->type : 0;
		__entry->id = msg ? msg->id : 0;
		__entry->status = msg ? msg->status : 0;
		__entry->cookie = msg ? msg->cookie : l->hs.cookie;
		__entry->peer_cookie = msg ? msg->peer_cookie :
				       l->hs.peer.cookie;
		__entry->reason = reason;
	),
	TP_printk("dev=%s state=%s msg=%s id=%u status=%u cookie=%08x peer_cookie=%08x reason=%u",
		  __get_str(dev), u4n_show_state(__entry->state),
		  u4n_show_message(__entry->type), __entry->id,
		  __entry->status, __entry->cookie, __entry->peer_cookie,
		  __entry->reason)
);

DEFINE_EVENT(u4n_handshake, u4n_hs_state,
	TP_PROTO(const struct u4n_link *l, const struct u4n_xd_msg *msg,
		 u32 reason),
	TP_ARGS(l, msg, reason)
);

DEFINE_EVENT(u4n_handshake, u4n_hs_leave,
	TP_PROTO(const struct u4n_link *l, const struct u4n_xd_msg *msg,
		 u32 reason),
	TP_ARGS(l, msg, reason)
);

DEFINE_EVENT(u4n_handshake, u4n_hs_send,
	TP_PROTO(const struct u4n_link *l, const struct u4n_xd_msg *msg,
		 u32 reason),
	TP_ARGS(l, msg, reason)
);

DEFINE_EVENT(u4n_handshake, u4n_hs_receive,
	TP_PROTO(const struct u4n_link *l, const struct u4n_xd_msg *msg,
		 u32 reason),
	TP_ARGS(l, msg, reason)
);

#endif /* _U4N_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
