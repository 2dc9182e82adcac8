// SPDX-License-Identifier: GPL-2.0
/*
 * QEMU plugin: how many instructions does the guest execute between two marks,
 * and where?
 *
 *	-plugin file=insns.so,out=FILE[,profile=on]
 *
 * The marks are no-ops with a number in them that nobody uses by chance;
 * selftests/bench/main.c has them. For each pair of marks FILE gets a line
 * "insns N", N being all instructions of kernel and user space. Time in which
 * the processor idles has none. With profile=on the lines after that are
 * "at ADDRESS N": instructions of the translation blocks that begin there, all
 * of user space under the address 0.
 *
 * Interrupted blocks are counted whole, which adds some instructions for each
 * device access. One virtual CPU.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_api.h"

int qemu_plugin_version = PLUGIN_VERSION;

/* --------------------------------------------------------------------------- */

#define SLOTS		(1u << 20)
/* Kernel addresses have the top bit set. */
#define KERNEL		(1ull << 63)
#define MARK_LEN	7

/* nopl 0x62656e??(%rax) */
static const uint8_t mark[] = { 0x0f, 0x1f, 0x80, 0, 0x6e, 0x65, 0x62 };
#define MARK_BEGIN	1
#define MARK_END	2

static struct qemu_plugin_scoreboard *counts;
/* Address of each slot's blocks; slot 0 is user space, or all of it. */
static uint64_t address[SLOTS];
static uint64_t before[SLOTS];
static bool profile;
static FILE *out;

/* Slot of an address, by open addressing. What finds none goes with user space. */
static uint32_t slot_of(uint64_t pc)
{
	uint32_t i = (pc * 0x9e3779b97f4a7c15ull) >> 44, tries;

	if (!profile || !(pc & KERNEL))
		return 0;
	for (tries = 0; tries < 1000; tries++, i = (i + 1) % SLOTS) {
		if (!i || (address[i] && address[i] != pc))
			continue;
		address[i] = pc;
		return i;
	}
	return 0;
}

static void begin(unsigned int vcpu, void *udata)
{
	(void)udata;
	memcpy(before, qemu_plugin_scoreboard_find(counts, vcpu), sizeof(before));
}

static void end(unsigned int vcpu, void *udata)
{
	const uint64_t *now = qemu_plugin_scoreboard_find(counts, vcpu);
	uint64_t sum = 0;
	uint32_t i;

	(void)udata;
	for (i = 0; i < SLOTS; i++)
		sum += now[i] - before[i];
	fprintf(out, "insns %" PRIu64 "\n", sum);
	for (i = 0; profile && i < SLOTS; i++)
		if (now[i] != before[i])
			fprintf(out, "at %" PRIx64 " %" PRIu64 "\n", address[i],
				now[i] - before[i]);
	fflush(out);
}

static void translate(PLUGIN_TB_ARGS(tb))
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	struct plugin_u64 entry = {
		.score = counts,
		.offset = slot_of(qemu_plugin_tb_vaddr(tb)) * sizeof(uint64_t),
	};
	struct qemu_plugin_insn *insn;
	uint8_t data[MARK_LEN];

	(void)udata;
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, PLUGIN_ADD_U64,
							  entry, n);
	if (qemu_plugin_tb_vaddr(tb) & KERNEL)
		return;
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		if (qemu_plugin_insn_data(insn, data, MARK_LEN) != MARK_LEN ||
		    memcmp(data, mark, 3) || memcmp(data + 4, mark + 4, 3))
			continue;
		if (data[3] == MARK_BEGIN)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, begin,
							       PLUGIN_CB_NO_REGS,
							       NULL);
		else if (data[3] == MARK_END)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, end,
							       PLUGIN_CB_NO_REGS,
							       NULL);
	}
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc,
			char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
		else if (!strncmp(argv[i], "profile=", 8))
			profile = !strcmp(argv[i] + 8, "on");
	}
	if (!out) {
		fprintf(stderr, "insns: out= must name a file\n");
		return -1;
	}
	counts = qemu_plugin_scoreboard_new(SLOTS * sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate, NULL);
	return 0;
}
