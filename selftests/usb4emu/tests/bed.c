// SPDX-License-Identifier: GPL-2.0
/*
 * Starts and stops the emulator, talks to its control socket.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bed.h"

#define BED_TIMEOUT_MS	10000
#define BED_ARGS	32

struct host hosts[BED_MAX_HOSTS];

static char bed_path[32];
static pid_t bed_pid;
static int bed_ctl = -1;
static char bed_reply[1 << 18];

const char *bed_dir(void)
{
	return bed_path;
}

static void bed_exec(u32 nr_hosts, const char *args)
{
	static char words[512];
	char *argv[BED_ARGS] = { getenv("USB4EMU"), "-c", "ctl" };
	char *word;
	u32 n = 3, i;

	check(argv[0]);
	snprintf(words, sizeof(words), "%s", args ? args : "");
	for (word = strtok(words, " "); word && n < BED_ARGS - BED_MAX_HOSTS - 1;
	     word = strtok(NULL, " "))
		argv[n++] = word;
	for (i = 0; i < nr_hosts; i++)
		argv[n++] = hosts[i].path;
	if (chdir(bed_path) || !freopen("log", "w", stderr))
		_exit(126);
	execv(argv[0], argv);
	_exit(127);
}

static int bed_connect(const char *name)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/%s", bed_path, name);
	if (!connect(fd, (struct sockaddr *)&sa, sizeof(sa)))
		return fd;
	close(fd);
	return -1;
}

int bed_control_open(void)
{
	int i, fd = -1;

	for (i = 0; fd < 0 && i < BED_TIMEOUT_MS; i++) {
		fd = bed_connect("ctl");
		if (fd < 0)
			usleep(1000);
	}
	check(fd >= 0);
	return fd;
}

void bed_start(u32 nr_hosts, const char *args)
{
	u32 i;

	snprintf(bed_path, sizeof(bed_path), "/tmp/usb4emu-test.XXXXXX");
	check(mkdtemp(bed_path));
	for (i = 0; i < nr_hosts; i++) {
		memset(&hosts[i], 0, sizeof(hosts[i]));
		hosts[i].sock = -1;
		hosts[i].memfd = -1;
		snprintf(hosts[i].path, sizeof(hosts[i].path), "%s/s%u", bed_path, i);
		memset(hosts[i].irq, -1, sizeof(hosts[i].irq));
	}
	bed_pid = fork();
	check(bed_pid >= 0);
	if (!bed_pid)
		bed_exec(nr_hosts, args);
	bed_ctl = bed_control_open();
}

static void bed_remove(void)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", bed_path);
	if (system(cmd))
		printf("# cannot remove %s\n", bed_path);
	bed_path[0] = '\0';
}

/* The emulator must end cleanly: sanitizers report by its exit status. */
void bed_stop(void)
{
	char path[64];
	int status;
	u32 i;

	for (i = 0; i < BED_MAX_HOSTS; i++)
		host_disconnect(&hosts[i]);
	close(bed_ctl);
	kill(bed_pid, SIGTERM);
	check(waitpid(bed_pid, &status, 0) == bed_pid);
	check(WIFEXITED(status) && !WEXITSTATUS(status));
	snprintf(path, sizeof(path), "%s/ctl", bed_path);
	check(access(path, F_OK));	/* sockets are removed */
	bed_remove();
}

static FILE *bed_log(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/log", bed_path);
	return fopen(path, "r");
}

u32 bed_log_lines(void)
{
	FILE *f = bed_log();
	u32 lines = 0;
	int c;

	check(f);
	while ((c = getc(f)) != EOF)
		lines += c == '\n';
	fclose(f);
	return lines;
}

void tap_failed(void)
{
	char line[256];
	FILE *f;

	if (!bed_path[0])
		return;
	kill(bed_pid, SIGTERM);
	waitpid(bed_pid, NULL, 0);
	f = bed_log();
	while (f && fgets(line, sizeof(line), f))
		printf("#   %s", line);
	bed_remove();
}

/* The reply's last line is cut off and returned. */
static const char *bed_talk(const char *line)
{
	struct pollfd pfd = { .fd = bed_ctl, .events = POLLIN };
	size_t len = 0;
	ssize_t ret;
	char *last;

	check(write(bed_ctl, line, strlen(line)) == (ssize_t)strlen(line));
	check(write(bed_ctl, "\n", 1) == 1);
	for (;;) {
		check(poll(&pfd, 1, BED_TIMEOUT_MS) == 1);
		check(len < sizeof(bed_reply) - 1);
		ret = read(bed_ctl, bed_reply + len, sizeof(bed_reply) - 1 - len);
		check(ret > 0);
		len += ret;
		bed_reply[len] = '\0';
		if (bed_reply[len - 1] != '\n')
			continue;
		bed_reply[len - 1] = '\0';
		last = strrchr(bed_reply, '\n');
		last = last ? last + 1 : bed_reply;
		if (!strcmp(last, "ok") || !strncmp(last, "error: ", 7))
			break;
		bed_reply[len - 1] = '\n';
	}
	if (last != bed_reply) {
		last[-1] = '\0';
		return last;
	}
	last = strdup(bed_reply);	/* a line or two per test: left to exit */
	bed_reply[0] = '\0';
	return last;
}

/* Formats a command into @line and sends it; the reply's last line. */
static const char *bed_vcmd(char *line, size_t size, const char *fmt, va_list ap)
{
	vsnprintf(line, size, fmt, ap);
	return bed_talk(line);
}

const char *bed_cmd(const char *fmt, ...)
{
	const char *last;
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	last = bed_vcmd(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (strcmp(last, "ok"))
		tap_fail(__FILE__, __LINE__, "%s: %s", line, last);
	return bed_reply;
}

const char *bed_cmd_error(const char *fmt, ...)
{
	const char *last;
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	last = bed_vcmd(line, sizeof(line), fmt, ap);
	va_end(ap);
	return strcmp(last, "ok") ? last + 7 : NULL;
}

u64 bed_stat(const char *key)
{
	const char *p = bed_cmd("stats");
	size_t len = strlen(key);

	for (; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, key, len) && p[len] == ' ')
			return strtoull(p + len + 1, NULL, 10);
	}
	tap_fail(__FILE__, __LINE__, "no statistic %s", key);
}

void bed_wait_stat(const char *key, u64 at_least)
{
	int i;

	for (i = 0; i < BED_TIMEOUT_MS / 10; i++) {
		if (bed_stat(key) >= at_least)
			return;
		usleep(10000);
	}
	tap_fail(__FILE__, __LINE__, "%s stays below %llu", key, at_least);
}

/* Two cabled hosts */

void host_path(struct host *h, u32 adapter, u32 in_hop, u32 out_adapter, u32 out_hop, bool enable)
{
	u32 dw0 = out_hop | out_adapter << 11 | 14 << 17 | (enable ? HOP_ENABLE : 0);

	host_space_write(h, SPACE_HOPS, adapter, 2 * in_hop, dw0);
	host_space_write(h, SPACE_HOPS, adapter, 2 * in_hop + 1, 0x017ff501);
}

void bed_start_pair(const char *args, u32 rx_options)
{
	u32 i;

	bed_start(2, args);
	for (i = 0; i < 2; i++) {
		host_start(&hosts[i]);
		host_ctl_start(&hosts[i]);
		host_ring_start(&hosts[i], true, 1, NHI_OPT_ENABLE);
		host_write(&hosts[i], NHI_RX_OPTIONS + NHI_OPTIONS_STRIDE + 4, 0x00020004);
		host_ring_start(&hosts[i], false, 1, NHI_OPT_ENABLE | rx_options | 1 << 12);
		host_path(&hosts[i], 5, 1, 1, 8, true);
		host_path(&hosts[i], 1, 8, 5, 1, true);
	}
}
