#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Keeps TCP connections busy for a while, at a steady pace, and verifies what
comes back.

  steady.py serve ADDRESS CONNECTIONS
  steady.py client ADDRESS CONNECTIONS SECONDS

Every 20 ms the client sends 32 KiB on each connection and waits for it to return.
It prints the number of rounds and how long the slowest took.
"""

import random
import socket
import sys
import threading
import time

PORT = 18710
SIZE = 32768
PACE = 0.02
TIMEOUT = 20


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def echo(conn):
    while data := conn.recv(SIZE):
        conn.sendall(data)


def serve(address, count):
    listener = socket.socket(family(address), socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, PORT))
    listener.listen()
    threads = []
    for _ in range(int(count)):
        conn, _ = listener.accept()
        threads.append(threading.Thread(target=echo, args=(conn,)))
        threads[-1].start()
    for thread in threads:
        thread.join()


def round_trip(socks, number):
    sent = [random.Random(f"{number}:{i}").randbytes(SIZE)
            for i in range(len(socks))]
    for sock, data in zip(socks, sent):
        sock.sendall(data)
    for sock, data in zip(socks, sent):
        if sock.recv(SIZE, socket.MSG_WAITALL) != data:
            sys.exit(f"steady: round {number}: wrong data")


def client(address, count, seconds):
    socks = [socket.create_connection((address, PORT), timeout=TIMEOUT)
             for _ in range(int(count))]
    for sock in socks:
        # MSG_WAITALL needs a socket that blocks
        sock.settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT,
                        TIMEOUT * 1000)
    slowest, rounds, end = 0, 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        start = time.monotonic()
        round_trip(socks, rounds)
        slowest = max(slowest, time.monotonic() - start)
        rounds += 1
        time.sleep(PACE)
    print(f"steady: {rounds} rounds, slowest {slowest * 1000:.0f} ms")


def main():
    match sys.argv[1:]:
        case ["serve", address, count]:
            serve(address, count)
        case ["client", address, count, seconds]:
            client(address, count, seconds)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
