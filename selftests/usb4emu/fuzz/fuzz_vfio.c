// SPDX-License-Identifier: GPL-2.0
/*
 * Any vfio-user messages, with or without descriptors.
 *
 * Record: u8 command, u8 flags and number of descriptors, u16 length of the
 * body, the body.
 */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../vfio_user.h"
#include "fuzz.h"

#define FUZZ_FILE_SIZE	0x10000
#define FUZZ_MAX_FDS	256

static struct vfu_dev fuzz_dev;
static struct vfu_reply fuzz_reply;
static int fuzz_fds[FUZZ_MAX_FDS];
static u32 fuzz_nr_fds;

static void *fuzz_dev_dma(void *priv, u32 r, u64 addr, size_t *len, bool write)
{
	return vfu_dma(&fuzz_dev, addr, len, write);
}

static bool fuzz_dev_irq(void *priv, u32 r, u32 vec)
{
	return vfu_irq(&fuzz_dev, vec);
}

/* Descriptors are numbered from a range of their own, to see them leak. */
static int fuzz_fd(u8 kind)
{
	int fd = kind & 1 ? memfd_create("fuzz", MFD_CLOEXEC) : eventfd(0, EFD_CLOEXEC);

	if (fd < 0 || (kind & 1 && ftruncate(fd, FUZZ_FILE_SIZE)))
		abort();
	fuzz_fds[fuzz_nr_fds++] = fd;
	return fd;
}

static void fuzz_message(struct fuzz_input *in)
{
	static u8 body[VFU_MAX_BODY];
	struct vfu_message msg = { 0 };
	u8 flags;
	u32 len, i;

	msg.hdr.cmd = fuzz_u8(in) % 20;
	flags = fuzz_u8(in);
	msg.len = fuzz_u16(in) % 128;
	fuzz_bytes(in, body, msg.len);
	msg.body = body;
	msg.hdr.size = sizeof(msg.hdr) + msg.len;
	msg.hdr.flags = flags & VFU_FLAG_NO_REPLY;
	if (!vfu_header_valid(&msg.hdr))
		abort();
	for (i = 0; i < (flags & 3) && fuzz_nr_fds < FUZZ_MAX_FDS; i++)
		msg.fds[msg.nr_fds++] = fuzz_fd(flags >> 2);
	len = vfu_handle(&fuzz_dev, &msg, &fuzz_reply);
	if (!len != !!(msg.hdr.flags & VFU_FLAG_NO_REPLY) || len > sizeof(fuzz_reply))
		abort();
	if (len && (fuzz_reply.hdr.size != len || fuzz_reply.hdr.cmd != msg.hdr.cmd))
		abort();
}

static u64 fuzz_dev_now(void *priv)
{
	static u64 now;

	return now += 1000;
}

static void fuzz_dev_log(void *priv, enum emu_log_level level, const char *line)
{
}

static const struct emu_ops fuzz_dev_ops = {
	.dma	= fuzz_dev_dma,
	.irq	= fuzz_dev_irq,
	.now	= fuzz_dev_now,
	.log	= fuzz_dev_log,
};

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct emu_config cfg = {
		.nr_routers = 1, .usb4_version = 2, .gen = 4, .hop_count = EMU_MAX_HOPS,
	};
	struct fuzz_input in = { data, len };
	u8 mode = fuzz_u8(&in);

	cfg.single_msi = mode & 1;
	vfu_init(&fuzz_dev, 0, cfg.single_msi);
	fuzz_dev.negotiated = mode & 2;
	fuzz_dev.e = emu_new(&cfg, &fuzz_dev_ops, NULL);
	if (!fuzz_dev.e)
		abort();
	while (in.len)
		fuzz_message(&in);
	fuzz_invariants(fuzz_dev.e);
	vfu_disconnect(&fuzz_dev);
	emu_free(fuzz_dev.e);
	if (fuzz_dev.nr_maps)
		abort();
	while (fuzz_nr_fds)
		if (fcntl(fuzz_fds[--fuzz_nr_fds], F_GETFD) >= 0)
			abort();	/* leaked */
	return 0;
}
