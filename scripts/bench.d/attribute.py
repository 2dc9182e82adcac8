# SPDX-License-Identifier: GPL-2.0
"""Where the instructions of a message go, by module and by function.

    attribute.py DIRECTORY STACK [COUNT]

DIRECTORY holds the report of a guest that was started with bench.profile=1,
which has the kernel's symbols in it, and what selftests/bench/plugin/insns.c
has written with profile=on. COUNT functions are named for each workload, 15 by
default. Interrupts and timer ticks are in it, as they are in every figure.
"""

import base64
import bisect
import gzip
import os
import sys


def symbols(text):
    """Sorted addresses and (name, module) of the kernel's functions."""
    begin = text.index("kallsyms-begin") + 1
    end = text.index("kallsyms-end")
    raw = gzip.decompress(base64.b64decode("".join(text[begin:end])))
    table = {}
    for line in raw.decode().splitlines():
        words = line.split()
        module = words[2].strip("[]") if len(words) > 2 else "kernel"
        # Of several names of one address the first is as good as any.
        table.setdefault(int(words[0], 16), (words[1], module))
    addresses = sorted(table)
    return addresses, [table[a] for a in addresses]


def passes(path):
    """For each measured pass: total, {address: instructions}."""
    out = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            words = line.split()
            if words[0] == "insns":
                out.append((int(words[1]), {}))
            else:
                out[-1][1][int(words[1], 16)] = int(words[2])
    return out


def attribute(counts, addresses, names):
    functions, modules = {}, {}
    for address, n in counts.items():
        if not address:
            key = ("(user space)", "user space")
        else:
            i = bisect.bisect_right(addresses, address) - 1
            key = names[i] if i >= 0 else ("?", "kernel")
        functions[key] = functions.get(key, 0) + n
        modules[key[1]] = modules.get(key[1], 0) + n
    return functions, modules


def main():
    directory, stack = sys.argv[1:3]
    top = int(sys.argv[3]) if len(sys.argv) > 3 else 15
    with open(os.path.join(directory, "report"), encoding="utf-8") as f:
        text = f.read().splitlines()
    addresses, names = symbols(text)
    runs = [line.split() for line in text if line.startswith("bench ")]
    counts = passes(os.path.join(directory, "insns"))
    if len(runs) != len(counts):
        sys.exit(f"{directory}: {len(runs)} runs, {len(counts)} profiles")
    for words, (total, where) in zip(runs, counts):
        messages = int(words[2].split("=")[1])
        functions, modules = attribute(where, addresses, names)
        print(f"{words[1]}, {stack}: {total / messages:.0f} instructions per message")
        print("\n  by module")
        for module, n in sorted(modules.items(), key=lambda i: -i[1]):
            if n >= total / 500:
                print(f"    {n / messages:9.0f} {n / total:6.1%}  {module}")
        print("\n  by function")
        for (name, module), n in sorted(functions.items(), key=lambda i: -i[1])[:top]:
            print(f"    {n / messages:9.0f} {n / total:6.1%}  {name} [{module}]")
        print()


main()
