// SPDX-License-Identifier: GPL-2.0
/*
 * vfio-user over a stream socket. Descriptors come with the first bytes of
 * their message, so no read ever crosses a message's end.
 */
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"

#define CLIENT_BURST	64	/* messages before another source has its turn */

static void client_drop_fds(struct client *c)
{
	while (c->msg.nr_fds)
		close(c->msg.fds[--c->msg.nr_fds]);
}

static void client_close(struct server *s, struct client *c)
{
	if (c->conn.fd < 0)
		return;
	server_unwatch(s, &c->conn);
	client_drop_fds(c);
	c->have = 0;
	vfu_disconnect(&c->dev);
	server_watch(s, &c->listen, EPOLLIN);
}

static void client_take_fds(struct client *c, struct msghdr *m)
{
	struct cmsghdr *cm;
	int fd;

	for (cm = CMSG_FIRSTHDR(m); cm; cm = CMSG_NXTHDR(m, cm)) {
		u32 n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(fd), i;

		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(cm) + i * sizeof(fd), sizeof(fd));
			if (c->msg.nr_fds < VFU_MAX_FDS)
				c->msg.fds[c->msg.nr_fds++] = fd;
			else
				close(fd);
		}
	}
}

/* Returns what recvmsg() does. */
static ssize_t client_read(struct client *c, void *buf, size_t len)
{
	char space[CMSG_SPACE(VFU_MAX_FDS * sizeof(int))];
	struct iovec iov = { buf, len };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	ssize_t ret = recvmsg(c->conn.fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (ret >= 0)
		client_take_fds(c, &m);
	return ret;
}

/* Reads on towards the end of the message; returns false if it must wait. */
static bool client_receive(struct server *s, struct client *c, bool *complete)
{
	struct vfu_header *hdr = &c->msg.hdr;
	ssize_t ret;

	*complete = false;
	if (c->have < sizeof(*hdr))
		ret = client_read(c, (u8 *)hdr + c->have, sizeof(*hdr) - c->have);
	else
		ret = client_read(c, c->body + c->have - sizeof(*hdr), hdr->size - c->have);
	if (ret <= 0) {
		if (!ret || (errno != EAGAIN && errno != EINTR))
			client_close(s, c);
		return false;
	}
	c->have += ret;
	if (c->have < sizeof(*hdr))
		return true;
	if (!vfu_header_valid(hdr)) {
		fprintf(stderr, "usb4emu: router %u: bad vfio-user header, client dropped\n",
			c->dev.nr);
		client_close(s, c);
		return false;
	}
	*complete = c->have == hdr->size;
	return true;
}

/*
 * Replies are small and the client waits for each: a socket that cannot take
 * one belongs to a client that does not read.
 */
static bool client_answer(struct server *s, struct client *c)
{
	u32 len;

	c->msg.body = c->body;
	c->msg.len = c->msg.hdr.size - sizeof(c->msg.hdr);
	len = vfu_handle(&c->dev, &c->msg, &s->reply);
	c->msg.nr_fds = 0;
	c->have = 0;
	if (!len || send(c->conn.fd, &s->reply, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len)
		return true;
	client_close(s, c);
	return false;
}

static void client_ready(struct server *s, struct source *src, u32 events)
{
	struct client *c = (struct client *)((char *)src - offsetof(struct client, conn));
	bool complete;
	u32 n = 0;

	while (n < CLIENT_BURST && client_receive(s, c, &complete)) {
		if (!complete)
			continue;
		n++;
		if (!client_answer(s, c))
			return;
	}
}

static void client_accept(struct server *s, struct source *src, u32 events)
{
	struct client *c = (struct client *)((char *)src - offsetof(struct client, listen));
	int fd = accept4(src->fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	c->conn.fd = fd;
	c->conn.ready = client_ready;
	if (server_watch(s, &c->conn, EPOLLIN)) {
		close(fd);
		c->conn.fd = -1;
		return;
	}
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->listen.fd, NULL);
	emu_attach(s->e, c->dev.nr);
}

int client_start(struct server *s, struct client *c, u32 nr, const char *path, bool single_msi)
{
	vfu_init(&c->dev, nr, single_msi);
	c->dev.e = s->e;
	c->conn.fd = -1;
	c->path = path;
	c->listen.ready = client_accept;
	emu_detach(s->e, nr);
	return server_listen(s, &c->listen, path, SOCK_STREAM);
}

void client_stop(struct server *s, struct client *c)
{
	client_close(s, c);
	if (c->listen.fd < 0)
		return;
	server_unwatch(s, &c->listen);
	unlink(c->path);
}
