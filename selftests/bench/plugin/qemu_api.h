/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is used of QEMU's plugin interface; distributions do not package its
 * header. Version 7, from QEMU 11.1 on, has other callbacks; for an older QEMU
 * build with -DPLUGIN_VERSION=4.
 */
#ifndef _QEMU_API_H
#define _QEMU_API_H

#include <stddef.h>
#include <stdint.h>

#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION		7
#endif
#define PLUGIN_ADD_U64		0
#define PLUGIN_CB_NO_REGS	0

struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

struct plugin_u64 {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
};

#if PLUGIN_VERSION >= 7
#define PLUGIN_TB_ARGS(tb)	struct qemu_plugin_tb *(tb), void *udata
#else
#define PLUGIN_TB_ARGS(tb)	uint64_t udata, struct qemu_plugin_tb *(tb)
#endif

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*cb)(PLUGIN_TB_ARGS(tb)),
					   void *udata);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb,
						       int op,
						       struct plugin_u64 entry,
						       uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int vcpu, void *udata),
					    int flags, void *udata);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t i);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest,
			     size_t len);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score,
				  unsigned int vcpu);

extern int qemu_plugin_version;
int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc,
			char **argv);

#endif /* _QEMU_API_H */
