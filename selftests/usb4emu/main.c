// SPDX-License-Identifier: GPL-2.0
/*
 * usb4emu: emulated USB4 host routers for QEMU over vfio-user.
 */
#include <getopt.h>
#include <unistd.h>

#include "server.h"

#define MAIN_MAX_CABLES	64

struct options {
	struct emu_config cfg;
	const char *control;
	const char *capture;
	const char *cables[MAIN_MAX_CABLES];
	u32 nr_cables;
	bool unplugged;
};

static const char main_usage[] =
	"usage: usb4emu [options] SOCKET...\n"
	"One router per socket; QEMU connects with -device vfio-user-pci.\n"
	"  -c PATH    control socket\n"
	"  -p A-B     cable ports A and B, e.g. 0.1-1.1; may be repeated\n"
	"  -u         nothing is cabled (default with two routers or more: 0.1-1.1)\n"
	"  -g 3|4     generation of the cables (default 4)\n"
	"  -V 1|2     USB4 version of the routers (default 2 for gen 4, 1 for gen 3)\n"
	"  -n HOPS    rings in each direction, 3 to 16 (default 16)\n"
	"  -m         single MSI in place of MSI-X\n"
	"  -t         no interrupt moderation\n"
	"  -x         one more router, without a socket, for a hostile peer\n"
	"  -w FILE    capture to a pcapng file from the start\n"
	"  -v LEVEL   0 errors (default), 1 cables and rings, 2 control packets, 3 registers\n";

static int main_number(const char *s, long min, long max)
{
	char *end;
	long val = strtol(s, &end, 10);

	if (*s && !*end && val >= min && val <= max)
		return val;
	fprintf(stderr, "usb4emu: %s: want a number from %ld to %ld\n", s, min, max);
	exit(2);
}

static int main_option(struct options *o, int c)
{
	switch (c) {
	case 'c':
		o->control = optarg;
		return 0;
	case 'p':
		if (o->nr_cables == MAIN_MAX_CABLES)
			return -1;
		o->cables[o->nr_cables++] = optarg;
		return 0;
	case 'u':
		o->unplugged = true;
		return 0;
	case 'g':
		o->cfg.gen = main_number(optarg, 3, 4);
		return 0;
	case 'V':
		o->cfg.usb4_version = main_number(optarg, 1, 2);
		return 0;
	case 'n':
		o->cfg.hop_count = main_number(optarg, EMU_MIN_HOPS, EMU_MAX_HOPS);
		return 0;
	case 'm':
		o->cfg.single_msi = true;
		return 0;
	case 't':
		o->cfg.no_moderation = true;
		return 0;
	case 'x':
		o->cfg.stranger = true;
		return 0;
	case 'w':
		o->capture = optarg;
		return 0;
	case 'v':
		o->cfg.verbose = main_number(optarg, EMU_LOG_ERR, EMU_LOG_TRACE);
		return 0;
	default:
		return -1;
	}
}

static int main_options(struct options *o, int argc, char **argv)
{
	int c;

	o->cfg.gen = 4;
	o->cfg.hop_count = EMU_MAX_HOPS;
	while ((c = getopt(argc, argv, "c:p:ug:V:n:mtxw:v:h")) != -1)
		if (main_option(o, c))
			return -1;
	if (!o->cfg.usb4_version)
		o->cfg.usb4_version = o->cfg.gen == 4 ? 2 : 1;
	if (o->cfg.usb4_version == 1)
		o->cfg.gen = 3;
	o->cfg.nr_routers = argc - optind;
	if (o->cfg.nr_routers < 1 || o->cfg.nr_routers + o->cfg.stranger > EMU_MAX_ROUTERS)
		return -1;
	if (!o->nr_cables && !o->unplugged && o->cfg.nr_routers > 1)
		o->cables[o->nr_cables++] = "0.1-1.1";
	o->cfg.nr_routers += o->cfg.stranger;
	return 0;
}

/* Shows why a command of the command line failed. */
static void main_reply(void *arg, const char *text)
{
	if (strcmp(text, "ok\n"))
		fprintf(stderr, "usb4emu: %s: %s", (const char *)arg, text);
}

static int main_cable(struct emu *e, const char *cable)
{
	char line[128], *dash;

	if (snprintf(line, sizeof(line), "plug %s", cable) >= (int)sizeof(line))
		return -1;
	dash = strchr(line, '-');
	if (dash)
		*dash = ' ';
	return emu_command(e, line, main_reply, (void *)cable);
}

static int main_setup(struct server *s, const struct options *o)
{
	char line[256];
	u32 i;

	for (i = 0; i < o->nr_cables; i++)
		if (main_cable(s->e, o->cables[i]))
			return -1;
	if (!o->capture)
		return 0;
	if (snprintf(line, sizeof(line), "capture %s", o->capture) >= (int)sizeof(line))
		return -1;
	return emu_command(s->e, line, main_reply, (void *)o->capture);
}

int main(int argc, char **argv)
{
	static struct options options;
	static struct server server;
	int ret = 1;

	if (main_options(&options, argc, argv)) {
		fputs(main_usage, stderr);
		return 2;
	}
	setvbuf(stderr, NULL, _IOLBF, 0);
	if (!server_start(&server, &options.cfg, argv + optind, options.control) &&
	    !main_setup(&server, &options)) {
		server_run(&server);
		ret = 0;
	}
	server_stop(&server);
	return ret;
}
