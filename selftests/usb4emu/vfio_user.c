// SPDX-License-Identifier: GPL-2.0
/*
 * vfio-user messages. Little-endian throughout, as both ends are the same
 * machine. A client that sends nonsense gets an error reply.
 */
#include <fcntl.h>
#include <unistd.h>

#include "vfio_user.h"

#define VFU_NR_REGIONS		9
#define VFU_NR_IRQS		5
#define VFU_REGION_BAR0		0
#define VFU_REGION_BAR2		2
#define VFU_REGION_CONFIG	7
#define VFU_CONFIG_SIZE		0x1000
#define VFU_IRQ_MSI		1
#define VFU_IRQ_MSIX		2
#define VFU_DEVICE_RESET_PCI	3	/* can be reset, is PCI */
#define VFU_REGION_READ_WRITE	3
#define VFU_IRQ_EVENTFD_NORESIZE 9
#define VFU_UNMAP_ALL		BIT(1)
#define VFU_VERSION_JSON	\
	"{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":65536}}"

enum vfu_cmd {
	VFU_VERSION = 1,
	VFU_DMA_MAP = 2,
	VFU_DMA_UNMAP = 3,
	VFU_DEVICE_GET_INFO = 4,
	VFU_GET_REGION_INFO = 5,
	VFU_GET_IRQ_INFO = 7,
	VFU_SET_IRQS = 8,
	VFU_REGION_READ = 9,
	VFU_REGION_WRITE = 10,
	VFU_DEVICE_RESET = 13,
	VFU_NR_CMDS
};

/* Fixed part of the bodies that have one */

struct vfu_version {
	u16 major;
	u16 minor;
};

struct vfu_dma_map {
	u32 argsz;
	u32 flags;
	u64 offset;
	u64 addr;
	u64 size;
};

struct vfu_dma_unmap {
	u32 argsz;
	u32 flags;
	u64 addr;
	u64 size;
};

struct vfu_device_info {
	u32 argsz;
	u32 flags;
	u32 nr_regions;
	u32 nr_irqs;
};

struct vfu_region_info {
	u32 argsz;
	u32 flags;
	u32 index;
	u32 cap_offset;
	u64 size;
	u64 offset;
};

struct vfu_irq_info {
	u32 argsz;
	u32 flags;
	u32 index;
	u32 count;
};

struct vfu_set_irqs {
	u32 argsz;
	u32 flags;
	u32 index;
	u32 start;
	u32 count;
};

#define VFU_SET_NONE	BIT(0)
#define VFU_SET_EVENTFD	BIT(2)
#define VFU_SET_TRIGGER	BIT(5)

struct vfu_region_access {
	u64 offset;
	u32 region;
	u32 count;
};

/* A handler returns 0 or a negative errno, and the length of the reply's body. */
struct vfu_handler {
	u32 min_body;
	int (*run)(struct vfu_dev *dev, struct vfu_message *msg, u8 *out, u32 *out_len);
};

static int vfu_version(struct vfu_dev *dev, struct vfu_message *msg, u8 *out, u32 *out_len)
{
	struct vfu_version version;

	memcpy(&version, msg->body, sizeof(version));
	if (version.major)
		return -EINVAL;
	version.minor = 0;
	memcpy(out, &version, sizeof(version));
	memcpy(out + sizeof(version), VFU_VERSION_JSON, sizeof(VFU_VERSION_JSON));
	*out_len = sizeof(version) + sizeof(VFU_VERSION_JSON);
	dev->negotiated = true;
	return 0;
}

static int vfu_dma_map(struct vfu_dev *dev, struct vfu_message *msg, u8 *out, u32 *out_len)
{
	struct vfu_dma_map map;
	int ret;

	memcpy(&map, msg->body, sizeof(map));
	if (msg->nr_fds > 1)
		return -EINVAL;
	ret = vfu_map(dev, map.flags, map.offset, map.addr, map.size,
		      msg->nr_fds ? msg->fds[0] : -1);
	if (!ret)
		emu_dma_retry(dev->e, dev->nr);
	return ret;
}

static int vfu_dma_unmap(struct vfu_dev *dev, struct vfu_message *msg, u8 *out, u32 *out_len)
{
	struct vfu_dma_unmap unmap;

	memcpy(&unmap, msg->body, sizeof(unmap));
	if (unmap.flags & ~VFU_UNMAP_ALL)
		return -EINVAL;
	if (unmap.flags & VFU_UNMAP_ALL)
		vfu_unmap_all(dev);
	else
		vfu_unmap(dev, unmap.addr, unmap.size);
	memcpy(out, &unmap, sizeof(unmap));
	*out_len = sizeof(unmap);
	return 0;
}

static int vfu_get_info(struct vfu_dev *dev, struct vfu_message *msg, u8 *out, u32 *out_len)
{
	struct vfu_device_info info = {
		.argsz = sizeof(info),
		.flags = VFU_DEVICE_RESET_PCI,
		.nr_regions = VFU_NR_REGIONS,
		.nr_irqs = VFU_NR_IRQS,
	};

	memcpy(out, &info, sizeof(info));
	*out_len = sizeof(info);
	return 0;
}

static u32 vfu_region_size(u32 index)
{
	static const u32 sizes[VFU_NR_REGIONS] = {
		[VFU_REGION_BAR0] = EMU_BAR0_SIZE,
		[VFU_REGION_BAR2] = EMU_BAR2_SIZE,
		[VFU_REGION_CONFIG] = VFU_CONFIG_SIZE,
	};

	return index < VFU_NR_REGIONS ? sizes[index] : 0;
}

static int vfu_get_region_info(struct vfu_dev *dev, struct vfu_message *msg, u8 *out, u32 *out_len)
{
	struct vfu_region_info info;

	memcpy(&info, msg->body, sizeof(info));
	if (info.index >= VFU_NR_REGIONS)
		return -EINVAL;
	info.argsz = sizeof(info);
	info.size = vfu_region_size(info.index);
	info.flags = info.size ? VFU_REGION_READ_WRITE : 0;
	info.cap_offset = 0;
	info.offset = 0;
	memcpy(out, &info, sizeof(info));
	*out_len = sizeof(info);
	return 0;
}

static int vfu_get_irq_info(struct vfu_dev *dev, struct vfu_message *msg, u8 *out, u32 *out_len)
{
	struct vfu_irq_info info;

	memcpy(&info, msg->body, sizeof(info));
	if (info.index >= VFU_NR_IRQS)
		return -EINVAL;
	info.argsz = sizeof(info);
	info.flags = 0;
	info.count = 0;
	if (info.index == dev->irq_index) {
		info.flags = VFU_IRQ_EVENTFD_NORESIZE;
		info.count = dev->nr_irqs;
	}
	memcpy(out, &info, sizeof(info));
	*out_len = sizeof(info);
	return 0;
}

static void vfu_close_irq(struct vfu_dev *dev, u32 vec)
{
	if (dev->irq_fd[vec] >= 0)
		close(dev->irq_fd[vec]);
	dev->irq_fd[vec] = -1;
}

static void vfu_close_irqs(struct vfu_dev *dev)
{
	u32 vec;

	for (vec = 0; vec < EMU_NR_VECTORS; vec++)
		vfu_close_irq(dev, vec);
}

/* Whatever the client calls an eventfd, writing to it must not block us. */
static int vfu_take_fd(struct vfu_message *msg, u32 i)
{
	int fd = msg->fds[i];
	int flags = fcntl(fd, F_GETFL);

	msg->fds[i] = -1;
	if (flags >= 0 && !(flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	return fd;
}

static int vfu_set_irqs(struct vfu_dev *dev, struct vfu_message *msg, u8 *out, u32 *out_len)
{
	struct vfu_set_irqs set;
	u32 i;

	memcpy(&set, msg->body, sizeof(set));
	if (set.index >= VFU_NR_IRQS || !(set.flags & VFU_SET_TRIGGER))
		return -EINVAL;
	if (set.index != dev->irq_index)
		return set.count ? -EINVAL : 0;
	if (set.start > dev->nr_irqs || set.count > dev->nr_irqs - set.start)
		return -EINVAL;
	if ((set.flags & VFU_SET_NONE) && !set.count) {
		vfu_close_irqs(dev);
		return 0;
	}
	if (!(set.flags & VFU_SET_EVENTFD) || msg->nr_fds > set.count)
		return -EINVAL;
	for (i = 0; i < set.count; i++) {
		vfu_close_irq(dev, set.start + i);
		if (i < msg->nr_fds)
			dev->irq_fd[set.start + i] = vfu_take_fd(msg, i);
	}
	emu_irq_retry(dev->e, dev->nr);
	return 0;
}

/* Registers and configuration space, the only regions with a content here. */

static void vfu_config_read(struct vfu_dev *dev, u32 off, u32 count, u8 *data)
{
	u32 i;

	for (i = 0; i < count; i++)
		data[i] = emu_pci_read(dev->e, dev->nr, off + i, 1);
}

static bool vfu_access_valid(const struct vfu_region_access *access)
{
	u32 size = vfu_region_size(access->region);

	return access->count && access->count <= VFU_MAX_DATA && access->offset < size &&
	       access->count <= size - access->offset;
}

static int vfu_region_read(struct vfu_dev *dev, struct vfu_message *msg, u8 *out, u32 *out_len)
{
	struct vfu_region_access access;
	u8 *data = out + sizeof(access);
	u64 val;

	memcpy(&access, msg->body, sizeof(access));
	if (!vfu_access_valid(&access))
		return -EINVAL;
	memset(data, 0, access.count);
	if (access.region == VFU_REGION_BAR0) {
		if (access.count > sizeof(val))
			return -EINVAL;
		val = emu_mmio_read(dev->e, dev->nr, access.offset, access.count);
		memcpy(data, &val, access.count);
	} else if (access.region == VFU_REGION_CONFIG) {
		vfu_config_read(dev, access.offset, access.count, data);
	}
	memcpy(out, &access, sizeof(access));
	*out_len = sizeof(access) + access.count;
	return 0;
}

static int vfu_region_write(struct vfu_dev *dev, struct vfu_message *msg, u8 *out, u32 *out_len)
{
	struct vfu_region_access access;
	u64 val = 0;

	memcpy(&access, msg->body, sizeof(access));
	if (!vfu_access_valid(&access) || msg->len - sizeof(access) < access.count)
		return -EINVAL;
	if (access.count > sizeof(val))
		return -EINVAL;
	memcpy(&val, msg->body + sizeof(access), access.count);
	if (access.region == VFU_REGION_BAR0)
		emu_mmio_write(dev->e, dev->nr, access.offset, val, access.count);
	else if (access.region == VFU_REGION_CONFIG)
		emu_pci_write(dev->e, dev->nr, access.offset, val, access.count);
	memcpy(out, &access, sizeof(access));
	*out_len = sizeof(access);
	return 0;
}

static int vfu_reset(struct vfu_dev *dev, struct vfu_message *msg, u8 *out, u32 *out_len)
{
	emu_reset(dev->e, dev->nr);
	return 0;
}

static const struct vfu_handler vfu_handlers[VFU_NR_CMDS] = {
	[VFU_VERSION]		= { sizeof(struct vfu_version), vfu_version },
	[VFU_DMA_MAP]		= { sizeof(struct vfu_dma_map), vfu_dma_map },
	[VFU_DMA_UNMAP]		= { sizeof(struct vfu_dma_unmap), vfu_dma_unmap },
	[VFU_DEVICE_GET_INFO]	= { sizeof(struct vfu_device_info), vfu_get_info },
	[VFU_GET_REGION_INFO]	= { sizeof(struct vfu_region_info), vfu_get_region_info },
	[VFU_GET_IRQ_INFO]	= { sizeof(struct vfu_irq_info), vfu_get_irq_info },
	[VFU_SET_IRQS]		= { sizeof(struct vfu_set_irqs), vfu_set_irqs },
	[VFU_REGION_READ]	= { sizeof(struct vfu_region_access), vfu_region_read },
	[VFU_REGION_WRITE]	= { sizeof(struct vfu_region_access), vfu_region_write },
	[VFU_DEVICE_RESET]	= { 0, vfu_reset },
};

static int vfu_run(struct vfu_dev *dev, struct vfu_message *msg, u8 *out, u32 *out_len)
{
	const struct vfu_handler *handler;

	if (msg->hdr.cmd >= VFU_NR_CMDS || !vfu_handlers[msg->hdr.cmd].run)
		return -ENOTSUP;
	if (!dev->negotiated && msg->hdr.cmd != VFU_VERSION)
		return -EPROTO;
	handler = &vfu_handlers[msg->hdr.cmd];
	if (msg->len < handler->min_body)
		return -EINVAL;
	return handler->run(dev, msg, out, out_len);
}

u32 vfu_handle(struct vfu_dev *dev, struct vfu_message *msg, struct vfu_reply *reply)
{
	u32 len = 0, i;
	int err;

	err = vfu_run(dev, msg, reply->body, &len);
	for (i = 0; i < msg->nr_fds; i++)
		if (msg->fds[i] >= 0)
			close(msg->fds[i]);
	if (msg->hdr.flags & VFU_FLAG_NO_REPLY)
		return 0;
	if (err)
		len = 0;
	reply->hdr.id = msg->hdr.id;
	reply->hdr.cmd = msg->hdr.cmd;
	reply->hdr.size = sizeof(reply->hdr) + len;
	reply->hdr.flags = VFU_FLAG_REPLY | (err ? VFU_FLAG_ERROR : 0);
	reply->hdr.error = -err;
	return reply->hdr.size;
}

/* We send no commands, so nothing but commands may come. */
bool vfu_header_valid(const struct vfu_header *hdr)
{
	return !(hdr->flags & VFU_FLAG_TYPE) && hdr->size >= sizeof(*hdr) &&
	       hdr->size <= sizeof(*hdr) + VFU_MAX_BODY;
}

void vfu_init(struct vfu_dev *dev, u32 nr, bool single_msi)
{
	u32 vec;

	memset(dev, 0, sizeof(*dev));
	dev->nr = nr;
	dev->irq_index = single_msi ? VFU_IRQ_MSI : VFU_IRQ_MSIX;
	dev->nr_irqs = single_msi ? 1 : EMU_NR_VECTORS;
	for (vec = 0; vec < EMU_NR_VECTORS; vec++)
		dev->irq_fd[vec] = -1;
}

void vfu_disconnect(struct vfu_dev *dev)
{
	emu_detach(dev->e, dev->nr);
	vfu_unmap_all(dev);
	vfu_close_irqs(dev);
	dev->negotiated = false;
}

/*
 * A full eventfd is as good as a written one. While QEMU rebuilds its set of
 * vectors there are none: the core keeps the interrupt until they return.
 */
bool vfu_irq(struct vfu_dev *dev, u32 vec)
{
	u64 one = 1;

	if (dev->irq_fd[vec] < 0)
		return false;
	return write(dev->irq_fd[vec], &one, sizeof(one)) == sizeof(one) || errno == EAGAIN;
}
