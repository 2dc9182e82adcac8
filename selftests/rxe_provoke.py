#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Provokes what rdma_rxe once did wrong, for rxe.sh.

	rxe_provoke.py CASE A_RXE A_GID A_IP B_RXE B_GID B_IP

Both ends are in this process: A's device has a netdev in this network
namespace, B's in the namespace "b". The exit status is 0 if all is as the
verbs specify.
"""
import ctypes
import mmap
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

BUF = 65536
PSN = 0x1000
FLUSH = 0x1c
ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_READ |
          e.IBV_ACCESS_REMOTE_WRITE)


class End:
    """One end of a connection"""

    def __init__(self, name, gid, ip, sges=1, qp_type=e.IBV_QPT_RC):
        self.name, self.gid, self.ip = name, int(gid), ip
        self.ctx = Context(name=name)
        self.pd = PD(self.ctx)
        self.cq = CQ(self.ctx, 64)
        self.mr = MR(self.pd, BUF, ACCESS)
        cap = QPCap(max_send_wr=16, max_recv_wr=16, max_send_sge=sges,
                    max_recv_sge=1)
        self.qp = QP(self.pd, QPInitAttr(qp_type=qp_type, cap=cap,
                                         scq=self.cq, rcq=self.cq, sq_sig_all=1))

    def connect(self, peer, timeout=14, retry=7, rnr_timer=1, mtu=e.IBV_MTU_1024,
                rnr_retry=7):
        gr = GlobalRoute(dgid=peer.ctx.query_gid(1, peer.gid), sgid_index=self.gid,
                         hop_limit=64)
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = ACCESS
        attr.ah_attr = AHAttr(gr=gr, is_global=1, port_num=1)
        attr.path_mtu = mtu
        attr.dest_qp_num = peer.qp.qp_num
        attr.rq_psn = attr.sq_psn = PSN
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        attr.min_rnr_timer = rnr_timer
        attr.timeout, attr.retry_cnt, attr.rnr_retry = timeout, retry, rnr_retry
        self.qp.to_rts(attr)

    def sge(self, length=8, offset=0, lkey=None):
        return SGE(self.mr.buf + offset, length, lkey or self.mr.lkey)

    def post(self, wr_id=1, opcode=e.IBV_WR_SEND, remote=None, **kw):
        wr = SendWR(wr_id, opcode=opcode, num_sge=1, sg=[self.sge(**kw)])
        if remote:
            wr.set_wr_rdma(remote.mr.rkey, remote.mr.buf)
        self.qp.post_send(wr)

    def recv(self, length=1024):
        self.qp.post_recv(RecvWR(2, 1, [self.sge(length)]))

    def wait(self, seconds=10.0):
        """The next completion. Sleeps, for where CPU work takes no time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            count, wcs = self.cq.poll(1)
            if count:
                return wcs[0]
            time.sleep(0.0001)
        sys.exit(f"{self.name}: no completion for {seconds} s")

    def expect(self, status, what):
        wc = self.wait()
        if wc.status != status:
            sys.exit(f"{what}: status {wc.status}, should be {status}")

    def counter(self, name):
        path = f"/sys/class/infiniband/{self.name}/ports/1/hw_counters/{name}"
        with open(path, encoding="ascii") as f:
            return int(f.read())


def connected(a, b, **kw):
    a.connect(b, **kw)
    b.connect(a, **kw)


def took(limit, start, what):
    ms = (time.monotonic() - start) * 1000
    print(f"{what}: {ms:.2f} ms")
    if ms > limit:
        sys.exit(f"{what}: {ms:.2f} ms, at most {limit} are allowed")


def cause(a, b):
    """A request that fails locally says why, those after it are flushed"""
    connected(a, b)
    a.post(lkey=a.mr.lkey ^ 0x5500)
    a.expect(e.IBV_WC_LOC_PROT_ERR, "wrong lkey")
    a.post()
    a.expect(e.IBV_WC_WR_FLUSH_ERR, "request after that")


def dead(a, b):
    """A peer that does not answer is noticed, with the largest retry_cnt, too"""
    connected(a, b)
    b.qp.close()
    start = time.monotonic()
    a.post()
    a.expect(e.IBV_WC_RETRY_EXC_ERR, "no peer")
    took(4 * 8 * 67.2, start, "timeout 14, retry_cnt 7")


def retrans(a, b):
    """timeout 8 is 1.05 ms, and may be doubled"""
    connected(a, b, timeout=8, retry=1)
    b.qp.close()
    start = time.monotonic()
    a.post()
    a.expect(e.IBV_WC_RETRY_EXC_ERR, "no peer")
    took(8, start, "timeout 8, retry_cnt 1")


def rnr(a, b):
    """RNR timer 1 is 10 us"""
    connected(a, b)
    start = time.monotonic()
    a.post()
    time.sleep(0.0005)
    if not b.counter("send_rnr_err"):
        sys.exit("no RNR NAK")
    b.recv()
    a.expect(e.IBV_WC_SUCCESS, "send")
    took(5, start, "RNR timer 1")


def gid(a, b):
    """An address that goes and comes back is a pause, not an error"""
    dev = open(f"/sys/class/infiniband/{a.name}/ports/1/gid_attrs/ndevs/{a.gid}",
               encoding="ascii").read().strip()

    def address(what):
        subprocess.run(["ip", "addr", what, f"{a.ip}/24", "dev", dev], check=True)
        time.sleep(0.1)

    connected(a, b)
    b.recv()
    b.recv()
    a.post()
    a.expect(e.IBV_WC_SUCCESS, "send before")
    address("del")
    a.post()
    address("add")
    a.expect(e.IBV_WC_SUCCESS, "send while the address was gone")


def raw(src, dst, opcode, psn, rest, count=1):
    """Sends a RoCEv2 packet from one end to the QP of the other, so many times"""
    bth = struct.pack("!BBHII", opcode, 0, 0xffff, dst.qp.qp_num, 1 << 31 | psn)
    udp_len = 8 + len(bth) + len(rest) + 4
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + udp_len, 1, 0x4000, 64, 17, 0,
                     socket.inet_aton(src.ip), socket.inet_aton(dst.ip))
    udp = struct.pack("!HHHH", 50000, 4791, udp_len, 0)
    masked = bytearray(ip + udp + bth + rest)
    masked[1] = masked[8] = 0xff                # TOS, TTL
    masked[10:12] = masked[26:28] = b"\xff\xff"  # checksums
    masked[32] = 0xff                           # reserved, before the QP number
    # rxe does not know where the payload of a FLUSH would begin, and takes all of the
    # packet for it: it is in the ICRC twice
    again = bth + rest if opcode == FLUSH else b""
    crc = struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked) + again))

    def send():
        with open("/run/netns/b", "rb") as ns:
            os.setns(ns.fileno(), os.CLONE_NEWNET)
        s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        for _ in range(count):
            s.sendto(ip + udp + bth + rest + crc, (dst.ip, 0))
        s.close()

    thread = threading.Thread(target=send)
    thread.start()
    thread.join()


def duplicate(a, b):
    """Duplicates of a READ do not lead beyond the end of what it read"""
    connected(a, b)
    b.post(opcode=e.IBV_WR_RDMA_READ, remote=a, length=8192)
    b.expect(e.IBV_WC_SUCCESS, "read")

    def again(skip, length):
        before = a.counter("sent_pkts")
        raw(b, a, 0x0c, PSN + skip // 1024,
            struct.pack("!QII", a.mr.buf + skip, a.mr.rkey, length))
        time.sleep(0.05)
        return a.counter("sent_pkts") - before

    for skip, length, want in ((1024, 7168, 7), (2048, 7168, 0), (0, 8192, 8)):
        n = again(skip, length)
        print(f"duplicate of {length} bytes at {skip}: {n} packets")
        if n != want:
            sys.exit(f"{n} packets, should be {want}")


def aeth(syndrome=0):
    return struct.pack("!I", syndrome << 24)


def late_ack(a, b):
    """An acknowledgment that comes again, between the responses to a READ"""
    connected(a, b, timeout=18)
    b.qp.close()
    a.post(opcode=e.IBV_WR_RDMA_WRITE, remote=b)
    a.post(opcode=e.IBV_WR_RDMA_READ, remote=b, length=2048)
    time.sleep(0.01)
    first, last = os.urandom(1024), os.urandom(1024)
    raw(b, a, 0x11, PSN, aeth())
    raw(b, a, 0x0d, PSN + 1, aeth() + first)
    raw(b, a, 0x11, PSN, aeth())
    raw(b, a, 0x0f, PSN + 2, aeth() + last)
    a.expect(e.IBV_WC_SUCCESS, "write")
    a.expect(e.IBV_WC_SUCCESS, "read")
    if a.mr.read(2048, 0) != first + last:
        sys.exit("the read has brought something else")


def only_ack(a, b):
    """An acknowledgment is no response to a READ"""
    connected(a, b, timeout=14, retry=1)
    b.qp.close()
    a.post(opcode=e.IBV_WR_RDMA_READ, remote=b, length=1024)
    raw(b, a, 0x11, PSN, aeth())
    a.expect(e.IBV_WC_RETRY_EXC_ERR, "read without a response")


def empty(a, b):
    """Duplicates of a READ are answered, if it or what followed has no bytes"""
    connected(a, b)
    psn = PSN
    for length, other in ((0, 8), (8192, 0)):
        b.post(opcode=e.IBV_WR_RDMA_READ, remote=a, length=length)
        b.expect(e.IBV_WC_SUCCESS, "read")
        b.post(opcode=e.IBV_WR_RDMA_WRITE, remote=a, length=other)
        b.expect(e.IBV_WC_SUCCESS, "write")
        time.sleep(0.05)        # what was read just now may be shown again
        before = a.counter("sent_pkts")
        raw(b, a, 0x0c, psn, struct.pack("!QII", a.mr.buf, a.mr.rkey, length))
        time.sleep(0.05)
        n, want = a.counter("sent_pkts") - before, max(length // 1024, 1)
        psn += want + 1
        if n != want:
            sys.exit(f"{n} packets, should be {want}, for {length} bytes")


def seen(send):
    """The frames that are seen here while "send" does so"""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as sniffer:
        sniffer.setblocking(False)
        send()
        time.sleep(0.05)
        frames = []
        try:
            while True:
                frames.append(sniffer.recv(65536))
        except BlockingIOError:
            return frames


def answers(frames):
    """Opcode and syndrome of those that are responses with an AETH"""
    # behind Ethernet, IP and UDP there is the BTH
    return [(f[42], f[54]) for f in frames
            if f[36:38] == b"\x12\xb7" and 0x0d <= f[42] <= 0x12 and f[42] != 0x0e]


def no_bytes(a, b):
    """A WRITE that is said to have none, and has some, is refused for its length

    and not because there was no MR to write it to, of which the kernel warns.
    """
    connected(a, b, timeout=8, retry=1)
    rest = struct.pack("!QII", a.mr.buf, a.mr.rkey, 0) + bytes(8)
    said = answers(seen(lambda: raw(b, a, 0x0a, PSN, rest)))
    if said != [(0x11, 0x61)]:
        sys.exit(f"the answers are {said}, should be one: an invalid request")
    b.post(opcode=e.IBV_WR_RDMA_WRITE, remote=a)
    b.expect(e.IBV_WC_RETRY_EXC_ERR, "write to a QP that has refused one")


def confused(a, b):
    """What is kept of a FLUSH is not taken for a READ.

    A FLUSH of all of an MR may have any address. Where it is kept, the key and the
    length of a READ may have been, and its PSN may still be there.
    """
    secret = b"what this program keeps to itself"
    memory = mmap.mmap(-1, 8192)
    memory[4096:4096 + len(secret)] = secret
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    a.mr.close()
    a.mr = MR(a.pd, 4096, ACCESS, address=at)
    own = MR(PD(a.ctx), 4096, e.IBV_ACCESS_LOCAL_WRITE, address=at + 4096)
    connected(a, b)
    for _ in range(4):  # as many as are kept
        b.post(opcode=e.IBV_WR_RDMA_READ, remote=a)
        b.expect(e.IBV_WC_SUCCESS, "read")
    # of the whole MR, for no purpose, so that no right is needed
    rest = struct.pack("!IQII", 1 << 4, 0xffffffff << 32 | own.rkey, a.mr.rkey, 16)
    said = answers(seen(lambda: raw(b, a, FLUSH, PSN + 4, rest)))
    if said != [(0x10, 0x1f)]:
        sys.exit(f"the answers to the FLUSH are {said}, should be that it is done")
    frames = seen(lambda: raw(b, a, 0x0c, PSN, struct.pack("!QII", at + 4096, own.rkey,
                                                           len(secret))))
    if any(secret in frame for frame in frames):
        sys.exit("memory has been read that nobody may read")
    if not frames:
        sys.exit("not even the READ was seen")


def window(a, b):
    """A peer keeps to the memory window that it was given"""
    for bad in 8188, 4092:
        a, b = (End(end.name, end.gid, end.ip) for end in (a, b))
        a.mr = MR(a.pd, BUF, ACCESS | e.IBV_ACCESS_MW_BIND)
        connected(a, b)
        mw = MW(a.pd, e.IBV_MW_TYPE_1)
        info = MWBindInfo(a.mr, a.mr.buf + 4096, 4096, e.IBV_ACCESS_REMOTE_READ)
        a.qp.bind_mw(mw, MWBind(info, e.IBV_SEND_SIGNALED))
        a.expect(e.IBV_WC_SUCCESS, "bind")
        for offset in 4096, 8184, bad:
            wr = SendWR(1, opcode=e.IBV_WR_RDMA_READ, num_sge=1, sg=[b.sge()])
            wr.set_wr_rdma(mw.rkey, a.mr.buf + offset)
            b.qp.post_send(wr)
            b.expect(e.IBV_WC_REM_ACCESS_ERR if offset == bad else e.IBV_WC_SUCCESS,
                     f"read at {offset} of a window from 4096 to 8192")
        mw.close()


def zero_based(a, b):
    """Duplicates of a READ from a zero based MW are answered"""
    a.mr.close()
    a.mr = MR(a.pd, BUF, ACCESS | e.IBV_ACCESS_MW_BIND)
    data = os.urandom(8192)
    a.mr.write(data, 8192, 4096)
    connected(a, b)
    mw = MW(a.pd, e.IBV_MW_TYPE_2)
    bind = SendWR(opcode=e.IBV_WR_BIND_MW)
    bind.set_bind_wr(mw, MWBindInfo(a.mr, a.mr.buf + 4096, 8192,
                                    e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_ZERO_BASED))
    a.qp.post_send(bind)
    a.expect(e.IBV_WC_SUCCESS, "bind")
    wr = SendWR(1, opcode=e.IBV_WR_RDMA_READ, num_sge=1, sg=[b.sge(8192)])
    wr.set_wr_rdma(bind.rkey, 0)
    b.qp.post_send(wr)
    b.expect(e.IBV_WC_SUCCESS, "read")
    if b.mr.read(8192, 0) != data:
        sys.exit("the read has brought something else")
    before = a.counter("sent_pkts")
    raw(b, a, 0x0c, PSN, struct.pack("!QII", 0, bind.rkey, 8192))
    time.sleep(0.05)
    n = a.counter("sent_pkts") - before
    mw.close()
    if n != 8:
        sys.exit(f"{n} packets, should be 8")


def kernel_only(a, b):
    """A program may not do what only the kernel may, nor what does not exist"""
    for opcode in 0x20, 0x21, 0x100000:     # IB_WR_REG_MR and two that are none
        a, b = (End(end.name, end.gid, end.ip) for end in (a, b))
        connected(a, b)
        a.post(opcode=opcode)
        a.expect(e.IBV_WC_LOC_QP_OP_ERR, f"opcode {opcode}")


def no_end(a, b):
    """A UC message whose end is lost does not harm the next ones"""
    a, b = (End(end.name, end.gid, end.ip, qp_type=e.IBV_QPT_UC) for end in (a, b))
    connected(a, b)
    for what, opcode, rest in (
            (e.IBV_WR_RDMA_WRITE, 0x26, struct.pack("!QII", a.mr.buf, a.mr.rkey, 2048)),
            (e.IBV_WR_SEND, 0x20, b"")):
        a.recv()
        raw(b, a, opcode, PSN + 100, rest + bytes(1024))
        for n in range(2):
            data = os.urandom(8)
            b.mr.write(data, 8)
            b.post(opcode=what, remote=a if rest else None)
            b.expect(e.IBV_WC_SUCCESS, "request")
            if not rest:
                a.expect(e.IBV_WC_SUCCESS, "receive")
                a.recv()
            time.sleep(0.01)
            if a.mr.read(8, 0) != data:
                sys.exit(f"request {n} behind one without an end has not arrived")


def flood(a, b):
    """Packets that wait for the responder are few, however many come"""
    connected(a, b, timeout=20)
    before = a.counter("rcv_queue_full")
    for _ in range(4):
        b.post(opcode=e.IBV_WR_RDMA_READ, remote=a, length=BUF)
    time.sleep(0.05)
    # SENDs from the future, behind READ responses that wait for the qdisc
    raw(b, a, 0x04, PSN + 100000, bytes(1000), count=3000)
    time.sleep(0.02)
    dropped = a.counter("rcv_queue_full") - before
    print(f"{dropped} of 3000 packets were dropped")
    if not 3000 - 1100 <= dropped < 3000:
        sys.exit("should be all but about 1024")
    for _ in range(4):
        b.expect(e.IBV_WC_SUCCESS, "read")


def sent_again(a, b):
    """An acknowledgment that comes when a part has been sent again is one"""
    connected(a, b, mtu=e.IBV_MTU_512)
    b.qp.close()

    packets = BUF // 512        # as many as may be without an acknowledgment
    time.sleep(0.02)            # a counter's value may be 10 ms old
    before = a.counter("sent_pkts")
    a.post(length=BUF)
    time.sleep(0.150)           # timeout 14 is 67.1 ms, from the last packet
    sent = a.counter("sent_pkts") - before
    if not packets < sent < 2 * packets:
        sys.exit(f"{sent} packets, should be between {packets} and {2 * packets}")
    raw(b, a, 0x11, PSN + packets - 1, aeth())
    a.expect(e.IBV_WC_SUCCESS, "a message that was sent again in part")
    # the next message has the next PSN
    a.post()
    time.sleep(0.01)
    raw(b, a, 0x11, PSN + packets, aeth())
    a.expect(e.IBV_WC_SUCCESS, "the message after it")


CASES = {f.__name__: f for f in (cause, dead, retrans, rnr, gid, duplicate, late_ack,
                                 only_ack, empty, no_bytes, confused, window,
                                 zero_based, no_end, kernel_only, flood,
                                 sent_again)}

if __name__ == "__main__":
    if len(sys.argv) != 8 or sys.argv[1] not in CASES:
        sys.exit(__doc__)
    CASES[sys.argv[1]](End(*sys.argv[2:5]), End(*sys.argv[5:8]))
    print(f"{sys.argv[1]}: done")
