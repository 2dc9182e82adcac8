#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Requests of all kinds behind each other, between two rxe devices on a roce_loop
link, for rxe-psn.sh. What is late, lost or doubled of one meets the next.

	rxe_mixed.py CASE A_RXE A_GID B_RXE B_GID

A posts all of them at once. Each has to succeed, and what it has moved is looked at
when it completes, every byte of it.
"""
import random
import struct
import sys
import time

import pyverbs.enums as e
from pyverbs.qp import QPAttr
from pyverbs.wr import SGE, RecvWR, SendWR

from rxe_psn import READ, SEND, WRAP, WRITE, End, Link, fault, reset, sent

ADD = e.IBV_WR_ATOMIC_FETCH_AND_ADD
NAMES = {SEND: "SEND", WRITE: "WRITE", READ: "READ", ADD: "FETCH_ADD"}
ALIGN = 64
KINDS = [("drop", 1), ("drop", 2), ("dup", 0), ("dup", 1), ("dup", 3), ("late", 1),
         ("late", 2), ("late", 3)]
MIXED = ([(WRITE, 100), (READ, 20 * 4096), (SEND, 5000), (READ, 33 * 4096 + 5)],
         [(READ, 20 * 4096), (WRITE, 0), (READ, 4096), (READ, 0), (SEND, 20000)],
         [(ADD, 8), (READ, 16 * 4096), (ADD, 8), (WRITE, 16 * 4096), (ADD, 8), (READ, 1)])
SIZES = (0, 1, 100, 4096, 5000, 15 * 4096, 16 * 4096, 20 * 4096)


class AtomicEnd(End):
    """The memory is for atomics, too"""

    access = End.access | e.IBV_ACCESS_REMOTE_ATOMIC


class Requests:
    """Some requests of A, each with a place of its own in both memories"""

    def __init__(self, link, requests, rand):
        self.link = link
        self.todo = []
        offset = ALIGN
        for op, length in requests:
            self.todo.append((op, length, offset, rand.randbytes(length)))
            offset += (length // ALIGN + 2) * ALIGN
        self.end = offset

    def prepare(self):
        a, b = self.link.a, self.link.b
        for end in a, b:
            end.mr.write(b"\xee" * self.end, self.end)
        for op, length, offset, data in self.todo:
            if length:
                (b if op in (READ, ADD) else a).mr.write(data, length, offset)
            if op == SEND:
                sge = SGE(b.mr.buf + offset, length, b.mr.lkey)
                b.qp.post_recv(RecvWR(2, 1, [sge]))

    def post(self):
        a, b = self.link.a, self.link.b
        for number, (op, length, offset, _) in enumerate(self.todo):
            wr = SendWR(number, opcode=op, num_sge=1,
                        sg=[SGE(a.mr.buf + offset, length, a.mr.lkey)])
            if op == ADD:
                wr.set_wr_atomic(b.mr.rkey, b.mr.buf + offset, 1, 0)
            elif op != SEND:
                wr.set_wr_rdma(b.mr.rkey, b.mr.buf + offset)
            a.qp.post_send(wr)

    def check(self, number, what):
        """What is in the memories once that request is complete"""
        op, length, offset, data = self.todo[number]
        what = f"{what}: {NAMES[op]} of {length} bytes, number {number}"
        dst = self.link.a if op in (READ, ADD) else self.link.b
        if dst.mr.read(length + ALIGN, offset) != data + b"\xee" * ALIGN:
            sys.exit(f"{what}: the data is not what was sent")
        if op == ADD:
            value = struct.unpack("Q", self.link.b.mr.read(8, offset))[0]
            added = (value - struct.unpack("Q", data)[0]) & (1 << 64) - 1
            if added != 1:
                sys.exit(f"{what}: {added} was added")

    def finish(self, what):
        a, b = self.link.a, self.link.b
        for number, (op, length, _, _) in enumerate(self.todo):
            wc = a.wait(what)
            if wc.status != e.IBV_WC_SUCCESS or wc.wr_id != number:
                sys.exit(f"{what}: {NAMES[op]} of {length} bytes, number {number}: "
                         f"status {wc.status} of number {wc.wr_id}")
            self.check(number, what)
        for length in [length for op, length, _, _ in self.todo if op == SEND]:
            wc = b.wait(what)
            if wc.status != e.IBV_WC_SUCCESS or wc.byte_len != length:
                sys.exit(f"{what}: received {wc.byte_len}, status {wc.status}")
        # later duplicates have not changed anything
        for number in range(len(self.todo)):
            self.check(number, what)
        if a.cq.poll(1)[0] or b.cq.poll(1)[0]:
            sys.exit(f"{what}: a completion too many")

    def run(self, what):
        self.prepare()
        self.post()
        self.finish(what)


def positions(link):
    """Whatever happens to one or two packets, in any place, both ways"""
    total = 0
    for number, requests in enumerate(MIXED):
        link.connect(WRAP, timeout=16)
        reset()
        Requests(link, requests, link.rand).run(f"list {number}, no fault")
        for side, count in zip("ab", sent()[::2]):
            for nr in range(count):
                for kind, arg in KINDS:
                    link.connect(WRAP, timeout=16)
                    reset()
                    fault(side, kind, nr, arg)
                    Requests(link, requests, link.rand).run(
                        f"list {number}: {side} {kind} {nr} {arg}")
                    total += 1
    reset()
    print(f"{total} faults")


def chance(link, seeds=range(300)):
    """Requests and faults from a seed"""
    for seed in seeds:
        rand = random.Random(seed)
        requests = [(op, 8 if op == ADD else rand.choice(SIZES))
                    for op in rand.choices((WRITE, READ, SEND, ADD), (2, 4, 2, 1),
                                           k=rand.randint(3, 7))]
        link.connect(WRAP, timeout=rand.choice((12, 16)))
        reset()
        said = []
        if rand.random() < 0.3:
            said.append("one PSN each")
            fault("a several 0")
            fault("b several 0")
        for _ in range(rand.randint(1, 5)):
            words = (rand.choice("abb"), *rand.choice(KINDS))
            words = (*words[:2], rand.randrange(12), words[2])
            fault(*words)
            said.append(" ".join(map(str, words)))
        Requests(link, requests, rand).run(f"seed {seed}: {', '.join(said)}")
    reset()


def again(link):
    """QPs that are reset in the midst of a READ begin anew"""
    link.connect(WRAP, timeout=16)
    reset()
    fault("b", "drop", 1, 1000)
    requests = Requests(link, [(READ, 20 * 4096)], link.rand)
    requests.prepare()
    requests.post()
    limit = time.monotonic() + 5
    while sent()[2] < 2 and time.monotonic() < limit:
        time.sleep(0.0001)
    time.sleep(0.001)
    for end in link.a, link.b:
        end.qp.modify(QPAttr(qp_state=e.IBV_QPS_RESET), e.IBV_QP_STATE)
    reset()
    link.a.connect(link.b, WRAP, 4096, 16)
    link.b.connect(link.a, WRAP, 4096, 16)
    Requests(link, [(ADD, 8), (READ, 20 * 4096)], link.rand).run("after a reset")


def main():
    case = sys.argv[1]
    link = Link(AtomicEnd(*sys.argv[2:4]), AtomicEnd(*sys.argv[4:6]))
    reset()
    {"positions": positions, "chance": chance, "again": again}[case](link)


main()
