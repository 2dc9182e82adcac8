// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's parser of HELLO: what it accepts is what the driver may rely on.
 *
 * Input: the message, in the byte order of the machine, of any length up to its own.
 */
#include "../../../../drivers/usb4net_rdma/proto.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct u4n_xd_msg *msg = malloc(sizeof(*msg));
	struct u4n_peer peer = { .version = 99 };
	int ret;

	fuzz_check(msg);
	memset(msg, 0, sizeof(*msg));
	memcpy(msg, data, min(len, sizeof(*msg)));
	ret = u4n_hello_parse(msg, &peer);
	fuzz_check(ret == 0 || ret == -EPROTO || ret == -EPROTONOSUPPORT);
	if (!ret) {
		fuzz_check(peer.version >= U4N_VERSION_MIN && peer.version <= U4N_VERSION_MAX);
		fuzz_check(peer.version >= (msg->versions & 0xffff) &&
			   peer.version <= msg->versions >> 16);
		fuzz_check(peer.cookie && peer.cookie == msg->cookie);
		fuzz_check(peer.window >= U4N_MIN_WINDOW && peer.window <= U4N_MAX_WINDOW);
		fuzz_check(peer.hopid < 2048);
		fuzz_check(is_valid_ether_addr(peer.mac));
	}
	free(msg);
	return 0;
}
