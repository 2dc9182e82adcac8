#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The usb4net command: each of its subcommands does what the manual page says, what
# status shows is what ip, ethtool and sysfs show, and each fault that can be
# planted is named by doctor, with a fix, and no longer named when it is gone.
#
# The host interfaces have three rings, two pairs for data, so that thunderbolt_net
# can take what we need.
#
# beds: uml qemu
# topology: netns
# timeout: 400
# uml-mode: real
# emu-args: -n 3
# runs: uml
# runs-long: qemu

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

usb4net=/usb4net/tools/usb4net
ulimit -l unlimited

# json FILE EXPRESSION: a Python expression of the document d is true
json()
{
	python3 - "$@" <<- 'END'
	import json, sys
	d = json.load(open(sys.argv[1]))
	if not eval('(' + sys.argv[2] + ')'):
	    print(json.dumps(d, indent=1)[:4000])
	    sys.exit("not true: " + sys.argv[2])
	END
}

# named CHECK LEVEL [WORDS]: doctor says so, and what to do
named()
{
	local rc=0

	$usb4net --json doctor > /tmp/doctor || rc=$?
	[ "$2" = note ] || [ $rc = 1 ] || fail "exit status $rc" || return
	json /tmp/doctor "[f for f in d if f['check'] == '$1' and
		f['level'] == '$2' and '''${3:-}''' in f['title'] and f['fix']]" &&
	$usb4net doctor | grep -A 1 -i "^$2 .*$1 .*${3:-}" | grep 'fix: ..'
}

not_named()
{
	$usb4net --json doctor > /tmp/doctor
	json /tmp/doctor "not [f for f in d if f['check'] == '$1' and
		f['level'] in ('fail', 'warn')]"
}

healthy()
{
	local rc=0

	$usb4net doctor -v || rc=$?
	[ $rc = 0 ] || fail "doctor ends with $rc"
}

# --- up, status, down ---------------------------------------------------------

appears()
{
	_load_unplugged usb4net_rdma && load_ours && link_wait
}

still_down()
{
	named link fail "$A_DEV is down" && $usb4net status | grep -q 'DOWN' &&
	$usb4net --json > /tmp/status &&
	json /tmp/status "d['links'][0]['up'] is False" &&
	! $usb4net status nosuch0 && ! $usb4net up nosuch0
}

# B first: nobody is at the other end yet, which is said in one document of JSON.
both_up()
{
	! on_b $usb4net --json up "$B_DEV" --no-rdma --wait 1 > /tmp/up &&
	json /tmp/up "'no carrier' in d['error']" &&
	on_b $usb4net up "$B_DEV" $B_IP/24 --no-wait &&
		$usb4net up "$A_DEV" $A_IP/24 $A_IP6/64 || return
	on_b $usb4net up "$B_DEV" $B_IP6/64 || return
	A_RXE=$(rdma_of a "$A_DEV") && B_RXE=$(rdma_of b "$B_DEV") || return
	busywait 10000 gids_of_all &&
	busywait 10000 sh -c "$usb4net status | grep 'bypass *on'"
}

gids_of_all()
{
	gid_index a 4 && gid_index a 6 && gid_index b 4
}

rdma_of()
{
	on "$1" rdma link show | awk -v d="$2" '$NF == d { sub("/.*", "", $2)
		print $2; f = 1 } END { exit !f }'
}

again()
{
	$usb4net up "$A_DEV" && [ "$(rdma link show | grep -c "$A_DEV")" = 1 ]
}

# rdma_rxe refuses once, as when two devices are created at the same time.
refused_once()
{
	local shim=/tmp/shim

	mkdir $shim && cat > $shim/rdma <<- END && chmod +x $shim/rdma || return
	#!/bin/sh
	if [ "\$1 \$2" = "link add" ] && [ ! -e $shim/tried ]; then
	    touch $shim/tried
	    echo "error: Operation not permitted" >&2
	    exit 1
	fi
	exec $(command -v rdma) "\$@"
	END
	$usb4net down "$A_DEV" --rdma-only && PATH=$shim:$PATH $usb4net up "$A_DEV" &&
		[ -e $shim/tried ] && rdma_of a "$A_DEV" && busywait 10000 gids_of_all
}

status_is_true()
{
	local base=/sys/class/net/$A_DEV speed

	$usb4net status "$A_DEV" && $usb4net --json status > /tmp/status || return
	speed=$(ethtool "$A_DEV" | sed -n 's/.*Speed: \([0-9]*\)Mb.*/\1/p')
	json /tmp/status "[(l['netdev'], l['peer']['uuid'], l['port'], l['mtu'],
		l['speed_mbps'], l['mac'], l['rdma'][0]['name'])
		for l in d['links']] == [('$A_DEV', '$(< "$base/usb4net/peer_uuid")',
		$(< "$base/usb4net/port"), $(< "$base/mtu"), $speed,
		'$(< "$base/address")', '$A_RXE')]" &&
	json /tmp/status "{'$A_IP/24', '$A_IP6/64'} <=
		set(d['links'][0]['addresses'])" &&
	json /tmp/status "[(g['index'], g['address']) for g in
		d['links'][0]['rdma'][0]['gids'][:2]] ==
		[($(gid_index a 4), '$A_IP'), ($(gid_index a 6), '$A_IP6')]" &&
	json /tmp/status "d['links'][0]['bypass']['on'] and
		d['rdma_rxe'] == 'patched'"
}

goes_down()
{
	$usb4net down "$A_DEV" --rdma-only && ! rdma_of a "$A_DEV" &&
	[ "$(< "/sys/class/net/$A_DEV/operstate")" = up ] &&
	named rdma warn "no RDMA device on $A_DEV" &&
	$usb4net status | grep 'bypass *off: no RDMA device' &&
	$usb4net down "$A_DEV" &&
	[ "$(< "/sys/class/net/$A_DEV/operstate")" = down ] &&
	$usb4net up "$A_DEV" $A_IP/24
}

# --- faults -------------------------------------------------------------------

memlock()
{
	(ulimit -l 64; named memlock warn) && not_named memlock
}

mtu()
{
	ip link set "$A_DEV" mtu 1500 &&
	busywait 5000 named mtu warn 'at the peer' &&
	named mtu warn 'RDMA needs' && ip link set "$A_DEV" mtu 65520 &&
	busywait 5000 not_named mtu
}

firewall()
{
	nft add table inet planted &&
	nft 'add chain inet planted in { type filter hook input priority 0; policy drop; }' &&
	named firewall warn 'inet planted in' || return
	# What doctor says is right
	nft insert rule inet planted in iifname "$A_DEV" accept &&
	not_named firewall && nft delete table inet planted
}

turned_off()
{
	ethtool --set-priv-flags "$A_DEV" roce-bypass off &&
	named bypass warn 'turned off here' &&
	ethtool --set-priv-flags "$A_DEV" roce-bypass on &&
	busywait 5000 not_named bypass
}

turned_off_by_peer()
{
	on_b ethtool --set-priv-flags "$B_DEV" roce-bypass off &&
	busywait 5000 named bypass warn 'the peer wants none' &&
	on_b ethtool --set-priv-flags "$B_DEV" roce-bypass on &&
	busywait 5000 not_named bypass
}

# Index 0 is link-local, until there is nothing else.
gid_index_0()
{
	named gid note "use index $(gid_index a 4) of $A_RXE ($A_IP)"
}

no_program()
{
	(
		mount -t tmpfs none /mnt && touch /mnt/none &&
		mount --bind /mnt/none /usr/bin/iperf3 || exit
		named tools warn iperf3
		rc=$?
		umount /usr/bin/iperf3 /mnt
		exit $rc
	) && not_named tools
}

# What the emulated machine does not have, in place of the bus's directory: a
# device that waits for authorisation, a host without the service, an IOMMU.
other_bus()
{
	local bus=/sys/bus/thunderbolt/devices fake=/tmp/bus rc=0

	mkdir -p $fake/0-3 $fake/0-5 $fake/pci/{domain7,iommu_group} &&
	cp -P $bus/* $fake/ &&
	for f in "$fake"/*; do
		[ ! -L "$f" ] || ln -sfn "$(readlink -f "$bus/${f##*/}")" "$f"
	done
	echo 0 > $fake/0-3/authorized
	echo dock > $fake/0-3/device_name
	echo 11111111-2222-3333-4444-555555555555 | tee $fake/0-3/unique_id \
		> $fake/0-5/unique_id
	echo mute > $fake/0-5/device_name
	echo DMA > $fake/pci/iommu_group/type
	ln -sfn $fake/pci/domain7 $fake/domain7
	mount --bind $fake $bus || return
	named unauthorised fail dock && named peer fail 'host mute' &&
		named iommu note strict && named iommu note 'no IOMMU' &&
		$usb4net status | grep 'host mute .*does not offer' || rc=1
	umount $bus
	[ $rc = 0 ] && not_named unauthorised && not_named peer
}

no_xdomain()
{
	local file=/sys/module/thunderbolt/parameters/xdomain rc

	[ -e $file ] || return
	echo N > /tmp/xdomain && mount --bind /tmp/xdomain $file || return
	named peer fail 'thunderbolt.xdomain=0'
	rc=$?
	umount $file
	return $rc
}

stock_rxe()
{
	$usb4net down "$A_DEV" --rdma-only && on_b $usb4net down "$B_DEV" &&
	mod_unload rdma_ucm rdma_rxe && load_stock_rxe &&
	$usb4net up "$A_DEV" --no-wait && on_b $usb4net up "$B_DEV" || return
	$usb4net status | grep "bypass *off: the kernel's own rdma_rxe" &&
	named rxe fail "the kernel's own rdma_rxe is loaded" &&
	! $usb4net doctor | grep 'fix: usb4net doctor'
}

# It never gets as far as to be loaded.
secure_boot()
{
	local rc=0

	$usb4net down "$A_DEV" --rdma-only && on_b $usb4net down "$B_DEV" &&
	mod_unload rdma_ucm rdma_rxe || return
	not_named secure-boot && mount -t tmpfs none /sys/firmware &&
	mkdir -p /sys/firmware/efi/efivars || return
	printf '\6\0\0\0\1' > \
	  /sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
	named secure-boot fail 'Secure Boot is on' || rc=1
	umount /sys/firmware
	[ $rc = 0 ] || return
	echo 'Loading of unsigned module is rejected' > /dev/kmsg
	named secure-boot fail 'the kernel has refused a module' && load_ours &&
		not_named secure-boot
}

# A second cable, so that thunderbolt_net has two devices: there are two pairs.
rings_taken()
{
	local dev route devs=()

	$usb4net down "$A_DEV" && on_b $usb4net down && emu plug 0.3 1.3 &&
		mod_load thunderbolt_net || return
	for route in 1 3; do
		dev=$(busywait 30000 /usb4net/bed/netdev name 0 thunderbolt $route) &&
			ip link set "$dev" up || return
		devs+=("$dev")
	done
	! $usb4net up "$A_DEV" 2> /tmp/err && cat /tmp/err &&
	grep -q 'no free pair of rings' /tmp/err &&
	named rings fail "thunderbolt_net has taken them for" &&
	named rings fail "${devs[0]}" && named rings fail "${devs[1]}" || return
	# The fix
	ip link set "${devs[0]}" down && mod_unload thunderbolt_net &&
	emu unplug 0.3 && $usb4net up "$A_DEV" $A_IP/24 --no-wait &&
	on_b $usb4net up "$B_DEV" && busywait 5000 not_named rings
}

no_cable()
{
	emu unplug 0.1 && busywait 10000 named peer fail 'no other host' &&
	! $usb4net && ! $usb4net up --wait 1 2> /tmp/err &&
	grep -q 'no link appears' /tmp/err && dmesg | tail -n 3 &&
	echo '<3>thunderbolt 0-1: failed to parse XDomain properties' > /dev/kmsg &&
	named peer fail 'could not read'
}

nothing()
{
	mod_unload rdma_ucm rdma_rxe usb4net_rdma roce_link thunderbolt &&
	named controller fail && named modules fail 'for the running kernel'
}

# --- bench, report, completion ---------------------------------------------------

bench()
{
	local pid rc=0

	fix_cpuinfo
	bg_on b $usb4net bench --serve > /tmp/serve 2>&1
	pid=$BG_PID
	busywait 10000 grep -q waiting /tmp/serve || fail "$(cat /tmp/serve)" ||
		return
	timeout 250 $usb4net bench --seconds 1 --count 20 --events \
		--svg /tmp/plot.svg --json > /tmp/bench || rc=$?
	kill $pid 2> /dev/null
	wait $pid
	msg "$(cat /tmp/serve)"
	# On a machine without time to spare perftest finds no clock to measure with.
	[ $rc -le 1 ] && json /tmp/bench "len(d['results']) ==
		15 - len(d['failed']) and len(d['failed']) <= 3 and
		all('clock' in f['why'] for f in d['failed']) and
		all(r['value'] > 0 for r in d['results'])" &&
	json /tmp/bench "d['bypassed_packets'] > 200 and d['dropped'] == 0 and
		d['address'] == '$B_IP'" &&
	python3 - <<- 'END'
	import xml.dom.minidom as m
	d = m.parse('/tmp/plot.svg')
	assert len(d.getElementsByTagName('rect')) >= 3
	END
}

# Nobody serves: it says what to do.
bench_alone()
{
	! $usb4net bench 2> /tmp/err && cat /tmp/err &&
		grep -q 'bench --serve' /tmp/err
}

# complains WORDS ARGUMENT...: the command refuses, with status 2, in these words
complains()
{
	local rc=0

	$usb4net "${@:2}" > /dev/null 2> /tmp/err || rc=$?
	[ $rc = 2 ] && grep -q -- "$1" /tmp/err && ! grep Traceback /tmp/err && return
	fail "${*:2}: $rc $(cat /tmp/err)"
}

# What is wrong is said at once, and what would be right.
wrong_input()
{
	complains "there are: $A_DEV" status nosuch0 &&
	complains "there are: $A_DEV" up nosuch0 &&
	complains "there are: $A_DEV" down nosuch0 &&
	complains "there are: $A_DEV" bench --device nosuch0 &&
	complains 'needs a device' up $A_IP/24 &&
	complains "$A_IP/24" up "$A_DEV" $A_IP &&
	complains '68 to 65520' up --mtu 0 &&
	complains '1 to 3600' bench --seconds 0 &&
	complains '5 to 1000000' bench --count 1 &&
	complains 'argument --peer' bench --peer nosuchhost &&
	complains 'there are: ping' bench --tests pong &&
	! $usb4net --json bench --seconds 0 > /tmp/said 2> /dev/null &&
	json /tmp/said "'1 to 3600' in d['error']" &&
	! $usb4net nonsense --json > /tmp/said 2> /dev/null &&
	json /tmp/said "'nonsense' in d['error']" &&
	complains 'cannot write' report -o /nosuchdir/report
}

# Who is not root gets what can be seen without, and is told so.
not_root()
{
	local usb4net="setpriv --reuid=65534 --clear-groups $usb4net"

	complains 'sudo usb4net up' up && complains 'sudo usb4net down' down &&
	$usb4net status && named root note 'firewalls need root'
}

report()
{
	local base=/sys/class/net/$A_DEV word n=0

	$usb4net report -o /tmp/report && $usb4net report --full > /tmp/full ||
		return
	for word in "$(< "$base/address")" "$(< "$base/usb4net/peer_uuid")" \
		"$(< "$base/usb4net/local_uuid")" $A_IP $A_IP6 "$(hostname)" \
		"$(ip -6 addr show dev "$A_DEV" scope link |
			sed -n 's|.*inet6 \(fe80[^/]*\)/.*|\1|p')"; do
		[ -n "$word" ] || return
		grep -qF -- "$word" /tmp/full || fail "$word is not in the full one" ||
			return
		! grep -F -- "$word" /tmp/report || fail "$word" || return
		n=$((n + 1))
	done
	grep -q "roce_peer_gids" /tmp/report && grep -q 'checks are fine' \
		/tmp/report && [ $n = 7 ]
}

completion()
{
	bash -c '. /usb4net/tools/usb4net.bash
		COMP_WORDS=(usb4net u) COMP_CWORD=1; _usb4net
		[ "${COMPREPLY[*]}" = up ] || exit
		COMP_WORDS=(usb4net up "") COMP_CWORD=2; _usb4net
		[[ " ${COMPREPLY[*]} " == *" '"$A_DEV"' "* ]]'
}

ktap_print_header
ktap_set_plan 28
run_step "the driver is loaded, and a link appears" appears
check "status and doctor say that it is down" still_down
run_step "up" both_up
check "up once more" again
check "up, when rdma_rxe refuses once" refused_once
check "what status shows is so" status_is_true
check "doctor finds nothing wrong" healthy
check "bench says what is missing" bench_alone
check "bench" bench
check "wrong input" wrong_input
check "not root" not_root
check "report keeps personal details" report
check "completion" completion
check "doctor: memlock" memlock
check "doctor: MTU" mtu
check "doctor: firewall" firewall
check "doctor: bypass turned off" turned_off
check "doctor: bypass turned off by the peer" turned_off_by_peer
check "doctor: GID index" gid_index_0
check "doctor: a program is missing" no_program
check "doctor: unauthorised, host without the service, IOMMU" other_bus
check "doctor: no connections between hosts" no_xdomain
check "down" goes_down
check "doctor: the kernel's own rdma_rxe" stock_rxe
check "doctor: Secure Boot" secure_boot
check "doctor: thunderbolt_net has the rings" rings_taken
check "doctor: no cable" no_cable
check "doctor: nothing at all" nothing
ktap_finished
