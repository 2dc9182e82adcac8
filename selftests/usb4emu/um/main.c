// SPDX-License-Identifier: GPL-2.0
/*
 * The emulator inside User Mode Linux: load, unload, memory, time.
 *
 * The core runs in whatever context touches a register, in the timer's
 * interrupt and in writers of /dev/usb4emu, under one raw spinlock. It keeps
 * UML's time, so that with time-travel= its timers cost nothing and repeat
 * exactly, and it accounts its own use of the CPU in the host's time, so that
 * a benchmark can subtract what real hardware would have done.
 */

#include <linux/cleanup.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <as-layout.h>
#include <irq_kern.h>
#include <os.h>

#include "um.h"

#define UM_EMU_MSI_ADDRESS	0xa0000		/* see um_pci_compose_msi_msg() */

static unsigned int routers = 2;
module_param(routers, uint, 0444);
MODULE_PARM_DESC(routers, "number of host routers, 1 to 8 (default 2)");

static unsigned int gen = 4;
module_param(gen, uint, 0444);
MODULE_PARM_DESC(gen, "generation of the cables, 3 or 4 (default 4)");

static unsigned int usb4;
module_param(usb4, uint, 0444);
MODULE_PARM_DESC(usb4, "version of USB4 the routers claim, 1 or 2 (default 2 for gen 4, 1 for gen 3)");

static unsigned int hops = EMU_MAX_HOPS;
module_param(hops, uint, 0444);
MODULE_PARM_DESC(hops, "rings in each direction, 3 to 16 (default 16)");

static bool single_msi;
module_param(single_msi, bool, 0444);
MODULE_PARM_DESC(single_msi, "offer one MSI instead of MSI-X");

static bool no_moderation;
module_param(no_moderation, bool, 0444);
MODULE_PARM_DESC(no_moderation, "ignore interrupt throttling");

static bool stranger;
module_param(stranger, bool, 0444);
MODULE_PARM_DESC(stranger, "one more router, without a PCI function, for a hostile peer");

static unsigned int verbose;
module_param(verbose, uint, 0444);
MODULE_PARM_DESC(verbose, "0 errors, 1 cables and rings, 2 control packets, 3 registers");

static char *cable[UM_EMU_MAX_ROUTERS] = { "0.1-1.1" };
static unsigned int nr_cables = 1;
module_param_array(cable, charp, &nr_cables, 0444);
MODULE_PARM_DESC(cable, "ports to cable at load, or \"none\" (default 0.1-1.1 if there are two routers)");

static struct um_emu *um_emu;

static void um_emu_rearm(struct um_emu *um)
{
	u64 deadline = emu_deadline(um->core);

	if (deadline >= um->armed)
		return;
	um->armed = deadline;
	hrtimer_start(&um->timer, ns_to_ktime(deadline), HRTIMER_MODE_ABS_HARD);
}

/**
 * um_emu_enter() - begin a call into the core
 * @um: the emulator
 *
 * Return: the interrupt flags for um_emu_leave().
 */
unsigned long um_emu_enter(struct um_emu *um)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&um->lock, flags);
	um->entered = __builtin_ia32_rdtsc();
	return flags;
}

/**
 * um_emu_leave() - end a call into the core
 * @um: the emulator
 * @flags: from um_emu_enter()
 *
 * Interrupts that the core raised are taken here if they were enabled before:
 * after the clock of the account has stopped.
 */
void um_emu_leave(struct um_emu *um, unsigned long flags)
{
	um_emu_rearm(um);
	um->entries++;
	um->own_tsc += __builtin_ia32_rdtsc() - um->entered;
	raw_spin_unlock_irqrestore(&um->lock, flags);
}

static enum hrtimer_restart um_emu_timer(struct hrtimer *timer)
{
	struct um_emu *um = container_of(timer, struct um_emu, timer);
	unsigned long flags;

	flags = um_emu_enter(um);
	um->armed = EMU_NEVER;
	emu_run_timers(um->core);
	um_emu_leave(um, flags);
	return HRTIMER_NORESTART;
}

/* DMA addresses are physical addresses, and all of them are mapped. */
static void *um_emu_dma(void *priv, u32 r, u64 addr, size_t *len, bool write)
{
	if (addr >= physmem_size)
		return NULL;
	*len = min_t(u64, *len, physmem_size - addr);
	return phys_to_virt(addr);
}

static bool um_emu_irq(void *priv, u32 r, u32 vec)
{
	struct um_emu *um = priv;

	/* Written elsewhere it is a memory write that nobody waits for. */
	if (emu_msi_address(um->core, r, vec) == UM_EMU_MSI_ADDRESS)
		um_raise_irq(emu_msi_data(um->core, r, vec));
	return true;
}

static u64 um_emu_now(void *priv)
{
	return ktime_get_ns();
}

static void um_emu_log(void *priv, enum emu_log_level level, const char *line)
{
	if (level == EMU_LOG_ERR)
		pr_notice("usb4emu: %s\n", line);
	else
		pr_info("usb4emu: %s\n", line);
}

/* The capture is a file of the host: it is written under the lock. */
static int um_emu_capture_open(void *priv, const char *path)
{
	struct um_emu *um = priv;
	int fd;

	fd = os_open_file(path, of_create(of_trunc(of_write(OPENFLAGS()))), 0644);
	if (fd < 0)
		return fd;
	um->capture_fd = fd;
	return 0;
}

static bool um_emu_capture_write(void *priv, const void *buf, size_t len)
{
	struct um_emu *um = priv;

	return os_write_file(um->capture_fd, buf, len) == len;
}

static void um_emu_capture_close(void *priv)
{
	struct um_emu *um = priv;

	os_close_file(um->capture_fd);
}

/* The TSC is calibrated over the module's whole life, at no cost. */
static void um_emu_stats(void *priv, void (*out)(void *arg, const char *text),
			 void *arg)
{
	struct um_emu *um = priv;
	u64 tsc = __builtin_ia32_rdtsc() - um->start_tsc;
	u64 ns = os_nsecs() - um->start_ns;
	char line[64];

	snprintf(line, sizeof(line), "um.own_ns %llu\n",
		 mul_u64_u64_div_u64(um->own_tsc, ns, max(tsc, 1ULL)));
	out(arg, line);
	snprintf(line, sizeof(line), "um.entries %llu\n", um->entries);
	out(arg, line);
}

static const struct emu_ops um_emu_ops = {
	.dma = um_emu_dma,
	.irq = um_emu_irq,
	.now = um_emu_now,
	.log = um_emu_log,
	.capture_open = um_emu_capture_open,
	.capture_write = um_emu_capture_write,
	.capture_close = um_emu_capture_close,
	.stats = um_emu_stats,
};

static void um_emu_cable_out(void *arg, const char *text)
{
	if (!strncmp(text, "error", 5))
		pr_err("usb4emu: cable %s: %s", (const char *)arg, text);
}

/* um_emu_cable() - plug the cables of the module's parameter */
static int um_emu_cable(struct um_emu *um)
{
	unsigned long flags;
	unsigned int i;
	char line[64];
	int err = 0;

	if (routers < 2)
		return 0;
	for (i = 0; i < nr_cables && !err; i++) {
		if (!strcmp(cable[i], "none"))
			continue;
		snprintf(line, sizeof(line), "plug %s", cable[i]);
		strreplace(line, '-', ' ');
		flags = um_emu_enter(um);
		err = emu_command(um->core, line, um_emu_cable_out, cable[i]);
		um_emu_leave(um, flags);
	}
	return err;
}

static void um_emu_free(struct um_emu *um)
{
	/* The drivers are gone, but a moderated interrupt may be due. */
	hrtimer_cancel(&um->timer);
	emu_free(um->core);
	kfree(um);
}

static int __init um_emu_init(void)
{
	const struct emu_config cfg = {
		.nr_routers = routers + stranger,
		.usb4_version = usb4 ?: (gen == 4 ? 2 : 1),
		.gen = gen,
		.hop_count = hops,
		.stranger = stranger,
		.single_msi = single_msi,
		.own_msi = true,
		.no_moderation = no_moderation,
		.verbose = verbose,
	};
	struct um_emu *um;
	int err;

	if (routers > UM_EMU_MAX_ROUTERS)
		return -EINVAL;

	um = kzalloc_obj(*um);
	if (!um)
		return -ENOMEM;

	raw_spin_lock_init(&um->lock);
	um->armed = EMU_NEVER;
	um->start_tsc = __builtin_ia32_rdtsc();
	um->start_ns = os_nsecs();
	hrtimer_setup(&um->timer, um_emu_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_HARD);

	um->core = emu_new(&cfg, &um_emu_ops, um);
	if (!um->core) {
		kfree(um);
		return -EINVAL;
	}

	err = um_emu_cable(um);
	if (err)
		goto err_free;

	err = um_emu_pci_register(um, routers);
	if (err)
		goto err_free;

	err = um_emu_chardev_register(um);
	if (err)
		goto err_pci;

	um_emu = um;
	return 0;

err_pci:
	um_emu_pci_unregister(um);
err_free:
	um_emu_free(um);
	return err;
}

static void __exit um_emu_exit(void)
{
	um_emu_chardev_unregister();
	um_emu_pci_unregister(um_emu);
	um_emu_free(um_emu);
}

module_init(um_emu_init);
module_exit(um_emu_exit);
MODULE_DESCRIPTION("Emulated USB4 host interfaces for User Mode Linux");
MODULE_LICENSE("GPL");
