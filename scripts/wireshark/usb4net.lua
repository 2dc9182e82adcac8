-- SPDX-License-Identifier: GPL-2.0
--
-- Wireshark dissector for captures of usb4emu (Documentation/emulator.rst) and
-- the protocol of usb4net_rdma in them (Documentation/protocol.rst):
--
--	wireshark -X lua_script:scripts/wireshark/usb4net.lua FILE.pcapng
--
-- A frame on the cable is "usb4emu", what usb4net_rdma makes of it "usb4net".
-- The frames of a packet are put together again, in each direction at each end
-- of a cable, and the packet is shown below the last one. What "sent" of a frame
-- says of frames that are not in the capture is marked as lost.

local drops = {
	[0] = "delivered", "no_path", "peer_no_path", "bad_path", "loop",
	"unplugged", "rx_disabled", "overflow", "pdf", "dma", "fault",
}
local pdfs = {
	[2] = "HEAD_END", [3] = "HEAD_ONLY", [4] = "BODY_EVEN", [5] = "BODY_ODD",
	[6] = "CONTROL",
}
local types = {
	[1] = "ETH", [2] = "ROCE", [16] = "CREDIT", [17] = "PROBE",
	[18] = "PROBE_ACK", [19] = "KEEPALIVE", [20] = "GIDS", [21] = "GIDS_ACK",
}
local messages = {
	"HELLO", "HELLO_ACK", "READY", "READY_ACK", "BYE", "BYE_ACK",
}
local statuses = {
	[0] = "OK", "DOWN", "BUSY", "VERSION", "STALE", "UNKNOWN",
}
local reasons = {
	[0] = "none", "device closed", "peer has left", "peer has restarted",
	"session unknown to the peer", "setup failed", "peer not ready in time",
	"no probe came through", "nothing received", "peer does not hear us",
	"transmit ring stalled", "flow control broken",
}
local control_types = {
	[1] = "read", [2] = "write", [3] = "error or notification",
	[4] = "notification acknowledged", [5] = "hot plug",
	[6] = "XDomain request", [7] = "XDomain response", [8] = "mode change",
	[10] = "ICM event", [11] = "ICM request", [12] = "ICM response",
}
local SOF, HEAD_END, HEAD_ONLY, BODY_EVEN, BODY_ODD, CONTROL = 1, 2, 3, 4, 5, 6
local HEAD_LEN, CTL_LEN = 48, 24
local ROCE, NO_ICRC, TRAILER_MAX = 2, 0x80, 7
local SERVICE = "ce9f25d8-fb8a-4afb-8bea-0456e9da5722"

-- The capture's own header -----------------------------------------------

local emu = Proto("usb4emu", "USB4 frame, emulated")
local e = {
	version = ProtoField.uint8("usb4emu.version", "Version"),
	kind = ProtoField.uint8("usb4emu.kind", "Kind", base.DEC,
		{ [0] = "frame", "control packet" }),
	sof = ProtoField.uint8("usb4emu.sof", "Start tag"),
	eof = ProtoField.uint8("usb4emu.eof", "End tag"),
	type = ProtoField.uint8("usb4emu.type", "Control packet", base.DEC,
		control_types),
	hop = ProtoField.uint16("usb4emu.hop", "HopID"),
	ring = ProtoField.uint16("usb4emu.ring", "Ring"),
	drop = ProtoField.uint8("usb4emu.drop", "Fate", base.DEC, drops),
	router = ProtoField.uint8("usb4emu.peer_router", "Other end: router"),
	adapter = ProtoField.uint8("usb4emu.peer_adapter", "Other end: adapter"),
	len = ProtoField.uint32("usb4emu.len", "Length"),
	route = ProtoField.uint64("usb4emu.route", "Route", base.HEX),
}
emu.fields = e
local dropped = ProtoExpert.new("usb4emu.dropped", "Frame was lost",
	expert.group.SEQUENCE, expert.severity.WARN)
emu.experts = { dropped }

-- Our protocol -----------------------------------------------------------

local u4n = Proto("usb4net", "USB4 networking and RDMA")
local f = {
	pdf = ProtoField.uint8("usb4net.pdf", "Frame", base.DEC, pdfs),
	type = ProtoField.uint8("usb4net.type", "Type", base.DEC, types),
	flags = ProtoField.uint8("usb4net.flags", "Flags", base.HEX),
	gen = ProtoField.uint16("usb4net.gen", "Generation", base.HEX),
	sent = ProtoField.uint32("usb4net.sent", "Frames sent before"),
	limit = ProtoField.uint32("usb4net.limit", "Limit"),
	lost = ProtoField.uint32("usb4net.lost", "Frames lost before this one"),
	seq = ProtoField.uint32("usb4net.seq", "Packet"),
	len = ProtoField.uint32("usb4net.len", "Length of the packet"),
	inl = ProtoField.uint16("usb4net.inl", "Bytes of it in this frame"),
	bodies = ProtoField.uint8("usb4net.bodies", "BODY frames"),
	gso_type = ProtoField.uint8("usb4net.gso_type", "Segmentation", base.HEX),
	gso_hdr_len = ProtoField.uint16("usb4net.gso_hdr_len", "Headers"),
	gso_size = ProtoField.uint16("usb4net.gso_size", "Segment size"),
	csum_start = ProtoField.uint16("usb4net.csum_start", "Checksum from"),
	csum_offset = ProtoField.uint16("usb4net.csum_offset", "Checksum at"),
	outer_th = ProtoField.uint16("usb4net.outer_th", "Outer transport header"),
	inner_nh = ProtoField.uint16("usb4net.inner_nh", "Inner network header"),
	npsn = ProtoField.uint8("usb4net.npsn", "PSNs"),
	data = ProtoField.bytes("usb4net.data", "Bytes of the packet"),
	frames = ProtoField.uint32("usb4net.frames", "Frames of the packet"),
	packet = ProtoField.uint8("usb4net.packet", "Complete packet", base.DEC,
		types),
	arg = ProtoField.uint32("usb4net.arg", "Argument", base.DEC_HEX),
	cookie = ProtoField.uint32("usb4net.cookie", "Cookie", base.HEX),
	peer_cookie = ProtoField.uint32("usb4net.peer_cookie",
		"Receiver's cookie", base.HEX),
	count = ProtoField.uint16("usb4net.count", "GIDs"),
	gid = ProtoField.ipv6("usb4net.gid", "GID"),
	msg = ProtoField.uint32("usb4net.msg", "Message", base.DEC, messages),
	id = ProtoField.uint32("usb4net.id", "Request"),
	status = ProtoField.uint32("usb4net.status", "Status", base.DEC, statuses),
	reason = ProtoField.uint32("usb4net.reason", "Reason", base.DEC, reasons),
	vmin = ProtoField.uint16("usb4net.version_min", "Lowest version"),
	vmax = ProtoField.uint16("usb4net.version_max", "Highest version"),
	hopid = ProtoField.uint32("usb4net.hopid", "Sends on HopID"),
	window = ProtoField.uint32("usb4net.window", "Window"),
	mtu = ProtoField.uint32("usb4net.mtu", "MTU"),
	caps = ProtoField.uint32("usb4net.caps", "Capabilities", base.HEX),
	mac = ProtoField.ether("usb4net.mac", "MAC address"),
	limits = ProtoField.uint32("usb4net.limits", "Limits", base.HEX),
}
u4n.fields = f
local lost = ProtoExpert.new("usb4net.lost_frames", "Frames were lost before",
	expert.group.SEQUENCE, expert.severity.WARN)
local broken = ProtoExpert.new("usb4net.incomplete", "Packet is incomplete",
	expert.group.REASSEMBLE, expert.severity.WARN)
u4n.experts = { lost, broken }

local ethernet = Dissector.get("eth_withoutfcs")
local interface = Field.new("frame.interface_id")
local direction = Field.new("frame.packet_flags_direction")

-- State of the first pass, one entry for each place and direction: the packet
-- that is being put together, frames seen, session. "done" keeps what came out of
-- it by number of the frame, since frames are shown in any order later.
local streams, done

function u4n.init()
	streams, done = {}, {}
end

local function stream_of(range)
	local key = table.concat({ interface() and interface().value or 0,
		direction() and direction().value or 0,
		range(4, 2):uint(), range(6, 2):uint() }, ":")

	streams[key] = streams[key] or {}
	return streams[key]
end

-- A tbnet header has other bytes there: "is this a HEAD of ours?"
local function head_ok(tvb)
	return tvb:len() >= HEAD_LEN + 14 and
		(tvb(0, 1):uint() == 1 or tvb(0, 1):uint() == ROCE) and
		tvb(20, 2):le_uint() == tvb:len() - HEAD_LEN and
		tvb(22, 1):uint() <= 17
end

local function is_body(eof)
	return eof == BODY_EVEN or eof == BODY_ODD
end

-- Frames that "sent" counts and that have not been seen here.
local function count_lost(s, tvb)
	local gen, sent = tvb(2, 2):le_uint(), tvb(4, 4):le_uint()
	local gap = 0

	if s.gen ~= gen then
		-- the first frame of a session that is in the capture
		s.gen, s.seen = gen, sent
	elseif sent > s.seen then
		gap = sent - s.seen
		s.seen = sent
	end
	return gap
end

local function forget(s)
	s.bodies, s.n, s.bad = ByteArray.new(), 0, false
end

-- First pass: what this frame does to its stream. BODY frames wait for their HEAD.
local function track(s, tvb, eof, number)
	local result = { lost = 0 }

	done[number] = result
	if not s.bodies then
		forget(s)
	end
	if not is_body(eof) then
		result.lost = count_lost(s, tvb)
	end
	s.seen = s.seen and s.seen + 1
	if is_body(eof) then
		s.bad = s.bad or eof ~= (s.n % 2 == 0 and BODY_EVEN or BODY_ODD)
		result.broken = s.bad
		s.bodies:append(tvb:bytes())
		s.n = s.n + 1
		return
	end
	if eof == HEAD_ONLY or (eof == HEAD_END and not s.bad and result.lost == 0 and
	   s.n == tvb(22, 1):uint()) then
		local p = tvb(HEAD_LEN):bytes()

		if eof == HEAD_END then
			p:append(s.bodies)
		end
		if p:len() == tvb(16, 4):le_uint() then
			result.packet = p
			result.frames = eof == HEAD_END and s.n + 1 or 1
			result.roce = tvb(0, 1):uint() == ROCE
			result.flags = tvb(1, 1):uint()
		end
	end
	result.broken = (eof ~= CONTROL and not result.packet) or
		(eof ~= HEAD_END and s.n > 0)
	forget(s)
end

-- A ROCE packet without ICRC may be short of it, and of the pad before it. With
-- zeros there it looks like any other.
local function whole(result)
	local p = result.packet
	local full

	if not result.roce or bit.band(result.flags, NO_ICRC) == 0 then
		return p
	end
	if p:get_index(12) == 0x08 then
		full = 14 + p:get_index(16) * 256 + p:get_index(17)
	else
		full = 14 + 40 + p:get_index(18) * 256 + p:get_index(19)
	end
	if full > p:len() and full - p:len() <= TRAILER_MAX then
		local zeros = ByteArray.new()

		zeros:set_size(full - p:len())
		for i = 0, zeros:len() - 1 do
			zeros:set_index(i, 0)
		end
		p:append(zeros)
	end
	return p
end

local function common(tree, tvb)
	tree:add(f.type, tvb(0, 1))
	tree:add(f.flags, tvb(1, 1))
	tree:add_le(f.gen, tvb(2, 2))
	tree:add_le(f.sent, tvb(4, 4))
	tree:add_le(f.limit, tvb(8, 4))
end

local function show_head(tree, tvb)
	common(tree, tvb)
	tree:add_le(f.seq, tvb(12, 4))
	tree:add_le(f.len, tvb(16, 4))
	tree:add_le(f.inl, tvb(20, 2))
	tree:add(f.bodies, tvb(22, 1))
	tree:add(f.gso_type, tvb(23, 1))
	tree:add_le(f.gso_hdr_len, tvb(24, 2))
	tree:add_le(f.gso_size, tvb(26, 2))
	tree:add_le(f.csum_start, tvb(28, 2))
	tree:add_le(f.csum_offset, tvb(30, 2))
	tree:add_le(f.outer_th, tvb(32, 2))
	tree:add_le(f.inner_nh, tvb(34, 2))
	tree:add(f.npsn, tvb(36, 1))
	tree:add(f.data, tvb(HEAD_LEN))
end

local function show_control(tree, tvb)
	local i = 0

	common(tree, tvb)
	if tvb:len() < CTL_LEN then
		return
	end
	tree:add_le(f.arg, tvb(12, 4))
	tree:add_le(f.peer_cookie, tvb(16, 4))
	tree:add_le(f.count, tvb(20, 2))
	while i < tvb(20, 2):le_uint() and tvb:len() >= CTL_LEN + 16 * (i + 1) do
		tree:add(f.gid, tvb(CTL_LEN + 16 * i, 16))
		i = i + 1
	end
end

local function info(pinfo, tvb, eof)
	local text = pdfs[eof]

	if not is_body(eof) then
		text = text .. " " .. (types[tvb(0, 1):uint()] or "?") ..
			" sent=" .. tvb(4, 4):le_uint() ..
			" limit=" .. tvb(8, 4):le_uint()
	end
	pinfo.cols.protocol = "USB4NET"
	pinfo.cols.info = text .. " " .. tvb:len() .. " bytes"
end

local function frame(tvb, pinfo, root, header)
	local eof = header(3, 1):uint()
	local tree, result

	if not pinfo.visited then
		track(stream_of(header), tvb, eof, pinfo.number)
	end
	result = done[pinfo.number] or { lost = 0 }
	info(pinfo, tvb, eof)
	tree = root:add(u4n, tvb())
	tree:append_text(", " .. pdfs[eof])
	tree:add(f.pdf, eof):set_generated()
	if eof == HEAD_END or eof == HEAD_ONLY then
		show_head(tree, tvb)
	elseif eof == CONTROL then
		show_control(tree, tvb)
	else
		tree:add(f.data, tvb())
	end
	if result.lost > 0 then
		tree:add(f.lost, result.lost):set_generated()
		tree:add_proto_expert_info(lost)
	end
	if result.broken then
		tree:add_proto_expert_info(broken)
	end
	if result.packet then
		tree:add(f.packet, result.roce and ROCE or 1):set_generated()
		tree:add(f.frames, result.frames):set_generated()
		ethernet:call(whole(result):tvb("Packet"), pinfo, root)
	end
end

-- The control channel ----------------------------------------------------

-- Its dwords are big endian, those of a UUID are not.
local function uuid_at(tvb, at)
	local hex = {}

	for word = at, at + 12, 4 do
		for byte = word + 3, word, -1 do
			hex[#hex + 1] = string.format("%02x", tvb(byte, 1):uint())
		end
	end
	hex = table.concat(hex)
	return table.concat({ hex:sub(1, 8), hex:sub(9, 12), hex:sub(13, 16),
		hex:sub(17, 20), hex:sub(21) }, "-")
end

local function handshake(tvb, pinfo, root)
	local tree = root:add(u4n, tvb())
	local msg, status = tvb(60, 4):uint(), tvb(68, 4):uint()

	pinfo.cols.protocol = "USB4NET"
	pinfo.cols.info = (messages[msg] or "?") .. " id=" .. tvb(64, 4):uint()
	tree:append_text(", handshake: " .. (messages[msg] or "?"))
	tree:add(f.msg, tvb(60, 4))
	tree:add(f.id, tvb(64, 4))
	if messages[msg] == "BYE" then
		tree:add(f.reason, tvb(68, 4))
		pinfo.cols.info:append(", " .. (reasons[status] or "?"))
	else
		tree:add(f.status, tvb(68, 4))
		if msg % 2 == 0 then
			pinfo.cols.info:append(", " .. (statuses[status] or "?"))
		end
	end
	tree:add(f.cookie, tvb(72, 4))
	tree:add(f.peer_cookie, tvb(76, 4))
	tree:add(f.vmax, tvb(80, 2))
	tree:add(f.vmin, tvb(82, 2))
	tree:add(f.hopid, tvb(84, 4))
	tree:add(f.window, tvb(88, 4))
	tree:add(f.mtu, tvb(92, 4))
	tree:add(f.caps, tvb(96, 4))
	tree:add(f.mac, tvb(100, 6))
	tree:add(f.limits, tvb(108, 4))
end

local function control_packet(tvb, pinfo, root, tree, type)
	pinfo.cols.info = control_types[type] or ("control packet " .. type)
	if tvb:len() < 8 then
		return
	end
	tree:add(e.route, tvb(0, 8))
	if (type == 6 or type == 7) and tvb:len() >= 128 and
	   uuid_at(tvb, 12) == SERVICE then
		handshake(tvb, pinfo, root)
	end
end

function emu.dissector(tvb, pinfo, root)
	local tree, body, kind

	if tvb:len() < 16 then
		return 0
	end
	kind = tvb(1, 1):uint()
	pinfo.cols.protocol = "USB4"
	tree = root:add(emu, tvb(0, 16))
	tree:add(e.version, tvb(0, 1))
	tree:add(e.kind, tvb(1, 1))
	tree:add(e.sof, tvb(2, 1))
	tree:add(kind == 1 and e.type or e.eof, tvb(3, 1))
	tree:add(e.hop, tvb(4, 2))
	tree:add(e.ring, tvb(6, 2))
	tree:add(e.drop, tvb(8, 1))
	tree:add(e.router, tvb(9, 1))
	tree:add(e.adapter, tvb(10, 1))
	tree:add(e.len, tvb(12, 4))
	if tvb(8, 1):uint() ~= 0 then
		tree:add_proto_expert_info(dropped, "Frame was lost: " ..
			(drops[tvb(8, 1):uint()] or "?"))
	end
	if tvb:len() == 16 then
		return 16
	end
	body = tvb(16):tvb()
	if kind == 1 then
		control_packet(body, pinfo, root, tree, tvb(3, 1):uint())
		return tvb:len()
	end
	pinfo.cols.info = "Frame, " .. body:len() .. " bytes"
	kind = tvb(3, 1):uint()
	if tvb(2, 1):uint() ~= SOF or not pdfs[kind] or
	   (kind <= HEAD_ONLY and not head_ok(body)) or
	   (kind == CONTROL and body:len() < CTL_LEN) then
		Dissector.get("data"):call(body, pinfo, root)
		return tvb:len()
	end
	frame(body, pinfo, root, tvb)
	return tvb:len()
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, emu)
