#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Looks at the packets that tcpdump has written to a file.

  pktcheck.py count FILE
  pktcheck.py largest FILE
  pktcheck.py verify FILE MTU

"count" prints the number of packets, of their bytes and of those in the
largest; "largest" the last of these for each kind that "verify" counts: tcp4,
udp6, vxlan. These need only the headers. "verify" demands that none is longer than the MTU allows and that all
lengths and checksums are right, in tunnels and VLANs too.
"""

import struct
import sys
from collections import Counter

ETH_IP, ETH_IP6, ETH_TEB = 0x0800, 0x86dd, 0x6558
ETH_VLAN, ETH_QINQ = 0x8100, 0x88a8
ICMP, IPIP, TCP, UDP, IP6, GRE, ICMP6 = 1, 4, 6, 17, 41, 47, 58
PORT_VXLAN, PORT_GENEVE = 4789, 6081


class Bad(Exception):
    """What is wrong with a packet"""


def packets(path):
    with open(path, "rb") as file:
        head = file.read(24)
        if len(head) < 24 or head[:4] != b"\xd4\xc3\xb2\xa1":
            sys.exit(f"pktcheck: {path} is not a capture")
        while head := file.read(16):
            _, _, size, length = struct.unpack("<IIII", head)
            yield file.read(size), length


def csum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return total


def want(condition, text):
    if not condition:
        raise Bad(text)


class Checker:
    """Verifies one packet after the other, and counts what there was."""

    def __init__(self, mtu):
        self.mtu = mtu
        self.seen = Counter()

    def ethernet(self, data):
        at = 12
        kind, = struct.unpack_from("!H", data, at)
        while kind in (ETH_VLAN, ETH_QINQ):
            at += 4
            kind, = struct.unpack_from("!H", data, at)
            self.seen["vlan"] += 1
        self.by_type(kind, data[at + 2:])

    def by_type(self, kind, data):
        if kind == ETH_IP:
            self.ip4(data)
        elif kind == ETH_IP6:
            self.ip6(data)
        elif kind == ETH_TEB:
            self.ethernet(data)

    def ip4(self, data):
        header = (data[0] & 15) * 4
        length, _, frag = struct.unpack_from("!HHH", data, 2)
        want(header >= 20 and header <= length <= len(data), "IP length")
        want(csum(data[:header]) == 0xffff, "IP checksum")
        if frag & 0x3fff:
            self.seen["fragment"] += 1
            return
        body = data[header:length]
        pseudo = data[12:20] + struct.pack("!HH", data[9], len(body))
        self.transport(data[9], body, pseudo, 4)

    def ip6(self, data):
        length, kind = struct.unpack_from("!HB", data, 4)
        want(40 + length <= len(data), "IPv6 length")
        body = data[40:40 + length]
        while kind in (0, 60):		# options
            size = (body[1] + 1) * 8
            kind, body = body[0], body[size:]
        if kind == 44:
            self.seen["fragment"] += 1
            return
        pseudo = data[8:40] + struct.pack("!II", len(body), kind)
        self.transport(kind, body, pseudo, 6)

    def transport(self, kind, body, pseudo, version):
        if kind == TCP:
            want(csum(pseudo + body) == 0xffff, f"TCP checksum, IPv{version}")
            self.seen[f"tcp{version}"] += 1
        elif kind == UDP:
            self.udp(body, pseudo, version)
        elif kind in (ICMP, ICMP6):
            start = pseudo if kind == ICMP6 else b""
            want(csum(start + body) == 0xffff, f"ICMP checksum, IPv{version}")
        elif kind in (IPIP, IP6):
            self.seen["ipip" if kind == IPIP else "sit"] += 1
            self.by_type(ETH_IP if kind == IPIP else ETH_IP6, body)
        elif kind == GRE:
            self.gre(body)

    def udp(self, body, pseudo, version):
        _, port, length, sum_ = struct.unpack_from("!HHHH", body)
        tunnel = port in (PORT_VXLAN, PORT_GENEVE)
        want(length == len(body), "UDP length")
        # only tunnels may do without
        want(sum_ or tunnel, f"no UDP checksum, IPv{version}")
        want(not sum_ or csum(pseudo + body) == 0xffff,
             f"UDP checksum, IPv{version}, {length} bytes")
        if port == PORT_VXLAN:
            self.seen["vxlan"] += 1
            self.ethernet(body[16:])
        elif port == PORT_GENEVE:
            self.seen["geneve"] += 1
            self.ethernet(body[16 + (body[8] & 63) * 4:])
        else:
            self.seen[f"udp{version}"] += 1

    def gre(self, body):
        flags, kind = struct.unpack_from("!HH", body)
        at = 4
        if flags & 0x8000:
            want(csum(body) == 0xffff, "GRE checksum")
            at += 4
        at += 4 * bool(flags & 0x2000) + 4 * bool(flags & 0x1000)
        self.seen["gre"] += 1
        self.by_type(kind, body[at:])

    def packet(self, number, data, length):
        try:
            want(len(data) == length, "captured in part")
            want(length <= self.mtu + 14, f"{length} bytes")
            self.ethernet(data)
        except (Bad, struct.error, IndexError) as error:
            print(f"packet {number}: {error}: {data[:100].hex()}")
            return False
        return True


def verify(path, mtu):
    checker = Checker(mtu)
    all_ok = number = 0
    for number, (data, length) in enumerate(packets(path), 1):
        ok = checker.packet(number, data, length)
        all_ok += ok
        if not ok and number - all_ok > 5:
            sys.exit("pktcheck: and so on")
    kinds = " ".join(f"{k}:{n}" for k, n in sorted(checker.seen.items()))
    print(f"pktcheck: {number} packets, {all_ok} good, {kinds}")
    if all_ok != number:
        sys.exit(1)


def kind_of(data):
    """Kind of the outermost header that has one."""
    at = 12
    while (kind := struct.unpack_from("!H", data, at)[0]) in (ETH_VLAN,
                                                              ETH_QINQ):
        at += 4
    at += 2
    if kind == ETH_IP:
        version, proto, at = 4, data[at + 9], at + (data[at] & 15) * 4
    elif kind == ETH_IP6:
        version, proto, at = 6, data[at + 6], at + 40
        while proto in (0, 60):
            proto, at = data[at], at + (data[at + 1] + 1) * 8
    else:
        return ""
    if proto == UDP:
        port, = struct.unpack_from("!H", data, at + 2)
        tunnel = {PORT_VXLAN: "vxlan", PORT_GENEVE: "geneve"}
        return tunnel.get(port, f"udp{version}")
    names = {TCP: f"tcp{version}", GRE: "gre", IPIP: "ipip", IP6: "sit"}
    return names.get(proto, "")


def largest(path):
    lengths = {}
    for data, length in packets(path):
        kind = kind_of(data)
        lengths[kind] = max(length, lengths.get(kind, 0))
    print(*(f"{kind}:{length}" for kind, length in lengths.items() if kind))


def count(path):
    lengths = [length for _, length in packets(path)]
    print(len(lengths), sum(lengths), max(lengths, default=0))


def main():
    match sys.argv[1:]:
        case ["count", path]:
            count(path)
        case ["largest", path]:
            largest(path)
        case ["verify", path, mtu]:
            verify(path, int(mtu))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
