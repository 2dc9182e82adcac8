// SPDX-License-Identifier: GPL-2.0
/*
 * The core without a transport, on a clock that stands still: what depends on
 * time to the nanosecond, and the MSI-X table, which QEMU keeps elsewhere.
 */
#include "../emu.h"
#include "tap.h"

#define CORE_RING	8
#define CORE_ITR	10
#define CORE_INTERVAL	(CORE_ITR * 256)

static u64 core_mem[512];
static u64 core_time;
static u32 core_irqs[EMU_NR_VECTORS];
static bool core_deaf;

static void *core_dma(void *priv, u32 r, u64 addr, size_t *len, bool write)
{
	if (addr >= sizeof(core_mem))
		return NULL;
	*len = min_t(size_t, *len, sizeof(core_mem) - addr);
	return (u8 *)core_mem + addr;
}

static bool core_irq(void *priv, u32 r, u32 vec)
{
	if (core_deaf)
		return false;
	core_irqs[vec]++;
	return true;
}

static u64 core_now(void *priv)
{
	return core_time;
}

static void core_log(void *priv, enum emu_log_level level, const char *line)
{
}

static const struct emu_ops core_ops = {
	.dma = core_dma, .irq = core_irq, .now = core_now, .log = core_log,
};

static struct emu *core_start(bool single_msi)
{
	struct emu_config cfg = {
		.nr_routers = 1, .usb4_version = 2, .gen = 4, .hop_count = 16,
		.single_msi = single_msi, .own_msi = true,
	};
	struct emu *e;

	core_time = 1000000;
	e = emu_new(&cfg, &core_ops, NULL);
	check(e);
	emu_pci_write(e, 0, PCI_CMD, PCI_CMD_MASTER, 2);
	emu_pci_write(e, 0, PCI_MSI_CTRL, single_msi ? PCI_MSI_ENABLE : PCI_MSIX_ENABLE, 2);
	/* Transmit ring 1 on vector 3, its frames lead nowhere */
	emu_mmio_write(e, 0, NHI_TX_RING + 16, 0, 8);
	emu_mmio_write(e, 0, NHI_TX_RING + 28, CORE_RING, 4);
	emu_mmio_write(e, 0, NHI_TX_OPTIONS + 32, NHI_OPT_ENABLE, 4);
	emu_mmio_write(e, 0, NHI_IVR, 3 << 4, 4);
	emu_mmio_write(e, 0, NHI_INTERRUPT, BIT(1), 4);
	return e;
}

static void core_send(struct emu *e)
{
	u32 next = (e->router[0].tx[1].dev + 1) % CORE_RING;

	core_mem[2 * e->router[0].tx[1].dev + 1] = DESC_INTERRUPT | 16;
	emu_mmio_write(e, 0, NHI_TX_RING + 24, next << 16, 4);
}

static void core_unmask(struct emu *e, u32 vec, bool on)
{
	emu_msix_write(e, 0, 16 * vec + 12, !on, 4);
}

static void core_checks_config(void)
{
	static const struct emu_config bad[] = {
		{ .nr_routers = 0, .usb4_version = 2, .gen = 4, .hop_count = 16 },
		{ .nr_routers = EMU_MAX_ROUTERS + 1, .usb4_version = 2, .gen = 4, .hop_count = 16 },
		{ .nr_routers = 1, .usb4_version = 3, .gen = 4, .hop_count = 16 },
		{ .nr_routers = 1, .usb4_version = 2, .gen = 2, .hop_count = 16 },
		{ .nr_routers = 1, .usb4_version = 2, .gen = 4, .hop_count = 2 },
		{ .nr_routers = 1, .usb4_version = 2, .gen = 4, .hop_count = 17 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		check(!emu_new(&bad[i], &core_ops, NULL));
}

static void core_keeps_msix_table(void)
{
	struct emu *e = core_start(false);

	/* Masked after reset: latched, and sent when it is unmasked. */
	check_eq(emu_msix_read(e, 0, 16 * 3 + 12, 4), 1);
	core_send(e);
	check_eq(core_irqs[3], 0);
	check_eq(emu_msix_read(e, 0, MSIX_PBA, 8), BIT(3));
	emu_msix_write(e, 0, 16 * 3, 0x12345678fee00000ULL, 8);
	emu_msix_write(e, 0, 16 * 3 + 8, 0x4041, 4);
	core_unmask(e, 3, true);
	check_eq(core_irqs[3], 1);
	check_eq(emu_msix_read(e, 0, MSIX_PBA, 8), 0);
	check_eq(emu_msi_address(e, 0, 3), 0x12345678fee00000ULL);
	check_eq(emu_msi_data(e, 0, 3), 0x4041);
	/* The function's mask, and its enable bit */
	emu_pci_write(e, 0, PCI_MSI_CTRL, PCI_MSIX_ENABLE | PCI_MSIX_MASKALL, 2);
	core_send(e);
	check_eq(core_irqs[3], 1);
	emu_pci_write(e, 0, PCI_MSI_CTRL, PCI_MSIX_ENABLE, 2);
	check_eq(core_irqs[3], 2);
	emu_pci_write(e, 0, PCI_MSI_CTRL, 0, 2);
	core_send(e);
	check_eq(core_irqs[3], 2);
	/* Nonsense is refused. */
	check_eq(emu_msix_read(e, 0, 2, 4), ~0ULL);
	check_eq(emu_msix_read(e, 0, EMU_BAR2_SIZE, 4), ~0ULL);
	emu_free(e);
}

static void core_gates_single_msi(void)
{
	struct emu *e = core_start(true);

	emu_pci_write(e, 0, PCI_MSI_CAP + 4, 0xfee01000, 4);
	emu_pci_write(e, 0, PCI_MSI_CAP + 12, 0x4055, 2);
	core_send(e);
	check_eq(core_irqs[0], 1);
	check_eq(emu_msi_address(e, 0, 0), 0xfee01000);
	check_eq(emu_msi_data(e, 0, 0), 0x4055);
	emu_pci_write(e, 0, PCI_MSI_CTRL, 0, 2);
	core_send(e);
	check_eq(core_irqs[0], 1);
	emu_pci_write(e, 0, PCI_MSI_CTRL, PCI_MSI_ENABLE, 2);
	check_eq(core_irqs[0], 2);
	emu_free(e);
}

static void core_moderates_exactly(void)
{
	struct emu *e = core_start(false);
	u32 i;

	core_unmask(e, 3, true);
	emu_mmio_write(e, 0, NHI_ITR + 12, CORE_ITR, 4);
	check_eq(emu_deadline(e), EMU_NEVER);
	for (i = 0; i < 5; i++)
		core_send(e);
	check_eq(core_irqs[3], 1);
	check_eq(emu_deadline(e), 1000000 + CORE_INTERVAL);
	core_time += CORE_INTERVAL - 1;
	check_eq(emu_run_timers(e), 1000000 + CORE_INTERVAL);
	check_eq(core_irqs[3], 1);
	core_time++;
	check_eq(emu_run_timers(e), EMU_NEVER);
	check_eq(core_irqs[3], 2);
	/* The interval counts from the message, not from the completion. */
	core_time += CORE_INTERVAL - 1;
	core_send(e);
	check_eq(core_irqs[3], 2);
	core_time++;
	emu_run_timers(e);
	check_eq(core_irqs[3], 3);
	/* Cleared before it was due */
	core_send(e);
	emu_mmio_write(e, 0, NHI_INT_CLEAR, BIT(1), 4);
	core_time += CORE_INTERVAL;
	check_eq(emu_run_timers(e), EMU_NEVER);
	check_eq(core_irqs[3], 3);
	/* Idle for long: at once */
	core_time += 100 * CORE_INTERVAL;
	core_send(e);
	check_eq(core_irqs[3], 4);
	emu_free(e);
}

static void core_keeps_undeliverable(void)
{
	struct emu *e = core_start(false);

	core_unmask(e, 3, true);
	core_deaf = true;
	core_send(e);
	core_send(e);
	check_eq(core_irqs[3], 0);
	check_eq(emu_run_timers(e), EMU_NEVER);
	core_deaf = false;
	emu_irq_retry(e, 0);
	check_eq(core_irqs[3], 1);
	emu_irq_retry(e, 0);
	check_eq(core_irqs[3], 1);
	emu_free(e);
}

TAP_GROUP(core_tests,
	  TAP_TEST(core_checks_config),
	  TAP_TEST(core_keeps_msix_table),
	  TAP_TEST(core_gates_single_msi),
	  TAP_TEST(core_moderates_exactly),
	  TAP_TEST(core_keeps_undeliverable));
