/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface between the emulator's core and its transports.
 *
 * The core models any number of USB4 host routers, each with its own host
 * interface (NHI, one PCI function), and the cables between them. A transport
 * shows the PCI functions to a guest: vfio-user for QEMU, a PCI device inside
 * User Mode Linux.
 *
 * The core is not re-entrant and takes no lock: the transport serialises all
 * calls. No callback may call back into the core. Only emu_new() allocates;
 * everything else may run with interrupts off.
 */
#ifndef USB4EMU_CORE_H
#define USB4EMU_CORE_H

#include "env.h"

#define EMU_BAR0_SIZE		0x40000		/* registers */
#define EMU_BAR2_SIZE		0x1000		/* MSI-X table and PBA */
#define EMU_PCI_CFG_SIZE	0x100
#define EMU_NR_VECTORS		16
#define EMU_MIN_HOPS		3
#define EMU_MAX_HOPS		16
#define EMU_MAX_ROUTERS		64
#define EMU_NEVER		(~0ULL)

struct emu;

enum emu_log_level {
	EMU_LOG_ERR,		/* the guest or a peer did something wrong */
	EMU_LOG_INFO,		/* cables, resets, rings and paths */
	EMU_LOG_DEBUG,		/* every control packet */
	EMU_LOG_TRACE,		/* every register access */
};

/**
 * struct emu_config - what to emulate
 * @nr_routers: host routers, 1 to %EMU_MAX_ROUTERS
 * @usb4_version: 1 or 2, the version the routers claim
 * @gen: 3 or 4, generation of a cable plugged without further words
 * @hop_count: rings in each direction, %EMU_MIN_HOPS to %EMU_MAX_HOPS
 * @stranger: the last router has no guest: a hostile peer can live there
 * @single_msi: offer MSI with one vector in place of MSI-X
 * @own_msi: the core keeps the MSI-X table and honours the enable and mask
 *	bits of MSI and MSI-X itself; unset if the transport's other end does
 *	(QEMU does for vfio-user)
 * @no_moderation: ignore the interrupt throttling registers
 * @verbose: highest &enum emu_log_level passed to @log
 */
struct emu_config {
	u32 nr_routers;
	u8 usb4_version;
	u8 gen;
	u8 hop_count;
	bool stranger;
	bool single_msi;
	bool own_msi;
	bool no_moderation;
	u8 verbose;
};

/**
 * struct emu_ops - what a transport does for the core
 * @dma: guest memory of router @r at bus address @addr. Returns a pointer and
 *	lowers *@len if less than that is contiguous, NULL if the first byte is
 *	not accessible. The pointer is used before the core returns and not
 *	kept. Descriptors are naturally aligned by the core before it asks.
 * @irq: send vector @vec of router @r to the guest. Returns false if it
 *	cannot at this moment (no eventfd yet): the core keeps the vector
 *	pending until emu_irq_retry().
 * @now: time in nanoseconds, monotonic
 * @log: print one line, without a newline at its end
 * @capture_open: optional: create or truncate @path, 0 or negative errno
 * @capture_write: append to the capture file; false ends the capture
 * @capture_close: close the capture file
 * @stats: optional: the transport's own lines at the end of "stats"
 *
 * All of them may be called from any emu_*() function. Without the three
 * capture functions the "capture" command answers with an error.
 */
struct emu_ops {
	void *(*dma)(void *priv, u32 r, u64 addr, size_t *len, bool write);
	bool (*irq)(void *priv, u32 r, u32 vec);
	u64 (*now)(void *priv);
	void (*log)(void *priv, enum emu_log_level level, const char *line);
	int (*capture_open)(void *priv, const char *path);
	bool (*capture_write)(void *priv, const void *buf, size_t len);
	void (*capture_close)(void *priv);
	void (*stats)(void *priv, void (*out)(void *arg, const char *text), void *arg);
};

/**
 * emu_new - make routers, powered and none of them cabled
 * @cfg: copied
 * @ops: kept, must live as long as the emulator
 * @priv: handed to every function of @ops
 *
 * Return: the emulator or NULL if @cfg is invalid or memory is short.
 */
struct emu *emu_new(const struct emu_config *cfg, const struct emu_ops *ops, void *priv);
void emu_free(struct emu *e);
u32 emu_nr_routers(const struct emu *e);

/*
 * Register access, BAR 0 (registers) and BAR 2 (MSI-X table, only meaningful
 * with own_msi). A size other than 4 or 8, a misaligned or too large offset
 * is a guest error: counted, logged, reads give all ones.
 */
u64 emu_mmio_read(struct emu *e, u32 r, u32 off, u32 size);
void emu_mmio_write(struct emu *e, u32 r, u32 off, u64 val, u32 size);
u64 emu_msix_read(struct emu *e, u32 r, u32 off, u32 size);
void emu_msix_write(struct emu *e, u32 r, u32 off, u64 val, u32 size);

/* PCI configuration space, sizes 1, 2 and 4; write masks are in the core. */
u32 emu_pci_read(struct emu *e, u32 r, u32 off, u32 size);
void emu_pci_write(struct emu *e, u32 r, u32 off, u32 val, u32 size);

/* Message of an MSI-X vector, or of the MSI capability if single_msi. */
u64 emu_msi_address(const struct emu *e, u32 r, u32 vec);
u32 emu_msi_data(const struct emu *e, u32 r, u32 vec);

/* PCI function reset: rings, router and configuration space as after power-on. */
void emu_reset(struct emu *e, u32 r);
/* The host loses power: like a reset, and its links are down until it is
 * attached again. A router is attached when emu_new() returns.
 */
void emu_detach(struct emu *e, u32 r);
void emu_attach(struct emu *e, u32 r);
/* Vectors may be delivered again after @irq returned false. */
void emu_irq_retry(struct emu *e, u32 r);
/* Guest memory appeared: retry rings that could not reach theirs. */
void emu_dma_retry(struct emu *e, u32 r);

/*
 * Timers. emu_deadline() is cheap and may be early, never late; when it has
 * passed call emu_run_timers(), which returns the next one, %EMU_NEVER if
 * none. Look at emu_deadline() after every call into the core.
 */
u64 emu_deadline(const struct emu *e);
u64 emu_run_timers(struct emu *e);

/**
 * emu_command - run one line of the control protocol
 * @e: the emulator
 * @line: the line, with or without a newline at its end
 * @out: receives the reply piecewise, text that may hold several lines; the
 *	last line of all is "ok" or "error: TEXT"
 * @arg: first argument of @out
 *
 * Return: 0 if the reply ended in "ok", else a negative errno.
 */
int emu_command(struct emu *e, const char *line,
		void (*out)(void *arg, const char *text), void *arg);

#endif /* USB4EMU_CORE_H */
