#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
The test suite of rdma-core, against one RDMA device or between two.

	rdmacore.py run SUITE RESULTS DEVICE GID [PEER ADDRESS NETNS]
	rdmacore.py table STOCK OURS [STOCK OURS]...

"run" runs every test and writes a line for each to the file RESULTS:

	NAME pass|skip|fail|hang|crash SECONDS [REASON]

The suite's two ends, client and server, use the same device: packets never
leave it. With a PEER the server end is another device of the same kernel, at
the same index of whose table there is the GID to reach it, and whose address
ADDRESS is in network namespace NETNS. The tests themselves do not know.

"table" compares pairs of results, and fails if a test that has passed in STOCK
has not in OURS.
"""

import faulthandler
import gc
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

# For a test. Those of rdma_cm give up after 15 s themselves.
LIMIT = 40


class Hang(BaseException):
    """Not to be caught by a test."""


class Results(unittest.TestResult):
    """Writes a line when a test ends, and its name when it begins."""

    def __init__(self, out):
        super().__init__()
        self.out = out
        self.verdict = None
        self.since = 0

    def startTest(self, test):
        super().startTest(test)
        self.verdict = ('pass', '')
        self.since = time.monotonic()
        self.out.write(test.id() + ' ')
        self.out.flush()
        signal.alarm(LIMIT)

    def stopTest(self, test):
        signal.alarm(0)
        what, why = self.verdict
        why = ' '.join(str(why).split())[:160]
        spent = time.monotonic() - self.since
        self.out.write(f'{what} {spent:.2f} {why}\n')
        self.out.flush()
        super().stopTest(test)

    def addError(self, test, err):
        what = 'hang' if err[0] is Hang else 'fail'
        self.verdict = (what, f'{err[0].__name__}: {err[1]}')

    def addFailure(self, test, err):
        self.verdict = ('fail', err[1])

    def addSkip(self, test, reason):
        self.verdict = ('skip', reason)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addFailure(test, err)


def alarm(_signum, _frame):
    raise Hang(f'not done after {LIMIT} s')


def every(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from every(t)
        else:
            yield t


def cross(peer, address, netns):
    """The server end is PEER. Before the tests are loaded."""
    # Modules that know the class in C look it up when they are loaded.
    where = pathlib.Path(importlib.util.find_spec('pyverbs').origin).parent
    for lib in where.rglob('*.so'):
        name = str(lib.relative_to(where.parent)).split('.')[0]
        importlib.import_module(name.replace('/', '.'))
    import pyverbs.device

    plain = pyverbs.device.Context
    other = {}

    class Context(plain):
        """Of a device that finds its peer where it looks for itself."""

        def query_gid(self, port_num, index):
            if self.name not in other:
                return super().query_gid(port_num, index)
            with plain(name=other[self.name]) as ctx:
                return ctx.query_gid(port_num, index)

    pyverbs.device.Context = Context

    def when_loaded(own):
        """After the tests are loaded."""
        import tests.base
        import tests.base_rdmacm
        import tests.rdmacm_utils

        other.update({own: peer, peer: own})

        def setter(self, info):
            self.__dict__['dev_info'] = info

        # Players are created with **dev_info, the client first.
        def getter(self):
            info = dict(self.__dict__['dev_info'])
            if self.client:
                info['dev_name'] = peer
            return info

        tests.base.RDMATestCase.dev_info = property(getter, setter)

        def in_peer(flow):
            def run(self, connection_resources=None, passive=None, **kwargs):
                if passive:
                    with open(f'/run/netns/{netns}', 'rb') as ns:
                        os.setns(ns.fileno())
                    self.ip_addr = address
                return flow(self, connection_resources, passive, **kwargs)
            return run

        cm = tests.base.RDMACMBaseTest
        for name in ('rdmacm_traffic', 'rdmacm_multicast_traffic',
                     'rdmacm_remote_traffic'):
            setattr(cm, name, in_peer(getattr(cm, name)))

        plain_info = tests.base_rdmacm.AddrInfo

        def addr_info(src=None, dst=None, **kwargs):
            return plain_info(src=src, dst=address if dst else None, **kwargs)

        # The multicast group is made of the address, and is one for both.
        def group_info(src=None, dst=None, **kwargs):
            group = re.compile(r'^230\..*')
            return plain_info(src=src and group.sub('230.0.0.1', src),
                              dst=dst and group.sub('230.0.0.1', dst), **kwargs)

        tests.base_rdmacm.AddrInfo = addr_info
        tests.rdmacm_utils.AddrInfo = group_info

    return when_loaded


def child(suite, results, device, gid, *peer):
    """Run what is not in RESULTS yet, in this process."""
    sys.path[:0] = [os.path.join(suite, 'tests'), suite]
    when_loaded = cross(*peer) if peer else None
    sys.argv = ['run_tests.py', '--dev', device, '--gid', gid]
    from args_parser import parser
    parser.parse_args()
    import tests
    if when_loaded:
        when_loaded(device)
    with open(results, encoding='utf-8') as f:
        done = {line.split()[0] for line in f}
    todo = unittest.TestSuite()
    for module in tests.__test_modules__:
        for t in every(unittest.defaultTestLoader.loadTestsFromModule(module)):
            if t.id() not in done:
                todo.addTest(t)
    faulthandler.enable()
    # What it finds is freed in no order, and pyverbs needs one. Nor may the
    # interpreter do it at its end.
    gc.disable()
    signal.signal(signal.SIGALRM, alarm)
    # What the tests print is of no interest, the verdicts are.
    with open(results, 'a', encoding='utf-8') as out:
        todo.run(Results(out))
    sys.stdout.flush()
    os._exit(0)


def end_line(results, verdict):
    """Give a test that has begun its verdict. False if there is none."""
    with open(results, 'r+', encoding='utf-8') as f:
        text = f.read()
        if not text or text.endswith('\n'):
            return False
        f.write(f'{verdict}\n')
    return True


def run(suite, results, *args):
    """All tests, in as many processes as crash or hang."""
    open(results, 'w', encoding='utf-8').close()
    cmd = [sys.executable, __file__, '__child', suite, results, *args]
    while True:
        proc = subprocess.Popen(cmd, start_new_session=True)
        size = 0
        last = time.monotonic()
        hung = False
        while proc.poll() is None:
            time.sleep(0.2)
            if os.path.getsize(results) != size:
                size = os.path.getsize(results)
                last = time.monotonic()
            elif time.monotonic() - last > 2 * LIMIT:
                hung = True
                break
        try:
            os.killpg(proc.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        status = proc.wait()
        if hung:
            end_line(results, f'hang {2 * LIMIT} did not end')
        elif not end_line(results, f'crash 0 exit status {status}'):
            return status


def load(name):
    res = {}
    with open(name, encoding='utf-8') as f:
        for line in f:
            test, verdict, seconds, *why = line.rstrip('\n').split(' ', 3)
            res[test] = (verdict, float(seconds), why[0] if why else '')
    return res


def short(test):
    return re.sub(r'^tests\.test_', '', test)


def table(*names):
    """STOCK OURS STOCK OURS ...: the lines begin with a bar."""
    sets = [load(n) for n in names]
    order = list(dict.fromkeys(t for s in sets for t in s))
    none = ('-', 0, '')
    bad = []
    skipped = {}
    heads = [os.path.basename(n) for n in names]
    widths = [max(len(h), 5) for h in heads]
    print('| ' + 'test'.ljust(74) + ' ' +
          ' '.join(h.ljust(w) for h, w in zip(heads, widths)))
    for t in order:
        got = [s.get(t, none) for s in sets]
        for stock, ours in zip(got[::2], got[1::2]):
            if stock[0] == 'pass' and ours[0] != 'pass':
                bad.append((t, ours))
        if all(g[0] == 'skip' for g in got):
            module = short(t).split('.')[0]
            skipped[module] = skipped.get(module, 0) + 1
            continue
        print('| ' + short(t).ljust(74) + ' ' +
              ' '.join(g[0].ljust(w) for g, w in zip(got, widths)))
    print('| skipped by all: ' +
          ', '.join(f'{m} {n}' for m, n in sorted(skipped.items())))
    for verdict in ('pass', 'fail', 'hang', 'crash', 'skip'):
        print('| ' + f'total {verdict}'.ljust(74) + ' ' + ' '.join(
            str(sum(v[0] == verdict for v in s.values())).ljust(w)
            for s, w in zip(sets, widths)))
    print('| ' + 'seconds'.ljust(74) + ' ' + ' '.join(
        f'{sum(v[1] for v in s.values()):.0f}'.ljust(w)
        for s, w in zip(sets, widths)))
    for head, s in zip(heads, sets):
        for t, (verdict, seconds, why) in s.items():
            if verdict not in ('pass', 'skip') or seconds > 5:
                print(f'| {head}: {short(t)}: {verdict}, {seconds} s. {why}')
    for t, (verdict, _, why) in bad:
        print(f'{t}: {verdict}: {why}, but it passes with the stock device')
    if not any(v[0] == 'pass' for s in sets for v in s.values()):
        print('no test has passed')
        return 1
    return 1 if bad else 0


def main():
    cmd, *args = sys.argv[1:]
    if cmd == '__child':
        child(*args)
        return 0
    if cmd == 'run':
        return run(*args)
    return table(*args)


if __name__ == '__main__':
    sys.exit(main())
