# SPDX-License-Identifier: GPL-2.0
"""usb4net bench: ping, iperf3 and perftest between the two ends of a cable.

One host runs "usb4net bench --serve", the other one "usb4net bench", and finds
it by itself: the neighbour on a cable answers to the multicast address of all
nodes. They then talk over a TCP connection on the cable, a line of JSON each:

    client                              server
                                        {"host", "addresses", "rdma"}
    {"run": TEST, ...}                  {"ready": port} or {"error": text}
    {"stop": 1}                         {"status": n}

The server starts nothing but the programs in SERVERS, takes nothing for them
from the client but numbers within bounds, and listens on the cable only."""

import ipaddress
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time

import usb4netlib as lib

PORT = 18514
TOOL_PORT = 18515
SIZES = (2, 4096, 65536, 1 << 20)
LATENCY = ('ib_send_lat', 'ib_write_lat', 'ib_read_lat')
BANDWIDTH = ('ib_send_bw', 'ib_write_bw', 'ib_read_bw')
SERVERS = LATENCY + BANDWIDTH + ('iperf3',)


class Trouble(Exception):
    """In words for the user."""


def say(text, end='\n'):
    print(text, end=end, file=sys.stderr, flush=True)


def pick(device):
    found = lib.links(device)
    found = [link for link in found if link['carrier']]
    if not found:
        raise Trouble('no link is up%s; "usb4net doctor" looks for the reason' %
                      (' on ' + device if device else ''))
    if len(found) > 1:
        raise Trouble('which link? --device %s' % ' or '.join(
            link['netdev'] for link in found))
    return found[0]


def gid_for(link, family):
    for r in link['rdma']:
        for g in r['gids']:
            if g['family'] == family:
                return r['name'], g['index']
    return None


def messages(test, req):
    """As much data for each size: a count, and not a time, is the same for both
    ends, and wherever time does not pass as usual."""
    if test in BANDWIDTH:
        return req['count'] * max(SIZES[-1] // req['size'], 1)
    return req['count']


def tool_command(link, test, req):
    """perftest's arguments that both ends have in common."""
    gid = gid_for(link, req['family'])
    if not gid:
        raise Trouble('no RDMA device with a GID for IPv%d on %s: usb4net up' %
                      (req['family'], link['netdev']))
    cmd = [test, '-F', '-d', gid[0], '-x', str(gid[1]), '-p', str(TOOL_PORT),
           '-s', str(req['size'])]
    if req['family'] == 6:
        cmd.append('--ipv6-addr')
    cmd += ['-n', str(messages(test, req))]
    if test in BANDWIDTH:
        cmd.append('--report_gbits')
    # perftest has no events for WRITE.
    if req['events'] and test in ('ib_send_lat', 'ib_read_lat'):
        cmd.append('-e')
    return cmd


# --- the server -------------------------------------------------------------

def checked(req):
    test = req.get('run')
    if test not in SERVERS:
        raise Trouble('no such test')
    limits = {'family': (4, 6), 'size': (1, 1 << 30),
              'count': (5, 1000000), 'events': (0, 1)}
    clean = {}
    for key, (low, high) in limits.items():
        clean[key] = int(req.get(key, low))
        if not low <= clean[key] <= high:
            raise Trouble(key + ' is out of bounds')
    return test, clean


def listening(port):
    return bool(lib.output('ss', '-Hltn', 'sport = :%d' % port).strip())


def start_server(device, req):
    test, req = checked(req)
    if test == 'iperf3':
        cmd = ['iperf3', '-s', '-1', '-p', str(TOOL_PORT)]
    else:
        cmd = tool_command(pick(device), test, req)
    try:
        child = subprocess.Popen(cmd, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
    except OSError:
        raise Trouble(cmd[0] + ' is not installed') from None
    for _ in range(300):
        if listening(TOOL_PORT):
            return child
        if child.poll() is not None:
            raise Trouble('%s: %s' % (test, child.stderr.read().strip()[-200:]))
        time.sleep(0.05)
    end_child(child, 0)
    raise Trouble(test + ' does not listen')


def end_child(child, patience):
    if not child:
        return 0
    try:
        return child.wait(patience)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def answer(sock, device):
    """One client, until it leaves."""
    stream = sock.makefile('rw')
    link = pick(device)

    def tell(**what):
        stream.write(json.dumps(what) + '\n')
        stream.flush()

    tell(host=os.uname().nodename, addresses=link['addresses'],
         rdma=[r['name'] for r in link['rdma']], version=lib.VERSION)
    child = None
    try:
        for line in stream:
            req = json.loads(line)
            if 'run' in req:
                say('  ' + ' '.join(str(v) for v in req.values()))
                end_child(child, 0)
                child = None
                try:
                    child = start_server(device, req)
                    tell(ready=TOOL_PORT)
                except Trouble as e:
                    tell(error=str(e))
            elif 'stop' in req:
                tell(status=end_child(child, 5))
                child = None
    except (OSError, ValueError, TypeError, AttributeError):
        pass
    finally:
        end_child(child, 0)


def serve(args):
    device = pick(args.device)['netdev']
    sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE,
                        device.encode())
        sock.bind(('::', PORT))
    except OSError as e:
        raise Trouble('cannot listen on %s: %s' % (device, e)) from None
    sock.listen(1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        say('waiting on %s; now run "usb4net bench" on the peer' % device)
        peer, addr = sock.accept()
        say('%s is here' % addr[0])
        with peer:
            answer(peer, device)
        if not args.keep:
            return 0


# --- the client ---------------------------------------------------------------

def find_peer(device, own):
    """The neighbour's link-local address: it answers a ping to all nodes."""
    for _ in range(5):
        text = lib.output('ping', '-6', '-n', '-c', '2', '-i', '0.5', '-w', '2',
                          'ff02::1%' + device)
        for addr in re.findall(r'from ([0-9a-f:]+)', text):
            if addr not in own:
                return '%s%%%s' % (addr, device)
    raise Trouble('the peer does not answer on %s; give --peer ADDRESS' % device)


def connect(address):
    try:
        return socket.create_connection((address, PORT), 10)
    except OSError as e:
        raise Trouble('%s: %s; is "usb4net bench --serve" running there?' %
                      (address, e.strerror or e)) from None


class Peer:
    """The other end."""

    def __init__(self, link, address):
        own = [a.split('/')[0] for a in link['addresses']]
        self.link = link
        self.local = address or find_peer(link['netdev'], own)
        sock = connect(self.local)
        sock.settimeout(60)
        self.stream = sock.makefile('rw')
        self.hello = self.hear()
        self.address, self.family = self.best(address)

    def hear(self):
        try:
            line = self.stream.readline()
            return json.loads(line)
        except (OSError, ValueError):
            raise Trouble('the other end has gone') from None

    def best(self, given):
        """Its IPv4 address if we have one in that network: every tool can."""
        if given:
            version = ipaddress.ip_address(given.split('%')[0]).version
            return given, version
        own = [ipaddress.ip_interface(a) for a in self.link['addresses']]
        theirs = [ipaddress.ip_interface(a) for a in self.hello['addresses']]
        for wanted in (4, 6):
            for a in theirs:
                if a.version == wanted and not a.network.is_link_local and \
                        any(a.ip in o.network for o in own
                            if o.version == wanted):
                    return str(a.ip), wanted
        return self.local, 6

    def ask(self, **what):
        self.stream.write(json.dumps(what) + '\n')
        self.stream.flush()
        reply = self.hear()
        if 'error' in reply:
            raise Trouble('peer: ' + reply['error'])
        return reply

    def run(self, test, cmd, timeout, **req):
        """A test with its server at the other end; what the client printed."""
        self.ask(run=test, family=self.family, **req)
        try:
            rc, out, err = lib.run(*cmd, timeout=timeout)
        finally:
            self.ask(stop=1)
        if rc:
            raise Trouble('%s: %s' % (test, (err or out).strip()[-200:]))
        return out


def ping(peer, _args):
    rc, out, err = lib.run('ping', '-%d' % peer.family, '-n', '-q', '-c', '200',
                           '-i', '0.01', '-w', '20', peer.address)
    m = re.search(r'= ([\d.]+)/([\d.]+)/([\d.]+)/', out)
    if rc or not m:
        raise Trouble('ping: ' + (err or out.strip())[-200:])
    return [{'test': 'ping', 'what': 'round trip', 'unit': 'us',
             'value': float(m[2]) * 1000, 'min': float(m[1]) * 1000,
             'max': float(m[3]) * 1000}]


def tcp(peer, args, reverse):
    cmd = ['iperf3', '-c', peer.address, '-p', str(TOOL_PORT), '-J', '-t',
           str(args.seconds)] + (['-R'] if reverse else [])
    out = json.loads(peer.run('iperf3', cmd, args.seconds + 30))
    if 'error' in out:
        raise Trouble('iperf3: ' + out['error'])
    return [{'test': 'tcp', 'what': 'from the peer' if reverse else
             'to the peer', 'unit': 'Gb/s',
             'value': out['end']['sum_received']['bits_per_second'] / 1e9}]


def last_row(text):
    rows = [line.split() for line in text.splitlines()
            if re.match(r'\s*\d+\s+\d+\s+(?:[\d.]+|inf|-?nan)\s', line)]
    if not rows:
        raise Trouble('no result in: ' + text[-200:])
    return rows[-1]


def perftest(peer, args, test, size):
    req = {'family': peer.family, 'size': size, 'count': args.count,
           'events': int(args.events)}
    cmd = tool_command(peer.link, test, req) + [peer.address]
    # perftest measures the processor's clock, and not always well.
    for _ in range(8):
        row = last_row(peer.run(test, cmd, 600, **{
            k: v for k, v in req.items() if k != 'family'}))
        value = float(row[3 if test in BANDWIDTH else 5])
        if math.isfinite(value) and value > 0:
            break
    else:
        raise Trouble("perftest could not measure the processor's clock")
    if test in LATENCY:
        return [{'test': test, 'what': '%d bytes' % size, 'size': size,
                 'unit': 'us', 'value': value, 'min': float(row[2]),
                 'max': float(row[3])}]
    return [{'test': test, 'what': size_text(size), 'size': size,
             'unit': 'Gb/s', 'value': value}]


def size_text(size):
    for unit, name in ((1 << 20, 'MiB'), (1 << 10, 'KiB')):
        if size >= unit:
            return '%d %s' % (size // unit, name)
    return '%d bytes' % size


def plan(args):
    """(title, function) of each step."""
    wanted = args.tests.split(',')
    bad = set(wanted) - {'ping', 'tcp', 'latency', 'bandwidth'}
    if bad:
        raise Trouble('no such test: %s; there are: ping, tcp, latency, bandwidth' %
                      ' '.join(sorted(bad)))
    steps = []
    if 'ping' in wanted:
        steps.append(('ping', lambda p: ping(p, args)))
    if 'tcp' in wanted:
        steps += [('iperf3, ' + w, lambda p, r=r: tcp(p, args, r))
                  for w, r in (('to the peer', False), ('from the peer', True))]
    if 'latency' in wanted:
        steps += [(t, lambda p, t=t: perftest(p, args, t, SIZES[0]))
                  for t in LATENCY]
    if 'bandwidth' in wanted:
        steps += [('%s, %s' % (t, size_text(s)),
                   lambda p, t=t, s=s: perftest(p, args, t, s))
                  for t in BANDWIDTH for s in SIZES[1:]]
    return steps


def measure(args):
    steps = plan(args)
    link = pick(args.device)
    peer = Peer(link, args.peer)
    results, failed = [], []
    say('%s to %s at %s, %d steps' % (link['netdev'], peer.hello['host'],
                                      peer.address, len(steps)))
    for n, (title, step) in enumerate(steps):
        say('[%2d/%d] %-26s' % (n + 1, len(steps), title), end='')
        try:
            new = step(peer)
            results += new
            say(' '.join(value_text(r) for r in new))
        except Trouble as e:
            failed.append({'step': title, 'why': str(e)})
            say('FAILED: %s' % e)
    after = lib.link_of(link['netdev'], {}, [])['counters']
    return {
        'netdev': link['netdev'], 'peer': peer.hello['host'],
        'address': peer.address, 'kernel': os.uname().release,
        'mtu': link['mtu'], 'speed_mbps': link['speed_mbps'],
        'results': results, 'failed': failed,
        'bypassed_packets': after.get('roce_tx_packets', 0) -
        link['counters'].get('roce_tx_packets', 0),
        'dropped': sum(v - link['counters'].get(k, 0)
                       for k, v in after.items() if '_drop_' in k),
    }


# --- what comes of it -----------------------------------------------------------

def value_text(r):
    return '%.*f %s' % (1 if r['value'] >= 10 else 2, r['value'], r['unit'])


def text(data, width=30):
    """Summary, with bars of characters: latencies, then throughput."""
    out = ['%s to %s, Linux %s' % (data['netdev'], data['peer'],
                                   data['kernel'])]
    for unit, title in (('us', 'microseconds'), ('Gb/s', 'gigabits per second')):
        rows = [r for r in data['results'] if r['unit'] == unit]
        if not rows:
            continue
        top = max(r['value'] for r in rows) or 1
        out += ['', title]
        for r in rows:
            bar = '#' * max(1, round(r['value'] / top * width))
            out.append('  %-12s %-14s %10.2f  %s' % (r['test'], r['what'],
                                                     r['value'], bar))
    out += ['', '%d packets sent past the IP stack, %d dropped' % (
        data['bypassed_packets'], data['dropped'])]
    out += ['FAILED %(step)s: %(why)s' % f for f in data['failed']]
    return '\n'.join(out)


def svg(data):
    """The same bars as a drawing."""
    rows, y, body = data['results'], 40, []
    for unit, title, colour in (('us', 'microseconds, less is better', '#c60'),
                                ('Gb/s', 'Gb/s, more is better', '#06c')):
        part = [r for r in rows if r['unit'] == unit]
        if not part:
            continue
        top = max(r['value'] for r in part) or 1
        # A round number at the end of the scale
        step = 10 ** math.floor(math.log10(top))
        top = math.ceil(top / step) * step
        body.append('<text x="10" y="%d" font-weight="bold">%s</text>' %
                    (y, title))
        for r in part:
            y += 22
            body.append(
                '<text x="220" y="%d" text-anchor="end">%s, %s</text>'
                '<rect x="230" y="%d" width="%.1f" height="14" fill="%s"/>'
                '<text x="%.1f" y="%d">%.2f</text>' % (
                    y, r['test'], r['what'], y - 11, r['value'] / top * 380,
                    colour, 236 + r['value'] / top * 380, y, r['value']))
        y += 40
    head = '%s, Linux %s, MTU %d' % (data['netdev'], data['kernel'],
                                     data['mtu'])
    return ('<!-- SPDX-License-Identifier: GPL-2.0 -->\n'
            '<svg xmlns="http://www.w3.org/2000/svg" width="700" height="%d" '
            'font-family="sans-serif" font-size="12">\n<text x="10" y="18" '
            'font-size="14">%s</text>\n%s\n</svg>\n' % (
                y, head, '\n'.join(body)))
