/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of verbs_check share. main.c says what it does. */
#ifndef VERBS_CHECK_H
#define VERBS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define VC_MAGIC	0x76633031
#define VC_PORT		18600
#define VC_MAX_SIZES	96
#define VC_MAX_COUNT	64
#define VC_ROUND_BYTES	(16u << 20)
#define VC_GAP		72
#define VC_FILL		0xa5
#define VC_GRH		40
#define VC_QKEY		0x11111111
#define VC_INLINE	64
#define VC_MAX_SGE	3
#define VC_ATOMICS	8

enum vc_op {
	VC_SEND,
	VC_SEND_IMM,
	VC_WRITE,
	VC_WRITE_IMM,
	VC_READ,
	VC_FETCH_ADD,
	VC_CMP_SWAP,
	VC_NUM_OPS,
};

/* Who is the source of a round's data, as a set of bits by side. */
enum {
	VC_FROM_CLIENT = 1,
	VC_FROM_SERVER = 2,
	VC_FROM_BOTH = 3,
};

/* From client to server: what is done. */
struct vc_params {
	uint32_t magic;
	uint32_t qp_type;
	uint32_t ops;
	uint32_t flows;
	uint32_t count;
	uint32_t mtu;
	uint32_t timeout;
	uint32_t odp;
	uint32_t num_sizes;
	uint64_t seed;
	uint32_t sizes[VC_MAX_SIZES];
};

/* Both ways: where it goes. */
struct vc_addr {
	union ibv_gid gid;
	uint32_t qpn;
	uint32_t psn;
	uint32_t mtu;
	uint32_t src_rkey;
	uint32_t dst_rkey;
	uint32_t atom_rkey;
	uint64_t src;
	uint64_t dst;
	uint64_t atom;
};

struct vc {
	/* options */
	const char *dev_name;
	const char *host;
	int gid_index;
	int port;
	unsigned int seconds;
	struct vc_params par;

	/* objects */
	int sock;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct ibv_mr *src_mr, *dst_mr, *atom_mr, *grh_mr;
	uint8_t *src, *dst, *grh;
	uint64_t *atom;
	size_t buf_len;
	struct vc_addr self, peer;

	/* the round */
	unsigned int side;		/* 1 client, 2 server */
	unsigned int round;
	enum vc_op op;
	uint32_t size;
	unsigned int count;
	unsigned int next_recv;

	/* sums */
	uint64_t messages;
	uint64_t bytes;
};

extern const char * const vc_op_name[VC_NUM_OPS];

/* main.c */
extern struct vc *vc_now;
void __attribute__((noreturn, format(printf, 2, 3)))
vc_die(int status, const char *fmt, ...);

/* meet.c: the two sides over TCP */
void vc_connect(struct vc *vc);
void vc_accept(struct vc *vc);
void vc_sock_timeout(struct vc *vc, unsigned int seconds);
void vc_exchange(struct vc *vc, const void *out, void *in, size_t len);
void vc_barrier(struct vc *vc, uint32_t what);

/* setup.c: device, buffers, queue pair */
void vc_create(struct vc *vc);
void vc_to_init(struct vc *vc);
void vc_to_rts(struct vc *vc);
unsigned int vc_round_count(const struct vc_params *par, uint32_t size);

/* pattern.c: what is in the buffers, and where */
uint64_t vc_mix(uint64_t x);
uint64_t vc_msg_seed(const struct vc *vc, unsigned int side, unsigned int msg);
size_t vc_src_off(const struct vc *vc, unsigned int msg);
size_t vc_dst_off(const struct vc *vc, unsigned int msg);
void vc_fill_source(struct vc *vc);
void vc_fill_sink(struct vc *vc);
void vc_check_sink(struct vc *vc);
void vc_atomics_begin(struct vc *vc);
void vc_atomics_end(struct vc *vc, bool initiator, bool target);
uint64_t vc_atom_old(const struct vc *vc, unsigned int m, unsigned int target);
uint64_t vc_atom_arg(const struct vc *vc, unsigned int m);

/* work.c: work requests and completions */
bool vc_is_atomic(enum vc_op op);
void vc_post_recvs(struct vc *vc);
unsigned int vc_num_recvs(const struct vc *vc);
unsigned int vc_post_sends(struct vc *vc);
void vc_wait(struct vc *vc, unsigned int sends, unsigned int recvs);

#endif
