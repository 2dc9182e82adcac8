# SPDX-License-Identifier: GPL-2.0
"""usb4net doctor: what people get wrong, each with its fix.

Every check is a function that yields findings. To look at one thing must never
keep the others from being looked at, so an exception is a finding, too."""

import glob
import ipaddress
import json
import os
import re
import resource
import shutil

import usb4netlib as lib

ROCE_PORT = 4791
# 4096 bytes of payload, and the headers of IPv6, UDP, and RDMA
MTU_FOR_RDMA = 4096 + 40 + 8 + 56
MEMLOCK_ENOUGH = 64 << 20


def ok(name, title):
    return {'check': name, 'level': 'ok', 'title': title, 'fix': []}


def note(name, title, *fix):
    return {'check': name, 'level': 'note', 'title': title, 'fix': list(fix)}


def warn(name, title, *fix):
    return {'check': name, 'level': 'warn', 'title': title, 'fix': list(fix)}


def fail(name, title, *fix):
    return {'check': name, 'level': 'fail', 'title': title, 'fix': list(fix)}


class Context:
    """Read once, looked at by all."""

    def __init__(self):
        self.links = lib.links()
        self.log = lib.kernel_log()
        self.domains = lib.domains()

    def said(self, pattern):
        """The last line of the kernel log that matches."""
        for line in reversed(self.log):
            if re.search(pattern, line):
                return line
        return None


def check_root(_):
    if os.geteuid() != 0:
        yield note('root', 'not everything can be looked at: firewalls need root, '
                   'and so may the kernel log', 'sudo usb4net doctor')


# --- modules ---------------------------------------------------------------

def efi_variable(name):
    for path in glob.glob('/sys/firmware/efi/efivars/%s-*' % name):
        try:
            with open(path, 'rb') as f:
                # Four bytes of attributes come first.
                return f.read()[4:5] == b'\1'
        except OSError:
            pass
    return False


def check_secure_boot(c):
    name = 'secure-boot'
    on = efi_variable('SecureBoot')
    refused = c.said(r'(Loading of unsigned module|Key was rejected|'
                     r'module.*is rejected|Lockdown:.*unsigned module)')
    sign = ('with DKMS: mokutil --import /var/lib/dkms/mok.pub, reboot, and '
            'choose "Enroll MOK"',
            'else sign with sign-file and a key of your own: see README, '
            '"Secure Boot"')
    missing = [m for m in (lib.DRIVER, 'rdma_rxe') if not lib.loaded(m)]
    if on and missing:
        yield fail(name, 'Secure Boot is on, and %s is not loaded: the kernel '
                   'takes only modules signed with a key that it trusts' %
                   ' '.join(missing), *sign)
    elif refused and missing:
        yield fail(name, 'the kernel has refused a module: ' + refused, *sign)
    elif on:
        yield ok(name, 'Secure Boot is on, and the modules are loaded')
    else:
        yield ok(name, 'Secure Boot is off')


def check_modules(c):
    name = 'modules'
    if lib.loaded(lib.DRIVER):
        yield ok(name, lib.DRIVER + ' is loaded')
    elif lib.run('modinfo', '-F', 'filename', lib.DRIVER)[0]:
        yield fail(name, 'there is no %s for the running kernel, %s' %
                   (lib.DRIVER, os.uname().release),
                   'install usb4net-rdma-dkms and the headers of this kernel, '
                   'then: dkms autoinstall',
                   'or, in the source: make && sudo make install')
    else:
        yield fail(name, lib.DRIVER + ' is not loaded', 'modprobe ' + lib.DRIVER)
    line = c.said(r'(usb4net_rdma|roce_link|rdma_rxe): (disagrees about '
                  r'version of symbol|Unknown symbol)')
    if line:
        yield fail(name, 'modules that do not fit together: ' + line,
                   'rebuild all of them for this kernel: dkms autoinstall '
                   '--force, or make && sudo make install')


def check_rxe(_):
    name = 'rxe'
    kind = lib.rxe_kind()
    if kind == 'patched':
        yield ok(name, 'the patched rdma_rxe is loaded')
        return
    where = lib.output('modinfo', '-F', 'filename', 'rdma_rxe').strip()
    ours = '/updates/' in where or '/extra/' in where
    reload_it = ('usb4net down --rdma-only', 'modprobe -r rdma_rxe',
                 'usb4net up')
    series = re.match(r'\d+\.\d+', os.uname().release)[0]
    build = ('install the source of the kernel (linux-source-%s on Debian), '
             'then: dkms autoinstall' % series,
             'or, in the source: make KSRC=... && sudo make install')
    if series not in lib.RXE_KERNELS:
        build = ('boot a kernel that there are patches for: Linux ' +
                 ' or '.join(lib.RXE_KERNELS),)
    if kind == 'stock':
        yield fail(name, "the kernel's own rdma_rxe is loaded: RDMA works, "
                   'through the IP stack', *(() if ours else build), *reload_it)
    elif ours:
        yield note(name, 'rdma_rxe is not loaded', 'usb4net up')
    else:
        yield warn(name, 'there is no patched rdma_rxe for this kernel', *build)


def check_tools(_):
    packages = {'ip': 'iproute2', 'rdma': 'iproute2', 'ethtool': 'ethtool',
                'ibv_devinfo': 'ibverbs-utils', 'rping': 'rdmacm-utils',
                'iperf3': 'iperf3', 'ib_write_bw': 'perftest'}
    path = os.environ.get('PATH', '') + ':/usr/sbin:/sbin'
    missing = [t for t in packages if not shutil.which(t, path=path)]
    if missing:
        yield warn('tools', 'not installed: ' + ' '.join(missing),
                   'install ' + ' '.join(sorted({packages[t] for t in missing})))
    else:
        yield ok('tools', 'all programs are there')


# --- the cable -----------------------------------------------------------------

def check_controller(c):
    name = 'controller'
    if c.domains:
        yield ok(name, '%d USB4 host interface(s)' % len(c.domains))
    elif not lib.loaded('thunderbolt'):
        yield fail(name, 'the kernel has not loaded thunderbolt: no USB4 or '
                   'Thunderbolt controller, or it is disabled',
                   'look for "USB4" in lspci, and enable it in the firmware',
                   'modprobe thunderbolt')
    else:
        yield fail(name, 'thunderbolt is loaded, but has no host interface',
                   'look at: journalctl -k -g thunderbolt')


def check_peers(c):
    name = 'peer'
    if not c.domains:
        return
    param = lib.read('/sys/module/thunderbolt/parameters/xdomain', 'Y')
    if param == 'N':
        yield fail(name, 'connections between hosts are turned off '
                   '(thunderbolt.xdomain=0)',
                   'remove it from the kernel command line and '
                   '/etc/modprobe.d, and reboot')
    found = lib.hosts()
    for d in lib.unauthorised():
        yield fail('unauthorised', '%s (%s) is not authorised: hosts behind it '
                   'cannot be reached' % (d['name'] or 'a device', d['device']),
                   'boltctl enroll ' + (d['uuid'] or 'UUID'),
                   'or once: echo 1 > %s/%s/authorized' % (lib.BUS, d['device']))
    silent = [h for h in found if not h['offers_us']]
    for h in silent:
        yield fail(name, 'host %s is on a cable but does not offer the service '
                   '%s' % (h['name'] or h['device'], lib.SERVICE),
                   'there: usb4net up, or modprobe ' + lib.DRIVER)
    line = c.said('XDomain properties|new host found|host disconnected')
    if not found and line and 'XDomain properties' in line:
        yield fail(name, 'thunderbolt could not read what the other host offers: ' +
                   line, 'unplug the cable, and plug it in again')
    elif not found and param != 'N':
        yield fail(name, 'no other host is on a cable',
                   'use a cable for USB4 or Thunderbolt, not one for charging',
                   'look whether the other host is on, and has loaded '
                   'thunderbolt',
                   'allow connections between hosts in the firmware of both')
    elif found and len(silent) < len(found):
        yield ok(name, '%d host(s) with the service' %
                 (len(found) - len(silent)))


def domain_of(c, link):
    for d in c.domains:
        if d['pci'] == link['pci']:
            return d
    return None


def stock_netdevs():
    """Devices of thunderbolt_net that are open: each has a pair of rings."""
    return [p.split('/')[4] for p in
            glob.glob('/sys/class/net/*/device/driver')
            if os.path.basename(os.path.realpath(p)) in
            ('thunderbolt-net', 'thunderbolt_net') and
            int(lib.read(os.path.dirname(os.path.dirname(p)) + '/flags', '0')
                or '0', 16) & 1]


def check_rings(c):
    name = 'rings'
    others = stock_netdevs()
    closed = [link['netdev'] for link in c.links if not link['up']]
    line = c.said('no free pair of rings')
    fix = ['ip link set %s down' % d for d in others] + \
        ['for ever: echo "blacklist thunderbolt_net" > '
         '/etc/modprobe.d/usb4net.conf']
    if line and closed:
        yield fail(name, 'the host interface had no rings left for %s%s' % (
            ' '.join(closed), ': thunderbolt_net has taken them for ' +
            ' '.join(others) if others else ''), *fix)
    elif others and c.links:
        yield note(name, 'thunderbolt_net has a pair of rings for %s; some '
                   'controllers have no more than two pairs' %
                   ' '.join(others), *fix)
    else:
        yield ok(name, 'nobody else has taken rings')


def check_links(c):
    for link in c.links:
        dev = link['netdev']
        if not link['up']:
            yield fail('link', dev + ' is down', 'usb4net up ' + dev)
        elif not link['carrier']:
            fix = {
                'hello': 'on the peer: usb4net up',
                'refused': 'install the same version of the driver on both '
                           'hosts',
                'probe': 'unplug the cable and plug it in again; if that does '
                         'not help, reboot both hosts',
            }.get(link['state'], 'look at: journalctl -k -g usb4net')
            yield fail('link', '%s has no link: state "%s"%s' % (
                dev, link['state'], ', last time: ' + link['last_end']
                if link['last_end'] else ''), fix)
        else:
            yield ok('link', dev + ' is up')


# --- IP ------------------------------------------------------------------------

def check_mtu(c):
    for link in c.links:
        dev, mtu, peer = link['netdev'], link['mtu'], link['peer_mtu']
        if link['carrier'] and peer and peer != mtu:
            yield warn('mtu', 'the MTU of %s is %d here and %d at the peer: '
                       'larger packets pass one way only' % (dev, mtu, peer),
                       'ip link set %s mtu %d' % (dev, max(mtu, peer)),
                       'and the same on the peer')
        if mtu < MTU_FOR_RDMA:
            yield warn('mtu', 'the MTU of %s is %d: RDMA needs %d for packets '
                       'of 4096 bytes' % (dev, mtu, MTU_FOR_RDMA),
                       'ip link set %s mtu 65520' % dev,
                       'and in the configuration that sets it')
        elif link['carrier'] and peer == mtu:
            yield ok('mtu', '%s: %d at both ends' % (dev, mtu))


def check_addresses(c):
    name = 'address'
    nets = {}
    for link in c.links:
        dev = link['netdev']
        own = [ipaddress.ip_interface(a) for a in link['addresses']]
        if link['up'] and not own and not link['master']:
            yield fail(name, dev + ' has no address at all: IPv6 is turned off',
                       'sysctl net.ipv6.conf.%s.disable_ipv6=0' % dev,
                       'or: usb4net up %s 10.0.0.1/24' % dev)
        elif link['up'] and not any(a.version == 4 for a in own) and \
                not link['master']:
            yield note(name, dev + ' has no IPv4 address; many RDMA '
                       'applications want one', 'usb4net up %s 10.0.0.1/24, '
                       'and 10.0.0.2/24 on the peer' % dev,
                       'for ever: see the examples for systemd-networkd, '
                       'NetworkManager and ifupdown')
        for a in own:
            if not a.network.is_link_local:
                nets.setdefault(a.network, []).append(dev)
    for net, devs in nets.items():
        if len(set(devs)) > 1:
            yield fail(name, '%s is on %s: packets for the one leave by the '
                       'other' % (net, ' and '.join(sorted(set(devs)))),
                       'give each cable a network of its own, or bond them')


def hooks(ruleset):
    """Chains that see what comes in, and whether they drop by default."""
    for item in ruleset:
        chain = item.get('chain')
        if chain and chain.get('hook') == 'input':
            yield chain


def rules_of(ruleset, chain):
    return [json.dumps(i['rule'].get('expr', [])) for i in ruleset
            if 'rule' in i and i['rule'].get('chain') == chain['name'] and
            i['rule'].get('table') == chain['table'] and
            i['rule'].get('family') == chain['family']]


def check_firewall(c):
    name = 'firewall'
    try:
        rules = json.loads(lib.output('nft', '-j', 'list', 'ruleset') or
                           '{}').get('nftables', [])
    except ValueError:
        rules = []
    devs = [link['netdev'] for link in c.links]
    bad = []
    for chain in hooks(rules):
        text = rules_of(rules, chain)
        accepts = any('"accept"' in r and
                      ('%d' % ROCE_PORT in r or any('"%s"' % d in r or
                                                    'usb4net' in r
                                                    for d in devs))
                      for r in text)
        drops = chain.get('policy') == 'drop' or any(
            '"reject"' in r or '"drop"' in r for r in text if
            '"match"' not in r or '%d' % ROCE_PORT in r)
        if drops and not accepts:
            bad.append('%(family)s %(table)s %(name)s' % chain)
    for who, fix in (
            ('firewalld', 'firewall-cmd --permanent --zone=trusted '
             '--add-interface=%s && firewall-cmd --reload'),
            ('ufw', 'ufw allow in on %s')):
        if lib.output('systemctl', 'is-active', who).strip() == 'active':
            bad.append(who)
            yield note(name, who + ' is active', fix % (
                devs[0] if devs else 'usb4net0'))
    if [b for b in bad if ' ' in b]:
        yield warn(name, 'the firewall may drop what comes from the peer '
                   '(chain %s). RDMA past the IP stack does not notice, '
                   'connections are set up with TCP, and all else does' %
                   ', '.join(b for b in bad if ' ' in b),
                   *['nft insert rule %s iifname "%s" accept' % (b, d)
                     for b in bad if ' ' in b for d in devs[:1]])
    elif not bad and os.geteuid() == 0:
        yield ok(name, 'no firewall in the way')


# --- RDMA --------------------------------------------------------------------

def check_rdma(c):
    for link in c.links:
        dev = link['netdev']
        if not link['rdma']:
            yield warn('rdma', 'no RDMA device on ' + dev, 'usb4net up ' + dev,
                       'for ever: systemctl enable --now usb4net-rdma')
            continue
        for r in link['rdma']:
            yield from check_gids(link, r)
    mode = from_mode(lib.output('rdma', 'system', 'show'))
    if mode == 'exclusive' and c.links:
        yield note('rdma', 'RDMA devices belong to one network namespace each: '
                   'containers do not see those of the host',
                   'rdma system set netns shared')


def from_mode(text):
    m = re.search(r'netns (\w+)', text)
    return m[1] if m else ''


def check_gids(link, r):
    dev, name = link['netdev'], 'gid'
    if not r['gids']:
        yield fail(name, r['name'] + ' has no GID: applications cannot use it',
                   'usb4net up ' + dev)
        return
    want = [a.split('/')[0] for a in link['addresses']
            if ipaddress.ip_interface(a).version == 4]
    have = [g['address'] for g in r['gids']]
    lost = [a for a in want if a not in have]
    if lost:
        yield fail(name, '%s has no GID for %s' % (r['name'], ' '.join(lost)),
                   'usb4net down %s --rdma-only && usb4net up %s' % (dev, dev))
    best = r['gids'][0]
    use = 'use index %d of %s (%s)' % (best['index'], r['name'], best['address'])
    settings = ('perftest: -d %s -x %d' % (r['name'], best['index']),
                'UCX: UCX_NET_DEVICES=%s:%d UCX_IB_GID_INDEX=%d' % (
                    r['name'], r['port'], best['index']),
                'NCCL: NCCL_IB_HCA=%s NCCL_IB_GID_INDEX=%d' % (
                    r['name'], best['index']))
    if best['index'] != 0:
        yield note(name, 'GID index 0 is not the one to use: ' + use, *settings)
    else:
        yield ok(name, use)


def check_memlock(_):
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if limit == resource.RLIM_INFINITY or limit >= MEMLOCK_ENOUGH:
        yield ok('memlock', 'enough memory may be locked')
        return
    yield warn('memlock', 'only %d KiB may be locked (ulimit -l): RDMA '
               'applications fail to register more' % (limit >> 10),
               'echo "* - memlock unlimited" > /etc/security/limits.d/rdma.conf,'
               ' and log in again',
               'services: LimitMEMLOCK=infinity; containers: --ulimit '
               'memlock=-1')


def check_bypass(c):
    for link in c.links:
        by = link['bypass']
        if by['on']:
            yield ok('bypass', 'RDMA on %s passes by the IP stack' %
                     link['netdev'])
        elif link['carrier'] and link['rdma']:
            # That command is this one.
            fix = by['fix'] if by['fix'] != 'usb4net doctor' else \
                'what is said of it above'
            yield warn('bypass', 'RDMA on %s takes the IP stack: %s' % (
                link['netdev'], by['why_not']), fix)


# --- what costs or is lost ------------------------------------------------------

def check_iommu(c):
    name = 'iommu'
    for d in c.domains:
        kind = lib.read(d['pci_path'] + '/iommu_group/type')
        if kind == 'DMA':
            yield note(name, 'the IOMMU is strict for %s: safe, but mapping '
                       'costs for each packet' % d['pci'],
                       'iommu.strict=0 on the kernel command line is faster, '
                       'and unmaps a little later')
        elif not kind or kind == 'identity':
            yield note(name, 'no IOMMU protects memory from what is on the '
                       'cables of %s' % d['pci'],
                       'connect only hosts that you trust',
                       'or turn it on in the firmware (VT-d, AMD-Vi)')
        else:
            yield ok(name, 'IOMMU: %s (%s)' % (kind, d['pci']))


def check_counters(c):
    for link in c.links:
        bad = {k: v for k, v in link['counters'].items()
               if v and ('drop' in k or k in (
                   'rx_lost_frames', 'rx_flow_control_errors',
                   'end_tx_stall', 'end_rx_dead', 'end_tx_dead',
                   'end_protocol'))}
        # What is sent before there is a link is dropped, and no fault.
        bad.pop('tx_drop_link_down', None)
        bad.pop('roce_tx_drop_link_down', None)
        if bad:
            yield note('counters', '%s: %s' % (link['netdev'], ', '.join(
                '%s %d' % i for i in sorted(bad.items()))),
                       'if they go on rising: another cable; then usb4net '
                       'report')
        else:
            yield ok('counters', link['netdev'] + ': nothing was lost')


CHECKS = (check_root, check_controller, check_modules, check_secure_boot,
          check_peers, check_rings, check_links, check_mtu, check_addresses,
          check_firewall, check_rxe, check_rdma, check_bypass, check_memlock,
          check_iommu, check_counters, check_tools)


def examine():
    context = Context()
    found = []
    for check in CHECKS:
        try:
            found += check(context)
        except Exception as e:  # pylint: disable=broad-except
            found.append(note(check.__name__[6:], 'could not be checked: %r' %
                              e))
    return found


def text(found, verbose=False):
    out = []
    for f in found:
        if f['level'] == 'ok' and not verbose:
            continue
        out.append('%-4s  %-12s %s' % (
            f['level'] if f['level'] != 'fail' else 'FAIL', f['check'],
            f['title']))
        out += ['%19sfix: %s' % ('', line) if not n else '%24s%s' % ('', line)
                for n, line in enumerate(f['fix'])]
    bad = sum(f['level'] in ('fail', 'warn') for f in found)
    good = sum(f['level'] == 'ok' for f in found)
    out.append('%d checks are fine, %d problem%s found' % (
        good, bad, '' if bad == 1 else 's'))
    return '\n'.join(out)
