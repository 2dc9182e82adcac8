// SPDX-License-Identifier: GPL-2.0
/*
 * PCI configuration space and power states.
 */
#include "bed.h"

static void pci_has_header(void)
{
	struct host *h = &hosts[0];

	bed_start(1, NULL);
	host_start(h);
	check_eq(host_cfg_read(h, 0, 4), PCI_VENDOR | PCI_DEVICE << 16);
	check_eq(host_cfg_read(h, 8, 4) >> 8, 0x0c0340);
	check_eq(host_cfg_read(h, 6, 2) & 0x10, 0x10);
	check_eq(host_cfg_read(h, 0x34, 1), PCI_PM_CAP);
	check_eq(host_cfg_read(h, PCI_PM_CAP, 2), 0x01 | PCI_MSI_CAP << 8);
	check_eq(host_cfg_read(h, PCI_MSI_CAP, 4), 0x11 | 15 << 16);
	check_eq(host_cfg_read(h, 0x200, 4), 0);
	host_cfg_write(h, 0, 0, 4);
	check_eq(host_cfg_read(h, 0, 2), PCI_VENDOR);
	bed_stop();
}

static void pci_sizes_bars(void)
{
	struct host *h = &hosts[0];
	u32 i;

	bed_start(1, NULL);
	host_start(h);
	for (i = 0; i < 6; i++)
		host_cfg_write(h, PCI_BAR0 + 4 * i, ~0U, 4);
	check_eq(host_cfg_read(h, 0x10, 4), 0xfffc0004);	/* 256 KiB, 64 bit */
	check_eq(host_cfg_read(h, 0x14, 4), ~0U);
	check_eq(host_cfg_read(h, 0x18, 4), 0xfffff000);
	check_eq(host_cfg_read(h, 0x1c, 4), 0);
	/* A byte reaches its own bits only. */
	host_cfg_write(h, 0x1a, 0x12, 1);
	check_eq(host_cfg_read(h, 0x18, 4), 0xff12f000);
	bed_stop();
}

static void pci_offers_single_msi(void)
{
	u32 info[4] = { 16, 0, 1, 0 }, len = sizeof(info);
	struct host *h = &hosts[0];

	bed_start(1, "-m");
	host_start(h);
	check_eq(host_cfg_read(h, PCI_MSI_CAP, 4) & 0xffff00ff, 0x00800005);
	check_eq(host_request(h, CMD_IRQ_INFO, info, 16, NULL, 0, info, &len), 0);
	check_eq(info[3], 1);
	bed_stop();
}

static void pci_sleeps(void)
{
	struct host *h = &hosts[0];

	bed_start(1, NULL);
	host_start(h);
	host_cfg_write(h, PCI_PMCSR, 3, 2);
	check_eq(host_read(h, NHI_CAPS), ~0U);
	check_eq(bed_stat("0.guest_errors"), 1);
	check(strstr(bed_cmd("status"), "router 0 attached version 2 hops 16 power asleep"));
	host_cfg_write(h, PCI_PMCSR, 0, 2);
	check_eq(host_read(h, NHI_CAPS), 16 | 0x40 << 16);
	bed_stop();
}

/* Plugged while asleep: PME, and the event when the control channel returns. */
static void pci_wakes_on_plug(void)
{
	struct host *h = &hosts[0];

	bed_start(2, "-u");
	host_start(h);
	host_start(&hosts[1]);
	host_ctl_start(h);
	host_space_write(h, SPACE_PORT, 1, ADP_CS_5, 0);		/* events on */
	host_space_write(h, SPACE_PORT, 1, PORT_CS_19, BIT(16));	/* wake on connect */
	host_ring_stop(h, false, 0);
	host_ring_stop(h, true, 0);
	host_cfg_write(h, PCI_PMCSR, 3 | PCI_PMCSR_PME_EN, 2);
	bed_cmd("plug 0.1 1.1");
	check(host_cfg_read(h, PCI_PMCSR, 2) & PCI_PMCSR_PME_STATUS);
	/* Status is cleared by writing one, and by nothing else. */
	host_cfg_write(h, PCI_PMCSR, 3 | PCI_PMCSR_PME_EN, 2);
	check(host_cfg_read(h, PCI_PMCSR, 2) & PCI_PMCSR_PME_STATUS);
	host_cfg_write(h, PCI_PMCSR, PCI_PMCSR_PME_STATUS, 2);
	check_eq(host_cfg_read(h, PCI_PMCSR, 2), PCI_PMCSR_NO_SOFT_RESET);
	host_ctl_start(h);
	host_expect_event(h, 1, false);
	bed_stop();
}

static void pci_sleeps_on_without_wake(void)
{
	struct host *h = &hosts[0];

	bed_start(2, "-u");
	host_start(h);
	host_start(&hosts[1]);
	host_ctl_start(h);
	host_space_write(h, SPACE_PORT, 1, ADP_CS_5, 0);
	host_ring_stop(h, false, 0);
	host_cfg_write(h, PCI_PMCSR, 3 | PCI_PMCSR_PME_EN, 2);
	bed_cmd("plug 0.1 1.1");
	check(!(host_cfg_read(h, PCI_PMCSR, 2) & PCI_PMCSR_PME_STATUS));
	bed_stop();
}

/* Without bus mastering there is no way to memory. */
static void pci_gates_dma(void)
{
	u32 req[3] = { 0, 0, 1 << 13 | SPACE_ROUTER << 25 };
	struct host *h = &hosts[0];
	u32 dw[CTL_MAX_DWORDS], n;

	bed_start(1, NULL);
	host_start(h);
	host_ctl_start(h);
	host_cfg_write(h, PCI_CMD, 2, 2);
	host_tx(h, 0, req, 12, 0, CTL_READ);
	check(!host_tx_done(h, 0));
	check(bed_stat("0.dma_errors") > 0);
	host_cfg_write(h, PCI_CMD, 2 | PCI_CMD_MASTER, 2);
	host_ctl_send(h, CTL_READ, req, 3);
	check_eq(host_ctl_receive(h, dw, &n, 0), CTL_READ);
	bed_stop();
}

TAP_GROUP(pci_tests,
	  TAP_TEST(pci_has_header),
	  TAP_TEST(pci_sizes_bars),
	  TAP_TEST(pci_offers_single_msi),
	  TAP_TEST(pci_sleeps),
	  TAP_TEST(pci_wakes_on_plug),
	  TAP_TEST(pci_sleeps_on_without_wake),
	  TAP_TEST(pci_gates_dma));
