// SPDX-License-Identifier: GPL-2.0
/*
 * Say so, once, if a host is found that does not offer our service: otherwise
 * there is no network device and nobody knows why.
 *
 * A host's services are known when it is added, or when it loads the driver
 * later. Wait a little before complaining.
 */
#include <linux/slab.h>

#include "u4n.h"

#define U4N_PEERS_DELAY		(10 * HZ)

static const struct bus_type *u4n_peers_bus;
static struct delayed_work u4n_peers_work;

/* Names of the hosts that have been reported or are all right */
struct u4n_peer_seen {
	struct list_head list;
	struct device *dev;
	bool reported;
};

static LIST_HEAD(u4n_peers_seen);
static DEFINE_MUTEX(u4n_peers_lock);

static int u4n_peers_is_ours(struct device *dev, void *data)
{
	struct tb_service *svc = tb_to_service(dev);

	return svc && !strcmp(svc->key, U4N_SERVICE_KEY);
}

static int u4n_peers_add(struct device *dev, void *data)
{
	struct u4n_peer_seen *seen;

	if (!tb_is_xdomain(dev))
		return 0;
	seen = kzalloc_obj(*seen);
	if (!seen)
		return 0;
	seen->dev = get_device(dev);
	mutex_lock(&u4n_peers_lock);
	list_add_tail(&seen->list, &u4n_peers_seen);
	mutex_unlock(&u4n_peers_lock);
	queue_delayed_work(system_long_wq, &u4n_peers_work, U4N_PEERS_DELAY);
	return 0;
}

static void u4n_peers_del(const struct device *dev)
{
	struct u4n_peer_seen *seen, *tmp;

	mutex_lock(&u4n_peers_lock);
	list_for_each_entry_safe(seen, tmp, &u4n_peers_seen, list) {
		if (dev && seen->dev != dev)
			continue;
		list_del(&seen->list);
		put_device(seen->dev);
		kfree(seen);
	}
	mutex_unlock(&u4n_peers_lock);
}

static void u4n_peers_check(struct work_struct *work)
{
	struct u4n_peer_seen *seen;

	mutex_lock(&u4n_peers_lock);
	list_for_each_entry(seen, &u4n_peers_seen, list) {
		if (seen->reported)
			continue;
		seen->reported = true;
		if (!device_for_each_child(seen->dev, NULL, u4n_peers_is_ours))
			dev_info_ratelimited(seen->dev,
					     "usb4net_rdma: host does not offer the service %s\n",
					     U4N_SERVICE_KEY);
	}
	mutex_unlock(&u4n_peers_lock);
}

static int u4n_peers_notify(struct notifier_block *nb, unsigned long action,
			    void *data)
{
	struct device *dev = data;

	if (action == BUS_NOTIFY_ADD_DEVICE)
		u4n_peers_add(dev, NULL);
	else if (action == BUS_NOTIFY_DEL_DEVICE && tb_is_xdomain(dev))
		u4n_peers_del(dev);
	return NOTIFY_OK;
}

static struct notifier_block u4n_peers_nb = {
	.notifier_call = u4n_peers_notify,
};

/**
 * u4n_peers_init - begin to watch for hosts
 * @bus: the thunderbolt bus
 *
 * Return: 0 or a negative error.
 */
int u4n_peers_init(const struct bus_type *bus)
{
	int ret;

	u4n_peers_bus = bus;
	INIT_DELAYED_WORK(&u4n_peers_work, u4n_peers_check);
	ret = bus_register_notifier(bus, &u4n_peers_nb);
	if (ret)
		return ret;
	bus_for_each_dev(bus, NULL, NULL, u4n_peers_add);
	return 0;
}

/**
 * u4n_peers_exit - undo u4n_peers_init()
 */
void u4n_peers_exit(void)
{
	bus_unregister_notifier(u4n_peers_bus, &u4n_peers_nb);
	cancel_delayed_work_sync(&u4n_peers_work);
	u4n_peers_del(NULL);
}
