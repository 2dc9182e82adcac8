#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Random faults against traffic that verifies itself.

  storm.py seeds FIRST COUNT A_DEV B_DEV	one schedule of faults for each seed
  storm.py soak SECONDS FIRST A_DEV B_DEV	as many as take so long

TCP and UDP both ways and RDMA go on all the time. A schedule is a few faults that
begin within a second and may overlap. When the last one is over, the link has to
come back in time, throughput with it, and nothing may be wrong, missing or used up:
content, carrier, credits, counters, the kernel's log, memory. The first thing that
is wrong ends the program, with the seed.
"""

import collections
import os
import random
import re
import signal
import subprocess
import sys
import time
import traceback

from storm_faults import HARSH, LOSSY, OUTAGE, REPLUG, plug, schedule
from storm_host import Link, StormError, wait_for
from storm_traffic import Content, PyverbsError, RdmaFlow, TcpFlow, UdpFlow

TICK = {"seeds": 0.004, "soak": 0.01}	# a soak has more time than messages
FOUND = 40.0	# seconds until a host that is plugged in again is found
CARRIER = 6.0	# and until the carrier is there: the longest pause between attempts
BACK = 1.0	# throughput, after the carrier
NEVER = ("rx_drop_no_skb", "rx_drop_no_page", "rx_drop_overrun", "rx_drop_pdf",
         "tx_drop_dma_map", "tx_drop_no_memory", "tx_drop_metadata")
RENEWALS = 4	# sessions that end after the faults
LONGEST = 300	# seconds for one schedule, whatever happens
ENDS = re.compile("end_|sessions$|rx_flow_control_errors$")


class Storm:
    """Traffic, and what happens to it"""

    def __init__(self, devs, seed, pace):
        self.link = Link()
        self.link.adopt(devs)
        self.link.patience()
        self.pace = pace
        self.rng = random.Random(f"traffic {seed}")
        content = Content(self.rng)
        a, b = self.link.hosts
        self.tcp = [TcpFlow(a, b, self.rng, content, 18720),
                    TcpFlow(b, a, self.rng, content, 18721)]
        self.udp = [UdpFlow(a, b, self.rng, content, 18722),
                    UdpFlow(b, a, self.rng, content, 18723)]
        self.rdma = RdmaFlow(self.link.hosts, self.rng, content)
        self.level = HARSH
        self.next_start = 0
        self.faults = collections.Counter()
        self.slowest = collections.Counter()

    def tick(self):
        now = time.monotonic()
        for flow in self.tcp + self.udp + [self.rdma]:
            flow.tick(now)
        if not self.rdma.alive():
            if self.rdma.error and self.level == LOSSY:
                raise StormError(f"RDMA ends without a reason: {self.rdma.error}")
            self.start_rdma(now)
        time.sleep(self.pace)

    def start_rdma(self, now):
        """If there is anything to start it on"""
        if now < self.next_start or not all(h.has_rxe() for h in self.link.hosts) or \
           any(h.gid_index() is None for h in self.link.hosts) or not self.link.carriers():
            return
        self.next_start = now + 0.1
        try:
            self.rdma.start()
        except PyverbsError as error:
            self.rdma.error = str(error)

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.tick()

    def play(self, faults):
        """Begins and ends faults when they are due"""
        start = time.monotonic()
        todo = sorted([(at, 0, n, f.begin) for n, (at, f) in enumerate(faults)] +
                      [(at + f.seconds, 1, n, f.end) for n, (at, f) in enumerate(faults)],
                      key=lambda entry: entry[:3])
        for at, _, _, what in todo:
            while time.monotonic() < start + at:
                self.tick()
            what(self.link)
        self.link.emu("fault", "off")
        plug(self.link)

    def recover(self):
        """All is as it was before: the devices, the carrier, RDMA"""
        link = self.link
        if self.level == REPLUG:
            # a host that was just pulled may still seem to be there
            self.run(0.5)
        if link.gone() and self.level != REPLUG:
            raise StormError("a network device is gone")
        link.revive(FOUND, self.tick)
        took = wait_for("carrier", link.carriers, CARRIER, self.tick)
        self.slowest["carrier"] = max(self.slowest["carrier"], took)
        # the last unplugging may have been noticed only now
        if link.gone():
            link.revive(FOUND, self.tick)
            wait_for("carrier", link.carriers, CARRIER, self.tick)
        link.rdma()

    def progress(self):
        return [flow.done for flow in self.tcp + self.udp + [self.rdma]]

    def throughput_back(self):
        """Unless the carrier goes meanwhile, which a silence may cause after its end"""
        for _ in range(RENEWALS):
            sessions = [h.counters()["sessions"] for h in self.link.hosts]
            try:
                self.moves()
                return
            except StormError:
                wait_for("carrier", self.link.carriers, CARRIER, self.tick)
                if sessions == [h.counters()["sessions"] for h in self.link.hosts]:
                    raise
        raise StormError("the link goes again and again")

    def moves(self):
        """A second after the carrier every flow moves as much as it should"""
        self.run(BACK)
        before = self.progress()
        self.run(0.2)
        moved = [now - then for now, then in zip(self.progress(), before)]
        ticks = round(0.2 / self.pace)
        least = 2 * [ticks // 5] + 2 * [min(ticks, 20) // 4] + [ticks]
        flows = self.tcp + self.udp + [self.rdma]
        for flow, got, want in zip(flows, moved, least):
            if got < want:
                raise StormError(f"{flow.name}: {got} messages in 0.2 s, not {want}, "
                                 f"{BACK} s after the carrier")

    def at_rest(self):
        """The memory that is used when nothing is under way and the devices are down, so
        that no pool has pages"""
        self.rdma.close()
        for flow in self.tcp:
            flow.close()
        for host in self.link.hosts:
            host.run("ip", "link", "set", host.dev, "down")
        time.sleep(1)
        used = memory()
        for host in self.link.hosts:
            self.link.set_up(host)
        wait_for("carrier", self.link.carriers, CARRIER)
        self.link.rdma()
        for flow in self.tcp:
            flow.restart()
        return used

    def counted(self):
        stats = self.link.emu.stats()
        return ([h.counters() for h in self.link.hosts],
                {k: v for k, v in stats.items() if re.search(r"guest_errors|dma_errors", k)},
                [h.dev for h in self.link.hosts])

    def compare(self, before):
        """Counters: nothing that is our fault, no session that ended for no reason"""
        after = self.counted()
        for key, value in after[1].items():
            if value != before[1][key]:
                raise StormError(f"emulator: {key} {value - before[1][key]}")
        for host, old, new in zip(self.link.hosts, before[0], after[0]):
            same = before[2] == after[2] and self.level_was < REPLUG
            for key, value in new.items():
                change = value - (old[key] if same else 0)
                if change and (key in NEVER or
                               (same and self.level_was < HARSH and ENDS.match(key))):
                    raise StormError(f"{host.side}: {key} {change}")

    def seed(self, number):
        """One schedule"""
        signal.alarm(LONGEST)
        rng = random.Random(f"faults {number}")
        faults = schedule(rng)
        self.level = self.level_was = max(f.level for _, f in faults)
        self.what = ", ".join(f"{at * 1000:.0f} ms: {f}" for at, f in faults)
        self.link.emu("fault", "seed", number % (1 << 32))
        before = self.counted()
        self.play(faults)
        self.recover()
        self.throughput_back()
        wait_for("credits are not whole", self.link.credits_whole, 3, self.tick)
        self.compare(before)
        self.link.log.check()
        for _, fault in faults:
            self.faults[re.sub(r"[ 0-9]*$", "", fault.name)] += 1


def memory():
    """What the kernel does not give back, and what it is, in KiB"""
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")
    time.sleep(0.2)
    with open("/proc/meminfo", encoding="ascii") as file:
        info = {k: int(v.split()[0]) for k, v in (line.split(":") for line in file)}
    # a processor's list of free pages
    with open("/proc/zoneinfo", encoding="ascii") as file:
        free = sum(map(int, re.findall(r"^ +count: +(\d+)", file.read(), re.M)))
    info["MemFree"] += free * os.sysconf("SC_PAGESIZE") // 1024
    used = info["MemTotal"] - info["MemFree"] - info["AnonPages"] - info["Cached"]
    if os.path.exists("/proc/slabinfo"):
        with open("/proc/slabinfo", encoding="ascii") as file:
            for f in (line.split() for line in file):
                if f[2].isdigit():
                    info[f[0]] = int(f[2]) * int(f[3]) // 1024
    return used, info


def report(storm, count, start):
    flows = storm.tcp + storm.udp + [storm.rdma]
    print(f"{count} schedules in {time.monotonic() - start:.0f} s of the guest's time, "
          f"{sum(storm.faults.values())} faults")
    print("faults:", ", ".join(f"{n} {k}" for k, n in sorted(storm.faults.items())))
    print("verified:", ", ".join(f"{f.name} {f.done}" for f in flows))
    print(f"RDMA: {storm.rdma.restarts} connections, {storm.rdma.errors} errors; "
          f"longest wait for a carrier {storm.slowest['carrier']:.2f} s")


def too_long(*_):
    raise TimeoutError(f"no end within {LONGEST} s")


def main():
    mode, amount, first, dev_a, dev_b = sys.argv[1:]
    if mode == "seeds":
        amount, first = first, amount
    signal.signal(signal.SIGALRM, too_long)
    storm = Storm((dev_a, dev_b), int(first), TICK[mode])
    storm.link.rdma()
    start, number, used = time.monotonic(), int(first), None
    try:
        storm.run(1)
        while (number - int(first) < int(amount)) if mode == "seeds" else \
                (time.monotonic() - start < float(amount)):
            storm.what = "before the first fault"
            storm.seed(number)
            number += 1
            # caches are as large as they get after some
            if number - int(first) == 10:
                used = storm.at_rest()
                storm.run(1)
    except Exception as error:	# the seed must be told whatever it is
        if not isinstance(error, StormError):
            traceback.print_exc()
        print(f"seed {number}: {type(error).__name__}: {error}")
        print(f"seed {number}: {storm.what}")
        sys.stdout.flush()
        print("\n".join(storm.link.emu("fault", "list")))
        for flow in storm.tcp:
            print(f"{flow.name}: {flow.restarts} connections, the last one "
                  f"{time.monotonic() - flow.begun:.2f} s ago, for {flow.reason}")
        for host in storm.link.hosts:
            host.inside(subprocess.run, f"""exec 2>&1; ss -Htanoie | tr -s ' ' | cut -c 1-400
                        ip -br link; ethtool -S {host.dev} | grep -E "end_|sessions|credits"
                        """, shell=True, check=False)
        subprocess.run("dmesg | tail -n 30", shell=True, check=False)
        print(f"repeat it with SEED={number}")
        sys.exit(1)
    signal.alarm(0)
    report(storm, number - int(first), start)
    if used is not None:
        now = storm.at_rest()
        grown = now[0] - used[0]
        print(f"memory: {grown} KiB more than after 10 schedules")
        if grown > 1024 + 4 * (number - int(first)):
            for key, value in now[1].items():
                if abs(value - used[1].get(key, 0)) > 128:
                    print(f"{key}: {used[1].get(key, 0)}, now {value}")
            sys.exit("memory is lost")


if __name__ == "__main__":
    if len(sys.argv) != 6 or sys.argv[1] not in ("seeds", "soak"):
        sys.exit(__doc__)
    main()
