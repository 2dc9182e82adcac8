# SPDX-License-Identifier: GPL-2.0
"""usb4net report: what a bug report needs, without what is nobody's business.

Names, addresses and UUIDs become numbered words, the same word for the same
thing throughout, so that one can still see what belongs together."""

import ipaddress
import os
import re

import usb4netlib as lib
from usb4netlib import doctor

CMDLINE = re.compile(r'iommu|thunderbolt|usb4|rdma|pci|lockdown|mitigations')
LOG = re.compile(r'thunderbolt|usb4|roce_link|rdma_rxe|rxe|infiniband|'
                 r'Secure ?[Bb]oot|lockdown|iommu|DMAR|AMD-Vi|Call Trace|'
                 r'BUG:|WARNING:|Oops')


class Redactor:
    """Replaces what is personal."""

    UUID = re.compile(r'\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b', re.I)
    MAC = re.compile(r'(?<![0-9a-f:])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![0-9a-f:])',
                     re.I)
    GUID = re.compile(r'(?<![0-9a-f:])(?:[0-9a-f]{4}:){3}[0-9a-f]{4}'
                      r'(?![0-9a-f:])', re.I)
    IP4 = re.compile(r'(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])')
    IP6 = re.compile(r'(?<![\w:.])[0-9a-f:]*:[0-9a-f:]*:[0-9a-f:.]*', re.I)

    def __init__(self, names=()):
        self.words = {}
        self.count = {}
        self.names = [(re.compile(r'(?<![\w-])%s(?![\w-])' % re.escape(n)), kind)
                      for n, kind in sorted(set(names), key=lambda i:
                                            (-len(i[0]), i[0])) if len(n) > 1]

    def word(self, kind, what):
        key = (kind, what.lower())
        if key not in self.words:
            self.count[kind] = self.count.get(kind, 0) + 1
            self.words[key] = '<%s-%d>' % (kind, self.count[kind])
        return self.words[key]

    def _ip4(self, m):
        try:
            a = ipaddress.IPv4Address(m[0])
        except ValueError:
            return m[0]
        if a.is_loopback or a.is_unspecified or a.is_multicast or \
                m[0].startswith('255.'):
            return m[0]
        return self.word('ip4', str(a))

    def _ip6(self, m):
        try:
            a = ipaddress.IPv6Address(m[0].rstrip('.'))
        except ValueError:
            return m[0]
        if a.is_loopback or a.is_unspecified or a.is_multicast:
            return m[0]
        if a.ipv4_mapped:
            return '::ffff:' + self.word('ip4', str(a.ipv4_mapped))
        return self.word('link-local' if a.is_link_local else 'ip6', str(a))

    def text(self, text):
        text = self.UUID.sub(lambda m: self.word('uuid', m[0]), text)
        text = self.MAC.sub(lambda m: self.word('mac', m[0]), text)
        text = self.GUID.sub(lambda m: self.word('guid', m[0]), text)
        text = self.IP6.sub(self._ip6, text)
        text = self.IP4.sub(self._ip4, text)
        for pattern, kind in self.names:
            text = pattern.sub(lambda m, k=kind: self.word(k, m[0]), text)
        return text


def personal_names(links):
    """Names that people have chosen for hosts and for themselves."""
    node = os.uname().nodename
    names = [(n, 'host') for n in {node, node.split('.')[0]} - {'localhost'}]
    names += [(h['name'], 'host') for h in lib.hosts()]
    names += [(link['peer']['name'], 'host') for link in links]
    for key in ('USER', 'LOGNAME', 'SUDO_USER'):
        user = os.environ.get(key, '')
        if user not in ('', 'root'):
            names.append((user, 'user'))
    return [n for n in names if n[0]]


def of_modules():
    out = ''
    for m in ('thunderbolt', 'thunderbolt_net', lib.DRIVER, 'roce_link',
              'rdma_rxe', 'ib_core', 'ib_uverbs', 'rdma_ucm'):
        if lib.loaded(m):
            out += '%-16s %s %s\n' % (m, lib.read('/sys/module/%s/srcversion' % m,
                                                  '-'),
                                      lib.read('/sys/module/%s/taint' % m))
    return out + lib.output('modinfo', '-F', 'filename', 'rdma_rxe')


def of_system():
    release = {}
    try:
        with open('/etc/os-release') as f:
            release = dict(line.rstrip().split('=', 1) for line in f
                           if '=' in line)
    except OSError:
        pass
    # The rest of the command line is nobody's business.
    return '%s\n%s\n%s\n' % (
        ' '.join(os.uname()[2:5]), release.get('PRETTY_NAME', ''),
        ' '.join(w for w in lib.read('/proc/cmdline').split()
                 if CMDLINE.search(w)))


def sections(links):
    yield 'system', of_system()
    yield 'modules', of_modules()
    yield 'host interfaces', '\n'.join(str(d) for d in lib.domains()) + '\n' + \
        ''.join(lib.output('lspci', '-nn', '-s', d['pci'])
                for d in lib.domains())
    yield 'hosts on cables', '\n'.join(str(h) for h in lib.hosts())
    for link in links:
        dev = link['netdev']
        yield dev, '\n'.join('%s: %s' % i for i in link.items()
                             if i[0] not in ('counters', 'rdma'))
        for option in ('', '-i', '-g', '-c'):
            yield ('ethtool %s %s' % (option, dev)).replace('  ', ' '), \
                lib.output('ethtool', *([option] if option else []), dev)
        yield 'ethtool -S ' + dev, '\n'.join(
            '%s: %d' % i for i in link['counters'].items() if i[1])
    yield 'ip -s link', ''.join(lib.output('ip', '-s', 'link', 'show', 'dev',
                                           link['netdev']) for link in links)
    yield 'ip addr', ''.join(lib.output('ip', 'addr', 'show', 'dev',
                                        link['netdev']) for link in links)
    yield 'rdma link', lib.output('rdma', '-d', 'link', 'show')
    yield 'rdma statistic', lib.output('rdma', 'statistic', 'show', 'link')
    for link in links:
        for r in link['rdma']:
            yield 'ibv_devinfo ' + r['name'], \
                lib.output('ibv_devinfo', '-v', '-d', r['name'])
    yield 'doctor', doctor.text(doctor.examine(), True)
    yield 'kernel log', '\n'.join([line for line in lib.kernel_log()
                                   if LOG.search(line)][-300:])


def collect(redact=True):
    links = lib.links()
    r = Redactor(personal_names(links))
    found = [(title, body.strip()) for title, body in sections(links)]
    if redact:
        found = [(r.text(title), r.text(body)) for title, body in found]
    return {'version': lib.VERSION, 'redacted': redact,
            'sections': [{'title': t, 'text': b} for t, b in found if b]}


def text(data):
    out = ['usb4net report, version %s%s' % (
        data['version'], '; names, addresses and UUIDs are replaced'
        if data['redacted'] else '')]
    for s in data['sections']:
        out += ['', '--- %s' % s['title'], s['text']]
    return '\n'.join(out) + '\n'
