#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Loads a small XDP program and pins it, for "ip link set ... xdpgeneric pinned".

  xdpprog.py FILE ACTION [IFINDEX]

The program passes everything but ICMP, to which it does ACTION: pass, drop, tx
or redirect to the interface IFINDEX.
"""

import ctypes
import os
import struct
import sys

BPF_PROG_LOAD, BPF_OBJ_PIN = 5, 6
BPF_PROG_TYPE_XDP = 6
ACTIONS = {"drop": 1, "pass": 2, "tx": 3}
XDP_PASS = 2
BPF_FUNC_REDIRECT = 23
SYS_BPF = 321		# x86-64, the only machine of the test beds


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", code, src << 4 | dst, off, imm)


def program(action, ifindex):
    """if (ICMP in IPv4 in Ethernet) action; else pass"""
    end = [insn(0xb7, 0, imm=ACTIONS[action])] if action in ACTIONS else [
        insn(0xb7, 1, imm=ifindex),             # r1 = ifindex
        insn(0xb7, 2, imm=0),                   # r2 = 0
        insn(0x85, imm=BPF_FUNC_REDIRECT),      # r0 = bpf_redirect(r1, r2)
    ]
    end.append(insn(0x95))                      # exit
    out = len(end)                              # from the test to "pass"
    return b"".join([
        insn(0x61, 2, 1, 0),                    # r2 = data
        insn(0x61, 3, 1, 4),                    # r3 = data_end
        insn(0xbf, 4, 2),                       # r4 = r2
        insn(0x07, 4, imm=34),                  # r4 += both headers
        insn(0x2d, 4, 3, 4 + out),              # if r4 > r3 goto pass
        insn(0x69, 5, 2, 12),                   # r5 = h_proto
        insn(0x55, 5, off=2 + out, imm=0x0008),  # if != IPv4 goto pass
        insn(0x71, 5, 2, 23),                   # r5 = protocol
        insn(0x55, 5, off=out, imm=1),          # if != ICMP goto pass
        *end,
        insn(0xb7, 0, imm=XDP_PASS),
        insn(0x95),
    ])


def bpf(cmd, attr):
    libc = ctypes.CDLL(None, use_errno=True)
    buf = ctypes.create_string_buffer(attr, 128)
    fd = libc.syscall(SYS_BPF, cmd, buf, len(buf))
    if fd < 0:
        sys.exit(f"xdpprog: {os.strerror(ctypes.get_errno())}")
    return fd


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    path, action = sys.argv[1:3]
    code = program(action, int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    insns = ctypes.create_string_buffer(code, len(code))
    licence = ctypes.create_string_buffer(b"GPL")
    fd = bpf(BPF_PROG_LOAD, struct.pack(
        "<IIQQ", BPF_PROG_TYPE_XDP, len(code) // 8, ctypes.addressof(insns),
        ctypes.addressof(licence)))
    name = ctypes.create_string_buffer(path.encode())
    bpf(BPF_OBJ_PIN, struct.pack("<QI", ctypes.addressof(name), fd))


if __name__ == "__main__":
    main()
