// SPDX-License-Identifier: GPL-2.0
/*
 * Socket workloads: TCP streams by number of bytes, with and without the
 * application's own work, request/response over TCP and UDP, and ICMP echo,
 * which the other side's kernel answers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define SOCK_PING_SIZE	56
/* A file that is sent over and over, and what is asked for in one call. */
#define SOCK_FILE_SIZE	(1u << 20)

/**
 * struct bs - the socket workloads
 * @fd: the connections
 * @pos: bytes moved so far on each connection of a stream
 * @seq: requests so far
 * @buf: data
 * @file: in tmpfs, what is sent without going through the process
 */
struct bs {
	int fd[BENCH_MAX_FLOWS];
	uint64_t pos[BENCH_MAX_FLOWS];
	uint64_t seq;
	char *buf;
	int file;
};

static void bs_setup_udp(struct bench *b, struct bs *s)
{
	int *fd = &s->fd[0];

	if (!b->is_server) {
		bench_barrier(b);
		*fd = bench_connect(b->host, SOCK_DGRAM, BENCH_PORT + 1);
		return;
	}
	*fd = bench_listen(SOCK_DGRAM, BENCH_PORT + 1);
	bench_barrier(b);
}

static void bs_setup_tcp(struct bench *b, struct bs *s)
{
	unsigned int i;
	int fd;

	if (!b->is_server) {
		bench_barrier(b);
		for (i = 0; i < b->par.flows; i++)
			s->fd[i] = bench_connect(b->host, SOCK_STREAM,
						 BENCH_PORT + 1);
		return;
	}
	fd = bench_listen(SOCK_STREAM, BENCH_PORT + 1);
	bench_barrier(b);
	for (i = 0; i < b->par.flows; i++)
		s->fd[i] = bench_accept(fd);
	close(fd);
}

static void bs_setup_file(struct bs *s)
{
	void *p;

	s->file = memfd_create("bench", 0);
	if (s->file < 0 || ftruncate(s->file, SOCK_FILE_SIZE))
		bench_die("no file: %s", strerror(errno));
	p = mmap(NULL, SOCK_FILE_SIZE, PROT_WRITE, MAP_SHARED, s->file, 0);
	if (p == MAP_FAILED)
		bench_die("mmap of a file: %s", strerror(errno));
	bench_fill_at(p, SOCK_FILE_SIZE, 0, true);
	munmap(p, SOCK_FILE_SIZE);
}

static void bs_setup(struct bench *b)
{
	struct bs *s = bench_alloc(sizeof(*s));

	memset(s, 0, sizeof(*s));
	s->buf = bench_alloc(2 * BENCH_CHUNK);
	b->priv = s;
	if (b->par.kind == BENCH_SENDFILE)
		bs_setup_file(s);
	if (bench_is_tcp(&b->par))
		bs_setup_tcp(b, s);
	else if (b->par.kind == BENCH_UDP)
		bs_setup_udp(b, s);
	else if (!b->is_server)
		s->fd[0] = bench_connect(b->host, SOCK_RAW, 0);
}

/* --- request and response ---------------------------------------------- */

static void bs_get(struct bench *b, struct bs *s, bool full)
{
	ssize_t n;

	if (b->par.kind == BENCH_TCP) {
		bench_read(s->fd[0], s->buf, b->par.size);
	} else {
		n = recv(s->fd[0], s->buf, 2 * BENCH_CHUNK, 0);
		if (n != (ssize_t)b->par.size)
			bench_die("datagram: %zd bytes: %s", n,
				  n < 0 ? strerror(errno) : "wrong size");
	}
	bench_verify(s->buf, b->par.size, s->seq, full);
}

static void bs_put(struct bench *b, struct bs *s, bool full)
{
	bench_fill(s->buf, b->par.size, s->seq, full);
	bench_write(s->fd[0], s->buf, b->par.size);
}

static uint16_t bs_checksum(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i + 1 < len; i += 2)
		sum += p[i] | p[i + 1] << 8;
	sum = (sum & 0xffff) + (sum >> 16);
	return ~((sum & 0xffff) + (sum >> 16));
}

static void bs_echo(struct bench *b, struct bs *s, bool full)
{
	struct icmphdr *icmp = (struct icmphdr *)s->buf;
	uint16_t id = htons(getpid() & 0xffff), seq = htons(s->seq & 0xffff);
	size_t len = sizeof(*icmp) + b->par.size;
	struct iphdr *ip = (struct iphdr *)s->buf;
	ssize_t n;

	memset(icmp, 0, sizeof(*icmp));
	icmp->type = ICMP_ECHO;
	icmp->un.echo.id = id;
	icmp->un.echo.sequence = seq;
	bench_fill(s->buf + sizeof(*icmp), b->par.size, s->seq, full);
	/* The checksum needs all of it, so what it covers must be known. */
	icmp->checksum = bs_checksum(s->buf, len);
	bench_write(s->fd[0], s->buf, len);
	while (true) {
		n = recv(s->fd[0], s->buf, 2 * BENCH_CHUNK, 0);
		if (n < 0)
			bench_die("no echo: %s", strerror(errno));
		icmp = (struct icmphdr *)(s->buf + ip->ihl * 4);
		if (icmp->type == ICMP_ECHOREPLY && icmp->un.echo.id == id &&
		    icmp->un.echo.sequence == seq)
			break;
	}
	if (n != (ssize_t)(ip->ihl * 4 + len))
		bench_die("echo of %zd bytes", n);
	bench_verify(icmp + 1, b->par.size, s->seq, full);
}

static void bs_rr_client(struct bench *b, struct bench_pass *pass)
{
	uint64_t t, last = bench_now();
	struct bs *s = b->priv;
	uint32_t i;

	for (i = 0; i < pass->count; i++) {
		if (b->par.kind == BENCH_PING) {
			bs_echo(b, s, pass->full);
		} else {
			bs_put(b, s, pass->full);
			bs_get(b, s, pass->full);
		}
		s->seq++;
		t = bench_now();
		if (pass->laps)
			pass->laps[i] = t - last;
		last = t;
	}
}

/* The first datagram tells who the client is. */
static void bs_meet_udp(struct bs *s)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);

	if (recvfrom(s->fd[0], s->buf, 1, MSG_PEEK, (struct sockaddr *)&from,
		     &len) < 0 ||
	    connect(s->fd[0], (struct sockaddr *)&from, len))
		bench_die("no request: %s", strerror(errno));
}

static void bs_rr_server(struct bench *b, struct bench_pass *pass)
{
	struct bs *s = b->priv;
	uint32_t i;

	if (b->par.kind == BENCH_UDP && !s->seq)
		bs_meet_udp(s);
	for (i = 0; i < pass->count; i++) {
		bs_get(b, s, pass->full);
		bs_put(b, s, pass->full);
		s->seq++;
	}
}

/* --- streams -------------------------------------------------------------- */

static void bs_stream_send(struct bs *s, unsigned int flow, uint32_t chunks, bool full)
{
	uint64_t pos = s->pos[flow];
	char end;

	for (; chunks; chunks--, pos += BENCH_CHUNK) {
		bench_fill_at(s->buf, BENCH_CHUNK, pos, full);
		bench_write(s->fd[flow], s->buf, BENCH_CHUNK);
	}
	/* The other side has it all. */
	bench_read(s->fd[flow], &end, 1);
}

static void bs_stream_receive(struct bs *s, unsigned int flow, uint32_t chunks, bool full)
{
	uint64_t pos = s->pos[flow], end = pos + (uint64_t)chunks * BENCH_CHUNK;
	ssize_t n;

	for (; pos < end; pos += n) {
		n = recv(s->fd[flow], s->buf, 2 * BENCH_CHUNK, 0);
		if (n <= 0)
			bench_die("stream ends at %llu of %llu: %s",
				  (unsigned long long)pos,
				  (unsigned long long)end,
				  n ? strerror(errno) : "the peer gave up");
		bench_verify_at(s->buf, n, pos, full);
	}
	bench_write(s->fd[flow], "e", 1);
}

/*
 * The same as iperf3 -Z --skip-rx-copy has it: the file's pages go to the
 * device, and what arrives is thrown away where it is, but for the pass that
 * checks it.
 */
static void bs_file_send(struct bs *s, unsigned int flow, uint32_t chunks, bool full)
{
	uint64_t pos = s->pos[flow], end = pos + (uint64_t)chunks * BENCH_CHUNK;
	off_t off;
	ssize_t n;
	char c;

	(void)full;
	for (; pos < end; pos += n) {
		off = pos % SOCK_FILE_SIZE;
		n = SOCK_FILE_SIZE - off;
		if ((uint64_t)n > end - pos)
			n = end - pos;
		n = sendfile(s->fd[flow], s->file, &off, n);
		if (n <= 0)
			bench_die("sendfile: %s", strerror(errno));
	}
	bench_read(s->fd[flow], &c, 1);
}

static void bs_file_receive(struct bs *s, unsigned int flow, uint32_t chunks, bool full)
{
	uint64_t pos = s->pos[flow], end = pos + (uint64_t)chunks * BENCH_CHUNK;
	size_t len;
	ssize_t n;

	for (; pos < end; pos += n) {
		len = SOCK_FILE_SIZE - pos % SOCK_FILE_SIZE;
		if (full && len > 2 * BENCH_CHUNK)
			len = 2 * BENCH_CHUNK;
		if (len > end - pos)
			len = end - pos;
		n = recv(s->fd[flow], s->buf, len,
			 MSG_WAITALL | (full ? 0 : MSG_TRUNC));
		if (n <= 0)
			bench_die("stream ends at %llu of %llu: %s",
				  (unsigned long long)pos,
				  (unsigned long long)end,
				  n ? strerror(errno) : "the peer gave up");
		if (full)
			bench_verify_at(s->buf, n, pos % SOCK_FILE_SIZE, true);
	}
	bench_write(s->fd[flow], "e", 1);
}

/* One process for each connection; the first is this one. */
static void bs_stream(struct bench *b, struct bench_pass *pass,
		      void (*move)(struct bs *s, unsigned int flow, uint32_t chunks, bool full))
{
	unsigned int flows = b->par.flows, i;
	uint32_t chunks = pass->count / flows;
	struct bs *s = b->priv;
	int status;

	for (i = 1; i < flows; i++) {
		switch (fork()) {
		case -1:
			bench_die("fork: %s", strerror(errno));
		case 0:
			move(s, i, chunks, pass->full);
			_exit(0);
		}
	}
	move(s, 0, chunks, pass->full);
	for (i = 1; i < flows; i++)
		if (wait(&status) < 0 || status)
			bench_die("a stream failed");
	for (i = 0; i < flows; i++)
		s->pos[i] += (uint64_t)chunks * BENCH_CHUNK;
}

static void bs_client(struct bench *b, struct bench_pass *pass)
{
	if (b->par.kind == BENCH_SENDFILE)
		bs_stream(b, pass, bs_file_send);
	else if (b->par.stream)
		bs_stream(b, pass, bs_stream_send);
	else
		bs_rr_client(b, pass);
}

static void bs_server(struct bench *b, struct bench_pass *pass)
{
	if (b->par.kind == BENCH_SENDFILE)
		bs_stream(b, pass, bs_file_receive);
	else if (b->par.stream)
		bs_stream(b, pass, bs_stream_receive);
	else if (b->par.kind != BENCH_PING)
		bs_rr_server(b, pass);
}

const struct bench_ops bench_sock_ops = {
	.setup = bs_setup,
	.client = bs_client,
	.server = bs_server,
};
