# SPDX-License-Identifier: GPL-2.0
"""Traffic that verifies itself, for storm.py.

Every message begins with its number, its length and a checksum of the rest. A
flow has a tick(), which never waits, and counts what has arrived as it was sent.
"""

import errno
import mmap
import os
import socket
import struct
import time
import zlib

os.environ["RDMAV_ALLOW_DISASSOC_DESTROY"] = "1"

import pyverbs.enums as e  # noqa: E402
from pyverbs.addr import AHAttr, GlobalRoute  # noqa: E402
from pyverbs.cq import CQ  # noqa: E402
from pyverbs.device import Context  # noqa: E402
from pyverbs.mr import MR  # noqa: E402
from pyverbs.pd import PD  # noqa: E402
from pyverbs.pyverbs_error import PyverbsError  # noqa: E402
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr  # noqa: E402
from pyverbs.wr import SGE, RecvWR, SendWR  # noqa: E402

from storm_host import StormError, address_of  # noqa: E402

HEADER = struct.Struct("<QII")	# number, length of the rest, its checksum
GONE = (errno.ENODEV, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH,
        errno.EADDRNOTAVAIL, errno.ECONNRESET, errno.ECONNREFUSED, errno.EPIPE,
        errno.ETIMEDOUT, errno.ENOTCONN, errno.ECONNABORTED)


class Content:
    """Messages whose bytes depend on their number and length"""

    def __init__(self, rng):
        self.blob = rng.randbytes(1 << 19)

    def make(self, number, size):
        at = number * 7919 % (len(self.blob) - size)
        rest = self.blob[at:at + size]
        return HEADER.pack(number, size, zlib.crc32(rest)) + rest

    @staticmethod
    def check(message, number, what):
        got, size, crc = HEADER.unpack_from(message)
        if got != number:
            raise StormError(f"{what}: message {got} in place of {number}")
        if len(message) != HEADER.size + size:
            raise StormError(f"{what}: message {number}: {len(message)} bytes of {size}")
        if zlib.crc32(message[HEADER.size:]) != crc:
            raise StormError(f"{what}: message {number} is corrupt")


class TcpFlow:
    """A stream from one host to the other, paced"""

    PACE = 0.004

    def __init__(self, src, dst, rng, content, port):
        self.src, self.dst, self.rng, self.content = src, dst, rng, content
        self.address = (dst.ip, port)
        self.name = f"TCP {src.side} to {dst.side}"
        self.done = self.restarts = 0
        self.out = self.sink = self.listener = None
        self.restart()

    def close(self):
        for sock in (self.out, self.sink, self.listener):
            if sock:
                sock.close()
        self.out = self.sink = self.listener = None

    def restart(self, reason="a beginning"):
        self.close()
        self.reason = reason
        self.restarts += 1
        self.number = self.expected = 0
        self.todo, self.got = b"", bytearray()
        self.next = self.begun = time.monotonic()
        self.listener = self.dst.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.setsockopt(socket.SOL_IP, 15, 1)	# IP_FREEBIND
        self.listener.bind(self.address)
        self.listener.listen(1)
        self.out = self.src.socket(socket.AF_INET, socket.SOCK_STREAM)
        # closed sockets do not linger, and their port is free at once
        for sock in (self.out, self.listener):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            self.out.connect(self.address)
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno not in GONE:
                raise

    def accept(self):
        if self.sink or not self.listener:
            return
        try:
            self.sink, _ = self.listener.accept()
        except BlockingIOError:
            return
        self.sink.setblocking(False)

    def send(self, now):
        if not self.todo:
            if now < self.next:
                return
            self.next = now + self.PACE
            size = self.rng.choice((1, 40, 1460, 9000, 32768, 65000))
            self.todo = self.content.make(self.number, size)
            self.number += 1
        sent = self.out.send(self.todo)
        self.todo = self.todo[sent:]

    def receive(self):
        data = self.sink.recv(1 << 20)
        if not data:
            raise OSError(errno.ECONNRESET, "closed")
        self.got += data
        while len(self.got) >= HEADER.size:
            _, size, _ = HEADER.unpack_from(self.got)
            if size > 65000:
                raise StormError(f"{self.name}: message {self.expected} is corrupt: its length")
            if len(self.got) < HEADER.size + size:
                break
            self.content.check(bytes(self.got[:HEADER.size + size]), self.expected, self.name)
            del self.got[:HEADER.size + size]
            self.expected += 1
            self.done += 1

    def tick(self, now):
        try:
            self.accept()
            for step in ([lambda: self.send(now)] + ([self.receive] if self.sink else [])):
                try:
                    step()
                except BlockingIOError:
                    pass
        except OSError as error:
            # a connection that is still being made says EAGAIN or ENOTCONN
            if error.errno not in GONE:
                raise
            if error.errno != errno.ENOTCONN or now - self.begun > 3:
                self.restart(errno.errorcode[error.errno])


class UdpFlow:
    """Datagrams: they may be lost, but not be wrong"""

    PACE = 0.01

    def __init__(self, src, dst, rng, content, port):
        self.src, self.rng, self.content = src, rng, content
        self.address = (dst.ip6, port)
        self.name = f"UDP {src.side} to {dst.side}"
        self.number = self.done = 0
        self.next = 0
        self.out = src.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.sink = dst.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.sink.bind(("::", port))

    def close(self):
        self.out.close()
        self.sink.close()

    def tick(self, now):
        if now >= self.next:
            self.next = now + self.PACE
            size = self.rng.choice((1, 500, 1400, 8000, 60000))
            try:
                self.out.sendto(self.content.make(self.number, size), self.address)
            except OSError as error:
                if error.errno not in GONE + (errno.EAGAIN, errno.ENOBUFS, errno.EMSGSIZE,
                                              errno.EACCES, errno.EINVAL):
                    raise
            self.number += 1
        while True:
            try:
                data = self.sink.recv(1 << 16)
            except OSError as error:
                if error.errno not in GONE + (errno.EAGAIN,):
                    raise
                return
            number, = struct.unpack_from("<Q", data)
            if number >= self.number:
                raise StormError(f"{self.name}: number {number} was never sent")
            self.content.check(data, number, self.name)
            self.done += 1


SLOTS, SLOT = 8, 1 << 18
SIZES = (1, 64, 1000, 4080, 4096, 20000, 65536, 131072, 200000)
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_WRITE
OPS = {"send": e.IBV_WR_SEND, "write": e.IBV_WR_RDMA_WRITE, "read": e.IBV_WR_RDMA_READ}
# How a request may end if the link, the peer or the device goes away
EXCUSED = {e.IBV_WC_RETRY_EXC_ERR, e.IBV_WC_WR_FLUSH_ERR, e.IBV_WC_RNR_RETRY_EXC_ERR}
LIMIT = 8.0	# seconds until every request has an end: timeout 14, 7 retries, and some


class RdmaEnd:
    """One end of a connection, and its memory"""

    def __init__(self, host):
        self.host = host
        self.buf = mmap.mmap(-1, SLOTS * SLOT + 4096)
        self.ctx = Context(name=host.rxe)
        self.pd = PD(self.ctx)
        self.cq = CQ(self.ctx, 4 * SLOTS)
        self.mr = self.qp = None

    def register(self, shift):
        if self.mr:
            self.mr.close()
        self.base = shift
        self.mr = MR(self.pd, SLOTS * SLOT, ACCESS, address=address_of(self.buf) + shift)

    def create(self):
        cap = QPCap(max_send_wr=2 * SLOTS, max_recv_wr=2 * SLOTS, max_send_sge=1,
                    max_recv_sge=1)
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, cap=cap, scq=self.cq,
                                         rcq=self.cq, sq_sig_all=1))

    def connect(self, peer, mtu):
        mine, theirs = self.host.gid_index(), peer.host.gid_index()
        if mine is None or theirs is None:
            raise PyverbsError("an address is gone")
        gr = GlobalRoute(dgid=peer.ctx.query_gid(1, theirs), sgid_index=mine, hop_limit=64)
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = ACCESS
        attr.ah_attr = AHAttr(gr=gr, is_global=1, port_num=1)
        attr.path_mtu = mtu
        attr.dest_qp_num = peer.qp.qp_num
        attr.rq_psn = attr.sq_psn = 0xfffff0	# PSNs wrap soon
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        attr.min_rnr_timer = 1
        attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
        self.qp.to_rts(attr)

    def sge(self, slot, length):
        return SGE(self.mr.buf + slot * SLOT, length, self.mr.lkey)

    def fill(self, slot, data):
        at = self.base + slot * SLOT
        self.buf[at:at + len(data)] = data

    def content(self, slot, length):
        at = self.base + slot * SLOT
        return self.buf[at:at + length]

    def close(self):
        for thing in (self.qp, self.mr, self.cq, self.pd, self.ctx):
            try:
                if thing:
                    thing.close()
            except PyverbsError:
                pass	# its device is gone
        self.qp = self.mr = None


class RdmaFlow:
    """SEND, WRITE and READ both ways on a reliable connection, which comes and goes"""

    def __init__(self, hosts, rng, content):
        self.hosts, self.rng, self.content = hosts, rng, content
        self.name = "RDMA"
        self.ends, self.pending = [], {}
        self.number = self.done = self.errors = self.restarts = 0
        self.error = None	# why it has ended
        self.next_churn = 0

    def alive(self):
        return bool(self.ends) and not self.error

    def close(self):
        for end in self.ends:
            end.close()
        self.ends, self.pending = [], {}
        self.received = {}

    def start(self):
        """Needs the RDMA devices with their GIDs"""
        self.close()
        self.error = None
        self.restarts += 1
        self.ends = [RdmaEnd(host) for host in self.hosts]
        for end in self.ends:
            end.register(self.rng.randrange(4096))
        self.connect()

    def connect(self):
        mtu = self.rng.choice((e.IBV_MTU_1024, e.IBV_MTU_4096, e.IBV_MTU_4096))
        for end in self.ends:
            limit = self.active_mtu(end)
            mtu = min(mtu, limit)
        for end in self.ends:
            end.create()
        for end, peer in zip(self.ends, reversed(self.ends)):
            end.connect(peer, mtu)
        # a slot belongs to one request, in the memory of both ends
        self.free = [list(range(SLOTS // 2)), list(range(SLOTS // 2, SLOTS))]
        self.next_churn = time.monotonic() + self.rng.uniform(0.1, 1.0)

    @staticmethod
    def active_mtu(end):
        return end.ctx.query_port(1).active_mtu

    def churn(self):
        """Other queue pairs, other memory regions, with requests under way"""
        for end in self.ends:
            end.qp.close()
        # nobody is told of their end
        self.pending, self.received = {}, {}
        for end in self.ends:
            while end.cq.poll(16)[0]:
                pass
            if self.rng.random() < 0.5:
                end.register(self.rng.randrange(4096))
        self.restarts += 1
        self.connect()

    def post(self, nr, now):
        """A request of end nr"""
        end, peer = self.ends[nr], self.ends[1 - nr]
        slot = self.free[nr].pop()
        op = self.rng.choice(tuple(OPS))
        data = self.content.make(self.number, self.rng.choice(SIZES))
        src, dst = (peer, end) if op == "read" else (end, peer)
        src.fill(slot, data)
        dst.fill(slot, bytes(HEADER.size))
        wr_id = self.number << 1 | nr
        if op == "send":
            peer.qp.post_recv(RecvWR(wr_id, 1, [peer.sge(slot, len(data))]))
        wr = SendWR(wr_id, opcode=OPS[op], num_sge=1, sg=[end.sge(slot, len(data))])
        if op != "send":
            wr.set_wr_rdma(peer.mr.rkey, peer.mr.buf + slot * SLOT)
        end.qp.post_send(wr)
        self.pending[wr_id] = (nr, op, slot, len(data), dst, self.number, now)
        self.number += 1

    def complete(self, wc):
        if wc.status != e.IBV_WC_SUCCESS:
            self.errors += 1
            if wc.status not in EXCUSED:
                raise StormError(f"RDMA: status {wc.status} of request {wc.wr_id >> 1}")
            self.error = self.error or f"status {wc.status}"
            self.pending.pop(wc.wr_id, None)
            return
        if wc.wr_id not in self.pending:
            if self.error:
                return	# the other half of a SEND
            raise StormError(f"RDMA: completion of {wc.wr_id}, which is not under way")
        nr, op, slot, length, dst, number, _ = self.pending[wc.wr_id]
        if op == "send":
            seen = self.received.get(wc.wr_id, 0) + 1
            self.received[wc.wr_id] = seen
            if wc.opcode & e.IBV_WC_RECV and wc.byte_len != length:
                raise StormError(f"RDMA: {wc.byte_len} bytes received of {length}")
            if seen < 2:
                return
            del self.received[wc.wr_id]
        del self.pending[wc.wr_id]
        self.content.check(dst.content(slot, length), number, f"RDMA {op}")
        self.free[nr].append(slot)
        self.done += 1

    def tick(self, now):
        if not self.ends:
            return
        for end in self.ends:
            wcs = True
            while wcs:
                _, wcs = end.cq.poll(16)
                for wc in wcs or ():
                    self.complete(wc)
        old = min((p[-1] for p in self.pending.values()), default=now)
        if now - old > LIMIT:
            raise StormError(f"RDMA: no end for {now - old:.1f} s, error {self.error}: "
                             f"{[p[:4] for p in self.pending.values()]}")
        if self.error:
            return
        try:
            if now >= self.next_churn:
                self.churn()
            for nr in range(2):
                while self.free[nr]:
                    self.post(nr, now)
        except PyverbsError as error:
            self.error = str(error)
