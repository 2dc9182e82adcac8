// SPDX-License-Identifier: GPL-2.0
/*
 * Registers of the host interface.
 */
#include "bed.h"

static void nhi_reports_caps(void)
{
	static const struct { const char *args; u32 caps; } cases[] = {
		{ NULL, 16 | 0x40 << 16 },
		{ "-n 3", 3 | 0x40 << 16 },
		{ "-g 3 -n 12", 12 | 0x20 << 16 },
		{ "-g 3 -V 2", 16 | 0x40 << 16 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bed_start(1, cases[i].args);
		host_start(&hosts[0]);
		check_eq(host_read(&hosts[0], NHI_CAPS), cases[i].caps);
		bed_stop();
	}
}

/* With three rings the fourth does not exist. */
static void nhi_has_as_many_rings(void)
{
	struct host *h = &hosts[0];

	bed_start(1, "-n 3");
	host_start(h);
	host_write(h, NHI_TX_RING + 2 * 16, 0x1000);
	host_write(h, NHI_TX_RING + 3 * 16, 0x1000);
	check_eq(host_read(h, NHI_TX_RING + 2 * 16), 0x1000);
	check_eq(host_read(h, NHI_TX_RING + 3 * 16), 0);
	host_write(h, NHI_RX_OPTIONS + 2 * 32, 0x1000);
	host_write(h, NHI_RX_OPTIONS + 3 * 32, 0x1000);
	check_eq(host_read(h, NHI_RX_OPTIONS + 2 * 32), 0x1000);
	check_eq(host_read(h, NHI_RX_OPTIONS + 3 * 32), 0);
	bed_stop();
}

static void nhi_keeps_ring_registers(void)
{
	struct host *h = &hosts[0];

	bed_start(1, NULL);
	host_start(h);
	host_write(h, NHI_RX_RING + 16, 0x12345678);
	host_write(h, NHI_RX_RING + 20, 0x9abc);
	host_write(h, NHI_RX_RING + 28, 64 | 0x100 << 16);
	host_write(h, NHI_RX_OPTIONS + 32 + 4, 0x00020004);
	check_eq(host_read(h, NHI_RX_RING + 16), 0x12345678);
	check_eq(host_read(h, NHI_RX_RING + 20), 0x9abc);
	check_eq(host_read(h, NHI_RX_RING + 28), 64 | 0x100 << 16);
	check_eq(host_read(h, NHI_RX_OPTIONS + 32 + 4), 0x00020004);
	/* The index registers share a word: the driver's half is kept. */
	host_write(h, NHI_RX_RING + 24, 5);
	check_eq(host_read(h, NHI_RX_RING + 24), 5);
	/* Enabling resets both indices. */
	host_write(h, NHI_RX_OPTIONS + 32, NHI_OPT_ENABLE);
	check_eq(host_read(h, NHI_RX_RING + 24), 0);
	bed_stop();
}

static void nhi_refuses_bad_index(void)
{
	struct host *h = &hosts[0];

	bed_start(1, NULL);
	host_start(h);
	host_ring_start(h, true, 1, NHI_OPT_ENABLE);
	host_write(h, NHI_TX_RING + 24, HOST_RING_SIZE << 16);
	check_eq(host_read(h, NHI_TX_RING + 24), 0);
	check_eq(bed_stat("0.guest_errors"), 1);
	host_write(h, NHI_TX_RING + 24, 0xffffU << 16);
	check_eq(host_read(h, NHI_TX_RING + 24), 0);
	/* A ring made smaller than its indices */
	host_write(h, NHI_RX_RING + 28, 100);
	host_write(h, NHI_RX_RING + 24, 99);
	host_write(h, NHI_RX_RING + 28, 4);
	check_eq(host_read(h, NHI_RX_RING + 24), 0);
	host_write(h, NHI_RX_RING + 28, 0);
	host_write(h, NHI_RX_RING + 24, 1);
	check_eq(host_read(h, NHI_RX_RING + 24), 0);
	bed_stop();
}

static void nhi_checks_access_size(void)
{
	static const struct { u32 off, size; } bad[] = { { 0, 1 }, { 0, 2 }, { 2, 4 }, { 0, 8 } };
	struct { u64 off; u32 region, count; u64 val; } req = { 0 };
	u8 out[24];
	u32 len, i;

	bed_start(1, NULL);
	host_start(&hosts[0]);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		req.off = NHI_DMA_MISC + bad[i].off;
		req.count = bad[i].size;
		req.val = 0x55;
		len = sizeof(out);
		check_eq(host_request(&hosts[0], CMD_REGION_READ, &req, 16, NULL, 0, out, &len), 0);
		check_eq(out[16], 0xff);
		check_eq(host_request(&hosts[0], CMD_REGION_WRITE, &req, 16 + req.count, NULL, 0,
				      NULL, NULL), 0);
	}
	check_eq(bed_stat("0.guest_errors"), 8);
	check_eq(host_read(&hosts[0], NHI_DMA_MISC), 0);
	/* Eight bytes are two registers. */
	req.off = NHI_TX_RING + 16;
	req.count = 8;
	req.val = 0x1122334455667788ULL;
	check_eq(host_request(&hosts[0], CMD_REGION_WRITE, &req, 24, NULL, 0, NULL, NULL), 0);
	check_eq(host_read(&hosts[0], NHI_TX_RING + 16), 0x55667788);
	check_eq(host_read(&hosts[0], NHI_TX_RING + 20), 0x11223344);
	bed_stop();
}

/* Errors are counted without limit and logged with one. */
static void nhi_limits_error_log(void)
{
	struct { u64 off; u32 region, count; } req = { 1, 0, 4 };
	struct host *h = &hosts[0];
	u32 i;

	bed_start(1, NULL);
	host_start(h);
	for (i = 0; i < 500; i++)
		host_request(h, CMD_REGION_READ, &req, sizeof(req), NULL, 0, NULL, NULL);
	check_eq(bed_stat("0.guest_errors"), 500);
	check(bed_log_lines() >= 10 && bed_log_lines() < 100);
	bed_stop();
}

/* Version 2 resets on request, version 1 has no such register. */
static void nhi_resets_host_router(void)
{
	static const char *const args[] = { NULL, "-g 3" };
	struct host *h = &hosts[0];
	u32 i;

	for (i = 0; i < 2; i++) {
		bed_start(1, args[i]);
		host_start(h);
		host_ctl_start(h);
		host_space_write(h, SPACE_PORT, 1, ADP_CS_5, 0);
		host_write(h, NHI_RESET, NHI_RESET_HRR);
		check_eq(host_read(h, NHI_RESET), 0);
		check_eq(host_read(h, NHI_RX_OPTIONS), i ? NHI_OPT_ENABLE | NHI_OPT_RAW : 0);
		if (!i)
			host_ctl_start(h);
		check_eq(host_space_read(h, SPACE_PORT, 1, ADP_CS_5) >> 31, !i);
		bed_stop();
	}
}

TAP_GROUP(nhi_tests,
	  TAP_TEST(nhi_reports_caps),
	  TAP_TEST(nhi_has_as_many_rings),
	  TAP_TEST(nhi_keeps_ring_registers),
	  TAP_TEST(nhi_refuses_bad_index),
	  TAP_TEST(nhi_checks_access_size),
	  TAP_TEST(nhi_limits_error_log),
	  TAP_TEST(nhi_resets_host_router));
