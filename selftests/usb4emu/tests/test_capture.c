// SPDX-License-Identifier: GPL-2.0
/*
 * Capture files, read back block by block.
 */
#include "bed.h"

#define CAP_MAX	0x10000

static u8 cap_file[CAP_MAX];
static size_t cap_len;

static u32 cap_u32(size_t off)
{
	u32 val;

	check(off + 4 <= cap_len);
	memcpy(&val, cap_file + off, 4);
	return val;
}

static void cap_load(const char *name)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", bed_dir(), name);
	f = fopen(path, "r");
	check(f);
	cap_len = fread(cap_file, 1, sizeof(cap_file), f);
	fclose(f);
	check(cap_len && cap_len < CAP_MAX);
}

struct cap_packet {
	u32 iface;
	u32 flags;
	u64 time;
	u32 len;
	const u8 *data;
};

/* The whole file must consist of well-formed blocks. Returns the packets. */
static u32 cap_parse(struct cap_packet *packets, u32 max, char names[][16], u32 *ifs)
{
	size_t off = 0;
	u32 n = 0;

	*ifs = 0;
	check_eq(cap_u32(0), 0x0a0d0d0a);
	check_eq(cap_u32(8), 0x1a2b3c4d);
	while (off < cap_len) {
		u32 type = cap_u32(off), total = cap_u32(off + 4), caplen, opt;

		check(total >= 12 && !(total % 4) && off + total <= cap_len);
		check_eq(cap_u32(off + total - 4), total);
		if (type == 1) {
			check_eq(cap_u32(off + 8), 147);	/* USER0 */
			opt = cap_u32(off + 16);
			check_eq(opt & 0xffff, 2);
			check(opt >> 16 < 16);
			memset(names[*ifs], 0, 16);
			memcpy(names[(*ifs)++], cap_file + off + 20, opt >> 16);
			opt = off + 20 + ((opt >> 16) + 3) / 4 * 4;
			check_eq(cap_u32(opt), 9 | 1 << 16);	/* nanoseconds */
			check_eq(cap_u32(opt + 4), 9);
			check_eq(cap_u32(opt + 8), 0);
			check_eq(opt + 16, off + total);
		} else if (type == 6) {
			caplen = cap_u32(off + 20);
			check_eq(caplen, cap_u32(off + 24));
			opt = off + 28 + (caplen + 3) / 4 * 4;
			check_eq(cap_u32(opt), 2 | 4 << 16);
			check_eq(cap_u32(opt + 8), 0);
			check_eq(opt + 16, off + total);
			check(n < max);
			packets[n].iface = cap_u32(off + 8);
			packets[n].time = (u64)cap_u32(off + 12) << 32 | cap_u32(off + 16);
			packets[n].len = caplen;
			packets[n].data = cap_file + off + 28;
			packets[n].flags = cap_u32(opt + 4);
			check(packets[n].iface < *ifs);
			check(!n || packets[n].time >= packets[n - 1].time);
			n++;
		}
		off += total;
	}
	return n;
}

static void cap_records_frames(void)
{
	struct cap_packet p[16];
	char names[12][16];
	u32 ifs, n;

	bed_start_pair(NULL, 0);
	bed_cmd("capture cap");
	host_rx_post(&hosts[1], 1, 1);
	host_tx(&hosts[0], 1, "hello", 5, 1, 2);	/* delivered */
	host_tx(&hosts[0], 1, "worlds", 6, 1, 2);	/* lost: no descriptor */
	bed_cmd("capture off");
	host_rx_post(&hosts[1], 1, 1);
	host_tx(&hosts[0], 1, "later", 5, 1, 2);	/* not recorded */
	cap_load("cap");
	n = cap_parse(p, 16, names, &ifs);
	check_eq(ifs, 6);
	check(!strcmp(names[0], "r0.nhi"));
	check(!strcmp(names[1], "r0.1"));
	check(!strcmp(names[5], "r1.3"));
	check_eq(n, 3);
	/* Out of 0.1, into 1.1 */
	check_eq(p[0].iface, 1);
	check_eq(p[0].flags & 3, 2);
	check_eq(p[0].len, 16 + 5);
	check(!memcmp(p[0].data, "\1\0\1\2\0\10\0\1\0\1\1\0\0\0\0\5hello", 21));
	check_eq(p[1].iface, 4);
	check_eq(p[1].flags & 3, 1);
	check(!memcmp(p[1].data, "\1\0\1\2\0\10\0\1\0\0\1\0\0\0\0\5hello", 21));
	/* Lost on the way: overflow is 7 */
	check_eq(p[2].iface, 1);
	check(!memcmp(p[2].data, "\1\0\1\2\0\10\0\1\7\1\1\0\0\0\0\6worlds", 22));
	bed_stop();
}

static void cap_records_control(void)
{
	struct cap_packet p[16];
	char names[12][16];
	u32 ifs;

	bed_start(1, "-w cap");
	host_start(&hosts[0]);
	host_ctl_start(&hosts[0]);
	host_space_read(&hosts[0], SPACE_ROUTER, 0, 0);
	bed_cmd("capture off");
	cap_load("cap");
	check_eq(cap_parse(p, 16, names, &ifs), 2);
	/* Request out, 3 dwords and CRC; reply in, one more */
	check(p[0].iface == 0 && (p[0].flags & 3) == 2 && p[0].len == 16 + 16);
	check(!memcmp(p[0].data, "\1\1\0\1\0\0\0\0\0\377\0\0\0\0\0\20", 16));
	check(p[1].iface == 0 && (p[1].flags & 3) == 1 && p[1].len == 16 + 20);
	check_eq(p[1].data[16], 0x80);
	bed_stop();
}

/* Frames that never reach a cable, frames that cannot be read */
static void cap_records_failures(void)
{
	struct cap_packet p[16];
	char names[12][16];
	u32 ifs;

	bed_start_pair(NULL, 0);
	host_path(&hosts[0], 5, 1, 1, 8, false);
	bed_cmd("capture cap");
	host_tx(&hosts[0], 1, "nowhere", 7, 3, 4);
	*host_desc(&hosts[0], true, 1, 1) = 0x1000;
	host_desc(&hosts[0], true, 1, 1)[1] = 64;
	host_write(&hosts[0], NHI_TX_RING + 24, 2 << 16);
	bed_cmd("capture off");
	cap_load("cap");
	check_eq(cap_parse(p, 16, names, &ifs), 2);
	check(p[0].iface == 0 && p[0].len == 23 && p[0].data[8] == 1);
	check(p[1].iface == 0 && p[1].len == 16 && p[1].data[15] == 64);
	bed_stop();
}

/* A full device ends the capture, not the emulator. */
static void cap_ends_when_disk_is_full(void)
{
	u32 i;

	bed_start_pair(NULL, 0);
	bed_cmd("capture /dev/full");
	host_rx_post(&hosts[1], 1, 1);
	for (i = 0; i < 14; i++)
		host_space_read(&hosts[0], SPACE_ROUTER, 0, i);
	for (i = 0; i < 100; i++)
		host_space_read(&hosts[0], SPACE_ROUTER, 0, 0);
	check(strstr(bed_cmd("status"), "capture off"));
	bed_stop();
}

TAP_GROUP(capture_tests,
	  TAP_TEST(cap_records_frames),
	  TAP_TEST(cap_records_control),
	  TAP_TEST(cap_records_failures),
	  TAP_TEST(cap_ends_when_disk_is_full));
