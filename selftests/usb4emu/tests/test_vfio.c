// SPDX-License-Identifier: GPL-2.0
/*
 * vfio-user: what QEMU asks, and what it never would.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bed.h"

static u32 vfio_version(struct host *h, u16 major, u16 minor, u8 *out, u32 *len)
{
	u16 body[4] = { major, minor, '{' | '}' << 8, 0 };

	return host_request(h, CMD_VERSION, body, sizeof(body), NULL, 0, out, len);
}

static void vfio_negotiates(void)
{
	u8 out[256] = { 0 };
	u32 len = sizeof(out);

	bed_start(1, NULL);
	check(!host_connect(&hosts[0]));
	/* Nothing works before a version was agreed on. */
	check_eq(host_request(&hosts[0], CMD_RESET, NULL, 0, NULL, 0, NULL, NULL), EPROTO);
	check_eq(vfio_version(&hosts[0], 1, 0, NULL, NULL), EINVAL);
	check_eq(vfio_version(&hosts[0], 0, 1, out, &len), 0);
	check_eq(out[0] | out[1] << 8, 0);
	check_eq(out[2] | out[3] << 8, 0);
	check(!out[len - 1] && strstr((char *)out + 4, "\"max_msg_fds\":16"));
	check_eq(host_request(&hosts[0], CMD_RESET, NULL, 0, NULL, 0, NULL, NULL), 0);
	bed_stop();
}

static void vfio_describes_device(void)
{
	static const u64 sizes[9] = { 0x40000, 0, 0x1000, 0, 0, 0, 0, 0x1000, 0 };
	struct { u32 argsz, flags, index, cap; u64 size, offset; } region;
	u32 info[4] = { 16 }, irq[4], len, i;

	bed_start(1, NULL);
	host_start(&hosts[0]);
	len = sizeof(info);
	check_eq(host_request(&hosts[0], CMD_GET_INFO, info, 16, NULL, 0, info, &len), 0);
	check(info[1] == 3 && info[2] == 9 && info[3] == 5);
	for (i = 0; i < 9; i++) {
		memset(&region, 0, sizeof(region));
		region.index = i;
		len = sizeof(region);
		check_eq(host_request(&hosts[0], CMD_REGION_INFO, &region, len, NULL, 0,
				      &region, &len), 0);
		check_eq(region.size, sizes[i]);
		check_eq(region.flags, sizes[i] ? 3 : 0);
	}
	region.index = 9;
	check_eq(host_request(&hosts[0], CMD_REGION_INFO, &region, 32, NULL, 0, NULL, NULL),
		 EINVAL);
	for (i = 0; i < 5; i++) {
		memset(irq, 0, sizeof(irq));
		irq[2] = i;
		len = sizeof(irq);
		check_eq(host_request(&hosts[0], CMD_IRQ_INFO, irq, 16, NULL, 0, irq, &len), 0);
		check_eq(irq[3], i == 2 ? 16 : 0);
	}
	bed_stop();
}

static u32 vfio_map(struct host *h, u32 flags, u64 offset, u64 addr, u64 size, int fd)
{
	struct { u32 argsz, flags; u64 offset, addr, size; } map = {
		32, flags, offset, addr, size,
	};

	return host_request(h, CMD_DMA_MAP, &map, sizeof(map), &fd, fd >= 0, NULL, NULL);
}

static void vfio_checks_maps(void)
{
	struct { u32 argsz, flags; u64 addr, size; } unmap = { 24, 0, 0x10000, 0x2000 };
	struct host *h = &hosts[0];
	int fd = memfd_create("map", 0), pipefd[2], i;

	bed_start(1, NULL);
	host_start(h);
	check(!ftruncate(fd, 0x2000) && !pipe(pipefd));
	check_eq(vfio_map(h, 3, 0, 0x10000, 0x3000, fd), EINVAL);	/* beyond the file */
	check_eq(vfio_map(h, 3, 0x1000, 0x10000, 0x2000, fd), EINVAL);
	check_eq(vfio_map(h, 3, ~0ULL - 0xfff, 0x10000, 0x2000, fd), EINVAL);
	check_eq(vfio_map(h, 3, 0, ~0ULL - 0xfff, 0x2000, fd), EINVAL);	/* wraps */
	check_eq(vfio_map(h, 3, 0, 0x10000, 0, fd), EINVAL);
	check_eq(vfio_map(h, 0, 0, 0x10000, 0x2000, fd), EINVAL);	/* no access */
	check_eq(vfio_map(h, 3, 0, 0x10000, 0x2000, pipefd[0]), EINVAL);
	check_eq(vfio_map(h, 1, 0, 0xf0000, 0x10000, -1), 0);		/* a ROM */
	check_eq(vfio_map(h, 3, 0, 0x10000, 0x2000, fd), 0);
	check_eq(vfio_map(h, 3, 0, 0x11000, 0x1000, fd), EEXIST);
	check_eq(host_request(h, CMD_DMA_UNMAP, &unmap, sizeof(unmap), NULL, 0, NULL, NULL), 0);
	check_eq(vfio_map(h, 3, 0, 0x11000, 0x1000, fd), 0);
	for (i = 0; i < 70000; i++)
		if (vfio_map(h, 3, 0, 0x100000 + 0x1000ULL * i, 0x1000, fd))
			break;
	check_eq(i, 65534);	/* 65536 at a time, two are there already */
	bed_stop();
}

/* Page by page and in any order, as an IOMMU has it; removed many at a time. */
static void vfio_maps_pages(void)
{
	struct { u32 argsz, flags; u64 addr, size; } unmap = { 24, 0, 0, 0 };
	struct host *h = &hosts[0];
	u32 i;

	bed_start(1, NULL);
	host_start(h);
	unmap.addr = HOST_MEM_BASE;
	unmap.size = HOST_MEM_SIZE;
	check_eq(host_request(h, CMD_DMA_UNMAP, &unmap, sizeof(unmap), NULL, 0, NULL, NULL), 0);
	for (i = 0; i < HOST_MEM_SIZE / 4096; i++) {
		u64 at = i * 1021ULL % (HOST_MEM_SIZE / 4096) * 4096;

		if (vfio_map(h, 3, at, HOST_MEM_BASE + at, 4096, h->memfd))
			tap_fail(__FILE__, __LINE__, "page %u", i);
	}
	host_ctl_start(h);
	host_space_read(h, SPACE_ROUTER, 0, 0);
	check_eq(bed_stat("0.dma_errors"), 0);
	/* Half of a page is not removed, all of the others are. */
	unmap.addr += 2048;
	unmap.size -= 2048;
	check_eq(host_request(h, CMD_DMA_UNMAP, &unmap, sizeof(unmap), NULL, 0, NULL, NULL), 0);
	check_eq(vfio_map(h, 3, 0, HOST_MEM_BASE, 4096, h->memfd), EEXIST);
	check_eq(vfio_map(h, 3, 4096, HOST_MEM_BASE + 4096, HOST_MEM_SIZE - 4096, h->memfd), 0);
	host_space_read(h, SPACE_ROUTER, 0, 0);
	check_eq(bed_stat("0.dma_errors"), 0);
	bed_stop();
}

static void vfio_refuses_nonsense(void)
{
	struct { u64 off; u32 region, count, val; } access[] = {
		{ 0x40000, 0, 4, 0 }, { 0x3fffe, 0, 4, 0 }, { ~0ULL, 0, 4, 0 },
		{ 0, 0, 0, 0 }, { 0, 0, 16, 0 }, { 0, 0, ~0U, 0 }, { 0, 1, 4, 0 },
		{ 0, 9, 4, 0 }, { 0, ~0U, 4, 0 }, { 0xfff, 7, 2, 0 },
	};
	u32 irqs[][5] = {
		{ 20, 0x24, 2, 0, 17 }, { 20, 0x24, 2, 16, 1 }, { 20, 0x24, 2, ~0U, 2 },
		{ 20, 0x24, 5, 0, 1 }, { 20, 0x24, 1, 0, 1 }, { 20, 0x00, 2, 0, 0 },
	};
	struct host *h = &hosts[0];
	u32 i;

	bed_start(1, NULL);
	host_start(h);
	for (i = 0; i < ARRAY_SIZE(access); i++) {
		check_eq(host_request(h, CMD_REGION_READ, &access[i], 16, NULL, 0, NULL, NULL),
			 EINVAL);
		check_eq(host_request(h, CMD_REGION_WRITE, &access[i], 20, NULL, 0, NULL, NULL),
			 EINVAL);
	}
	for (i = 0; i < ARRAY_SIZE(irqs); i++)
		check_eq(host_request(h, CMD_SET_IRQS, irqs[i], 20, NULL, 0, NULL, NULL), EINVAL);
	/* Bodies too short for their command, commands that are none */
	for (i = CMD_DMA_MAP; i <= CMD_REGION_WRITE; i++)
		if (i != 6)
			check_eq(host_request(h, i, "x", 1, NULL, 0, NULL, NULL), EINVAL);
	check_eq(host_request(h, 6, "x", 1, NULL, 0, NULL, NULL), ENOTSUP);
	check_eq(host_request(h, 15, NULL, 0, NULL, 0, NULL, NULL), ENOTSUP);
	check_eq(host_request(h, 0xffff, NULL, 0, NULL, 0, NULL, NULL), ENOTSUP);
	bed_stop();
}

/* A header we cannot read on from: the client is dropped, the next is served. */
static void vfio_drops_bad_stream(void)
{
	u32 headers[][4] = {
		{ 0x000d0001, 8, 0, 0 },		/* shorter than itself */
		{ 0x000d0001, 0x7fffffff, 0, 0 },	/* huge */
		{ 0x000d0001, 16, 1, 0 },		/* a reply */
	};
	struct host *h = &hosts[0];
	char c;
	u32 i;

	bed_start(1, NULL);
	for (i = 0; i < ARRAY_SIZE(headers); i++) {
		host_start(h);
		check(send(h->sock, headers[i], 16, 0) == 16);
		check_eq(recv(h->sock, &c, 1, 0), 0);
		host_disconnect(h);
	}
	host_start(h);
	check_eq(h->hops, 16);
	bed_stop();
}

/* A message in pieces does not stop the emulator from serving others. */
static void vfio_waits_for_slow_client(void)
{
	u32 hdr[4] = { 0x000d0001, 16, 0, 0 };
	struct host *h = &hosts[0];
	char reply[16];
	int i;

	bed_start(2, NULL);
	host_start(h);
	check(send(h->sock, hdr, 3, 0) == 3);
	host_start(&hosts[1]);
	check_eq(hosts[1].hops, 16);
	for (i = 3; i < 16; i++)
		check(send(h->sock, (u8 *)hdr + i, 1, 0) == 1);
	check_eq(recv(h->sock, reply, sizeof(reply), MSG_WAITALL), 16);
	bed_stop();
}

/* A posted write has no reply and takes effect before what follows. */
static void vfio_posts_writes(void)
{
	struct { u32 hdr[4]; u64 off; u32 region, count, val; } __packed w = {
		{ 0x000a0007, 36, 0x10, 0 }, NHI_DMA_MISC, 0, 4, 0x12345,
	};
	struct host *h = &hosts[0];

	bed_start(1, NULL);
	host_start(h);
	check(send(h->sock, &w, sizeof(w), 0) == sizeof(w));
	check_eq(host_read(h, NHI_DMA_MISC), 0x12345);
	bed_stop();
}

static void vfio_serves_next_client(void)
{
	struct host *h = &hosts[0];

	bed_start(1, NULL);
	host_start(h);
	host_write(h, NHI_DMA_MISC, 1);
	host_disconnect(h);
	host_start(h);
	check_eq(host_read(h, NHI_DMA_MISC), 0);
	bed_stop();
}

TAP_GROUP(vfio_tests,
	  TAP_TEST(vfio_negotiates),
	  TAP_TEST(vfio_describes_device),
	  TAP_TEST(vfio_checks_maps),
	  TAP_TEST(vfio_maps_pages),
	  TAP_TEST(vfio_refuses_nonsense),
	  TAP_TEST(vfio_drops_bad_stream),
	  TAP_TEST(vfio_waits_for_slow_client),
	  TAP_TEST(vfio_posts_writes),
	  TAP_TEST(vfio_serves_next_client));
