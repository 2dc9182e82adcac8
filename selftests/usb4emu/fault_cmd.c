// SPDX-License-Identifier: GPL-2.0
/*
 * The "fault" command: words into rules, and rules into words.
 */
#include "emu.h"

#define EMU_MAX_VALUE	(~0U)
#define EMU_RING_KINDS	(EMU_FAULTS_FRAME | BIT(EMU_FAULT_STALL) | BIT(EMU_FAULT_WITHHOLD) | \
			 BIT(EMU_FAULT_STARVE) | BIT(EMU_FAULT_IRQ_DROP) | \
			 BIT(EMU_FAULT_IRQ_DELAY))
#define EMU_ALL_KINDS	(BIT(EMU_NR_FAULTS) - 1)

/**
 * struct emu_fault_kind - what can go wrong
 * @name: as the command has it
 * @help: in the list of kinds
 */
struct emu_fault_kind {
	const char *name;
	const char *help;
};

static const struct emu_fault_kind emu_fault_kinds[EMU_NR_FAULTS] = {
	[EMU_FAULT_DELAY] = { "delay", "frames wait, and those of the ring behind them" },
	[EMU_FAULT_UNPLUG] = { "unplug", "the cable is pulled when this frame passes" },
	[EMU_FAULT_DROP] = { "drop", "frames are lost" },
	[EMU_FAULT_TRUNCATE] = { "truncate", "frames get shorter, at random or to \"len\"" },
	[EMU_FAULT_CORRUPT] = { "corrupt", "bytes change, a random one or at \"offset\"" },
	[EMU_FAULT_CRC] = { "crc", "a byte changes, and the frame is flagged with a CRC error" },
	[EMU_FAULT_DUP] = { "dup", "frames come twice" },
	[EMU_FAULT_STALL] = { "stall", "a transmit ring stops when it is given more" },
	[EMU_FAULT_WITHHOLD] = { "withhold", "posted receive descriptors are not seen" },
	[EMU_FAULT_STARVE] = { "starve", "no end-to-end credits for a receive ring" },
	[EMU_FAULT_IRQ_DROP] = { "irq-drop", "interrupt messages are lost" },
	[EMU_FAULT_IRQ_DELAY] = { "irq-delay", "interrupt messages come late" },
	[EMU_FAULT_EVENT_DROP] = { "event-drop", "plug events are lost" },
	[EMU_FAULT_XD_DROP] = { "xd-drop", "XDomain packets are lost" },
	[EMU_FAULT_XD_DUP] = { "xd-dup", "XDomain packets come twice" },
	[EMU_FAULT_XD_UNPLUG] = { "xd-unplug", "the cable is pulled behind this packet" },
	[EMU_FAULT_XD_REPLACE] = { "xd-replace", "a dword of an XDomain packet changes" },
};

/**
 * struct emu_fault_wordspec - a word that takes a number
 * @name: the word
 * @kinds: a bit for each kind that knows it
 * @min: least number
 * @max: largest number
 */
struct emu_fault_wordspec {
	const char *name;
	u32 kinds;
	u32 min;
	u32 max;
};

static const struct emu_fault_wordspec emu_fault_words[EMU_NR_WORDS] = {
	[EMU_WORD_ROUTER] = { "router", EMU_ALL_KINDS, 0, EMU_MAX_ROUTERS - 1 },
	[EMU_WORD_RING] = { "ring", EMU_RING_KINDS, 0, EMU_MAX_HOPS - 1 },
	[EMU_WORD_HOP] = { "hop", EMU_FAULTS_FRAME, 0, 0x7ff },
	[EMU_WORD_SOF] = { "sof", EMU_FAULTS_FRAME, 0, 15 },
	[EMU_WORD_EOF] = { "eof", EMU_FAULTS_FRAME, 0, 15 },
	[EMU_WORD_AFTER] = { "after", EMU_ALL_KINDS, 0, EMU_MAX_VALUE },
	[EMU_WORD_EVERY] = { "every", EMU_ALL_KINDS, 1, EMU_MAX_VALUE },
	[EMU_WORD_CHANCE] = { "chance", EMU_ALL_KINDS, 1, EMU_MAX_VALUE },
	[EMU_WORD_COUNT] = { "count", EMU_ALL_KINDS, 1, EMU_MAX_VALUE },
	[EMU_WORD_FOR] = { "for", EMU_ALL_KINDS, 1, EMU_MAX_VALUE },
	[EMU_WORD_US] = { "us", BIT(EMU_FAULT_DELAY) | BIT(EMU_FAULT_IRQ_DELAY), 1, 60000000 },
	[EMU_WORD_ABOVE] = { "above", BIT(EMU_FAULT_STALL), 0, 0xffff },
	[EMU_WORD_LEN] = { "len", BIT(EMU_FAULT_TRUNCATE), 1, DESC_MAX_FRAME - 1 },
	[EMU_WORD_OFFSET] = { "offset", BIT(EMU_FAULT_CORRUPT), 0, DESC_MAX_FRAME - 1 },
	[EMU_WORD_SIZE] = { "size", BIT(EMU_FAULT_CORRUPT), 1, 4 },
	[EMU_WORD_SET] = { "set", BIT(EMU_FAULT_CORRUPT) | BIT(EMU_FAULT_XD_REPLACE), 0,
			   EMU_MAX_VALUE },
	[EMU_WORD_ADD] = { "add", BIT(EMU_FAULT_CORRUPT), 0, EMU_MAX_VALUE },
	[EMU_WORD_XOR] = { "xor", BIT(EMU_FAULT_CORRUPT), 0, EMU_MAX_VALUE },
	[EMU_WORD_FIND] = { "find", BIT(EMU_FAULT_XD_REPLACE), 0, EMU_MAX_VALUE },
};

const char *emu_fault_name(u32 kind)
{
	return emu_fault_kinds[kind].name;
}

static bool emu_word_of(const char *name, u32 kind, u32 *word)
{
	for (*word = 0; *word < EMU_NR_WORDS; (*word)++)
		if (!strcmp(name, emu_fault_words[*word].name))
			return emu_fault_words[*word].kinds & BIT(kind);
	return false;
}

/* Returns what is wrong, or NULL. */
static const char *emu_rule_parse(struct emu *e, struct emu_fault_rule *rule, u32 n, char **arg)
{
	const struct emu_fault_wordspec *spec;
	u32 i, word, max;

	for (i = 0; i < n; i += 2) {
		if (!emu_word_of(arg[i], rule->kind, &word))
			return "no such word for this fault, try fault help";
		if (rule->given & BIT(word))
			return "a word is there twice";
		spec = &emu_fault_words[word];
		max = word == EMU_WORD_ROUTER ? e->cfg.nr_routers - 1 : spec->max;
		if (i + 1 == n || !emu_parse_number(arg[i + 1], max, '\0', &rule->val[word]) ||
		    rule->val[word] < spec->min)
			return "a word needs a number, or another one";
		rule->given |= BIT(word);
	}
	if ((emu_fault_words[EMU_WORD_US].kinds & BIT(rule->kind)) &&
	    !(rule->given & BIT(EMU_WORD_US)))
		return "this fault needs a time: us N";
	if (rule->kind == EMU_FAULT_XD_REPLACE &&
	    (!(rule->given & BIT(EMU_WORD_FIND)) || !(rule->given & BIT(EMU_WORD_SET))))
		return "this fault needs two numbers: find N set N";
	return NULL;
}

static const char *emu_fault_add(struct emu *e, u32 kind, u32 n, char **arg, struct emu_out *out)
{
	struct emu_fault_rule rule = { .kind = kind, .end = EMU_NEVER };
	const char *error = emu_rule_parse(e, &rule, n, arg);
	u32 i;

	for (i = 0; !error && i < EMU_FAULT_RULES; i++) {
		if (e->faults.rule[i].id)
			continue;
		if (rule.given & BIT(EMU_WORD_FOR)) {
			rule.end = emu_now(e) + rule.val[EMU_WORD_FOR] * EMU_NS_PER_US;
			emu_set_deadline(e, rule.end);
		}
		rule.id = ++e->faults.last_id;
		e->faults.rule[i] = rule;
		emu_fault_changed(e);
		emu_out(out, "%u\n", rule.id);
		return NULL;
	}
	return error ? error : "too many rules";
}

static const char *emu_fault_list(struct emu *e, u32 n, char **arg, struct emu_out *out)
{
	u32 i, word;

	for (i = 0; i < EMU_FAULT_RULES; i++) {
		const struct emu_fault_rule *rule = &e->faults.rule[i];

		if (!rule->id)
			continue;
		emu_out(out, "%u %s", rule->id, emu_fault_name(rule->kind));
		for (word = 0; word < EMU_NR_WORDS; word++)
			if (rule->given & BIT(word))
				emu_out(out, " %s %u", emu_fault_words[word].name, rule->val[word]);
		emu_out(out, ": matched %llu, done %llu\n", rule->matched, rule->done);
	}
	return NULL;
}

static const char *emu_fault_off(struct emu *e, u32 n, char **arg, struct emu_out *out)
{
	bool found = !n;
	u32 id = 0, i;

	if (n && (!emu_parse_number(arg[0], EMU_MAX_VALUE, '\0', &id) || !id))
		return "want the number of a rule";
	for (i = 0; i < EMU_FAULT_RULES; i++) {
		if (n && e->faults.rule[i].id != id)
			continue;
		e->faults.rule[i].id = 0;
		found = true;
	}
	emu_fault_changed(e);
	return found ? NULL : "no such rule";
}

static const char *emu_fault_set_seed(struct emu *e, u32 n, char **arg, struct emu_out *out)
{
	u32 seed;

	if (n != 1 || !emu_parse_number(arg[0], EMU_MAX_VALUE, '\0', &seed))
		return "want a number";
	emu_fault_seed(e, seed);
	return NULL;
}

static const char *emu_fault_help(struct emu *e, u32 n, char **arg, struct emu_out *out)
{
	u32 kind, word;

	for (kind = 0; kind < EMU_NR_FAULTS; kind++) {
		emu_out(out, "%s:", emu_fault_name(kind));
		for (word = 0; word < EMU_NR_WORDS; word++)
			if (emu_fault_words[word].kinds & BIT(kind))
				emu_out(out, " %s", emu_fault_words[word].name);
		emu_out(out, ": %s\n", emu_fault_kinds[kind].help);
	}
	return NULL;
}

static const struct {
	const char *name;
	u32 max_args;
	const char *(*run)(struct emu *e, u32 n, char **arg, struct emu_out *out);
} emu_fault_cmds[] = {
	{ "list", 0, emu_fault_list },
	{ "off", 1, emu_fault_off },
	{ "seed", 1, emu_fault_set_seed },
	{ "help", 0, emu_fault_help },
};

/* Returns what is wrong, or NULL. */
const char *emu_fault_command(struct emu *e, u32 n, char **arg, struct emu_out *out)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(emu_fault_cmds); i++) {
		if (strcmp(arg[0], emu_fault_cmds[i].name))
			continue;
		if (n - 1 > emu_fault_cmds[i].max_args)
			return "too many words";
		return emu_fault_cmds[i].run(e, n - 1, arg + 1, out);
	}
	for (i = 0; i < EMU_NR_FAULTS; i++)
		if (!strcmp(arg[0], emu_fault_name(i)))
			return emu_fault_add(e, i, n - 1, arg + 1, out);
	return "no such fault, try fault help";
}
