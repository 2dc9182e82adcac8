/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ring of the host interface. ring.c sets it up and takes it down. What moves
 * frames through it is ring_direct.c, or ring_batch.c if the core has calls for
 * that (see Kbuild).
 */
#ifndef _U4N_RING_H
#define _U4N_RING_H

#include <linux/thunderbolt.h>

struct u4n_desc;
struct u4n_link;

#ifdef U4N_RING_BATCH
/**
 * struct u4n_ring - one direction
 * @tb: the core's ring
 * @posted: frames that the core is to get
 * @done: frames that the core has given
 * @next: the first of them that has not been taken, receive ring only
 * @num_done: their number, transmit ring only
 */
struct u4n_ring {
	struct tb_ring *tb;
	struct list_head posted;
	struct list_head done;
	struct list_head *next;
	unsigned int num_done;
};

/* A run of frames, see u4n_ring_run_begin() */
struct u4n_ring_run {
	struct u4n_link *l;
	unsigned int eof;
};
#else
/**
 * struct u4n_ring - one direction
 * @tb: the core's ring. It believes that the ring is always empty.
 * @desc: descriptors, the core's memory
 * @doorbell: register for the index of the first descriptor not posted
 * @frames: frame in each descriptor, receive ring only
 * @mask: number of descriptors, a power of two, less one
 * @head: next descriptor to be posted, free running
 * @tail: next descriptor to be completed, free running
 * @running: the ring is enabled
 */
struct u4n_ring {
	struct tb_ring *tb;
	struct u4n_desc *desc;
	void __iomem *doorbell;
	struct ring_frame **frames;
	u32 mask;
	u32 head;
	u32 tail;
	bool running;
};

/*
 * A run of frames, see u4n_ring_run_begin(): the ring in variables that no store to a
 * frame or descriptor can change.
 */
struct u4n_ring_run {
	struct u4n_desc *desc;
	struct ring_frame **frames;
	u32 mask;
	u32 head;
	u32 tail;
	u32 info;
};
#endif

/**
 * struct u4n_ring_info - what the ring says about a received frame
 * @size: bytes, 4096 at most
 * @flags: &enum ring_desc_flags
 * @sof: start tag
 * @eof: end tag
 */
struct u4n_ring_info {
	unsigned int size;
	unsigned int flags;
	unsigned int sof;
	unsigned int eof;
};

/* ring.c */
int u4n_ring_alloc(struct u4n_link *l);
void u4n_ring_free(struct u4n_link *l);
void u4n_ring_start(struct u4n_link *l);
void u4n_ring_stop(struct u4n_link *l);
void u4n_ring_unmask(struct u4n_link *l);
int u4n_ring_throttle(struct u4n_link *l, unsigned int nsec);

/* ring_direct.c, ring_batch.c */
int u4n_ring_init(struct u4n_ring *r, struct tb_ring *tb);
void u4n_ring_exit(struct u4n_ring *r);
void u4n_ring_reset(struct u4n_ring *r);
void u4n_ring_kick_tx(struct u4n_link *l);
void u4n_ring_kick_rx(struct u4n_link *l);

#ifdef U4N_RING_BATCH
/* ring_batch.c, else they are in ring_direct.h */
void u4n_ring_post_tx(struct u4n_link *l, struct ring_frame *frame);
void u4n_ring_post_piece(struct u4n_link *l, u32 index, dma_addr_t dma,
			 unsigned int len, unsigned int eof);
void u4n_ring_post_rx(struct u4n_link *l, struct ring_frame *frame);
bool u4n_ring_reap_tx(struct u4n_link *l, unsigned int n);
struct ring_frame *u4n_ring_poll_rx(struct u4n_link *l,
				    struct u4n_ring_info *info);
struct u4n_ring_run u4n_ring_run_begin(struct u4n_link *l, unsigned int eof);
bool u4n_ring_run_ready(const struct u4n_ring_run *run);
struct ring_frame *u4n_ring_run_next(struct u4n_ring_run *run);
void u4n_ring_run_post(struct u4n_ring_run *run, struct ring_frame *frame);
void u4n_ring_run_end(struct u4n_link *l, const struct u4n_ring_run *run);
bool u4n_ring_rx_ready(const struct u4n_link *l);
#endif

#endif /* _U4N_RING_H */
