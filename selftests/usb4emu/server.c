// SPDX-License-Identifier: GPL-2.0
/*
 * One thread, one event loop; the core's callbacks for it.
 */
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "server.h"

#define SERVER_EVENTS	16
#define SERVER_BACKLOG	8
#define NS_PER_S	1000000000ULL

/* The core's callbacks */

static void *server_dma(void *priv, u32 r, u64 addr, size_t *len, bool write)
{
	struct server *s = priv;

	return vfu_dma(&s->clients[r].dev, addr, len, write);
}

static bool server_irq(void *priv, u32 r, u32 vec)
{
	struct server *s = priv;

	return vfu_irq(&s->clients[r].dev, vec);
}

static u64 server_now(void *priv)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static void server_log(void *priv, enum emu_log_level level, const char *line)
{
	u64 now = server_now(priv);

	fprintf(stderr, "[%5llu.%06llu] %s\n", now / NS_PER_S, now % NS_PER_S / 1000, line);
}

static int server_capture_open(void *priv, const char *path)
{
	struct server *s = priv;

	s->capture = fopen(path, "we");
	return s->capture ? 0 : -errno;
}

static bool server_capture_write(void *priv, const void *buf, size_t len)
{
	struct server *s = priv;

	return fwrite(buf, 1, len, s->capture) == len && !ferror(s->capture);
}

static void server_capture_close(void *priv)
{
	struct server *s = priv;

	fclose(s->capture);
	s->capture = NULL;
}

static const struct emu_ops server_ops = {
	.dma		= server_dma,
	.irq		= server_irq,
	.now		= server_now,
	.log		= server_log,
	.capture_open	= server_capture_open,
	.capture_write	= server_capture_write,
	.capture_close	= server_capture_close,
};

/* Sources */

int server_watch(struct server *s, struct source *src, u32 events)
{
	struct epoll_event ev = { .events = events, .data.ptr = src };

	if (!epoll_ctl(s->epoll, EPOLL_CTL_MOD, src->fd, &ev))
		return 0;
	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, src->fd, &ev);
}

void server_unwatch(struct server *s, struct source *src)
{
	close(src->fd);		/* leaves the epoll set */
	src->fd = -1;
}

/* Remove a socket nobody listens on any more, leave one that is in use. */
static bool server_stale(const struct sockaddr_un *sa, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	bool stale;

	if (fd < 0)
		return false;
	stale = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) && errno == ECONNREFUSED;
	close(fd);
	return stale;
}

int server_listen(struct server *s, struct source *src, const char *path, int type)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	src->fd = -1;
	if (fd < 0)
		return -1;
	if (strlen(path) >= sizeof(sa.sun_path)) {
		errno = ENAMETOOLONG;
		goto fail;
	}
	memcpy(sa.sun_path, path, strlen(path));
	if (server_stale(&sa, type))
		unlink(path);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) || listen(fd, SERVER_BACKLOG))
		goto fail;
	src->fd = fd;
	return server_watch(s, src, EPOLLIN);

fail:
	close(fd);
	return -1;
}

static void server_signal(struct server *s, struct source *src, u32 events)
{
	s->quit = true;
}

static int server_catch_signals(struct server *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -1;
	signal(SIGPIPE, SIG_IGN);
	s->signals.fd = signalfd(-1, &set, SFD_CLOEXEC);
	s->signals.ready = server_signal;
	return s->signals.fd < 0 ? -1 : server_watch(s, &s->signals, EPOLLIN);
}

int server_start(struct server *s, const struct emu_config *cfg, char **paths, const char *control)
{
	u32 i;

	s->control_listen.fd = -1;
	s->signals.fd = -1;
	for (i = 0; i < SERVER_MAX_CONTROL; i++)
		s->control[i].conn.fd = -1;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->clients = calloc(cfg->nr_routers, sizeof(*s->clients));
	s->e = s->clients ? emu_new(cfg, &server_ops, s) : NULL;
	if (s->epoll < 0 || !s->e || server_catch_signals(s)) {
		perror("usb4emu");
		return -1;
	}
	for (i = 0; i < cfg->nr_routers - cfg->stranger; i++, s->nr_clients++) {
		if (!client_start(s, &s->clients[i], i, paths[i], cfg->single_msi))
			continue;
		fprintf(stderr, "usb4emu: %s: %s\n", paths[i], strerror(errno));
		return -1;
	}
	if (control && control_start(s, control)) {
		fprintf(stderr, "usb4emu: %s: %s\n", control, strerror(errno));
		return -1;
	}
	return 0;
}

static const struct timespec *server_timeout(struct server *s, struct timespec *ts)
{
	u64 deadline = emu_deadline(s->e), now;

	if (deadline == EMU_NEVER)
		return NULL;
	now = server_now(s);
	deadline = deadline > now ? deadline - now : 0;
	ts->tv_sec = deadline / NS_PER_S;
	ts->tv_nsec = deadline % NS_PER_S;
	return ts;
}

void server_run(struct server *s)
{
	struct epoll_event events[SERVER_EVENTS];
	struct timespec ts;
	int n, i;

	while (!s->quit) {
		if (s->capture)
			fflush(s->capture);
		n = epoll_pwait2(s->epoll, events, SERVER_EVENTS, server_timeout(s, &ts), NULL);
		for (i = 0; i < n; i++) {
			struct source *src = events[i].data.ptr;

			if (src->fd >= 0)
				src->ready(s, src, events[i].events);
		}
		if (emu_deadline(s->e) != EMU_NEVER && server_now(s) >= emu_deadline(s->e))
			emu_run_timers(s->e);
	}
}

void server_stop(struct server *s)
{
	u32 i;

	control_stop(s);
	for (i = 0; i < s->nr_clients; i++)
		client_stop(s, &s->clients[i]);
	emu_free(s->e);
	free(s->clients);
	if (s->signals.fd >= 0)
		close(s->signals.fd);
	if (s->epoll >= 0)
		close(s->epoll);
}
