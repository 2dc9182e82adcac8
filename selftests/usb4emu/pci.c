// SPDX-License-Identifier: GPL-2.0
/*
 * PCI configuration space: header, power management with PME, MSI-X or MSI.
 */
#include "emu.h"

#define EMU_PCI_CLASS		0x0c034001	/* USB4 host interface, revision 1 */
#define EMU_PCI_SUBSYSTEM	0x11001b36
#define EMU_PCI_STATUS_CAP	BIT(20)		/* in the dword of command and status */
#define EMU_PMC			0xc803		/* version 3, PME from D0, D3hot, D3cold */

/**
 * struct emu_pci_reg - a dword of configuration space
 * @off: byte offset
 * @reset: value after reset
 * @write: bits the guest can write
 * @w1c: bits the guest clears by writing one
 */
struct emu_pci_reg {
	u32 off;
	u32 reset;
	u32 write;
	u32 w1c;
};

static const struct emu_pci_reg emu_pci_common[] = {
	{ 0x00, PCI_VENDOR | PCI_DEVICE << 16, 0, 0 },
	{ PCI_CMD, EMU_PCI_STATUS_CAP, 0x0546, 0xf9000000 },
	{ 0x08, EMU_PCI_CLASS, 0, 0 },
	{ 0x0c, 0, 0x0000ffff, 0 },
	{ PCI_BAR0, 0x4, ~(u32)(EMU_BAR0_SIZE - 1), 0 },
	{ PCI_BAR0 + 4, 0, ~0U, 0 },
	{ PCI_BAR2, 0, ~(u32)(EMU_BAR2_SIZE - 1), 0 },
	{ 0x2c, EMU_PCI_SUBSYSTEM, 0, 0 },
	{ 0x34, PCI_PM_CAP, 0, 0 },
	{ 0x3c, 0, 0xff, 0 },
	{ PCI_PM_CAP, 0x01 | PCI_MSI_CAP << 8 | (u32)EMU_PMC << 16, 0, 0 },
	{ PCI_PMCSR, PCI_PMCSR_NO_SOFT_RESET, PCI_PMCSR_STATE | PCI_PMCSR_PME_EN,
	  PCI_PMCSR_PME_STATUS },
};

static const struct emu_pci_reg emu_pci_msix[] = {
	{ PCI_MSI_CAP, 0x11 | (EMU_NR_VECTORS - 1) << 16, 0xc0000000, 0 },
	{ PCI_MSI_CAP + 4, 2, 0, 0 },
	{ PCI_MSI_CAP + 8, MSIX_PBA | 2, 0, 0 },
};

static const struct emu_pci_reg emu_pci_msi[] = {
	{ PCI_MSI_CAP, 0x05 | 0x0080 << 16, 0x00010000, 0 },
	{ PCI_MSI_CAP + 4, 0, ~3U, 0 },
	{ PCI_MSI_CAP + 8, 0, ~0U, 0 },
	{ PCI_MSI_CAP + 12, 0, 0xffff, 0 },
};

static const struct emu_pci_reg *emu_pci_table(const struct emu_router *rt, u32 nr, u32 *len)
{
	if (!nr) {
		*len = ARRAY_SIZE(emu_pci_common);
		return emu_pci_common;
	}
	if (rt->e->cfg.single_msi) {
		*len = ARRAY_SIZE(emu_pci_msi);
		return emu_pci_msi;
	}
	*len = ARRAY_SIZE(emu_pci_msix);
	return emu_pci_msix;
}

static const struct emu_pci_reg *emu_pci_find(const struct emu_router *rt, u32 off)
{
	u32 nr, i, len;

	for (nr = 0; nr < 2; nr++) {
		const struct emu_pci_reg *table = emu_pci_table(rt, nr, &len);

		for (i = 0; i < len; i++)
			if (table[i].off == off)
				return &table[i];
	}
	return NULL;
}

u32 emu_pci_get(const struct emu_router *rt, u32 off, u32 size)
{
	u32 val = 0;

	memcpy(&val, rt->pci + off, size);
	return le32_to_cpu(val);
}

void emu_pci_set(struct emu_router *rt, u32 off, u32 val, u32 size)
{
	val = cpu_to_le32(val);
	memcpy(rt->pci + off, &val, size);
}

void emu_pci_reset(struct emu_router *rt)
{
	u32 nr, i, len;

	memset(rt->pci, 0, sizeof(rt->pci));
	for (nr = 0; nr < 2; nr++) {
		const struct emu_pci_reg *table = emu_pci_table(rt, nr, &len);

		for (i = 0; i < len; i++)
			emu_pci_set(rt, table[i].off, table[i].reset, 4);
	}
}

bool emu_pci_asleep(const struct emu_router *rt)
{
	return emu_pci_get(rt, PCI_PMCSR, 2) & PCI_PMCSR_STATE;
}

bool emu_pci_master(const struct emu_router *rt)
{
	return emu_pci_get(rt, PCI_CMD, 2) & PCI_CMD_MASTER;
}

/* A wake event while asleep: the system polls PME status. */
void emu_pci_wake(struct emu_router *rt)
{
	u32 pmcsr = emu_pci_get(rt, PCI_PMCSR, 2);

	if (!(pmcsr & PCI_PMCSR_PME_EN) || !(pmcsr & PCI_PMCSR_STATE))
		return;
	emu_info(rt->e, "router %u: PME", rt->nr);
	emu_pci_set(rt, PCI_PMCSR, pmcsr | PCI_PMCSR_PME_STATUS, 2);
}

static bool emu_pci_valid(struct emu_router *rt, u32 off, u32 size)
{
	if ((size == 1 || size == 2 || size == 4) && !(off % size) && off < 0x1000)
		return true;
	emu_guest_error(rt, "bad configuration access at %#x size %u", off, size);
	return false;
}

/* Beyond the first 256 bytes there is no capability: reads as zero. */
u32 emu_pci_read(struct emu *e, u32 r, u32 off, u32 size)
{
	struct emu_router *rt = &e->router[r];

	if (!emu_pci_valid(rt, off, size) || rt->no_power)
		return ~0U;
	if (off >= EMU_PCI_CFG_SIZE)
		return 0;
	return emu_pci_get(rt, off, size);
}

void emu_pci_write(struct emu *e, u32 r, u32 off, u32 val, u32 size)
{
	struct emu_router *rt = &e->router[r];
	const struct emu_pci_reg *reg;
	u32 old, new, lanes, shift;

	if (!emu_pci_valid(rt, off, size) || off >= EMU_PCI_CFG_SIZE || rt->no_power)
		return;
	reg = emu_pci_find(rt, off & ~3U);
	if (!reg)
		return;
	shift = off % 4 * 8;
	lanes = (size == 4 ? ~0U : (1U << size * 8) - 1) << shift;
	val = val << shift & lanes;
	old = emu_pci_get(rt, reg->off, 4);
	new = (old & ~(reg->write & lanes)) | (val & reg->write);
	new &= ~(val & reg->w1c);
	emu_pci_set(rt, reg->off, new, 4);
	emu_log(e, EMU_LOG_TRACE, "router %u: pci %#x/%u: %08x", r, off, size, val);
	if (reg->off == PCI_MSI_CAP)
		emu_msi_unmasked(rt);
}
