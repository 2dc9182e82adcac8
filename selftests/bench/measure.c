// SPDX-License-Identifier: GPL-2.0
/*
 * Reading clocks and counters. Nothing here happens between the two readings
 * of the clock: what is slow comes before the first and after the second.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/* Acknowledgements, credits and completions of the last messages come late. */
#define SETTLE_US	60000
#define TRIGGER		"/sys/kernel/tracing/events/workqueue/workqueue_execute_start/"

uint64_t bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Context switches of the machine. */
static uint64_t bench_switches(void)
{
	FILE *f = fopen("/proc/stat", "r");
	unsigned long long v = 0;
	char line[4096];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "ctxt %llu", &v) == 1)
			break;
	if (!v)
		bench_die("no context switches in /proc/stat");
	fclose(f);
	return v;
}

static void bench_count_line(struct bench_counts *c, const char *line)
{
	unsigned long long v;
	unsigned int r, hop;
	char key[64];

	if (sscanf(line, "um.own_ns %llu", &v) == 1)
		c->own_ns = v;
	if (sscanf(line, "%u.%63s %llu", &r, key, &v) != 3 || r > 1)
		return;
	if (!strcmp(key, "mmio_reads"))
		c->dev[r].mmio_reads = v;
	else if (!strcmp(key, "mmio_writes"))
		c->dev[r].mmio_writes = v;
	else if (!strcmp(key, "msis"))
		c->dev[r].msis = v;
	/* hop 0 is the control channel */
	else if (sscanf(key, "%*[rt]x%u.", &hop) == 1 && hop &&
		 !strcmp(strchr(key, '.'), ".frames"))
		c->dev[r].frames += v;
}

/* BENCH_STATS is the command that prints the emulator's statistics. */
static void bench_devices(struct bench_counts *c)
{
	const char *cmd = getenv("BENCH_STATS");
	char line[256];
	FILE *f;

	memset(c->dev, 0, sizeof(c->dev));
	c->own_ns = 0;
	if (!cmd)
		return;
	f = popen(cmd, "r");
	while (f && fgets(line, sizeof(line), f))
		bench_count_line(c, line);
	if (!f || pclose(f))
		bench_die("cannot read the emulator's statistics");
}

void bench_begin(struct bench_counts *c)
{
	usleep(SETTLE_US);
	bench_devices(c);
	usleep(SETTLE_US);
	c->switches = bench_switches();
	c->ns = bench_now();
}

void bench_end(struct bench_counts *c)
{
	c->ns = bench_now();
	c->switches = bench_switches();
	usleep(SETTLE_US);
	bench_devices(c);
}

static int bench_cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t bench_median(uint64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), bench_cmp);
	return v[n / 2];
}

static void bench_trigger(const char *text)
{
	int fd = open(TRIGGER "trigger", O_WRONLY | O_TRUNC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		bench_die("cannot count work items: %s", strerror(errno));
	close(fd);
}

/*
 * Work items are counted by a histogram trigger on the tracepoint, in a pass
 * of its own, since counting takes instructions, too.
 */
void bench_work_begin(void)
{
	bench_trigger("hist:keys=function.sym");
}

uint64_t bench_work_end(void)
{
	FILE *f = fopen(TRIGGER "hist", "r");
	unsigned long long hits = 0;
	char line[512];
	bool found = false;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " Hits: %llu", &hits) == 1)
			found = true;
		else if (strchr(line, '{'))
			fprintf(stderr, "work %s", line);
	}
	if (f)
		fclose(f);
	if (!found)
		bench_die("no histogram of work items");
	bench_trigger("!hist:keys=function.sym");
	return hits;
}
