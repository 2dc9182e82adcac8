// SPDX-License-Identifier: GPL-2.0
/*
 * A RoCE link between two network devices of one kernel, that loses, repeats and
 * delays packets as it is told. For tests of what is above the link.
 *
 *	insmod roce_loop.ko a=veth0 b=veth1
 *	echo "a drop 3" > /sys/module/roce_loop/parameters/fault
 *
 * makes the two devices each other's neighbours (their own way of sending is not
 * used) until the module is removed, or one of them. Writing "SIDE KIND N [ARG]"
 * to the parameter adds a fault: of the packets from that side, counted from 0,
 *
 *	drop	N and those behind it, ARG in all, are lost
 *	dup	N comes twice, the second time behind ARG others
 *	late	N comes when ARG others have overtaken it
 *	npsn	N is said to stand for ARG PSNs
 *	lose	those whose PSN is N are lost, ARG times
 *
 * "late" and "dup" do not wait longer than 20 ms for others. "SIDE several 0|1"
 * forbids and allows packets of several PSNs, and "off" forgets all faults and
 * begins to count anew. Reading the parameter shows the packets sent, and those of
 * several PSNs, by each side.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <linux/workqueue.h>
#include <rdma/roce_link.h>

#define LOOP_FAULTS	16
#define LOOP_GIDS	16
#define LOOP_WAIT	msecs_to_jiffies(20)

enum loop_kind {
	LOOP_DROP,
	LOOP_DUP,
	LOOP_LATE,
	LOOP_NPSN,
	LOOP_LOSE,
};

static const char * const loop_kinds[] = {
	"drop", "dup", "late", "npsn", "lose",
};

struct loop_fault {
	enum loop_kind kind;
	unsigned int nr;
	unsigned int arg;
};

/* one end, and the way from it to the other one */
struct loop_side {
	struct net_device *ndev;
	struct roce_link *link;
	union ib_gid gids[LOOP_GIDS];
	unsigned int num_gids;
	bool several;
	struct loop_fault faults[LOOP_FAULTS];
	unsigned int num_faults;
	unsigned int packets;
	unsigned int multi;
	struct sk_buff *held;
	unsigned int held_for;
	struct sk_buff_head way;
	struct work_struct deliver;
	struct delayed_work release;
};

static struct loop_side loop_sides[2];
static DEFINE_SPINLOCK(loop_lock);	/* everything in loop_sides */

static char *a;
module_param(a, charp, 0444);
MODULE_PARM_DESC(a, "first network device");
static char *b;
module_param(b, charp, 0444);
MODULE_PARM_DESC(b, "second network device");

static struct loop_side *loop_side(const struct net_device *ndev)
{
	return &loop_sides[ndev == loop_sides[1].ndev];
}

static struct loop_side *loop_other(const struct loop_side *side)
{
	return &loop_sides[side == &loop_sides[0]];
}

static int loop_find(const struct loop_side *side, const union ib_gid *gid)
{
	int i;

	for (i = 0; i < side->num_gids; i++)
		if (!memcmp(&side->gids[i], gid, sizeof(*gid)))
			return i;
	return -ENOENT;
}

static int loop_gid_add(struct net_device *ndev, const union ib_gid *gid)
{
	struct loop_side *side = loop_side(ndev);
	int err = 0;

	spin_lock_bh(&loop_lock);
	if (side->num_gids == LOOP_GIDS)
		err = -ENOSPC;
	else if (loop_find(side, gid) < 0)
		side->gids[side->num_gids++] = *gid;
	spin_unlock_bh(&loop_lock);
	return err;
}

static void loop_gid_del(struct net_device *ndev, const union ib_gid *gid)
{
	struct loop_side *side = loop_side(ndev);
	int i;

	spin_lock_bh(&loop_lock);
	i = loop_find(side, gid);
	if (i >= 0)
		side->gids[i] = side->gids[--side->num_gids];
	spin_unlock_bh(&loop_lock);
}

static void loop_stop(struct net_device *ndev)
{
	spin_lock_bh(&loop_lock);
	loop_side(ndev)->num_gids = 0;
	spin_unlock_bh(&loop_lock);
}

/* Packets have their ICRC, so that it is tested in packets of several PSNs */
static u32 loop_caps(struct net_device *ndev, const union ib_gid *dgid)
{
	struct loop_side *side = loop_side(ndev);
	u32 caps = 0;

	spin_lock_bh(&loop_lock);
	if (loop_find(loop_other(side), dgid) >= 0)
		caps = ROCE_LINK_CAP_REACH |
		       (side->several ? ROCE_LINK_CAP_MULTI_PSN : 0);
	spin_unlock_bh(&loop_lock);
	return caps;
}

static void loop_put(struct loop_side *side, struct sk_buff *skb)
{
	__skb_queue_tail(&side->way, skb);
	queue_work(system_bh_wq, &side->deliver);
}

static void loop_hold(struct loop_side *side, struct sk_buff *skb,
		      unsigned int arg)
{
	if (side->held) {
		loop_put(side, skb);
		return;
	}
	side->held = skb;
	side->held_for = arg;
	mod_delayed_work(system_wq, &side->release, LOOP_WAIT);
}

/* The PSN is the last part of the BTH. @f is about packet @nr? */
static bool loop_is_it(struct loop_fault *f, const struct sk_buff *skb,
		       unsigned int nr)
{
	unsigned int bth = skb_transport_offset(skb) + sizeof(struct udphdr);
	__be32 psn;

	switch (f->kind) {
	case LOOP_DROP:
		return nr - f->nr < max(f->arg, 1);
	case LOOP_LOSE:
		if (skb_copy_bits(skb, bth + 8, &psn, sizeof(psn)) ||
		    (be32_to_cpu(psn) & 0xffffff) != f->nr || !f->arg)
			return false;
		f->arg--;
		return true;
	default:
		return nr == f->nr;
	}
}

/* Under the lock */
static void loop_send(struct loop_side *side, struct sk_buff *skb)
{
	unsigned int nr = side->packets++, i;
	struct sk_buff *copy, *held = NULL;

	if (ROCE_LINK_CB(skb)->npsn > 1)
		side->multi++;
	if (side->held && !--side->held_for)
		swap(held, side->held);

	for (i = 0; skb && i < side->num_faults; i++) {
		struct loop_fault *f = &side->faults[i];

		if (!loop_is_it(f, skb, nr))
			continue;
		switch (f->kind) {
		case LOOP_DROP:
		case LOOP_LOSE:
			kfree_skb(skb);
			skb = NULL;
			break;
		case LOOP_DUP:
			copy = skb_copy(skb, GFP_ATOMIC);
			if (copy && f->arg)
				loop_hold(side, copy, f->arg);
			else if (copy)
				loop_put(side, copy);
			break;
		case LOOP_LATE:
			loop_hold(side, skb, f->arg);
			skb = NULL;
			break;
		case LOOP_NPSN:
			ROCE_LINK_CB(skb)->npsn = f->arg;
			break;
		}
	}
	if (skb)
		loop_put(side, skb);
	if (held)
		loop_put(side, held);
}

/* The receiver gets a packet of its own, whose owner nobody is */
static int loop_xmit(struct net_device *ndev, struct sk_buff *skb)
{
	struct loop_side *side = loop_side(ndev);
	struct sk_buff *copy;

	copy = skb_copy(skb, GFP_ATOMIC);
	consume_skb(skb);
	if (!copy)
		return -ENOMEM;
	copy->dev = loop_other(side)->ndev;
	copy->pkt_type = PACKET_HOST;

	spin_lock_bh(&loop_lock);
	loop_send(side, copy);
	spin_unlock_bh(&loop_lock);
	return 0;
}

static void loop_deliver(struct work_struct *work)
{
	struct loop_side *side = container_of(work, struct loop_side, deliver);
	struct sk_buff_head skbs;
	struct roce_link *link;
	struct sk_buff *skb;

	__skb_queue_head_init(&skbs);
	spin_lock_bh(&loop_lock);
	skb_queue_splice_init(&side->way, &skbs);
	link = loop_other(side)->link;
	spin_unlock_bh(&loop_lock);

	while ((skb = __skb_dequeue(&skbs)))
		if (!link || !roce_link_rcv(link, skb))
			kfree_skb(skb);
}

static void loop_release(struct work_struct *work)
{
	struct loop_side *side = container_of(to_delayed_work(work),
					      struct loop_side, release);

	spin_lock_bh(&loop_lock);
	if (side->held)
		loop_put(side, side->held);
	side->held = NULL;
	spin_unlock_bh(&loop_lock);
}

static int loop_add_fault(const char *val)
{
	unsigned int nr, arg = 0;
	struct loop_side *side;
	char name, kind[8];
	int i;

	if (sscanf(val, "%c %7s %u %u", &name, kind, &nr, &arg) < 3 ||
	    (name != 'a' && name != 'b'))
		return -EINVAL;
	side = &loop_sides[name == 'b'];
	if (!strcmp(kind, "several")) {
		side->several = nr;
		return 0;
	}
	i = match_string(loop_kinds, ARRAY_SIZE(loop_kinds), kind);
	if (i < 0 || side->num_faults == LOOP_FAULTS)
		return -EINVAL;
	side->faults[side->num_faults++] = (struct loop_fault){ i, nr, arg };
	return 0;
}

static int loop_set(const char *val, const struct kernel_param *kp)
{
	int i, err = 0;

	spin_lock_bh(&loop_lock);
	if (sysfs_streq(val, "off")) {
		for (i = 0; i < ARRAY_SIZE(loop_sides); i++) {
			loop_sides[i].num_faults = 0;
			loop_sides[i].packets = 0;
			loop_sides[i].multi = 0;
		}
	} else {
		err = loop_add_fault(val);
	}
	spin_unlock_bh(&loop_lock);
	return err;
}

static int loop_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%u %u\n%u %u\n",
			  READ_ONCE(loop_sides[0].packets),
			  READ_ONCE(loop_sides[0].multi),
			  READ_ONCE(loop_sides[1].packets),
			  READ_ONCE(loop_sides[1].multi));
}

static const struct kernel_param_ops loop_fault_ops = {
	.set = loop_set,
	.get = loop_get,
};
module_param_cb(fault, &loop_fault_ops, NULL, 0644);
MODULE_PARM_DESC(fault, "what goes wrong");

static const struct roce_link_ops loop_ops = {
	.stop = loop_stop,
	.gid_add = loop_gid_add,
	.gid_del = loop_gid_del,
	.caps = loop_caps,
	.xmit = loop_xmit,
};

static void loop_leave(struct loop_side *side)
{
	struct roce_link *link;

	spin_lock_bh(&loop_lock);
	link = side->link;
	side->link = NULL;
	spin_unlock_bh(&loop_lock);
	if (!link)
		return;

	roce_link_unregister(link);
	cancel_delayed_work_sync(&side->release);
	cancel_work_sync(&side->deliver);
	cancel_work_sync(&loop_other(side)->deliver);
	dev_put(side->ndev);
}

static int loop_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	int i;

	/* the event comes with a move to another network namespace, too */
	for (i = 0; i < ARRAY_SIZE(loop_sides); i++)
		if (event == NETDEV_UNREGISTER && loop_sides[i].ndev == ndev &&
		    ndev->reg_state == NETREG_UNREGISTERING)
			loop_leave(&loop_sides[i]);
	return NOTIFY_DONE;
}

static struct notifier_block loop_notifier = {
	.notifier_call = loop_event,
};

static int loop_join(struct loop_side *side, const char *name)
{
	struct roce_link *link;

	side->several = true;
	__skb_queue_head_init(&side->way);
	INIT_WORK(&side->deliver, loop_deliver);
	INIT_DELAYED_WORK(&side->release, loop_release);
	side->ndev = dev_get_by_name(&init_net, name ?: "");
	if (!side->ndev)
		return -ENODEV;
	link = roce_link_register(side->ndev, &loop_ops);
	if (IS_ERR(link)) {
		dev_put(side->ndev);
		return PTR_ERR(link);
	}
	side->link = link;
	return 0;
}

static void loop_end(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(loop_sides); i++)
		loop_leave(&loop_sides[i]);
	for (i = 0; i < ARRAY_SIZE(loop_sides); i++) {
		__skb_queue_purge(&loop_sides[i].way);
		kfree_skb(loop_sides[i].held);
	}
}

static int __init loop_init(void)
{
	int err;

	err = loop_join(&loop_sides[0], a);
	if (err)
		return err;
	err = loop_join(&loop_sides[1], b);
	if (!err)
		err = register_netdevice_notifier(&loop_notifier);
	if (err)
		loop_end();
	return err;
}
module_init(loop_init);

static void __exit loop_exit(void)
{
	unregister_netdevice_notifier(&loop_notifier);
	loop_end();
}
module_exit(loop_exit);

MODULE_DESCRIPTION("RoCE link between two network devices, with faults");
MODULE_LICENSE("GPL");
