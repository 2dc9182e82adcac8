// SPDX-License-Identifier: GPL-2.0
/* The hostile peer: its commands and counters */
#include "emu.h"

static const char *const hostile_names[HOSTILE_NR_COUNTS] = {
	[HOSTILE_N_SESSIONS]		= "sessions",
	[HOSTILE_N_HANDSHAKES]		= "handshakes",
	[HOSTILE_N_SETUPS]		= "setups",
	[HOSTILE_N_LINKS]		= "links",
	[HOSTILE_N_MESSAGES]		= "messages",
	[HOSTILE_N_MESSAGES_FORGED]	= "messages_forged",
	[HOSTILE_N_CORE]		= "core_messages",
	[HOSTILE_N_FRAMES]		= "frames",
	[HOSTILE_N_FRAMES_FORGED]	= "frames_forged",
	[HOSTILE_N_PACKETS]		= "packets",
	[HOSTILE_N_PACKETS_FORGED]	= "packets_forged",
	[HOSTILE_N_GSO]			= "gso_packets",
	[HOSTILE_N_CONTROL]		= "control",
	[HOSTILE_N_CONTROL_FORGED]	= "control_forged",
	[HOSTILE_N_ROCE]		= "roce_packets",
	[HOSTILE_N_ROCE_FORGED]		= "roce_forged",
	[HOSTILE_N_FIELD_HEAD]		= "field.link",
	[HOSTILE_N_FIELD_FLOW]		= "field.flow",
	[HOSTILE_N_FIELD_HEADERS]	= "field.headers",
	[HOSTILE_N_FIELD_ROCE]		= "field.roce",
	[HOSTILE_N_TAGS]		= "tags",
	[HOSTILE_N_CUT]			= "cut",
	[HOSTILE_N_ORDER]		= "order",
	[HOSTILE_N_LOST]		= "lost",
	[HOSTILE_N_RCVD_FRAMES]		= "rcvd_frames",
	[HOSTILE_N_RCVD_ROCE]		= "rcvd_roce",
	[HOSTILE_N_ANSWERS]		= "answers_ok",
	[HOSTILE_N_NAKS]		= "naks",
};

static const char hostile_usage[] =
	"want start [WORD N]..., stop, rdma [WORD N]... or qp NUM KIND PSN";

struct hostile_word {
	const char *name;
	u32 *val;
};

static const char *hostile_words(const struct hostile_word *words, u32 nr, int n, char **word)
{
	u32 i;

	for (; n > 0; n -= 2, word += 2) {
		for (i = 0; i < nr && strcmp(words[i].name, word[0]); i++)
			;
		if (i == nr || n < 2 || !emu_parse_number(word[1], ~0U, '\0', words[i].val))
			return hostile_usage;
	}
	return NULL;
}

static const char *hostile_start(struct emu_hostile *h, int n, char **word)
{
	u32 skip = 0, stingy = 0, flood = 0, gids = 0, properties = 0;
	u32 seed = 1, sessions = 0, mutate = 4, deep = 2, packets = 600;
	const struct hostile_word words[] = {
		{ "seed", &seed }, { "sessions", &sessions }, { "mutate", &mutate },
		{ "deep", &deep }, { "packets", &packets }, { "skip", &skip },
		{ "stingy", &stingy },
		{ "flood", &flood }, { "gids", &gids }, { "properties", &properties },
	};
	const char *error = hostile_words(words, ARRAY_SIZE(words), n, word);
	u32 i;

	if (error)
		return error;
	for (i = 0; i < EMU_NR_PORTS && !h->rt->port[i].up; i++)
		;
	if (i == EMU_NR_PORTS)
		return "no link";
	h->port = i;
	h->seed = seed;
	h->number = skip;
	h->sessions = sessions ? skip + sessions : 0;
	h->mutate = mutate;
	h->deep = deep;
	h->packets = max(packets, 1U);
	h->stingy = stingy;
	h->flood = flood;
	h->gids = gids;
	h->properties = properties;
	h->on = true;
	hostile_enter(h, h->host[0] ? HOSTILE_MET : HOSTILE_AWAY);
	h->next = emu_now(h->rt->e);
	emu_set_deadline(h->rt->e, h->next);
	return NULL;
}

static const char *hostile_rdma(struct emu_hostile *h, int n, char **word)
{
	const struct hostile_word words[] = {
		{ "own", &h->own_ip }, { "host", &h->host_ip }, { "rkey", &h->rkey },
		{ "va_hi", &h->va[0] }, { "va_lo", &h->va[1] }, { "len", &h->mr_len },
		{ "mtu", &h->mtu },
	};
	const char *error;

	h->nr_qps = 0;
	error = hostile_words(words, ARRAY_SIZE(words), n, word);
	if (!error && (h->mtu < 256 || h->mtu > 4096 || !h->mr_len))
		return "want mtu 256 to 4096, and len";
	return error;
}

static const char *hostile_qp(struct emu_hostile *h, int n, char **word)
{
	struct hostile_qp qp = { 0 };

	if (n != 3 || h->nr_qps == HOSTILE_QPS || !h->mtu ||
	    !emu_parse_number(word[0], 0xffffff, '\0', &qp.num) ||
	    !emu_parse_number(word[1], 2, '\0', &qp.kind) ||
	    !emu_parse_number(word[2], 0xffffff, '\0', &qp.start))
		return hostile_usage;
	qp.psn = qp.start;
	h->qp[h->nr_qps++] = qp;
	return NULL;
}

/* Returns NULL, or why it failed. */
const char *emu_hostile_command(struct emu_router *rt, int n, char **word)
{
	struct emu_hostile *h = rt->e->hostile;

	if (!h)
		return "there is no router for a hostile peer";
	if (!strcmp(word[0], "start"))
		return hostile_start(h, n - 1, word + 1);
	if (!strcmp(word[0], "rdma"))
		return hostile_rdma(h, n - 1, word + 1);
	if (!strcmp(word[0], "qp"))
		return hostile_qp(h, n - 1, word + 1);
	if (strcmp(word[0], "stop") || n > 1)
		return hostile_usage;
	h->on = false;
	return NULL;
}

void emu_hostile_stats(struct emu_router *rt, struct emu_out *out)
{
	const struct emu_hostile *h = rt->e->hostile;
	u32 i;

	for (i = 0; i < HOSTILE_NR_COUNTS; i++)
		emu_out(out, "%u.hostile.%s %llu\n", rt->nr, hostile_names[i], h->count[i]);
	emu_out(out, "%u.hostile.running %u\n%u.hostile.session %u\n%u.hostile.state %u\n", rt->nr,
		h->on, rt->nr, h->number, rt->nr, h->state);
}
