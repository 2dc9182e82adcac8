# SPDX-License-Identifier: GPL-2.0
"""Is build/bench.json what Documentation/performance.rst says it is?

    validate.py FILE

Checks the names of workloads, stacks and metrics, the types and ranges of the
numbers, and, of a full run, that nothing is missing: what has no row has to be
in "left_out", with its reason, or in "failures". The exit status is 1 if
something is wrong.
"""

import re
import sys

import data

SIZE = r"[1-9]\d*"
NAME = re.compile(
    rf"(send|write|read)_(lat|stream)/{SIZE}|qps/{SIZE}|tcp_stream(/{SIZE})?|tcp_stream_sendfile"
    rf"|(tcp|udp)_rr/{SIZE}|ping(_default)?"
)
STREAMS = ["65536", "1048576"]
RDMA = (
    [f"{op}_lat/{n}" for op in ("send", "write") for n in (2, 64, 4096, 65536, 1048576)]
    + [f"read_lat/{n}" for n in (4096, 65536, 1048576)]
    + [f"{op}_stream/{n}" for op in ("send", "write", "read") for n in STREAMS]
    + [f"qps/{n}" for n in (1, 16, 256)]
)
SOCKETS = ["tcp_stream", "tcp_stream/4", "tcp_stream/16", "tcp_stream_sendfile"]
SOCKETS += ["tcp_rr/1", "tcp_rr/65536", "udp_rr/1", "udp_rr/65000", "ping", "ping_default"]
BATCH = ["send_lat/2", "send_lat/4096", "send_stream/65536", "tcp_stream"]
BATCH += ["tcp_rr/1", "tcp_rr/65536", "ping_default"]
RAW = ["send_lat/2", "send_lat/64", "send_lat/4096", "send_stream/65536"]
COUNTED = ["insn_per_msg", "mmio_reads", "mmio_writes", "msis", "frames"]
COUNTED += ["ctx_switches", "work_items"]
TIMED = {"gbit_per_s", "gbit_per_s_net", "usec"}

# What `make bench` and the others have to answer for: stack, workloads.
WALL = ["send_lat/2", "send_lat/4096", "send_lat/65536", "tcp_rr/1", "udp_rr/1"]
WALL += ["send_stream/65536", "send_stream/1048576", "write_stream/65536"]
WALL += ["write_stream/1048576", "read_stream/65536", "read_stream/1048576"]
WALL += ["qps/1", "qps/16", "qps/256", "tcp_stream", "tcp_stream/4", "tcp_stream/16"]
WALL += ["tcp_stream_sendfile"]
EXPECTED = {
    "make bench": {
        "stock": RDMA + SOCKETS, "ip": RDMA + SOCKETS, "bypass": RDMA + SOCKETS,
        "batch": BATCH, "raw": RAW,
    },
    "make bench-quick": {
        s: ["send_lat/2", "send_stream/65536", "tcp_stream"] for s in ("stock", "bypass")
    },
    "make bench-wall": {s: WALL for s in ("stock", "ip", "bypass")},
}


class Checker:
    """Collects what is wrong with one file."""

    def __init__(self, bench):
        self.bench = bench
        self.wall = bench["header"].get("bed") == "uml"
        self.wrong = []

    def complain(self, where, text):
        self.wrong.append(f"{where}: {text}")

    def header(self, name):
        header = self.bench[name]
        keys = ["kernel", "commit", "date", "command"]
        keys += ["boots"] if self.wall else ["cpu_model", "qemu", "cpu"]
        for key in keys:
            if not header.get(key):
                self.complain(name, f"no {key}")

    def row(self, where, row):
        what = " ".join(str(row.get(k)) for k in ("workload", "stack", "metric"))
        metrics = {m for m, _, _ in data.METRICS}
        metrics = metrics & TIMED if self.wall else metrics - TIMED
        if not NAME.fullmatch(str(row.get("workload"))):
            self.complain(where, f"{what}: no such workload")
        if row.get("stack") not in data.STACKS:
            self.complain(where, f"{what}: no such stack")
        if row.get("metric") not in metrics:
            self.complain(where, f"{what}: no such metric")
        for key in ("value", "spread"):
            v = row.get(key)
            if isinstance(v, bool) or not isinstance(v, (int, float)) or v < 0:
                self.complain(where, f"{what}: {key} is {v}")
        return what

    def rows(self, name):
        limit = data.MAX_RANGE if self.wall else data.MAX_SPREAD
        seen = set()
        for row in self.bench[name]:
            what = self.row(name, row)
            if what in seen:
                self.complain(name, f"{what}: twice")
            seen.add(what)
            if row.get("spread", 0) > limit:
                self.complain(name, f"{what}: a spread of {row['spread']}")
            if "_max" not in name and row.get("metric") == "insn_per_msg" and not row["value"]:
                self.complain(name, f"{what}: no instructions")
        for row in self.bench[name.replace("results", "left_out")]:
            what = self.row("left_out", row)
            if what in seen:
                self.complain("left_out", f"{what}: a row, too")
            if not row.get("reason"):
                self.complain("left_out", f"{what}: no reason")
            seen.add(what)
        return seen

    def complete(self, seen):
        if self.bench["failures"]:
            return
        expected = EXPECTED.get(self.bench["header"].get("command"), {})
        for stack, names in expected.items():
            for name in names:
                metrics = COUNTED
                if self.wall:
                    rate = "stream" in name or name.startswith("qps")
                    metrics = ["gbit_per_s", "gbit_per_s_net"] if rate else ["usec"]
                for metric in metrics:
                    if f"{name} {stack} {metric}" not in seen:
                        self.complain("results", f"{name} {stack} {metric}: missing")
        if "header_max" not in self.bench and "raw" in expected:
            self.complain("results_max", "missing")

    def check(self):
        self.header("header")
        seen = self.rows("results")
        if "results_max" in self.bench:
            self.header("header_max")
            self.rows("results_max")
        self.complete(seen)
        return self.wrong


def main():
    path = sys.argv[1]
    bench = data.load(path)
    wrong = Checker(bench).check()
    for text in wrong:
        print(f"{path}: {text}")
    if not wrong:
        print(f"{path}: {len(bench['results'])} rows, {len(bench['left_out'])} left out")
    sys.exit(1 if wrong else 0)


main()
