/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults: what the emulator does wrong on purpose, by rules that the control
 * protocol sets. Rules with an element of chance draw from one generator with
 * a seed, so that the same traffic meets the same faults.
 */
#ifndef USB4EMU_FAULT_H
#define USB4EMU_FAULT_H

#include "env.h"

#define EMU_FAULT_RULES		32
#define EMU_NS_PER_US		1000ULL
#define EMU_FAULT_ANY		(~0U)	/* has no such property */

struct emu;
struct emu_router;
struct emu_path;
struct emu_out;

/* In the order in which they are applied to a frame */
enum emu_fault {
	EMU_FAULT_DELAY,
	EMU_FAULT_UNPLUG,
	EMU_FAULT_DROP,
	EMU_FAULT_TRUNCATE,
	EMU_FAULT_CORRUPT,
	EMU_FAULT_CRC,
	EMU_FAULT_DUP,
	EMU_FAULT_STALL,
	EMU_FAULT_WITHHOLD,
	EMU_FAULT_STARVE,
	EMU_FAULT_IRQ_DROP,
	EMU_FAULT_IRQ_DELAY,
	EMU_FAULT_EVENT_DROP,
	EMU_FAULT_XD_DROP,
	EMU_FAULT_XD_DUP,
	EMU_FAULT_XD_UNPLUG,
	EMU_FAULT_XD_REPLACE,
	EMU_NR_FAULTS
};

#define EMU_FAULTS_FRAME	GENMASK(EMU_FAULT_DUP, EMU_FAULT_DELAY)

/* Words of a rule, each followed by a number */
enum emu_fault_word {
	EMU_WORD_ROUTER,	/* the first few say what the rule is for */
	EMU_WORD_RING,
	EMU_WORD_HOP,
	EMU_WORD_SOF,
	EMU_WORD_EOF,
	EMU_NR_FILTERS,
	EMU_WORD_AFTER = EMU_NR_FILTERS,
	EMU_WORD_EVERY,
	EMU_WORD_CHANCE,
	EMU_WORD_COUNT,
	EMU_WORD_FOR,
	EMU_WORD_US,
	EMU_WORD_ABOVE,
	EMU_WORD_LEN,
	EMU_WORD_OFFSET,
	EMU_WORD_SIZE,
	EMU_WORD_SET,
	EMU_WORD_ADD,
	EMU_WORD_XOR,
	EMU_WORD_FIND,
	EMU_NR_WORDS
};

/**
 * struct emu_fault_rule - one rule
 * @id: number for "fault list" and "fault off", 0 if the rule is not used
 * @kind: &enum emu_fault
 * @given: a bit for each word that was given
 * @val: the words' numbers
 * @end: when it ends, %EMU_NEVER without the word "for"
 * @matched: how often it could have been applied
 * @done: how often it was
 */
struct emu_fault_rule {
	u32 id;
	u32 kind;
	u32 given;
	u32 val[EMU_NR_WORDS];
	u64 end;
	u64 matched;
	u64 done;
};

/**
 * struct emu_frame_fault - what is to happen to one frame
 * @release: when it may leave
 * @len: its new length, 0 if it stays as it is
 * @offset: where it is corrupted
 * @size: how many bytes are, 0 if it is not
 * @keep: the new value is ((old & keep) + add) ^ xor
 * @add: see @keep
 * @xor: see @keep
 * @drop: lose it
 * @dup: deliver it twice
 * @crc: flag a CRC error
 */
struct emu_frame_fault {
	u64 release;
	u32 len;
	u32 offset;
	u32 size;
	u32 keep;
	u32 add;
	u32 xor;
	bool drop;
	bool dup;
	bool crc;
};

/**
 * struct emu_faults - all the rules
 * @rule: the rules, in the order in which they are asked
 * @active: a bit for each kind that has a rule
 * @last_id: number of the latest rule
 * @random: state of the generator
 * @pull: a port is to lose its cable
 */
struct emu_faults {
	struct emu_fault_rule rule[EMU_FAULT_RULES];
	u32 active;
	u32 last_id;
	u64 random;
	bool pull;
};

/* fault.c: called where things may go wrong */
void emu_fault_frame(const struct emu_path *path, u32 sof, u32 eof, u32 len,
		     struct emu_frame_fault *f);
void emu_fault_corrupt(struct emu_router *rt, const struct emu_frame_fault *f, u64 addr, u32 len);
bool emu_fault_stall(struct emu_router *rt, u32 ring, u32 in_flight);
bool emu_fault_withheld(struct emu_router *rt, u32 ring);
bool emu_fault_starved(struct emu_router *rt, u32 ring);
bool emu_fault_irq_drop(struct emu_router *rt, u32 ring);
u64 emu_fault_irq_delay(struct emu_router *rt, u32 ring);
bool emu_fault_event_drop(struct emu_router *rt);
bool emu_fault_xd(struct emu_router *rt, enum emu_fault kind);
void emu_fault_xd_replace(struct emu_router *rt, u32 *dw, u32 n);
void emu_fault_pull(struct emu_router *rt, u32 port);
u64 emu_fault_timers(struct emu *e, u64 now);
void emu_fault_changed(struct emu *e);
void emu_fault_seed(struct emu *e, u32 seed);

/* fault_cmd.c: the control protocol's side */
const char *emu_fault_name(u32 kind);
const char *emu_fault_command(struct emu *e, u32 n, char **arg, struct emu_out *out);

#endif /* USB4EMU_FAULT_H */
