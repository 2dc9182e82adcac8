# SPDX-License-Identifier: GPL-2.0
"""The two hosts, the cable and the kernel's log, for storm.py.

Host A is the initial network namespace, host B the namespace "b". All is done
from one process, which never waits but in sleep(), so that virtual time goes on.
"""

import array
import ctypes
import errno
import fcntl
import glob
import os
import re
import socket
import struct
import subprocess
import time

IFF_UP, IFF_RUNNING = 0x1, 0x40
SIOCGIFFLAGS = 0x8913
SIOCETHTOOL = 0x8946
ETHTOOL_GRINGPARAM, ETHTOOL_GSTRINGS = 0x10, 0x1b
ETHTOOL_GSTATS, ETHTOOL_GSSET_INFO = 0x1d, 0x37
ETH_SS_STATS = 1

# What the guest's init looks for as well, there after the run.
SPLAT = re.compile(
    r"BUG:|WARNING:|Oops|general protection|Kernel panic|Call Trace:|refcount_t:|"
    r"DMA-API: .*:|UBSAN:|KASAN:|unregister_netdevice: waiting|possible recursive|"
    r"possible circular|suspicious RCU|INFO: task .* blocked|corruption|leaked|"
    r"NETDEV WATCHDOG|page_pool_release_retry|scheduling while atomic")


class StormError(Exception):
    """What must not happen"""


class Emulator:
    """The emulator's control channel"""

    def __init__(self):
        self.path = os.environ.get("EMU_CTL", "/dev/usb4emu")
        self.file = open(self.path, "r+b", buffering=0)

    def __call__(self, *words, fails=False):
        line = " ".join(map(str, words))
        self.file.write(line.encode() + b"\n")
        reply = b""
        while not re.search(rb"(?:^|\n)(ok|error: [^\n]*)\n$", reply):
            reply += self.file.read(65536) or b""
        lines = reply.decode().splitlines()
        if lines[-1] != "ok" and not fails:
            raise StormError(f"emulator: {line}: {lines[-1]}")
        return lines[:-1]

    def stats(self):
        return {k: int(v) for k, v in (line.split() for line in self("stats"))}

    def cabled(self):
        return not any(line == "port 0.1 free" for line in self("status"))


class Host:
    """One of the two hosts"""

    def __init__(self, side):
        self.side, self.nr = side, "ab".index(side)
        self.ip, self.ip6 = f"10.0.0.{self.nr + 1}", f"fd00::{self.nr + 1}"
        self.rxe = f"rxe{self.nr}"
        self.dev = None
        self.names = {}
        self.ns = open("/run/netns/b" if self.nr else "/proc/self/ns/net", "rb")
        self.home = open("/proc/self/ns/net", "rb")
        self.sock = self.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def inside(self, what, *args, **kw):
        """Calls what() in the host's namespace"""
        os.setns(self.ns.fileno(), os.CLONE_NEWNET)
        try:
            return what(*args, **kw)
        finally:
            os.setns(self.home.fileno(), os.CLONE_NEWNET)

    def socket(self, family, kind):
        sock = self.inside(socket.socket, family, kind)
        sock.setblocking(False)
        return sock

    def run(self, *cmd, given=None, fails=False):
        done = self.inside(subprocess.run, list(map(str, cmd)), input=given, text=True,
                           capture_output=True, check=False)
        if done.returncode and not fails:
            raise StormError(f"{self.side}: {' '.join(map(str, cmd))}: {done.stderr.strip()}")
        return done.returncode == 0

    # --- the network device

    def flags(self):
        """None if there is no such device (any more)"""
        request = struct.pack("16sH14x", self.dev.encode(), 0)
        try:
            return struct.unpack_from("H", fcntl.ioctl(self.sock, SIOCGIFFLAGS, request), 16)[0]
        except OSError as error:
            if error.errno == errno.ENODEV:
                return None
            raise

    def carrier(self):
        return bool(self.dev and (self.flags() or 0) & IFF_RUNNING)

    def find(self):
        """Its device, as it comes, in the initial namespace; None if there is none"""
        domains = sorted(glob.glob("/sys/bus/pci/devices/*/domain*"))
        if self.nr >= len(domains):
            return None
        nr = os.path.basename(domains[self.nr])[len("domain"):]
        found = glob.glob(f"/sys/bus/thunderbolt/devices/{nr}-*/net/usb4net*")
        return os.path.basename(found[0]) if found else None

    def ethtool(self, data):
        buf = array.array("B", data)
        request = struct.pack("16sP", self.dev.encode(), buf.buffer_info()[0])
        fcntl.ioctl(self.sock, SIOCETHTOOL, request)
        return buf.tobytes()

    def counters(self):
        """All of "ethtool -S" """
        if self.dev not in self.names:
            info = self.ethtool(struct.pack("IIQI", ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_STATS, 0))
            count, = struct.unpack_from("I", info, 16)
            text = self.ethtool(struct.pack("III", ETHTOOL_GSTRINGS, ETH_SS_STATS, count) +
                                bytes(32 * count))[12:]
            self.names = {self.dev: [text[i:i + 32].rstrip(b"\0").decode()
                                     for i in range(0, 32 * count, 32)]}
        names = self.names[self.dev]
        data = self.ethtool(struct.pack("II", ETHTOOL_GSTATS, len(names)) + bytes(8 * len(names)))
        return dict(zip(names, struct.unpack_from(f"{len(names)}Q", data, 8)))

    def ring(self):
        """Posted receive descriptors, as "ethtool -g" has it"""
        return struct.unpack("9I", self.ethtool(struct.pack("9I", ETHTOOL_GRINGPARAM,
                                                            *[0] * 8)))[5]

    def gid_index(self):
        gid = f"0000:0000:0000:0000:0000:ffff:0a00:000{self.nr + 1}"
        base = f"/sys/class/infiniband/{self.rxe}/ports/1/gids"
        for index in range(16):
            try:
                with open(f"{base}/{index}", encoding="ascii") as file:
                    if file.read().strip() == gid:
                        return index
            except OSError:
                return None
        return None

    def has_rxe(self):
        return os.path.exists(f"/sys/class/infiniband/{self.rxe}")


class KernelLog:
    """What the kernel complains about from now on"""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)

    def check(self):
        bad = []
        while True:
            try:
                text = os.read(self.fd, 8192).decode(errors="replace").split(";", 1)[-1]
            except BlockingIOError:
                break
            except BrokenPipeError:
                continue
            if SPLAT.search(text):
                bad.append(text.splitlines()[0])
        if bad:
            raise StormError("the kernel complains: " + " | ".join(bad[:5]))


def wait_for(what, cond, seconds, tick=None):
    """Until cond() is true; tick() is called meanwhile. Returns the time it took."""
    start = time.monotonic()
    while not cond():
        if time.monotonic() - start > seconds:
            raise StormError(f"{what}: not within {seconds} s")
        if tick:
            tick()
        time.sleep(0.01)
    return time.monotonic() - start


class Link:
    """Both hosts, from the network devices to the RDMA devices"""

    def __init__(self):
        self.emu = Emulator()
        self.hosts = [Host("a"), Host("b")]
        self.log = KernelLog()

    def adopt(self, names):
        for host, name in zip(self.hosts, names):
            host.dev = name

    def gone(self):
        """The hosts whose network device is not there any more"""
        return [h for h in self.hosts if h.dev is None or h.flags() is None]

    def carriers(self):
        return all(h.carrier() for h in self.hosts)

    def set_up(self, host):
        """Addresses, up, and an RDMA device, for a device that is in its namespace"""
        lines = [f"addr replace {host.ip}/24 dev {host.dev}",
                 f"addr replace {host.ip6}/64 dev {host.dev} nodad",
                 f"link set {host.dev} up"]
        host.run("ip", "-batch", "-", given="\n".join(lines) + "\n")
        # a neighbour that did not answer is asked again after a second otherwise
        for family in ("ipv4", "ipv6"):
            host.inside(self.write, f"/proc/sys/net/{family}/neigh/{host.dev}/retrans_time_ms",
                        "50")

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    def patience(self):
        """Between retransmissions, for TCP connections that are made from now on: up to
        two minutes are TCP's doing, not the link's."""
        for host in self.hosts:
            host.inside(self.write, "/proc/sys/net/ipv4/tcp_rto_max_ms", "1000")

    def rdma(self):
        for host in self.hosts:
            if not host.has_rxe():
                host.run("rdma", "link", "add", host.rxe, "type", "rxe", "netdev", host.dev)
        wait_for("GIDs", lambda: all(h.gid_index() is not None for h in self.hosts), 5)

    def revive(self, seconds, tick=None):
        """Takes the devices that have come for those that are gone. A host that
        was pulled may seem to be there for a moment."""
        end = time.monotonic() + seconds
        while True:
            try:
                for host in self.gone():
                    host.dev = None
                    wait_for(f"network device of {host.side}", host.find,
                             end - time.monotonic(), tick)
                    host.dev = host.find()
                    if host.nr:
                        self.hosts[0].run("ip", "link", "set", host.dev, "netns", "b")
                for host in self.hosts:
                    self.set_up(host)
                return
            except (StormError, OSError):
                if not self.gone() or time.monotonic() > end:
                    raise
                # or no time would pass, where code takes none
                time.sleep(0.01)

    def credits_whole(self):
        for host, peer in zip(self.hosts, reversed(self.hosts)):
            ring = peer.ring()
            if host.counters()["tx_credits"] < ring - ring // 16:
                return False
        return True


def address_of(buf):
    return ctypes.addressof(ctypes.c_char.from_buffer(buf))
