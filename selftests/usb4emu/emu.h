/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The emulator's core, inside. Nothing but the core includes this.
 */
#ifndef USB4EMU_EMU_H
#define USB4EMU_EMU_H

#include "core.h"
#include "fault.h"
#include "hostile.h"
#include "regs.h"

/* Adapters of a router: two USB4 ports with two lanes each, then the NHI */
#define EMU_NR_PORTS		2
#define EMU_NHI_ADAPTER		5
#define EMU_NR_ADAPTERS		(EMU_NHI_ADAPTER + 1)
#define EMU_LANE_HOPS		32
#define EMU_CTL_QUEUE		64
#define EMU_MAX_PATH		16

/* Why a frame was lost, for the statistics and the capture */
enum emu_drop {
	EMU_DROP_NONE,
	EMU_DROP_NO_PATH,	/* path entry at the sender not enabled */
	EMU_DROP_PEER_NO_PATH,	/* path entry beyond the cable not enabled */
	EMU_DROP_BAD_PATH,	/* path entry points nowhere */
	EMU_DROP_LOOP,		/* more than EMU_MAX_PATH routers */
	EMU_DROP_UNPLUGGED,	/* no link on the path's port */
	EMU_DROP_RX_DISABLED,	/* receive ring not enabled */
	EMU_DROP_OVERFLOW,	/* no descriptor posted, no end-to-end flow control */
	EMU_DROP_PDF,		/* SOF or EOF not in the receive ring's masks */
	EMU_DROP_DMA,		/* buffer or descriptor not in guest memory */
	EMU_DROP_FAULT,		/* a rule of "fault drop" */
	EMU_NR_DROPS,
	EMU_STALL = EMU_NR_DROPS, /* not lost: wait for a descriptor */
};

/**
 * struct emu_ring - a transmit or receive ring
 * @base: bus address of the descriptors
 * @options: register
 * @pdf_mask: RX: SOF mask 31:16, EOF mask 15:0
 * @size: number of descriptors
 * @frame_size: RX: bytes in a buffer, 0 for the largest
 * @dev: next descriptor of the device
 * @drv: first one not posted by the driver
 * @stalled: TX: the next frame waits
 * @used: was enabled once
 * @wedged: TX: stopped for good by a fault
 * @judged: TX: @fault is that of the next frame
 * @withheld: RX: the driver has posted more, up to @withheld_drv
 * @withheld_drv: see @withheld
 * @fault: TX: what is to go wrong with the next frame
 * @frames: completed
 * @bytes: in them
 * @stalls: frames that had to wait
 * @cuts: RX: frames that ended at their first packet
 * @drops: frames lost, by &enum emu_drop
 */
struct emu_ring {
	u64 base;
	u32 options;
	u32 pdf_mask;
	u16 size;
	u16 frame_size;
	u16 dev;
	u16 drv;
	bool stalled;
	bool used;
	bool wedged;
	bool judged;
	bool withheld;
	u16 withheld_drv;
	struct emu_frame_fault fault;
	u64 frames;
	u64 bytes;
	u64 stalls;
	u64 cuts;
	u64 drops[EMU_NR_DROPS];
};

struct emu_vector {
	u64 next;		/* earliest time of the next message */
	u32 ring;		/* that raised it last */
	bool pending;		/* throttled, or not deliverable now */
	bool blocked;		/* the transport could not deliver */
	bool masked;		/* own_msi: latched in the PBA */
	u32 table[4];
};

struct emu_irq {
	u64 status;		/* a bit per ring: TX, RX, RX overflow */
	u32 mask;
	u32 ivr[4];
	u32 itr[EMU_NR_VECTORS];
	u32 dma_misc;
	struct emu_vector vec[EMU_NR_VECTORS];
};

struct emu_ctl_packet {
	u8 type;
	u16 len;
	u8 data[4 * CTL_MAX_DWORDS];
};

struct emu_ctl {
	struct emu_ctl_packet queue[EMU_CTL_QUEUE];
	u32 head;
	u32 count;
};

/**
 * struct emu_port - one USB4 port: its cable and what its manager knows of it
 * @peer: router at the other end, NULL without a cable
 * @peer_port: port index there
 * @gen: generation the cable allows
 * @width: lanes the cable allows
 * @up: the link is up
 * @known: the connection manager acknowledged a plug event
 * @lost: the link went down after a plug event was sent: an unplug is due
 * @pull: a fault is about to remove the cable
 * @sent: the event sent last and not acknowledged
 * @resend: when to send it again
 * @events: plug and unplug events there were
 * @retries: how often one was sent again
 */
struct emu_port {
	struct emu_router *peer;
	u32 peer_port;
	u8 gen;
	u8 width;
	bool up;
	bool known;
	bool lost;
	bool pull;
	enum { EMU_EV_NONE, EMU_EV_PLUG, EMU_EV_UNPLUG } sent;
	u64 resend;
	u64 events;
	u64 retries;
};

struct emu_ctl_stats {
	u64 reads;
	u64 writes;
	u64 xdomain;
	u64 errors;
	u64 bad_crc;
	u64 bad_length;
	u64 unknown;
	u64 unsent;
	u64 queue_full;
};

struct emu_stats {
	u64 mmio_reads;
	u64 mmio_writes;
	u64 msis;
	u64 guest_errors;
	u64 dma_errors;
	u64 faults[EMU_NR_FAULTS];
	struct emu_ctl_stats ctl;
};

struct emu_router {
	struct emu *e;
	u32 nr;
	u32 nr_rings;		/* in each direction */
	bool attached;
	bool no_power;		/* reads as all ones */
	u8 pci[EMU_PCI_CFG_SIZE];
	struct emu_ring tx[EMU_MAX_HOPS];
	struct emu_ring rx[EMU_MAX_HOPS];
	struct emu_irq irq;
	struct emu_ctl ctl;
	struct emu_port port[EMU_NR_PORTS];
	u32 cs[CFG_DWORDS];
	u32 adapter[EMU_NR_ADAPTERS][CFG_DWORDS];
	u32 hops[EMU_NR_ADAPTERS][2 * EMU_LANE_HOPS];
	struct emu_stats stats;
	u64 log_window;
	u32 log_lines;
};

struct emu {
	struct emu_config cfg;
	const struct emu_ops *ops;
	void *priv;
	u64 deadline;
	u32 nr_stalled;
	u32 next_ring;		/* of all rings, to be retried first */
	bool capturing;
	struct emu_faults faults;
	struct emu_hostile *hostile;
	struct emu_router router[];
};

/* Is it the one without a guest? */
static inline bool emu_is_stranger(const struct emu_router *rt)
{
	return rt->e->hostile && rt->nr == rt->e->cfg.nr_routers - 1;
}

/* emu.c */
__printf(3, 4)
void emu_log(struct emu *e, enum emu_log_level level, const char *fmt, ...);
__printf(2, 3)
void emu_guest_error(struct emu_router *rt, const char *fmt, ...);
u64 emu_now(struct emu *e);
void emu_set_deadline(struct emu *e, u64 when);
void emu_nhi_reset(struct emu_router *rt);
bool emu_router_on(const struct emu_router *rt);
void emu_power(struct emu *e, u32 r, bool on);

#define emu_info(e, ...)	emu_log(e, EMU_LOG_INFO, __VA_ARGS__)
#define emu_dbg(e, ...)		emu_log(e, EMU_LOG_DEBUG, __VA_ARGS__)

/* Guest memory, dma.c */
struct emu_desc {
	u64 phys;
	u32 word;
	u32 *slot;		/* the word in guest memory */
};

bool emu_desc_get(struct emu_router *rt, const struct emu_ring *ring, struct emu_desc *d);
void emu_desc_put(struct emu_desc *d, u32 word);
bool emu_dma_read(struct emu_router *rt, u64 addr, void *buf, u32 len);
bool emu_dma_write(struct emu_router *rt, u64 addr, const void *buf, u32 len);
bool emu_dma_copy(struct emu_router *src, u64 from, struct emu_router *dst, u64 to, u32 len);
void *emu_dma(struct emu_router *rt, u64 addr, size_t *len, bool write);
bool emu_dma_check(struct emu_router *rt, u64 addr, u32 len, bool write);

/* irq.c */
void emu_irq_raise(struct emu_router *rt, u32 bit);
void emu_irq_overflow(struct emu_router *rt, u32 hop);
void emu_irq_reset(struct emu_router *rt);
u64 emu_irq_timers(struct emu_router *rt, u64 now);
void emu_msi_unmasked(struct emu_router *rt);
u32 emu_notify_read(struct emu_router *rt, u32 off);
void emu_int_clear(struct emu_router *rt, u32 off, u32 val);
void emu_mask_write(struct emu_router *rt, u32 off, u32 val);
void emu_itr_write(struct emu_router *rt, u32 off, u32 val);

/* ring.c */
void emu_tx_run(struct emu_router *rt, u32 hop);
void emu_tx_doorbell(struct emu_router *rt, u32 hop);
void emu_tx_stop(struct emu_router *rt, u32 hop);
void emu_rings_retry(struct emu *e);
bool emu_rx_room(const struct emu_ring *ring);
bool emu_ring_enabled(const struct emu_ring *ring);
bool emu_rx_control(struct emu_router *rt, const struct emu_ctl_packet *p);
extern const char *const emu_drop_names[EMU_NR_DROPS];

/* path.c */
struct emu_path {
	struct emu_router *src;
	struct emu_router *dst;
	u32 tx_ring;
	u32 cables;		/* crossed; the next two are valid if not 0 */
	u32 out_port;		/* first USB4 port, to the cable */
	u32 out_hop;		/* HopID on the first cable */
	u32 in_port;		/* last USB4 port, from the cable */
	u32 in_hop;
	u32 ring;
};

enum emu_drop emu_rx_inject(const struct emu_path *path, const void *buf, u32 len, u32 tags);
enum emu_drop emu_path_find(struct emu_router *rt, u32 hop, struct emu_path *path);

/* router.c */
void emu_router_reset(struct emu_router *rt);
void emu_router_rings(struct emu_router *rt, u32 rings);
u32 *emu_cfg_space(struct emu_router *rt, u32 space, u32 adapter, u32 *dwords);
void emu_cfg_write(struct emu_router *rt, u32 space, u32 adapter, u32 off, u32 val);

/* port.c */
static inline u32 emu_port_adapter(u32 port)
{
	return 2 * port + 1;
}

int emu_adapter_port(u32 adapter);
void emu_port_refresh(struct emu_router *rt, u32 port);
void emu_port_refresh_pair(struct emu_router *rt, u32 port);
void emu_port_bounce(struct emu_router *rt, u32 port);
void emu_port_forget(struct emu_router *rt, u32 port);
void emu_port_update(struct emu_router *rt, u32 port);
void emu_port_announce(struct emu_router *rt);
void emu_port_ack(struct emu_router *rt, u32 adapter, bool unplug);
u64 emu_port_timers(struct emu_router *rt, u64 now);
void emu_cable_plug(struct emu_router *a, u32 pa, struct emu_router *b, u32 pb);
void emu_cable_unplug(struct emu_router *rt, u32 port);
void emu_cable_set(struct emu_router *rt, u32 port, u8 gen, u8 width);
void emu_links_update(struct emu_router *rt);

/* ctl.c */
void emu_ctl_input(struct emu_router *rt, u32 type, u64 addr, u32 len);
void emu_ctl_send(struct emu_router *rt, u32 type, const u32 *dw, u32 n);
void emu_ctl_flush(struct emu_router *rt);
void emu_ctl_reset(struct emu_router *rt);
void emu_ctl_error(struct emu_router *rt, const u32 *dw, u32 adapter, u32 error);

/* xdomain.c */
void emu_xdomain_forward(struct emu_router *rt, u32 type, u32 *dw, u32 n);

/* pci.c */
void emu_pci_reset(struct emu_router *rt);
bool emu_pci_asleep(const struct emu_router *rt);
bool emu_pci_master(const struct emu_router *rt);
void emu_pci_wake(struct emu_router *rt);
u32 emu_pci_get(const struct emu_router *rt, u32 off, u32 size);
void emu_pci_set(struct emu_router *rt, u32 off, u32 val, u32 size);

/* crc32c.c */
u32 emu_crc32c(const void *buf, size_t len);

/* capture.c */
void emu_capture_frame(const struct emu_path *path, u64 addr, u32 len, u32 sof, u32 eof,
		       enum emu_drop drop);
void emu_capture_control(struct emu_router *rt, bool out, u32 type, const void *buf, u32 len);
int emu_capture_start(struct emu *e, const char *path);
void emu_capture_stop(struct emu *e);

/* cmd.c */
struct emu_out {
	void (*fn)(void *arg, const char *text);
	void *arg;
};

const char *emu_parse_number(const char *s, u32 max, char end, u32 *val);

/* stats.c */

__printf(2, 3)
void emu_out(struct emu_out *out, const char *fmt, ...);
void emu_stats_print(struct emu_router *rt, struct emu_out *out);

#endif /* USB4EMU_EMU_H */
