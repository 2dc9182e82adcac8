/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernel versions. What is not here is written for 7.3. */
#ifndef _U4N_COMPAT_H
#define _U4N_COMPAT_H

#include <linux/dim.h>
#include <linux/hrtimer.h>
#include <linux/skbuff.h>
#include <linux/thunderbolt.h>
#include <linux/uuid.h>
#include <linux/version.h>
#include <linux/virtio_net.h>
#include <net/sock.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void u4n_hrtimer_setup(struct hrtimer *timer,
				     enum hrtimer_restart (*function)(struct hrtimer *),
				     clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}

/* A macro: it does no harm if an update of such a kernel has it, too */
#define hrtimer_setup	u4n_hrtimer_setup

/* It takes the sample itself, and not where it is */
#define net_dim(dim, sample)	net_dim(dim, *(sample))
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
/* Before dma_need_unmap() one had to unmap, whether that does anything or not */
static inline bool u4n_dma_need_unmap(struct device *dev)
{
	return true;
}

/* A macro, as hrtimer_setup() above */
#define dma_need_unmap	u4n_dma_need_unmap
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 3, 0)
/*
 * All peers are told when there is one directory more, even if it has gone again by
 * the time that they read.
 */
static inline void u4n_properties_changed(struct tb_service *svc)
{
	static const uuid_t uuid =
		UUID_INIT(0x5e0a4c7b, 0x92d1, 0x4f36,
			  0x8b, 0x1e, 0x30, 0xc4, 0x6d, 0xa7, 0x95, 0x12);
	struct tb_property_dir *dir = tb_property_create_dir(&uuid);

	if (!dir)
		return;
	if (!tb_register_property_dir("usb4new", dir))
		tb_unregister_property_dir("usb4new", dir);
	tb_property_free_dir(dir);
}

/* A macro, as hrtimer_setup() above */
#define tb_service_properties_changed	u4n_properties_changed
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
/* probe() has one argument more, an entry of our own table */
#define u4n_probe(svc)	u4n_probe(svc, const struct tb_service_id *id)

/* A transmit ring has an interrupt, which no descriptor of ours asks for */
#define RING_FLAG_NO_INTERRUPT	0

/* A ring does not know an interval, its vector's register stays as written */
static inline void u4n_ring_set_interval(struct tb_ring *ring,
					 unsigned int nsec)
{
}
#else
/* The interval between interrupts that a ring is started with */
static inline void u4n_ring_set_interval(struct tb_ring *ring,
					 unsigned int nsec)
{
	ring->interval_nsec = nsec;
}
#endif

/* Nothing else that the packet's socket has sent is still in this host's queues */
static inline bool u4n_skb_alone(const struct sk_buff *skb)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
	/* only TCP sets the flag */
	if (skb->destructor == sock_wfree)
		return sk_wmem_alloc_get(skb->sk) <= skb->truesize;
#endif
	return skb->ooo_okay;
}

/**
 * struct u4n_vnet_hdr - virtio's header, with a tunnel's offsets
 * @hdr: little endian
 * @outer_th: outer transport header
 * @inner_nh: inner network header
 */
struct u4n_vnet_hdr {
	struct virtio_net_hdr hdr;
	u16 outer_th;
	u16 inner_nh;
};

/* U4N_HAVE_BIG: IPv4 and IPv6 take TCP packets above 64 KiB without a length */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define U4N_HAVE_TUNNEL	0
#define U4N_HAVE_BIG	0

static inline int u4n_vnet_from_skb(const struct sk_buff *skb,
				    struct u4n_vnet_hdr *vh, bool tunnel)
{
	vh->outer_th = 0;
	vh->inner_nh = 0;
	return virtio_net_hdr_from_skb(skb, &vh->hdr, true, true, 0);
}

static inline int u4n_vnet_to_skb(struct sk_buff *skb,
				  const struct u4n_vnet_hdr *vh)
{
	return virtio_net_hdr_to_skb(skb, &vh->hdr, true);
}
#else
#define U4N_HAVE_TUNNEL	1
#define U4N_HAVE_BIG	1

static inline int u4n_vnet_from_skb(const struct sk_buff *skb,
				    struct u4n_vnet_hdr *vh, bool tunnel)
{
	struct virtio_net_hdr_v1_hash_tunnel tnl;
	int ret;

	/* not written if there is no tunnel */
	tnl.outer_th_offset = 0;
	tnl.inner_nh_offset = 0;
	ret = virtio_net_hdr_tnl_from_skb(skb, &tnl, tunnel, true, 0, true,
					  false);
	memcpy(&vh->hdr, &tnl, sizeof(vh->hdr));
	vh->outer_th = le16_to_cpu(tnl.outer_th_offset);
	vh->inner_nh = le16_to_cpu(tnl.inner_nh_offset);
	return ret;
}

static inline int u4n_vnet_to_skb(struct sk_buff *skb,
				  const struct u4n_vnet_hdr *vh)
{
	struct virtio_net_hdr_v1_hash_tunnel tnl = {
		.outer_th_offset = cpu_to_le16(vh->outer_th),
		.inner_nh_offset = cpu_to_le16(vh->inner_nh),
	};

	memcpy(&tnl, &vh->hdr, sizeof(vh->hdr));
	return virtio_net_hdr_tnl_to_skb(skb, &tnl, true, true, true);
}
#endif

#endif /* _U4N_COMPAT_H */
