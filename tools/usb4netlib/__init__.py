# SPDX-License-Identifier: GPL-2.0
"""What the usb4net command knows of this host: everything is read from sysfs
and from the tools that people use themselves (ip, ethtool, rdma, ibv_devinfo)."""

import glob
import ipaddress
import json
import os
import re
import subprocess

VERSION = '0.1'
DRIVER = 'usb4net_rdma'
SERVICE = 'usb4rdma'
# Those that there are patches for rdma_rxe for, see Documentation/kernels.rst
RXE_KERNELS = ('6.12', '7.3')


def read(path, default=''):
    """First line of a file of sysfs or proc."""
    try:
        with open(path, errors='replace') as f:
            return f.readline().strip('\0\n ')
    except OSError:
        return default


def run(*cmd, timeout=20):
    """Status, output and errors of a program; 127 if there is none."""
    env = dict(os.environ, LC_ALL='C')
    env['PATH'] = env.get('PATH', '/usr/bin:/bin') + ':/usr/sbin:/sbin'
    try:
        p = subprocess.run(cmd, stdin=subprocess.DEVNULL, text=True, env=env,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=timeout, errors='replace')
    except FileNotFoundError:
        return 127, '', cmd[0] + ' is not installed'
    except OSError as e:
        return 126, '', str(e)
    except subprocess.TimeoutExpired:
        return 124, '', cmd[0] + ' does not return'
    return p.returncode, p.stdout, p.stderr.strip()


def output(*cmd):
    return run(*cmd)[1]


def from_json(*cmd):
    try:
        return json.loads(output(*cmd) or '[]')
    except ValueError:
        return []


def loaded(module):
    return os.path.isdir('/sys/module/' + module)


def rxe_kind():
    """'patched', 'stock' or None, of the rdma_rxe that is loaded."""
    if not loaded('rdma_rxe'):
        return None
    if os.path.isdir('/sys/module/roce_link/holders/rdma_rxe'):
        return 'patched'
    return 'stock'


def kernel_log():
    text = output('dmesg') or output('journalctl', '-k', '-b', '-q',
                                     '--no-pager', '-o', 'cat')
    return text.splitlines()


# --- the Thunderbolt bus -----------------------------------------------------

BUS = '/sys/bus/thunderbolt/devices'


def domains():
    found = []
    for path in sorted(glob.glob(BUS + '/domain*')):
        pci = os.path.dirname(os.path.realpath(path))
        found.append({
            'name': os.path.basename(path),
            'security': read(path + '/security'),
            'iommu_dma_protection': read(path + '/iommu_dma_protection'),
            'pci': os.path.basename(pci),
            'pci_path': pci,
        })
    return found


def hosts():
    """The hosts at the other ends of the cables, with their services."""
    found = []
    for path in sorted(glob.glob(BUS + '/*-*')):
        name = os.path.basename(path)
        # A peer's UUID is known, and it is not a device to authorise.
        if '.' in name or not os.path.exists(path + '/unique_id') or \
                os.path.exists(path + '/authorized') or name.endswith('-0'):
            continue
        keys = [read(p) for p in glob.glob(path + '/*/key')]
        found.append({
            'device': name,
            'uuid': read(path + '/unique_id'),
            'name': read(path + '/device_name'),
            'services': keys,
            'offers_us': SERVICE in keys,
        })
    return found


def unauthorised():
    """Devices between here and the hosts that were not let in."""
    return [{'device': os.path.basename(os.path.dirname(p)),
             'name': read(os.path.dirname(p) + '/device_name'),
             'uuid': read(os.path.dirname(p) + '/unique_id')}
            for p in sorted(glob.glob(BUS + '/*-*/authorized'))
            if read(p) == '0']


# --- links -----------------------------------------------------------------

def netdevs():
    return [p.split('/')[4] for p in
            sorted(glob.glob('/sys/class/net/*/usb4net'))]


def ethtool_stats(dev):
    return {m[0]: int(m[1]) for m in
            re.findall(r'^\s*(\w+): (\d+)$', output('ethtool', '-S', dev), re.M)}


def private_flags(dev):
    return dict(re.findall(r'^([\w-]+)\s*: (on|off)$',
                           output('ethtool', '--show-priv-flags', dev), re.M))


def speed_of(dev):
    text = output('ethtool', dev)
    speed = re.search(r'Speed: (\d+)Mb/s', text)
    lanes = re.search(r'Lanes: (\d+)', text)
    return (int(speed[1]) if speed else None, int(lanes[1]) if lanes else None)


def pci_of(dev):
    """PCI address of the host interface that the cable is at."""
    path = os.path.realpath('/sys/class/net/%s/device' % dev)
    while len(path) > 1:
        if os.path.exists(path + '/vendor') and os.path.exists(path + '/class'):
            return os.path.basename(path)
        path = os.path.dirname(path)
    return None


def gids_of(rdma):
    """The GID table. IPv4 addresses come first, since they work everywhere."""
    text = output('ibv_devinfo', '-v', '-d', rdma)
    found = []
    for index, gid, kind in re.findall(
            r'GID\[\s*(\d+)\]:\s+([0-9a-fA-F:.]+)(?:,\s*(.+))?', text):
        try:
            addr = ipaddress.IPv6Address(gid)
        except ValueError:
            continue
        if int(addr) == 0 or kind.strip() not in ('', 'RoCE v2'):
            continue
        found.append({'index': int(index), 'gid': str(addr),
                      'address': str(addr.ipv4_mapped or addr),
                      'family': 4 if addr.ipv4_mapped else 6,
                      'link_local': addr.is_link_local})
    return sorted(found, key=lambda g: (g['family'] != 4, g['link_local'],
                                        g['index']))


def rdma_of(dev, all_rdma=None):
    if all_rdma is None:
        all_rdma = from_json('rdma', '-j', 'link', 'show')
    found = []
    for r in all_rdma:
        if r.get('netdev') != dev:
            continue
        found.append({'name': r['ifname'], 'port': r.get('port', 1),
                      'state': r.get('state', ''),
                      'gids': gids_of(r['ifname'])})
    return found


def bypass_of(link):
    """Whether RDMA packets pass by the IP stack, and if not, why."""
    flag = link['private_flags'].get('roce-bypass')
    dev = link['netdev']
    if flag == 'off':
        return False, 'turned off here', \
            'ethtool --set-priv-flags %s roce-bypass on' % dev
    if rxe_kind() == 'stock':
        return False, "the kernel's own rdma_rxe is loaded, not the patched " \
            'one', 'usb4net doctor'
    if not link['rdma']:
        return False, 'no RDMA device', 'usb4net up ' + dev
    if not link['carrier']:
        return False, 'the link is down', 'usb4net doctor'
    if link['counters'].get('roce_peer_gids') == 0:
        return False, 'the peer wants none past its IP stack: no RDMA ' \
            'device there, its own rdma_rxe, or turned off', \
            'usb4net status, on the peer'
    return True, '', ''


def link_of(dev, addresses, all_rdma):
    base = '/sys/class/net/' + dev
    own = base + '/usb4net/'
    info = addresses.get(dev, {})
    flags = info.get('flags', [])
    speed, lanes = speed_of(dev)
    counters = ethtool_stats(dev)
    link = {
        'netdev': dev,
        'up': 'UP' in flags,
        'carrier': read(base + '/carrier') == '1',
        'state': read(own + 'state'),
        'last_end': read(own + 'last_end'),
        'protocol_version': int(read(own + 'protocol_version', '0') or 0),
        'peer': {'uuid': read(own + 'peer_uuid'), 'name': read(own + 'peer_name'),
                 'vendor': read(own + 'peer_vendor')},
        'local_uuid': read(own + 'local_uuid'),
        'port': int(read(own + 'port', '0') or 0),
        'pci': pci_of(dev),
        'mac': info.get('address', ''),
        'master': info.get('master'),
        'mtu': info.get('mtu', 0),
        'peer_mtu': counters.get('peer_mtu'),
        'speed_mbps': speed,
        'lanes': lanes,
        'addresses': ['%s/%d' % (a['local'], a['prefixlen'])
                      for a in info.get('addr_info', []) if 'local' in a],
        'private_flags': private_flags(dev),
        'rdma': rdma_of(dev, all_rdma),
        'counters': counters,
    }
    on, why, fix = bypass_of(link)
    link['bypass'] = {'on': on, 'why_not': why, 'fix': fix,
                      'sent': counters.get('roce_tx_packets', 0),
                      'received': counters.get('roce_rx_packets', 0)}
    return link


def links(only=None):
    addresses = {i['ifname']: i for i in from_json('ip', '-j', 'addr', 'show')
                 if 'ifname' in i}
    all_rdma = from_json('rdma', '-j', 'link', 'show')
    return [link_of(d, addresses, all_rdma) for d in netdevs()
            if only in (None, d)]


def other_hosts(found):
    """Hosts on a cable that have no network device of ours here."""
    have = {link['peer']['uuid'] for link in found}
    return [h for h in hosts() if h['uuid'] not in have]


def status(only=None):
    found = links(only)
    return {
        'version': VERSION,
        'kernel': os.uname().release,
        'modules': {m: loaded(m) for m in
                    ('thunderbolt', DRIVER, 'roce_link', 'rdma_rxe',
                     'thunderbolt_net')},
        'rdma_rxe': rxe_kind(),
        'domains': len(domains()),
        'links': found,
        'other_hosts': [] if only else other_hosts(found),
    }
