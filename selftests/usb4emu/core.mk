# SPDX-License-Identifier: GPL-2.0
# Objects of the emulator's core, for every build that needs them.
USB4EMU_CORE := capture.o cmd.o crc32c.o ctl.o dma.o emu.o fault.o fault_cmd.o \
	hostile.o hostile_cmd.o hostile_frame.o hostile_packet.o hostile_roce.o hostile_xd.o irq.o nhi.o path.o pci.o port.o \
	ring.o router.o stats.o xdomain.o
