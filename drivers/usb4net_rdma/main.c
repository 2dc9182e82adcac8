// SPDX-License-Identifier: GPL-2.0
/*
 * Networking and RDMA over USB4 and Thunderbolt cables
 *
 * A peer that runs this driver offers the service "usb4rdma". For each such peer
 * there is a network device, usb4net%d. Documentation/protocol.rst describes what
 * the two say to each other.
 */
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "u4n.h"

/* 730027d7-d509-474d-8a8f-3f367b4a2d75 */
static const uuid_t u4n_dir_uuid =
	UUID_INIT(0x730027d7, 0xd509, 0x474d,
		  0x8a, 0x8f, 0x3f, 0x36, 0x7b, 0x4a, 0x2d, 0x75);

static struct tb_property_dir *u4n_dir;

static int u4n_probe(struct tb_service *svc)
{
	struct u4n_link *l;

	l = u4n_link_create(svc);
	if (IS_ERR(l))
		return PTR_ERR(l);
	tb_service_set_drvdata(svc, l);
	return 0;
}

static void u4n_remove(struct tb_service *svc)
{
	u4n_link_destroy(tb_service_get_drvdata(svc));
}

static void u4n_shutdown(struct tb_service *svc)
{
	struct u4n_link *l = tb_service_get_drvdata(svc);

	rtnl_lock();
	dev_close(l->ndev);
	rtnl_unlock();
}

static int u4n_suspend(struct device *dev)
{
	struct u4n_link *l = dev_get_drvdata(dev);

	rtnl_lock();
	if (netif_running(l->ndev)) {
		netif_device_detach(l->ndev);
		u4n_hs_stop(l);
	}
	rtnl_unlock();
	return 0;
}

static int u4n_resume(struct device *dev)
{
	struct u4n_link *l = dev_get_drvdata(dev);

	rtnl_lock();
	if (netif_running(l->ndev)) {
		netif_device_attach(l->ndev);
		u4n_hs_start(l);
	}
	rtnl_unlock();
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(u4n_pm_ops, u4n_suspend, u4n_resume);

static const struct tb_service_id u4n_ids[] = {
	{ TB_SERVICE(U4N_SERVICE_KEY, U4N_PRTCID) },
	{ }
};
MODULE_DEVICE_TABLE(tbsvc, u4n_ids);

static struct tb_service_driver u4n_driver = {
	.driver = {
		.owner = THIS_MODULE,
		.name = "usb4net_rdma",
		.pm = pm_sleep_ptr(&u4n_pm_ops),
	},
	.probe = u4n_probe,
	.remove = u4n_remove,
	.shutdown = u4n_shutdown,
	.id_table = u4n_ids,
};

static int u4n_create_dir(void)
{
	static const struct {
		const char *key;
		u32 value;
	} props[] = {
		{ "prtcid", U4N_PRTCID },
		{ "prtcvers", U4N_PRTCVERS },
		{ "prtcrevs", U4N_PRTCREVS },
		{ "prtcstns", U4N_CAPS },
	};
	unsigned int i;
	int ret;

	u4n_dir = tb_property_create_dir(&u4n_dir_uuid);
	if (!u4n_dir)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(props); i++) {
		ret = tb_property_add_immediate(u4n_dir, props[i].key,
						props[i].value);
		if (ret)
			goto free;
	}
	return 0;

free:
	tb_property_free_dir(u4n_dir);
	return ret;
}

/* The directory comes last: when a peer sees it, we are there to answer */
static int __init u4n_init(void)
{
	int ret;

	ret = u4n_hs_init();
	if (ret)
		return ret;
	ret = u4n_xd_init();
	if (ret)
		goto hs_exit;
	ret = tb_register_service_driver(&u4n_driver);
	if (ret)
		goto xd_exit;
	ret = u4n_peers_init(u4n_driver.driver.bus);
	if (ret)
		goto unregister_driver;
	ret = u4n_create_dir();
	if (ret)
		goto peers_exit;
	ret = tb_register_property_dir(U4N_SERVICE_KEY, u4n_dir);
	if (ret)
		goto free_dir;
	return 0;

free_dir:
	tb_property_free_dir(u4n_dir);
peers_exit:
	u4n_peers_exit();
unregister_driver:
	tb_unregister_service_driver(&u4n_driver);
xd_exit:
	u4n_xd_exit();
hs_exit:
	u4n_hs_exit();
	return ret;
}
module_init(u4n_init);

static void __exit u4n_exit(void)
{
	u4n_peers_exit();
	tb_unregister_service_driver(&u4n_driver);
	tb_unregister_property_dir(U4N_SERVICE_KEY, u4n_dir);
	tb_property_free_dir(u4n_dir);
	u4n_xd_exit();
	u4n_hs_exit();
}
module_exit(u4n_exit);

MODULE_DESCRIPTION("Networking and RDMA over USB4 and Thunderbolt cables");
MODULE_LICENSE("GPL");
