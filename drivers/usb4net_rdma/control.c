// SPDX-License-Identifier: GPL-2.0
/* CONTROL messages: what to send and what to do about those received */
#include "u4n.h"

/* Keepalives that may say that the peer does not hear us before we believe it */
#define U4N_DEAF_MAX	4

static bool u4n_control_send(struct u4n_link *l, u8 type, u8 flags, u32 arg,
			     bool force)
{
	struct u4n_ctl ctl = {
		.type = type,
		.flags = flags,
		.arg = arg,
		.cookie = l->hs.peer.cookie,
	};

	return u4n_tx_control(l, &ctl, force);
}

/**
 * u4n_control_probe - send a frame that the peer will answer
 * @l: the link
 */
void u4n_control_probe(struct u4n_link *l)
{
	u4n_control_send(l, U4N_CTL_PROBE, 0, l->hs.cookie, false);
}

/**
 * u4n_control_keepalive - tell the peer that we live, and what we know of it
 * @l: the link
 * @rx_alive: we have received something lately
 */
void u4n_control_keepalive(struct u4n_link *l, bool rx_alive)
{
	u8 flags = 0;

	if (rx_alive)
		flags |= U4N_KEEPALIVE_RX_ALIVE;
	/* a peer without the capability would refuse the flag */
	if (l->hs.peer.caps & U4N_CAP_CSUM &&
	    !(READ_ONCE(l->ndev->features) & NETIF_F_RXCSUM))
		flags |= U4N_KEEPALIVE_PLAIN;
	u4n_control_send(l, U4N_CTL_KEEPALIVE, flags, READ_ONCE(l->ndev->mtu),
			 true);
}

static void u4n_control_rcv_keepalive(struct u4n_link *l,
				      const struct u4n_ctl *ctl)
{
	u32 caps = l->hs.peer.caps;

	if (ctl->flags & U4N_KEEPALIVE_PLAIN)
		caps &= ~U4N_CAP_META;
	if (caps != l->tx.caps)
		WRITE_ONCE(l->tx.caps, caps);

	if (ctl->flags & U4N_KEEPALIVE_RX_ALIVE)
		l->rx.deaf = 0;
	else if (++l->rx.deaf == U4N_DEAF_MAX)
		u4n_hs_end(l, U4N_WHY_TX_DEAD);

	/* seen by u4n_hs_up() before long */
	WRITE_ONCE(l->rx.peer_mtu, ctl->arg);
}

/**
 * u4n_control_rcv - handle a received CONTROL frame
 * @l: the link
 * @buf: the frame
 * @size: its size
 *
 * Return: %U4N_DROP_NONE or the reason to drop it.
 */
enum u4n_drop u4n_control_rcv(struct u4n_link *l, const void *buf,
			      unsigned int size)
{
	struct u4n_ctl ctl;
	enum u4n_drop why;

	why = u4n_ctl_parse(buf, size, &ctl);
	if (why == U4N_DROP_SHORT)
		return why;
	if (ctl.cookie != l->rx.cookie ||
	    !u4n_rx_credit(l, ctl.gen, ctl.sent, ctl.limit))
		return U4N_DROP_GEN;
	if (why)
		return why;

	switch (ctl.type) {
	case U4N_CTL_CREDIT:
		break;
	case U4N_CTL_PROBE:
		l->rx.ack_probe = true;
		l->rx.probe_arg = ctl.arg;
		break;
	case U4N_CTL_PROBE_ACK:
		if (ctl.arg != l->rx.cookie)
			return U4N_DROP_CTL;
		u4n_hs_probe_acked(l);
		break;
	case U4N_CTL_KEEPALIVE:
		u4n_control_rcv_keepalive(l, &ctl);
		break;
	case U4N_CTL_GIDS:
		u4n_roce_rcv_gids(l, &ctl);
		l->rx.ack_gids = true;
		break;
	case U4N_CTL_GIDS_ACK:
		u4n_roce_rcv_gids_ack(l, ctl.arg);
		break;
	}
	return U4N_DROP_NONE;
}

/**
 * u4n_control_poll - send what a NAPI poll has made necessary
 * @l: the link
 *
 * What cannot be sent now is left for the next poll.
 */
void u4n_control_poll(struct u4n_link *l)
{
	if (l->rx.ack_probe)
		l->rx.ack_probe = !u4n_control_send(l, U4N_CTL_PROBE_ACK, 0,
						    l->rx.probe_arg, false);
	if (l->rx.ack_gids)
		l->rx.ack_gids = !u4n_control_send(l, U4N_CTL_GIDS_ACK, 0,
						   u4n_roce_remote_version(l),
						   false);
	if (u4n_tx_owes_credit(l))
		u4n_control_send(l, U4N_CTL_CREDIT, 0, 0, false);
}
