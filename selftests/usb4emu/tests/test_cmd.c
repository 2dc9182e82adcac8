// SPDX-License-Identifier: GPL-2.0
/*
 * Control socket and its client.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bed.h"

static void cmd_rejects(const char *error, const char *line)
{
	const char *got = bed_cmd_error("%s", line);

	if (!got || strcmp(got, error))
		tap_fail(__FILE__, __LINE__, "%s: %s, not %s", line, got ? got : "ok", error);
}

static void cmd_reports_errors(void)
{
	char line[400];
	u32 i;

	bed_start(2, NULL);
	cmd_rejects("unknown command, try help", "frobnicate");
	cmd_rejects("no command", "");
	cmd_rejects("no command", "   ");
	cmd_rejects("R.P R.P", "plug 0.1");
	for (i = 0; i < 33; i++)
		snprintf(line + 5 * i, sizeof(line) - 5 * i, "plug ");
	cmd_rejects("too many words", line);
	cmd_rejects("R.P R.P", "plug 0.1 1.1 1.1 1.1 1.1 1.1");
	cmd_rejects("no such port", "plug 0.2 1.1");
	cmd_rejects("no such port", "plug 0.5 1.1");
	cmd_rejects("no such port", "plug 2.1 1.1");
	cmd_rejects("no such port", "plug 0.1x 1.1");
	cmd_rejects("no such port", "plug 0.-1 1.1");
	cmd_rejects("no such port", "plug 99999999999999999999.1 1.1");
	cmd_rejects("port is cabled already", "plug 0.1 1.3");
	cmd_rejects("a cable has two ends", "plug 0.3 0.3");
	cmd_rejects("port is not cabled", "unplug 0.3");
	cmd_rejects("port is not cabled", "link 0.3 gen 3");
	cmd_rejects("want gen 3|4 or width 1|2", "link 0.1 gen 5");
	cmd_rejects("want gen 3|4 or width 1|2", "link 0.1 gen 2");
	cmd_rejects("want gen 3|4 or width 1|2", "link 0.1 gen 3 width");
	cmd_rejects("R.P [gen 3|4] [width 1|2]", "link 0.1 width");
	cmd_rejects("want gen 3|4 or width 1|2", "link 0.1 colour 3");
	cmd_rejects("no such router", "stats 2");
	cmd_rejects("no such router", "reset 2");
	cmd_rejects("no such router", "power 2 on");
	cmd_rejects("want on or off", "power 1 maybe");
	cmd_rejects("cannot write the capture file", "capture /nonexistent/x");
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	cmd_rejects("line too long", line);
	bed_cmd("status");
	bed_stop();
}

static void cmd_cables_any_ports(void)
{
	const char *status;

	bed_start(3, "-u");
	bed_cmd("plug 0.1 2.3");
	bed_cmd("plug 0.3 1.1");
	bed_cmd("plug 1.3 2.1");
	host_start(&hosts[0]);
	host_start(&hosts[2]);
	status = bed_cmd("status");
	check(strstr(status, "port 0.1 cabled 2.3 link up"));
	check(strstr(status, "port 2.3 cabled 0.1 link up"));
	check(strstr(status, "port 1.1 cabled 0.3 link down"));	/* host 1 is off */
	check(strstr(status, "router 1 detached"));
	bed_cmd("unplug 2.3");
	status = bed_cmd("status");
	check(strstr(status, "port 0.1 free") && strstr(status, "port 2.3 free"));
	check(strstr(bed_cmd("help"), "unplug R.P"));
	bed_stop();
}

static void cmd_limits_generation(void)
{
	bed_start(2, "-g 3");
	cmd_rejects("USB4 version 1 has no gen 4", "link 0.1 gen 4");
	bed_stop();
}

/* Clients do not wait for each other, and may come and go. */
static void cmd_serves_several_clients(void)
{
	int fd[12], i;
	char buf[64];

	bed_start(1, NULL);
	for (i = 0; i < 12; i++) {
		fd[i] = bed_control_open();
		check(write(fd[i], "verb", 4) == 4);
	}
	bed_cmd("status");
	for (i = 11; i >= 0; i -= 2) {
		check(write(fd[i], "ose 0\nverbose 1\n", 16) == 16);
		check(recv(fd[i], buf, 6, MSG_WAITALL) == 6);
		check(!memcmp(buf, "ok\nok\n", 6));
		close(fd[i]);
	}
	/* Gone with half a line, gone without reading */
	check(write(fd[0], "ose 0\nstats\nhelp\n", 17) == 17);
	for (i = 0; i < 12; i += 2)
		close(fd[i]);
	bed_cmd("verbose 0");
	bed_stop();
}

/* A client that never reads its replies is dropped, the others live on. */
static void cmd_drops_deaf_client(void)
{
	int fd, i, ret = 0;

	bed_start(4, NULL);
	fd = bed_control_open();
	for (i = 0; i < 100000 && ret >= 0; i++)
		ret = send(fd, "help\nhelp\nhelp\nhelp\n", 20, MSG_NOSIGNAL);
	check(ret < 0);
	bed_cmd("status");
	bed_stop();
}

/* The client: prints data to stdout, errors to stderr, and exits with 0, 1, 2. */
static int cmd_client(const char *args, char *out, size_t size)
{
	char line[512];
	size_t len;
	FILE *f;

	snprintf(line, sizeof(line), "%s %s 2>/dev/null", getenv("USB4EMU_CTL_BIN"), args);
	f = popen(line, "r");
	check(f);
	len = fread(out, 1, size - 1, f);
	out[len] = '\0';
	return WEXITSTATUS(pclose(f));
}

static void cmd_client_talks(void)
{
	char out[4096], args[128];

	bed_start(1, NULL);
	snprintf(args, sizeof(args), "-s %s/ctl status", bed_dir());
	check_eq(cmd_client(args, out, sizeof(out)), 0);
	check(!strncmp(out, "router 0 detached", 17));
	check(!strstr(out, "ok\n"));
	snprintf(args, sizeof(args), "-s %s/ctl plug 0.1 0.1", bed_dir());
	check_eq(cmd_client(args, out, sizeof(out)), 1);
	check_eq(out[0], 0);
	snprintf(args, sizeof(args), "-s %s/none status", bed_dir());
	check_eq(cmd_client(args, out, sizeof(out)), 2);
	check_eq(cmd_client("", out, sizeof(out)), 2);
	bed_stop();
}

static void cmd_counts_registers(void)
{
	u64 reads, writes;

	bed_start(1, NULL);
	host_start(&hosts[0]);
	reads = bed_stat("0.mmio_reads");
	writes = bed_stat("0.mmio_writes");
	host_read(&hosts[0], NHI_CAPS);
	host_read(&hosts[0], NHI_CAPS);
	host_write(&hosts[0], NHI_DMA_MISC, 0);
	check_eq(bed_stat("0.mmio_reads"), reads + 2);
	check_eq(bed_stat("0.mmio_writes"), writes + 1);
	bed_stop();
}

/* A socket in use is not taken away, a stale one is. */
static void cmd_respects_sockets(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	char line[256], stale[64];
	int fd;

	bed_start(1, NULL);
	snprintf(line, sizeof(line), "%s %s 2>/dev/null", getenv("USB4EMU"), hosts[0].path);
	check_eq(WEXITSTATUS(system(line)), 1);
	snprintf(stale, sizeof(stale), "%s/stale", bed_dir());
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", stale);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	check(!bind(fd, (struct sockaddr *)&sa, sizeof(sa)));
	close(fd);
	check(!access(stale, F_OK));
	snprintf(line, sizeof(line), "timeout 1 %s %s", getenv("USB4EMU"), stale);
	check_eq(WEXITSTATUS(system(line)), 124);	/* ran until it was stopped */
	check(access(stale, F_OK));
	host_start(&hosts[0]);
	bed_stop();
}

TAP_GROUP(cmd_tests,
	  TAP_TEST(cmd_reports_errors),
	  TAP_TEST(cmd_cables_any_ports),
	  TAP_TEST(cmd_limits_generation),
	  TAP_TEST(cmd_serves_several_clients),
	  TAP_TEST(cmd_drops_deaf_client),
	  TAP_TEST(cmd_client_talks),
	  TAP_TEST(cmd_counts_registers),
	  TAP_TEST(cmd_respects_sockets));
