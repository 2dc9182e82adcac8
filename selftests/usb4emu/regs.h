/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers and formats of a USB4 host router, as its drivers see them:
 * the host interface's BAR, ring descriptors, control packets, and the
 * configuration spaces of router and adapters.
 */
#ifndef USB4EMU_REGS_H
#define USB4EMU_REGS_H

#include "env.h"

/* Host interface, BAR 0 */
#define NHI_TX_RING		0x00000	/* 16 bytes per ring */
#define NHI_RX_RING		0x08000
#define NHI_RING_STRIDE		16
#define NHI_RING_BASE_LO	0
#define NHI_RING_BASE_HI	4
#define NHI_RING_INDEX		8	/* TX: producer 31:16; RX: consumer 15:0 */
#define NHI_RING_SIZE		12	/* count 15:0; RX: frame size 31:16 */
#define NHI_TX_OPTIONS		0x19800	/* 32 bytes per ring */
#define NHI_RX_OPTIONS		0x29800
#define NHI_OPTIONS_STRIDE	32
#define NHI_OPT_ENABLE		BIT(31)
#define NHI_OPT_RAW		BIT(30)
#define NHI_OPT_E2E		BIT(28)
#define NHI_NOTIFY		0x37800	/* TX, RX, RX overflow: a bit per ring each */
#define NHI_INT_CLEAR		0x37808
#define NHI_INTERRUPT		0x38200	/* TX, RX; set is enabled */
#define NHI_MASK_CLEAR		0x38208
#define NHI_ITR			0x38c00	/* 256 ns units, a word per vector */
#define NHI_IVR			0x38c40	/* 4 bits per ring */
#define NHI_CAPS		0x39640	/* hop count 10:0, version 23:16 */
#define NHI_DMA_MISC		0x39864
#define NHI_DMA_MISC_NO_AUTO_CLEAR BIT(17)
#define NHI_RESET		0x39898
#define NHI_RESET_HRR		BIT(0)

/* Ring descriptor, second 32-bit word of the little-endian {phys, word, time} */
#define DESC_SIZE		16
#define DESC_LEN(w)		((w) & 0xfff)
#define DESC_EOF(w)		((w) >> 12 & 0xf)
#define DESC_SOF(w)		((w) >> 16 & 0xf)
#define DESC_CRC_ERROR		BIT(20)
#define DESC_COMPLETED		BIT(21)
#define DESC_OVERRUN		BIT(22)	/* "posted" until completed */
#define DESC_INTERRUPT		BIT(23)
#define DESC_MAX_FRAME		4096
#define DESC_PACKET		256	/* what a frame travels in */

/* Control packets: packet types are the EOF of their descriptors */
enum ctl_type {
	CTL_READ = 1,
	CTL_WRITE = 2,
	CTL_ERROR = 3,
	CTL_NOTIFY_ACK = 4,
	CTL_EVENT = 5,
	CTL_XDOMAIN_REQ = 6,
	CTL_XDOMAIN_RESP = 7,
	CTL_NR_TYPES
};

#define CTL_MAX_DWORDS		64	/* with the CRC */
#define CTL_MAX_DATA		60
#define CTL_FROM_ROUTER		BIT(31)	/* in the first dword */
#define CTL_ROUTE_HI		GENMASK(21, 0)
#define CTL_ADDR_OFFSET(a)	((a) & 0x1fff)
#define CTL_ADDR_LEN(a)		((a) >> 13 & 0x3f)
#define CTL_ADDR_PORT(a)	((a) >> 19 & 0x3f)
#define CTL_ADDR_PORT_MASK	GENMASK(24, 19)
#define CTL_ADDR_SPACE(a)	((a) >> 25 & 0x3)

enum ctl_space {
	SPACE_HOPS,
	SPACE_PORT,
	SPACE_ROUTER,
	SPACE_COUNTERS,
};

enum ctl_error {
	CTL_ERR_NOT_CONNECTED = 0,
	CTL_ERR_INVALID_SPACE = 2,
	CTL_ERR_NO_SUCH_PORT = 4,
	CTL_ERR_ACK_PLUG = 7,
	CTL_ERR_OTHER_DOMAIN = 9,
};

#define CTL_ACK_PG_PLUG		2
#define CTL_ACK_PG_UNPLUG	3
#define CTL_EVENT_UNPLUG	BIT(31)

/* Configuration spaces, in dwords */
#define CFG_DWORDS		256
#define CFG_ID			0x4e481d6b

#define RTR_CS_1		0x01
#define RTR_CS_4		0x04
#define RTR_CS_5		0x05
#define RTR_CS_5_SLP		BIT(0)
#define RTR_CS_6		0x06
#define RTR_CS_6_SLPR		BIT(0)
#define RTR_CS_6_TNS		BIT(1)
#define RTR_CS_6_RR		BIT(24)
#define RTR_CS_6_CR		BIT(25)
#define RTR_CS_7		0x07
#define RTR_CS_8		0x08
#define RTR_OP_DATA		0x09	/* 16 dwords */
#define RTR_OP_META		0x19
#define RTR_OP			0x1a
#define RTR_OP_OPCODE		GENMASK(15, 0)
#define RTR_OP_STATUS		GENMASK(29, 24)
#define RTR_OP_UNSUPPORTED	BIT(30)
#define RTR_OP_VALID		BIT(31)
#define RTR_OP_BUFFER_ALLOC	0x33
#define RTR_TMU			0x40
#define RTR_TMU_UCAP		BIT(30)

#define ADP_TYPE_LANE		1
#define ADP_TYPE_NHI		2
#define ADP_CS_1		0x01
#define ADP_CS_2		0x02
#define ADP_CS_3		0x03
#define ADP_CS_4		0x04
#define ADP_CS_4_NFC		GENMASK(9, 0)
#define ADP_CS_4_TOTAL(n)	((u32)(n) << 20)
#define ADP_CS_4_LCK		BIT(31)
#define ADP_CS_5		0x05
#define ADP_CS_5_HOPS		GENMASK(21, 0)	/* largest HopIDs, in and out */
#define ADP_CS_5_LCA		GENMASK(28, 22)
#define ADP_CS_5_DHP		BIT(31)

#define LANE_CAP		0x10
#define LANE_CS_1		0x11
#define LANE_CS_1_TARGET_WIDTH(v) ((v) >> 4 & 0x3)
#define LANE_CS_1_LD		BIT(14)
#define LANE_CS_1_LB		BIT(15)
#define LANE_CS_1_SPEED		GENMASK(19, 16)
#define LANE_CS_1_WIDTH		GENMASK(25, 20)
#define LANE_CS_1_STATE		GENMASK(29, 26)
#define LANE_WIDTH_DUAL		3
#define LANE_STATE_DISABLED	0
#define LANE_STATE_UP		2
#define LANE_STATE_UNPLUGGED	7

#define PORT_CAP		0x20
#define PORT_CS_1		0x21
#define PORT_CS_1_TARGET(v)	((v) >> 16 & 0x7)
#define PORT_CS_1_NR		BIT(25)
#define PORT_CS_1_RC		BIT(26)
#define PORT_CS_1_PND		BIT(31)
#define PORT_CS_2		0x22	/* sideband data, 16 dwords */
#define PORT_CS_18		0x32
#define PORT_CS_18_BE		BIT(8)
#define PORT_CS_19		0x33
#define PORT_CS_19_DPR		BIT(0)
#define ADP_TMU			0x60

#define CAP_LANE		1
#define CAP_TMU			3
#define CAP_USB4		6

/* Path entries, two dwords per HopID */
#define HOP_NEXT(dw0)		((dw0) & 0x7ff)
#define HOP_OUT_PORT(dw0)	((dw0) >> 11 & 0x3f)
#define HOP_CREDITS(dw0)	((dw0) >> 17 & 0x7f)
#define HOP_ENABLE		BIT(31)
#define HOP_DW0_WRITE		(~GENMASK(30, 25))
#define HOP_DW1_WRITE		GENMASK(27, 0)

/* PCI configuration space */
#define PCI_VENDOR		0x1b36
#define PCI_DEVICE		0x0f40
#define PCI_CMD			0x04
#define PCI_CMD_MASTER		BIT(2)
#define PCI_BAR0		0x10
#define PCI_BAR2		0x18
#define PCI_PM_CAP		0x40
#define PCI_PMCSR		0x44
#define PCI_PMCSR_STATE		0x0003
#define PCI_PMCSR_NO_SOFT_RESET	0x0008
#define PCI_PMCSR_PME_EN	0x0100
#define PCI_PMCSR_PME_STATUS	0x8000
#define PCI_MSI_CAP		0x50	/* MSI-X or MSI */
#define PCI_MSI_CTRL		0x52
#define PCI_MSIX_ENABLE		0x8000
#define PCI_MSIX_MASKALL	0x4000
#define PCI_MSI_ENABLE		0x0001
#define MSIX_PBA		0x800

#endif /* USB4EMU_REGS_H */
