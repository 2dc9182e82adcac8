#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Moves data with UDP and TCP and verifies every byte.

  netcheck.py serve ADDRESS
  netcheck.py client ADDRESS SEED BYTES SIZE...
  netcheck.py pump-serve ADDRESS
  netcheck.py pump ADDRESS SIZE [COUNT]

The client sends datagrams of the sizes given, which come back, and then a
stream of so many bytes, for which it gets another one.

The pump sends a block of that size every few milliseconds, which comes back, and
prints how many have, until there were COUNT or it gets SIGTERM.

The content depends on seed, size, direction and position, so that pieces
that are lost, swapped, stale or doubled do not go unnoticed.
"""

import random
import signal
import socket
import sys
import threading
import time

PORT = 18700
TIMEOUT = 10
PUMP_PORT = 18701
PUMP_TIMEOUT = 30
PUMP_PAUSE = 0.05


def content(*key, size):
    return random.Random(":".join(map(str, key))).randbytes(size)


def compare(got, want, what):
    if got == want:
        return
    if len(got) != len(want):
        sys.exit(f"netcheck: {what}: {len(got)} bytes, not {len(want)}")
    at = next(i for i, (g, w) in enumerate(zip(got, want)) if g != w)
    bad = sum(g != w for g, w in zip(got, want))
    sys.exit(f"netcheck: {what}: {bad} bytes are wrong, the first is {at}")


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def serve_udp(sock):
    while True:
        data, peer = sock.recvfrom(65536)
        sock.sendto(data, peer)


def serve(address):
    """Echoes datagrams for ever, ends after one stream."""
    udp = socket.socket(family(address), socket.SOCK_DGRAM)
    udp.bind((address, PORT))
    threading.Thread(target=serve_udp, args=(udp,), daemon=True).start()
    listener = socket.socket(family(address), socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, PORT))
    listener.listen()
    conn, _ = listener.accept()
    conn.settimeout(TIMEOUT)
    stream = conn.makefile("rb")
    seed, size = stream.read(64).decode().split()
    size = int(size)
    compare(stream.read(size), content(seed, "out", size=size),
            "stream to the server")
    conn.sendall(content(seed, "back", size=size))
    conn.shutdown(socket.SHUT_WR)


def client_udp(address, seed, sizes):
    sock = socket.socket(family(address), socket.SOCK_DGRAM)
    sock.settimeout(TIMEOUT)
    sock.connect((address, PORT))
    for size in map(int, sizes):
        data = content(seed, size, size=size)
        sock.send(data)
        try:
            back = sock.recv(65536)
        except TimeoutError:
            sys.exit(f"netcheck: a datagram of {size} bytes did not return")
        compare(back, data, f"datagram of {size} bytes")
    print(f"netcheck: {len(sizes)} datagrams returned")


def client_tcp(address, seed, size):
    size = int(size)
    sock = socket.create_connection((address, PORT), timeout=TIMEOUT)
    sock.sendall(f"{seed} {size}".ljust(64).encode())
    sock.sendall(content(seed, "out", size=size))
    compare(sock.makefile("rb").read(size), content(seed, "back", size=size),
            "stream to the client")
    print(f"netcheck: {size} bytes each way")


def pump_serve(address):
    listener = socket.socket(family(address), socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, PUMP_PORT))
    listener.listen()
    conn, _ = listener.accept()
    while data := conn.recv(65536):
        conn.sendall(data)


def pump(address, size, count):
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    blocks = [content("pump", i, size=size) for i in range(7)]
    sock = socket.create_connection((address, PUMP_PORT), timeout=PUMP_TIMEOUT)
    stream = sock.makefile("rb")
    n = 0
    while n != count and not stop.is_set():
        block = blocks[n % len(blocks)]
        sock.sendall(block)
        compare(stream.read(size), block, f"block {n}")
        n += 1
        print(n, flush=True)
        time.sleep(PUMP_PAUSE)


def main():
    match sys.argv[1:]:
        case ["serve", address]:
            serve(address)
        case ["client", address, seed, size, *sizes]:
            client_udp(address, seed, sizes)
            client_tcp(address, seed, size)
        case ["pump-serve", address]:
            pump_serve(address)
        case ["pump", address, size]:
            pump(address, int(size), -1)
        case ["pump", address, size, count]:
            pump(address, int(size), int(count))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
