// SPDX-License-Identifier: GPL-2.0
/*
 * Does one thing that is wrong, when it is loaded, to see whether the debug kernel
 * and the test bed notice:
 *
 *	insmod planted.ko what=uaf
 *
 * This is for selftests/bed-debug.sh alone.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

#define PCI_CLASS_USB4_NHI	0x0c0340
#define DMA_LEN			256

static char *what = "nothing";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "what is to be wrong");

static int nothing(void)
{
	void *p = kmalloc(64, GFP_KERNEL);

	kfree(p);
	return 0;
}

/* KASAN: use after free, and out of bounds */
static int uaf(void)
{
	u8 *p = kmalloc(64, GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	OPTIMIZER_HIDE_VAR(p);
	kfree(p);
	pr_info("%u\n", READ_ONCE(p[8]));
	return 0;
}

static int oob(void)
{
	u8 *p = kzalloc(100, GFP_KERNEL);
	unsigned int at = 100;

	if (!p)
		return -ENOMEM;
	OPTIMIZER_HIDE_VAR(at);
	pr_info("%u\n", READ_ONCE(p[at]));
	kfree(p);
	return 0;
}

/* Memory profiling and kmemleak: nobody knows where it is */
static int leak(void)
{
	void *p = kmalloc(200, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	return p ? 0 : -ENOMEM;
}

static int page(void)
{
	return alloc_page(GFP_KERNEL) ? 0 : -ENOMEM;
}

/* UBSAN */
static int shift(void)
{
	unsigned int by = 40;

	OPTIMIZER_HIDE_VAR(by);
	pr_info("%d\n", 1 << by);
	return 0;
}

/* Lockdep: one order and then the other, which never collides in here */
static DEFINE_SPINLOCK(lock_a);
static DEFINE_SPINLOCK(lock_b);

static int lock(void)
{
	spin_lock(&lock_a);
	spin_lock(&lock_b);
	spin_unlock(&lock_b);
	spin_unlock(&lock_a);
	spin_lock(&lock_b);
	spin_lock(&lock_a);
	spin_unlock(&lock_a);
	spin_unlock(&lock_b);
	return 0;
}

static int atomic(void)
{
	spin_lock(&lock_a);
	usleep_range(100, 200);
	spin_unlock(&lock_a);
	return 0;
}

/* Objects: a timer that runs in memory that is freed, a list entry added twice */
static void expired(struct timer_list *t)
{
}

static int timer(void)
{
	struct timer_list *t = kmalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	timer_setup(t, expired, 0);
	mod_timer(t, jiffies + 3600 * HZ);
	kfree(t);
	return 0;
}

static int list(void)
{
	static LIST_HEAD(head);
	static struct list_head entry;

	list_add(&entry, &head);
	list_add(&entry, &head);
	return 0;
}

/* DMA API: given back with another size, and not at all */
static void *dma_buf;

static int dma(bool unmap)
{
	struct pci_dev *pdev = pci_get_class(PCI_CLASS_USB4_NHI, NULL);
	dma_addr_t addr;

	if (!pdev)
		return -ENODEV;
	dma_buf = kzalloc(DMA_LEN, GFP_KERNEL);
	addr = dma_map_single(&pdev->dev, dma_buf, DMA_LEN, DMA_TO_DEVICE);
	if (dma_mapping_error(&pdev->dev, addr)) {
		pci_dev_put(pdev);
		return -EIO;
	}
	if (unmap)
		dma_unmap_single(&pdev->dev, addr, DMA_LEN / 2, DMA_TO_DEVICE);
	pci_dev_put(pdev);
	return 0;
}

static int dma_size(void)
{
	return dma(true);
}

static int dma_left(void)
{
	return dma(false);
}

/* Whoever waits for that, waits for ever: insmod */
static int hang(void)
{
	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule();
	return 0;
}

#define THING(f) { #f, f }

static const struct {
	const char *name;
	int (*plant)(void);
} things[] = {
	THING(nothing), THING(uaf), THING(oob), THING(leak), THING(page),
	THING(shift), THING(lock), THING(atomic), THING(timer), THING(list),
	THING(dma_size), THING(dma_left), THING(hang),
};

static int __init planted_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(things); i++) {
		if (!strcmp(what, things[i].name))
			return things[i].plant();
	}
	pr_err("nothing of the name %s\n", what);
	return -EINVAL;
}

static void __exit planted_exit(void)
{
	kfree(dma_buf);
}

module_init(planted_init);
module_exit(planted_exit);
MODULE_DESCRIPTION("Something wrong, on purpose");
MODULE_LICENSE("GPL");
