// SPDX-License-Identifier: GPL-2.0
/*
 * Control socket: several clients, each sends lines and reads replies.
 */
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"

static void control_close(struct server *s, struct control *c)
{
	server_unwatch(s, &c->conn);
	free(c->reply);
	memset(c, 0, sizeof(*c));
	c->conn.fd = -1;
}

static void control_reply(void *arg, const char *text)
{
	struct control *c = arg;
	size_t len = strlen(text), size;
	char *buf;

	if (c->dead)
		return;
	if (c->reply_len + len > c->reply_size) {
		size = max(2 * c->reply_size, c->reply_len + len + 4096);
		buf = size <= CONTROL_MAX_REPLY ? realloc(c->reply, size) : NULL;
		if (!buf) {
			c->dead = true;	/* it does not read */
			return;
		}
		c->reply = buf;
		c->reply_size = size;
	}
	memcpy(c->reply + c->reply_len, text, len);
	c->reply_len += len;
}

static void control_send(struct control *c)
{
	ssize_t ret;

	if (c->dead || !c->reply_len)
		return;
	ret = send(c->conn.fd, c->reply, c->reply_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (ret < 0) {
		if (errno != EAGAIN && errno != EINTR)
			c->dead = true;
		return;
	}
	c->reply_len -= ret;
	memmove(c->reply, c->reply + ret, c->reply_len);
}

static void control_input(struct server *s, struct control *c, const char *buf, ssize_t len)
{
	ssize_t i;

	for (i = 0; i < len; i++) {
		if (buf[i] != '\n') {
			/* One too many makes the line too long for the core, too. */
			if (c->line_len < sizeof(c->line))
				c->line[c->line_len++] = buf[i] ? buf[i] : ' ';
			continue;
		}
		if (c->line_len == sizeof(c->line)) {
			control_reply(c, "error: line too long\n");
		} else {
			c->line[c->line_len] = '\0';
			emu_command(s->e, c->line, control_reply, c);
		}
		c->line_len = 0;
	}
}

static void control_ready(struct server *s, struct source *src, u32 events)
{
	struct control *c = (struct control *)((char *)src - offsetof(struct control, conn));
	char buf[1024];
	ssize_t ret = 0;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		ret = recv(c->conn.fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (!ret || (ret < 0 && errno != EAGAIN && errno != EINTR))
			c->dead = true;
		else
			control_input(s, c, buf, ret);
	}
	control_send(c);
	if (c->dead)
		control_close(s, c);
	else
		server_watch(s, &c->conn, EPOLLIN | (c->reply_len ? EPOLLOUT : 0));
}

static void control_accept(struct server *s, struct source *src, u32 events)
{
	int fd = accept4(src->fd, NULL, NULL, SOCK_CLOEXEC);
	u32 i;

	if (fd < 0)
		return;
	for (i = 0; i < SERVER_MAX_CONTROL; i++) {
		struct control *c = &s->control[i];

		if (c->conn.fd >= 0)
			continue;
		c->conn.fd = fd;
		c->conn.ready = control_ready;
		if (!server_watch(s, &c->conn, EPOLLIN))
			return;
		c->conn.fd = -1;
		break;
	}
	close(fd);
}

int control_start(struct server *s, const char *path)
{
	s->control_path = path;
	s->control_listen.ready = control_accept;
	return server_listen(s, &s->control_listen, path, SOCK_STREAM);
}

void control_stop(struct server *s)
{
	u32 i;

	for (i = 0; i < SERVER_MAX_CONTROL; i++)
		if (s->control[i].conn.fd >= 0)
			control_close(s, &s->control[i]);
	if (s->control_listen.fd < 0)
		return;
	server_unwatch(s, &s->control_listen);
	unlink(s->control_path);
}
