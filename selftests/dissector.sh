#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/wireshark/usb4net.lua on a capture that this test records: tshark finds
# the handshake, puts the frames of every packet together, and sees IP and RoCEv2
# in them, as many as the drivers have counted; and it says what was lost.
#
# beds: uml
# topology: netns
# runs: uml
# timeout: 300
# extra: apps

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

# The emulator of User Mode Linux writes a file of the machine's. The payload's
# directory can be seen from either side.
capture=/usb4net/link.pcapng
outside=$(sed -n 's/.*usb4net\.payload=\([^ ]*\).*/\1/p' /proc/cmdline)/link.pcapng
pings=5

# The lines of /tmp/fields, by name. A field that occurs several times in a frame
# has commas.
fields=(frame.interface_id frame.packet_flags_direction usb4emu.drop usb4net.msg
	usb4net.packet usb4net.frames usb4net.lost icmp.type infiniband.bth.opcode
	ip.version ipv6.version arp.opcode lldp.tlv.type _ws.malformed
	_ws.expert.message usb4emu.kind usb4net.pdf)

# To root's eyes a script of Lua is a danger: as nobody, tshark reads it. What the
# RDMA tests send may look like RPC, and rxe leaves the checksum of UDP out over
# IPv6 as well.
dissect()
{
	local f args=()

	for f in "${fields[@]}"; do
		args+=(-e "$f")
	done
	chmod 644 $capture
	HOME=/tmp setpriv --reuid 65534 --regid 65534 --clear-groups \
		tshark -X lua_script:/usb4net/scripts/usb4net.lua -r $capture \
		--disable-protocol rpcordma \
		-o udp.ignore_ipv6_zero_checksum:TRUE -T fields -E separator='|' "${args[@]}" > /tmp/fields 2> /tmp/tshark
	cat /tmp/tshark
	! grep -qiE 'lua|error' /tmp/tshark && [ -s /tmp/fields ]
}

# count CONDITION: of the lines, in awk's words, with the names' last parts
count()
{
	awk -F '|' '
	{
		iface = $1; dir = substr($2, length($2)) + 0; drop = $3 + 0; msg = $4; packet = $5
		frames = $6; lost = $7; icmp = $8; bth = $9
		any_ip = $10 $11 $12 $13; malformed = $14; expert = $15
		kind = $16; pdf = $17
	}
	'"$1"' { n++ }
	END { print n + 0 }' /tmp/fields
}

# Of each interface: control channel, first and second port; router after router.
a_sent='iface == 1 && dir == 2'
b_got='iface == 4 && dir == 1'
b_sent='iface == 4 && dir == 2'
a_got='iface == 1 && dir == 1'

# is WHAT NUMBER EXPECTED [-ge]
is()
{
	echo "$1: $2, expected $3${4:+ or more}"
	if [ "${4:-}" = -ge ]; then
		[ "$2" -ge "$3" ]
	else
		[ "$2" -eq "$3" ]
	fi
}

record()
{
	link_up usb4net && load_ours && rxe_up || return
	verbs_check b -s 1,4096,65536 -n 4 -o send,write,read &&
		verbs_check -6 a -s 1,65536 -n 4 -o send || return
	ping_ok a "$B_IP" 20000 -c $pings -i 0.1
}

# The next echo, one frame, does not arrive; the one after it does.
lose_one()
{
	emu fault drop router 0 eof 3 count 1 &&
		{ ! ping -n -c 1 -W 1 "$B_IP"; } && ping_ok a "$B_IP"
}

# Nothing may be on its way when the counters are read.
end_of_capture()
{
	local side

	for side in a b; do
		on $side ip link set "$(dev_of $side)" down || return
	done
	for side in a b; do
		sent[$side]=$(ifstat $side tx_packets)
		got[$side]=$(ifstat $side rx_packets)
		roce[$side]=$(counter $side roce_tx_packets)
	done
	emu capture off
}
declare -A sent got roce

handshake()
{
	local msg dir

	for msg in 1 2 3 4; do
		for dir in 1 2; do
			is "message $msg, direction $dir" \
				"$(count "iface == 0 && dir == $dir && msg == $msg")" \
				1 -ge || return
		done
	done
	is "BYE of A, which went first" \
		"$(count "iface == 0 && dir == 2 && msg == 5")" 1 &&
		is "the same at B" "$(count "iface == 3 && dir == 1 && msg == 5")" 1
}

packets()
{
	is "sent by A" "$(count "$a_sent && frames")" "${sent[a]}" &&
	is "sent by B" "$(count "$b_sent && frames")" "${sent[b]}" &&
	is "received by A" "$(count "$a_got && frames")" "${got[a]}" &&
	is "received by B" "$(count "$b_got && frames")" "${got[b]}" &&
	is "of several frames" "$(count "$b_got && frames > 4")" $pings -ge &&
	is "incomplete" "$(count 'expert ~ /incomplete/')" 0
}

roce_packets()
{
	is "RoCE of A" "$(count "$a_sent && packet == 2 && bth != \"\"")" \
		"${roce[a]}" &&
	is "RoCE of B" "$(count "$b_sent && packet == 2 && bth != \"\"")" \
		"${roce[b]}" &&
	is "at least" "${roce[a]}" 20 -ge &&
	is "echo requests of A" "$(count "$a_sent && icmp == 8")" \
		$((pings + 2)) &&
	is "echo replies at A" "$(count "$a_got && icmp == 0 && icmp != \"\"")" \
		$((pings + 1)) &&
	is "packets of no protocol" \
		"$(count "$a_sent && frames && any_ip == \"\"")" 0
}

nothing_malformed()
{
	is "frames of the link" "$(count 'pdf != ""')" 100 -ge &&
	is "malformed" "$(count 'malformed != ""')" 0
}

lost_frame()
{
	is "dropped by a fault" "$(count "$a_sent && drop == 10")" 1 &&
	is "missing at B" "$(count "$b_got && lost == 1")" 1 &&
	is "missing elsewhere" "$(count "!($b_got) && lost != \"\"")" 0 &&
	is "said so" "$(count 'expert ~ /were lost/')" 1
}

ktap_print_header
ktap_set_plan 10
run_step "a capture begins" emu capture "$outside"
run_step "a link comes up, with traffic" record
run_step "a frame is lost" lose_one
run_step "the link goes, and the capture ends" end_of_capture
run_step "tshark reads it" dissect
check "the handshake" handshake
check "every packet is put together from its frames" packets
check "RoCE and ICMP are in them, as many as there were" roce_packets
check "nothing is malformed" nothing_malformed
check "the loss of a frame shows at both ends" lost_frame
ktap_finished
