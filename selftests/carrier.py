#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Sets network devices up as they appear, and says what came when.

  carrier.py COUNT PREFIX SECONDS

Does on one kernel what udev and a network manager do on a real machine: it
waits until the kernel announces the other host (an XDomain of the thunderbolt
bus) and a network device whose name begins with PREFIX, sets that up at once,
and waits for its carrier. Ends when COUNT devices have theirs, and prints how
many milliseconds lie between the announcement of the last of COUNT XDomains and
the last carrier. The times are the kernel's announcements, so nothing of what
runs before or after them is counted.

"ready" is printed first: what is plugged in after that is seen.
"""

import fcntl
import os
import select
import socket
import struct
import sys
import time

NETLINK_KOBJECT_UEVENT = 15
RTMGRP_LINK = 1
RTM_NEWLINK = 16
IFLA_IFNAME = 3
IFF_UP = 0x1
IFF_LOWER_UP = 0x10000
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914


def netlink(protocol, groups):
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    sock.bind((0, groups))
    return sock


def xdomains(data):
    """The name of an XDomain that this uevent announces."""
    words = dict(w.split("=", 1) for w in data.decode(errors="replace").split("\0")
                 if "=" in w)
    if words.get("ACTION") == "add" and words.get("DEVTYPE") == "thunderbolt_xdomain":
        yield os.path.basename(words["DEVPATH"])


def links(data):
    """(name, flags) of the network devices in a message."""
    at = 0
    while at + 16 <= len(data):
        size, kind = struct.unpack_from("IH", data, at)
        if kind == RTM_NEWLINK:
            flags, = struct.unpack_from("I", data, at + 16 + 8)
            attr = at + 16 + 16
            while attr + 4 <= at + size:
                alen, atype = struct.unpack_from("HH", data, attr)
                if atype == IFLA_IFNAME:
                    name = data[attr + 4:attr + alen].rstrip(b"\0").decode()
                    yield name, flags
                attr += max(4, alen + 3 & ~3)
        at += max(16, size + 3 & ~3)


def set_up(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sH14x", name.encode(), 0)
        flags, = struct.unpack_from("H", fcntl.ioctl(sock, SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(sock, SIOCSIFFLAGS,
                    struct.pack("16sH14x", name.encode(), flags | IFF_UP))


def watch(count, prefix, seconds):
    events = netlink(NETLINK_KOBJECT_UEVENT, 1)
    route = netlink(socket.NETLINK_ROUTE, RTMGRP_LINK)
    peers, up, carriers = {}, set(), {}
    print("ready", flush=True)
    end = time.monotonic() + seconds
    while len(peers) < count or len(carriers) < count:
        left = end - time.monotonic()
        if left <= 0:
            sys.exit(f"carrier: after {seconds} s: other hosts {sorted(peers)}, "
                     f"devices {sorted(up)}, carriers {sorted(carriers)}")
        ready, _, _ = select.select([events, route], [], [], left)
        now = time.monotonic()
        if events in ready:
            for peer in xdomains(events.recv(65536)):
                peers[peer] = now
        if route not in ready:
            continue
        for name, flags in links(route.recv(65536)):
            if not name.startswith(prefix):
                continue
            if not flags & IFF_UP:
                set_up(name)
                up.add(name)
            elif flags & IFF_LOWER_UP:
                carriers.setdefault(name, now)
            else:
                carriers.pop(name, None)
    took = max(carriers.values()) - max(peers.values())
    print(f"carrier after {max(took, 0) * 1000:.0f} ms", flush=True)


if len(sys.argv) != 4:
    sys.exit(__doc__)
watch(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
