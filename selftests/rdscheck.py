#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Messages over RDS, there and back, every byte verified.

	rdscheck.py serve ADDRESS
	rdscheck.py client ADDRESS PEER COUNT|load

The server sends back what it gets, turned round. "load" goes on until it is killed,
and gives up what is not answered within 10 seconds, as when a cable is out.
The exit status is 0 if all is as it was sent.
"""
import os
import random
import socket
import sys
import time

SNDBUFFORCE, RCVBUFFORCE = 32, 33
PORT = 18900
SIZES = (1, 63, 64, 4095, 4096, 4097, 65536, 250000)


def open_socket(address, port):
    s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET, 0)
    for option in SNDBUFFORCE, RCVBUFFORCE:
        s.setsockopt(socket.SOL_SOCKET, option, 4 << 20)
    s.bind((address, port))
    return s


def serve(address):
    s = open_socket(address, PORT)
    print("ready", flush=True)
    while True:
        data, peer = s.recvfrom(1 << 20)
        s.sendto(data[::-1], peer)


def exchange(s, peer, data, given_up):
    s.sendto(data, (peer, PORT))
    while True:
        got, _ = s.recvfrom(1 << 20)
        if got == data[::-1]:
            return
        if got not in given_up:
            sys.exit(f"{len(got)} bytes that were not sent, for {len(data)}")


def client(address, peer, count):
    s = open_socket(address, 0)
    rand = random.Random(1)
    s.settimeout(10)
    n, given_up = 0, []
    while count == "load" or n < int(count):
        data = os.urandom(8) + rand.randbytes(rand.choice(SIZES))
        try:
            exchange(s, peer, data, given_up)
        except OSError as err:
            if count != "load":
                raise
            print(err, flush=True)
            given_up.append(data[::-1])
            time.sleep(0.1)
            continue
        n += 1
    print(f"{n} messages there and back")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"] and len(sys.argv) == 3:
        serve(sys.argv[2])
    elif sys.argv[1:2] == ["client"] and len(sys.argv) == 5:
        client(*sys.argv[2:])
    else:
        sys.exit(__doc__)
