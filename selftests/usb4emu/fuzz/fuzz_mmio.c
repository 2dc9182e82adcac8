// SPDX-License-Identifier: GPL-2.0
/*
 * Any access to registers, MSI-X table and PCI configuration space.
 *
 * Record: u8 operation, u8 place, u16 offset, u64 value.
 */
#include "fuzz.h"

enum fuzz_op {
	FUZZ_READ,
	FUZZ_WRITE,
	FUZZ_PCI_READ,
	FUZZ_PCI_WRITE,
	FUZZ_MSIX_READ,
	FUZZ_MSIX_WRITE,
	FUZZ_TIME,
	FUZZ_EVENT,
};

/* Where registers are; an offset counts from there. */
static const u32 fuzz_places[] = {
	0, NHI_TX_RING, NHI_RX_RING, NHI_TX_OPTIONS, NHI_RX_OPTIONS, NHI_NOTIFY, NHI_INT_CLEAR,
	NHI_INTERRUPT, NHI_MASK_CLEAR, NHI_ITR, NHI_IVR, NHI_CAPS, NHI_DMA_MISC, NHI_RESET,
	EMU_BAR0_SIZE - 16, 0xffffff00,
};

static void fuzz_event(struct emu *e, u32 r, u64 val)
{
	static const char *const commands[] = {
		"unplug 0.1", "plug 0.1 1.1", "link 0.1 gen 3", "link 0.1 width 1",
		"plug 0.3 1.3", "unplug 1.3", "capture again", "plug 0.3 0.1",
	};

	switch (val % 6) {
	case 0:
		emu_reset(e, r);
		break;
	case 1:
		emu_detach(e, r);
		break;
	case 2:
		emu_attach(e, r);
		break;
	case 3:
		emu_irq_retry(e, r);
		break;
	case 4:
		emu_dma_retry(e, r);
		break;
	default:
		fuzz_command(e, commands[val / 6 % ARRAY_SIZE(commands)]);
	}
}

static void fuzz_record(struct emu *e, struct fuzz_input *in)
{
	u8 op = fuzz_u8(in), place = fuzz_u8(in);
	u32 off = fuzz_u16(in);
	u64 val = fuzz_u64(in);
	u32 r = op >> 3 & 1, size = 1 << (op >> 4 & 3);
	u32 addr = fuzz_places[place % ARRAY_SIZE(fuzz_places)] + off;

	switch ((enum fuzz_op)(op & 7)) {
	case FUZZ_READ:
		emu_mmio_read(e, r, addr, size);
		break;
	case FUZZ_WRITE:
		emu_mmio_write(e, r, addr, val, size);
		break;
	case FUZZ_PCI_READ:
		emu_pci_read(e, r, off, size);
		break;
	case FUZZ_PCI_WRITE:
		emu_pci_write(e, r, off, val, size);
		break;
	case FUZZ_MSIX_READ:
		emu_msix_read(e, r, off, size);
		break;
	case FUZZ_MSIX_WRITE:
		emu_msix_write(e, r, off, val, size);
		break;
	case FUZZ_TIME:
		fuzz_advance(e, val % 1000000000);
		break;
	case FUZZ_EVENT:
		fuzz_event(e, r, val);
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct fuzz_input in = { data, len };
	u8 mode = fuzz_u8(&in);
	struct emu *e = fuzz_start(mode & 1, mode & 2);

	fuzz_bytes(&in, fuzz_mem, min_t(size_t, in.len, 64));
	while (in.len)
		fuzz_record(e, &in);
	fuzz_stop(e);
	return 0;
}
