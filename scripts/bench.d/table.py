# SPDX-License-Identifier: GPL-2.0
"""Prints build/bench.json as tables, with the ratio to stock in every row.

    table.py FILE [BASE]

With BASE, the change against an earlier file is printed, too, and the exit
status is 1 if a row of the bypass has become more than 3 % worse, or was not
measured although its workload was run.
"""

import sys
import textwrap

import data


def cell(row, fmt):
    """A value; of several boots, with its range."""
    if not row:
        return "-"
    text = fmt % row["value"]
    if "low" in row:
        text += f" ({fmt % row['low']}-{fmt % row['high']})"
    return text


def growth(results):
    """What more queue pairs or connections do to the cost of a message."""
    by = data.index(results)
    stacks = [s for s in data.STACKS if any(r["stack"] == s for r in results)]
    lines = []
    for one, many in (("qps/1", ("qps/16", "qps/256")), ("tcp_stream", ("tcp_stream/4", "tcp_stream/16"))):
        for name in many:
            line, some = f"{name:<22}", False
            for stack in stacks:
                few = by.get((one, stack, "insn_per_msg"))
                row = by.get((name, stack, "insn_per_msg"))
                text = f"{row['value'] / few['value']:.2f}x" if few and row else "-"
                some = some or text != "-"
                line += f" {text:>11}"
            if some:
                lines.append(line)
    if lines:
        print("\ninstructions per message relative to one queue pair or connection")
        print(f"{'':<22}" + "".join(f" {s:>11}" for s in stacks))
        print("\n".join(lines))


def tables(results, left_out, metrics=data.METRICS):
    by = data.index(results)
    gone = data.index(left_out)
    stacks = [s for s in data.STACKS if any(r["stack"] == s for r in results)]
    names = data.workloads(results + left_out)
    width = 24 if any("low" in r for r in results) else 11
    for metric, title, fmt in metrics:
        lines = []
        for name in names:
            stock = by.get((name, "stock", metric))
            line = f"{name:<22}"
            some = False
            for stack in stacks:
                row = by.get((name, stack, metric))
                some = some or row is not None
                text = cell(row, fmt)
                if row is None and (name, stack, metric) in gone:
                    text = "(left out)"
                line += f" {text:>{width}}"
                if stack == "stock":
                    continue
                ratio = ""
                if row and stock and stock["value"]:
                    ratio = f"{row['value'] / stock['value']:.2f}x"
                line += f" {ratio:>7}"
            spreads = [by[(name, s, metric)]["spread"] for s in stacks if (name, s, metric) in by]
            if some:
                lines.append(f"{line}  {max(spreads) * 100:.1f}%")
        if not lines:
            continue
        print(f"\n{title}")
        head = f"{'':<22}"
        for stack in stacks:
            head += f" {stack:>{width}}"
            if stack != "stock":
                head += f" {'/stock':>7}"
        print(head + "  spread")
        print("\n".join(lines))


def print_left_out(rows, what=""):
    """What is not in the tables, by reason, stack and metric."""
    groups = {}
    for row in rows:
        key = (row["reason"], row["stack"], row["metric"])
        groups.setdefault(key, []).append(f"{row['workload']} ({row['spread']:.0%})")
    for (reason, stack, metric), names in groups.items():
        text = f"left out{what}, {reason}: {stack} {metric}: " + ", ".join(names)
        print(textwrap.fill(text, 100, subsequent_indent="    ", break_on_hyphens=False))


def compare(new, base):
    """Change against BASE; the number of regressions."""
    now, then = data.index(new["results"]), data.index(base["results"])
    gone = data.index(new["left_out"])
    ran = {(r["workload"], r["stack"]) for r in new["results"] + new["left_out"]}
    bad = 0
    print("\nchange against the base, where it is above 1 %:")
    for key, old in then.items():
        workload, stack, metric = key
        if (workload, stack) not in ran:
            continue
        if key not in now:
            # A row that cannot be trusted is not a regression, but seen.
            why = gone[key]["reason"] if key in gone else "not measured"
            if stack == "bypass" and key not in gone:
                bad += 1
            print(f"  {workload:<22} {stack:<7} {metric:<14} missing now: {why}")
            continue
        change = data.relative(now[key]["value"] - old["value"], old["value"], metric)
        worse = -change if metric in data.RATES else change
        mark = ""
        if worse > data.MAX_SPREAD and stack == "bypass":
            mark = "  REGRESSION"
            bad += 1
        if abs(change) > 0.01:
            print(
                f"  {workload:<22} {stack:<7} {metric:<14} {old['value']:>12g}"
                f" -> {now[key]['value']:>12g} {change:+8.1%}{mark}"
            )
    print(f"{bad} regressions of the bypass above {data.MAX_SPREAD:.0%}")
    return bad


def main():
    new = data.load(sys.argv[1])
    header = new["header"]
    print("; ".join(f"{k} {v}" for k, v in header.items()))
    tables(new["results"], new["left_out"])
    growth(new["results"])
    if new.get("results_max"):
        print("\nThe same with -cpu max, where rep movsb and rep stosb count one for each byte:")
        # The counts are the same.
        tables(new["results_max"], new["left_out_max"], data.METRICS[:2])
    print()
    print_left_out(new["left_out"])
    left_out = [r for r in new.get("left_out_max", []) if r["metric"].startswith("insn")]
    print_left_out(left_out, " with -cpu max")
    for text in new["failures"]:
        print(f"FAILED: {text}")
    bad = len(new["failures"])
    if len(sys.argv) > 2:
        bad += compare(new, data.load(sys.argv[2]))
    sys.exit(1 if bad else 0)


main()
