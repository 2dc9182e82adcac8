// SPDX-License-Identifier: GPL-2.0
/*
 * usb4emu-ctl: send one command to an emulator, print its reply.
 *
 * The emulator is behind a unix socket or a character device (a virtio port,
 * /dev/usb4emu). Exit status: 0 ok, 1 the emulator reported an error, 2 usage
 * or no connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CTL_TIMEOUT_MS	10000
#define CTL_POLL_MS	100

static int ctl_connect(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || strlen(path) >= sizeof(sa.sun_path))
		return -1;
	memcpy(sa.sun_path, path, strlen(path));
	return connect(fd, (struct sockaddr *)&sa, sizeof(sa)) ? -1 : fd;
}

static int ctl_open(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -1;
	return S_ISSOCK(st.st_mode) ? ctl_connect(path) : open(path, O_RDWR | O_NONBLOCK);
}

/*
 * A virtio port may have nobody at its other end, for a moment after a resume
 * or for ever. It says so with POLLHUP and takes nothing.
 */
static bool ctl_wait(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int ms;

	for (ms = 0; ms < CTL_TIMEOUT_MS; ms += CTL_POLL_MS) {
		if (poll(&pfd, 1, CTL_POLL_MS) != 1)
			continue;
		if (pfd.revents & events)
			return true;
		usleep(CTL_POLL_MS * 1000);
	}
	fprintf(stderr, "usb4emu-ctl: no answer\n");
	return false;
}

static bool ctl_write(int fd, const char *buf, size_t len)
{
	ssize_t ret;

	while (len) {
		if (!ctl_wait(fd, POLLOUT))
			return false;
		ret = write(fd, buf, len);
		if (ret < 0 && errno == EAGAIN) {
			usleep(CTL_POLL_MS * 1000);
			continue;
		}
		if (ret <= 0) {
			perror("usb4emu-ctl: write");
			return false;
		}
		buf += ret;
		len -= ret;
	}
	return true;
}

static bool ctl_send(int fd, int argc, char **argv)
{
	char line[256] = "";
	size_t len = 0;
	int i;

	for (i = 0; i < argc; i++) {
		if (len + strlen(argv[i]) + 2 > sizeof(line)) {
			fprintf(stderr, "usb4emu-ctl: command too long\n");
			return false;
		}
		len += sprintf(line + len, "%s%s", i ? " " : "", argv[i]);
	}
	line[len++] = '\n';
	return ctl_write(fd, line, len);
}

/* Returns the exit status if this is the reply's last line, else -1. */
static int ctl_line(const char *line)
{
	if (!strcmp(line, "ok"))
		return 0;
	if (!strncmp(line, "error:", 6)) {
		fprintf(stderr, "%s\n", line);
		return 1;
	}
	printf("%s\n", line);
	return -1;
}

static int ctl_receive(int fd)
{
	char buf[1024], line[512];
	size_t len = 0;
	ssize_t ret, i;
	int status;

	for (;;) {
		if (!ctl_wait(fd, POLLIN))
			return 2;
		ret = read(fd, buf, sizeof(buf));
		if (ret < 0 && errno == EAGAIN)
			continue;
		if (ret <= 0) {
			fprintf(stderr, "usb4emu-ctl: connection lost\n");
			return 2;
		}
		for (i = 0; i < ret; i++) {
			if (buf[i] != '\n') {
				if (len < sizeof(line) - 1)
					line[len++] = buf[i];
				continue;
			}
			line[len] = '\0';
			len = 0;
			status = ctl_line(line);
			if (status >= 0)
				return status;
		}
	}
}

int main(int argc, char **argv)
{
	const char *path = getenv("USB4EMU_CTL");
	int fd;

	if (argc > 2 && !strcmp(argv[1], "-s")) {
		path = argv[2];
		argc -= 2;
		argv += 2;
	}
	if (!path || argc < 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: usb4emu-ctl [-s SOCKET|DEVICE] COMMAND...\n"
			"Without -s the environment variable USB4EMU_CTL names it.\n"
			"\"help\" lists the commands.\n");
		return 2;
	}
	fd = ctl_open(path);
	if (fd < 0) {
		fprintf(stderr, "usb4emu-ctl: %s: %s\n", path, strerror(errno));
		return 2;
	}
	if (!ctl_send(fd, argc - 1, argv + 1))
		return 2;
	return ctl_receive(fd);
}
