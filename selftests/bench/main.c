// SPDX-License-Identifier: GPL-2.0
/*
 * What does a message cost? Verbs, sockets and raw rings, one workload at a
 * time, between two hosts that share one kernel.
 *
 *	bench -s [-d RXE -g GID]			server, for any workload
 *	bench -w WORKLOAD [-d RXE -g GID] -c ADDR	client
 *	bench -w WORKLOAD -r DEVICE -R DEVICE		raw rings, both sides
 *
 *	-n COUNT	messages of the measured pass; a ping-pong does COUNT/2
 *			round trips
 *	-T		count work items in a further pass
 *
 * Workloads: {send,write,read}_{lat,stream}/SIZE, qps/QUEUE_PAIRS,
 * tcp_stream[/CONNECTIONS], tcp_stream_sendfile, {tcp,udp}_rr/SIZE, ping,
 * ping_default.
 *
 * A first pass checks every byte. Then comes the measured one, and its line:
 *
 *	bench WORKLOAD messages=N bytes=SIZE ns=T own_ns=T median_ns=T ...
 *
 * ns is everything from the first message until the server has got the last,
 * own_ns what the emulator took of it where it is part of the guest's kernel.
 * median_ns, of a ping-pong, is half the median of the round trips, but all of
 * it where only one side is asked for something (READ). BENCH_STATS names the
 * command that prints the emulator's counters; devices 0 and 1 are those of
 * the client and of the server.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
/* The first pass; TCP needs more to find its window. */
#define WARM_BYTES	(8u << 20)
#define WARM_COUNT	64
#define WARM_CHUNKS	512

static const char *bench_workload = "server";

void bench_die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "bench: %s: ", bench_workload);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* Whole pages, present in memory. */
void *bench_alloc(size_t len)
{
	void *p;

	if (posix_memalign(&p, 4096, len))
		bench_die("no memory for %zu bytes", len);
	memset(p, 0x5a, len);
	return p;
}

/* No-ops that plugin/insns.c knows: it counts instructions between them. */
static void bench_mark_begin(void)
{
	asm volatile("nopl 0x62656e01(%%rax)" ::: "memory");
}

static void bench_mark_end(void)
{
	asm volatile("nopl 0x62656e02(%%rax)" ::: "memory");
}

/* --- workloads ------------------------------------------------------------ */

static const struct {
	const char *name;
	enum bench_kind kind;
	bool stream;
	/* what the number behind the name is, and its default */
	bool flows;
	uint32_t def;
} bench_kinds[] = {
	{ "send_lat", BENCH_SEND, false, false, 2 },
	{ "send_stream", BENCH_SEND, true, false, 65536 },
	{ "write_lat", BENCH_WRITE, false, false, 2 },
	{ "write_stream", BENCH_WRITE, true, false, 65536 },
	{ "read_lat", BENCH_READ, false, false, 4096 },
	{ "read_stream", BENCH_READ, true, false, 65536 },
	{ "qps", BENCH_SEND, true, true, 1 },
	{ "tcp_stream", BENCH_TCP, true, true, 1 },
	{ "tcp_stream_sendfile", BENCH_SENDFILE, true, true, 1 },
	{ "tcp_rr", BENCH_TCP, false, false, 1 },
	{ "udp_rr", BENCH_UDP, false, false, 1 },
	{ "ping", BENCH_PING, false, false, 56 },
	/* the same; whoever starts us has left the scheduler as it was */
	{ "ping_default", BENCH_PING, false, false, 56 },
};

static void bench_parse(struct bench *b, const char *name)
{
	size_t i, len = strcspn(name, "/");
	struct bench_params *par = &b->par;
	uint32_t arg;

	for (i = 0; i < ARRAY_SIZE(bench_kinds); i++) {
		if (strlen(bench_kinds[i].name) != len ||
		    strncmp(bench_kinds[i].name, name, len))
			continue;
		arg = name[len] ? strtoul(name + len + 1, NULL, 10) :
				  bench_kinds[i].def;
		par->magic = BENCH_MAGIC;
		par->kind = bench_kinds[i].kind;
		par->stream = bench_kinds[i].stream;
		par->flows = bench_kinds[i].flows ? arg : 1;
		par->size = arg;
		if (bench_kinds[i].flows)
			par->size = bench_is_tcp(par) ? BENCH_CHUNK : 4096;
		if (!par->size || !par->flows || par->flows > BENCH_MAX_FLOWS ||
		    (par->kind >= BENCH_TCP && par->size > BENCH_CHUNK))
			bench_die("number out of range: %s", name);
		return;
	}
	bench_die("no such workload: %s", name);
}

static const struct bench_ops *bench_transport(const struct bench *b)
{
	switch (b->par.kind) {
	case BENCH_TCP:
	case BENCH_SENDFILE:
	case BENCH_UDP:
	case BENCH_PING:
		return &bench_sock_ops;
	case BENCH_RING:
		return &bench_ring_ops;
	default:
		return &bench_verbs_ops;
	}
}

/* --- the two sides ------------------------------------------------------ */

/* One client, from its connection to its end. */
static void bench_serve(struct bench *b)
{
	struct bench_pass pass = { 0 };

	bench_read(b->sock, &b->par, sizeof(b->par));
	if (b->par.magic != BENCH_MAGIC)
		bench_die("not a client");
	b->ops = bench_transport(b);
	b->ops->setup(b);
	while (true) {
		bench_read(b->sock, &pass.count, sizeof(pass.count));
		if (!pass.count)
			break;
		bench_read(b->sock, &pass.full, sizeof(pass.full));
		bench_barrier(b);
		b->ops->server(b, &pass);
		bench_barrier(b);
	}
}

static void bench_server(struct bench *b)
{
	int fd = bench_listen(SOCK_STREAM, BENCH_PORT);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ 0 },
		   sizeof(struct timeval));
	signal(SIGCHLD, SIG_IGN);
	while (true) {
		b->sock = bench_accept(fd);
		switch (fork()) {
		case -1:
			bench_die("fork: %s", strerror(errno));
		case 0:
			signal(SIGCHLD, SIG_DFL);
			bench_serve(b);
			exit(0);
		}
		close(b->sock);
	}
}

/* For the raw rings the server is a child at the end of a socket pair. */
static void bench_fork_server(struct bench *b)
{
	int pair[2];

	b->par.kind = BENCH_RING;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		bench_die("socketpair: %s", strerror(errno));
	switch (fork()) {
	case -1:
		bench_die("fork: %s", strerror(errno));
	case 0:
		close(pair[0]);
		b->sock = pair[1];
		b->is_server = true;
		bench_serve(b);
		exit(0);
	}
	close(pair[1]);
	b->sock = pair[0];
}

static void bench_order(struct bench *b, struct bench_pass *pass)
{
	bench_write(b->sock, &pass->count, sizeof(pass->count));
	bench_write(b->sock, &pass->full, sizeof(pass->full));
	bench_barrier(b);
}

static void bench_run(struct bench *b, struct bench_pass *pass)
{
	bench_order(b, pass);
	b->ops->client(b, pass);
	bench_barrier(b);
}

static void bench_print(const struct bench *b, const struct bench_counts *c0,
			const struct bench_counts *c1, uint32_t messages,
			uint64_t median)
{
	unsigned long long ns = c1->ns - c0->ns;
	unsigned long long own = c1->own_ns - c0->own_ns;
	unsigned long long switches = c1->switches - c0->switches;
	const struct bench_dev *d0, *d1;
	int i;

	printf("bench %s messages=%u bytes=%u ns=%llu own_ns=%llu median_ns=%llu switches=%llu",
	       bench_workload, messages, b->par.size, ns, own,
	       (unsigned long long)median, switches);
	for (i = 0; getenv("BENCH_STATS") && i < 2; i++) {
		d0 = &c0->dev[i];
		d1 = &c1->dev[i];
		printf(" %d.mmio_reads=%ju %d.mmio_writes=%ju",
		       i, (uintmax_t)d1->mmio_reads - d0->mmio_reads,
		       i, (uintmax_t)d1->mmio_writes - d0->mmio_writes);
		printf(" %d.msis=%ju %d.frames=%ju",
		       i, (uintmax_t)d1->msis - d0->msis,
		       i, (uintmax_t)d1->frames - d0->frames);
	}
	printf("\n");
}

static void bench_client(struct bench *b, uint32_t messages, bool trace)
{
	bool rr = !b->par.stream && b->par.kind != BENCH_READ;
	struct bench_pass pass = { .count = WARM_BYTES / b->par.size, .full = 1 };
	uint64_t *laps = bench_alloc((messages + 1) * sizeof(*laps));
	struct bench_counts before, after;
	uint64_t median = 0;

	bench_write(b->sock, &b->par, sizeof(b->par));
	b->ops = bench_transport(b);
	b->ops->setup(b);
	if (pass.count > WARM_COUNT)
		pass.count = WARM_COUNT;
	if (bench_is_tcp(&b->par) && b->par.stream)
		pass.count = WARM_CHUNKS;
	if (pass.count < 2 * b->par.flows)
		pass.count = 2 * b->par.flows;
	bench_run(b, &pass);

	pass.full = 0;
	pass.count = rr ? messages / 2 : messages;
	pass.laps = b->par.stream ? NULL : laps;
	bench_order(b, &pass);
	bench_begin(&before);
	bench_mark_begin();
	b->ops->client(b, &pass);
	bench_mark_end();
	bench_end(&after);
	bench_barrier(b);
	if (pass.laps)
		median = bench_median(laps, pass.count) / (rr ? 2 : 1);
	messages = rr ? 2 * pass.count : pass.count;
	bench_print(b, &before, &after, messages, median);

	if (trace) {
		pass.laps = NULL;
		if (pass.count >= 32)
			pass.count /= 2;
		messages = rr ? 2 * pass.count : pass.count;
		bench_order(b, &pass);
		bench_work_begin();
		b->ops->client(b, &pass);
		printf("work %s messages=%u items=%llu\n", bench_workload,
		       messages, (unsigned long long)bench_work_end());
		bench_barrier(b);
	}
	pass.count = 0;
	bench_write(b->sock, &pass.count, sizeof(pass.count));
}

int main(int argc, char **argv)
{
	struct bench b = { 0 };
	uint32_t messages = 1000;
	bool trace = false;
	const char *workload = NULL;
	int opt;

	signal(SIGPIPE, SIG_IGN);
	while ((opt = getopt(argc, argv, "sw:d:g:c:r:R:n:T")) != -1) {
		switch (opt) {
		case 's':
			b.is_server = true;
			break;
		case 'w':
			workload = optarg;
			break;
		case 'd':
		case 'r':
			b.dev = optarg;
			break;
		case 'R':
			b.dev2 = optarg;
			break;
		case 'g':
			b.gid_index = atoi(optarg);
			break;
		case 'c':
			b.host = optarg;
			break;
		case 'n':
			messages = strtoul(optarg, NULL, 10);
			break;
		case 'T':
			trace = true;
			break;
		default:
			return 2;
		}
	}
	if (b.is_server)
		bench_server(&b);
	if (!workload || messages < 2 || (!b.host && !(b.dev && b.dev2)))
		bench_die("the comment at the top of the source tells the options");
	bench_workload = workload;
	bench_parse(&b, workload);
	if (b.dev2)
		bench_fork_server(&b);
	else
		b.sock = bench_connect(b.host, SOCK_STREAM, BENCH_PORT);
	bench_client(&b, messages, trace);
	return 0;
}
