#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Traffic for stack.sh.

  stackcheck.py sink ADDRESS
  stackcheck.py stream ADDRESS BYTES
  stackcheck.py datagrams ADDRESS SIZE COUNT PAUSE
  stackcheck.py unread ADDRESS udp|tcp

The sink takes what comes: a line of each TCP connection, with its number of bytes and
how many of them were "N", and one of each datagram above 10000 bytes.

"unread" sends pages with MSG_ZEROCOPY while the ring is held, and then changes them:
their old content is "O", the new one "N". It prints whether the kernel was done with
them before, and whether it says that it has made a copy.
"""

import mmap
import socket
import struct
import sys
import threading
import time

PORT = 18730
SIZE = 60000
SO_ZEROCOPY = 60
MSG_ZEROCOPY = 0x4000000
SO_EE_ORIGIN_ZEROCOPY = 5
SO_EE_CODE_ZEROCOPY_COPIED = 1


def take_stream(conn):
    length = new = 0
    while data := conn.recv(1 << 20):
        length += len(data)
        new += data.count(b"N")
    print("tcp", length, new, flush=True)
    conn.close()


def take_datagrams(sock):
    while data := sock.recv(65536):
        if len(data) > 10000:
            print("udp", len(data), data.count(b"N"), flush=True)


def sink(address):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
    udp.bind((address, PORT))
    threading.Thread(target=take_datagrams, args=(udp,), daemon=True).start()
    listener = socket.create_server((address, PORT))
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=take_stream, args=(conn,), daemon=True).start()


def stream(address, size):
    data = bytes(1 << 20)
    with socket.create_connection((address, PORT)) as conn:
        for at in range(0, size, len(data)):
            conn.sendall(data[:size - at])
        conn.shutdown(socket.SHUT_WR)
        conn.recv(1)


def datagrams(address, size, count, pause):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, 32, 64 << 20)  # SO_SNDBUFFORCE
    sock.connect((address, PORT))
    for _ in range(count):
        sock.send(bytes(size))
        if pause:
            time.sleep(pause)


def completion(sock):
    """None, or whether the kernel has copied after all"""
    try:
        _, control, _, _ = sock.recvmsg(0, 256, socket.MSG_ERRQUEUE)
    except BlockingIOError:
        return None
    _, origin, _, code = struct.unpack_from("=IBBB", control[0][2])
    assert origin == SO_EE_ORIGIN_ZEROCOPY
    return code == SO_EE_CODE_ZEROCOPY_COPIED


def unread(address, kind):
    pages = mmap.mmap(-1, SIZE)
    pages[:] = b"O" * SIZE
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp"
                         else socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
    sock.connect((address, PORT))
    sock.setblocking(False)
    sent = sock.send(pages, MSG_ZEROCOPY)
    time.sleep(0.02)
    early = completion(sock) is not None
    pages[:] = b"N" * SIZE
    time.sleep(0.5)
    copied = completion(sock)
    print("sent", sent, "early", early, "copied", copied)
    sock.close()


def main():
    what, address, *args = sys.argv[1:]
    if what == "sink":
        sink(address)
    elif what == "stream":
        stream(address, int(args[0]))
    elif what == "datagrams":
        datagrams(address, int(args[0]), int(args[1]), float(args[2]))
    else:
        unread(address, args[0])


main()
