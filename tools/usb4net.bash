# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# bash completion for usb4net

_usb4net()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local word command='' devices words=''

	devices=$(cd /sys/class/net && for word in */usb4net; do
		[ ! -d "$word" ] || echo "${word%/usb4net}"
	done)
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $word in
		status | up | down | doctor | bench | report) command=$word ;;
		esac
	done
	case $prev in
	--device)
		mapfile -t COMPREPLY < <(compgen -W "$devices" -- "$cur")
		return ;;
	--svg | -o | --output)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--tests)
		words='ping tcp latency bandwidth' ;;
	--mtu | --wait | --seconds | --count | --peer)
		return ;;
	*)
		case $command in
		'') words="status up down doctor bench report --json --version" ;;
		status) words="$devices --json" ;;
		up) words="$devices --mtu --no-rdma --wait --no-wait --json" ;;
		down) words="$devices --rdma-only --json" ;;
		doctor) words="--verbose --json" ;;
		bench) words="--serve --keep --device --peer --seconds --tests"
			words+=" --count --events --svg --json" ;;
		report) words="--full --output --json" ;;
		esac ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _usb4net usb4net
