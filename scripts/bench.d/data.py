# SPDX-License-Identifier: GPL-2.0
"""build/bench.json, and what its metrics are called."""

import json

STACKS = ["stock", "ip", "bypass", "batch", "raw"]

# Metric, what a table calls it, and how a value is printed.
METRICS = [
    ("insn_per_msg", "instructions per message, both ends together", "%.0f"),
    ("insn_per_byte", "instructions per byte, both ends together", "%.2f"),
    ("mmio_reads", "MMIO reads per message and device", "%.2f"),
    ("mmio_writes", "MMIO writes per message and device", "%.2f"),
    ("msis", "interrupts per message and device", "%.2f"),
    ("frames", "frames per message and device, sent and received", "%.2f"),
    ("ctx_switches", "context switches per message", "%.2f"),
    ("work_items", "work items per message", "%.2f"),
    ("gbit_per_s", "wall clock: Gb/s", "%.2f"),
    ("gbit_per_s_net", "wall clock: Gb/s, emulator's own time taken out", "%.2f"),
    ("usec", "wall clock: microseconds, one way", "%.1f"),
]

# More is better.
RATES = {"gbit_per_s", "gbit_per_s_net"}
COUNTS = {"mmio_reads", "mmio_writes", "msis", "frames", "ctx_switches", "work_items"}

MAX_SPREAD = 0.03
# Of wall-clock time, over several boots: above that the host was not quiet.
MAX_RANGE = 0.5


def relative(difference, value, metric):
    """A difference as a fraction. Counts below one per message are taken as
    fractions of one: 0.01 or 0.02 interrupts per message are the same."""
    base = max(abs(value), 1.0) if metric in COUNTS else abs(value)
    return difference / base if base else 0.0


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def save(path, data):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(data, f, indent=1)
        f.write("\n")


def index(results):
    """Results by (workload, stack, metric)."""
    return {(r["workload"], r["stack"], r["metric"]): r for r in results}


def workloads(results):
    """Names in the order in which they first appear."""
    return list(dict.fromkeys(r["workload"] for r in results))
