# SPDX-License-Identifier: GPL-2.0
#
# Takes one side of the conditions that only exist because the driver is built
# outside the kernel: its version, and how its rings are driven.
#
#	resolve.py KERNEL-MAKEFILE < FROM > TO
import re
import sys

KNOWN = {'U4N_RING_BATCH': True}
VERSION = re.compile(r'LINUX_VERSION_CODE\s*(<|>=)\s*'
                     r'KERNEL_VERSION\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)$')


def kernel_version(makefile):
    text = open(makefile).read()
    return tuple(int(re.search(rf'^{key} = (\d+)', text, re.M).group(1))
                 for key in ('VERSION', 'PATCHLEVEL', 'SUBLEVEL'))


def decide(kind, condition, version):
    """True or False for a condition of ours, None for any other one."""
    if kind in ('ifdef', 'ifndef'):
        known = KNOWN.get(condition)
        return known if known is None or kind == 'ifdef' else not known
    match = VERSION.match(condition)
    if match:
        than = tuple(int(n) for n in match.groups()[1:])
        return version < than if match.group(1) == '<' else version >= than
    if 'LINUX_VERSION_CODE' in condition:
        sys.exit(f'resolve.py: cannot decide: {condition}')
    return None


def resolve(lines, version):
    # Of each open condition: what it came to, and whether this side is kept.
    stack = []
    for line in lines:
        match = re.match(r'#\s*(ifdef|ifndef|if|elif|else|endif)\b\s*(.*?)\s*'
                         r'(/\*.*\*/)?$', line)
        keep = all(kept for _, kept in stack)
        if not match:
            if keep:
                yield line
            continue
        kind, condition = match.group(1), match.group(2)
        if kind in ('if', 'ifdef', 'ifndef'):
            value = decide(kind, condition, version)
            stack.append([value, value is not False])
            keep = keep and value is None
        elif kind == 'endif':
            keep = all(kept for _, kept in stack[:-1]) and stack.pop()[0] is None
        elif stack[-1][0] is not None:
            if kind == 'elif':
                sys.exit(f'resolve.py: elif of a condition of ours: {line}')
            stack[-1][1] = not stack[-1][0]
            keep = False
        if keep:
            yield line


def main():
    text = '\n'.join(resolve(sys.stdin.read().split('\n'),
                             kernel_version(sys.argv[1])))
    if 'LINUX_VERSION_CODE' not in text:
        text = text.replace('#include <linux/version.h>\n', '')
    # What was between two conditions may leave an empty line too many.
    sys.stdout.write(re.sub(r'\n{3,}', '\n\n', text))


main()
