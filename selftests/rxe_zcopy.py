#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What is sent without a copy is not given back too early, for rxe-zcopy.sh.

	rxe_zcopy.py CASE A_RXE A_GID A_IP B_RXE B_GID B_IP

Both ends are in this process, as in rxe_provoke.py. The emulator holds A's
transmit ring, so that what it has been given is still to be read. The exit status
is 0 if all is as it should be.
"""
import os
import subprocess
import sys
import time

import pyverbs.enums as e
from pyverbs.qp import QPAttr
from pyverbs.wr import SGE, SendWR

from rxe_provoke import PSN, End, connected, raw

SIZE = 65536
MTU = 4096
HOLD = 0.3		# seconds that A's ring is held
RESET = 6.0		# within this a ring that has stopped is reset
HEAD_ONLY, BODY_EVEN = 3, 4	# tags of frames
ACK, ACK_OK = 0x11, b"\x1f\0\0\0"


def fault(*words):
    ctl = os.environ.get("EMU_CTL", "/dev/usb4emu")
    subprocess.run(["/usb4net/bin/usb4emu-ctl", "-s", ctl, "fault",
                    *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def hold(router=0):
    """The next large packet of A waits, and what is behind it"""
    fault("delay", "router", router, "eof", BODY_EVEN, "us", int(HOLD * 1e6), "count", 1)


def stop():
    """The ring never goes on"""
    fault("stall", "router", 0, "count", 1)


def wait_for(what, cond, seconds=5.0):
    end = time.monotonic() + seconds
    while not cond():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {seconds} s")
        time.sleep(0.0005)


class Sent:
    """Counts the packets that an end sends without a copy"""

    def __init__(self, end):
        self.end, self.start = end, end.counter("link_sent_zcopy")

    def count(self):
        return self.end.counter("link_sent_zcopy") - self.start

    def wait(self, n=1):
        wait_for("nothing is sent without a copy", lambda: self.count() >= n)


def between(least, most, start, what):
    took = time.monotonic() - start
    print(f"{what}: {took * 1000:.1f} ms")
    if not least <= took <= most:
        sys.exit(f"{what}: {took:.3f} s, should be {least} to {most}")


def pattern(n, seed=1):
    return bytes((i * 7 + i // 251 + seed) & 0xff for i in range(n))


def text(data):
    """pyverbs writes what str() makes of it"""
    return data.decode("latin-1")


def same(end, want, what):
    if bytes(end.mr.read(len(want), 0)) != want:
        sys.exit(f"{what}: not what was sent")


def posted(a, b, length=SIZE):
    """A sends a message that the ring holds"""
    sent = Sent(a)
    b.recv(SIZE)
    a.post(length=length)
    sent.wait()


def used(a, b):
    """SEND, WRITE and READ, from where the data is, if it is enough of it"""
    connected(a, b, mtu=e.IBV_MTU_4096)
    for op, data in ((e.IBV_WR_SEND, a), (e.IBV_WR_RDMA_WRITE, a), (e.IBV_WR_RDMA_READ, b)):
        for length, some in ((1024, False), (4096, True), (SIZE, True), (4099, True)):
            sent = Sent(data)
            if op == e.IBV_WR_SEND:
                b.recv(SIZE)
            a.post(opcode=op, length=length, remote=None if op == e.IBV_WR_SEND else b)
            a.expect(e.IBV_WC_SUCCESS, f"opcode {op}, {length} bytes")
            if op == e.IBV_WR_SEND:
                b.expect(e.IBV_WC_SUCCESS, "receive")
            time.sleep(0.01)	# it is counted after it has been sent
            if bool(sent.count()) != some:
                sys.exit(f"opcode {op}, {length} bytes: {sent.count()} without a copy")


def pieces(a, b):
    """Messages that are gathered from pieces of all kinds"""
    connected(a, b, mtu=e.IBV_MTU_4096)
    data = os.urandom(SIZE)
    a.mr.write(data, SIZE)
    for parts in ([(1, 5000), (9003, 4096), (20001, 3)],
                  [(8192 * i, 4096) for i in range(8)],
                  [(4096 * i + 5, 300) for i in range(16)],
                  [(4095, 2), (12287, 4098), (1, 4091)],
                  [(3, SIZE - 3)], [(7, 0), (4000, 20000), (0, 1)]):
        wr = SendWR(1, num_sge=len(parts),
                    sg=[SGE(a.mr.buf + at, n, a.mr.lkey) for at, n in parts])
        b.recv(SIZE)
        a.qp.post_send(wr)
        a.expect(e.IBV_WC_SUCCESS, f"send {parts}")
        b.expect(e.IBV_WC_SUCCESS, f"receive {parts}")
        same(b, b"".join(data[at:at + n] for at, n in parts), parts)


def early(a, b):
    """An acknowledgment that comes too early does not complete a request"""
    connected(a, b, timeout=20, mtu=e.IBV_MTU_4096)
    # that it is accepted at all: of a message that is lost
    fault("drop", "router", 0, "eof", HEAD_ONLY, "count", 1)
    a.post(length=64)
    time.sleep(0.01)
    start = time.monotonic()
    raw(b, a, ACK, PSN, ACK_OK)
    a.expect(e.IBV_WC_SUCCESS, "a small message")
    between(0, HOLD / 2, start, "a forged acknowledgment of what was copied")

    b.qp.close()	# it would not be what B expects
    hold()
    start = time.monotonic()
    a.mr.write(os.urandom(SIZE), SIZE)
    sent = Sent(a)
    a.post(length=SIZE)
    sent.wait()
    raw(b, a, ACK, PSN + SIZE // MTU, ACK_OK)
    a.expect(e.IBV_WC_SUCCESS, "a large message")
    between(HOLD * 0.9, HOLD + 1, start, "and of what the ring is to read")


def modify(a, state):
    a.qp.modify(QPAttr(qp_state=state), e.IBV_QP_STATE)


def flush(a, b):
    """A request is not flushed, nor a receive, before its packets are sent"""
    connected(a, b, timeout=20, mtu=e.IBV_MTU_4096)
    hold()
    start = time.monotonic()
    a.recv()
    posted(a, b)
    modify(a, e.IBV_QPS_ERR)
    for _ in range(2):
        a.expect(e.IBV_WC_WR_FLUSH_ERR, "flush")
        between(HOLD * 0.9, HOLD + 1, start, "flushed")


def reset(a, b):
    """Nor is a QP reset"""
    connected(a, b, timeout=20, mtu=e.IBV_MTU_4096)
    hold()
    start = time.monotonic()
    posted(a, b)
    modify(a, e.IBV_QPS_RESET)
    between(HOLD * 0.9, HOLD + 1, start, "reset")


def nak(a, b):
    """Nor does an error complete it"""
    connected(a, b, timeout=20, mtu=e.IBV_MTU_4096)
    hold()
    start = time.monotonic()
    posted(a, b)
    raw(b, a, ACK, PSN, b"\x62\0\0\0")
    a.expect(e.IBV_WC_REM_ACCESS_ERR, "a NAK")
    between(HOLD * 0.9, HOLD + 1, start, "a forged NAK")


def dereg(a, b):
    """Memory that READ responses come from is not deregistered"""
    connected(a, b, timeout=20, mtu=e.IBV_MTU_4096)
    hold()
    start = time.monotonic()
    sent = Sent(a)
    b.post(opcode=e.IBV_WR_RDMA_READ, remote=a, length=SIZE)
    sent.wait()
    a.mr.close()
    between(HOLD * 0.9, HOLD + 1, start, "deregistered")


def uc(a, b):
    """UC messages of more than one packet, which complete when they have been sent"""
    connected(a, b, mtu=e.IBV_MTU_4096)
    for op in (e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE):
        for length, some in ((MTU, False), (MTU + 1, True), (SIZE, True)):
            data = os.urandom(length)
            a.mr.write(data, length)
            sent = Sent(a)
            if op == e.IBV_WR_SEND:
                b.recv(SIZE)
            a.post(opcode=op, length=length, remote=None if op == e.IBV_WR_SEND else b)
            a.expect(e.IBV_WC_SUCCESS, f"opcode {op}, {length} bytes")
            if op == e.IBV_WR_SEND:
                b.expect(e.IBV_WC_SUCCESS, "receive")
            time.sleep(0.01)
            same(b, data, f"opcode {op}, {length} bytes")
            if bool(sent.count()) != some:
                sys.exit(f"opcode {op}, {length} bytes: {sent.count()} without a copy")
    hold()
    start = time.monotonic()
    b.recv(SIZE)
    a.post(length=SIZE)
    a.expect(e.IBV_WC_SUCCESS, "a message that the ring holds")
    between(HOLD * 0.9, HOLD + 1, start, "completed")


def uc_lossy(a, b):
    """Of UC messages that lose frames whole ones arrive or nothing"""
    connected(a, b, mtu=e.IBV_MTU_4096)
    came, got = 0, True
    for i in range(100):
        data = bytes([i]) * SIZE
        b.mr.write(bytes(SIZE), SIZE)
        a.mr.write(data, SIZE)
        if got:
            b.recv(SIZE)
        a.post(length=SIZE)
        a.expect(e.IBV_WC_SUCCESS, f"message {i}")
        time.sleep(0.005)
        got, wcs = b.cq.poll(1)
        if got:
            if wcs[0].status != e.IBV_WC_SUCCESS:
                sys.exit(f"message {i}: status {wcs[0].status}")
            same(b, data, f"message {i}")
            came += 1
    print(f"{came} of 100 messages came")
    if not 0 < came < 100:
        sys.exit("all of them or none")


def stopped(a, b):
    """With a ring that stops for ever all that takes a bounded time"""
    connected(a, b, timeout=20, mtu=e.IBV_MTU_4096)
    stop()
    sent = Sent(a)
    b.post(opcode=e.IBV_WR_RDMA_READ, remote=a, length=SIZE)
    sent.wait()
    start = time.monotonic()
    a.post(length=SIZE)
    modify(a, e.IBV_QPS_ERR)
    a.expect(e.IBV_WC_WR_FLUSH_ERR, "flush")
    between(HOLD, RESET, start, "flushed")
    start = time.monotonic()
    a.qp.close()
    a.mr.close()
    between(0, RESET, start, "destroyed")


def stopped_destroy(a, b):
    """And so does it to destroy everything at once"""
    connected(a, b, timeout=20, mtu=e.IBV_MTU_4096)
    stop()
    posted(a, b)
    start = time.monotonic()
    a.qp.close()
    a.mr.close()
    between(HOLD, RESET, start, "destroyed")


def in_error(a, b):
    """Packets with pages of the ring for a QP in error: a response, and requests"""
    connected(a, b, timeout=16, retry=1, mtu=e.IBV_MTU_4096)
    hold(1)
    sent = Sent(b)
    a.post(opcode=e.IBV_WR_RDMA_READ, remote=b, length=SIZE)
    sent.wait()
    modify(a, e.IBV_QPS_ERR)
    a.expect(e.IBV_WC_WR_FLUSH_ERR, "READ")
    b.post(opcode=e.IBV_WR_RDMA_WRITE, remote=a, length=SIZE)
    b.expect(e.IBV_WC_RETRY_EXC_ERR, "WRITE")


CASES = {f.__name__: f for f in (used, pieces, early, flush, reset, nak, dereg, uc,
                                 uc_lossy, in_error, stopped, stopped_destroy)}

if __name__ == "__main__":
    if len(sys.argv) != 8 or sys.argv[1] not in CASES:
        sys.exit(__doc__)
    TYPE = e.IBV_QPT_UC if sys.argv[1].startswith("uc") else e.IBV_QPT_RC
    try:
        CASES[sys.argv[1]](End(*sys.argv[2:5], sges=16, qp_type=TYPE),
                           End(*sys.argv[5:8], qp_type=TYPE))
    finally:
        fault("off")
