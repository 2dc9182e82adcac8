#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Moves data with TCP and with UDP in large batches, and verifies every byte.

  gsocheck.py serve
  gsocheck.py client SEED BYTES SIZE,... ADDRESS...

The server is on all addresses and ends when it is killed. To each of them the
client sends a stream of so many bytes and gets another one. For each SIZE it
then sends batches of datagrams of that size with one system call each
(UDP_SEGMENT), which come back in the same way.
"""

import random
import socket
import struct
import sys
import threading

PORT = 18720
TIMEOUT = 10
UDP_SEGMENT = 103
LARGEST = 65000			# bytes of a batch
MOST = 64			# datagrams of a batch
HEADER = struct.Struct("!IIII")	# batch, bytes of it, size, number


def content(*key, size):
    return random.Random(":".join(map(str, key))).randbytes(size)


def compare(got, want, what):
    if got == want:
        return
    if len(got) != len(want):
        raise ValueError(f"{what}: {len(got)} bytes, not {len(want)}")
    at = next(i for i, (g, w) in enumerate(zip(got, want)) if g != w)
    bad = sum(g != w for g, w in zip(got, want))
    raise ValueError(f"{what}: {bad} bytes are wrong, the first is {at}")


def batch(seed, total, size):
    """A batch in one piece: datagrams that start with a header each."""
    data = bytearray(content(seed, total, size, size=total))
    for i, at in enumerate(range(0, total, size)):
        HEADER.pack_into(data, at, seed, total, size, i)
    return bytes(data)


def send_batch(sock, data, size, peer=()):
    anc = [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("H", size))]
    sock.sendmsg([data], anc if size < len(data) else [], 0, *peer)


class Batches:
    """Datagrams become batches again."""

    def __init__(self):
        self.parts = {}

    def add(self, key, data):
        """Returns the batch if it is complete."""
        seed, total, size, i = HEADER.unpack_from(data)
        parts = self.parts.setdefault((key, seed), {})
        if i in parts:
            raise ValueError(f"batch {seed}: datagram {i} came twice")
        if len(data) != min(size, total - i * size):
            raise ValueError(f"batch {seed} of {total} bytes, datagrams of "
                             f"{size}: number {i} has {len(data)}")
        parts[i] = data
        if len(parts) < -(-total // size):
            return None
        del self.parts[key, seed]
        whole = b"".join(parts[n] for n in sorted(parts))
        compare(whole, batch(seed, total, size),
                f"batch {seed} of {total} bytes, datagrams of {size}")
        return whole, size


def serve_udp(sock):
    batches = Batches()
    while True:
        data, peer = sock.recvfrom(65536)
        try:
            whole = batches.add(peer, data)
        except (ValueError, struct.error) as error:
            # The client gets no answer then, and fails as well.
            print(f"gsocheck: server: {error}", flush=True)
            continue
        if whole:
            send_batch(sock, *whole, (peer,))


def serve_tcp(conn):
    conn.settimeout(TIMEOUT)
    stream = conn.makefile("rb")
    seed, size = stream.read(64).decode().split()
    size = int(size)
    try:
        compare(stream.read(size), content(seed, "out", size=size),
                "stream to the server")
        conn.sendall(content(seed, "back", size=size))
    except (ValueError, OSError) as error:
        print(f"gsocheck: server: {error}", flush=True)
    conn.close()


def serve():
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    udp.bind(("::", PORT))
    threading.Thread(target=serve_udp, args=(udp,), daemon=True).start()
    listener = socket.create_server(("::", PORT), family=socket.AF_INET6,
                                    dualstack_ipv6=True)
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=serve_tcp, args=(conn,), daemon=True).start()


def client_tcp(address, seed, size):
    sock = socket.create_connection((address, PORT), timeout=TIMEOUT)
    sock.sendall(f"{seed} {size}".ljust(64).encode())
    sock.sendall(content(seed, "out", size=size))
    compare(sock.makefile("rb").read(size), content(seed, "back", size=size),
            "stream to the client")


def client_udp(sock, seed, total, size):
    send_batch(sock, batch(seed, total, size), size)
    batches = Batches()
    while True:
        try:
            data = sock.recv(65536)
        except TimeoutError:
            raise ValueError(f"batch of {total} bytes, datagrams of {size}: "
                             "did not come back") from None
        if batches.add(None, data):
            return


def client(address, seed, size, sizes):
    client_tcp(address, seed, size)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.settimeout(TIMEOUT)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.connect((address, PORT))
    number = seed * 1000
    for size in sizes:
        full = min(LARGEST // size, MOST) * size
        for total in {full, full - size + 17, size + 17, 2 * size, size}:
            client_udp(sock, number, total, size)
            number += 1


def main():
    match sys.argv[1:]:
        case ["serve"]:
            serve()
        case ["client", seed, size, sizes, *addresses]:
            sizes = [int(s) for s in sizes.split(",")]
            for i, address in enumerate(addresses):
                try:
                    client(address, int(seed) + i, int(size), sizes)
                except (ValueError, OSError) as error:
                    sys.exit(f"gsocheck: {address}: {error}")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
