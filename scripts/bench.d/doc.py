# SPDX-License-Identifier: GPL-2.0
"""Writes Documentation/performance.rst and its plots.

    doc.py BUILD TEMPLATE OUT.rst

from what the last runs have left in BUILD: bench.json, bench-wall.json,
bench/profile.STACK. What has not been run is said to be missing.
"""

import os
import subprocess
import sys

import data
import model

here = os.path.dirname(os.path.abspath(__file__))


def tool(name, *args):
    """Output of one of the tools here; table.py's status tells of failures."""
    command = [sys.executable, "-B", os.path.join(here, name), *args]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout


def indent(text):
    return "\n".join(("    " + line).rstrip() for line in text.strip("\n").splitlines())


def described(header):
    names = {
        "command": "command", "commit": "commit", "date": "date", "kernel": "kernel",
        "qemu": "QEMU", "cpu_model": "CPU model", "boots": "boots", "load": "load average of the host before it",
    }
    lines = [
        f"* {title}: ``{header[key]}``" for key, title in names.items() if key in header
    ]
    return "\n".join(lines)


def note(build):
    """What was out of the ordinary in this run, if somebody has written it."""
    path = os.path.join(build, "bench", "note")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as f:
        return f.read().strip()


SHORT = [
    ("send_lat/2", "insn_per_msg", "2-byte SEND"),
    ("send_lat/4096", "insn_per_msg", "4 KiB SEND"),
    ("read_lat/4096", "insn_per_msg", "4 KiB READ"),
    ("send_stream/65536", "insn_per_byte", "byte of 64 KiB SENDs"),
    ("write_stream/65536", "insn_per_byte", "byte of 64 KiB WRITEs"),
    ("read_stream/65536", "insn_per_byte", "byte of 64 KiB READs"),
    ("qps/256", "insn_per_msg", "4 KiB SEND, 256 QPs"),
    ("tcp_stream", "insn_per_byte", "byte of a TCP stream"),
    ("tcp_rr/1", "insn_per_msg", "1 byte over TCP"),
    ("udp_rr/1", "insn_per_msg", "1 byte over UDP"),
]


def short(bench):
    """The rows that matter most: instructions, and their ratio to stock."""
    by = data.index(bench["results"])
    lines = [f"{'instructions':<24}" + "".join(f"{s:>9} {'':>7}" for s in data.STACKS)]
    formats = {m: f for m, _, f in data.METRICS}
    for workload, metric, title in SHORT:
        line = f"{title:<24}"
        stock = by.get((workload, "stock", metric))
        for stack in data.STACKS:
            row = by.get((workload, stack, metric))
            text = formats[metric] % row["value"] if row else "-"
            ratio = f"({row['value'] / stock['value']:.2f}x)" if row and stock else ""
            line += f"{text:>9} {ratio if stack != 'stock' else '':>7}"
        lines.append(line)
    return "\n".join(lines)


def profiles(build):
    out = []
    for stack in data.STACKS:
        path = os.path.join(build, "bench", "profile." + stack)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                out.append(f.read())
    return indent("\n".join(out)) if out else "    (not run)"


def wall(build):
    path = os.path.join(build, "bench-wall.json")
    if not os.path.exists(path):
        return "``make bench-wall`` was not run."
    header = data.load(path)["header"]
    return (
        "``make bench-wall``: the same workloads in real time, on one pinned processor.\n"
        "Medians over several boots, and the range of all of them; a boot counts with the\n"
        "best of its runs, since whatever else the host does only takes time. The ratios of\n"
        "throughput count. Those of latency do not: system calls and wakeups cost some\n"
        "microseconds in User Mode Linux, on every stack alike, which draws all ratios\n"
        "towards one. The emulator runs in the guest's kernel and copies each frame; the\n"
        "second table of rates takes its own time out. What varies by more than\n"
        f"{data.MAX_RANGE:.0%} from boot to boot is left out.\n\n"
        f"{described(header)}\n\n::\n\n{indent(tool('table.py', path))}"
    )


def assumed():
    lines = []
    for key, value in model.ASSUMED.items():
        values = value if isinstance(value, tuple) else (value,)
        lines.append(f"{key:<20} " + ", ".join(f"{v:g}" for v in values))
    lines += [f"passes over the data, {k}: {v:g}" for k, v in model.PASSES.items()]
    return indent("\n".join(lines))


def main():
    build, template, out = sys.argv[1:4]
    bench = os.path.join(build, "bench.json")
    header = data.load(bench)["header"]
    base = out.removesuffix(".rst")
    tool("plot.py", bench, base + ".svg")
    values = {
        "@RUN@": described(header),
        "@NOTE@": note(build),
        "@SHORT@": indent(short(data.load(bench))),
        "@MODEL@": header["cpu_model"],
        "@TABLES@": indent(tool("table.py", bench)),
        "@PROFILE@": profiles(build),
        "@WALL@": wall(build),
        "@ASSUMED@": assumed(),
        "@MODEL_TABLE@": indent(tool("model.py", bench, base + "-model.svg")),
    }
    with open(template, encoding="utf-8") as f:
        text = f.read()
    for key, value in values.items():
        text = text.replace(key, value)
    with open(out, "w", encoding="utf-8") as f:
        f.write(text)


main()
