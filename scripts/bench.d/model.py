# SPDX-License-Identifier: GPL-2.0
"""A projection, not a measurement: from counted instructions, frames and
device accesses to the throughput and latency of real hardware.

    model.py FILE [OUT.svg]

Prints a table, and what the model says about figures that others have
published. Everything it assumes is in ASSUMED.
"""

import sys

import data
import svg

ASSUMED = {
    # A core of the host: clock, instructions per cycle.
    "clock_hz": 4e9,
    "ipc": 2.0,
    # Bandwidth of a copy or of a pass over the data for a checksum, bytes/s.
    "copy_bytes_per_s": 10e9,
    # One core does all the work of a side; both sides work at the same time,
    # and the slower one has this part of what was counted for both.
    "slower_side": 0.55,
    # An uncached read stalls the core; a posted write does not wait.
    "mmio_read_s": 1.0e-6,
    "mmio_write_s": 0.05e-6,
    # Taking and leaving an interrupt, beyond the instructions counted.
    "interrupt_s": 0.5e-6,
    # Waking an idle core, twice in a message of a ping-pong: the
    # application and the interrupt before it.
    "wakeup_s": 1.0e-6,
    # Wire: bits/s, part that is payload, cable and host interfaces one way.
    "wires": (20e9, 40e9, 80e9),
    "payload": 0.9,
    "wire_latency_s": 1.0e-6,
    # Frames per second of one ring.
    "frame_rates": (0.4e6, 0.9e6),
    # Interrupt moderation, seconds.
    "moderation_s": (0.0, 8e-6, 32e-6, 128e-6),
}

# Copies of, or passes over, each byte on the slower side, beside what its
# instructions do anyway: from reading the code.
PASSES = {
    # user to skb, ICRC, skb to ring page
    "stock": 3.0,
    "ip": 2.0,
    "bypass": 2.0,
    "batch": 2.0,
    # user to ring page
    "raw": 1.0,
}

# What others have published: (what, stack that resembles it, wire, moderation,
# quantity, range).
PUBLISHED = [
    ("stock rxe over thunderbolt_net", "stock", 20e9, 128e-6, "Gb/s", (9, 9)),
    ("stock rxe over thunderbolt_net", "stock", 20e9, 128e-6, "us", (65, 65)),
    ("private verbs drivers, one ring", "raw", 40e9, 0.0, "Gb/s", (10, 17)),
    ("private verbs drivers", "raw", 40e9, 0.0, "us", (7, 13)),
]


def counts(bench, workload, stack):
    """Metrics of a workload that was measured, else None."""
    by = data.index(bench["results"])
    out = {
        m: by[(workload, stack, m)]["value"]
        for m in ("insn_per_msg", "mmio_reads", "mmio_writes", "msis", "frames")
        if (workload, stack, m) in by
    }
    return out if len(out) == 5 else None


def core_s(c, size, stack, msis, a):
    """Time of the slower side's core for one message."""
    side = a["slower_side"] * 2
    # Reads go with interrupts: fewer of these, fewer of those.
    reads = c["mmio_reads"] * (msis / c["msis"] if c["msis"] else 1)
    return (
        c["insn_per_msg"] * a["slower_side"] / (a["clock_hz"] * a["ipc"])
        + PASSES[stack] * size / a["copy_bytes_per_s"]
        + side * reads * a["mmio_read_s"]
        + side * c["mmio_writes"] * a["mmio_write_s"]
        + side * msis * a["interrupt_s"]
    )


def throughput(c, size, stack, wire, rate, moderation, a=None):
    """(Gb/s, what bounds it) of a stream of messages."""
    a = a or ASSUMED
    # Frames per device: sent by one side, received by the other.
    ring = c["frames"] / rate
    link = max(size, c["frames"] * 64) * 8 / (wire * a["payload"])
    msis, t = c["msis"], 0.0
    # With moderation the number of interrupts depends on the time, and the
    # time on the number of interrupts.
    for _ in range(20):
        t = max(core_s(c, size, stack, msis, a), ring, link)
        if moderation:
            msis = min(c["msis"], 2 * t / moderation)
    core = core_s(c, size, stack, msis, a)
    bound = max((core, "core"), (ring, "frames"), (link, "wire"))
    return size * 8 / bound[0] / 1e9, bound[1]


def latency(c, size, stack, wire, rate, moderation, a=None):
    """Microseconds one way: nothing overlaps, and an interrupt that comes too
    soon after the one before waits. In a ping-pong each side is interrupted
    once for a round trip, so that cannot be shorter than the moderation."""
    a = a or ASSUMED
    t = (
        c["insn_per_msg"] / (a["clock_hz"] * a["ipc"])
        + 2 * c["mmio_reads"] * a["mmio_read_s"]
        + 2 * c["mmio_writes"] * a["mmio_write_s"]
        + 2 * c["msis"] * a["interrupt_s"]
        + 2 * a["wakeup_s"]
        + a["wire_latency_s"]
        + 1 / rate
        + size * 8 / (wire * a["payload"])
    )
    return max(t, moderation / 2) * 1e6


STREAM, SIZE = "send_stream/65536", 65536
PING, PING_SIZE = "send_lat/2", 2


def projection(bench):
    print(f"{STREAM}: Gb/s and what bounds it; {PING}: microseconds one way\n")
    head = "stack    ring frames/s  moderation"
    for wire in ASSUMED["wires"]:
        head += f"  {wire / 1e9:>5.0f} Gb/s wire"
    print(head + "   latency")
    for stack in data.STACKS:
        stream, ping = counts(bench, STREAM, stack), counts(bench, PING, stack)
        if not stream and not ping:
            print(f"{stack:<8} not measured")
            continue
        for rate in ASSUMED["frame_rates"]:
            for mod in ASSUMED["moderation_s"]:
                line = f"{stack:<8} {rate / 1e6:>8.1f} M {mod * 1e6:>8.0f} us "
                for wire in ASSUMED["wires"]:
                    if not stream:
                        line += f"  {'-':>6} {'':<7}"
                        continue
                    gbit, bound = throughput(stream, SIZE, stack, wire, rate, mod)
                    line += f"  {gbit:>6.1f} {bound:<7}"
                if ping:
                    us = latency(ping, PING_SIZE, stack, 40e9, rate, mod)
                    line += f"  {us:>6.1f} us"
                print(line)


def check(bench):
    """The model beside what was published, each over both frame rates."""
    print("\npublished by others, and what the model says:")
    for what, stack, wire, mod, unit, (low, high) in PUBLISHED:
        c = counts(bench, STREAM if unit == "Gb/s" else PING, stack)
        said = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        if not c:
            print(f"  {what}: {said} {unit}; {stack} not measured")
            continue
        got = []
        for rate in ASSUMED["frame_rates"]:
            if unit == "Gb/s":
                got.append(throughput(c, SIZE, stack, wire, rate, mod)[0])
            else:
                got.append(latency(c, PING_SIZE, stack, wire, rate, mod))
        got.sort()
        print(f"  {what}: {said} {unit}; model of {stack}: {got[0]:.1f} to {got[1]:.1f}")


def plot(bench, path):
    d = svg.Drawing(900, 480, "Projection, not measured: 64 KiB SEND stream and 2-byte latency")
    rate = ASSUMED["frame_rates"][1]
    wires = [10e9 * 1.1**i for i in range(24)]
    x = svg.Axis(10, 90, 90, 430)
    y = svg.Axis(0, 40, 400, 60)
    mod = ASSUMED["moderation_s"][2]
    svg.grid(d, y, 90, 430, "Gb/s")
    for v in x.ticks():
        d.text(x.at(v), 416, f"{v:.0f}", anchor="middle")
    d.path([(x.at(w), y.at(w * ASSUMED["payload"])) for w in (10, 44)], "#bbb", "4 3")
    d.text(x.at(41), y.at(39), "wire", anchor="end")
    d.text(260, 436, "wire, Gb/s (0.9 M frames/s per ring, 32 us moderation)", 12, "middle")
    mods = [i * 2e-6 for i in range(65)]
    mx = svg.Axis(0, 128, 540, 870)
    my = svg.Axis(0, 80, 400, 60)
    svg.grid(d, my, 540, 870, "microseconds one way")
    for v in (0, 32, 64, 96, 128):
        d.text(mx.at(v), 416, f"{v}", anchor="middle")
    d.text(705, 436, "interrupt moderation, us", 12, "middle")
    legend = []
    for stack in data.STACKS:
        stream, ping = counts(bench, STREAM, stack), counts(bench, PING, stack)
        if not stream and not ping:
            continue
        legend.append((stack, svg.COLOURS[stack]))
        line = [
            (x.at(w / 1e9), y.at(throughput(stream, SIZE, stack, w, rate, mod)[0]))
            for w in wires
            if stream and w <= 90e9
        ]
        d.path(line, svg.COLOURS[stack])
        line = [
            (mx.at(m * 1e6), my.at(latency(ping, PING_SIZE, stack, 40e9, rate, m)))
            for m in mods
            if ping
        ]
        d.path(line, svg.COLOURS[stack])
    d.legend(110, 66, legend)
    d.text(90, 466, f"from commit {bench['header']['commit']}; assumptions: scripts/bench.d/model.py", 10)
    d.save(path)


def main():
    bench = data.load(sys.argv[1])
    projection(bench)
    check(bench)
    if len(sys.argv) > 2:
        plot(bench, sys.argv[2])


if __name__ == "__main__":
    main()
