// SPDX-License-Identifier: GPL-2.0
/*
 * Plug events and link state.
 */
#include <unistd.h>

#include "bed.h"

static void plug_start(const char *args)
{
	u32 i;

	bed_start(2, args);
	for (i = 0; i < 2; i++) {
		host_start(&hosts[i]);
		host_ctl_start(&hosts[i]);
	}
}

/* Allow events of a port. */
static void plug_enable(struct host *h, u32 adapter)
{
	host_space_write(h, SPACE_PORT, adapter, ADP_CS_5, 0);
}

static u32 plug_lane(struct host *h, u32 adapter)
{
	return host_space_read(h, SPACE_PORT, adapter, LANE_CS_1);
}

static void plug_waits_for_enable(void)
{
	u32 dw[CTL_MAX_DWORDS], n;

	plug_start("-u");
	plug_enable(&hosts[0], 1);
	bed_cmd("plug 0.1 1.3");
	host_expect_event(&hosts[0], 1, false);
	check_eq(host_ctl_receive(&hosts[1], dw, &n, 50), 0);
	plug_enable(&hosts[1], 3);
	host_expect_event(&hosts[1], 3, false);
	bed_cmd("unplug 1.3");
	host_expect_event(&hosts[0], 1, true);
	host_expect_event(&hosts[1], 3, true);
	bed_stop();
}

/* Again and again until acknowledged, at the programmed interval. */
static void plug_repeats_until_acknowledged(void)
{
	u32 wrong[3] = { 0, 0, 7 | 1 << 8 | 3U << 30 };
	u32 dw[CTL_MAX_DWORDS], n, i;
	struct host *h = &hosts[0];

	plug_start("-u");
	host_space_write(h, SPACE_ROUTER, 0, RTR_CS_4, 20);
	plug_enable(h, 1);
	bed_cmd("plug 0.1 1.1");
	for (i = 0; i < 4; i++) {
		check_eq(host_ctl_receive(h, dw, &n, 5000), CTL_EVENT);
		check_eq(dw[2], 1);
	}
	check(bed_stat("0.port1.retries") >= 3);
	check_eq(bed_stat("0.port1.events"), 1);
	/* An acknowledgment of something else does not count. */
	host_ctl_send(h, CTL_ERROR, wrong, 3);
	check_eq(host_ctl_receive(h, dw, &n, 5000), CTL_EVENT);
	check_eq(bed_stat("0.port1.events"), 1);
	host_expect_event(h, 1, false);
	while (host_ctl_receive(h, dw, &n, 0))
		;	/* sent before the acknowledgment */
	usleep(100000);
	check_eq(host_ctl_receive(h, dw, &n, 0), 0);
	bed_stop();
}

/* Unplugged and plugged before the manager looked: it learns of both. */
static void plug_tells_of_short_unplug(void)
{
	plug_start(NULL);
	plug_enable(&hosts[0], 1);
	host_expect_event(&hosts[0], 1, false);
	bed_cmd("unplug 0.1");
	bed_cmd("plug 0.1 1.1");
	host_expect_event(&hosts[0], 1, true);
	host_expect_event(&hosts[0], 1, false);
	check(strstr(bed_cmd("status"), "port 0.1 cabled 1.1 link up gen 4 width 2 known"));
	bed_stop();
}

/* Undelivered events wait for the control channel. */
static void plug_survives_control_restart(void)
{
	plug_start(NULL);
	plug_enable(&hosts[0], 1);
	host_expect_event(&hosts[0], 1, false);
	host_ring_stop(&hosts[0], false, 0);
	bed_cmd("unplug 0.1");
	host_ctl_start(&hosts[0]);
	host_expect_event(&hosts[0], 1, true);
	bed_stop();
}

/* A host that goes away takes the link with it, and brings it back. */
static void plug_follows_power(void)
{
	plug_start(NULL);
	plug_enable(&hosts[0], 1);
	host_expect_event(&hosts[0], 1, false);
	host_disconnect(&hosts[1]);
	host_expect_event(&hosts[0], 1, true);
	check_eq(plug_lane(&hosts[0], 1) >> 26 & 0xf, LANE_STATE_UNPLUGGED);
	host_start(&hosts[1]);
	host_expect_event(&hosts[0], 1, false);
	bed_stop();
}

/* So does one whose driver has not been asked, and knows by what it reads. */
static void plug_follows_power_command(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];

	plug_start(NULL);
	plug_enable(a, 1);
	host_expect_event(a, 1, false);
	bed_cmd("power 1 off");
	bed_cmd("power 1 off");
	host_expect_event(a, 1, true);
	check_eq(plug_lane(a, 1) >> 26 & 0xf, LANE_STATE_UNPLUGGED);
	check_eq(host_read(b, NHI_CAPS), ~0U);
	check_eq(host_cfg_read(b, 0, 4), ~0U);
	host_cfg_write(b, PCI_CMD, PCI_CMD_MASTER, 2);
	host_write(b, NHI_INTERRUPT, 0xff);
	check(strstr(bed_cmd("status"), "router 1 off"));
	bed_cmd("power 1 on");
	host_expect_event(a, 1, false);
	check(host_read(b, NHI_CAPS) != ~0U);
	check_eq(host_cfg_read(b, PCI_CMD, 2) & PCI_CMD_MASTER, 0);
	check_eq(host_read(b, NHI_INTERRUPT), 0);
	check_eq(bed_stat("1.guest_errors"), 0);
	bed_stop();
}

/* A router that is reset has forgotten its rings; its peer sees the link go. */
static void plug_follows_reset_command(void)
{
	bed_start_pair(NULL, 0);
	plug_enable(&hosts[0], 1);
	host_expect_event(&hosts[0], 1, false);
	host_rx_post(&hosts[1], 1, 4);
	bed_cmd("reset 1");
	host_expect_event(&hosts[0], 1, true);
	host_expect_event(&hosts[0], 1, false);
	check_eq(host_read(&hosts[1], NHI_RX_OPTIONS + NHI_OPTIONS_STRIDE), 0);
	host_tx(&hosts[0], 1, "x", 1, 1, 2);
	check(host_tx_done(&hosts[0], 1));
	check_eq(bed_stat("1.rx1.frames"), 0);
	bed_stop();
}

/* Version 1 has no host router reset: its driver resets the port. */
static void plug_announces_after_port_reset(void)
{
	struct host *h = &hosts[0];

	plug_start("-g 3");
	plug_enable(h, 1);
	plug_enable(&hosts[1], 1);
	host_expect_event(h, 1, false);
	host_expect_event(&hosts[1], 1, false);
	host_space_write(h, SPACE_PORT, 1, PORT_CS_19, PORT_CS_19_DPR);
	host_space_write(h, SPACE_PORT, 1, PORT_CS_19, 0);
	host_expect_event(h, 1, false);
	/* To the peer the link was gone. */
	host_expect_event(&hosts[1], 1, true);
	host_expect_event(&hosts[1], 1, false);
	bed_stop();
}

static void plug_shows_link_state(void)
{
	u32 lane;

	plug_start(NULL);
	lane = plug_lane(&hosts[0], 1);
	check_eq(lane >> 26 & 0xf, LANE_STATE_UP);
	check_eq(lane >> 16 & 0xf, 2);			/* Gen 4 */
	check_eq(lane >> 20 & 0x3f, 2);			/* both lanes */
	check_eq(plug_lane(&hosts[0], 2) >> 26 & 0xf, LANE_STATE_UP);
	check_eq(plug_lane(&hosts[0], 3) >> 26 & 0xf, LANE_STATE_UNPLUGGED);
	check_eq(host_space_read(&hosts[0], SPACE_PORT, 1, PORT_CS_18), PORT_CS_18_BE);
	bed_cmd("link 0.1 gen 3 width 1");
	lane = plug_lane(&hosts[1], 1);
	check_eq(lane >> 16 & 0xf, 4);
	check_eq(lane >> 20 & 0x3f, 1);
	bed_cmd("unplug 0.1");
	check_eq(plug_lane(&hosts[0], 1) >> 26 & 0xf, LANE_STATE_UNPLUGGED);
	check_eq(host_space_read(&hosts[0], SPACE_PORT, 1, PORT_CS_18), 0);
	bed_stop();
}

/* Gen 3: two lanes when both ends want them and one of them asks. */
static void plug_bonds_lanes(void)
{
	u32 i;

	plug_start("-g 3");
	check_eq(host_space_read(&hosts[0], SPACE_PORT, 1, LANE_CAP) >> 16 & 0xf, 0xc);
	for (i = 0; i < 2; i++) {
		check_eq(plug_lane(&hosts[i], 1) >> 20 & 0x3f, 1);
		host_space_write(&hosts[i], SPACE_PORT, 1, LANE_CS_1, 0xc | 3 << 4);
		check_eq(plug_lane(&hosts[i], 1) >> 20 & 0x3f, 1);
	}
	host_space_write(&hosts[0], SPACE_PORT, 1, LANE_CS_1, 0xc | 3 << 4 | LANE_CS_1_LB);
	for (i = 0; i < 2; i++) {
		check_eq(plug_lane(&hosts[i], 1) >> 20 & 0x3f, 2);
		check_eq(plug_lane(&hosts[i], 2) >> 20 & 0x3f, 2);
	}
	/* A cable with one lane has none to bond. */
	bed_cmd("link 1.1 width 1");
	check_eq(plug_lane(&hosts[0], 1) >> 20 & 0x3f, 1);
	bed_cmd("link 1.1 width 2");
	bed_cmd("unplug 0.1");
	bed_cmd("plug 0.1 1.1");
	check_eq(plug_lane(&hosts[0], 1) >> 20 & 0x3f, 1);
	bed_stop();
}

static void plug_shows_disabled_lane(void)
{
	plug_start(NULL);
	host_space_write(&hosts[0], SPACE_PORT, 2, LANE_CS_1, 0xc | 1 << 4 | LANE_CS_1_LD);
	check_eq(plug_lane(&hosts[0], 2) >> 26 & 0xf, LANE_STATE_DISABLED);
	check_eq(plug_lane(&hosts[0], 1) >> 26 & 0xf, LANE_STATE_UP);
	bed_stop();
}

TAP_GROUP(plug_tests,
	  TAP_TEST(plug_waits_for_enable),
	  TAP_TEST(plug_repeats_until_acknowledged),
	  TAP_TEST(plug_tells_of_short_unplug),
	  TAP_TEST(plug_survives_control_restart),
	  TAP_TEST(plug_follows_power),
	  TAP_TEST(plug_follows_power_command),
	  TAP_TEST(plug_follows_reset_command),
	  TAP_TEST(plug_announces_after_port_reset),
	  TAP_TEST(plug_shows_link_state),
	  TAP_TEST(plug_bonds_lanes),
	  TAP_TEST(plug_shows_disabled_lane));
