// SPDX-License-Identifier: GPL-2.0
/*
 * The floor: the same ping-pong and stream through thunderbolt_stream's
 * character devices, that is, through the bare rings. Both sides are processes
 * of one machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define RING_MAX	(1u << 20)

struct br {
	int fd;
	uint64_t seq;
	char *buf;
};

static void br_setup(struct bench *b)
{
	const char *dev = b->is_server ? b->dev2 : b->dev;
	struct br *r = bench_alloc(sizeof(*r));

	r->seq = 0;
	r->buf = bench_alloc(RING_MAX);
	r->fd = open(dev, O_RDWR);
	if (r->fd < 0)
		bench_die("%s: %s", dev, strerror(errno));
	b->priv = r;
}

static void br_put(struct bench *b, struct br *r, bool full)
{
	bench_fill(r->buf, b->par.size, r->seq, full);
	bench_write(r->fd, r->buf, b->par.size);
}

static void br_get(struct bench *b, struct br *r, bool full)
{
	bench_read(r->fd, r->buf, b->par.size);
	bench_verify(r->buf, b->par.size, r->seq, full);
}

static void br_client(struct bench *b, struct bench_pass *pass)
{
	uint64_t t, last = bench_now();
	struct br *r = b->priv;
	uint32_t i;
	char end;

	for (i = 0; i < pass->count; i++) {
		br_put(b, r, pass->full);
		if (!b->par.stream)
			br_get(b, r, pass->full);
		r->seq++;
		t = bench_now();
		if (pass->laps)
			pass->laps[i] = t - last;
		last = t;
	}
	if (b->par.stream)
		bench_read(b->sock, &end, 1);
}

static void br_server(struct bench *b, struct bench_pass *pass)
{
	struct br *r = b->priv;
	uint32_t i;

	for (i = 0; i < pass->count; i++) {
		br_get(b, r, pass->full);
		if (!b->par.stream)
			br_put(b, r, pass->full);
		r->seq++;
	}
	if (b->par.stream)
		bench_write(b->sock, "e", 1);
}

const struct bench_ops bench_ring_ops = {
	.setup = br_setup,
	.client = br_client,
	.server = br_server,
};
