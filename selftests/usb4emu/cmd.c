// SPDX-License-Identifier: GPL-2.0
/*
 * Control protocol: a line in; lines out, the last of them "ok" or
 * "error: TEXT". A port is named ROUTER.ADAPTER, the adapter being the first
 * lane of a USB4 port as in configuration space: 0.1, 0.3.
 */
#include "emu.h"

#define EMU_LINE	256
#define EMU_ARGS	32

struct emu_args {
	int n;
	char *arg[EMU_ARGS];
	const char *error;	/* why the command failed */
};

struct emu_cmd {
	const char *name;
	const char *args;
	const char *help;
	int min_args;
	int max_args;
	int (*run)(struct emu *e, struct emu_args *a, struct emu_out *out);
};

static int emu_fail(struct emu_args *a, int err, const char *error)
{
	a->error = error;
	return err;
}

/* Decimal only, nothing after it but @end. */
const char *emu_parse_number(const char *s, u32 max, char end, u32 *val)
{
	u64 n = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++) {
		n = n * 10 + (*s - '0');
		if (n > max)
			return NULL;
	}
	*val = n;
	return *s == end ? s : NULL;
}

static struct emu_router *emu_parse_port(struct emu *e, const char *s, u32 *port)
{
	u32 r, adapter;

	s = emu_parse_number(s, e->cfg.nr_routers - 1, '.', &r);
	if (!s || !emu_parse_number(s + 1, EMU_NHI_ADAPTER, '\0', &adapter))
		return NULL;
	if (emu_adapter_port(adapter) < 0)
		return NULL;
	*port = emu_adapter_port(adapter);
	return &e->router[r];
}

static int emu_cmd_plug(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	struct emu_router *x, *y;
	u32 px, py;

	x = emu_parse_port(e, a->arg[1], &px);
	y = emu_parse_port(e, a->arg[2], &py);
	if (!x || !y)
		return emu_fail(a, -EINVAL, "no such port");
	if (x == y && px == py)
		return emu_fail(a, -EINVAL, "a cable has two ends");
	if (x->port[px].peer || y->port[py].peer)
		return emu_fail(a, -EBUSY, "port is cabled already");
	emu_cable_plug(x, px, y, py);
	return 0;
}

static int emu_cmd_unplug(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	struct emu_router *rt;
	u32 port;

	rt = emu_parse_port(e, a->arg[1], &port);
	if (!rt)
		return emu_fail(a, -EINVAL, "no such port");
	if (!rt->port[port].peer)
		return emu_fail(a, -ENOTCONN, "port is not cabled");
	emu_cable_unplug(rt, port);
	return 0;
}

static int emu_cmd_link(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	struct emu_router *rt;
	u32 port, gen, width;
	int i;

	rt = emu_parse_port(e, a->arg[1], &port);
	if (!rt)
		return emu_fail(a, -EINVAL, "no such port");
	if (!rt->port[port].peer)
		return emu_fail(a, -ENOTCONN, "port is not cabled");
	gen = rt->port[port].gen;
	width = rt->port[port].width;
	for (i = 2; i < a->n; i += 2) {
		u32 *val = !strcmp(a->arg[i], "gen") ? &gen :
			   !strcmp(a->arg[i], "width") ? &width : NULL;

		if (!val || i + 1 == a->n || !emu_parse_number(a->arg[i + 1], 4, '\0', val))
			return emu_fail(a, -EINVAL, "want gen 3|4 or width 1|2");
	}
	if (gen < 3 || width < 1 || width > 2)
		return emu_fail(a, -EINVAL, "want gen 3|4 or width 1|2");
	if (gen == 4 && e->cfg.usb4_version == 1)
		return emu_fail(a, -EINVAL, "USB4 version 1 has no gen 4");
	emu_cable_set(rt, port, gen, width);
	return 0;
}

static int emu_cmd_stats(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	u32 r;

	if (a->n == 2) {
		if (!emu_parse_number(a->arg[1], e->cfg.nr_routers - 1, '\0', &r))
			return emu_fail(a, -EINVAL, "no such router");
		emu_stats_print(&e->router[r], out);
		return 0;
	}
	for (r = 0; r < e->cfg.nr_routers; r++)
		emu_stats_print(&e->router[r], out);
	if (e->ops->stats)
		e->ops->stats(e->priv, out->fn, out->arg);
	return 0;
}

static void emu_status_port(struct emu_router *rt, u32 nr, struct emu_out *out)
{
	const struct emu_port *port = &rt->port[nr];
	u32 adapter = emu_port_adapter(nr);
	u32 cs1 = rt->adapter[adapter][LANE_CS_1];

	if (!port->peer) {
		emu_out(out, "port %u.%u free\n", rt->nr, adapter);
		return;
	}
	emu_out(out, "port %u.%u cabled %u.%u link %s gen %u width %u%s\n", rt->nr, adapter,
		port->peer->nr, emu_port_adapter(port->peer_port), port->up ? "up" : "down",
		(cs1 & LANE_CS_1_SPEED) == 2 << 16 ? 4 : 3, cs1 >> 20 & 0x3f,
		port->known ? " known" : "");
}

static const char *emu_router_state(const struct emu_router *rt)
{
	if (rt->no_power)
		return "off";
	return rt->attached ? "attached" : "detached";
}

static int emu_cmd_status(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	u32 r, i;

	for (r = 0; r < e->cfg.nr_routers; r++) {
		struct emu_router *rt = &e->router[r];

		emu_out(out, "router %u %s version %u hops %u power %s control %s\n", r,
			emu_router_state(rt), e->cfg.usb4_version,
			rt->nr_rings, emu_pci_asleep(rt) ? "asleep" : "on",
			emu_ring_enabled(&rt->rx[0]) ? "running" : "stopped");
		for (i = 0; i < EMU_NR_PORTS; i++)
			emu_status_port(rt, i, out);
	}
	emu_out(out, "capture %s\n", e->capturing ? "on" : "off");
	return 0;
}

static int emu_cmd_capture(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	int ret;

	if (!strcmp(a->arg[1], "off")) {
		emu_capture_stop(e);
		return 0;
	}
	ret = emu_capture_start(e, a->arg[1]);
	if (ret == -EOPNOTSUPP)
		return emu_fail(a, ret, "capture is not supported here");
	if (ret)
		return emu_fail(a, ret, "cannot write the capture file");
	return 0;
}

static int emu_cmd_verbose(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	u32 level;

	if (!emu_parse_number(a->arg[1], EMU_LOG_TRACE, '\0', &level))
		return emu_fail(a, -EINVAL, "want 0 to 3");
	e->cfg.verbose = level;
	return 0;
}

/* What a driver has seen of a router's rings it does not expect to change. */
static int emu_cmd_hops(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	struct emu_router *rt;
	u32 r, hops, i;

	if (!emu_parse_number(a->arg[1], e->cfg.nr_routers - 1, '\0', &r))
		return emu_fail(a, -EINVAL, "no such router");
	if (!emu_parse_number(a->arg[2], EMU_MAX_HOPS, '\0', &hops) || hops < EMU_MIN_HOPS)
		return emu_fail(a, -EINVAL, "want 3 to 16 rings");
	rt = &e->router[r];
	for (i = 0; i < EMU_MAX_HOPS; i++)
		if (emu_ring_enabled(&rt->tx[i]) || emu_ring_enabled(&rt->rx[i]))
			return emu_fail(a, -EBUSY, "a driver is using the rings");
	emu_router_rings(rt, hops);
	return 0;
}

static int emu_cmd_reset(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	u32 r;

	if (!emu_parse_number(a->arg[1], e->cfg.nr_routers - 1, '\0', &r))
		return emu_fail(a, -EINVAL, "no such router");
	emu_reset(e, r);
	return 0;
}

static int emu_cmd_power(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	u32 r;

	if (!emu_parse_number(a->arg[1], e->cfg.nr_routers - 1, '\0', &r))
		return emu_fail(a, -EINVAL, "no such router");
	if (!strcmp(a->arg[2], "off"))
		emu_power(e, r, false);
	else if (!strcmp(a->arg[2], "on"))
		emu_power(e, r, true);
	else
		return emu_fail(a, -EINVAL, "want on or off");
	return 0;
}

static int emu_cmd_fault(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	a->error = emu_fault_command(e, a->n - 1, a->arg + 1, out);
	return a->error ? -EINVAL : 0;
}

static int emu_cmd_hostile(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	a->error = emu_hostile_command(&e->router[e->cfg.nr_routers - 1], a->n - 1, a->arg + 1);
	return a->error ? -EINVAL : 0;
}

static int emu_cmd_help(struct emu *e, struct emu_args *a, struct emu_out *out);

static const struct emu_cmd emu_cmds[] = {
	{ "help", "", "this list", 0, 0, emu_cmd_help },
	{ "status", "", "routers, ports and cables", 0, 0, emu_cmd_status },
	{ "plug", "R.P R.P", "cable two ports", 2, 2, emu_cmd_plug },
	{ "unplug", "R.P", "remove the cable of a port", 1, 1, emu_cmd_unplug },
	{ "link", "R.P [gen 3|4] [width 1|2]", "what the cable allows", 3, 5, emu_cmd_link },
	{ "stats", "[R]", "counters", 0, 1, emu_cmd_stats },
	{ "hops", "R N", "number of rings, before a driver uses them", 2, 2, emu_cmd_hops },
	{ "reset", "R", "a router begins anew, its links go and come", 1, 1, emu_cmd_reset },
	{ "power", "R on|off", "a router without power reads as all ones", 2, 2, emu_cmd_power },
	{ "fault", "KIND [WORD N]...|list|off [ID]|seed N|help", "make something go wrong",
	  1, EMU_ARGS - 1, emu_cmd_fault },
	{ "hostile", "start [WORD N]...|stop|rdma [WORD N]...|qp NUM KIND PSN",
	  "a hostile peer in the last router", 1, EMU_ARGS - 1, emu_cmd_hostile },
	{ "capture", "FILE|off", "record frames to a pcapng file", 1, 1, emu_cmd_capture },
	{ "verbose", "0-3", "log level", 1, 1, emu_cmd_verbose },
};

static int emu_cmd_help(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(emu_cmds); i++)
		emu_out(out, "%s %s: %s\n", emu_cmds[i].name, emu_cmds[i].args, emu_cmds[i].help);
	return 0;
}

static bool emu_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int emu_split(char *line, struct emu_args *a)
{
	while (*line) {
		while (emu_is_space(*line))
			*line++ = '\0';
		if (!*line)
			break;
		if (a->n == EMU_ARGS)
			return emu_fail(a, -E2BIG, "too many words");
		a->arg[a->n++] = line;
		while (*line && !emu_is_space(*line))
			line++;
	}
	return a->n ? 0 : emu_fail(a, -EINVAL, "no command");
}

static int emu_run(struct emu *e, struct emu_args *a, struct emu_out *out)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(emu_cmds); i++) {
		const struct emu_cmd *cmd = &emu_cmds[i];

		if (strcmp(cmd->name, a->arg[0]))
			continue;
		if (a->n - 1 < cmd->min_args || a->n - 1 > cmd->max_args)
			return emu_fail(a, -EINVAL, cmd->args);
		return cmd->run(e, a, out);
	}
	return emu_fail(a, -ENOENT, "unknown command, try help");
}

int emu_command(struct emu *e, const char *line,
		void (*fn)(void *arg, const char *text), void *arg)
{
	struct emu_out out = { fn, arg };
	struct emu_args a = { 0 };
	char buf[EMU_LINE];
	size_t len = strlen(line);
	int ret;

	if (len >= sizeof(buf)) {
		emu_out(&out, "error: line too long\n");
		return -E2BIG;
	}
	memcpy(buf, line, len + 1);
	ret = emu_split(buf, &a);
	if (!ret)
		ret = emu_run(e, &a, &out);
	if (ret)
		emu_out(&out, "error: %s\n", a.error);
	else
		emu_out(&out, "ok\n");
	return ret;
}
