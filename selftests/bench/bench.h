/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the benchmark program share. main.c says what it does. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_MAGIC	0x62303031
#define BENCH_PORT	18700
/* A TCP stream has no messages: what is counted as one. */
#define BENCH_CHUNK	65536
#define BENCH_MAX_FLOWS	256
/* Nothing takes longer than this without being stuck, guest seconds. */
#define BENCH_TIMEOUT	60

enum bench_kind {
	BENCH_SEND,
	BENCH_WRITE,
	BENCH_READ,
	BENCH_TCP,
	BENCH_SENDFILE,
	BENCH_UDP,
	BENCH_PING,
	BENCH_RING,
};

/**
 * struct bench_params - a workload, as the client tells it to the server
 * @magic: BENCH_MAGIC
 * @kind: enum bench_kind
 * @stream: many messages under way (1), or one that goes to and fro (0)
 * @size: bytes of a message
 * @flows: queue pairs or connections
 */
struct bench_params {
	uint32_t magic;
	uint32_t kind;
	uint32_t stream;
	uint32_t size;
	uint32_t flows;
};

static inline bool bench_is_tcp(const struct bench_params *par)
{
	return par->kind == BENCH_TCP || par->kind == BENCH_SENDFILE;
}

/**
 * struct bench_pass - one round of messages
 * @count: how many; of a ping-pong, how many times to and fro
 * @full: check every byte of the data, else two words of each message
 * @laps: client of a ping-pong: nanoseconds of each round trip
 */
struct bench_pass {
	uint32_t count;
	uint32_t full;
	uint64_t *laps;
};

struct bench;

/**
 * struct bench_ops - a transport
 * @setup: make and connect what @pass needs, on both sides at once
 * @client: the side that begins; returns when the server has got everything
 * @server: its counterpart, NULL if the client needs none
 */
struct bench_ops {
	void (*setup)(struct bench *b);
	void (*client)(struct bench *b, struct bench_pass *pass);
	void (*server)(struct bench *b, struct bench_pass *pass);
};

struct bench {
	/* options */
	const char *dev;
	const char *dev2;
	const char *host;
	int gid_index;
	bool is_server;

	struct bench_params par;
	const struct bench_ops *ops;
	/* control connection, and who is at its other end */
	int sock;
	void *priv;
};

/* Everything that is read before and after the messages. */
struct bench_counts {
	uint64_t ns;
	uint64_t switches;
	/* time the emulator took, where it runs inside the guest's kernel */
	uint64_t own_ns;
	struct bench_dev {
		uint64_t mmio_reads;
		uint64_t mmio_writes;
		uint64_t msis;
		uint64_t frames;
	} dev[2];
};

extern const struct bench_ops bench_verbs_ops, bench_sock_ops, bench_ring_ops;

/* main.c */
void __attribute__((noreturn, format(printf, 1, 2)))
bench_die(const char *fmt, ...);
void *bench_alloc(size_t len);

/* net.c */
int bench_listen(int type, int port);
int bench_accept(int fd);
int bench_connect(const char *host, int type, int port);
void bench_write(int fd, const void *buf, size_t len);
void bench_read(int fd, void *buf, size_t len);
void bench_barrier(struct bench *b);

/* pattern.c */
void bench_fill(void *buf, uint32_t size, uint64_t seq, bool full);
void bench_verify(const void *buf, uint32_t size, uint64_t seq, bool full);
void bench_fill_at(void *buf, size_t len, uint64_t pos, bool full);
void bench_verify_at(const void *buf, size_t len, uint64_t pos, bool full);

/* measure.c */
uint64_t bench_now(void);
void bench_begin(struct bench_counts *c);
void bench_end(struct bench_counts *c);
uint64_t bench_median(uint64_t *v, size_t n);
void bench_work_begin(void);
uint64_t bench_work_end(void);

#endif
