// SPDX-License-Identifier: GPL-2.0
/*
 * Control channel and configuration spaces.
 */
#include "../emu.h"
#include "bed.h"

static void ctl_start(u32 n, const char *args)
{
	u32 i;

	bed_start(n, args);
	for (i = 0; i < n; i++) {
		host_start(&hosts[i]);
		host_ctl_start(&hosts[i]);
	}
}

static void ctl_crc_is_castagnoli(void)
{
	check_eq(emu_crc32c("123456789", 9), 0xe3069283);
}

static void ctl_reads_router(void)
{
	struct host *h = &hosts[0];
	u32 req[3] = { 0, 0, 0 | 5 << 13 | 0 << 19 | SPACE_ROUTER << 25 | 3 << 27 };
	u32 dw[CTL_MAX_DWORDS], n;

	ctl_start(2, NULL);
	host_ctl_send(h, CTL_READ, req, 3);
	check_eq(host_ctl_receive(h, dw, &n, 0), CTL_READ);
	check_eq(n, 8);
	check_eq(dw[0], CTL_FROM_ROUTER);
	/* The address comes back with its sequence number and the upstream adapter. */
	check_eq(dw[2], req[2] | 5 << 19);
	check_eq(dw[3], CFG_ID);
	check_eq(dw[4], 0x40 | 5 << 8 | 5 << 14 | 1 << 24);
	check_eq(dw[7] >> 24, 0x40);
	/* Routers differ in their UID. */
	check(host_space_read(h, SPACE_ROUTER, 0, RTR_CS_7) !=
	      host_space_read(&hosts[1], SPACE_ROUTER, 0, RTR_CS_7));
	check_eq(bed_stat("0.ctl.reads"), 2);
	bed_stop();
}

static u32 ctl_error(struct host *h, u32 type, const u32 *req, u32 len)
{
	u32 dw[CTL_MAX_DWORDS], n;

	host_ctl_send(h, type, req, len);
	check_eq(host_ctl_receive(h, dw, &n, 0), CTL_ERROR);
	check_eq(n, 3);
	check_eq(dw[0] >> 31, 1);
	return dw[2];
}

static void ctl_reports_errors(void)
{
	static const struct { u32 route, addr, error; } cases[] = {
		{ 0, 1 << 13 | 6 << 19 | SPACE_PORT << 25, CTL_ERR_NO_SUCH_PORT | 6 << 8 },
		{ 0, 1 << 13 | 0 << 19 | SPACE_PORT << 25, CTL_ERR_NO_SUCH_PORT },
		{ 0, 1 << 13 | 63 << 19 | SPACE_HOPS << 25, CTL_ERR_NO_SUCH_PORT | 63 << 8 },
		{ 0, 1 << 13 | 1 << 19 | SPACE_COUNTERS << 25, CTL_ERR_INVALID_SPACE | 1 << 8 },
		{ 0, 256 | 1 << 13 | SPACE_ROUTER << 25, CTL_ERR_INVALID_SPACE },
		{ 0, 255 | 2 << 13 | SPACE_ROUTER << 25, CTL_ERR_INVALID_SPACE },
		{ 0, 0x1fff | 60 << 13 | SPACE_ROUTER << 25, CTL_ERR_INVALID_SPACE },
		{ 0, 64 | 1 << 13 | 1 << 19 | SPACE_HOPS << 25, CTL_ERR_INVALID_SPACE | 1 << 8 },
		{ 0, 31 | 2 << 13 | 5 << 19 | SPACE_HOPS << 25, CTL_ERR_INVALID_SPACE | 5 << 8 },
		{ 3, 1 << 13 | SPACE_ROUTER << 25, CTL_ERR_NOT_CONNECTED | 3 << 8 },
		{ 1, 1 << 13 | SPACE_ROUTER << 25, CTL_ERR_OTHER_DOMAIN | 1 << 8 },
		{ 2, 1 << 13 | SPACE_ROUTER << 25, CTL_ERR_NO_SUCH_PORT | 2 << 8 },
	};
	u32 i;

	ctl_start(2, NULL);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 req[3] = { 0, cases[i].route, cases[i].addr };

		check_eq(ctl_error(&hosts[0], CTL_READ, req, 3), cases[i].error);
	}
	check_eq(bed_stat("0.ctl.errors"), ARRAY_SIZE(cases));
	bed_stop();
}

/* What is not a packet is counted and otherwise ignored. */
static void ctl_drops_bad_packets(void)
{
	u32 read[4] = { 0, 0, 1 << 13 | SPACE_ROUTER << 25 };
	u32 write[5] = { 0, 0, 2 << 13 | SPACE_ROUTER << 25 };
	struct host *h = &hosts[0];
	u32 dw[CTL_MAX_DWORDS + 4] = { 0 }, n;

	ctl_start(1, NULL);
	host_tx(h, 0, read, 16, 0, CTL_READ);			/* CRC of zero */
	check(host_tx_done(h, 0));
	check_eq(bed_stat("0.ctl.bad_crc"), 1);
	host_ctl_send(h, CTL_READ, read, 4);			/* too long */
	host_ctl_send(h, CTL_READ, read, 2);
	host_ctl_send(h, CTL_WRITE, write, 4);			/* says 2, has 1 */
	host_ctl_send(h, CTL_WRITE, write, 3);
	read[2] &= ~GENMASK(18, 13);
	host_ctl_send(h, CTL_READ, read, 3);			/* no dword */
	read[2] |= 61 << 13;
	host_ctl_send(h, CTL_READ, read, 3);			/* more than a packet holds */
	host_ctl_send(h, CTL_XDOMAIN_REQ, read, 2);
	host_ctl_send(h, CTL_ERROR, read, 2);
	check_eq(bed_stat("0.ctl.bad_length"), 8);
	host_tx(h, 0, dw, 4, 0, CTL_READ);
	host_tx(h, 0, dw, 13, 0, CTL_READ);
	host_tx(h, 0, dw, 260, 0, CTL_READ);
	host_tx(h, 0, dw, 0, 0, CTL_READ);			/* 4096 bytes */
	check_eq(bed_stat("0.ctl.bad_length"), 12);
	for (n = 0; n < 4; n++)
		check(host_tx_done(h, 0));
	host_ctl_send(h, 8, read, 3);
	host_ctl_send(h, 0, read, 3);
	check_eq(bed_stat("0.ctl.unknown"), 2);
	check_eq(host_ctl_receive(h, dw, &n, 10), 0);
	check_eq(host_space_read(h, SPACE_ROUTER, 0, 0), CFG_ID);
	bed_stop();
}

/* Only what is writable changes. */
static void ctl_masks_writes(void)
{
	static const struct { u32 space, adapter, off, reset, written; } regs[] = {
		{ SPACE_ROUTER, 0, 0x00, CFG_ID, CFG_ID },
		{ SPACE_ROUTER, 0, 0x03, 0, ~0U },
		{ SPACE_ROUTER, 0, 0x04, 0x40000000, 0x4000ffff },
		{ SPACE_ROUTER, 0, 0x19, 0, ~0U },
		{ SPACE_ROUTER, 0, 0x80, 0, 0 },
		{ SPACE_PORT, 1, 0x04, 120 << 20, 120 << 20 | 0x800003ff },
		{ SPACE_PORT, 1, 0x05, 0x8000f81f, 0x9fc0f81f },
		{ SPACE_PORT, 5, 0x02, 0x40000002, 0x40000002 },
		{ SPACE_PORT, 3, 0x10, 0x003e0120, 0x003e0120 },
		{ SPACE_PORT, 4, 0x10, 0x003e0160, 0x003e0160 },
		{ SPACE_HOPS, 1, 16, 0, ~GENMASK(30, 25) },
		{ SPACE_HOPS, 1, 17, 0, GENMASK(27, 0) },
	};
	u32 i;

	ctl_start(1, NULL);
	for (i = 0; i < ARRAY_SIZE(regs); i++) {
		check_eq(host_space_read(&hosts[0], regs[i].space, regs[i].adapter, regs[i].off),
			 regs[i].reset);
		host_space_write(&hosts[0], regs[i].space, regs[i].adapter, regs[i].off, ~0U);
		check_eq(host_space_read(&hosts[0], regs[i].space, regs[i].adapter, regs[i].off),
			 regs[i].written);
	}
	bed_stop();
}

static void ctl_runs_router_operations(void)
{
	struct host *h = &hosts[0];

	ctl_start(1, NULL);
	host_space_write(h, SPACE_ROUTER, 0, RTR_OP, RTR_OP_VALID | RTR_OP_BUFFER_ALLOC);
	check_eq(host_space_read(h, SPACE_ROUTER, 0, RTR_OP), RTR_OP_BUFFER_ALLOC);
	check_eq(host_space_read(h, SPACE_ROUTER, 0, RTR_OP_META), 5);
	check_eq(host_space_read(h, SPACE_ROUTER, 0, RTR_OP_DATA), 5 | 64 << 16);
	host_space_write(h, SPACE_ROUTER, 0, RTR_OP, RTR_OP_VALID | 0x24);
	check_eq(host_space_read(h, SPACE_ROUTER, 0, RTR_OP), RTR_OP_UNSUPPORTED | 0x24);
	bed_stop();
}

static void ctl_enters_sleep(void)
{
	struct host *h = &hosts[0];

	ctl_start(1, NULL);
	check(!(host_space_read(h, SPACE_ROUTER, 0, RTR_CS_6) & RTR_CS_6_SLPR));
	host_space_write(h, SPACE_ROUTER, 0, RTR_CS_5, RTR_CS_5_SLP);
	check(host_space_read(h, SPACE_ROUTER, 0, RTR_CS_6) & RTR_CS_6_SLPR);
	host_space_write(h, SPACE_ROUTER, 0, RTR_CS_5, 0);
	check(!(host_space_read(h, SPACE_ROUTER, 0, RTR_CS_6) & RTR_CS_6_SLPR));
	bed_stop();
}

/* The router's own sideband registers answer, retimers are absent. */
static void ctl_answers_sideband(void)
{
	struct host *h = &hosts[0];

	ctl_start(1, NULL);
	host_space_write(h, SPACE_PORT, 1, PORT_CS_1, 0x81000408);
	check_eq(host_space_read(h, SPACE_PORT, 1, PORT_CS_1), 0x01000408);
	host_space_write(h, SPACE_PORT, 1, PORT_CS_1, 0x80120408);
	check_eq(host_space_read(h, SPACE_PORT, 1, PORT_CS_1), 0x02120408);
	bed_stop();
}

/* Packets wait for descriptors, in order, up to the queue's length. */
static void ctl_queues_without_descriptors(void)
{
	u32 req[3] = { 0, 0, 1 << 13 | SPACE_ROUTER << 25 };
	struct host *h = &hosts[0];
	u32 dw[CTL_MAX_DWORDS], n, i;

	bed_start(1, NULL);
	host_start(h);
	host_ring_start(h, true, 0, NHI_OPT_ENABLE | NHI_OPT_RAW);
	host_ring_start(h, false, 0, NHI_OPT_ENABLE | NHI_OPT_RAW);
	for (i = 0; i < 70; i++) {
		req[2] = i | 1 << 13 | SPACE_ROUTER << 25;
		host_ctl_send(h, CTL_READ, req, 3);
	}
	check_eq(bed_stat("0.ctl.queue_full"), 6);
	host_rx_post(h, 0, HOST_RING_SIZE - 1);
	for (i = 0; i < 64; i++) {
		check_eq(host_ctl_receive(h, dw, &n, 0), CTL_READ);
		check_eq(CTL_ADDR_OFFSET(dw[2]), i);
	}
	check_eq(host_ctl_receive(h, dw, &n, 10), 0);
	bed_stop();
}

static void ctl_forwards_xdomain(void)
{
	u32 req[20] = { 0, 3, 17 | 2 << 27, 0xaabbccdd, 5, 6, 7 };
	u32 dw[CTL_MAX_DWORDS], n;

	ctl_start(2, "-p 0.3-1.1");
	req[19] = 0x12345678;
	host_ctl_send(&hosts[0], CTL_XDOMAIN_REQ, req, 20);
	check_eq(host_ctl_receive(&hosts[1], dw, &n, 0), CTL_XDOMAIN_REQ);
	/* The route becomes the adapter it arrived at, the rest is untouched. */
	check_eq(n, 20);
	check_eq(dw[0], CTL_FROM_ROUTER);
	check_eq(dw[1], 1);
	check(!memcmp(dw + 2, req + 2, 18 * 4));
	req[1] = 1;
	host_ctl_send(&hosts[1], CTL_XDOMAIN_RESP, req, 20);
	check_eq(host_ctl_receive(&hosts[0], dw, &n, 0), CTL_XDOMAIN_RESP);
	check_eq(dw[1], 3);
	check_eq(bed_stat("0.ctl.xdomain"), 1);
	/* Nobody there, no such port, a route deeper than one */
	req[1] = 1;
	check_eq(ctl_error(&hosts[0], CTL_XDOMAIN_REQ, req, 20), CTL_ERR_NOT_CONNECTED | 1 << 8);
	req[1] = 5;
	check_eq(ctl_error(&hosts[0], CTL_XDOMAIN_REQ, req, 20), CTL_ERR_NO_SUCH_PORT | 5 << 8);
	req[1] = 0x103;
	check_eq(ctl_error(&hosts[0], CTL_XDOMAIN_REQ, req, 20), CTL_ERR_NO_SUCH_PORT | 3 << 8);
	/* A peer without a control channel */
	host_ring_stop(&hosts[1], false, 0);
	req[1] = 3;
	host_ctl_send(&hosts[0], CTL_XDOMAIN_REQ, req, 20);
	check_eq(bed_stat("1.ctl.unsent"), 1);
	bed_stop();
}

TAP_GROUP(ctl_tests,
	  TAP_TEST(ctl_crc_is_castagnoli),
	  TAP_TEST(ctl_reads_router),
	  TAP_TEST(ctl_reports_errors),
	  TAP_TEST(ctl_drops_bad_packets),
	  TAP_TEST(ctl_masks_writes),
	  TAP_TEST(ctl_runs_router_operations),
	  TAP_TEST(ctl_enters_sleep),
	  TAP_TEST(ctl_answers_sideband),
	  TAP_TEST(ctl_queues_without_descriptors),
	  TAP_TEST(ctl_forwards_xdomain));
