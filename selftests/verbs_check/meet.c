// SPDX-License-Identifier: GPL-2.0
/* The two sides meet over TCP. */
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs_check.h"

void vc_exchange(struct vc *vc, const void *out, void *in, size_t len)
{
	ssize_t n;
	size_t done;

	for (done = 0; out && done < len; done += n) {
		n = send(vc->sock, (const char *)out + done, len - done,
			 MSG_NOSIGNAL);
		if (n <= 0)
			vc_die(1, "lost the peer: %s", strerror(errno));
	}
	for (done = 0; in && done < len; done += n) {
		n = recv(vc->sock, (char *)in + done, len - done, 0);
		if (n == 0)
			vc_die(1, "the peer gave up");
		if (n < 0)
			vc_die(1, "no word from the peer: %s", strerror(errno));
	}
}

void vc_barrier(struct vc *vc, uint32_t what)
{
	uint32_t mine = vc->round << 8 | what;
	uint32_t theirs;

	vc_exchange(vc, &mine, &theirs, sizeof(mine));
	if (mine != theirs)
		vc_die(1, "sides are out of step: %x, peer %x", mine, theirs);
}

void vc_sock_timeout(struct vc *vc, unsigned int seconds)
{
	struct timeval tv = { .tv_sec = seconds };
	int one = 1;

	setsockopt(vc->sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(vc->sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	setsockopt(vc->sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void vc_connect(struct vc *vc)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai;
	char service[16];
	int ret;

	snprintf(service, sizeof(service), "%d", vc->port);
	ret = getaddrinfo(vc->host, service, &hints, &ai);
	if (ret)
		vc_die(2, "%s: %s", vc->host, gai_strerror(ret));
	vc->sock = socket(ai->ai_family, ai->ai_socktype, 0);
	if (vc->sock < 0 || connect(vc->sock, ai->ai_addr, ai->ai_addrlen))
		vc_die(2, "cannot connect to %s: %s", vc->host,
		       strerror(errno));
	freeaddrinfo(ai);
}

void vc_accept(struct vc *vc)
{
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(vc->port),
	};
	struct pollfd pfd = { .events = POLLIN };
	int one = 1;

	pfd.fd = socket(AF_INET6, SOCK_STREAM, 0);
	if (pfd.fd < 0)
		vc_die(2, "socket: %s", strerror(errno));
	setsockopt(pfd.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(pfd.fd, (struct sockaddr *)&any, sizeof(any)) ||
	    listen(pfd.fd, 1))
		vc_die(2, "cannot listen: %s", strerror(errno));
	if (poll(&pfd, 1, vc->par.timeout * 1000) != 1)
		vc_die(2, "no client within %u s", vc->par.timeout);
	vc->sock = accept(pfd.fd, NULL, NULL);
	if (vc->sock < 0)
		vc_die(2, "accept: %s", strerror(errno));
	close(pfd.fd);
}
