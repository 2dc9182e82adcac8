// SPDX-License-Identifier: GPL-2.0
/*
 * What is in the messages. The measured passes touch only the first and the
 * last word of a message, or one word in each page of a stream, so that
 * checking does not hide the cost of moving; the pass before them checks all.
 */
#include <string.h>

#include "bench.h"

#define WORD		sizeof(uint64_t)
#define STRIDE		4096

static uint64_t bench_word(uint64_t seq, uint64_t i)
{
	return (seq + 1) * 0x9e3779b97f4a7c15ull + i;
}

static void bench_check(const void *p, uint64_t want, size_t len, uint64_t seq,
			uint64_t off)
{
	if (memcmp(p, &want, len))
		bench_die("wrong data in message %llu at byte %llu",
			  (unsigned long long)seq, (unsigned long long)off);
}

/* Number of a word at offset @off: whole words, then what is left. */
static size_t bench_len(uint32_t size, uint32_t off)
{
	return size - off < WORD ? size - off : WORD;
}

/**
 * bench_fill - write message @seq
 * @buf: where
 * @size: its size
 * @seq: its number in its flow
 * @full: all of it, or only the words that are always checked
 */
void bench_fill(void *buf, uint32_t size, uint64_t seq, bool full)
{
	uint32_t off, last = size > WORD ? (size - 1) / WORD * WORD : 0;
	uint64_t w;

	for (off = 0; off < size; off += full || !last ? WORD : last) {
		w = bench_word(seq, off);
		memcpy((char *)buf + off, &w, bench_len(size, off));
		if (off == last)
			break;
	}
}

/* The reverse of bench_fill(); does not return if something is wrong. */
void bench_verify(const void *buf, uint32_t size, uint64_t seq, bool full)
{
	uint32_t off, last = size > WORD ? (size - 1) / WORD * WORD : 0;

	for (off = 0; off < size; off += full || !last ? WORD : last) {
		bench_check((const char *)buf + off, bench_word(seq, off),
			    bench_len(size, off), seq, off);
		if (off == last)
			break;
	}
}

/* First word at or after @pos that is written and checked. */
static uint64_t bench_next(uint64_t pos, bool full)
{
	uint64_t step = full ? WORD : STRIDE;

	return (pos + step - 1) / step * step;
}

/**
 * bench_fill_at - write a piece of a byte stream
 * @buf: where
 * @len: length of the piece
 * @pos: its place in the stream
 * @full: as for bench_fill()
 */
void bench_fill_at(void *buf, size_t len, uint64_t pos, bool full)
{
	uint64_t p, w;

	for (p = bench_next(pos, full); p + WORD <= pos + len;
	     p += full ? WORD : STRIDE) {
		w = bench_word(0, p);
		memcpy((char *)buf + (p - pos), &w, WORD);
	}
}

/* A word that is cut by the end of the piece is not looked at. */
void bench_verify_at(const void *buf, size_t len, uint64_t pos, bool full)
{
	uint64_t p;

	for (p = bench_next(pos, full); p + WORD <= pos + len;
	     p += full ? WORD : STRIDE)
		bench_check((const char *)buf + (p - pos), bench_word(0, p),
			    WORD, 0, p);
}
