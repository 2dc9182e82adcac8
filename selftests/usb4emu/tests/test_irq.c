// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts: status, mask, vectors, moderation.
 */
#include <time.h>
#include <unistd.h>

#include "bed.h"

#define TX_BIT(ring)	BIT(ring)
#define RX_BIT(ring)	BIT(16 + (ring))

static u64 irq_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Vector 2 for transmit, 3 for receive ring 1 of host 1 */
static void irq_start(const char *args)
{
	struct host *b = &hosts[1];

	bed_start_pair(args, 0);
	host_set_irqs(b, 2, HOST_VECTORS);
	host_write(b, NHI_DMA_MISC, NHI_DMA_MISC_NO_AUTO_CLEAR);
	host_write(b, NHI_IVR, 2 << 4);
	host_write(b, NHI_IVR + 8, 3 << 4);
	host_write(b, NHI_MASK_CLEAR, ~0U);
	host_write(b, NHI_INT_CLEAR, ~0U);
	host_rx_post(b, 1, 8);
}

static void irq_send(u32 n)
{
	while (n--)
		host_tx(&hosts[0], 1, "x", 1, 1, 2);
}

static void irq_delivers_on_vector(void)
{
	struct host *b = &hosts[1];
	u32 vec;

	irq_start(NULL);
	host_write(b, NHI_INTERRUPT, RX_BIT(1));
	irq_send(1);
	check_eq(host_irq(b, 3, 0), 1);
	check_eq(host_read(b, NHI_NOTIFY), RX_BIT(1));
	/* Again with the status still set: the driver's clear may be on its way. */
	irq_send(1);
	check_eq(host_irq(b, 3, 0), 1);
	host_write(b, NHI_INT_CLEAR, RX_BIT(1));
	check_eq(host_read(b, NHI_NOTIFY), 0);
	for (vec = 0; vec < HOST_VECTORS; vec++)
		check_eq(host_irq(b, vec, 0), 0);
	/* Transmit completions have their own. */
	host_write(b, NHI_INTERRUPT, TX_BIT(1) | RX_BIT(1));
	host_tx(b, 1, "y", 1, 1, 2);
	check_eq(host_irq(b, 2, 0), 1);
	check_eq(host_irq(b, 3, 0), 0);
	check_eq(bed_stat("1.msis"), 3);
	bed_stop();
}

static void irq_obeys_mask(void)
{
	struct host *b = &hosts[1];

	irq_start(NULL);
	irq_send(1);
	check_eq(host_irq(b, 3, 0), 0);
	check_eq(host_read(b, NHI_NOTIFY), RX_BIT(1));
	/* Polling drivers rely on it: enabled with its status set, it fires. */
	host_write(b, NHI_INTERRUPT, RX_BIT(1));
	check_eq(host_irq(b, 3, 0), 1);
	/* But writing what is enabled already does not. */
	host_write(b, NHI_INTERRUPT, RX_BIT(1) | RX_BIT(2));
	check_eq(host_irq(b, 3, 0), 0);
	check_eq(host_read(b, NHI_INTERRUPT), RX_BIT(1) | RX_BIT(2));
	host_write(b, NHI_MASK_CLEAR, RX_BIT(1));
	check_eq(host_read(b, NHI_INTERRUPT), RX_BIT(2));
	irq_send(1);
	check_eq(host_irq(b, 3, 0), 0);
	/* Cleared before it is enabled: nothing to report */
	host_write(b, NHI_INT_CLEAR, RX_BIT(1));
	host_write(b, NHI_INTERRUPT, RX_BIT(1));
	check_eq(host_irq(b, 3, 0), 0);
	bed_stop();
}

/* Descriptors without the flag complete in silence. */
static void irq_needs_descriptor_flag(void)
{
	struct host *b = &hosts[1];

	irq_start(NULL);
	host_write(b, NHI_INTERRUPT, RX_BIT(1));
	host_desc(b, false, 1, 0)[1] = 0;
	irq_send(1);
	check_eq(host_irq(b, 3, 0), 0);
	check_eq(host_read(b, NHI_NOTIFY), 0);
	irq_send(1);
	check_eq(host_irq(b, 3, 0), 1);
	bed_stop();
}

/*
 * At most one message per interval, the last one late rather than lost. The
 * interval is long, so that a slow machine does not matter.
 */
static void irq_moderates(void)
{
	const u64 interval = 0xffff * 256ULL;
	struct host *b = &hosts[1];
	u64 start, elapsed, n;

	irq_start(NULL);
	host_write(b, NHI_ITR + 4 * 3, 0xffff);
	host_write(b, NHI_INTERRUPT, RX_BIT(1));
	start = irq_now_ns();
	irq_send(8);
	n = host_irq(b, 3, 0);
	elapsed = irq_now_ns() - start;
	check(n >= 1 && n <= 1 + elapsed / interval);
	n += host_irq(b, 3, 5000);
	elapsed = irq_now_ns() - start;
	check(n >= 2);
	check(elapsed >= interval);
	/* Nothing more is due, and the vector is free again. */
	check_eq(host_irq(b, 3, 100), 0);
	host_rx_post(b, 1, 1);
	irq_send(1);
	check_eq(host_irq(b, 3, 0), 1);
	bed_stop();
}

/* What was cleared while throttled needs no message. */
static void irq_forgets_cleared(void)
{
	struct host *b = &hosts[1];

	irq_start(NULL);
	host_write(b, NHI_ITR + 4 * 3, 0xffff);
	host_write(b, NHI_INTERRUPT, RX_BIT(1));
	irq_send(2);
	check(host_irq(b, 3, 5000) >= 1);
	host_write(b, NHI_INT_CLEAR, RX_BIT(1));
	host_irq(b, 3, 100);	/* the second, if the clear was too late */
	check_eq(host_irq(b, 3, 100), 0);
	check_eq(host_read(b, NHI_NOTIFY), 0);
	bed_stop();
}

static void irq_moderation_can_be_off(void)
{
	struct host *b = &hosts[1];

	irq_start("-t");
	host_write(b, NHI_ITR + 4 * 3, 0xffff);
	host_write(b, NHI_INTERRUPT, RX_BIT(1));
	irq_send(5);
	check_eq(host_irq(b, 3, 0), 5);
	bed_stop();
}

/* QEMU takes all eventfds away and brings them back: nothing gets lost. */
static void irq_survives_vector_setup(void)
{
	struct host *b = &hosts[1];

	irq_start(NULL);
	host_write(b, NHI_INTERRUPT, RX_BIT(1));
	host_clear_irqs(b, 2);
	irq_send(2);
	check_eq(host_irq(b, 3, 0), 0);
	host_set_irqs(b, 2, HOST_VECTORS);
	check_eq(host_irq(b, 3, 0), 1);
	irq_send(1);
	check_eq(host_irq(b, 3, 0), 1);
	bed_stop();
}

/* One vector for all; status is cleared by reading it. */
static void irq_works_with_single_msi(void)
{
	struct host *b = &hosts[1];

	bed_start_pair("-m", 0);
	host_set_irqs(b, 1, 1);
	host_write(b, NHI_IVR + 8, 3 << 4);	/* has no meaning here */
	host_write(b, NHI_INT_CLEAR, ~0U);
	host_rx_post(b, 1, 2);
	host_write(b, NHI_INTERRUPT, RX_BIT(1));
	irq_send(3);
	check_eq(host_irq(b, 0, 0), 2);
	check_eq(host_read(b, NHI_NOTIFY), RX_BIT(1));
	check_eq(host_read(b, NHI_NOTIFY), 0);
	check_eq(host_read(b, NHI_NOTIFY + 4), BIT(1));		/* overflow of ring 1 */
	check_eq(host_read(b, NHI_NOTIFY + 4), 0);
	bed_stop();
}

/* The bits follow the number of rings. */
static void irq_numbers_bits_by_hop_count(void)
{
	struct host *b = &hosts[1];

	bed_start_pair("-n 5", 0);
	host_set_irqs(b, 2, HOST_VECTORS);
	host_write(b, NHI_DMA_MISC, NHI_DMA_MISC_NO_AUTO_CLEAR);
	host_write(b, NHI_INT_CLEAR, ~0U);
	host_write(b, NHI_IVR, 7U << 24);	/* receive ring 1 is bit 5 + 1 */
	host_write(b, NHI_INTERRUPT, BIT(6));
	host_rx_post(b, 1, 1);
	irq_send(2);
	check_eq(host_irq(b, 7, 0), 1);
	check_eq(host_read(b, NHI_NOTIFY), BIT(6) | BIT(11));
	bed_stop();
}

TAP_GROUP(irq_tests,
	  TAP_TEST(irq_delivers_on_vector),
	  TAP_TEST(irq_obeys_mask),
	  TAP_TEST(irq_needs_descriptor_flag),
	  TAP_TEST(irq_moderates),
	  TAP_TEST(irq_forgets_cleared),
	  TAP_TEST(irq_moderation_can_be_off),
	  TAP_TEST(irq_survives_vector_setup),
	  TAP_TEST(irq_works_with_single_msi),
	  TAP_TEST(irq_numbers_bits_by_hop_count));
