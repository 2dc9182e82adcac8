# SPDX-License-Identifier: GPL-2.0
"""What goes wrong, for storm.py: random faults from a random number generator.

A fault begins, lasts for a while, and ends. It says what it may do to traffic:

  LOSSY    frames are lost, late or wrong; every session and connection goes on
  HARSH    so many that a queue pair may give up, or that the session is renewed
  OUTAGE   the carrier may go
  REPLUG   the network devices may go
"""

import time

LOSSY, HARSH, OUTAGE, REPLUG = range(4)


class Fault:
    """One fault: begin() and end(), which are called once each"""

    def __init__(self, name, level, seconds, begin=None, end=None, rules=()):
        self.name, self.level, self.seconds = name, level, seconds
        self.rules, self.ids = rules, []
        self.begin_more, self.end_more = begin, end

    def begin(self, link):
        self.ids = [int(link.emu("fault", *rule)[0]) for rule in self.rules]
        if self.begin_more:
            self.begin_more(link)

    def end(self, link):
        for number in self.ids:
            link.emu("fault", "off", number, fails=True)
        if self.end_more:
            self.end_more(link)

    def __str__(self):
        rules = ", ".join(" ".join(map(str, rule)) for rule in self.rules)
        return f"{self.name} for {self.seconds * 1000:.0f} ms" + (f" ({rules})" if rules else "")


def where(rng):
    """One direction or both"""
    return rng.choice(((), ("router", 0), ("router", 1)))


# --- faults of the emulator alone


def loss(rng):
    one_in = rng.choice((30, 100, 300, 1000))
    return Fault("loss", HARSH if one_in < 300 else LOSSY, rng.uniform(0.05, 0.8),
                 rules=[("drop", "chance", one_in, *where(rng))])


def burst(rng):
    return Fault("burst", HARSH, 0.2,
                 rules=[("drop", "count", rng.randrange(1, 200), "after", rng.randrange(500),
                         *where(rng))])


def damage(rng):
    """Wrong, and it can be seen"""
    kind = rng.choice(("crc", "truncate"))
    one_in = rng.choice((50, 300, 1000))
    return Fault(kind, HARSH if one_in < 300 else LOSSY, rng.uniform(0.05, 0.8),
                 rules=[(kind, "chance", one_in, *where(rng))])


def forged(rng):
    """A byte of the link's own header changes, unseen by the CRC"""
    return Fault("forged", OUTAGE, rng.uniform(0.05, 0.3),
                 rules=[("corrupt", "eof", rng.choice((2, 3, 6)), "offset", rng.randrange(24),
                         "xor", rng.randrange(1, 256), "chance", rng.choice((20, 100)),
                         *where(rng))])


def twice(rng):
    return Fault("dup", OUTAGE, rng.uniform(0.01, 0.3),
                 rules=[("dup", "chance", rng.choice((100, 1000)), *where(rng))])


def late(rng):
    """Behind it its ring waits; control packets and the other direction pass"""
    return Fault("delay", LOSSY, rng.uniform(0.05, 0.8),
                 rules=[("delay", "chance", rng.choice((100, 500)), "us",
                         rng.choice((100, 1000, 5000)), *where(rng))])


def no_interrupt(rng):
    return Fault("irq-drop", LOSSY, rng.uniform(0.05, 0.8),
                 rules=[("irq-drop", "every", rng.choice((7, 28, 280)), *where(rng))])


def late_interrupt(rng):
    return Fault("irq-delay", LOSSY, rng.uniform(0.05, 0.8),
                 rules=[("irq-delay", "us", rng.choice((200, 1000, 4000)), "chance",
                         rng.choice((1, 5, 50)), *where(rng))])


def no_buffers(rng):
    return Fault("withhold", HARSH, rng.uniform(0.002, 0.05), rules=[("withhold", *where(rng))])


def no_credits(rng):
    """What carries nothing but credits is lost, for a while all of it"""
    return Fault("no credits", HARSH, rng.uniform(0.05, 0.5),
                 rules=[("drop", "eof", 6, "chance", rng.choice((1, 2, 4)), *where(rng))])


def ring_stops(rng):
    return Fault("stall", OUTAGE, 0.05,
                 rules=[("stall", "router", rng.randrange(2), "above",
                         rng.choice((0, 2, 20)), "count", 1)])


def silence(rng):
    return Fault("silence", OUTAGE, rng.choice((0.3, 1.0, 3.5, 5.0)),
                 rules=[("drop", *where(rng))])


# --- the cable


def plug(link):
    if not link.emu.cabled():
        link.emu("plug", "0.1", "1.1")


def unplug(rng):
    return Fault("unplug", REPLUG, rng.choice((0, 0.001, 0.1, 1.0, 2.0)),
                 begin=lambda link: link.emu("unplug", "0.1", fails=True), end=plug)


def unplug_at_frame(rng):
    return Fault("unplug", REPLUG, 0.3, end=plug,
                 rules=[("unplug", "count", 1, "after", rng.randrange(2000), *where(rng))])


def unplug_in_handshake(rng):
    """Behind one of the first packets after the cable was plugged in"""
    rule = ("xd-unplug", "count", 1, "after", rng.randrange(16), *where(rng))

    def begin(link):
        link.emu("unplug", "0.1", fails=True)
        link.emu("plug", "0.1", "1.1")

    return Fault("unplug in the handshake", REPLUG, 2.0, begin, plug, [rule])


def other_speed(rng):
    """A cable that allows less, or more, than the one before"""
    gen, width = rng.choice((3, 4)), rng.choice((1, 2))

    def end(link):
        plug(link)
        link.emu("link", "0.1", "gen", gen, "width", width)

    return Fault(f"gen {gen} width {width}", REPLUG, 0.1,
                 begin=lambda link: link.emu("unplug", "0.1", fails=True), end=end)


def no_event(rng):
    return Fault("event-drop", REPLUG, 0.5, end=plug,
                 begin=lambda link: link.emu("unplug", "0.1", fails=True),
                 rules=[("event-drop", "count", rng.randrange(1, 4), *where(rng))])


# --- what users do


def admin_down(rng):
    """And the handshake that follows has packets that are lost or doubled"""
    side = rng.randrange(2)
    rule = (rng.choice(("xd-drop", "xd-dup")), "every", rng.choice((1, 2, 3)), "count",
            rng.randrange(1, 6), *where(rng))

    def change(link, what):
        host = link.hosts[side]
        if host.dev and host.flags() is not None:
            host.run("ip", "link", "set", host.dev, what, fails=True)

    def begin(link):
        change(link, "down")
        time.sleep(rng.choice((0, 0.01, 0.3)))
        change(link, "up")

    return Fault("down and up", OUTAGE, 0.5, begin, rules=[rule])


def change_mtu(rng):
    side, mtu = rng.randrange(2), rng.choice((1500, 4000, 9000, 65520))
    return Fault(f"mtu {mtu}", HARSH, 0.3,
                 begin=lambda link: link.hosts[side].run(
                     "ip", "link", "set", link.hosts[side].dev, "mtu", mtu, fails=True),
                 end=lambda link: link.hosts[side].run(
                     "ip", "link", "set", link.hosts[side].dev, "mtu", 65520, fails=True))


def tune(rng, *words):
    side = rng.randrange(2)

    def begin(link):
        option, *rest = words
        link.hosts[side].run("ethtool", option, link.hosts[side].dev or "-", *rest, fails=True)

    return begin


def other_rings(rng):
    """Ends the session: the peer must learn of the new window"""
    size = rng.choice((64, 128, 512))
    return Fault(f"rings {size}", OUTAGE, 0.3, begin=tune(rng, "-G", "rx", size, "tx", size))


def other_moderation(rng):
    usecs = rng.choice((0, 8, 50, 300))
    return Fault(f"rx-usecs {usecs}", LOSSY, 0.3,
                 begin=tune(rng, "-C", "adaptive-rx", "off", "rx-usecs", usecs))


def no_bypass(rng):
    flag = rng.choice(("roce-bypass", "roce-icrc-elision", "roce-multi-psn"))
    side = rng.randrange(2)

    def change(what):
        return lambda link: link.hosts[side].run(
            "ethtool", "--set-priv-flags", link.hosts[side].dev or "-", flag, what, fails=True)

    return Fault(f"without {flag}", LOSSY, rng.uniform(0.05, 0.4), change("off"), change("on"))


def more_addresses(rng):
    side, n = rng.randrange(2), rng.randrange(2, 250)

    def change(what):
        return lambda link: link.hosts[side].run(
            "ip", "addr", what, f"10.9.{side}.{n}/24", "dev", link.hosts[side].dev or "-",
            fails=True)

    return Fault("another address", LOSSY, rng.uniform(0.05, 0.4), change("add"), change("del"))


def lost_address(rng):
    """The one in use: its GID goes and comes back, and so does the route"""
    side = rng.randrange(2)

    def change(what):
        return lambda link: link.hosts[side].run(
            "ip", "addr", what, f"{link.hosts[side].ip}/24", "dev",
            link.hosts[side].dev or "-", fails=True)

    return Fault("address gone", OUTAGE, rng.uniform(0.01, 0.4), change("del"), change("add"))


def no_rdma(rng):
    """The RDMA device is taken away from its programs"""
    side = rng.randrange(2)
    return Fault("rdma link del", OUTAGE, 0.2,
                 begin=lambda link: link.hosts[side].run(
                     "rdma", "link", "del", link.hosts[side].rxe, fails=True))


KINDS = (loss, loss, burst, damage, damage, forged, twice, late, no_interrupt,
         late_interrupt, no_buffers, no_credits, ring_stops, silence, unplug,
         unplug_at_frame, unplug_in_handshake, other_speed, no_event, admin_down,
         change_mtu, other_rings, other_moderation, no_bypass, more_addresses,
         lost_address, no_rdma)


def schedule(rng, most=4, span=0.8):
    """(when, fault) of one to most faults that begin within so many seconds"""
    faults = [(rng.uniform(0, span), rng.choice(KINDS)(rng))
              for _ in range(rng.randrange(1, most + 1))]
    return sorted(faults, key=lambda pair: pair[0])
