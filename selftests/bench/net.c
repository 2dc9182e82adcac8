// SPDX-License-Identifier: GPL-2.0
/* Sockets, for the two sides to meet and for the socket workloads. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "bench.h"

static void bench_sock_setup(int fd, int type)
{
	struct timeval tv = { .tv_sec = BENCH_TIMEOUT };
	int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (type == SOCK_STREAM)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* A socket on @port, listening if it is a TCP socket. */
int bench_listen(int type, int port)
{
	struct sockaddr_in any = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	int fd = socket(AF_INET, type, 0), one = 1;

	if (fd < 0)
		bench_die("socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)) ||
	    (type == SOCK_STREAM && listen(fd, BENCH_MAX_FLOWS)))
		bench_die("port %d: %s", port, strerror(errno));
	bench_sock_setup(fd, SOCK_DGRAM);
	return fd;
}

int bench_accept(int listener)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		bench_die("accept: %s", strerror(errno));
	bench_sock_setup(fd, SOCK_STREAM);
	return fd;
}

int bench_connect(const char *host, int type, int port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	int fd = socket(AF_INET, type, type == SOCK_RAW ? IPPROTO_ICMP : 0);

	if (fd < 0)
		bench_die("socket: %s", strerror(errno));
	if (inet_pton(AF_INET, host, &to.sin_addr) != 1)
		bench_die("not an IPv4 address: %s", host);
	bench_sock_setup(fd, type);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		bench_die("connect to %s: %s", host, strerror(errno));
	return fd;
}

void bench_write(int fd, const void *buf, size_t len)
{
	ssize_t n;

	for (; len; len -= n, buf = (const char *)buf + n) {
		n = write(fd, buf, len);
		if (n <= 0)
			bench_die("write: %s", strerror(errno));
	}
}

void bench_read(int fd, void *buf, size_t len)
{
	ssize_t n;

	for (; len; len -= n, buf = (char *)buf + n) {
		n = read(fd, buf, len);
		if (!n)
			bench_die("the peer gave up");
		if (n < 0)
			bench_die("read: %s", strerror(errno));
	}
}

/* Both sides have come here. */
void bench_barrier(struct bench *b)
{
	char mine = 'b', theirs;

	bench_write(b->sock, &mine, 1);
	bench_read(b->sock, &theirs, 1);
	if (theirs != mine)
		bench_die("the sides are out of step");
}
