#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""QPs for a hostile peer to talk to, for hostile.sh.

	hostile_rdma.py serve RXE GID HOST_IP PEER_IP STOP
	hostile_rdma.py stuck RXE GID HOST_IP PEER_IP STOP

"serve" prints what the emulator's "hostile" command has to know, a command a line, and
then keeps the QPs alive and busy: what has gone to the error state is connected
again, requests are posted, receive buffers as well. Memory that no one may write to
is looked at all the while. It ends when the file STOP exists, with exit status 1 if
such memory has changed.

"stuck" posts WRITEs to a peer that takes nothing, and says "posted" when they wait.
"""
import mmap
import os
import random
import socket
import struct
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PSN = 0x1000
QKEY = 0x11111111
GUARD = 65536
OPEN = 262144		# bytes that the peer may write to
CLOSED = 65536		# that it may read, but not write to
RECV = 65536
CANARY = 0xA5
RW = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_READ |
      e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_ATOMIC)
RO = e.IBV_ACCESS_REMOTE_READ
RC, UC, UD = 0, 1, 2
TYPES = [e.IBV_QPT_RC, e.IBV_QPT_UC, e.IBV_QPT_UD]
KINDS = [RC] * 8 + [UC] * 2 + [UD] * 2


def number(ip):
    return struct.unpack("!I", socket.inet_aton(ip))[0]


class Memory:
    """guard, open, guard, closed, guard, a receive buffer and a guard for each QP"""

    def __init__(self, pd, qps):
        size = GUARD + OPEN + GUARD + CLOSED + GUARD + qps * (RECV + GUARD)
        self.map = mmap.mmap(-1, size)
        self.map[:] = bytes([CANARY]) * size
        self.open = GUARD
        self.closed = self.open + OPEN + GUARD
        first = self.closed + CLOSED + GUARD
        self.recv = [first + n * (RECV + GUARD) for n in range(qps)]
        self.all = MR(pd, size, e.IBV_ACCESS_LOCAL_WRITE, address=self.address())
        self.rw = MR(pd, OPEN, RW, address=self.address() + self.open)
        self.ro = MR(pd, CLOSED, RO, address=self.address() + self.closed)

    def address(self):
        import ctypes
        return ctypes.addressof(ctypes.c_char.from_buffer(self.map))

    def intact(self):
        """All but what may be written is as it was"""
        spots = [(0, GUARD), (self.open + OPEN, GUARD + CLOSED + GUARD)]
        spots += [(at + RECV, GUARD) for at in self.recv]
        for at, length in spots:
            part = self.map[at:at + length]
            if part.count(CANARY) != length:
                n = next(i for i, b in enumerate(part) if b != CANARY)
                print(f"byte {at + n} has changed", file=sys.stderr)
                return False
        return True


class Conn:
    """A QP that is connected to one of the same number at the peer"""

    def __init__(self, server, kind, index):
        self.server, self.kind, self.index = server, kind, index
        cap = QPCap(max_send_wr=8, max_recv_wr=16, max_send_sge=1, max_recv_sge=1)
        self.qp = QP(server.pd, QPInitAttr(qp_type=TYPES[kind], cap=cap, sq_sig_all=1,
                                           scq=server.cq, rcq=server.cq))
        self.posted = 0
        self.connect()

    def connect(self):
        attr = QPAttr(port_num=1)
        if self.kind == UD:
            attr.qkey = QKEY
            attr.sq_psn = PSN
        else:
            attr.qp_access_flags = RW
            attr.ah_attr = self.server.ah_attr
            attr.path_mtu = e.IBV_MTU_1024
            attr.dest_qp_num = self.qp.qp_num
            attr.rq_psn = attr.sq_psn = PSN
            attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
            attr.min_rnr_timer = 1
            attr.timeout, attr.retry_cnt, attr.rnr_retry = self.server.timeout, 3, 3
        self.qp.to_rts(attr)
        self.posted = 0
        for _ in range(16):
            self.recv()

    def recv(self):
        at = self.server.mem.address() + self.server.mem.recv[self.index]
        self.qp.post_recv(RecvWR(self.index, 1, [SGE(at, RECV,
                                                     self.server.mem.all.lkey)]))

    def alive(self):
        state = self.qp.query(e.IBV_QP_STATE)[0].qp_state
        return state == e.IBV_QPS_RTS

    def again(self):
        attr = QPAttr(qp_state=e.IBV_QPS_RESET)
        self.qp.modify(attr, e.IBV_QP_STATE)
        self.connect()

    def post(self):
        rand, mem = self.server.rand, self.server.mem
        op = rand.choice([e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ,
                          e.IBV_WR_ATOMIC_FETCH_AND_ADD])
        length = rand.choice([1, 60, 1024, 1025, 9000, 40000])
        if self.kind == UD:
            op, length = e.IBV_WR_SEND, min(length, 1024)
        elif self.kind == UC and op not in (e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE):
            op = e.IBV_WR_SEND
        if op == e.IBV_WR_ATOMIC_FETCH_AND_ADD:
            length = 8
        wr = SendWR(1000 + self.index, opcode=op, num_sge=1,
                    sg=[SGE(mem.address() + mem.open, length, mem.rw.lkey)])
        if op == e.IBV_WR_ATOMIC_FETCH_AND_ADD:
            wr.set_wr_atomic(1, mem.address(), 1, 1)
        elif op != e.IBV_WR_SEND:
            wr.set_wr_rdma(1, mem.address())
        if self.kind == UD:
            wr.set_wr_ud(self.server.ah, self.qp.qp_num, QKEY)
        self.qp.post_send(wr)
        self.posted += 1


class Server:
    def __init__(self, name, gid, host, peer, timeout):
        self.rand = random.Random(1)
        self.host, self.peer = host, peer
        self.timeout = timeout
        self.ctx = Context(name=name)
        self.pd = PD(self.ctx)
        self.cq = CQ(self.ctx, 1000)
        self.mem = Memory(self.pd, len(KINDS))
        a = number(peer)
        dgid = GID(f"0000:0000:0000:0000:0000:ffff:{a >> 16:04x}:{a & 0xffff:04x}")
        gr = GlobalRoute(dgid=dgid, sgid_index=int(gid), hop_limit=64)
        self.ah_attr = AHAttr(gr=gr, is_global=1, port_num=1)
        self.ah = AH(self.pd, attr=self.ah_attr)
        self.conns = [Conn(self, kind, n) for n, kind in enumerate(KINDS)]

    def tell(self):
        va = self.mem.address() + self.mem.open
        print(f"rdma own {number(self.peer)} host {number(self.host)} "
              f"rkey {self.mem.rw.rkey} va_hi {va >> 32} va_lo {va & 0xffffffff} "
              f"len {OPEN} mtu 1024")
        for c in self.conns:
            print(f"qp {c.qp.qp_num} {c.kind} {PSN}")
        print("told", flush=True)

    def reap(self):
        """How many have completed"""
        total = 0
        while True:
            count, wcs = self.cq.poll(64)
            total += count
            for wc in wcs:
                if wc.wr_id >= 1000:
                    self.conns[wc.wr_id - 1000].posted -= 1
                elif wc.status == e.IBV_WC_SUCCESS:
                    self.conns[wc.wr_id].recv()
            if count < 64:
                return total

    def round(self):
        """Returns how many QPs had to be connected again"""
        dead = 0
        self.reap()
        for c in self.conns:
            if not c.alive():
                c.again()
                dead += 1
            elif c.posted < 4 and self.rand.random() < 0.5:
                c.post()
        return dead


def serve(server, stop):
    again = rounds = 0
    server.tell()
    while not os.path.exists(stop):
        try:
            again += server.round()
        except PyverbsError as err:
            # the device is going, or a queue is full of what was flushed
            if not os.path.exists(f"/sys/class/infiniband/{server.ctx.name}"):
                break
            print(f"# {err}", file=sys.stderr)
        rounds += 1
        if rounds % 16 == 0 and not server.mem.intact():
            return 1
        time.sleep(0.05)
    print(f"{again} times a QP was connected again, in {rounds} rounds", file=sys.stderr)
    return 0 if server.mem.intact() else 1


def stuck(server, stop):
    mem = server.mem
    conn = server.conns[0]
    for _ in range(8):
        wr = SendWR(1000, opcode=e.IBV_WR_RDMA_WRITE, num_sge=1,
                    sg=[SGE(mem.address() + mem.open, OPEN, mem.rw.lkey)])
        wr.set_wr_rdma(1, mem.address())
        conn.qp.post_send(wr)
    print("posted", flush=True)
    while not os.path.exists(stop):
        time.sleep(0.05)
    return 0


def main():
    what, name, gid, host, peer, stop = sys.argv[1:]
    server = Server(name, gid, host, peer, 10 if what == "serve" else 19)
    sys.exit({"serve": serve, "stuck": stuck}[what](server, stop))


main()
