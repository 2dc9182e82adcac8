// SPDX-License-Identifier: GPL-2.0
/*
 * Frame capture to pcapng. Three interfaces per router: the control channel
 * ("rR.nhi") and the two USB4 ports ("rR.1", "rR.3"). A frame is recorded
 * outbound where it leaves for a cable, with its fate, and inbound where it is
 * delivered; one that never reaches a cable is recorded on the NHI's interface.
 *
 * Link type USER0; each packet starts with struct emu_capture_header.
 */
#include "emu.h"

#define PCAPNG_SHB		0x0a0d0d0a
#define PCAPNG_IDB		1
#define PCAPNG_EPB		6
#define PCAPNG_MAGIC		0x1a2b3c4d
#define PCAPNG_OPT_IF_NAME	2
#define PCAPNG_OPT_IF_TSRESOL	9
#define PCAPNG_OPT_EPB_FLAGS	2
#define PCAPNG_INBOUND		1
#define PCAPNG_OUTBOUND		2
#define PCAPNG_LINKTYPE_USER0	147
#define EMU_CAP_IFS		(1 + EMU_NR_PORTS)

enum emu_capture_kind {
	EMU_CAP_FRAME,
	EMU_CAP_CONTROL,
};

/**
 * struct emu_capture_header - before the frame, numbers are big-endian
 * @version: 1
 * @kind: &enum emu_capture_kind
 * @sof: start of frame PDF
 * @eof: end of frame PDF, the packet type of a control packet
 * @hop: HopID on the cable
 * @ring: transmit ring if outbound, receive ring if inbound
 * @drop: &enum emu_drop, 0 if delivered
 * @peer_router: router at the other end of the cable, 0xff if there is none
 * @peer_adapter: adapter there
 * @reserved: 0
 * @len: length of the frame
 */
struct emu_capture_header {
	u8 version;
	u8 kind;
	u8 sof;
	u8 eof;
	u8 hop[2];
	u8 ring[2];
	u8 drop;
	u8 peer_router;
	u8 peer_adapter;
	u8 reserved;
	u8 len[4];
};

static void emu_capture_write(struct emu *e, const void *buf, size_t len)
{
	if (!e->capturing)
		return;
	if (e->ops->capture_write(e->priv, buf, len))
		return;
	emu_log(e, EMU_LOG_ERR, "capture: cannot write, stopped");
	emu_capture_stop(e);
}

static void emu_capture_words(struct emu *e, const u32 *words, u32 n)
{
	u32 i, le;

	for (i = 0; i < n; i++) {
		le = cpu_to_le32(words[i]);
		emu_capture_write(e, &le, sizeof(le));
	}
}

static void emu_capture_interface_block(struct emu *e, const char *name, u32 len)
{
	u32 padded = ALIGN(len, 4U);
	u32 total = 20 + padded + 8 + 4 + 4;
	u32 head[] = {
		PCAPNG_IDB, total, PCAPNG_LINKTYPE_USER0, 0, PCAPNG_OPT_IF_NAME | len << 16,
	};
	u32 tail[] = { PCAPNG_OPT_IF_TSRESOL | 1 << 16, 9, 0, total };

	emu_capture_words(e, head, ARRAY_SIZE(head));
	emu_capture_write(e, name, padded);
	emu_capture_words(e, tail, ARRAY_SIZE(tail));
}

static void emu_capture_interface(struct emu *e, u32 router, u32 idx)
{
	char name[16] = "";
	int n;

	if (idx)
		n = snprintf(name, sizeof(name), "r%u.%u", router & 0xff,
			     emu_port_adapter(idx - 1) & 0xff);
	else
		n = snprintf(name, sizeof(name), "r%u.nhi", router & 0xff);
	emu_capture_interface_block(e, name, n);
}

int emu_capture_start(struct emu *e, const char *path)
{
	u32 shb[] = { PCAPNG_SHB, 28, PCAPNG_MAGIC, 1, ~0U, ~0U, 28 };
	u32 r, i;
	int ret;

	if (!e->ops->capture_open)
		return -EOPNOTSUPP;
	emu_capture_stop(e);
	ret = e->ops->capture_open(e->priv, path);
	if (ret)
		return ret;
	e->capturing = true;
	emu_capture_words(e, shb, ARRAY_SIZE(shb));
	for (r = 0; r < e->cfg.nr_routers; r++)
		for (i = 0; i < EMU_CAP_IFS; i++)
			emu_capture_interface(e, r, i);
	return e->capturing ? 0 : -EIO;
}

void emu_capture_stop(struct emu *e)
{
	if (!e->capturing)
		return;
	e->capturing = false;
	e->ops->capture_close(e->priv);
}

static void emu_capture_begin(struct emu *e, u32 iface, const struct emu_capture_header *h, u32 len)
{
	u64 now = emu_now(e);
	u32 data = sizeof(*h) + len;
	u32 total = 28 + ALIGN(data, 4U) + 12 + 4;
	u32 head[] = { PCAPNG_EPB, total, iface, now >> 32, (u32)now, data, data };

	emu_capture_words(e, head, ARRAY_SIZE(head));
	emu_capture_write(e, h, sizeof(*h));
}

static void emu_capture_end(struct emu *e, u32 len, bool out)
{
	u32 total = 28 + ALIGN((u32)sizeof(struct emu_capture_header) + len, 4U) + 12 + 4;
	u32 tail[] = { PCAPNG_OPT_EPB_FLAGS | 4 << 16, out ? PCAPNG_OUTBOUND : PCAPNG_INBOUND,
		       0, total };
	u32 zero = 0;

	emu_capture_write(e, &zero, -len & 3);
	emu_capture_words(e, tail, ARRAY_SIZE(tail));
}

static void emu_capture_memory(struct emu_router *rt, u64 addr, u32 len)
{
	while (len) {
		size_t n = len;
		const void *p = emu_dma(rt, addr, &n, false);

		if (!p)
			return;
		emu_capture_write(rt->e, p, n);
		addr += n;
		len -= n;
	}
}

static void emu_put_be(u8 *p, u32 bytes, u32 val)
{
	while (bytes--) {
		p[bytes] = (u8)val;
		val >>= 8;
	}
}

static void emu_capture_one(const struct emu_path *path, bool out, u64 addr, u32 len,
			    struct emu_capture_header *h)
{
	struct emu_router *rt = out ? path->src : path->dst;
	u32 port = out ? path->out_port : path->in_port;
	u32 iface = EMU_CAP_IFS * rt->nr;
	u32 have = emu_dma_check(path->src, addr, len, false) ? len : 0;

	h->peer_router = 0xff;
	h->peer_adapter = 0;
	emu_put_be(h->hop, 2, out ? path->out_hop : path->in_hop);
	emu_put_be(h->ring, 2, out ? path->tx_ring : path->ring);
	if (path->cables) {
		iface += 1 + port;
		h->peer_router = rt->port[port].peer->nr;
		h->peer_adapter = emu_port_adapter(rt->port[port].peer_port);
	}
	emu_capture_begin(rt->e, iface, h, have);
	emu_capture_memory(path->src, addr, have);
	emu_capture_end(rt->e, have, out);
}

void emu_capture_frame(const struct emu_path *path, u64 addr, u32 len, u32 sof, u32 eof,
		       enum emu_drop drop)
{
	struct emu_capture_header h = {
		.version = 1, .kind = EMU_CAP_FRAME, .sof = sof, .eof = eof, .drop = drop,
	};

	emu_put_be(h.len, 4, len);
	emu_capture_one(path, true, addr, len, &h);
	if (drop == EMU_DROP_NONE)
		emu_capture_one(path, false, addr, len, &h);
}

void emu_capture_control(struct emu_router *rt, bool out, u32 type, const void *buf, u32 len)
{
	struct emu_capture_header h = {
		.version = 1, .kind = EMU_CAP_CONTROL, .eof = type, .peer_router = 0xff,
	};

	emu_put_be(h.len, 4, len);
	emu_capture_begin(rt->e, EMU_CAP_IFS * rt->nr, &h, len);
	emu_capture_write(rt->e, buf, len);
	emu_capture_end(rt->e, len, out);
}
