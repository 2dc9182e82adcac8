/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A running emulator and the hosts connected to it: vfio-user clients with
 * memory of their own and as much of a driver as the tests need.
 */
#ifndef USB4EMU_TESTS_BED_H
#define USB4EMU_TESTS_BED_H

#include <sys/types.h>

#include "../regs.h"
#include "tap.h"

#define BED_MAX_HOSTS	4
#define HOST_MEM_SIZE	(16 << 20)
#define HOST_MEM_BASE	0x80000000ULL
#define HOST_RING_SIZE	16
#define HOST_VECTORS	16

/* vfio-user commands, as the protocol numbers them */
enum {
	CMD_VERSION = 1,
	CMD_DMA_MAP = 2,
	CMD_DMA_UNMAP = 3,
	CMD_GET_INFO = 4,
	CMD_REGION_INFO = 5,
	CMD_IRQ_INFO = 7,
	CMD_SET_IRQS = 8,
	CMD_REGION_READ = 9,
	CMD_REGION_WRITE = 10,
	CMD_RESET = 13,
};

struct host_ring {
	u32 head;		/* next to post */
	u32 tail;		/* next to complete */
	u32 size;
};

struct host {
	char path[64];
	int sock;
	u16 msg_id;
	int memfd;
	u8 *mem;
	int irq[HOST_VECTORS];
	struct host_ring tx[16];
	struct host_ring rx[16];
	u32 hops;
};

struct host_frame {
	u32 len;
	u32 sof;
	u32 eof;
	u32 flags;		/* completed, overrun */
	u8 data[4096];
};

extern struct host hosts[BED_MAX_HOSTS];

/* The emulator with these extra arguments (NULL or separated by spaces). */
void bed_start(u32 nr_hosts, const char *args);
void bed_stop(void);
/* A line to the control socket; returns the data lines, fails on an error. */
__printf(1, 2)
const char *bed_cmd(const char *fmt, ...);
/* Returns the text after "error: ", NULL if there was none. */
__printf(1, 2)
const char *bed_cmd_error(const char *fmt, ...);
u64 bed_stat(const char *key);
int bed_control_open(void);
const char *bed_dir(void);
/* Lines in the emulator's log */
u32 bed_log_lines(void);
void bed_wait_stat(const char *key, u64 at_least);

/* vfio-user, raw. Returns the reply's error; *len is the body's length. */
int host_connect(struct host *h);
void host_disconnect(struct host *h);
u32 host_request(struct host *h, u32 cmd, const void *body, u32 len, const int *fds, u32 nr_fds,
		 void *out, u32 *out_len);
void host_map_memory(struct host *h);
void host_set_irqs(struct host *h, u32 index, u32 count);
void host_clear_irqs(struct host *h, u32 index);

/* A connected host with memory, interrupts and bus mastering */
void host_start(struct host *h);
u32 host_read(struct host *h, u32 off);
void host_write(struct host *h, u32 off, u32 val);
u32 host_cfg_read(struct host *h, u32 off, u32 size);
void host_cfg_write(struct host *h, u32 off, u32 val, u32 size);
/* Events of a vector: how many within the time, 0 if none */
u64 host_irq(struct host *h, u32 vec, int timeout_ms);

/* Rings */
void host_ring_start(struct host *h, bool tx, u32 hop, u32 options);
void host_ring_stop(struct host *h, bool tx, u32 hop);
void host_rx_post(struct host *h, u32 hop, u32 count);
void host_tx(struct host *h, u32 hop, const void *data, u32 len, u32 sof, u32 eof);
bool host_tx_done(struct host *h, u32 hop);
bool host_rx(struct host *h, u32 hop, struct host_frame *f);
u64 host_addr(struct host *h, bool tx, u32 hop, u32 slot);
u64 *host_desc(struct host *h, bool tx, u32 hop, u32 slot);

/* Control channel */
void host_ctl_start(struct host *h);
void host_ctl_send(struct host *h, u32 type, const u32 *dw, u32 n);
/* Next packet within the time: its type, 0 if none. CRC checked and cut off. */
u32 host_ctl_receive(struct host *h, u32 *dw, u32 *n, int timeout_ms);
u32 host_space_read(struct host *h, u32 space, u32 adapter, u32 off);
void host_space_write(struct host *h, u32 space, u32 adapter, u32 off, u32 val);
/* Take a plug or unplug event of this adapter and acknowledge it. */
void host_expect_event(struct host *h, u32 adapter, bool unplug);

/* Two hosts, cabled 0.1 to 1.1, rings 1 running, path both ways */
void bed_start_pair(const char *args, u32 rx_options);
void host_path(struct host *h, u32 adapter, u32 in_hop, u32 out_adapter, u32 out_hop, bool enable);

#endif /* USB4EMU_TESTS_BED_H */
