/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The emulator inside User Mode Linux: what the files of the transport share.
 */
#ifndef USB4EMU_UM_H
#define USB4EMU_UM_H

#include <linux/hrtimer.h>
#include <linux/spinlock.h>

#include "core.h"
#include "virt-pci.h"

#define UM_EMU_MAX_ROUTERS	8	/* slots of UML's PCI bus */

struct um_emu;

/**
 * struct um_emu_dev - one router's PCI function
 * @pdev: as the PCI bus of UML knows it
 * @um: the emulator
 * @router: number of the router
 */
struct um_emu_dev {
	struct um_pci_device pdev;
	struct um_emu *um;
	u32 router;
};

/**
 * struct um_emu - the emulator and the account of its time
 * @core: the emulator's core
 * @lock: serialises calls into @core
 * @timer: fires at the core's deadline
 * @armed: when @timer will fire, %EMU_NEVER if it is not armed
 * @nr_devs: number of registered @devs
 * @capture_fd: the host's descriptor of the capture file
 * @entered: TSC at the latest um_emu_enter()
 * @own_tsc: TSC ticks spent between um_emu_enter() and um_emu_leave()
 * @entries: number of these calls
 * @start_tsc: TSC when the module was loaded
 * @start_ns: the host's clock at the same moment
 * @devs: the PCI functions
 */
struct um_emu {
	struct emu *core;
	raw_spinlock_t lock;
	struct hrtimer timer;
	u64 armed;
	u32 nr_devs;
	int capture_fd;
	u64 entered;
	u64 own_tsc;
	u64 entries;
	u64 start_tsc;
	u64 start_ns;
	struct um_emu_dev devs[UM_EMU_MAX_ROUTERS];
};

unsigned long um_emu_enter(struct um_emu *um);
void um_emu_leave(struct um_emu *um, unsigned long flags);

int um_emu_pci_register(struct um_emu *um, u32 nr_routers);
void um_emu_pci_unregister(struct um_emu *um);

int um_emu_chardev_register(struct um_emu *um);
void um_emu_chardev_unregister(void);

#endif /* USB4EMU_UM_H */
