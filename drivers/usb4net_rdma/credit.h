/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Credit arithmetic, free of hardware and locks.
 *
 * Frames of a session are numbered from 0, modulo 2^32. The receiver tells the
 * number below which the sender may go, the limit. It is a running total, so a
 * lost message about it is made good by the next one. Every HEAD and CONTROL
 * frame tells its own number, so the receiver sees how many frames got lost on
 * the way, whose buffers are still there, and counts them as seen: lost frames
 * are made good by the next HEAD or CONTROL.
 */
#ifndef _U4N_CREDIT_H
#define _U4N_CREDIT_H

#include <linux/types.h>

/**
 * struct u4n_credit_tx - the sender's side
 * @sent: number of the next frame
 * @limit: frames numbered below this may be sent
 * @window: frames that the receiver keeps posted
 */
struct u4n_credit_tx {
	u32 sent;
	u32 limit;
	u32 window;
};

/**
 * struct u4n_credit_rx - the receiver's side
 * @seen: frames received or known to be lost
 * @published: those of them that no buffer is missing for. Others may read it.
 * @window: frames kept posted
 */
struct u4n_credit_rx {
	u32 seen;
	u32 published;
	u32 window;
};

void u4n_credit_tx_init(struct u4n_credit_tx *c, u32 window);
int u4n_credit_tx_avail(const struct u4n_credit_tx *c);
bool u4n_credit_tx_update(struct u4n_credit_tx *c, u32 limit);

void u4n_credit_rx_init(struct u4n_credit_rx *c, u32 window);
int u4n_credit_rx_sent(struct u4n_credit_rx *c, u32 sent);
void u4n_credit_rx_publish(struct u4n_credit_rx *c);
u32 u4n_credit_rx_batch(const struct u4n_credit_rx *c);
u32 u4n_credit_rx_limit(const struct u4n_credit_rx *c);
bool u4n_credit_rx_due(const struct u4n_credit_rx *c, u32 told);

#endif /* _U4N_CREDIT_H */
