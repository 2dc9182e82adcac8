// SPDX-License-Identifier: GPL-2.0
/*
 * A host: vfio-user client, registers, rings, control channel.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../emu.h"
#include "bed.h"

#define HOST_FLAG_REPLY	1
#define HOST_FLAG_ERROR	32
#define HOST_TIMEOUT_S	10

struct host_header {
	u16 id;
	u16 cmd;
	u32 size;
	u32 flags;
	u32 error;
};

int host_connect(struct host *h)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct timeval tv = { .tv_sec = HOST_TIMEOUT_S };

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", h->path);
	h->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(h->sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return connect(h->sock, (struct sockaddr *)&sa, sizeof(sa));
}

void host_disconnect(struct host *h)
{
	u32 i;

	if (h->sock > 0)
		close(h->sock);
	h->sock = -1;
	if (h->mem) {
		munmap(h->mem, HOST_MEM_SIZE);
		close(h->memfd);
	}
	h->mem = NULL;
	for (i = 0; i < HOST_VECTORS; i++) {
		if (h->irq[i] > 0)
			close(h->irq[i]);
		h->irq[i] = -1;
	}
}

static void host_send(struct host *h, const struct host_header *hdr, const void *body, u32 len,
		      const int *fds, u32 nr_fds)
{
	char space[CMSG_SPACE(16 * sizeof(int))] = { 0 };
	struct iovec iov[2] = { { (void *)hdr, sizeof(*hdr) }, { (void *)body, len } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	struct cmsghdr *cm;

	if (nr_fds) {
		m.msg_control = space;
		m.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
		cm = CMSG_FIRSTHDR(&m);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(nr_fds * sizeof(int));
		memcpy(CMSG_DATA(cm), fds, nr_fds * sizeof(int));
	}
	check(sendmsg(h->sock, &m, MSG_NOSIGNAL) == (ssize_t)(sizeof(*hdr) + len));
}

u32 host_request(struct host *h, u32 cmd, const void *body, u32 len, const int *fds, u32 nr_fds,
		 void *out, u32 *out_len)
{
	struct host_header hdr = { .id = ++h->msg_id, .cmd = cmd, .size = sizeof(hdr) + len };
	static u8 reply[70000];
	u32 n;

	host_send(h, &hdr, body, len, fds, nr_fds);
	check(recv(h->sock, &hdr, sizeof(hdr), MSG_WAITALL) == sizeof(hdr));
	check_eq(hdr.id, h->msg_id);
	check_eq(hdr.cmd, cmd);
	check(hdr.size >= sizeof(hdr) && hdr.size <= sizeof(hdr) + sizeof(reply));
	n = hdr.size - sizeof(hdr);
	check(!n || recv(h->sock, reply, n, MSG_WAITALL) == (ssize_t)n);
	check(hdr.flags & HOST_FLAG_REPLY);
	check_eq(!!(hdr.flags & HOST_FLAG_ERROR), !!hdr.error);
	if (out)
		memcpy(out, reply, min(n, *out_len));
	if (out_len)
		*out_len = n;
	return hdr.error;
}

void host_map_memory(struct host *h)
{
	struct { u32 argsz, flags; u64 offset, addr, size; } map = {
		.argsz = 32, .flags = 3, .addr = HOST_MEM_BASE, .size = HOST_MEM_SIZE,
	};

	h->memfd = memfd_create("guest", MFD_CLOEXEC);
	check(!ftruncate(h->memfd, HOST_MEM_SIZE));
	h->mem = mmap(NULL, HOST_MEM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, h->memfd, 0);
	check(h->mem != MAP_FAILED);
	check_eq(host_request(h, CMD_DMA_MAP, &map, sizeof(map), &h->memfd, 1, NULL, NULL), 0);
}

void host_set_irqs(struct host *h, u32 index, u32 count)
{
	u32 set[5] = { 20, 0x24, index, 0, count };
	u32 i;

	for (i = 0; i < count; i++)
		if (h->irq[i] < 0)
			h->irq[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	check_eq(host_request(h, CMD_SET_IRQS, set, sizeof(set), h->irq, count, NULL, NULL), 0);
}

void host_clear_irqs(struct host *h, u32 index)
{
	u32 set[5] = { 20, 0x21, index, 0, 0 };

	check_eq(host_request(h, CMD_SET_IRQS, set, sizeof(set), NULL, 0, NULL, NULL), 0);
}

void host_start(struct host *h)
{
	static const char version[] = "\0\0\0\0{}";

	check(!host_connect(h));
	check_eq(host_request(h, CMD_VERSION, version, sizeof(version), NULL, 0, NULL, NULL), 0);
	host_map_memory(h);
	host_cfg_write(h, PCI_CMD, PCI_CMD_MASTER | 2, 2);
	h->hops = host_read(h, NHI_CAPS) & 0x3ff;
}

/* Registers */

static u32 host_region_read(struct host *h, u32 region, u32 off, u32 size)
{
	struct { u64 off; u32 region, count; } req = { off, region, size };
	u8 out[20] = { 0 };
	u32 len = sizeof(out), val;

	check_eq(host_request(h, CMD_REGION_READ, &req, sizeof(req), NULL, 0, out, &len), 0);
	check_eq(len, 16 + size);
	memcpy(&val, out + 16, 4);
	return val;
}

static void host_region_write(struct host *h, u32 region, u32 off, u32 val, u32 size)
{
	struct { u64 off; u32 region, count, val; } req = { off, region, size, val };

	check_eq(host_request(h, CMD_REGION_WRITE, &req, 16 + size, NULL, 0, NULL, NULL), 0);
}

u32 host_read(struct host *h, u32 off)
{
	return host_region_read(h, 0, off, 4);
}

void host_write(struct host *h, u32 off, u32 val)
{
	host_region_write(h, 0, off, val, 4);
}

u32 host_cfg_read(struct host *h, u32 off, u32 size)
{
	return host_region_read(h, 7, off, size);
}

void host_cfg_write(struct host *h, u32 off, u32 val, u32 size)
{
	host_region_write(h, 7, off, val, size);
}

u64 host_irq(struct host *h, u32 vec, int timeout_ms)
{
	struct pollfd pfd = { .fd = h->irq[vec], .events = POLLIN };
	u64 n = 0;

	if (poll(&pfd, 1, timeout_ms) != 1)
		return 0;
	check(read(pfd.fd, &n, sizeof(n)) == sizeof(n));
	return n;
}

/* Rings: descriptors in the first part of memory, buffers behind them */

static u32 host_ring_offset(bool tx, u32 hop)
{
	return (tx ? 0 : 16 + hop) * 4096 + (tx ? hop * 4096 : 0);
}

static u32 host_buf_offset(bool tx, u32 hop, u32 slot)
{
	return (1 << 20) + (((tx ? 0 : 16) + hop) * HOST_RING_SIZE + slot) * 4096;
}

u64 host_addr(struct host *h, bool tx, u32 hop, u32 slot)
{
	return HOST_MEM_BASE + host_buf_offset(tx, hop, slot);
}

u64 *host_desc(struct host *h, bool tx, u32 hop, u32 slot)
{
	return (u64 *)(h->mem + host_ring_offset(tx, hop) + slot * DESC_SIZE);
}

static u32 *host_desc_word(struct host *h, bool tx, u32 hop, u32 slot)
{
	return (u32 *)(host_desc(h, tx, hop, slot) + 1);
}

void host_ring_start(struct host *h, bool tx, u32 hop, u32 options)
{
	u32 base = (tx ? NHI_TX_RING : NHI_RX_RING) + hop * NHI_RING_STRIDE;
	u32 opt = (tx ? NHI_TX_OPTIONS : NHI_RX_OPTIONS) + hop * NHI_OPTIONS_STRIDE;
	u64 addr = HOST_MEM_BASE + host_ring_offset(tx, hop);
	struct host_ring *ring = tx ? &h->tx[hop] : &h->rx[hop];

	memset(ring, 0, sizeof(*ring));
	ring->size = HOST_RING_SIZE;
	host_write(h, base + NHI_RING_BASE_LO, (u32)addr);
	host_write(h, base + NHI_RING_BASE_HI, addr >> 32);
	host_write(h, base + NHI_RING_SIZE, HOST_RING_SIZE | (hop || tx ? 0 : 0x100 << 16));
	host_write(h, opt, options);
}

void host_ring_stop(struct host *h, bool tx, u32 hop)
{
	host_write(h, (tx ? NHI_TX_OPTIONS : NHI_RX_OPTIONS) + hop * NHI_OPTIONS_STRIDE, 0);
}

void host_rx_post(struct host *h, u32 hop, u32 count)
{
	struct host_ring *rx = &h->rx[hop];

	while (count--) {
		*host_desc(h, false, hop, rx->head) = host_addr(h, false, hop, rx->head);
		*host_desc_word(h, false, hop, rx->head) = DESC_INTERRUPT | DESC_OVERRUN;
		rx->head = (rx->head + 1) % rx->size;
	}
	host_write(h, NHI_RX_RING + hop * NHI_RING_STRIDE + NHI_RING_INDEX, rx->head);
}

void host_tx(struct host *h, u32 hop, const void *data, u32 len, u32 sof, u32 eof)
{
	struct host_ring *tx = &h->tx[hop];

	memcpy(h->mem + host_buf_offset(true, hop, tx->head), data, len);
	*host_desc(h, true, hop, tx->head) = host_addr(h, true, hop, tx->head);
	*host_desc_word(h, true, hop, tx->head) = (len & 0xfff) | eof << 12 | sof << 16 |
						  DESC_INTERRUPT | DESC_OVERRUN;
	tx->head = (tx->head + 1) % tx->size;
	host_write(h, NHI_TX_RING + hop * NHI_RING_STRIDE + NHI_RING_INDEX, tx->head << 16);
}

bool host_tx_done(struct host *h, u32 hop)
{
	struct host_ring *tx = &h->tx[hop];

	if (!(env_load_acquire(host_desc_word(h, true, hop, tx->tail)) & DESC_COMPLETED))
		return false;
	tx->tail = (tx->tail + 1) % tx->size;
	return true;
}

bool host_rx(struct host *h, u32 hop, struct host_frame *f)
{
	struct host_ring *rx = &h->rx[hop];
	u32 word = env_load_acquire(host_desc_word(h, false, hop, rx->tail));

	if (rx->tail == rx->head || !(word & DESC_COMPLETED))
		return false;
	f->len = DESC_LEN(word) ? DESC_LEN(word) : 4096;
	f->sof = DESC_SOF(word);
	f->eof = DESC_EOF(word);
	f->flags = word & GENMASK(31, 20);
	memcpy(f->data, h->mem + host_buf_offset(false, hop, rx->tail), f->len);
	rx->tail = (rx->tail + 1) % rx->size;
	return true;
}

/* Control channel */

void host_ctl_start(struct host *h)
{
	host_ring_start(h, true, 0, NHI_OPT_ENABLE | NHI_OPT_RAW);
	host_ring_start(h, false, 0, NHI_OPT_ENABLE | NHI_OPT_RAW);
	host_rx_post(h, 0, HOST_RING_SIZE - 1);
}

void host_ctl_send(struct host *h, u32 type, const u32 *dw, u32 n)
{
	u32 buf[CTL_MAX_DWORDS + 1], i;

	for (i = 0; i < n; i++)
		buf[i] = cpu_to_be32(dw[i]);
	buf[n] = cpu_to_be32(emu_crc32c(buf, 4 * n));
	host_tx(h, 0, buf, 4 * n + 4, 0, type);
	check(host_tx_done(h, 0));
}

u32 host_ctl_receive(struct host *h, u32 *dw, u32 *n, int timeout_ms)
{
	struct host_frame f;
	u32 i;

	while (!host_rx(h, 0, &f)) {
		if (!timeout_ms--)
			return 0;
		usleep(1000);
	}
	host_rx_post(h, 0, 1);
	check_eq(f.sof, 0);
	check(f.len >= 12 && f.len <= 256 && !(f.len % 4));
	*n = f.len / 4 - 1;
	memcpy(&i, f.data + 4 * *n, 4);
	check_eq(be32_to_cpu(i), emu_crc32c(f.data, 4 * *n));
	for (i = 0; i < *n; i++) {
		memcpy(&dw[i], f.data + 4 * i, 4);
		dw[i] = be32_to_cpu(dw[i]);
	}
	return f.eof;
}

u32 host_space_read(struct host *h, u32 space, u32 adapter, u32 off)
{
	u32 req[3] = { 0, 0, off | 1 << 13 | adapter << 19 | space << 25 };
	u32 dw[CTL_MAX_DWORDS], n;

	host_ctl_send(h, CTL_READ, req, 3);
	check_eq(host_ctl_receive(h, dw, &n, 0), CTL_READ);
	check_eq(n, 4);
	check_eq(dw[0], CTL_FROM_ROUTER);
	return dw[3];
}

void host_space_write(struct host *h, u32 space, u32 adapter, u32 off, u32 val)
{
	u32 req[4] = { 0, 0, off | 1 << 13 | adapter << 19 | space << 25, val };
	u32 dw[CTL_MAX_DWORDS], n;

	host_ctl_send(h, CTL_WRITE, req, 4);
	check_eq(host_ctl_receive(h, dw, &n, 0), CTL_WRITE);
	check_eq(n, 3);
}

void host_expect_event(struct host *h, u32 adapter, bool unplug)
{
	u32 ack[3] = { 0, 0, 7 | adapter << 8 | (unplug ? 3U : 2U) << 30 };
	u32 dw[CTL_MAX_DWORDS], n;

	check_eq(host_ctl_receive(h, dw, &n, 5000), CTL_EVENT);
	check_eq(dw[2], adapter | (unplug ? CTL_EVENT_UNPLUG : 0));
	host_ctl_send(h, CTL_ERROR, ack, 3);
}
