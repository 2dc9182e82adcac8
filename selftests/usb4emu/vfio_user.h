/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Server side of the vfio-user protocol for one router: messages in, replies
 * out, no sockets. Everything in a message is the client's and checked.
 */
#ifndef USB4EMU_VFIO_USER_H
#define USB4EMU_VFIO_USER_H

#include <sys/types.h>

#include "core.h"

#define VFU_MAX_DATA	65536
#define VFU_MAX_FDS	16
#define VFU_MAX_BODY	(VFU_MAX_DATA + 64)
#define VFU_MAX_MAPS	65536
#define VFU_MAX_FILES	8

struct vfu_header {
	u16 id;
	u16 cmd;
	u32 size;		/* with the header */
	u32 flags;
	u32 error;
};

#define VFU_FLAG_TYPE		0xf
#define VFU_FLAG_REPLY		BIT(0)
#define VFU_FLAG_NO_REPLY	BIT(4)
#define VFU_FLAG_ERROR		BIT(5)

/* A file of guest memory, mapped as a whole */
struct vfu_file {
	dev_t dev;
	ino_t ino;
	u64 size;
	u8 *ptr;
	bool writable;
	u32 users;		/* maps that show a part of it */
};

struct vfu_map {
	u64 addr;
	u64 size;
	u8 *ptr;
	struct vfu_file *file;
	bool writable;
};

/**
 * struct vfu_dev - one PCI function as a vfio-user device
 * @e: emulator
 * @nr: router
 * @negotiated: VERSION was exchanged
 * @irq_index: VFIO interrupt index in use, MSI or MSI-X
 * @nr_irqs: vectors
 * @irq_fd: eventfd per vector, -1 if none
 * @files: guest memory
 * @maps: what of it the guest shows, and where, by address
 * @nr_maps: how many
 * @room_maps: for how many there is room
 */
struct vfu_dev {
	struct emu *e;
	u32 nr;
	bool negotiated;
	u32 irq_index;
	u32 nr_irqs;
	int irq_fd[EMU_NR_VECTORS];
	struct vfu_file files[VFU_MAX_FILES];
	struct vfu_map *maps;
	u32 nr_maps;
	u32 room_maps;
};

/* A message as received. Descriptors in @fds belong to the handler. */
struct vfu_message {
	struct vfu_header hdr;
	const u8 *body;
	u32 len;
	int fds[VFU_MAX_FDS];
	u32 nr_fds;
};

struct vfu_reply {
	struct vfu_header hdr;
	u8 body[VFU_MAX_BODY];
};

void vfu_init(struct vfu_dev *dev, u32 nr, bool single_msi);
/* Forget the client: unmap, close, detach the router. */
void vfu_disconnect(struct vfu_dev *dev);
/* Is this a header of a message we can read on? */
bool vfu_header_valid(const struct vfu_header *hdr);
/* Returns the length of the reply, 0 if there is none. */
u32 vfu_handle(struct vfu_dev *dev, struct vfu_message *msg, struct vfu_reply *reply);

/* emu_ops */
void *vfu_dma(struct vfu_dev *dev, u64 addr, size_t *len, bool write);
bool vfu_irq(struct vfu_dev *dev, u32 vec);

/* vfio_dma.c */
int vfu_map(struct vfu_dev *dev, u32 flags, u64 offset, u64 addr, u64 size, int fd);
void vfu_unmap(struct vfu_dev *dev, u64 addr, u64 size);
void vfu_unmap_all(struct vfu_dev *dev);

#endif /* USB4EMU_VFIO_USER_H */
