#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Sends datagrams, and throws away those that come.

  blast.py OWN_ADDRESS PEER_ADDRESS SECONDS RATE SIZE [NUMBER]

Datagrams of SIZE bytes at RATE bytes a second, a bunch every 5 ms, for so many
seconds. With RATE 0, as many as were sent in a second at 50 MB/s, as fast as
the socket takes them. Never polls, so that it runs where code takes no time.
Several with different NUMBERs do not disturb each other.
"""

import socket
import sys
import threading
import time

PORT = 9001
STEP = 0.005


def receive(sock):
    while True:
        sock.recv(65536)


def main():
    own, peer, seconds, rate, size, *number = sys.argv[1:]
    port = PORT + sum(map(int, number))
    size, rate, end = int(size), int(rate), time.monotonic() + float(seconds)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((own, port))
    threading.Thread(target=receive, args=(sock,), daemon=True).start()
    data = bytes(size)
    if not rate:
        for _ in range(int(50e6 * float(seconds)) // size):
            sock.sendto(data, (peer, port))
    while rate and time.monotonic() < end:
        for _ in range(max(1, int(rate * STEP) // size)):
            sock.sendto(data, (peer, port))
        time.sleep(STEP)


main()
