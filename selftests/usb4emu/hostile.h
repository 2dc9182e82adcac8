/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hostile peer in the place of a host: it speaks the usb4rdma service well enough
 * to get a link, and forges whatever it sends. See hostile.c.
 */
#ifndef USB4EMU_HOSTILE_H
#define USB4EMU_HOSTILE_H

#include "env.h"

#define HOSTILE_RING		1	/* its rings in both directions */
#define HOSTILE_PACKET		65600	/* longest packet */
#define HOSTILE_BODIES		17
#define HOSTILE_QPS		16
#define HOSTILE_XD_DWORDS	32	/* a message of the service */
#define HOSTILE_SCRIPT		6	/* messages of a short session */

struct emu_router;
struct emu_path;
struct emu_desc;
struct emu_out;

enum hostile_state {
	HOSTILE_AWAY,		/* nobody there */
	HOSTILE_MET,		/* its host is known */
	HOSTILE_SCRIPTED,	/* messages in any order */
	HOSTILE_GREET,		/* a handshake that is meant */
	HOSTILE_READY,
	HOSTILE_PROBE,
	HOSTILE_UP,		/* frames */
	HOSTILE_SILENT,		/* nothing until the host gives up */
};

/* What there was of it; the names are in hostile_cmd.c */
enum hostile_count {
	HOSTILE_N_SESSIONS,
	HOSTILE_N_HANDSHAKES,
	HOSTILE_N_SETUPS,
	HOSTILE_N_LINKS,
	HOSTILE_N_MESSAGES,
	HOSTILE_N_MESSAGES_FORGED,
	HOSTILE_N_CORE,
	HOSTILE_N_FRAMES,
	HOSTILE_N_FRAMES_FORGED,
	HOSTILE_N_PACKETS,
	HOSTILE_N_PACKETS_FORGED,
	HOSTILE_N_GSO,
	HOSTILE_N_CONTROL,
	HOSTILE_N_CONTROL_FORGED,
	HOSTILE_N_ROCE,
	HOSTILE_N_ROCE_FORGED,
	HOSTILE_N_FIELD_HEAD,
	HOSTILE_N_FIELD_FLOW,
	HOSTILE_N_FIELD_HEADERS,
	HOSTILE_N_FIELD_ROCE,
	HOSTILE_N_TAGS,
	HOSTILE_N_CUT,
	HOSTILE_N_ORDER,
	HOSTILE_N_LOST,
	HOSTILE_N_RCVD_FRAMES,
	HOSTILE_N_RCVD_ROCE,
	HOSTILE_N_ANSWERS,
	HOSTILE_N_NAKS,
	HOSTILE_NR_COUNTS,
};

/* A packet before it becomes frames */
struct hostile_packet {
	u8 type;
	u8 flags;
	u8 gso_type;
	u8 npsn;
	u16 hdr_len;
	u16 gso_size;
	u16 csum_start;
	u16 csum_offset;
	u16 outer_th;
	u16 inner_nh;
	u32 l3;			/* where the network header begins, 0 if none */
	u32 bth;		/* RoCE: where the BTH begins */
	u32 len;
	u32 inl;
	u32 bodies;
	u16 size[HOSTILE_BODIES];
};

/* A QP of the host, as it was told, and what is known of it */
struct hostile_qp {
	u32 num;
	u32 kind;		/* 0 RC, 1 UC, 2 UD */
	u32 start;		/* PSN of the first request expected */
	u32 psn;		/* of the next one */
	u32 req_psn;		/* of the host's last request */
	u32 req_len;		/* READ: bytes */
	u8 req_op;
	bool asked;		/* there is one to be answered */
	bool writing;		/* what the message begun is */
	u32 left;		/* bytes of it to come */
	u32 quiet;		/* packets since it last said anything */
};

struct emu_hostile {
	struct emu_router *rt;
	bool on;
	u32 port;
	u64 next;		/* when it acts */
	u64 since;		/* when the state was entered */
	u64 said;		/* when it said last that it is alive */
	u64 random;
	u32 seed;
	u32 number;		/* of the session */
	u32 sessions;		/* how many, 0 for any number */
	u32 mutate;		/* forge one of so many, 0 none */
	u32 deep;		/* one session of so many has frames, 0 none */
	u32 packets;		/* at most so many in a session, and 19 more */
	bool stingy;		/* no credits */
	bool flood;		/* HELLO, and nothing else, as fast as can be */
	bool gids;		/* lists of GIDs, and nothing else */
	bool properties;	/* forge them as well */
	u32 generation;		/* of the properties */

	enum hostile_state state;
	u32 host[4];		/* its UUID */
	u32 cookie;
	u32 host_cookie;
	u32 id;
	bool agreed;		/* HELLO was answered or said */
	bool host_ready;
	bool we_ready;
	bool ack_probe;
	bool acked;		/* our probe came back */
	u32 probe_arg;
	bool ack_gids;
	bool told_gids;
	u32 host_gids;		/* version of its list */
	u32 sent;		/* frames */
	u32 seen;		/* frames received */
	bool in_session;	/* the last packet was of this session */
	u32 limit;		/* the host lets us send those below */
	u32 told;		/* what we told it */
	u32 seq;
	u32 todo;		/* packets of this session */
	u32 script;		/* messages of this session */

	u32 own_ip;
	u32 host_ip;
	u32 mac[2];
	u32 rkey;
	u32 va[2];
	u32 mr_len;
	u32 mtu;
	u32 nr_qps;
	struct hostile_qp qp[HOSTILE_QPS];

	u64 count[HOSTILE_NR_COUNTS];
	u8 frame[4096];
	u8 packet[HOSTILE_PACKET + 8192];
};

/* hostile.c */
struct emu_hostile *emu_hostile_new(struct emu_router *rt);
u64 emu_hostile_timers(struct emu_router *rt, u64 now);
u32 emu_hostile_frame(const struct emu_path *path, const struct emu_desc *from, u32 len);
void hostile_enter(struct emu_hostile *h, enum hostile_state state);
void hostile_next(struct emu_hostile *h);
u64 hostile_random(struct emu_hostile *h);
u32 hostile_below(struct emu_hostile *h, u32 n);
bool hostile_forge(struct emu_hostile *h);
u32 hostile_odd(struct emu_hostile *h, u32 val, u32 bits);

/* hostile_xd.c */
void emu_hostile_control(struct emu_router *rt, u32 type, const u32 *dw, u32 n);
void hostile_say(struct emu_hostile *h, u32 type);
void hostile_script(struct emu_hostile *h);

/* hostile_frame.c */
bool hostile_control_frame(struct emu_hostile *h, u32 type, u32 arg);
void hostile_packet(struct emu_hostile *h);
void hostile_send(struct emu_hostile *h, struct hostile_packet *p);

/* hostile_packet.c */
void hostile_build(struct emu_hostile *h, struct hostile_packet *p);
void hostile_twist_headers(struct emu_hostile *h, struct hostile_packet *p);
void hostile_put16(u8 *buf, u32 val);
void hostile_put32(u8 *buf, u32 val);
u32 hostile_get32(const u8 *buf);
u32 hostile_ip(struct emu_hostile *h, u8 *buf, bool v6, u32 proto, u32 len);
void hostile_ether(struct emu_hostile *h, u8 *buf, u32 proto);

/* hostile_roce.c */
void hostile_roce_build(struct emu_hostile *h, struct hostile_packet *p);
void hostile_roce_twist(struct emu_hostile *h, struct hostile_packet *p);
void hostile_roce_rcv(struct emu_hostile *h, const u8 *buf, u32 len);

/* hostile_cmd.c */
const char *emu_hostile_command(struct emu_router *rt, int n, char **word);
void emu_hostile_stats(struct emu_router *rt, struct emu_out *out);

#endif /* USB4EMU_HOSTILE_H */
