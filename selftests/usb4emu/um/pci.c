// SPDX-License-Identifier: GPL-2.0
/*
 * The routers' host interfaces on UML's PCI bus.
 *
 * A register access of the driver is a function call into the core. MSI and
 * MSI-X live in the core as well: UML writes the number of the interrupt into
 * the message, and um_raise_irq() delivers it without a system call.
 */

#include <linux/pci.h>
#include <linux/unaligned.h>

#include "um.h"

static struct um_emu_dev *um_emu_dev(struct um_pci_device *pdev)
{
	return container_of(pdev, struct um_emu_dev, pdev);
}

static unsigned long um_emu_cfg_read(struct um_pci_device *pdev,
				     unsigned int off, int size)
{
	struct um_emu_dev *d = um_emu_dev(pdev);
	unsigned long flags, val;

	if (off + size > EMU_PCI_CFG_SIZE)
		return ULONG_MAX;

	flags = um_emu_enter(d->um);
	val = emu_pci_read(d->um->core, d->router, off, min(size, 4));
	if (size == 8)
		val |= (u64)emu_pci_read(d->um->core, d->router, off + 4, 4) << 32;
	um_emu_leave(d->um, flags);
	return val;
}

static void um_emu_cfg_write(struct um_pci_device *pdev, unsigned int off,
			     int size, unsigned long val)
{
	struct um_emu_dev *d = um_emu_dev(pdev);
	unsigned long flags;

	if (off + size > EMU_PCI_CFG_SIZE)
		return;

	flags = um_emu_enter(d->um);
	emu_pci_write(d->um->core, d->router, off, val, min(size, 4));
	if (size == 8)
		emu_pci_write(d->um->core, d->router, off + 4, val >> 32, 4);
	um_emu_leave(d->um, flags);
}

static unsigned long um_emu_bar_read(struct um_pci_device *pdev, int bar,
				     unsigned int off, int size)
{
	struct um_emu_dev *d = um_emu_dev(pdev);
	unsigned long flags, val = ULONG_MAX;

	flags = um_emu_enter(d->um);
	if (bar == 0)
		val = emu_mmio_read(d->um->core, d->router, off, size);
	else if (bar == 2)
		val = emu_msix_read(d->um->core, d->router, off, size);
	um_emu_leave(d->um, flags);
	return val;
}

static void um_emu_bar_write(struct um_pci_device *pdev, int bar,
			     unsigned int off, int size, unsigned long val)
{
	struct um_emu_dev *d = um_emu_dev(pdev);
	unsigned long flags;

	flags = um_emu_enter(d->um);
	if (bar == 0)
		emu_mmio_write(d->um->core, d->router, off, val, size);
	else if (bar == 2)
		emu_msix_write(d->um->core, d->router, off, val, size);
	um_emu_leave(d->um, flags);
}

/* memcpy_fromio() and its like: dword accesses, as a bus would see them */
static void um_emu_bar_copy_from(struct um_pci_device *pdev, int bar,
				 void *buf, unsigned int off, int size)
{
	for (; size >= 4; size -= 4, off += 4, buf += 4)
		put_unaligned_le32(um_emu_bar_read(pdev, bar, off, 4), buf);
}

static void um_emu_bar_copy_to(struct um_pci_device *pdev, int bar,
			       unsigned int off, const void *buf, int size)
{
	for (; size >= 4; size -= 4, off += 4, buf += 4)
		um_emu_bar_write(pdev, bar, off, 4, get_unaligned_le32(buf));
}

static void um_emu_bar_set(struct um_pci_device *pdev, int bar,
			   unsigned int off, u8 val, int size)
{
	for (; size >= 4; size -= 4, off += 4)
		um_emu_bar_write(pdev, bar, off, 4, val * 0x01010101U);
}

static const struct um_pci_ops um_emu_pci_ops = {
	.cfgspace_read = um_emu_cfg_read,
	.cfgspace_write = um_emu_cfg_write,
	.bar_read = um_emu_bar_read,
	.bar_write = um_emu_bar_write,
	.bar_copy_from = um_emu_bar_copy_from,
	.bar_copy_to = um_emu_bar_copy_to,
	.bar_set = um_emu_bar_set,
};

/**
 * um_emu_pci_register() - put the routers on the PCI bus
 * @um: the emulator
 * @nr_routers: how many
 *
 * A driver that is loaded already probes them before this returns.
 *
 * Return: 0 or a negative errno, with nothing registered.
 */
int um_emu_pci_register(struct um_emu *um, u32 nr_routers)
{
	struct um_emu_dev *d;
	int err;

	while (um->nr_devs < nr_routers) {
		d = &um->devs[um->nr_devs];
		d->um = um;
		d->router = um->nr_devs;
		d->pdev.ops = &um_emu_pci_ops;

		err = um_pci_device_register(&d->pdev);
		if (err) {
			um_emu_pci_unregister(um);
			return err;
		}
		um->nr_devs++;
	}
	return 0;
}

/**
 * um_emu_pci_unregister() - unbind the drivers and remove the routers
 * @um: the emulator, still working for the drivers' sake
 */
void um_emu_pci_unregister(struct um_emu *um)
{
	while (um->nr_devs)
		um_pci_device_unregister(&um->devs[--um->nr_devs].pdev);
}
