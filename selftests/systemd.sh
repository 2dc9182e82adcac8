#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# It comes up by itself: in a machine that systemd starts, with our modules and
# tools as "make install" leaves them, the driver is loaded at boot, netdevs get
# their names and addresses, and with usb4net-rdma.service enabled an RDMA device
# each, when the machine boots and whenever a cable comes back. What is configured at
# boot is in systemd.boot. Both ends of the cable are this machine's:
#
#	to-storage: leads to host 1, named by udev, addresses by systemd-networkd
#	usb4net*:   leads to host 0, nothing is configured for it
#
# beds: uml qemu
# topology: netns
# timeout: 400
# uml-mode: real
# init: systemd
# runs: uml
# runs-long: qemu

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

replugs=3
# Where "make install" has put the modules, or DKMS, if packages have been installed
where=usb4net-rdma
[ ! -d /usb4net/rootfs/usr/lib/modules ] || where=dkms

booted()
{
	local state failed

	state=$(timeout 120 systemctl is-system-running --wait)
	failed=$(systemctl --failed --no-legend --plain | awk '{ print $1 }')
	msg "$state; failed: ${failed:-none}"
	# Of the bed's making are none of these.
	! grep -E 'usb4net|systemd-modules-load|networkd|udev' <<< "$failed"
}

module_loaded()
{
	grep -q '^usb4net_rdma ' /proc/modules &&
	systemctl is-active systemd-modules-load.service &&
	ours roce_link usb4net_rdma
}

# ours MODULE...: it is loaded, and modprobe finds it
ours()
{
	local m file

	for m; do
		file=$(modinfo -F filename "$m")
		msg "$m is $file"
		# Not all kernels' modules have a srcversion.
		[[ $file == */updates/$where/* ]] && grep -q O "/sys/module/$m/taint" &&
		[ "$(cat "/sys/module/$m/srcversion" 2> /dev/null)" = \
			"$(modinfo -F srcversion "/usb4net/modules/$m.ko")" ] ||
			fail "not ours" || return
	done
}

# The other device, whatever it is called
other()
{
	local dev

	dev=$(cd /sys/class/net && echo usb4net[0-9]*)
	[ -d "/sys/class/net/$dev" ] && echo "$dev"
}

# to_storage [4]: the device has its name, addresses, carrier, RDMA device and GIDs
to_storage()
{
	carrier a to-storage && rdma link show | grep -q \
		'link rxe_to-storage/1 state ACTIVE .*netdev to-storage' &&
	ip -4 addr show dev to-storage | grep -q 'inet 10.0.7.1/24' &&
	ip -6 addr show dev to-storage scope link | grep -q 'inet6 fe80::' &&
	usb4net --json status to-storage > /tmp/status && python3 - <<- 'END'
	import json
	link, = json.load(open('/tmp/status'))['links']
	gids = link['rdma'][0]['gids']
	assert gids[0]['address'] == '10.0.7.1' and gids[1]['link_local'], gids
	assert link['bypass']['on'], link['bypass']
	END
}

# IPv6 link-local and an RDMA device, without any configuration.
other_end()
{
	local dev

	dev=$(other) && carrier a "$dev" &&
	ip -6 addr show dev "$dev" scope link | grep -q 'inet6 fe80::' &&
	rdma link show | grep "link rxe_$dev/1 state ACTIVE .*netdev $dev"
}

both()
{
	to_storage && other_end
}

state()
{
	usb4net status
	networkctl --no-pager status to-storage
	journalctl -b --no-pager -o short-monotonic -u 'usb4net-rdma*' \
		-u systemd-udevd -u systemd-networkd | tail -n 40
}

comes_up()
{
	patiently 60000 both 2> /dev/null || { both; state; fail "not up"; }
}

gone()
{
	! compgen -G '/sys/class/net/*/usb4net' && ! rdma link show | grep rxe
}

replug()
{
	emu unplug 0.1 && busywait 20000 gone || fail "something stays" || return
	emu plug 0.1 1.1 && comes_up
}

# Past the IP stack between the two devices, or it would stay inside the host.
traffic()
{
	local dev a b

	ours rdma_rxe && dev=$(other) && fix_cpuinfo || return
	a=$(best_gid to-storage 6) && b=$(best_gid "$dev" 6) || return
	msg "GIDs: $a of to-storage, $b of $dev"
	ibv_rc_pingpong -d "rxe_$dev" -g "$b" -n 100 > /tmp/server 2>&1 &
	busywait 10000 listening a 18515 &&
	timeout 30 ibv_rc_pingpong -d rxe_to-storage -g "$a" -n 100 localhost &&
	wait $! && [ "$(ethtool -S to-storage |
		sed -n 's/.* roce_tx_packets: //p')" -ge 100 ]
}

best_gid()
{
	usb4net --json status "$1" > /tmp/status && python3 - "$2" <<- 'END'
	import json, sys
	link, = json.load(open('/tmp/status'))['links']
	print([g['index'] for g in link['rdma'][0]['gids']
	       if g['family'] == int(sys.argv[1])][0])
	END
}

driver_reloaded()
{
	systemctl stop usb4net-rdma.service && mod_unload usb4net_rdma && gone ||
		return
	systemctl start usb4net-rdma.service ||
		fail "$(systemctl status --no-pager -l usb4net-rdma.service)" ||
		return
	comes_up
}

no_rdma()
{
	! rdma link show | grep rxe && carrier a to-storage
}

# Without the unit links have their addresses, and nobody makes RDMA devices.
disabled()
{
	systemctl disable --now usb4net-rdma.service && no_rdma || return
	emu unplug 0.1 && busywait 20000 gone && emu plug 0.1 1.1 &&
	busywait 30000 ip link show dev to-storage && ip link set "$(other)" up &&
	busywait 30000 carrier a to-storage && no_rdma
}

enabled()
{
	systemctl enable --now usb4net-rdma.service && comes_up
}

# The .link example: a name by MAC address.
link_file()
{
	local mac

	mac=$(cat "/sys/class/net/$(other)/address") &&
	sed "s/02:00:00:00:00:01/$mac/; s/to-storage/to-client/" \
		/usb4net/examples/70-usb4net.link > \
		/etc/systemd/network/70-usb4net.link &&
	udevadm control --reload && emu unplug 0.1 && busywait 20000 gone &&
	emu plug 0.1 1.1 && patiently 60000 to_storage 2> /dev/null &&
	patiently 20000 carrier a to-client &&
	rdma link show | grep "link rxe_to-client/1 .*netdev to-client"
}

ktap_print_header
ktap_set_plan $((8 + replugs))
check "the system is up" booted
check "the driver was loaded at boot, and modprobe finds ours" module_loaded
check "names, addresses, RDMA devices, GIDs" comes_up
check "RDMA between them" traffic
for n in $(seq $replugs); do
	check "replug $n" replug
done
check "the driver is unloaded, and loaded by the unit" driver_reloaded
check "the unit is disabled" disabled
check "and enabled" enabled
check "a .link file by MAC address" link_file
ktap_finished
