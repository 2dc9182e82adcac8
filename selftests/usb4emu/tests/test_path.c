// SPDX-License-Identifier: GPL-2.0
/*
 * Frames from ring to ring.
 */
#include "bed.h"

static u8 pattern[4096];

static void path_fill(u32 seed)
{
	u32 i;

	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = (seed + 1) * 31 * i + (i >> 8) + seed;
}

static void path_send(struct host *h, u32 len)
{
	path_fill(len);
	host_tx(h, 1, pattern, len, 1, 2);
}

static void path_expect(struct host *h, u32 len)
{
	struct host_frame f;

	path_fill(len);
	check(host_rx(h, 1, &f));
	check_eq(f.len, len);
	check_eq(f.sof, 1);
	check_eq(f.eof, 2);
	check_eq(f.flags, DESC_COMPLETED);	/* nothing else: it would mean an overrun */
	check(!memcmp(f.data, pattern, len));
}

static void path_forwards_frames(void)
{
	static const u32 lens[] = { 1, 2, 255, 256, 257, 1024, 4095, 4096 };
	u32 i, round, n = 0, bytes = 0;

	bed_start_pair(NULL, 0);
	/* More than once round the rings */
	for (round = 0; round < 5; round++) {
		for (i = 0; i < ARRAY_SIZE(lens); i++) {
			struct host *from = &hosts[i % 2], *to = &hosts[!(i % 2)];

			host_rx_post(to, 1, 1);
			path_send(from, lens[i]);
			check(host_tx_done(from, 1));
			path_expect(to, lens[i]);
			n += i % 2 == 0;
			bytes += i % 2 == 0 ? lens[i] : 0;
		}
	}
	check_eq(bed_stat("0.tx1.frames"), n);
	check_eq(bed_stat("0.tx1.bytes"), bytes);
	check_eq(bed_stat("1.rx1.frames"), n);
	check_eq(bed_stat("1.rx1.bytes"), bytes);
	check_eq(bed_stat("1.rx1.overflows"), 0);
	bed_stop();
}

/* One frame, lost for this reason */
static void path_loses(const char *reason)
{
	struct host_frame f;
	char key[64];
	u64 before;

	snprintf(key, sizeof(key), "0.tx1.drop.%s", reason);
	before = bed_stat(key);
	path_send(&hosts[0], 100);
	check(host_tx_done(&hosts[0], 1));
	check_eq(bed_stat(key), before + 1);
	check(!host_rx(&hosts[1], 1, &f));
}

static void path_counts_drops(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];

	bed_start_pair(NULL, 0);
	host_rx_post(b, 1, 4);
	host_path(a, 5, 1, 1, 8, false);
	path_loses("no_path");
	host_path(a, 5, 1, 3, 8, true);
	path_loses("unplugged");
	host_path(a, 5, 1, 2, 8, true);		/* a second lane */
	path_loses("bad_path");
	host_path(a, 5, 1, 63, 8, true);
	path_loses("bad_path");
	host_path(a, 5, 1, 5, 1, true);		/* straight back */
	path_loses("bad_path");
	host_path(a, 5, 1, 1, 0x7ff, true);
	path_loses("bad_path");
	host_path(a, 5, 1, 1, 9, true);
	path_loses("peer_no_path");
	host_path(a, 5, 1, 1, 8, true);
	host_path(b, 1, 8, 5, 200, true);
	path_loses("bad_path");
	host_path(b, 1, 8, 5, 2, true);
	path_loses("rx_disabled");
	host_path(b, 1, 8, 1, 8, true);		/* back out of the port it came by */
	host_path(a, 1, 8, 1, 8, true);
	path_loses("loop");
	host_path(a, 1, 8, 5, 1, true);
	host_path(b, 1, 8, 5, 1, true);
	host_write(b, NHI_RX_OPTIONS + 32 + 4, 0x00040004);
	path_loses("pdf");
	host_write(b, NHI_RX_OPTIONS + 32 + 4, 0x00020002);
	path_loses("pdf");
	host_write(b, NHI_RX_OPTIONS + 32 + 4, 0x00020004);
	bed_cmd("unplug 1.1");
	path_loses("unplugged");
	bed_cmd("plug 0.1 1.1");
	path_send(a, 77);
	path_expect(b, 77);
	bed_stop();
}

/* Buffers and rings that are not memory */
static void path_survives_bad_addresses(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	struct host_frame f;

	bed_start_pair(NULL, 0);
	host_rx_post(b, 1, 3);
	*host_desc(a, true, 1, 0) = 0x1000;
	host_desc(a, true, 1, 0)[1] = 64 | 2 << 12 | 1 << 16;
	host_write(a, NHI_TX_RING + 24, 1 << 16);
	check(host_tx_done(a, 1));
	check_eq(bed_stat("0.tx1.drop.dma"), 1);
	/* Starts in memory, ends beyond it */
	*host_desc(a, true, 1, 1) = HOST_MEM_BASE + HOST_MEM_SIZE - 63;
	host_desc(a, true, 1, 1)[1] = 64 | 2 << 12 | 1 << 16;
	host_write(a, NHI_TX_RING + 24, 2 << 16);
	check(host_tx_done(a, 1));
	check_eq(bed_stat("0.tx1.drop.dma"), 2);
	/* An address that wraps around */
	*host_desc(a, true, 1, 2) = ~0ULL - 8;
	host_desc(a, true, 1, 2)[1] = 64 | 2 << 12 | 1 << 16;
	host_write(a, NHI_TX_RING + 24, 3 << 16);
	check_eq(bed_stat("0.tx1.drop.dma"), 3);
	a->tx[1].head = 3;
	a->tx[1].tail = 3;
	check(!host_rx(b, 1, &f));
	/* The receiver's buffer */
	*host_desc(b, false, 1, 0) = 0x1000;
	path_send(a, 64);
	check_eq(bed_stat("0.tx1.drop.dma"), 4);
	check(bed_stat("1.dma_errors") > 0);
	/* The sender's ring itself */
	host_write(a, NHI_TX_RING + 20, 0xffffffff);
	path_send(a, 64);
	check(bed_stat("0.dma_errors") > 3);
	check_eq(bed_stat("0.tx1.frames"), 4);
	bed_stop();
}

/* A frame larger than the ring's frame size is cut and marked. */
static void path_marks_overrun(void)
{
	struct host_frame f;

	bed_start_pair(NULL, 0);
	host_write(&hosts[1], NHI_RX_RING + 28, HOST_RING_SIZE | 256 << 16);
	host_rx_post(&hosts[1], 1, 1);
	path_send(&hosts[0], 1000);
	check(host_rx(&hosts[1], 1, &f));
	check_eq(f.len, 256);
	check_eq(f.flags, DESC_COMPLETED | DESC_OVERRUN);
	bed_stop();
}

/* End to end: the sender waits, nothing is lost, order is kept. */
static void path_stalls_with_e2e(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	u32 i;

	bed_start_pair(NULL, NHI_OPT_E2E);
	host_rx_post(b, 1, 2);
	for (i = 1; i <= 6; i++)
		path_send(a, i);
	check(host_tx_done(a, 1) && host_tx_done(a, 1));
	check(!host_tx_done(a, 1));
	check_eq(bed_stat("0.tx1.stalls"), 1);
	path_expect(b, 1);
	path_expect(b, 2);
	host_rx_post(b, 1, 1);
	check(host_tx_done(a, 1) && !host_tx_done(a, 1));
	check_eq(bed_stat("0.tx1.stalls"), 2);
	host_rx_post(b, 1, 8);
	check(host_tx_done(a, 1) && host_tx_done(a, 1) && host_tx_done(a, 1));
	for (i = 3; i <= 6; i++)
		path_expect(b, i);
	check_eq(bed_stat("0.tx1.drop.overflow"), 0);
	check_eq(bed_stat("1.rx1.overflows"), 0);
	check_eq(bed_stat("1.rx1.frames"), 6);
	bed_stop();
}

/* Whatever ends the wait: the path, the receive ring, the cable. */
static void path_releases_stalled_sender(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];

	bed_start_pair(NULL, NHI_OPT_E2E);
	path_send(a, 10);
	check(!host_tx_done(a, 1));
	host_path(b, 1, 8, 5, 1, false);
	check(host_tx_done(a, 1));
	check_eq(bed_stat("0.tx1.drop.peer_no_path"), 1);
	host_path(b, 1, 8, 5, 1, true);
	path_send(a, 10);
	check(!host_tx_done(a, 1));
	host_ring_stop(b, false, 1);
	check(host_tx_done(a, 1));
	check_eq(bed_stat("0.tx1.drop.rx_disabled"), 1);
	host_ring_start(b, false, 1, NHI_OPT_ENABLE | NHI_OPT_E2E);
	path_send(a, 10);
	check(!host_tx_done(a, 1));
	bed_cmd("unplug 0.1");
	check(host_tx_done(a, 1));
	check_eq(bed_stat("0.tx1.drop.unplugged"), 1);
	bed_cmd("plug 0.1 1.1");
	path_send(a, 10);
	host_ring_stop(a, true, 1);
	host_rx_post(b, 1, 1);
	check_eq(bed_stat("1.rx1.frames"), 0);
	bed_stop();
}

/* Without it: lost, counted, and the overflow status is set. */
static void path_overflows_without_e2e(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	u32 i;

	bed_start_pair(NULL, 0);
	host_write(b, NHI_DMA_MISC, NHI_DMA_MISC_NO_AUTO_CLEAR);
	host_rx_post(b, 1, 1);
	for (i = 1; i <= 3; i++) {
		path_send(a, i);
		check(host_tx_done(a, 1));
	}
	path_expect(b, 1);
	check_eq(bed_stat("0.tx1.stalls"), 0);
	check_eq(bed_stat("0.tx1.drop.overflow"), 2);
	check_eq(bed_stat("1.rx1.overflows"), 2);
	check_eq(host_read(b, NHI_NOTIFY + 4), 1 << 1);		/* bit 32 + ring */
	host_write(b, NHI_INT_CLEAR + 4, ~0U);
	check_eq(host_read(b, NHI_NOTIFY + 4), 0);
	host_rx_post(b, 1, 1);
	path_send(a, 9);
	path_expect(b, 9);
	bed_stop();
}

/* Two senders to one ring take turns. */
static void path_shares_ring(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	struct host_frame f;
	u32 i, from[2] = { 0 };

	bed_start_pair(NULL, NHI_OPT_E2E);
	host_ring_start(a, true, 2, NHI_OPT_ENABLE);
	host_path(a, 5, 2, 1, 8, true);
	for (i = 0; i < 8; i++) {
		host_tx(a, 1, "\1", 1, 1, 2);
		host_tx(a, 2, "\2", 1, 1, 2);
	}
	for (i = 0; i < 4; i++) {
		host_rx_post(b, 1, 1);
		check(host_rx(b, 1, &f));
		from[f.data[0] - 1]++;
	}
	check_eq(from[0], 2);
	check_eq(from[1], 2);
	bed_stop();
}

/* Three hosts in a row, the one in the middle has two cables. */
static void path_routes_any_port(void)
{
	struct host_frame f;
	u32 i;

	bed_start(3, "-p 0.3-1.1 -p 1.3-2.3");
	for (i = 0; i < 3; i++) {
		host_start(&hosts[i]);
		host_ctl_start(&hosts[i]);
		host_ring_start(&hosts[i], true, 1, NHI_OPT_ENABLE | NHI_OPT_RAW);
		host_ring_start(&hosts[i], false, 1 + i, NHI_OPT_ENABLE | NHI_OPT_RAW);
		host_rx_post(&hosts[i], 1 + i, 2);
	}
	/* Through the middle router, from adapter to adapter */
	host_path(&hosts[0], 5, 1, 3, 9, true);
	host_path(&hosts[1], 1, 9, 3, 10, true);
	host_path(&hosts[2], 3, 10, 5, 3, true);
	host_tx(&hosts[0], 1, "through", 7, 1, 2);
	check(host_rx(&hosts[2], 3, &f));
	check(f.len == 7 && !memcmp(f.data, "through", 7));
	/* And to the middle one */
	host_path(&hosts[1], 1, 9, 5, 2, true);
	host_tx(&hosts[0], 1, "middle", 6, 1, 2);
	check(host_rx(&hosts[1], 2, &f));
	check(f.len == 6 && !memcmp(f.data, "middle", 6));
	check(!host_rx(&hosts[2], 3, &f));
	bed_stop();
}

TAP_GROUP(path_tests,
	  TAP_TEST(path_forwards_frames),
	  TAP_TEST(path_counts_drops),
	  TAP_TEST(path_survives_bad_addresses),
	  TAP_TEST(path_marks_overrun),
	  TAP_TEST(path_stalls_with_e2e),
	  TAP_TEST(path_releases_stalled_sender),
	  TAP_TEST(path_overflows_without_e2e),
	  TAP_TEST(path_shares_ring),
	  TAP_TEST(path_routes_any_port));
