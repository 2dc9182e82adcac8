// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile peer. It is a router without a guest, the last one, that acts by itself
 * when its timer is due: in place of a host with a driver it answers the XDomain
 * requests of the host at the other end of its cable, and leads one session after the
 * other with it.
 *
 * A session is either a script, some messages in any order, or a handshake that is
 * meant and followed by frames. What is sent is valid, but for one message or packet
 * in so many, of which one or several fields are changed, or which is cut, repeated or
 * sent in another order. A peer that got everything wrong would never be listened to.
 *
 * The random numbers of a session depend on its number and the seed alone: any session
 * can be repeated without those before it.
 */
#include "emu.h"

#define HOSTILE_MS		1000000ULL
#define HOSTILE_TICK		(HOSTILE_MS / 5)	/* with frames */
#define HOSTILE_PACKETS		6			/* at a time */
#define HOSTILE_PAUSE		500			/* packets, and then */
#define HOSTILE_ALIVE		(400 * HOSTILE_MS)
#define HOSTILE_CTL_SIZE	24

/* splitmix64 */
u64 hostile_random(struct emu_hostile *h)
{
	u64 z = h->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* 0 to @n - 1 */
u32 hostile_below(struct emu_hostile *h, u32 n)
{
	return (u32)(hostile_random(h) >> 32) % n;
}

bool hostile_forge(struct emu_hostile *h)
{
	return h->mutate && !hostile_below(h, h->mutate);
}

/* Another number in place of @val, one that programs get wrong */
u32 hostile_odd(struct emu_hostile *h, u32 val, u32 bits)
{
	static const u32 edges[] = {
		0, 1, 2, 7, 13, 14, 15, 16, 17, 18, 20, 40, 47, 48, 63, 64, 65, 127, 128, 255,
		256, 511, 512, 1023, 1024, 2047, 2048, 4047, 4048, 4095, 4096, 4097, 8191, 32767,
		32768, 65519, 65520, 65535, 65536, 65600, 65601, 0xffffff, 0x1000000, 0x7fffffff,
		0x80000000, 0xfffffffe, 0xffffffff,
	};

	switch (hostile_below(h, 8)) {
	case 0:
		val++;
		break;
	case 1:
		val--;
		break;
	case 2:
	case 3:
		val ^= 1U << hostile_below(h, bits);
		break;
	case 4:
		val += hostile_below(h, 512) - 256;
		break;
	case 5:
		val = hostile_random(h);
		break;
	default:
		val = edges[hostile_below(h, ARRAY_SIZE(edges))];
	}
	return bits < 32 ? val & ((1U << bits) - 1) : val;
}

void hostile_enter(struct emu_hostile *h, enum hostile_state state)
{
	h->state = state;
	h->since = emu_now(h->rt->e);
}

/* Begin another session, or none if there were enough. */
void hostile_next(struct emu_hostile *h)
{
	if (h->sessions && h->number >= h->sessions) {
		h->on = false;
		return;
	}
	h->random = ((u64)h->seed << 32) + h->number++;
	hostile_random(h);
	h->count[HOSTILE_N_SESSIONS]++;
	h->cookie = hostile_random(h) | 1;
	h->agreed = false;
	h->host_ready = false;
	h->we_ready = false;
	h->ack_probe = false;
	h->acked = false;
	h->ack_gids = false;
	h->told_gids = false;
	h->sent = 0;
	h->seen = 0;
	h->in_session = false;
	h->seq = 0;
	h->said = 0;
	h->todo = 20 + hostile_below(h, h->packets);
	h->script = 1 + hostile_below(h, HOSTILE_SCRIPT);
	hostile_enter(h, h->deep && !hostile_below(h, h->deep) ? HOSTILE_GREET :
		      HOSTILE_SCRIPTED);
}

/* The states, each returns the time until the next step */

static u64 hostile_scripted(struct emu_hostile *h)
{
	if (!h->script) {
		hostile_next(h);
		return HOSTILE_MS;
	}
	h->script--;
	hostile_script(h);
	if (h->flood)
		return HOSTILE_MS / 4;
	/* mostly so slow that it is heard */
	return hostile_below(h, 4) ? 21 * HOSTILE_MS : HOSTILE_MS;
}

static u64 hostile_greet(struct emu_hostile *h)
{
	if (h->agreed) {
		hostile_enter(h, HOSTILE_READY);
		return HOSTILE_MS;
	}
	if (emu_now(h->rt->e) - h->since > 3000 * HOSTILE_MS) {
		hostile_next(h);
		return HOSTILE_MS;
	}
	hostile_say(h, 1);
	return 120 * HOSTILE_MS;
}

static u64 hostile_ready(struct emu_hostile *h)
{
	if (h->we_ready && h->host_ready) {
		h->count[HOSTILE_N_SETUPS]++;
		hostile_enter(h, HOSTILE_PROBE);
		return HOSTILE_MS;
	}
	if (emu_now(h->rt->e) - h->since > 6000 * HOSTILE_MS) {
		hostile_next(h);
		return HOSTILE_MS;
	}
	if (!h->we_ready)
		hostile_say(h, 3);
	return 50 * HOSTILE_MS;
}

static void hostile_answer_probe(struct emu_hostile *h)
{
	if (h->ack_probe && hostile_control_frame(h, 18, h->probe_arg))
		h->ack_probe = false;
}

static u64 hostile_probe(struct emu_hostile *h)
{
	hostile_answer_probe(h);
	if (h->acked && !h->ack_probe && h->seen > 1) {
		h->count[HOSTILE_N_LINKS]++;
		hostile_enter(h, HOSTILE_UP);
		return 30 * HOSTILE_MS;
	}
	if (emu_now(h->rt->e) - h->since > 2000 * HOSTILE_MS) {
		hostile_next(h);
		return HOSTILE_MS;
	}
	hostile_control_frame(h, 17, h->cookie);
	return 20 * HOSTILE_MS;
}

/* How a session is left: as it should be, or not */
static u64 hostile_leave(struct emu_hostile *h)
{
	switch (hostile_below(h, 8)) {
	case 0:
		hostile_enter(h, HOSTILE_SILENT);
		return 3200 * HOSTILE_MS;
	case 1:
	case 2:
		break;		/* HELLO with another cookie comes next */
	default:
		hostile_say(h, 5);
	}
	hostile_next(h);
	return HOSTILE_MS;
}

static u64 hostile_up(struct emu_hostile *h)
{
	u64 now = emu_now(h->rt->e);
	u32 i;

	hostile_answer_probe(h);
	if (now - h->said > HOSTILE_ALIVE && hostile_control_frame(h, 19, 65520))
		h->said = now;
	if (h->ack_gids && hostile_control_frame(h, 21, h->host_gids))
		h->ack_gids = false;
	if (!h->told_gids && h->own_ip)
		h->told_gids = hostile_control_frame(h, 20, 1);
	if (h->gids)
		hostile_control_frame(h, 20, hostile_random(h));
	if (h->stingy || h->gids)
		return HOSTILE_TICK;
	for (i = 0; i < HOSTILE_PACKETS && h->todo && h->state == HOSTILE_UP; i++) {
		hostile_packet(h);
		h->todo--;
		/* QPs that have gone to the error state are connected again */
		if (h->todo % HOSTILE_PAUSE == 0 && h->todo)
			return 120 * HOSTILE_MS;
	}
	if (h->state != HOSTILE_UP || h->todo)
		return HOSTILE_TICK;
	return hostile_leave(h);
}

static u64 hostile_step(struct emu_hostile *h)
{
	if (!h->rt->port[h->port].up) {
		h->state = HOSTILE_AWAY;
		return 10 * HOSTILE_MS;
	}
	switch (h->state) {
	case HOSTILE_AWAY:
		return 10 * HOSTILE_MS;
	case HOSTILE_MET:
		/* its driver needs a moment to see what we offer */
		if (emu_now(h->rt->e) - h->since > 1000 * HOSTILE_MS)
			hostile_next(h);
		return 10 * HOSTILE_MS;
	case HOSTILE_SCRIPTED:
		return hostile_scripted(h);
	case HOSTILE_GREET:
		return hostile_greet(h);
	case HOSTILE_READY:
		return hostile_ready(h);
	case HOSTILE_PROBE:
		return hostile_probe(h);
	case HOSTILE_UP:
		return hostile_up(h);
	case HOSTILE_SILENT:
		hostile_next(h);
	}
	return HOSTILE_MS;
}

u64 emu_hostile_timers(struct emu_router *rt, u64 now)
{
	struct emu_hostile *h = rt->e->hostile;

	if (!emu_is_stranger(rt) || !h->on)
		return EMU_NEVER;
	if (now >= h->next)
		h->next = now + hostile_step(h);
	return h->on ? h->next : EMU_NEVER;
}

static u32 hostile_le32(const u8 *buf)
{
	return buf[0] | buf[1] << 8 | buf[2] << 16 | (u32)buf[3] << 24;
}

static void hostile_rcv_control(struct emu_hostile *h, const u8 *buf)
{
	switch (buf[0]) {
	case 17:	/* PROBE */
		h->ack_probe = true;
		h->probe_arg = hostile_le32(buf + 12);
		break;
	case 18:	/* PROBE_ACK */
		h->acked = true;
		break;
	case 20:	/* GIDS */
		h->host_gids = hostile_le32(buf + 12);
		h->ack_gids = true;
		break;
	}
}

/* A frame of the host has arrived. It is looked at and thrown away. */
u32 emu_hostile_frame(const struct emu_path *path, const struct emu_desc *from, u32 len)
{
	struct emu_hostile *h = path->dst->e->hostile;
	u32 eof = DESC_EOF(from->word), n = min(len, 256U);
	u8 buf[256] = { 0 };
	s32 more;

	h->count[HOSTILE_N_RCVD_FRAMES]++;
	h->seen += h->in_session;
	if (!h->on || (eof != 2 && eof != 3 && eof != 6) || len < HOSTILE_CTL_SIZE ||
	    !emu_dma_read(path->src, from->phys, buf, n))
		return EMU_DROP_NONE;
	h->in_session = buf[2] == (h->host_cookie & 0xff) && buf[3] == (h->host_cookie >> 8 & 0xff);
	if (!h->in_session)
		return EMU_DROP_NONE;
	h->seen = hostile_le32(buf + 4) + 1;
	more = hostile_le32(buf + 8) - h->limit;
	if (more > 0)
		h->limit += more;
	if (eof == 6)
		hostile_rcv_control(h, buf);
	else if (buf[0] == 2)
		hostile_roce_rcv(h, buf + 48, n - 48);
	return EMU_DROP_NONE;
}

struct emu_hostile *emu_hostile_new(struct emu_router *rt)
{
	struct emu_hostile *h = env_zalloc(sizeof(*h));

	if (!h)
		return NULL;
	h->rt = rt;
	h->next = EMU_NEVER;
	return h;
}
