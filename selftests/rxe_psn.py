#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Packets of several PSNs between two rxe devices on a roce_loop link, for
rxe-psn.sh.

	rxe_psn.py CASE A_RXE A_GID B_RXE B_GID

All of both ends is in this process. A sends to B or reads from it, every byte is
verified. The exit status is 0 if all is as it would be with packets of one PSN.
"""
import random
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

FAULT = "/sys/module/roce_loop/parameters/fault"
BUF = 1 << 20
GUARD = 64
LIMIT = 15
ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_READ |
          e.IBV_ACCESS_REMOTE_WRITE)
MTUS = {256: e.IBV_MTU_256, 1024: e.IBV_MTU_1024, 4096: e.IBV_MTU_4096}
SEND, WRITE, READ = e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ
WRITE_IMM = e.IBV_WR_RDMA_WRITE_WITH_IMM
NAMES = {SEND: "SEND", WRITE: "WRITE", READ: "READ", WRITE_IMM: "WRITE_IMM"}
# the PSN goes round within the second packet
WRAP = 0x1000000 - LIMIT - 7


def fault(*words):
    with open(FAULT, "w", encoding="ascii") as f:
        f.write(" ".join(str(w) for w in words))


def reset():
    fault("off")
    fault("a several 1")
    fault("b several 1")


def sent():
    """Packets of A, those of several PSNs, the same of B"""
    with open(FAULT, encoding="ascii") as f:
        return [int(w) for w in f.read().split()]


class End:
    """A device and its memory; the QP is another one for each connection"""

    access = ACCESS

    def __init__(self, name, gid):
        self.name, self.gid = name, int(gid)
        self.ctx = Context(name=name)
        self.pd = PD(self.ctx)
        self.mr = MR(self.pd, BUF, self.access)
        self.cq = self.qp = None

    def open(self):
        for what in (self.qp, self.cq):
            if what:
                what.close()
        self.cq = CQ(self.ctx, 64)
        cap = QPCap(max_send_wr=32, max_recv_wr=32, max_send_sge=2, max_recv_sge=2)
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, cap=cap,
                                         scq=self.cq, rcq=self.cq, sq_sig_all=1))

    def connect(self, peer, psn, mtu, timeout):
        gr = GlobalRoute(dgid=peer.ctx.query_gid(1, peer.gid), sgid_index=self.gid,
                         hop_limit=64)
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = self.access
        attr.ah_attr = AHAttr(gr=gr, is_global=1, port_num=1)
        attr.path_mtu = MTUS[mtu]
        attr.dest_qp_num = peer.qp.qp_num
        attr.rq_psn = attr.sq_psn = psn
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        attr.min_rnr_timer = 10
        attr.timeout, attr.retry_cnt, attr.rnr_retry = timeout, 7, 7
        self.qp.to_rts(attr)

    def wait(self, what, seconds=20.0):
        """The next completion. Sleeps, for where CPU work takes no time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            count, wcs = self.cq.poll(1)
            if count:
                return wcs[0]
            time.sleep(0.0002)
        sys.exit(f"{what}: {self.name}: no completion for {seconds} s")

    def counter(self, name):
        path = f"/sys/class/infiniband/{self.name}/ports/1/hw_counters/{name}"
        # what was read 10 ms ago, or a jiffy, may be shown again
        time.sleep(0.021)
        with open(path, encoding="ascii") as f:
            return int(f.read())


class Link:
    """A and B, connected"""

    def __init__(self, a, b):
        self.a, self.b = a, b
        self.rand = random.Random(1)

    def connect(self, psn=0x1000, mtu=4096, timeout=12):
        for end in (self.a, self.b):
            end.open()
        self.a.connect(self.b, psn, mtu, timeout)
        self.b.connect(self.a, psn, mtu, timeout)

    def prepare(self, op, lengths):
        """Fill the source, and what is around the destination"""
        dst = self.a if op == READ else self.b
        src = self.b if op == READ else self.a
        self.src = self.rand.randbytes(sum(lengths))
        src.mr.write(self.src, len(self.src), GUARD)
        size = len(self.src) + 2 * GUARD
        dst.mr.write(b"\xee" * size, size)

    def recv(self, op, lengths):
        offset = GUARD
        for n in lengths:
            if op == SEND:
                sge = SGE(self.b.mr.buf + offset, n, self.b.mr.lkey)
                self.b.qp.post_recv(RecvWR(2, 1, [sge]))
            elif op == WRITE_IMM:
                sge = SGE(self.b.mr.buf, 0, self.b.mr.lkey)
                self.b.qp.post_recv(RecvWR(2, 1, [sge]))
            offset += n

    def post(self, op, lengths):
        """Two pieces, that meet somewhere in the first packet"""
        offset = GUARD
        for n in lengths:
            cut = min(n, 777)
            at = self.a.mr.buf + offset
            sg = [SGE(at, cut, self.a.mr.lkey),
                  SGE(at + cut, n - cut, self.a.mr.lkey)]
            wr = SendWR(1, opcode=op, num_sge=2, sg=sg)
            if op != SEND:
                wr.set_wr_rdma(self.b.mr.rkey, self.b.mr.buf + offset)
            self.a.qp.post_send(wr)
            offset += n

    def finish(self, op, lengths, what):
        for _ in lengths:
            wc = self.a.wait(what)
            if wc.status != e.IBV_WC_SUCCESS:
                sys.exit(f"{what}: status {wc.status}")
        for n in lengths if op in (SEND, WRITE_IMM) else []:
            wc = self.b.wait(what)
            if wc.status != e.IBV_WC_SUCCESS or wc.byte_len != n:
                sys.exit(f"{what}: received {wc.byte_len}, status {wc.status}")
        dst = self.a if op == READ else self.b
        guard = b"\xee" * GUARD
        if dst.mr.read(len(self.src) + 2 * GUARD, 0) != guard + self.src + guard:
            sys.exit(f"{what}: the data is not what was sent")
        count, _ = self.b.cq.poll(1)
        if count:
            sys.exit(f"{what}: B has a completion too many")

    def run(self, op, lengths, what):
        self.prepare(op, lengths)
        self.recv(op, lengths)
        self.post(op, lengths)
        self.finish(op, lengths, what)


def want(is_, should, what):
    if is_ != should:
        sys.exit(f"{what}: {is_}, should be {should}")


def lengths(link):
    """Around every multiple of the path MTU, and the number of packets is right"""
    total = 0
    for mtu in MTUS:
        link.connect(mtu=mtu)
        for op in (SEND, WRITE, READ):
            for k in (*range(1, 18), 29, 30, 31):
                for n in range(k * mtu - 2, k * mtu + 3):
                    what = f"{NAMES[op]} of {n} bytes, path MTU {mtu}"
                    before = sent()
                    link.run(op, [n], what)
                    packets = [x - y for x, y in zip(sent(), before)]
                    psns = -(-n // mtu)
                    i = 2 if op == READ else 0
                    want(packets[i], -(-psns // LIMIT), f"{what}: packets")
                    rest = psns % LIMIT
                    want(packets[i + 1], psns // LIMIT + (rest > 1),
                         f"{what}: packets of several PSNs")
                    total += 1
    print(f"{total} transfers")


def positions(link):
    """Whatever happens to one or two packets, in any place, both ways"""
    kinds = [("drop", 1), ("drop", 2), ("dup", 0), ("dup", 1), ("dup", 3), ("late", 1),
             ("late", 2), ("late", 3)]
    size = [20 * 4096, 33 * 4096 + 5]
    total = 0
    for op in (SEND, WRITE, WRITE_IMM, READ):
        link.connect(WRAP)
        reset()
        link.run(op, size, f"{NAMES[op]}, no fault")
        packets = sent()[::2]
        for side, count in zip("ab", packets):
            for nr in range(count):
                for kind, arg in kinds:
                    link.connect(WRAP)
                    reset()
                    fault(side, kind, nr, arg)
                    link.run(op, size, f"{NAMES[op]}: {side} {kind} {nr} {arg}")
                    total += 1
    reset()
    print(f"{total} faults")


def one(link):
    """A peer that does not take them does not get them"""
    link.connect()
    fault("a several 0")
    link.run(SEND, [20 * 4096], "SEND, one PSN each")
    want(sent()[:2], [20, 0], "packets by A")
    link.run(READ, [20 * 4096], "READ, several PSNs in the responses")
    want(sent()[3], 2, "packets of several PSNs by B")


def change(link):
    """In the midst of a message what the peer takes changes"""
    for op, side, i in (SEND, "a", 0), (WRITE, "a", 0), (READ, "b", 2):
        for first in 0, 1:
            link.connect(WRAP)
            reset()
            fault(side, "several", first)
            link.prepare(op, [200 * 4096])
            link.recv(op, [200 * 4096])
            link.post(op, [200 * 4096])
            fault(side, "several", 1 - first)
            link.finish(op, [200 * 4096], f"{NAMES[op]}, several {first} first")


def partial(link):
    """Packets that are duplicates only in part"""
    size = [20 * 4096]
    for op in (SEND, WRITE):
        for lost in range(1, LIMIT + 2):
            what = f"{NAMES[op]}, PSN {lost} was lost"
            link.connect(WRAP, timeout=16)
            reset()
            naks = link.b.counter("out_of_seq_request")
            fault("a several 0")
            fault("a", "drop", lost)
            fault("b", "drop", 0, 1000)
            link.prepare(op, size)
            link.recv(op, size)
            link.post(op, size)
            end = time.monotonic() + 5
            while sent()[0] < 20 and time.monotonic() < end:
                time.sleep(0.0001)
            time.sleep(0.001)
            reset()
            start = time.monotonic()
            link.finish(op, size, what)
            ms = (time.monotonic() - start) * 1000
            if ms > 450:
                sys.exit(f"{what}: {ms:.0f} ms, the timer ran twice, 268 ms and 537")
            # what comes before the NAK, which is one packet more or not, and the rest
            packets = sent()[0]
            least = 1 + lost // LIMIT
            if lost % LIMIT:
                least += -(-(20 - lost) // LIMIT)
            if not least <= packets <= least + 1:
                sys.exit(f"{what}: {packets} packets, should be {least}")
            # the one that did not get through, when it was lost
            want(link.b.counter("out_of_seq_request"), naks + 1, f"{what}: NAKs")


def overtaken(link):
    """A packet comes when the first six of its PSNs have come with others"""
    for op, side in (WRITE, "a"), (SEND, "a"), (READ, "b"):
        what = f"{NAMES[op]}, overtaken by parts of itself"
        # the last packet of a READ; behind a request is what brings the NAK
        size = [LIMIT * 4096] if op == READ else [20 * 4096]
        link.connect(WRAP)
        reset()
        fault(side, "late", 0, 6 if op == READ else 7)
        link.prepare(op, size)
        link.recv(op, size)
        link.post(op, size)
        end = time.monotonic() + 5
        while not sent()["ab".index(side) * 2] and time.monotonic() < end:
            time.sleep(0.0001)
        fault(side, "several", 0)
        link.finish(op, size, what)
        print(f"{what}: {sent()}")


def twice(link):
    """What is lost in a retry does not wait for the timer, if there was a NAK"""
    psn = 0x1000
    link.connect(psn, timeout=16)
    fault("a", "lose", psn, 1)
    fault("a", "lose", psn + LIMIT, 2)
    start = time.monotonic()
    link.run(WRITE, [60 * 4096], "WRITE, two losses")
    ms = (time.monotonic() - start) * 1000
    print(f"two losses: {ms:.2f} ms")
    if ms > 200:
        sys.exit("the timer, which runs for 268 ms, was waited for")


def gap(link):
    """What is missing of a READ is asked for when the next response comes, once"""
    size = [6 * LIMIT * 4096]
    for lost in range(5):
        what = f"READ, response {lost} of 6 was lost"
        link.connect(WRAP, timeout=16)
        reset()
        fault("b", "drop", lost)
        start = time.monotonic()
        link.run(READ, size, what)
        ms = (time.monotonic() - start) * 1000
        print(f"{what}: {ms:.2f} ms")
        if ms > 10:
            sys.exit("the timer, which runs for 20 ms, was waited for")
        want(sent()[::2], [2, 6 + 6 - lost], f"{what}: requests and responses")


def rnr(link):
    """No receive is posted"""
    for op in (SEND, WRITE_IMM):
        what = f"{NAMES[op]}, RNR"
        link.connect(WRAP)
        size = [20 * 4096, 16 * 4096]
        naks = link.b.counter("send_rnr_err")
        link.prepare(op, size)
        link.post(op, size)
        time.sleep(0.002)
        link.recv(op, size)
        link.finish(op, size, what)
        if link.b.counter("send_rnr_err") == naks:
            sys.exit(f"{what}: no NAK")


def forged(link):
    """The number of PSNs is not what follows from the length"""
    for n in 0, 1, 2, 7, 14, 16, 255:
        link.connect()
        reset()
        fault("a", "npsn", 0, n)
        link.prepare(WRITE, [LIMIT * 4096])
        link.post(WRITE, [LIMIT * 4096])
        wc = link.a.wait(f"{n} PSNs")
        want(wc.status, e.IBV_WC_REM_INV_REQ_ERR, f"request of {n} PSNs: status")
    for n in 2, 7, 14, 16, 255:
        link.connect()
        reset()
        errors = link.a.counter("link_rcvd_err")
        fault("b", "npsn", 0, n)
        link.run(READ, [LIMIT * 4096], f"response of {n} PSNs")
        want(link.a.counter("link_rcvd_err"), errors + 1, "errors")
    for op in SEND, READ:
        link.connect()
        reset()
        fault("b" if op == READ else "a", "npsn", 0, 2)
        link.run(op, [8], f"{NAMES[op]} of one PSN that is said to be two")


def main():
    case = sys.argv[1]
    link = Link(End(*sys.argv[2:4]), End(*sys.argv[4:6]))
    reset()
    {f.__name__: f for f in (lengths, positions, one, change, partial, overtaken,
                             twice, gap, rnr, forged)}[case](link)


if __name__ == "__main__":
    main()
