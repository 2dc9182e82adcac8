// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/usb4emu, the emulator's control channel: write a line, read the reply.
 *
 * The protocol is that of the control socket. A reader gets the end of the
 * file after the last line of the reply, so that plain shell will do:
 *
 *	exec 3<>/dev/usb4emu; echo status >&3; cat <&3
 */

#include <linux/cleanup.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "um.h"

#define UM_EMU_LINE_MAX		512
#define UM_EMU_REPLY_MAX	SZ_256K

/**
 * struct um_emu_session - one open file
 * @um: the emulator
 * @lock: one system call at a time
 * @line: what came since the last newline
 * @line_len: length of it
 * @reply: replies not read yet, filled with interrupts off
 * @reply_len: end of them
 * @reply_pos: start of them
 * @overflow: a reply did not fit
 */
struct um_emu_session {
	struct um_emu *um;
	struct mutex lock;	/* the rest of the structure */
	char line[UM_EMU_LINE_MAX];
	size_t line_len;
	char *reply;
	size_t reply_len;
	size_t reply_pos;
	bool overflow;
};

static struct um_emu *um_emu_chardev_um;

static int um_emu_open(struct inode *inode, struct file *file)
{
	struct um_emu_session *s;

	s = kzalloc_obj(*s);
	if (!s)
		return -ENOMEM;

	s->reply = vmalloc(UM_EMU_REPLY_MAX);
	if (!s->reply) {
		kfree(s);
		return -ENOMEM;
	}
	s->um = um_emu_chardev_um;
	mutex_init(&s->lock);
	file->private_data = s;
	return nonseekable_open(inode, file);
}

static int um_emu_release(struct inode *inode, struct file *file)
{
	struct um_emu_session *s = file->private_data;

	mutex_destroy(&s->lock);
	vfree(s->reply);
	kfree(s);
	return 0;
}

static void um_emu_out(void *arg, const char *text)
{
	struct um_emu_session *s = arg;
	size_t len = strlen(text);

	if (len > UM_EMU_REPLY_MAX - s->reply_len) {
		s->overflow = true;
		return;
	}
	memcpy(s->reply + s->reply_len, text, len);
	s->reply_len += len;
}

static void um_emu_execute(struct um_emu_session *s)
{
	unsigned long flags;

	s->line[s->line_len] = '\0';
	s->line_len = 0;
	if (s->reply_pos == s->reply_len) {
		s->reply_pos = 0;
		s->reply_len = 0;
	}

	flags = um_emu_enter(s->um);
	emu_command(s->um->core, s->line, um_emu_out, s);
	um_emu_leave(s->um, flags);
}

static ssize_t um_emu_write(struct file *file, const char __user *buf,
			    size_t count, loff_t *pos)
{
	struct um_emu_session *s = file->private_data;
	size_t i;
	char c;

	guard(mutex)(&s->lock);
	for (i = 0; i < count; i++) {
		if (get_user(c, buf + i))
			return -EFAULT;
		if (c == '\n') {
			um_emu_execute(s);
			continue;
		}
		if (s->line_len == UM_EMU_LINE_MAX - 1) {
			s->line_len = 0;
			return -EMSGSIZE;
		}
		s->line[s->line_len++] = c;
	}
	return count;
}

static ssize_t um_emu_read(struct file *file, char __user *buf, size_t count,
			   loff_t *pos)
{
	struct um_emu_session *s = file->private_data;

	guard(mutex)(&s->lock);
	if (s->overflow) {
		s->overflow = false;
		s->reply_pos = s->reply_len;
		return -EOVERFLOW;
	}
	count = min(count, s->reply_len - s->reply_pos);
	if (copy_to_user(buf, s->reply + s->reply_pos, count))
		return -EFAULT;
	s->reply_pos += count;
	return count;
}

static const struct file_operations um_emu_fops = {
	.owner = THIS_MODULE,
	.open = um_emu_open,
	.release = um_emu_release,
	.read = um_emu_read,
	.write = um_emu_write,
};

static struct miscdevice um_emu_miscdev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "usb4emu",
	.fops = &um_emu_fops,
	.mode = 0600,
};

/**
 * um_emu_chardev_register() - create /dev/usb4emu
 * @um: the emulator its lines are for
 *
 * Return: 0 or a negative errno.
 */
int um_emu_chardev_register(struct um_emu *um)
{
	um_emu_chardev_um = um;
	return misc_register(&um_emu_miscdev);
}

/**
 * um_emu_chardev_unregister() - remove /dev/usb4emu
 *
 * No file is open: each of them holds a reference to the module.
 */
void um_emu_chardev_unregister(void)
{
	misc_deregister(&um_emu_miscdev);
}
