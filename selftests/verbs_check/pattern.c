// SPDX-License-Identifier: GPL-2.0
/* What is in the buffers, and where. */
#include <string.h>

#include "verbs_check.h"

uint64_t vc_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint64_t vc_msg_seed(const struct vc *vc, unsigned int side, unsigned int msg)
{
	return vc_mix(vc_mix(vc->par.seed + side) +
		      ((uint64_t)vc->round << 32) + msg);
}

static void vc_pattern(uint8_t *p, size_t len, uint64_t seed)
{
	size_t i, n;
	uint64_t word;

	for (i = 0; i < len; i += sizeof(word)) {
		word = vc_mix(seed + i);
		n = len - i < sizeof(word) ? len - i : sizeof(word);
		memcpy(p + i, &word, n);
	}
}

/* Where message msg of this round lies in a buffer. */
size_t vc_src_off(const struct vc *vc, unsigned int msg)
{
	return VC_GAP + vc->round * 37 % 4096 +
	       (size_t)msg * (vc->size + VC_GAP);
}

size_t vc_dst_off(const struct vc *vc, unsigned int msg)
{
	return VC_GAP + (vc->round * 101 + 17) % 4096 +
	       (size_t)msg * (vc->size + VC_GAP);
}

void vc_fill_source(struct vc *vc)
{
	unsigned int m;

	for (m = 0; m < vc->count; m++)
		vc_pattern(vc->src + vc_src_off(vc, m), vc->size,
			   vc_msg_seed(vc, vc->side, m));
}

void vc_fill_sink(struct vc *vc)
{
	memset(vc->dst, VC_FILL, vc_dst_off(vc, vc->count));
}

static void vc_check_gap(const uint8_t *p, size_t len, unsigned int msg,
			 const char *where)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (p[i] != VC_FILL)
			vc_die(1, "message %u: byte %zu of the gap %s was overwritten with %02x",
			       msg, i, where, p[i]);
	}
}

void vc_check_sink(struct vc *vc)
{
	unsigned int peer = VC_FROM_BOTH - vc->side;
	unsigned int m;
	uint8_t want[8];
	uint64_t seed;
	uint8_t *p;
	size_t i, j, n;

	vc_check_gap(vc->dst, vc_dst_off(vc, 0), 0, "before the first");
	for (m = 0; m < vc->count; m++) {
		p = vc->dst + vc_dst_off(vc, m);
		seed = vc_msg_seed(vc, peer, m);
		for (i = 0; i < vc->size; i += sizeof(want)) {
			n = vc->size - i < 8 ? vc->size - i : 8;
			vc_pattern(want, n, seed + i);
			if (!memcmp(p + i, want, n))
				continue;
			for (j = 0; p[i + j] == want[j]; j++)
				;
			vc_die(1, "message %u: byte %zu is %02x, not %02x",
			       m, i + j, p[i + j], want[j]);
		}
		vc_check_gap(p + vc->size, VC_GAP, m, "after");
		vc->messages++;
		vc->bytes += vc->size;
	}
}

/* Atomics: word m of the target begins as vc_atom_old. */
uint64_t vc_atom_old(const struct vc *vc, unsigned int m, unsigned int target)
{
	return vc_msg_seed(vc, target, m);
}

uint64_t vc_atom_arg(const struct vc *vc, unsigned int m)
{
	return vc_mix(vc->par.seed ^ vc->round) + m;
}

/* What word m holds afterwards; every other comparison fails on purpose. */
static uint64_t vc_atom_new(const struct vc *vc, unsigned int m,
			    unsigned int target)
{
	uint64_t old = vc_atom_old(vc, m, target);

	if (vc->op == VC_FETCH_ADD)
		return old + vc_atom_arg(vc, m);
	return m & 1 ? old : vc_atom_arg(vc, m);
}

void vc_atomics_begin(struct vc *vc)
{
	unsigned int m;

	for (m = 0; m < VC_ATOMICS; m++) {
		vc->atom[m] = vc_atom_old(vc, m, vc->side);
		vc->atom[VC_ATOMICS + m] = 0;
	}
}

void vc_atomics_end(struct vc *vc, bool initiator, bool target)
{
	unsigned int peer = VC_FROM_BOTH - vc->side;
	unsigned int m;
	uint64_t want, got;

	for (m = 0; m < VC_ATOMICS; m++) {
		want = target && m < vc->count ? vc_atom_new(vc, m, vc->side) :
						 vc_atom_old(vc, m, vc->side);
		got = vc->atom[m];
		if (got != want)
			vc_die(1, "target word %u is %016llx, not %016llx", m,
			       (unsigned long long)got,
			       (unsigned long long)want);
		if (!initiator || m >= vc->count)
			continue;
		want = vc_atom_old(vc, m, peer);
		got = vc->atom[VC_ATOMICS + m];
		if (got != want)
			vc_die(1, "word %u returned %016llx, not %016llx", m,
			       (unsigned long long)got,
			       (unsigned long long)want);
		vc->messages++;
		vc->bytes += sizeof(uint64_t);
	}
}
