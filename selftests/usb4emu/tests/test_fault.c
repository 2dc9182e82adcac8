// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: every kind does what it says, to what it is meant for and nothing
 * else, as often as it is told, and the same again from the same seed.
 */
#include <unistd.h>

#include "bed.h"

static struct host_frame fault_frame;

static void fault_rejects(const char *error, const char *line)
{
	const char *got = bed_cmd_error("%s", line);

	if (!got || strcmp(got, error))
		tap_fail(__FILE__, __LINE__, "%s: %s, not %s", line, got ? got : "ok", error);
}

/* A frame of counting bytes from A to B */
static void fault_send(u32 len, u32 eof)
{
	u8 buf[4096];
	u32 i;

	for (i = 0; i < len; i++)
		buf[i] = i;
	host_tx(&hosts[0], 1, buf, len, 1, eof);
}

static bool fault_take(void)
{
	if (!host_rx(&hosts[1], 1, &fault_frame))
		return false;
	host_rx_post(&hosts[1], 1, 1);
	return true;
}

/* Does one frame arrive? The sender's descriptor completes in any case. */
static bool fault_passes(u32 len)
{
	fault_send(len, 2);
	check(host_tx_done(&hosts[0], 1));
	return fault_take();
}

static void fault_start(void)
{
	bed_start_pair(NULL, 0);
	host_rx_post(&hosts[1], 1, 8);
}

/* Takes all rules away, so that the next part begins afresh. */
static void fault_done(const char *key, u64 count)
{
	check_eq(bed_stat(key), count);
	bed_cmd("fault off");
	check_eq(bed_cmd("fault list")[0], 0);
	check(fault_passes(5));
	check_eq(fault_frame.len, 5);
	check_eq(fault_frame.flags, DESC_COMPLETED);
	check_eq(bed_stat(key), count);
}

static void fault_has_grammar(void)
{
	u32 i;

	bed_start(2, NULL);
	fault_rejects("KIND [WORD N]...|list|off [ID]|seed N|help", "fault");
	fault_rejects("no such fault, try fault help", "fault frobnicate");
	fault_rejects("no such word for this fault, try fault help", "fault drop us 4");
	fault_rejects("no such word for this fault, try fault help", "fault event-drop ring 1");
	fault_rejects("a word needs a number, or another one", "fault drop every");
	fault_rejects("a word needs a number, or another one", "fault drop every 0");
	fault_rejects("a word needs a number, or another one", "fault drop router 2");
	fault_rejects("a word needs a number, or another one", "fault drop ring 16");
	fault_rejects("a word needs a number, or another one", "fault drop every 4294967296");
	fault_rejects("a word needs a number, or another one", "fault drop every 1x");
	fault_rejects("a word is there twice", "fault drop every 2 every 3");
	fault_rejects("this fault needs a time: us N", "fault delay");
	fault_rejects("this fault needs a time: us N", "fault irq-delay every 2");
	fault_rejects("want the number of a rule", "fault off x");
	fault_rejects("want the number of a rule", "fault off 0");
	fault_rejects("no such rule", "fault off 1");
	fault_rejects("too many words", "fault list 1");
	fault_rejects("want a number", "fault seed");
	check(strstr(bed_cmd("fault help"), "truncate: router ring hop sof eof after"));
	for (i = 1; i <= 32; i++)
		check_eq(strtoul(bed_cmd("fault drop every %u", i), NULL, 10), i);
	fault_rejects("too many rules", "fault drop");
	bed_cmd("fault off 7");
	check(!strstr(bed_cmd("fault list"), "\n7 drop"));
	check(strstr(bed_cmd("fault list"), "32 drop every 32: matched 0, done 0"));
	check_eq(strtoul(bed_cmd("fault crc every 4294967295 hop 2047"), NULL, 10), 33);
	bed_stop();
}

static void fault_drops(void)
{
	u32 i, n = 0;

	fault_start();
	bed_cmd("fault drop every 4 after 2 count 2");
	for (i = 1; i <= 16; i++)
		check_eq(fault_passes(64), i != 6 && i != 10);
	check(strstr(bed_cmd("fault list"), "every 4 count 2: matched 16, done 2"));
	fault_done("0.fault.drop", 2);
	check_eq(bed_stat("0.tx1.drop.fault"), 2);
	check_eq(bed_stat("1.fault.drop"), 0);
	/* Not for us: the other direction, another ring, HopID, tag */
	bed_cmd("fault drop router 1");
	bed_cmd("fault drop ring 2");
	bed_cmd("fault drop hop 9");
	bed_cmd("fault drop sof 2");
	bed_cmd("fault drop eof 3");
	check(fault_passes(64));
	bed_cmd("fault drop router 0 ring 1 hop 8 sof 1 eof 2");
	check(!fault_passes(64));
	fault_done("0.fault.drop", 3);
	/* At random: as often as it should be, more or less */
	bed_cmd("fault drop chance 4");
	for (i = 0; i < 400; i++)
		n += !fault_passes(64);
	check(n > 60 && n < 140);
	/* The control channel is not concerned. */
	bed_cmd("fault drop");
	host_space_read(&hosts[0], SPACE_ROUTER, 0, 0);
	bed_stop();
}

static u64 fault_pattern(u32 seed)
{
	u64 bits = 0;
	u32 i;

	bed_cmd("fault off");
	bed_cmd("fault seed %u", seed);
	bed_cmd("fault drop chance 2");
	for (i = 0; i < 64; i++)
		bits |= (u64)fault_passes(1) << i;
	return bits;
}

static void fault_repeats(void)
{
	u64 first;

	fault_start();
	first = fault_pattern(42);
	check(fault_pattern(43) != first);
	check_eq(fault_pattern(42), first);
	bed_stop();
}

static void fault_corrupts(void)
{
	u32 i, at = 0, differ = 0;

	fault_start();
	bed_cmd("fault corrupt offset 22 size 2 set 4660");
	check(fault_passes(64));
	check_eq(fault_frame.data[22], 0x34);
	check_eq(fault_frame.data[23], 0x12);
	check_eq(fault_frame.data[21], 21);
	check_eq(fault_frame.data[24], 24);
	/* Shorter than the offset: not concerned */
	check(fault_passes(22));
	fault_done("0.fault.corrupt", 1);
	bed_cmd("fault corrupt offset 4 size 4 add 1");
	check(fault_passes(64));
	check_eq(fault_frame.data[4], 5);
	check_eq(fault_frame.data[7], 7);
	fault_done("0.fault.corrupt", 2);
	bed_cmd("fault corrupt offset 9 xor 255");
	check(fault_passes(10));
	check_eq(fault_frame.data[9], 9 ^ 255);
	fault_done("0.fault.corrupt", 3);
	/* Only as far as the frame goes */
	bed_cmd("fault corrupt offset 9 size 4 set 4294967295");
	check(fault_passes(11));
	check_eq(fault_frame.len, 11);
	check_eq(fault_frame.data[10], 255);
	fault_done("0.fault.corrupt", 4);
	/* Anywhere, one byte of it; the sender's memory is untouched. */
	bed_cmd("fault corrupt");
	check(fault_passes(200));
	for (i = 0; i < 200; i++) {
		differ += fault_frame.data[i] != i;
		at = fault_frame.data[i] != i ? i : at;
	}
	check_eq(differ, 1);
	check_eq(hosts[0].mem[host_addr(&hosts[0], true, 1, (hosts[0].tx[1].tail + 15) % 16) -
		 HOST_MEM_BASE + at], at);
	fault_done("0.fault.corrupt", 5);
	bed_stop();
}

static void fault_truncates_and_flags(void)
{
	u32 i;

	fault_start();
	bed_cmd("fault truncate len 60");
	check(fault_passes(61));
	check_eq(fault_frame.len, 60);
	check(fault_passes(60));
	check_eq(fault_frame.len, 60);
	fault_done("0.fault.truncate", 1);
	bed_cmd("fault truncate");
	for (i = 0; i < 20; i++) {
		check(fault_passes(4));
		check(fault_frame.len >= 1 && fault_frame.len < 4);
	}
	fault_done("0.fault.truncate", 21);
	bed_cmd("fault crc");
	check(fault_passes(64));
	check_eq(fault_frame.flags, DESC_COMPLETED | DESC_CRC_ERROR);
	fault_done("0.fault.crc", 1);
	bed_cmd("fault dup count 1");
	check(fault_passes(64));
	check(fault_take());
	check_eq(fault_frame.len, 64);
	check(!fault_take());
	fault_done("0.fault.dup", 1);
	bed_stop();
}

/* Frames keep their order; another ring's pass by them. */
static void fault_delays(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	u32 i;

	fault_start();
	host_ring_start(a, true, 2, NHI_OPT_ENABLE);
	host_ring_start(b, false, 2, NHI_OPT_ENABLE | NHI_OPT_RAW);
	host_rx_post(b, 2, 1);
	host_path(a, 5, 2, 1, 9, true);
	host_path(b, 1, 9, 5, 2, true);
	bed_cmd("fault delay us 100000 ring 1 count 1");
	for (i = 1; i <= 3; i++)
		fault_send(i, 2);
	host_tx(a, 2, "x", 1, 1, 2);
	check(!host_tx_done(a, 1));
	check(host_tx_done(a, 2));
	check(host_rx(b, 2, &fault_frame));
	bed_wait_stat("1.rx1.frames", 3);
	for (i = 1; i <= 3; i++) {
		check(host_tx_done(a, 1));
		check(fault_take());
		check_eq(fault_frame.len, i);
	}
	fault_done("0.fault.delay", 1);
	/* A ring that is stopped forgets the frame that waited. */
	bed_cmd("fault delay us 60000000 count 1");
	fault_send(9, 2);
	check(!host_tx_done(a, 1));
	host_ring_stop(a, true, 1);
	host_ring_start(a, true, 1, NHI_OPT_ENABLE);
	a->tx[1].head = 0;
	a->tx[1].tail = 0;
	check(fault_passes(6));
	check_eq(fault_frame.len, 6);
	bed_stop();
}

static void fault_stalls_ring(void)
{
	struct host *a = &hosts[0];
	u32 i;

	fault_start();
	bed_cmd("fault stall above 3 count 1");
	bed_cmd("fault delay us 200000 count 1");
	for (i = 0; i < 3; i++)
		fault_send(10, 2);
	check_eq(bed_stat("0.fault.stall"), 0);
	fault_send(10, 2);
	check_eq(bed_stat("0.fault.stall"), 1);
	usleep(300000);
	check(!host_tx_done(a, 1));
	bed_cmd("fault off");
	check(!host_tx_done(a, 1));	/* for good */
	host_ring_stop(a, true, 1);
	host_ring_start(a, true, 1, NHI_OPT_ENABLE);
	a->tx[1].head = 0;
	a->tx[1].tail = 0;
	fault_done("0.fault.stall", 1);
	bed_stop();
}

static void fault_withholds_descriptors(void)
{
	struct host *b = &hosts[1];
	u32 i;

	bed_start_pair(NULL, 0);
	host_rx_post(b, 1, 2);
	bed_cmd("fault withhold router 1 ring 1");
	host_rx_post(b, 1, 4);
	for (i = 0; i < 3; i++)
		fault_send(10, 2);
	check_eq(bed_stat("1.rx1.frames"), 2);
	check_eq(bed_stat("1.rx1.overflows"), 1);
	bed_cmd("fault off");
	fault_send(10, 2);
	check_eq(bed_stat("1.rx1.frames"), 3);
	check_eq(bed_stat("1.rx1.overflows"), 1);
	bed_stop();
}

/* A stalled sender goes on when the rule is gone, also by itself. */
static void fault_starves_credits(void)
{
	struct host *a = &hosts[0];

	bed_start_pair(NULL, NHI_OPT_E2E);
	host_rx_post(&hosts[1], 1, 8);
	bed_cmd("fault starve");
	fault_send(10, 2);
	check(!host_tx_done(a, 1));
	bed_cmd("fault off");
	check(host_tx_done(a, 1) && fault_take());
	bed_cmd("fault starve for 50000");
	fault_send(11, 2);
	check(!host_tx_done(a, 1));
	bed_wait_stat("1.rx1.frames", 2);
	check(host_tx_done(a, 1) && fault_take());
	check_eq(bed_cmd("fault list")[0], 0);
	bed_stop();
}

static void fault_loses_interrupts(void)
{
	struct host *b = &hosts[1];
	u32 i;

	fault_start();
	host_set_irqs(b, 2, HOST_VECTORS);
	host_write(b, NHI_IVR + 8, 3 << 4);
	host_write(b, NHI_INTERRUPT, BIT(17));
	bed_cmd("fault irq-drop router 1 ring 1 every 3");
	for (i = 1; i <= 6; i++) {
		check(fault_passes(1));
		check_eq(host_irq(b, 3, 0), i % 3 ? 1 : 0);
	}
	fault_done("1.fault.irq-drop", 2);
	host_irq(b, 3, 0);
	bed_cmd("fault irq-delay us 50000 count 1");
	fault_send(1, 2);
	check_eq(host_irq(b, 3, 0), 0);
	check_eq(host_irq(b, 3, 5000), 1);
	check(host_tx_done(&hosts[0], 1) && fault_take());
	fault_done("1.fault.irq-delay", 1);
	/* The control channel's are only meant if it says so. */
	bed_cmd("fault irq-drop");
	host_write(b, NHI_INTERRUPT, BIT(16) | BIT(17));
	host_space_write(b, SPACE_ROUTER, 0, 0x40, 0);
	check(host_irq(b, 0, 0) > 0);
	bed_cmd("fault irq-drop ring 0");
	host_space_write(b, SPACE_ROUTER, 0, 0x40, 0);
	check_eq(host_irq(b, 0, 0), 0);
	bed_stop();
}

/* It is sent again until it is acknowledged. */
static void fault_loses_plug_events(void)
{
	struct host *a = &hosts[0];
	u32 dw[CTL_MAX_DWORDS], n;

	bed_start(2, "-u");
	host_start(a);
	host_ctl_start(a);
	host_start(&hosts[1]);
	host_space_write(a, SPACE_PORT, 1, ADP_CS_5, 0);
	bed_cmd("fault event-drop router 0 count 1");
	bed_cmd("plug 0.1 1.1");
	check_eq(host_ctl_receive(a, dw, &n, 0), 0);
	host_expect_event(a, 1, false);
	check_eq(bed_stat("0.port1.events"), 1);
	check_eq(bed_stat("0.port1.retries"), 1);
	check_eq(bed_stat("0.fault.event-drop"), 1);
	bed_stop();
}

static u32 fault_xd(void)
{
	u32 req[4] = { 0, 1, 1, 2 };
	u32 dw[CTL_MAX_DWORDS], n, got = 0;

	host_ctl_send(&hosts[0], CTL_XDOMAIN_REQ, req, 4);
	while (host_ctl_receive(&hosts[1], dw, &n, 0))
		got++;
	return got;
}

static void fault_concerns_xdomain(void)
{
	u32 dw[CTL_MAX_DWORDS], n;

	fault_start();
	while (host_ctl_receive(&hosts[1], dw, &n, 0))
		;
	bed_cmd("fault xd-drop router 1");
	check_eq(fault_xd(), 1);
	bed_cmd("fault xd-drop router 0 count 1");
	check_eq(fault_xd(), 0);
	check_eq(fault_xd(), 1);
	bed_cmd("fault xd-dup count 1");
	check_eq(fault_xd(), 2);
	bed_cmd("fault xd-unplug after 1 count 1");
	check_eq(fault_xd(), 1);
	check(strstr(bed_cmd("status"), "port 0.1 cabled"));
	fault_xd();
	check(strstr(bed_cmd("status"), "port 0.1 free"));
	bed_cmd("plug 0.1 1.1");
	bed_cmd("fault unplug eof 2 count 1");
	check(fault_passes(9));
	check(strstr(bed_cmd("status"), "port 0.1 free"));
	bed_stop();
}

/* Dword 3 of what host 0 sends, as it arrives */
static u32 fault_xd_dword(u32 val)
{
	u32 req[4] = { 0, 1, 1, val };
	u32 dw[CTL_MAX_DWORDS] = { 0 }, n = 0;

	host_ctl_send(&hosts[0], CTL_XDOMAIN_REQ, req, 4);
	check(host_ctl_receive(&hosts[1], dw, &n, 0));
	return dw[3];
}

static void fault_replaces_in_xdomain(void)
{
	u32 dw[CTL_MAX_DWORDS], n;

	fault_start();
	while (host_ctl_receive(&hosts[1], dw, &n, 0))
		;
	check(strstr(bed_cmd_error("fault xd-replace find 2"), "find N set N"));
	bed_cmd("fault xd-replace router 0 find 2 set 77 count 1");
	/* neither the header's dwords nor another number */
	check_eq(fault_xd_dword(1), 1);
	check_eq(fault_xd_dword(2), 77);
	check_eq(fault_xd_dword(2), 2);
	bed_stop();
}

/* Tags as in a driver whose start tag is an end tag, too */
static void fault_cuts_at_first_packet(void)
{
	struct host *b = &hosts[1];

	fault_start();
	host_write(b, NHI_RX_OPTIONS + NHI_OPTIONS_STRIDE + 4, 0x00020006);
	check(fault_passes(256));
	check_eq(fault_frame.len, 256);
	check_eq(fault_frame.eof, 2);
	check(fault_passes(257));
	check_eq(fault_frame.len, 256);
	check_eq(fault_frame.eof, 1);
	check(!fault_take());
	check_eq(bed_stat("1.rx1.cuts"), 1);
	bed_stop();
}

static void fault_limits_rings(void)
{
	bed_start(2, NULL);
	fault_rejects("no such router", "hops 2 3");
	fault_rejects("want 3 to 16 rings", "hops 0 2");
	fault_rejects("want 3 to 16 rings", "hops 0 17");
	bed_cmd("hops 0 3");
	host_start(&hosts[0]);
	host_start(&hosts[1]);
	check_eq(hosts[0].hops, 3);
	check_eq(hosts[1].hops, 16);
	host_ctl_start(&hosts[0]);
	check_eq(host_space_read(&hosts[0], SPACE_PORT, 5, 5) & 0x3fffff, 2 | 2 << 11);
	fault_rejects("a driver is using the rings", "hops 0 4");
	host_ring_start(&hosts[0], true, 2, NHI_OPT_ENABLE);
	host_ring_start(&hosts[0], true, 3, NHI_OPT_ENABLE);
	check(strstr(bed_cmd("stats 0"), "0.tx2.frames"));
	check(!strstr(bed_cmd("stats 0"), "0.tx3.frames"));
	check(strstr(bed_cmd("status"), "router 0 attached version 2 hops 3"));
	bed_stop();
}

TAP_GROUP(fault_tests,
	  TAP_TEST(fault_has_grammar),
	  TAP_TEST(fault_drops),
	  TAP_TEST(fault_repeats),
	  TAP_TEST(fault_corrupts),
	  TAP_TEST(fault_truncates_and_flags),
	  TAP_TEST(fault_delays),
	  TAP_TEST(fault_stalls_ring),
	  TAP_TEST(fault_withholds_descriptors),
	  TAP_TEST(fault_starves_credits),
	  TAP_TEST(fault_loses_interrupts),
	  TAP_TEST(fault_loses_plug_events),
	  TAP_TEST(fault_concerns_xdomain),
	  TAP_TEST(fault_replaces_in_xdomain),
	  TAP_TEST(fault_cuts_at_first_packet),
	  TAP_TEST(fault_limits_rings));
