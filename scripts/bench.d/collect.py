# SPDX-License-Identifier: GPL-2.0
"""Turns the reports of the guests into build/bench.json.

    collect.py OUT [--max] [KEY=VALUE...] LABEL:DIRECTORY...

LABEL is the stack, DIRECTORY holds "report" and, on QEMU, "insns". Several
directories of one stack are several boots. KEY=VALUE goes to the header.
--max: these are runs with -cpu max, added to what OUT has, as "results_max".
"""

import os
import statistics
import sys

import data


def fields(words):
    return {k: v for k, v in (w.split("=", 1) for w in words if "=" in w)}


def parse(directory, wall):
    """One guest's runs and header: ([(workload, numbers)...], header, failures).
    No runs at all, but None, if nothing was asked of it."""
    runs, header, failures = [], {}, []
    with open(os.path.join(directory, "report"), encoding="utf-8", errors="replace") as f:
        lines = f.read().splitlines()
    if any(line.startswith("1..0 ") for line in lines):
        return None, {}, []
    for line in lines:
        words = line.split()
        if not words:
            continue
        if words[0] == "bench-header":
            header.update([line.split(None, 1)[1].split("=", 1)])
        elif words[0] == "bench" and len(words) > 3:
            runs.append((words[1], {k: int(v) for k, v in fields(words[2:]).items()}))
        elif words[0] == "work" and runs and words[1] == runs[-1][0]:
            # Counted in a pass of their own, after the run they belong to.
            work = {k: int(v) for k, v in fields(words[2:]).items()}
            runs[-1][1]["work_items"] = work["items"] / work["messages"]
        elif line.startswith("not ok "):
            failures.append(line.split(None, 3)[3])
    insns = []
    path = os.path.join(directory, "insns")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            insns = [int(l.split()[1]) for l in f if l.startswith("insns ")]
    if insns and len(insns) != len(runs):
        sys.exit(f"{path}: {len(insns)} counts for {len(runs)} runs")
    for run, n in zip(runs, insns):
        run[1]["insns"] = n
    if not insns and not wall:
        # Without the plugin the clock has to do: one nanosecond each.
        for run in runs:
            run[1]["insns"] = run[1]["ns"]
    return runs, header, failures


def instructions(run):
    """Instructions per message. A ping-pong has a median, which a timer tick or
    an odd order of wakeups does not move; it comes from the clock, so it counts
    only if the clock did not run on while the processor was idle."""
    if run["median_ns"] and run["ns"] < run["insns"] * 1.01:
        return run["median_ns"]
    return run["insns"] / run["messages"]


def per_message(workload, run):
    """Metrics of one run."""
    n, size = run["messages"], run["bytes"]
    out = {}
    if "insns" in run and "0.mmio_reads" in run:
        for m in ("mmio_reads", "mmio_writes", "msis", "frames"):
            out[m] = (run["0." + m] + run["1." + m]) / 2 / n
    if "insns" in run:
        out["insn_per_msg"] = instructions(run)
        if size >= 64:
            out["insn_per_byte"] = instructions(run) / size
        out["ctx_switches"] = run["switches"] / n
        if "work_items" in run:
            out["work_items"] = run["work_items"]
    else:
        if "stream" in workload or workload.startswith("qps"):
            out["gbit_per_s"] = n * size * 8 / run["ns"]
            if run.get("own_ns"):
                out["gbit_per_s_net"] = n * size * 8 / (run["ns"] - run["own_ns"])
        if run.get("median_ns"):
            out["usec"] = run["median_ns"] / 1000
    return out


def of_one_boot(metric, v):
    """One figure of the runs of a boot. Whatever else the host does makes wall
    clock time longer, never shorter, so that the best of them counts; that comes
    with a median of many messages, or with many messages."""
    if metric in data.RATES:
        return max(v)
    return min(v) if metric == "usec" else statistics.median(v)


def values(boots, wall):
    """Metrics of each run, or, of wall-clock time, of each boot."""
    out = {}
    for runs in boots:
        one = {}
        for workload, run in runs:
            for metric, value in per_message(workload, run).items():
                one.setdefault((workload, metric), []).append(value)
        for (workload, metric), v in one.items():
            v = [of_one_boot(metric, v)] if wall else v
            out.setdefault((workload, metric), []).extend(v)
    return out


def summarise(stack, boots, wall):
    """Rows, and rows that are left out."""
    rows, left_out = [], []
    by_key = values(boots, wall)
    most = max((len(v) for v in by_key.values()), default=0)
    unit = "boots" if wall else "runs"
    for (workload, metric), v in by_key.items():
        value = statistics.median(v)
        row = {
            "workload": workload,
            "stack": stack,
            "metric": metric,
            "value": round(value, 4),
            "spread": round(data.relative(max(v) - min(v), value, metric), 5),
        }
        if wall:
            row["low"], row["high"] = round(min(v), 4), round(max(v), 4)
        limit = data.MAX_RANGE if wall else data.MAX_SPREAD
        if len(v) < most:
            row["reason"] = f"only {len(v)} of {most} {unit}"
            left_out.append(row)
        elif row["spread"] > limit:
            row["reason"] = f"spread above {limit:.0%} over {len(v)} {unit}"
            left_out.append(row)
        else:
            rows.append(row)
    return rows, left_out


def main():
    args = sys.argv[1:]
    out = args.pop(0)
    is_max = "--max" in args
    args = [a for a in args if a != "--max"]
    header = fields(a for a in args if "=" in a)
    wall = header.get("bed") == "uml"
    result = {"header": header, "results": [], "left_out": [], "failures": []}
    by_stack = {}
    for arg in args:
        if "=" in arg:
            continue
        stack, directory = arg.split(":", 1)
        runs, guest, failures = parse(directory, wall)
        if runs is None:
            continue
        if not runs and not failures:
            failures = ["no figures at all"]
        by_stack.setdefault(stack, []).append(runs)
        header.update(guest)
        result["failures"] += [f"{stack}: {f.removeprefix(stack + ': ')}" for f in failures]
    if not by_stack:
        sys.exit("no stack has a workload like that")
    for stack, boots in by_stack.items():
        rows, left_out = summarise(stack, boots, wall)
        result["results"] += rows
        result["left_out"] += left_out
    if is_max:
        old = data.load(out)
        old["header_max"] = header
        old["results_max"] = result["results"]
        old["left_out_max"] = result["left_out"]
        old["failures"] += [f + " (-cpu max)" for f in result["failures"]]
        result = old
    data.save(out, result)


main()
