#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Datagrams of one size, one every MS milliseconds, from here to the namespace "b".

  alike.py ADDRESS SIZE COUNT MS

Prints the numbers of those that have arrived there. The exit status is 1 if something
arrives that was not sent.
"""

import os
import socket
import sys
import threading
import time

PORT = 9003


def bound(address):
    """A socket in the namespace "b" """
    socks = []

    def bind():
        with open("/run/netns/b", "rb") as ns:
            os.setns(ns.fileno(), os.CLONE_NEWNET)
        socks.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        socks[0].bind((address, PORT))
        socks[0].setblocking(False)

    thread = threading.Thread(target=bind)
    thread.start()
    thread.join()
    return socks[0]


def main():
    address, size, count, pause = sys.argv[1], *map(int, sys.argv[2:])
    to = bound(address)
    sent = [os.urandom(size) for _ in range(count)]
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for data in sent:
        out.sendto(data, (address, PORT))
        time.sleep(pause / 1000)
    time.sleep(0.1)
    got = []
    try:
        while True:
            got.append(to.recv(65536))
    except BlockingIOError:
        pass
    if any(data not in sent for data in got):
        sys.exit("what has arrived was not sent")
    print(*(sent.index(data) for data in got))


main()
