#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Writes to a block device, reads it back and verifies every byte.

	blockcheck.py DEVICE fill SEED		its first half, in pieces of all sizes
	blockcheck.py DEVICE verify SEED	what "fill" has written is there
	blockcheck.py DEVICE load SEED [SECONDS]	both, in the second half, from
						four threads, until an error or the end

What is written depends on the seed and the place. Past the page cache. The exit
status is 0, 1 if the device has reported an error, 3 if the data is wrong.
"""
import hashlib
import mmap
import os
import random
import sys
import threading
import time

BLOCK = 4096
LARGEST = 1 << 20
THREADS = 4


class Device:
    """The device, and what has gone wrong with it"""

    def __init__(self, path, seed):
        self.fd = os.open(path, os.O_RDWR | os.O_DIRECT)
        self.blocks = os.lseek(self.fd, 0, os.SEEK_END) // BLOCK
        self.seed = seed
        self.error = self.wrong = None
        self.bytes = 0

    def content(self, block, version):
        key = f"{self.seed} {block} {version}".encode()
        return hashlib.shake_128(key).digest(64) * (BLOCK // 64)

    def write(self, buf, block, count, version):
        for i in range(count):
            buf[i * BLOCK:(i + 1) * BLOCK] = self.content(block + i, version)
        view = memoryview(buf)[:count * BLOCK]
        if os.pwritev(self.fd, [view], block * BLOCK) != len(view):
            raise OSError(f"a short write at {block}")
        self.bytes += len(view)

    def check(self, buf, block, count, version):
        view = memoryview(buf)[:count * BLOCK]
        buf[:count * BLOCK] = bytes(count * BLOCK)
        if os.preadv(self.fd, [view], block * BLOCK) != len(view):
            raise OSError(f"a short read at {block}")
        self.bytes += len(view)
        for i in range(count):
            if view[i * BLOCK:(i + 1) * BLOCK] != self.content(block + i, version):
                self.wrong = f"block {block + i} of version {version}"
                return

    def pieces(self):
        """The first half, in pieces of all sizes"""
        rand, block, end = random.Random(self.seed), 0, self.blocks // 2
        while block < end:
            count = min(rand.choice((1, 2, 3, 7, 16, 31, 64, 255, 256)), end - block)
            yield block, count
            block += count

    def load(self, n, end):
        """A part of the second half is one thread's"""
        rand, buf = random.Random(self.seed * THREADS + n), mmap.mmap(-1, LARGEST)
        size = self.blocks // 2 // THREADS
        first = self.blocks // 2 + n * size
        version = 1
        try:
            while time.monotonic() < end and not self.wrong:
                count = min(rand.choice((1, 1, 1, 4, 16, 61, 256)), size)
                block = first + rand.randrange(size - count + 1)
                self.write(buf, block, count, version)
                self.check(buf, block, count, version)
                version += 1
        except OSError as err:
            self.error = err


def main(path, what, seed, seconds="3600"):
    dev = Device(path, int(seed))
    try:
        if what == "load":
            end = time.monotonic() + float(seconds)
            threads = [threading.Thread(target=dev.load, args=(n, end))
                       for n in range(THREADS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        else:
            buf = mmap.mmap(-1, LARGEST)
            for block, count in dev.pieces():
                (dev.write if what == "fill" else dev.check)(buf, block, count, 0)
    except OSError as err:
        dev.error = err
    print(f"{what}: {dev.bytes} bytes, error: {dev.error}, wrong: {dev.wrong}")
    return 3 if dev.wrong else 1 if dev.error else 0


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[2] not in ("fill", "verify", "load"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
