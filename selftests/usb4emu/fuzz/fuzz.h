/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fuzz targets share: an emulator without sockets, guest memory, a
 * reader of the input, and the invariants that hold after any input.
 */
#ifndef USB4EMU_FUZZ_H
#define USB4EMU_FUZZ_H

#include "../emu.h"

#define FUZZ_ROUTERS	2
#define FUZZ_MEM_BASE	0x10000ULL
#define FUZZ_MEM_SIZE	0x10000U

struct fuzz_input {
	const u8 *data;
	size_t len;
};

/* Zeroes when the input is used up. */
void fuzz_bytes(struct fuzz_input *in, void *buf, size_t len);
u8 fuzz_u8(struct fuzz_input *in);
u16 fuzz_u16(struct fuzz_input *in);
u32 fuzz_u32(struct fuzz_input *in);
u64 fuzz_u64(struct fuzz_input *in);

/* Guest memory: one for all routers, in two maps that meet in the middle */
extern u8 fuzz_mem[FUZZ_MEM_SIZE];

/* Cabled, with bus mastering on; the log is formatted and thrown away. */
struct emu *fuzz_start(bool single_msi, bool own_msi);
void fuzz_stop(struct emu *e);
void fuzz_advance(struct emu *e, u64 ns);
void fuzz_command(struct emu *e, const char *line);
void fuzz_invariants(const struct emu *e);

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

#endif /* USB4EMU_FUZZ_H */
