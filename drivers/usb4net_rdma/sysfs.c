// SPDX-License-Identifier: GPL-2.0
/*
 * What ties a network device to a cable, and how the link is doing: the directory
 * usb4net of the network device. Documentation/ABI/testing/sysfs-class-net-usb4net
 * describes it.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "u4n.h"

static struct u4n_link *u4n_sysfs_link(struct device *dev)
{
	return netdev_priv(to_net_dev(dev));
}

static ssize_t peer_uuid_show(struct device *dev,
			      struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%pUb\n", u4n_sysfs_link(dev)->xd->remote_uuid);
}
static DEVICE_ATTR_RO(peer_uuid);

static ssize_t local_uuid_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%pUb\n", u4n_sysfs_link(dev)->xd->local_uuid);
}
static DEVICE_ATTR_RO(local_uuid);

/* The names may change while the lock is not held */
static ssize_t u4n_sysfs_name(struct tb_xdomain *xd, const char * const *name,
			      char *buf)
{
	ssize_t ret;

	if (mutex_lock_interruptible(&xd->lock))
		return -ERESTARTSYS;
	ret = sysfs_emit(buf, "%s\n", *name ?: "");
	mutex_unlock(&xd->lock);
	return ret;
}

static ssize_t peer_name_show(struct device *dev,
			      struct device_attribute *attr, char *buf)
{
	struct tb_xdomain *xd = u4n_sysfs_link(dev)->xd;

	return u4n_sysfs_name(xd, &xd->device_name, buf);
}
static DEVICE_ATTR_RO(peer_name);

static ssize_t peer_vendor_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	struct tb_xdomain *xd = u4n_sysfs_link(dev)->xd;

	return u4n_sysfs_name(xd, &xd->vendor_name, buf);
}
static DEVICE_ATTR_RO(peer_vendor);

static ssize_t port_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%u\n", u4n_link_port(u4n_sysfs_link(dev)));
}
static DEVICE_ATTR_RO(port);

static ssize_t state_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	enum u4n_hs_state state = READ_ONCE(u4n_sysfs_link(dev)->hs.state);

	return sysfs_emit(buf, "%s\n", u4n_hs_state_text(state));
}
static DEVICE_ATTR_RO(state);

static ssize_t last_end_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	struct u4n_hs *hs = &u4n_sysfs_link(dev)->hs;
	u32 reason, peer_reason;

	spin_lock_irq(&hs->lock);
	reason = hs->last_end;
	peer_reason = hs->peer_reason;
	spin_unlock_irq(&hs->lock);

	if (!reason)
		return sysfs_emit(buf, "\n");
	if (reason == U4N_WHY_PEER_BYE)
		return sysfs_emit(buf, "%s: %s\n", u4n_reason_text(reason),
				  u4n_reason_text(peer_reason));
	return sysfs_emit(buf, "%s\n", u4n_reason_text(reason));
}
static DEVICE_ATTR_RO(last_end);

static ssize_t protocol_version_show(struct device *dev,
				     struct device_attribute *attr, char *buf)
{
	struct u4n_hs *hs = &u4n_sysfs_link(dev)->hs;
	u32 version;

	spin_lock_irq(&hs->lock);
	version = hs->peer.cookie ? hs->peer.version : 0;
	spin_unlock_irq(&hs->lock);
	return sysfs_emit(buf, "%u\n", version);
}
static DEVICE_ATTR_RO(protocol_version);

static ssize_t credits_in_flight_show(struct device *dev,
				      struct device_attribute *attr, char *buf)
{
	struct u4n_link *l = u4n_sysfs_link(dev);
	int used = 0;

	spin_lock_bh(&l->tx.lock);
	if (l->tx.running)
		used = l->tx.credit.window -
		       u4n_credit_tx_avail(&l->tx.credit);
	spin_unlock_bh(&l->tx.lock);
	return sysfs_emit(buf, "%d\n", used);
}
static DEVICE_ATTR_RO(credits_in_flight);

static ssize_t window_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct u4n_link *l = u4n_sysfs_link(dev);
	u32 window;

	spin_lock_bh(&l->tx.lock);
	window = l->tx.running ? l->tx.credit.window : 0;
	spin_unlock_bh(&l->tx.lock);
	return sysfs_emit(buf, "%u\n", window);
}
static DEVICE_ATTR_RO(window);

static struct attribute *u4n_sysfs_attrs[] = {
	&dev_attr_peer_uuid.attr,
	&dev_attr_peer_name.attr,
	&dev_attr_peer_vendor.attr,
	&dev_attr_local_uuid.attr,
	&dev_attr_port.attr,
	&dev_attr_state.attr,
	&dev_attr_last_end.attr,
	&dev_attr_protocol_version.attr,
	&dev_attr_credits_in_flight.attr,
	&dev_attr_window.attr,
	NULL
};

const struct attribute_group u4n_sysfs_group = {
	.name = "usb4net",
	.attrs = u4n_sysfs_attrs,
};
