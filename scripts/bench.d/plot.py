# SPDX-License-Identifier: GPL-2.0
"""Plots build/bench.json.

plot.py FILE OUT.svg
"""

import sys

import data
import svg

NAMES = {
    "stock": "stock: thunderbolt_net, stock rxe",
    "ip": "ip: usb4net_rdma, stock rxe",
    "bypass": "bypass: usb4net_rdma, patched rxe",
    "batch": "batch: bypass, patched thunderbolt",
    "raw": "raw: thunderbolt_stream",
}


def pick(results, metric, names):
    by = data.index(results)
    return {
        (n, s): by[(n, s, metric)]["value"]
        for n in names
        for s in data.STACKS
        if (n, s, metric) in by
    }


def main():
    bench = data.load(sys.argv[1])
    results = bench["results"]
    names = data.workloads(results)
    streams = [n for n in names if "stream" in n]
    messages = [n for n in names if n not in streams]
    stacks = [s for s in data.STACKS if any(r["stack"] == s for r in results)]
    width = max(900, 150 + 26 * len(stacks) * max(len(streams), len(messages)) // 2)
    d = svg.Drawing(width, 860, "Instructions, both ends together; lower is better")
    d.legend(90, 44, [(NAMES[s], svg.COLOURS[s]) for s in stacks])
    box = (90, 150, width - 110, 250)
    svg.bars(
        d, box, messages, stacks, pick(results, "insn_per_msg", messages),
        "instructions per message", True,
    )
    box = (90, 520, width - 110, 240)
    svg.bars(
        d, box, streams, stacks, pick(results, "insn_per_byte", streams),
        "instructions per byte", False,
    )
    h = bench["header"]
    d.text(90, 846, f"commit {h['commit']}, {h['command']}, -cpu {h['cpu_model']}", size=10)
    d.save(sys.argv[2])


main()
