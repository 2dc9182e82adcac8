# SPDX-License-Identifier: GPL-2.0
# Objects of the emulator's core, for every build that needs them.
USB4EMU_CORE := capture.o cmd.o crc32c.o ctl.o dma.o emu.o fault.o fault_cmd.o irq.o nhi.o path.o pci.o port.o \
	ring.o router.o stats.o xdomain.o
