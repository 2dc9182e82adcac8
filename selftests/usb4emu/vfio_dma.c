// SPDX-License-Identifier: GPL-2.0
/*
 * Guest memory as the vfio-user client maps it: all of it at once, or page by
 * page, as the guest's IOMMU has it. Each file is mapped once, whatever parts of
 * it are shown, and the parts are sorted by their address.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vfio_user.h"

#define VFU_DMA_READ	BIT(0)
#define VFU_DMA_WRITE	BIT(1)

/* Index of the first map that ends behind @addr */
static u32 vfu_find(const struct vfu_dev *dev, u64 addr)
{
	u32 low = 0, high = dev->nr_maps;

	while (low < high) {
		u32 mid = (low + high) / 2;

		if (dev->maps[mid].addr + (dev->maps[mid].size - 1) < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool vfu_overlaps(const struct vfu_dev *dev, u32 at, u64 addr, u64 size)
{
	return at < dev->nr_maps && dev->maps[at].addr < addr + size;
}

/* A mapping beyond the end of its file would fault when it is used. */
static bool vfu_file_covers(int fd, u64 offset, u64 size, struct stat *st)
{
	return !fstat(fd, st) && S_ISREG(st->st_mode) && offset + size > offset &&
	       offset + size <= (u64)st->st_size;
}

static struct vfu_file *vfu_file_known(struct vfu_dev *dev, const struct stat *st, bool write)
{
	struct vfu_file *f;

	for (f = dev->files; f < dev->files + VFU_MAX_FILES; f++)
		if (f->users && f->dev == st->st_dev && f->ino == st->st_ino &&
		    f->size == (u64)st->st_size && f->writable >= write)
			return f;
	return NULL;
}

/* Returns the file, whole, with one more user, or NULL and errno. */
static struct vfu_file *vfu_file_get(struct vfu_dev *dev, int fd, const struct stat *st,
				     bool write)
{
	struct vfu_file *f = vfu_file_known(dev, st, write);
	void *ptr;

	if (f) {
		f->users++;
		return f;
	}
	for (f = dev->files; f < dev->files + VFU_MAX_FILES && f->users; f++)
		;
	if (f == dev->files + VFU_MAX_FILES) {
		errno = ENOSPC;
		return NULL;
	}
	ptr = mmap(NULL, st->st_size, PROT_READ | (write ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	if (ptr == MAP_FAILED)
		return NULL;
	*f = (struct vfu_file) {
		.dev = st->st_dev, .ino = st->st_ino, .size = st->st_size, .ptr = ptr,
		.writable = write, .users = 1,
	};
	return f;
}

static void vfu_file_put(struct vfu_file *f)
{
	if (!--f->users)
		munmap(f->ptr, f->size);
}

static bool vfu_more_room(struct vfu_dev *dev)
{
	u32 room = dev->room_maps ? 2 * dev->room_maps : 64;
	struct vfu_map *maps;

	if (dev->nr_maps < dev->room_maps)
		return true;
	if (dev->nr_maps == VFU_MAX_MAPS)
		return false;
	maps = realloc(dev->maps, room * sizeof(*maps));
	if (!maps)
		return false;
	dev->maps = maps;
	dev->room_maps = room;
	return true;
}

int vfu_map(struct vfu_dev *dev, u32 flags, u64 offset, u64 addr, u64 size, int fd)
{
	struct vfu_file *file;
	struct stat st;
	u32 at;

	if (!size || addr + size < addr || !(flags & (VFU_DMA_READ | VFU_DMA_WRITE)))
		return -EINVAL;
	if (fd < 0)
		return 0;	/* ROM and the like: not memory for us */
	at = vfu_find(dev, addr);
	if (vfu_overlaps(dev, at, addr, size))
		return -EEXIST;
	if (!vfu_file_covers(fd, offset, size, &st))
		return -EINVAL;
	if (!vfu_more_room(dev))
		return -ENOSPC;
	file = vfu_file_get(dev, fd, &st, flags & VFU_DMA_WRITE);
	if (!file)
		return -errno;
	memmove(dev->maps + at + 1, dev->maps + at, (dev->nr_maps - at) * sizeof(*dev->maps));
	dev->nr_maps++;
	dev->maps[at] = (struct vfu_map) {
		.addr = addr, .size = size, .ptr = file->ptr + offset, .file = file,
		.writable = flags & VFU_DMA_WRITE,
	};
	return 0;
}

/*
 * What lies wholly in the range, as many maps as that are: an IOMMU's are removed
 * together. What there is no map of had no file.
 */
void vfu_unmap(struct vfu_dev *dev, u64 addr, u64 size)
{
	u32 from = vfu_find(dev, addr), to;

	if (!size || !dev->nr_maps)
		return;
	if (from < dev->nr_maps && dev->maps[from].addr < addr)
		from++;
	for (to = from; to < dev->nr_maps; to++) {
		const struct vfu_map *map = &dev->maps[to];

		if (map->addr + (map->size - 1) > addr + (size - 1))
			break;
		vfu_file_put(map->file);
	}
	memmove(dev->maps + from, dev->maps + to, (dev->nr_maps - to) * sizeof(*dev->maps));
	dev->nr_maps -= to - from;
}

void vfu_unmap_all(struct vfu_dev *dev)
{
	while (dev->nr_maps)
		vfu_file_put(dev->maps[--dev->nr_maps].file);
	free(dev->maps);
	dev->maps = NULL;
	dev->room_maps = 0;
}

void *vfu_dma(struct vfu_dev *dev, u64 addr, size_t *len, bool write)
{
	u32 i = vfu_find(dev, addr);
	const struct vfu_map *map;

	if (i == dev->nr_maps)
		return NULL;
	map = &dev->maps[i];
	if (addr < map->addr || (write && !map->writable))
		return NULL;
	*len = min((u64)*len, map->size - (addr - map->addr));
	return map->ptr + (addr - map->addr);
}
