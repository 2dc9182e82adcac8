#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The packages of "make deb", in a Debian of their own with two kernels, 7.3 and 6.12:
# installed, for a second kernel, upgraded and removed by the distribution's dpkg and
# DKMS. The kernels' own modules stay what they are, and come back. The same with
# "make install". What has been installed then runs in a virtual machine of each kernel,
# as it was installed: systemd.sh with it.
# SMOKE=1: for the first kernel only, and without virtual machines. KERNEL=6.12: the
# same for that one. VM=1 adds the virtual machine.
#
# beds: host
# extra: packages
# runs: none
# runs-long: host
# timeout: 2400

top=$(dirname "$(dirname "$(readlink -f "$0")")")
[ "${PACKAGES_INSIDE:-0}" = 1 ] || {
	"$top/scripts/toolbox" build && "$top/scripts/extra" packages build &&
		kernel=$("$top/scripts/kernel" 6.12) || exit 1
	exec unshare --mount --net --pid --fork --kill-child=KILL --mount-proc \
		--propagation private env \
		PACKAGES_INSIDE=1 KERNEL2="$kernel" "$0"
}

cache=$("$top/scripts/toolbox" path) || exit 1
# shellcheck disable=SC1091
. "$cache/src/tools/testing/selftests/kselftest/ktap_helpers.sh"
# shellcheck disable=SC1091
. "$cache/resolved"
# shellcheck disable=SC2153 # of "resolved"
k1=$KVER
# shellcheck disable=SC1091
k2=$(. "$KERNEL2/resolved" && echo "$KVER")
old=6.1.0-0-amd64
first=${KERNEL:-stock}
[ "$first" = stock ] || SMOKE=1
# Those with headers, in the order in which they come
kernels=()
work=$top/build/packages
kept=$top/build/packages.modules
root=$work/root
modules="roce_link usb4net_rdma rdma_rxe"
log=$work/log

fail()
{
	echo "# $*"
	return 1
}

check()
{
	local title=$1
	shift

	: > "$log"
	SECONDS=0
	if "$@" >> "$log" 2>&1; then
		ktap_test_pass "$title"
	else
		tail -n 40 "$log" | sed 's/^/# /'
		ktap_test_fail "$title"
	fi
	echo "# $SECONDS s"
}

inside()
{
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# --- a machine ------------------------------------------------------------------

# source_archive SERIES SOURCE: as linux-source-SERIES has it
source_archive()
{
	tar -C "$2" -cJf "$root/usr/src/linux-source-$1.tar.xz" \
		--transform "s|^|linux-source-$1/|" drivers/infiniband/sw/rxe
}

machine()
{
	umount "$work" 2> /dev/null
	rm -rf "$work"
	mkdir -p "$work"
	mount -t tmpfs -o mode=755 tmpfs "$work"
	mkdir "$work"/{upper,work,root,deb}
	mount -t overlay -o "lowerdir=$("$top/scripts/extra" packages path),upperdir=$work/upper,workdir=$work/work" \
		overlay "$root" || return
	# It leaves manual pages out.
	rm -f "$root/etc/dpkg/dpkg.cfg.d/small"
	mount -t proc proc "$root/proc"
	mount --bind /dev "$root/dev"
	case $first in
	stock) kernel_stock && source_archive "${k1%.*+*}" "$cache/src" ;;
	6.12) kernel_612 && source_archive 6.12 "$KERNEL2/src" ;;
	*) fail "no kernel $first" ;;
	esac
}

# Its modules are in the tree; the headers go where their packages have them.
kernel_stock()
{
	local d

	kernels+=("$k1")
	for d in usr/src/linux-headers-"$k1" usr/lib/linux-kbuild-"${k1%-*}" \
		usr/src/linux-headers-"${k1%-*}-common"; do
		mkdir -p "$root/$d"
		mount --bind "$cache/root/$d" "$root/$d" || return
	done
	ln -s "/usr/src/linux-headers-$k1" "$root/usr/lib/modules/$k1/build"
}

# headers_installed KVER: what the package of the headers has done at its end
headers_installed()
{
	inside run-parts --verbose --exit-on-error --arg="$1" \
		/etc/kernel/header_postinst.d
}

kernel_612()
{
	kernels+=("$k2")
	cp -a "$KERNEL2/guest/usr/lib/modules/$k2" "$root/usr/lib/modules/" &&
	mkdir -p "$root$KERNEL2/headers" &&
	mount --bind "$KERNEL2/headers" "$root$KERNEL2/headers" &&
	ln -s "$KERNEL2/headers/build" "$root/usr/lib/modules/$k2/build" &&
	cp "$root/usr/lib/modules/$k2/build/.config" "$root/boot/config-$k2"
}

stock_sums()
{
	(cd "$root/usr/lib/modules/$1" && find kernel -type f -print0 | sort -z |
		xargs -0 sha256sum)
}

# loads KVER MODULE: the files that modprobe would load, in order
loads()
{
	inside modprobe -S "$1" --show-depends "$2" | awk '$1 == "insmod" { print $2 }'
}

file_of()
{
	inside modinfo -k "$1" -F filename "$2"
}

# --- what has to be so -------------------------------------------------------------

# ours KVER MODULE...: modprobe loads what DKMS has built for this kernel, signed
ours()
{
	local kver=$1 m file

	shift
	for m; do
		file=$(file_of "$kver" "$m")
		echo "$kver: $m is $file"
		case $file in
		"/lib/modules/$kver/updates/dkms/$m.ko"*) ;;
		*) return 1 ;;
		esac
		[[ $(inside modinfo -F vermagic "$file") == "$kver "* ]] ||
			fail "for another kernel" || return
		[ -n "$(inside modinfo -F signer "$file")" ] ||
			fail "not signed" || return
	done
}

# all_ours KVER: rdma_rxe brings the registry along, and all else is the kernel's.
all_ours()
{
	# shellcheck disable=SC2086 # a list of words
	ours "$1" $modules || return
	loads "$1" rdma_rxe > "$work/loads"
	loads "$1" usb4net_rdma >> "$work/loads"
	cat "$work/loads"
	[ "$(grep -c /updates/ "$work/loads")" = 4 ] &&
	[ "$(grep -n /roce_link.ko "$work/loads" | head -n 1 | cut -d : -f 1)" -lt \
		"$(grep -n /rdma_rxe.ko "$work/loads" | cut -d : -f 1)" ] &&
	grep -q "/kernel/drivers/thunderbolt/thunderbolt.ko" "$work/loads" &&
	unharmed "$1"
}

# unharmed KVER: the kernel's own modules are what they were
unharmed()
{
	stock_sums "$1" | cmp - "$work/sums.$1" || fail "modules of $1 have changed"
}

# stock KVER: the kernel's rdma_rxe is the one that is loaded
stock()
{
	local file

	file=$(file_of "$1" rdma_rxe)
	echo "$1: rdma_rxe is $file"
	[[ $file == "/lib/modules/$1/kernel/drivers/infiniband/sw/rxe/"* ]] &&
		unharmed "$1"
}

nothing_of()
{
	! inside modinfo -k "$1" -F filename usb4net_rdma 2> /dev/null
}

# --- steps ---------------------------------------------------------------------------

# packages VERSION DIR
packages()
{
	mkdir -p "$2"
	VERSION=$1 SOURCE_DATE_EPOCH=1700000000 "$top/scripts/deb" "$2"
}

twice_the_same()
{
	packages 0.8 "$work/deb/1" && packages 0.8 "$work/deb/2" &&
		diff -r "$work/deb/1" "$work/deb/2"
}

dpkg_install()
{
	mkdir -p "$root/root/deb"
	cp "$@" "$root/root/deb/"
	inside sh -c 'dpkg -i /root/deb/*.deb'
	set -- $?
	rm -r "$root/root/deb"
	return "$1"
}

install_dkms()
{
	local kver=${kernels[0]}

	stock_sums "$kver" > "$work/sums.$kver"
	loads "$kver" rdma_rxe > "$work/before.$kver"
	stock "$kver" && dpkg_install "$work"/deb/1/*dkms*.deb && all_ours "$kver"
}

tools()
{
	# A setting of the user's, which stays
	echo '# mine' >> "$root/etc/usb4net-rdma.conf"
	dpkg_install "$work"/deb/1/*tools*.deb && inside usb4net --version &&
	inside test -e /usr/lib/systemd/system/usb4net-rdma@.service &&
	inside test -e /usr/share/man/man8/usb4net.8.gz &&
	inside usb4net --json doctor | grep '"check": "modules"' && advice &&
	usage 'needs a device' 10.0.0.1/24 &&
	usage 'as 10.0.0.1/24' usb4net0 10.0.0.1 &&
	usage 'as fd00::1/64' usb4net0 10.0.0.1/24 fd00::1 &&
	usage 'not an address' usb4net0 usb4net1
}

# usage WORDS ARGUMENT...: up says so, and does nothing
usage()
{
	! inside usb4net up "${@:2}" 2> "$work/said" && cat "$work/said" &&
		grep -q "$1" "$work/said"
}

# Where there are patches for rdma_rxe doctor says to get the source, elsewhere that is
# no help. The kernels with patches are those of the series.
advice()
{
	inside python3 -B - "$(cd "$top/patches/rxe" && echo *)" <<- 'END'
	import os, sys
	sys.path.insert(0, '/usr/lib/usb4net')
	import usb4netlib as lib
	from usb4netlib import doctor

	assert sorted(lib.RXE_KERNELS) == sorted(sys.argv[1].split()), lib.RXE_KERNELS
	lib.loaded = lambda module: False
	for release, words in (('6.17.0-8-generic', 'boot a kernel'),
	                       ('7.3.4+deb13-amd64', 'linux-source-7.3'),
	                       ('6.12.0', 'linux-source-6.12')):
	    os.uname = lambda: os.uname_result(('Linux', 'a', release, '', ''))
	    lib.output = lambda *cmd: ''
	    found, = doctor.check_rxe(None)
	    print(found)
	    assert words in found['fix'][0], release
	END
}

# The driver is built, and it is said what the other one wants.
no_source()
{
	kernel_612 || return
	stock_sums "$k2" > "$work/sums.$k2"
	loads "$k2" rdma_rxe > "$work/before.$k2"
	stock "$k2" && headers_installed "$k2" && ours "$k2" roce_link usb4net_rdma &&
	stock "$k2" && all_ours "$k1" &&
	! inside /usr/src/usb4net-rxe-0.8/scripts/rxe-source find "$k2" \
		2> "$work/said" && cat "$work/said" &&
	grep -q 'install linux-source-6.12' "$work/said"
}

# A tree, named in the file that the package has for that
given_source()
{
	local tree=$root/opt/linux

	mkdir -p "$tree/drivers/infiniband/sw" &&
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' > "$tree/Makefile" &&
	cp -r "$KERNEL2/src/drivers/infiniband/sw/rxe" "$tree/drivers/infiniband/sw/" &&
	echo 'KSRC=/opt/linux' >> "$root/etc/usb4net-rdma.conf" &&
	inside dkms autoinstall -k "$k2" && all_ours "$k2" && all_ours "$k1"
}

# Nothing is built for it, and its installation does not fail.
old_kernel()
{
	local d=$root/usr/lib/modules/$old

	mkdir -p "$d/kernel" "$root/usr/src/linux-headers-$old/include" &&
	echo CONFIG_USB4=m > "$root/usr/src/linux-headers-$old/.config" &&
	ln -s "/usr/src/linux-headers-$old" "$d/build" && touch "$d/modules.order" \
		"$d/modules.builtin" && headers_installed "$old" && nothing_of "$old"
}

upgrade()
{
	local kver

	packages 0.9 "$work/deb/3" && dpkg_install "$work"/deb/3/*.deb || return
	inside dkms status
	! inside dkms status | grep '/0\.8' &&
	[ "$(inside dkms status | grep -c '/0\.9.*: installed')" = \
		$((2 * ${#kernels[@]})) ] &&
	! compgen -G "$root/usr/src/usb4net*-0.8" &&
	nothing_of "$old" &&
	grep '^# mine' "$root/etc/usb4net-rdma.conf" || return
	for kver in "${kernels[@]}"; do
		all_ours "$kver" || return
	done
}

# For the virtual machines, before they go
keep_modules()
{
	local kver m

	rm -rf "$kept"
	for kver in "${kernels[@]}"; do
		keep_tree "$kver" || return
		mkdir -p "$kept/$kver"
		for m in $modules; do
			# DKMS compresses them if the kernel's own are.
			inside xz -dcf "$(file_of "$kver" "$m")" \
				> "$kept/$kver/$m.ko" || return
		done
	done
}

# keep_tree KVER: what dpkg and DKMS have put into the machine
keep_tree()
{
	local tree=$kept/$1.tree deb

	mkdir -p "$tree/usr/lib/modules/$1"
	for deb in "$work"/deb/3/*.deb; do
		dpkg-deb -x "$deb" "$tree" || return
	done
	rm -r "${tree:?}"/usr/{src,share} &&
		cp -r "$root/usr/lib/modules/$1/updates" "$tree/usr/lib/modules/$1/" &&
		find "$tree" -type f
}

remove()
{
	local kver

	inside dpkg -r usb4net-rdma-dkms usb4net-rdma-tools || return
	for kver in "${kernels[@]}"; do
		stock "$kver" && nothing_of "$kver" &&
		loads "$kver" rdma_rxe | diff - "$work/before.$kver" || return
	done
	inside dpkg -P usb4net-rdma-dkms usb4net-rdma-tools || return
	find "$root"/{etc,usr,var/lib/dkms} -name '*usb4net*' -not -path '*/headers/*' \
		> "$work/left"
	cat "$work/left"
	[ ! -s "$work/left" ]
}

# As README has it, in a clone of one's own
make_install()
{
	local kver

	rm -f "$root/etc/usb4net-rdma.conf"
	mkdir -p "$root/root/clone"
	git -C "$top" ls-files -z | (cd "$top" && xargs -0 tar -c) |
		tar -x -C "$root/root/clone" || return
	for kver in "${kernels[@]}"; do
		inside make -C /root/clone KVER="$kver" \
			KSRC="$([ "$kver" = "${kernels[0]}" ] || echo /opt/linux)" &&
		inside make -C /root/clone install KVER="$kver" || return
		loads "$kver" rdma_rxe
		[ "$(loads "$kver" rdma_rxe | grep -c /updates/usb4net-rdma/)" = 2 ] &&
			unharmed "$kver" || return
	done
	inside /usr/local/bin/usb4net --version && inside make -C /root/clone uninstall || return
	for kver in "${kernels[@]}"; do
		stock "$kver" && nothing_of "$kver" || return
	done
	! find "$root"/usr/local "$root"/usr/lib/modules -name '*usb4net*' | grep .
}

# in_the_machine KERNEL KVER: booted by systemd; its modules have to be those of DKMS.
in_the_machine()
{
	env -u PACKAGES_INSIDE -u SMOKE MODULES="$kept/$2" INSTALLED="$kept/$2.tree" \
		"$top/selftests/bed/run" systemd BED=qemu KERNEL="$1" \
		LABEL="packages.systemd.$1"
}

ktap_print_header
if [ "${SMOKE:-0}" = 1 ]; then
	ktap_set_plan $((7 + ${VM:-0}))
else
	ktap_set_plan 12
fi
machine || { echo "# no machine"; exit 1; }
check "make deb, twice the same" twice_the_same
check "installed, for the first kernel" install_dkms
check "the tools" tools
if [ "${SMOKE:-0}" != 1 ]; then
	check "a second kernel, without source for rdma_rxe" no_source
	check "and with a source that is named" given_source
	check "a kernel that is too old" old_kernel
fi
check "upgraded" upgrade
check "modules for virtual machines" keep_modules
check "removed: the kernels' own modules are back" remove
check "make install and uninstall" make_install
if [ "${SMOKE:-0}" != 1 ]; then
	check "what was installed, in a virtual machine: $k1" \
		in_the_machine stock "$k1"
	check "and $k2" in_the_machine 6.12 "$k2"
elif [ "${VM:-0}" = 1 ]; then
	check "what was installed, in a virtual machine" \
		in_the_machine "$first" "${kernels[0]}"
fi
ktap_finished
