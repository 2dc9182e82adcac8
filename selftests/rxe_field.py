#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What has gone wrong with rdma_rxe in the field, for rxe-field.sh.

	rxe_field.py CASE A_RXE A_GID A_IP B_RXE B_GID B_IP [OPTION]

Both ends are in this process, as in rxe_provoke.py. The exit status is 0 if all is
as the verbs specify, and in time.
"""
import ctypes
import ipaddress
import mmap
import os
import subprocess
import sys
import threading
import time

import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

from rxe_provoke import ACCESS, BUF, End, connected

SMOKE = os.environ.get("SMOKE") == "1"
PAGE = 4096
HUGE = 1 << (25 if SMOKE else 30)
SINK = HUGE // 16 // PAGE	# pages that are there
QPS, MRS = (100, 1000) if SMOKE else (1000, 10000)
RNR_1MS, RNR_10MS = 14, 20	# 1.28 and 10.24 ms as the verbs encode them


def fault(*words):
    ctl = os.environ.get("EMU_CTL", "/dev/usb4emu")
    subprocess.run(["/usb4net/bin/usb4emu-ctl", "-s", ctl, "fault",
                    *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def ms_since(start):
    return (time.monotonic() - start) * 1000


def at_most(limit, ms, what):
    print(f"{what}: {ms:.2f} ms")
    if ms > limit:
        sys.exit(f"{what}: {ms:.2f} ms, at most {limit} are allowed")


def wait_for(limit, cond, what):
    """Milliseconds until the condition holds, at most so many"""
    start = time.monotonic()
    while not cond():
        if ms_since(start) > limit:
            sys.exit(f"{what}: not within {limit} ms")
        time.sleep(0.0005)
    print(f"{what}: {ms_since(start):.2f} ms")


def sysfs(end, path):
    with open(f"/sys/class/infiniband/{end.name}/{path}", encoding="ascii") as f:
        return f.read().strip()


def netdev(end):
    return sysfs(end, f"ports/1/gid_attrs/ndevs/{end.gid}")


def ip(end, *words):
    """The ip command where the end's netdev is"""
    where = [] if end.side == "a" else ["-n", "b"]
    subprocess.run(["ip", *where, *map(str, words)], check=True)


# --- R4: sizes --------------------------------------------------------------------

class Repeated:
    """Memory that looks as large as wanted: the same pages again and again"""

    def __init__(self, end, pages, size):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                              ctypes.c_int, ctypes.c_int, ctypes.c_long]
        self.fd = os.memfd_create("repeated")
        self.period = pages * PAGE
        os.ftruncate(self.fd, self.period)
        self.map = mmap.mmap(self.fd, self.period)
        read_write, shared, fixed = 3, 1, 0x10
        self.addr = libc.mmap(None, size, 0, 0x22, -1, 0)
        for at in range(0, size, self.period):
            length = min(self.period, size - at)
            where = libc.mmap(self.addr + at, length, read_write, shared | fixed,
                              self.fd, 0)
            if where != self.addr + at:
                sys.exit(f"mmap: {os.strerror(ctypes.get_errno())}")
        self.mr = MR(end.pd, size, ACCESS, address=self.addr)


def huge(a, b):
    """A message of 1 GiB. What is at the end shows whether anything is missing:
    the memory it is sent from repeats with another period than where it goes to."""
    source, sink = Repeated(a, 1021, HUGE), Repeated(b, SINK, HUGE)
    pages = HUGE // PAGE
    for i in range(1021):
        source.map[i * PAGE:(i + 1) * PAGE] = os.urandom(8) * (PAGE // 8)
    connected(a, b, mtu=e.IBV_MTU_4096)
    for name, op in (("SEND", e.IBV_WR_SEND), ("WRITE", e.IBV_WR_RDMA_WRITE),
                     ("WRITE_IMM", e.IBV_WR_RDMA_WRITE_WITH_IMM),
                     ("READ", e.IBV_WR_RDMA_READ)):
        sink.map[:] = bytes(sink.period)
        here, there = (sink, source) if name == "READ" else (source, sink)
        post, peer = (b, a) if name == "READ" else (a, b)
        if name in ("SEND", "WRITE_IMM"):
            sge = SGE(sink.addr, HUGE, sink.mr.lkey)
            b.qp.post_recv(RecvWR(2, 1, [sge]))
        wr = SendWR(1, opcode=op, num_sge=1, sg=[SGE(here.addr, HUGE, here.mr.lkey)])
        if name != "SEND":
            wr.set_wr_rdma(there.mr.rkey, there.addr)
        post.qp.post_send(wr)
        wc = post.wait(200)
        if wc.status != e.IBV_WC_SUCCESS:
            sys.exit(f"{name}: status {wc.status}")
        if name in ("SEND", "WRITE_IMM"):
            wc = peer.wait()
            if wc.status != e.IBV_WC_SUCCESS or wc.byte_len != HUGE:
                sys.exit(f"{name}: received {wc.byte_len}, status {wc.status}")
        for page in range(pages - SINK, pages):
            at, frm = page % SINK * PAGE, page % 1021 * PAGE
            if sink.map[at:at + PAGE] != source.map[frm:frm + PAGE]:
                sys.exit(f"{name}: page {page} of {pages} is not what was sent")
        print(f"{name} of {HUGE} bytes: all there")


# --- R5: a SEND that comes too early ------------------------------------------------

def naks(end):
    time.sleep(0.03)	# counters may be shown as they were a moment ago
    return end.counter("send_rnr_err")


def again(end):
    """Another QP in the place of the end's"""
    end.qp.close()
    cap = QPCap(max_send_wr=16, max_recv_wr=16, max_send_sge=1, max_recv_sge=1)
    end.qp = QP(end.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, cap=cap, scq=end.cq,
                                   rcq=end.cq, sq_sig_all=1))


def rnr_counts(a, b):
    """rnr_retry N is N tries more, and then it is told what was wrong"""
    for n in range(7):
        for end in (a, b):
            again(end)
        connected(a, b, rnr_retry=n)
        before = naks(b)
        a.post()
        a.expect(e.IBV_WC_RNR_RETRY_EXC_ERR, f"rnr_retry {n}")
        tries = naks(b) - before
        print(f"rnr_retry {n}: {tries} tries")
        if tries != n + 1:
            sys.exit(f"rnr_retry {n}: {tries} tries, should be {n + 1}")


def rnr_in_time(a, b):
    """With a receive before the last try nothing has happened. It is the same for
    WRITE with immediate data, and begins anew after each message."""
    for n in range(1, 8):
        for end in (a, b):
            again(end)
        connected(a, b, rnr_retry=n, rnr_timer=RNR_10MS, timeout=20)
        for op in (e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE_WITH_IMM, e.IBV_WR_SEND):
            start = time.monotonic()
            a.post(opcode=op, remote=None if op == e.IBV_WR_SEND else b)
            time.sleep(0.01024 * (n - 0.5))
            b.recv()
            a.expect(e.IBV_WC_SUCCESS, f"rnr_retry {n}, opcode {op}")
            b.expect(e.IBV_WC_SUCCESS, f"rnr_retry {n}, receive")
            at_most(10.24 * n + 3, ms_since(start), f"rnr_retry {n}, opcode {op}")


def rnr_forever(a, b):
    """rnr_retry 7 has no end, and those that need no receive do not wait for one"""
    connected(a, b, rnr_retry=7, rnr_timer=RNR_1MS, timeout=20)
    a.post(opcode=e.IBV_WR_RDMA_WRITE, remote=b)
    a.expect(e.IBV_WC_SUCCESS, "WRITE")
    a.post()
    time.sleep(1)
    count, _ = a.cq.poll(1)
    if count:
        sys.exit("rnr_retry 7 has ended")
    b.recv()
    a.expect(e.IBV_WC_SUCCESS, "SEND after a second")


# --- R8: GIDs -----------------------------------------------------------------------

V4, V6 = "10.0.7.{}", "fd07::{}"
MAPPED = "0000:0000:0000:0000:0000:ffff:0a00:070{}"
FULL6 = "fd07:0000:0000:0000:0000:0000:0000:000{}"


def gids(end):
    """All that are there: index by GID"""
    found = {}
    base = f"/sys/class/infiniband/{end.name}/ports/1"
    for name in os.listdir(f"{base}/gids"):
        try:
            value = sysfs(end, f"ports/1/gids/{name}")
            if int(value.replace(":", ""), 16):
                found[value] = int(name), sysfs(end, f"ports/1/gid_attrs/types/{name}")
        except OSError:
            pass		# no such GID
    return found


def gid_table(a, b):
    """An address has its GID at once, for RoCE v2, and nobody else's moves"""
    before = gids(a)
    for _ in range(3):
        for address, gid in ((V4.format(1) + "/24", MAPPED.format(1)),
                             (V6.format(1) + "/64", FULL6.format(1))):
            nodad = ["nodad"] if ":" in address else []
            ip(a, "addr", "add", address, "dev", netdev(a), *nodad)
            wait_for(100, lambda g=gid: g in gids(a), f"GID of {address}")
            if gids(a)[gid][1] != "RoCE v2":
                sys.exit(f"{gid} is for {gids(a)[gid][1]}")
            ip(a, "addr", "del", address, "dev", netdev(a))
            wait_for(100, lambda g=gid: g not in gids(a), f"{address} gone")
            if gids(a) != before:
                sys.exit(f"GIDs were {before}, are {gids(a)}")
    if b.gid not in [i for i, _ in gids(b).values()]:
        sys.exit("B's GID has moved")


def gid_use(a, b):
    """And can be used as soon as it is there, by both, as long as it is"""
    ends = ((a, 1), (b, 2))
    for address, gid, nodad in ((V4 + "/24", MAPPED, []), (V6 + "/64", FULL6, ["nodad"])):
        for _ in range(2):
            for end, n in ends:
                ip(end, "addr", "add", address.format(n), "dev", end.dev, *nodad)
            for end, n in ends:
                wait_for(100, lambda x=end, g=gid.format(n): g in gids(x),
                         address.format(n))
                again(end)
                end.gid = gids(end)[gid.format(n)][0]
            connected(a, b)
            for x, y in ((a, b), (b, a)):
                start = time.monotonic()
                y.recv()
                x.post()
                x.expect(e.IBV_WC_SUCCESS, f"SEND from {x.name}")
                y.expect(e.IBV_WC_SUCCESS, f"receive at {y.name}")
                at_most(100, ms_since(start), f"SEND from {x.name}")
            for end, n in ends:
                ip(end, "addr", "del", address.format(n), "dev", end.dev)


def gid_first(a, _b):
    """The GID with index 0 is of an address that the netdev has"""
    first = str(ipaddress.IPv6Address(sysfs(a, "ports/1/gids/0")))
    show = subprocess.run(["ip", "-6", "addr", "show", "dev", a.dev], check=True,
                          capture_output=True, text=True).stdout
    print(f"index 0: {first}, addresses: {show}")
    if f"inet6 {first}/" not in show:
        sys.exit("index 0 is of none of them")


# --- R9: the MTU under traffic --------------------------------------------------------

class Changes(threading.Thread):
    """Other MTUs for the netdevs, until all have been"""

    def __init__(self, ends):
        super().__init__()
        self.ends = ends

    def run(self):
        for mtu in (1500, 9000, 1280, 65520, 4200, 65520):
            for end in self.ends:
                time.sleep(0.03)
                ip(end, "link", "set", end.dev, "mtu", mtu)


def mtu(a, b, may_fail=False):
    """QPs go on while the MTU changes, or fail, but no byte is wrong"""
    connected(a, b, mtu=e.IBV_MTU_4096)
    changes, rounds, failed = Changes((a, b)), 0, None
    changes.start()
    while changes.is_alive() and failed is None:
        for op in (e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ):
            src, dst = (b, a) if op == e.IBV_WR_RDMA_READ else (a, b)
            data = os.urandom(1024) * (BUF // 1024)
            src.mr.write(data, BUF)
            dst.mr.write(bytes(BUF), BUF)
            if op == e.IBV_WR_SEND:
                b.recv(BUF)
            a.post(opcode=op, length=BUF, remote=None if op == e.IBV_WR_SEND else b)
            wc = a.wait(30)
            if wc.status != e.IBV_WC_SUCCESS:
                failed = wc.status
                break
            if op == e.IBV_WR_SEND:
                b.expect(e.IBV_WC_SUCCESS, "receive")
            if bytes(dst.mr.read(BUF, 0)) != data:
                sys.exit(f"opcode {op}: not what was sent, round {rounds}")
            rounds += 1
            time.sleep(0.002)
    changes.join()
    print(f"{rounds} messages, " + (f"then status {failed}" if failed else "all good"))
    if rounds < 3 or failed and not may_fail:
        sys.exit("which is not enough")


def mtu_stack(a, b):
    """Through the IP stack they may fail, with an error"""
    mtu(a, b, may_fail=True)


# --- R10: what the device is ----------------------------------------------------------

def identity(a, b):
    """The hardware is found, and the rate is that of the link"""
    for end in (a, b):
        try:
            path = os.path.realpath(f"/sys/class/infiniband/{end.name}/device",
                                    strict=True)
        except OSError:
            sys.exit(f"{end.name}: no device in sysfs")
        print(f"{end.name}: {path}")
        with open(f"{path}/class", encoding="ascii") as f:
            if f.read().strip() != "0x0c0340":
                sys.exit(f"{end.name}: that is no USB4 host interface")
        where = [] if end.side == "a" else ["ip", "netns", "exec", "b"]
        speed = subprocess.run([*where, "ethtool", end.dev], check=True,
                               capture_output=True, text=True).stdout
        speed = int(speed.split("Speed: ")[1].split("Mb/s")[0]) / 1000
        rate = float(sysfs(end, "ports/1/rate").split()[0])
        port = end.ctx.query_port(1)
        lanes = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}[port.active_width]
        lane = {1: 2.5, 2: 5, 4: 10, 8: 10, 16: 14, 32: 25, 64: 50, 128: 100}
        print(f"netdev {speed}, rate {rate}, {lanes} x {lane[port.active_speed]} Gb/s")
        if not speed == rate == lanes * lane[port.active_speed]:
            sys.exit("they do not agree")


# --- R11: many ------------------------------------------------------------------------

def many_qps(a, b):
    """1000 QPs at each end, all at work"""
    pairs = []
    for _ in range(QPS):
        pair = []
        for end in (a, b):
            cap = QPCap(max_send_wr=2, max_recv_wr=2, max_send_sge=1, max_recv_sge=1)
            pair.append(QP(end.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, cap=cap,
                                              scq=end.cq, rcq=end.cq, sq_sig_all=1)))
        pairs.append(pair)
    for a.qp, b.qp in pairs:
        connected(a, b)
    for a.qp, b.qp in pairs + pairs[::-1]:
        data = os.urandom(64)
        a.mr.write(data, 64)
        b.mr.write(bytes(64), 64)
        b.recv(64)
        a.post(length=64)
        a.expect(e.IBV_WC_SUCCESS, "SEND")
        b.expect(e.IBV_WC_SUCCESS, "receive")
        if bytes(b.mr.read(64, 0)) != data:
            sys.exit("not what was sent")


def many_mrs(a, b):
    """10000 MRs, each of which is read from"""
    mrs = [MR(b.pd, PAGE, ACCESS, address=b.mr.buf + i % 8 * PAGE)
           for i in range(MRS)]
    if len({mr.rkey for mr in mrs}) != len(mrs):
        sys.exit("two have the same key")
    connected(a, b)
    data = os.urandom(8 * PAGE)
    b.mr.write(data, len(data))
    for i, mr in enumerate(mrs):
        wr = SendWR(1, opcode=e.IBV_WR_RDMA_READ, num_sge=1, sg=[a.sge(8)])
        at = i % 8 * PAGE + i % 509 * 8
        wr.set_wr_rdma(mr.rkey, b.mr.buf + at)
        a.qp.post_send(wr)
        a.expect(e.IBV_WC_SUCCESS, f"READ from MR {i}")
        if bytes(a.mr.read(8, 0)) != data[at:at + 8]:
            sys.exit(f"MR {i}: not what is there")


# --- R12: one lost packet ---------------------------------------------------------------

def lost(a, what, limit, router, eof, post):
    fault("drop", "router", router, "eof", eof, "count", 1)
    start = time.monotonic()
    post()
    a.expect(e.IBV_WC_SUCCESS, what)
    took = ms_since(start)
    done = subprocess.run(["/usb4net/bin/usb4emu-ctl", "-s",
                           os.environ.get("EMU_CTL", "/dev/usb4emu"), "fault", "list"],
                          check=True, capture_output=True, text=True).stdout
    fault("off")
    if "done 1" not in done:
        sys.exit(f"{what}: nothing was lost: {done}")
    at_most(limit, took, what)


def last_packet(a, b):
    """The last packet of a message, its answer: 20 ms, not the timeout's seconds"""
    small, length = 3, 61440 + 64		# the tag of packets of one frame
    connected(a, b, timeout=18, mtu=e.IBV_MTU_4096)

    def write(n):
        return lambda: a.post(opcode=e.IBV_WR_RDMA_WRITE, remote=b, length=n)

    def read(n):
        return lambda: a.post(opcode=e.IBV_WR_RDMA_READ, remote=b, length=n)

    for _ in range(3):
        lost(a, "a WRITE of one packet", 25, 0, small, write(64))
        lost(a, "the last packet of a WRITE", 25, 0, small, write(length))
        lost(a, "its acknowledgment", 25, 1, small, write(length))
        lost(a, "a request to READ", 25, 0, small, read(length))
        lost(a, "the last packet of what is read", 25, 1, small, read(length))
    if bytes(a.mr.read(length, 0)) != bytes(b.mr.read(length, 0)):
        sys.exit("not what is there")


def middle_packet(a, b):
    """What is lost with something behind it is asked for at once: the peer says so,
    or what is read has a gap"""
    large = 4   # tag of a BODY frame
    connected(a, b, timeout=18, mtu=e.IBV_MTU_4096)
    data = os.urandom(BUF)
    a.mr.write(data, BUF)
    for _ in range(3):
        lost(a, "the first packet of a WRITE", 2, 0, large,
             lambda: a.post(opcode=e.IBV_WR_RDMA_WRITE, remote=b, length=BUF))
        lost(a, "the first packet of what is read", 2, 1, large,
             lambda: a.post(opcode=e.IBV_WR_RDMA_READ, remote=b, length=BUF))
    if bytes(b.mr.read(BUF, 0)) != data:
        sys.exit("not what was sent")


CASES = {f.__name__: f for f in (
    huge, rnr_counts, rnr_in_time, rnr_forever, gid_table, gid_use, gid_first, mtu,
    mtu_stack, identity, many_qps, many_mrs, last_packet, middle_packet)}

if __name__ == "__main__":
    if len(sys.argv) != 8 or sys.argv[1] not in CASES:
        sys.exit(__doc__)
    A, B = End(*sys.argv[2:5]), End(*sys.argv[5:8])
    A.side, B.side = "a", "b"
    A.dev, B.dev = netdev(A), netdev(B)
    CASES[sys.argv[1]](A, B)
