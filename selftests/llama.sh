#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# llama.cpp's RPC backend, the recipe of Documentation/applications.rst, with the
# packages of Debian sid and a tiny model of random numbers: all layers are on B, and
# what comes out is what A alone computes. It takes TCP. In no tier, since what sid
# has changes all the time.
#
# beds: uml
# topology: netns
# timeout: 300
# uml-mode: real
# extra: llama
# runs: none

# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/traffic.sh
. "$(dirname "$0")/traffic.sh"

port=50052

make_model()
{
	python3 "$(dirname "$0")/llama.py" model /tmp/model.gguf &&
		weights=$(stat -c %s /tmp/model.gguf)
}

serve()
{
	bg_on b python3 "$(dirname "$0")/llama.py" serve "$B_IP" $port \
		> /tmp/server 2>&1
	busywait 20000 listening b $port || { cat /tmp/server; return 1; }
}

# generate FILE [OPTION...]: always the most likely token, so it is the same ones
generate()
{
	local out=$1
	shift

	timeout 100 llama-completion -m /tmp/model.gguf -p Hello -n 16 -no-cnv \
		--temp 0 --ignore-eos --no-warmup -t 1 -ngl 99 "$@" > "$out" 2> /tmp/err < /dev/null ||
		{ tail -n 20 /tmp/err; return 1; }
	od -c "$out" | head
	[ "$(stat -c %s "$out")" -gt 16 ]
}

sent()
{
	cat "/sys/class/net/$A_DEV/statistics/tx_bytes"
}

# As much as the weights, at least, goes over the cable.
the_same()
{
	local before after

	before=$(sent)
	generate /tmp/remote --rpc "$B_IP:$port" || return
	after=$(sent)
	echo "$((after - before)) bytes sent, the model has $weights"
	cmp /tmp/local /tmp/remote && [ $((after - before)) -gt "$weights" ]
}

measured()
{
	timeout 100 llama-bench -m /tmp/model.gguf --rpc "$B_IP:$port" -ngl 99 -t 1 \
		-p 32 -n 16 -r 1 -o json > /tmp/bench 2> /tmp/err ||
		{ tail -n 20 /tmp/err; return 1; }
	python3 - <<- 'END'
	import json
	runs = json.load(open('/tmp/bench'))
	print(runs)
	assert len(runs) == 2 and all(r['avg_ts'] > 0 for r in runs)
	assert all('RPC' in r['backends'] for r in runs)
	END
}

ktap_print_header
ktap_set_plan 6
run_step "the link comes up" link_up
run_step "a model" make_model
check "A alone" generate /tmp/local
run_step "B serves" serve
check "B computes the same" the_same
check "llama-bench with B" measured
kill "$BG_PID"
ktap_finished
