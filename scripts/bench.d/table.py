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


def cell(by, key, fmt):
    row = by.get(key)
    return fmt % row["value"] if row else "-"


def tables(results, left_out):
    by = data.index(results)
    gone = data.index(left_out)
    stacks = [s for s in data.STACKS if any(r["stack"] == s for r in results)]
    names = data.workloads(results + left_out)
    for metric, title, fmt in data.METRICS:
        lines = []
        for name in names:
            stock = by.get((name, "stock", metric))
            line = f"{name:<22}"
            some = False
            for stack in stacks:
                row = by.get((name, stack, metric))
                some = some or row is not None
                text = cell(by, (name, stack, metric), fmt)
                if row is None and (name, stack, metric) in gone:
                    text = "(left out)"
                line += f" {text:>11}"
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
            head += f" {stack:>11}"
            if stack != "stock":
                head += f" {'/stock':>7}"
        print(head + "  spread")
        print("\n".join(lines))


def print_left_out(rows):
    """What is not in the tables, by reason, stack and metric."""
    groups = {}
    for row in rows:
        key = (row["reason"], row["stack"], row["metric"])
        groups.setdefault(key, []).append(f"{row['workload']} ({row['spread']:.0%})")
    for (reason, stack, metric), names in groups.items():
        text = f"left out, {reason}: {stack} {metric}: " + ", ".join(names)
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
    if new.get("results_max"):
        print("\nThe same with -cpu max, where rep movsb and rep stosb count one for each byte:")
        tables(new["results_max"], new["left_out_max"])
    print_left_out(new["left_out"])
    print_left_out(new.get("left_out_max", []))
    for text in new["failures"]:
        print(f"FAILED: {text}")
    bad = len(new["failures"])
    if len(sys.argv) > 2:
        bad += compare(new, data.load(sys.argv[2]))
    sys.exit(1 if bad else 0)


main()
