// SPDX-License-Identifier: GPL-2.0
/*
 * Guest memory as the vfio-user client maps it.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vfio_user.h"

#define VFU_DMA_READ	BIT(0)
#define VFU_DMA_WRITE	BIT(1)

static bool vfu_overlaps(const struct vfu_dev *dev, u64 addr, u64 size)
{
	u32 i;

	for (i = 0; i < dev->nr_maps; i++)
		if (addr < dev->maps[i].addr + dev->maps[i].size &&
		    dev->maps[i].addr < addr + size)
			return true;
	return false;
}

/* A mapping beyond the end of its file would fault when it is used. */
static bool vfu_file_covers(int fd, u64 offset, u64 size)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && offset + size > offset &&
	       offset + size <= (u64)st.st_size;
}

int vfu_map(struct vfu_dev *dev, u32 flags, u64 offset, u64 addr, u64 size, int fd)
{
	int prot = PROT_READ | (flags & VFU_DMA_WRITE ? PROT_WRITE : 0);
	struct vfu_map *map;
	void *ptr;

	if (!size || addr + size < addr || !(flags & (VFU_DMA_READ | VFU_DMA_WRITE)))
		return -EINVAL;
	if (fd < 0)
		return 0;	/* ROM and the like: not memory for us */
	if (vfu_overlaps(dev, addr, size))
		return -EEXIST;
	if (dev->nr_maps == VFU_MAX_MAPS)
		return -ENOSPC;
	if (!vfu_file_covers(fd, offset, size))
		return -EINVAL;
	ptr = mmap(NULL, size, prot, MAP_SHARED, fd, offset);
	if (ptr == MAP_FAILED)
		return -errno;
	map = &dev->maps[dev->nr_maps++];
	map->addr = addr;
	map->size = size;
	map->ptr = ptr;
	map->writable = flags & VFU_DMA_WRITE;
	return 0;
}

static void vfu_unmap_one(struct vfu_dev *dev, u32 i)
{
	munmap(dev->maps[i].ptr, dev->maps[i].size);
	dev->maps[i] = dev->maps[--dev->nr_maps];
}

/* Maps are removed as they were made; unknown ones had no file. */
void vfu_unmap(struct vfu_dev *dev, u64 addr, u64 size)
{
	u32 i;

	for (i = 0; i < dev->nr_maps; i++) {
		if (dev->maps[i].addr != addr || dev->maps[i].size != size)
			continue;
		vfu_unmap_one(dev, i);
		return;
	}
}

void vfu_unmap_all(struct vfu_dev *dev)
{
	while (dev->nr_maps)
		vfu_unmap_one(dev, 0);
}

void *vfu_dma(struct vfu_dev *dev, u64 addr, size_t *len, bool write)
{
	u32 i;

	for (i = 0; i < dev->nr_maps; i++) {
		const struct vfu_map *map = &dev->maps[i];

		if (addr < map->addr || addr - map->addr >= map->size)
			continue;
		if (write && !map->writable)
			return NULL;
		*len = min((u64)*len, map->size - (addr - map->addr));
		return map->ptr + (addr - map->addr);
	}
	return NULL;
}
