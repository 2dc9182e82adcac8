#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""One flow of small and large pieces: do they arrive in the order they were sent?

  order.py serve ADDRESS
  order.py client ADDRESS COUNT

COUNT numbered datagrams of changing sizes from one socket, and a stream that is
written in pieces of such sizes, as fast as they go, with a pause now and then.
Fails if a datagram arrives after one that was sent later. For the stream the
kernel's counters tell.
"""

import random
import socket
import sys
import threading
import time

PORT = 18710
TIMEOUT = 20
PAUSE = 0.05
SO_RCVBUFFORCE = 33  # Python does not know it
SIZES = (20, 200, 1500, 1900, 3000, 20000, 60000)


class Order(threading.Thread):
    """Receives datagrams until there is one without a number."""

    def __init__(self, address):
        super().__init__()
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
        self.sock.bind((address, PORT))
        self.sock.settimeout(TIMEOUT)
        self.seen = 0
        self.late = 0

    def run(self):
        last = -1
        while data := self.sock.recv(65536)[:8]:
            number = int.from_bytes(data, "big")
            self.seen += 1
            self.late += number < last
            last = max(last, number)


def serve(address):
    order = Order(address)
    listener = socket.create_server((address, PORT))
    order.start()
    conn, _ = listener.accept()
    conn.settimeout(TIMEOUT)
    while conn.recv(1 << 16):
        pass
    order.join()
    conn.sendall(f"{order.seen} {order.late}".encode())


def client(address, count):
    sizes = random.Random(count)
    stream = socket.create_connection((address, PORT), TIMEOUT)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.connect((address, PORT))
    for number in range(count):
        size = sizes.choice(SIZES)
        udp.send(number.to_bytes(8, "big") + bytes(size - 8))
        stream.sendall(bytes(sizes.choice(SIZES)))
        if sizes.random() < 0.3:
            time.sleep(PAUSE)
    udp.send(b"")
    stream.shutdown(socket.SHUT_WR)
    seen, late = map(int, stream.recv(100).split())
    print(f"{count} sent, {seen} received, {late} of them late")
    if seen != count or late:
        sys.exit("order: that is not the order")


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    client(sys.argv[2], int(sys.argv[3]))
