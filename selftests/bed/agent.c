// SPDX-License-Identifier: GPL-2.0
/*
 * Runs commands on the other guest of the pair topology.
 *
 *	bed-agent serve ADDRESS		on host B
 *	bed-agent run CMD...		on host A, peer in $USB4NET_PEER
 *
 * The connection lives in the network namespace "mgmt", on a LAN of its own,
 * so that it touches no counter of the namespace under test. The commands run
 * in the initial one. Output, errors, input and exit status pass through; a
 * client that goes away takes its command with it.
 *
 * The client sends the length of the argument vector (4 bytes, big endian)
 * and the NUL-terminated arguments. After that both sides send records: type
 * (1 byte), length (4 bytes, big endian), data.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGENT_PORT	5140
#define AGENT_ARGV_MAX	(1 << 20)
#define AGENT_CHUNK	16384

enum agent_type {
	AGENT_STDIN	= 'i',
	AGENT_EOF	= 'e',
	AGENT_STDOUT	= 'o',
	AGENT_STDERR	= 'r',
	AGENT_EXIT	= 'x',
};

static void die(const char *what)
{
	fprintf(stderr, "bed-agent: %s: %s\n", what, strerror(errno));
	exit(255);
}

static int write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

static int read_all(int fd, void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

static int send_record(int fd, enum agent_type type, const void *data,
		       uint32_t len)
{
	char buf[5 + AGENT_CHUNK];
	uint32_t be = htonl(len);

	buf[0] = type;
	memcpy(buf + 1, &be, 4);
	if (len)
		memcpy(buf + 5, data, len);
	return write_all(fd, buf, 5 + len);
}

static int read_record(int fd, char *type, char *buf, uint32_t *len)
{
	char head[5];

	if (read_all(fd, head, sizeof(head)))
		return -1;
	*type = head[0];
	memcpy(len, head + 1, 4);
	*len = ntohl(*len);
	if (*len > AGENT_CHUNK) {
		errno = EPROTO;
		return -1;
	}
	return read_all(fd, buf, *len);
}

/* A TCP socket of the management namespace; we stay in our own. */
static int mgmt_socket(void)
{
	int self = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int mgmt = open("/run/netns/mgmt", O_RDONLY | O_CLOEXEC);
	int one = 1, fd;

	if (self < 0 || mgmt < 0)
		die("namespace mgmt");
	if (setns(mgmt, CLONE_NEWNET))
		die("setns");
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die("socket");
	if (setns(self, CLONE_NEWNET))
		die("setns");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(self);
	close(mgmt);
	return fd;
}

static struct sockaddr_in mgmt_address(const char *text)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons(AGENT_PORT),
	};

	if (!text || inet_pton(AF_INET, text, &sa.sin_addr) != 1) {
		errno = EINVAL;
		die("address");
	}
	return sa;
}

/* --- server ------------------------------------------------------------ */

struct command {
	int conn, in, out, err, pidfd;
	pid_t pid;
	char pending[AGENT_CHUNK];	/* input the command has not read yet */
	uint32_t pending_len, pending_pos;
};

static char **read_argv(int conn)
{
	uint32_t len, n = 0, i;
	char *buf, **argv;

	if (read_all(conn, &len, sizeof(len)))
		return NULL;
	len = ntohl(len);
	if (!len || len > AGENT_ARGV_MAX)
		return NULL;
	buf = malloc(len);
	if (!buf || read_all(conn, buf, len) || buf[len - 1])
		return NULL;
	for (i = 0; i < len; i++)
		n += !buf[i];
	argv = calloc(n + 1, sizeof(*argv));
	if (!argv)
		return NULL;
	for (i = 0; i < n; i++) {
		argv[i] = buf;
		buf += strlen(buf) + 1;
	}
	return argv;
}

static void start_command(struct command *c, char **argv)
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ||
	    pipe2(err, O_CLOEXEC))
		die("pipe");
	c->pid = fork();
	if (c->pid < 0)
		die("fork");
	if (!c->pid) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		signal(SIGPIPE, SIG_DFL);
		execvp(argv[0], argv);
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	c->in = in[1];
	c->out = out[0];
	c->err = err[0];
	fcntl(c->in, F_SETFL, O_NONBLOCK);
	fcntl(c->out, F_SETFL, O_NONBLOCK);
	fcntl(c->err, F_SETFL, O_NONBLOCK);
	c->pidfd = syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		die("pidfd_open");
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Pass on what is there, until nothing is left for now. */
static int pass_output(struct command *c, int *fd, enum agent_type type)
{
	char buf[AGENT_CHUNK];
	ssize_t n;

	while (*fd >= 0) {
		n = read(*fd, buf, sizeof(buf));
		if (n > 0) {
			if (send_record(c->conn, type, buf, n))
				return -1;
			continue;
		}
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		close_fd(fd);
	}
	return 0;
}

static void pass_input(struct command *c)
{
	ssize_t n = write(c->in, c->pending + c->pending_pos,
			  c->pending_len - c->pending_pos);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		close_fd(&c->in);	/* it does not read any more */
	else
		c->pending_pos += n;
	if (n < 0 || c->pending_pos == c->pending_len) {
		c->pending_len = 0;
		c->pending_pos = 0;
	}
}

static int take_input(struct command *c)
{
	char type;

	if (read_record(c->conn, &type, c->pending, &c->pending_len))
		return -1;
	c->pending_pos = 0;
	if (type == AGENT_EOF)
		close_fd(&c->in);
	if (type != AGENT_STDIN || c->in < 0)
		c->pending_len = 0;
	return 0;
}

static void finish_command(struct command *c)
{
	uint32_t code;
	int status;

	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	code = WIFEXITED(status) ? WEXITSTATUS(status) :
		128 + WTERMSIG(status);
	code = htonl(code);
	if (!pass_output(c, &c->out, AGENT_STDOUT) &&
	    !pass_output(c, &c->err, AGENT_STDERR))
		send_record(c->conn, AGENT_EXIT, &code, sizeof(code));
}

static void serve_connection(int conn)
{
	struct command c = { .conn = conn };
	char **argv = read_argv(conn);

	if (!argv)
		return;
	start_command(&c, argv);
	while (true) {
		struct pollfd p[] = {
			{ .fd = c.conn, .events = c.pending_len ? POLLRDHUP :
						  POLLIN | POLLRDHUP },
			{ .fd = c.out, .events = POLLIN },
			{ .fd = c.err, .events = POLLIN },
			{ .fd = c.pidfd, .events = POLLIN },
			{ .fd = c.pending_len ? c.in : -1, .events = POLLOUT },
		};

		if (poll(p, 5, -1) < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		if (p[4].revents)
			pass_input(&c);
		if (p[1].revents && pass_output(&c, &c.out, AGENT_STDOUT))
			break;
		if (p[2].revents && pass_output(&c, &c.err, AGENT_STDERR))
			break;
		if (p[3].revents) {
			finish_command(&c);
			return;
		}
		if (p[0].revents & (POLLHUP | POLLERR | POLLRDHUP))
			break;
		if ((p[0].revents & POLLIN) && take_input(&c))
			break;
	}
	/* The client is gone: so goes its command. */
	kill(-c.pid, SIGTERM);
	usleep(300000);
	kill(-c.pid, SIGKILL);
}

static int serve(const char *address)
{
	struct sockaddr_in sa = mgmt_address(address);
	int fd = mgmt_socket();

	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) || listen(fd, 64))
		die("listen");
	while (true) {
		int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (conn < 0)
			continue;
		if (!fork()) {
			close(fd);
			signal(SIGCHLD, SIG_DFL);
			serve_connection(conn);
			_exit(0);
		}
		close(conn);
	}
}

/* --- client ------------------------------------------------------------ */

static void send_argv(int conn, char **argv)
{
	uint32_t len = 0;
	char *buf, *p;
	int i;

	for (i = 0; argv[i]; i++)
		len += strlen(argv[i]) + 1;
	buf = malloc(len + 4);
	if (!buf)
		die("malloc");
	p = buf + 4;
	for (i = 0; argv[i]; i++)
		p = stpcpy(p, argv[i]) + 1;
	i = htonl(len);
	memcpy(buf, &i, 4);
	if (write_all(conn, buf, len + 4))
		die("send");
	free(buf);
}

static int run(char **argv)
{
	struct sockaddr_in sa = mgmt_address(getenv("USB4NET_PEER"));
	int conn = mgmt_socket(), in = 0;
	char buf[AGENT_CHUNK], type;
	uint32_t len;

	signal(SIGPIPE, SIG_IGN);
	if (connect(conn, (struct sockaddr *)&sa, sizeof(sa)))
		die("connect");
	send_argv(conn, argv);
	while (true) {
		struct pollfd p[] = {
			{ .fd = conn, .events = POLLIN },
			{ .fd = in, .events = POLLIN },
		};

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents) {
			ssize_t n = read(0, buf, sizeof(buf));

			if (n > 0) {
				send_record(conn, AGENT_STDIN, buf, n);
			} else {
				send_record(conn, AGENT_EOF, NULL, 0);
				in = -1;
			}
		}
		if (!p[0].revents)
			continue;
		if (read_record(conn, &type, buf, &len))
			die("connection lost");
		if (type == AGENT_EXIT && len == 4) {
			memcpy(&len, buf, 4);
			return ntohl(len);
		}
		if (type == AGENT_STDOUT || type == AGENT_STDERR)
			write_all(type == AGENT_STDOUT ? 1 : 2, buf, len);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc >= 3 && !strcmp(argv[1], "run"))
		return run(argv + 2);
	fprintf(stderr, "usage: bed-agent serve ADDRESS | run CMD...\n");
	return 2;
}
