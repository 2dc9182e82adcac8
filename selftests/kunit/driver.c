// SPDX-License-Identifier: GPL-2.0
/* What is tested: the files of the driver that need no hardware. */
#include <linux/module.h>

#include "../../drivers/usb4net_rdma/credit.c"
#include "../../drivers/usb4net_rdma/headers.c"
#include "../../drivers/usb4net_rdma/proto.c"

MODULE_DESCRIPTION("Unit tests of usb4net_rdma");
MODULE_LICENSE("GPL");
