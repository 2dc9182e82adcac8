# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Checks that need a kernel tree to build in.
#
# The packaged headers lack scripts/checker-valid.sh: there "make C=2" drops
# sparse without an error. So sparse runs in a prepared linux-source, with the
# distribution's configuration and with our directories hooked into its
# Kconfig and Makefiles, which proves the in-tree build at the same time. The
# source itself is left alone: the tree is made of symbolic links to it, with
# real directories only where something of ours goes.

KTREE=$OUT/ktree
KOBJ=$OUT/kobj
# Ours, at the same place in the kernel tree.
OURS="drivers/roce_link drivers/usb4net_rdma"
# Where in the kernel tree a real directory is needed.
REAL="drivers include include/rdma drivers/infiniband drivers/infiniband/sw
      drivers/infiniband/sw/rxe drivers/thunderbolt"

kheaders()
{
	local dir

	for dir in "${KHEADERS:-}" /usr/src/linux-headers-*-"$(dpkg --print-architecture)"; do
		if [ -f "$dir/Module.symvers" ]; then
			echo "$dir"
			return 0
		fi
	done
	echo "no packaged kernel headers found; run this through scripts/toolbox run" >&2
	return 1
}

# sync_file FROM TO: copy if different, so that make sees only real changes
sync_file()
{
	cmp -s "$1" "$2" && return 0
	mkdir -p "$(dirname "$2")" && rm -f "$2" && cp "$1" "$2"
}

# sync_dir TO < FILES: make directory TO hold just the files (and what was
# linked there), below their own names without the leading directory $2
sync_dir()
{
	local to=$1 strip=$2 f keep

	keep=$(mktemp -p "$TMP")
	while IFS= read -r f; do
		sync_file "$f" "$to/${f#"$strip"/}" || return
		echo "${f#"$strip"/}" >> "$keep"
	done
	find "$to" -type f -printf '%P\n' | grep -vxFf "$keep" |
		while IFS= read -r f; do
			rm -f "${to:?}/$f"
		done
	return 0
}

# Link everything of the source's directory $1 that is not there yet.
link_dir()
{
	local from=$src to=$KTREE f

	[ "$1" = . ] || { from+=/$1; to+=/$1; }
	mkdir -p "$to"
	for f in "$from"/* "$from"/.[!.]*; do
		[ -e "$f" ] || continue
		[ -e "$to/${f##*/}" ] || ln -s "$f" "$to/"
	done
}

kmake()
{
	make -C "$KTREE" O="$KOBJ" --no-print-directory "$@"
}

# Quiet success, last lines on failure.
quietly()
{
	local log

	log=$(mktemp -p "$TMP")
	"$@" > "$log" 2>&1 && return 0
	echo "failed: $*"
	tail -n 40 "$log"
	return 1
}

# The tree and its configuration; redone when anything they are made of changes.
prepare_tree()
{
	local src hdr dir state

	src=$(ksrc) && hdr=$(kheaders) || return
	state=$(
		echo "$src $hdr"
		cat "$hdr/.config" "$TOP/scripts/check.d/kernel.sh"
		cd "$TOP" && for dir in $OURS; do cat "$dir/Kconfig"; done
	) || return
	state=$(sha256sum <<< "$state")
	[ "$(cat "$KOBJ/state" 2>/dev/null)" = "$state" ] && return 0

	# Keep objects when only a Kconfig changed.
	rm -rf "$KTREE" "$KOBJ/state"
	mkdir -p "$KOBJ"
	for dir in $REAL; do
		mkdir -p "$KTREE/$dir"
	done
	for dir in . $REAL; do
		link_dir "$dir"
	done
	hook_tree || return

	cp "$hdr/.config" "$KOBJ/.config"
	"$src"/scripts/config --file "$KOBJ/.config" -d RUST -d DEBUG_INFO_BTF \
		-d MODULE_SIG_ALL --set-str SYSTEM_TRUSTED_KEYS '' \
		-m ROCE_LINK -m USB4NET_RDMA
	quietly kmake olddefconfig || return
	for dir in ROCE_LINK USB4NET_RDMA RDMA_RXE; do
		grep -q "^CONFIG_$dir=m$" "$KOBJ/.config" && continue
		echo "CONFIG_$dir=m is not possible in the kernel tree:"
		grep "CONFIG_$dir\b" "$KOBJ/.config" || echo "no such symbol"
		return 1
	done
	quietly kmake -j2 modules_prepare || return
	echo "$state" > "$KOBJ/state"
}

# What a maintainer would add: one line in Kconfig and Makefile per directory.
hook_tree()
{
	local dir

	rm -f "$KTREE/drivers/Kconfig" "$KTREE/drivers/Makefile"
	grep -v '^endmenu' "$src/drivers/Kconfig" > "$KTREE/drivers/Kconfig"
	cp "$src/drivers/Makefile" "$KTREE/drivers/Makefile"
	for dir in $OURS; do
		echo "source \"$dir/Kconfig\""
	done >> "$KTREE/drivers/Kconfig"
	echo endmenu >> "$KTREE/drivers/Kconfig"
	for dir in $OURS drivers/usb4net_rdma_batch planted; do
		echo "obj-y += ${dir#drivers/}/"
	done >> "$KTREE/drivers/Makefile"
	sync_ours
}

sync_ours()
{
	local dir f

	for dir in $OURS; do
		mkdir -p "$KTREE/$dir"
		(cd "$TOP" && files "$dir/*" | sync_dir "$KTREE/$dir" "$dir") || return
	done
	while IFS= read -r f; do
		(cd "$TOP" && sync_file "$f" "$KTREE/$f") || return
	done < <(files 'include/*.h')
}

# build_dir TARGET...: with every warning an error and sparse on whatever is
# compiled. An object with a finding is not made, so it is looked at again.
build_dir()
{
	local log

	log=$(mktemp -p "$TMP")
	kmake -k -j2 W=1 C=1 CHECK='sparse -Wsparse-error' KCFLAGS=-Werror "$@" \
		> "$log" 2>&1 && ! grep -q 'C=1 specified, but' "$log" && return 0
	grep -E '(warning:|error:|undefined|specified, but|\*\*\* No rule)' "$log" | sed "s|$KTREE/||g; s|$TOP/||g" | sort -u | head -n 60
	return 1
}

# In-tree: Kconfig and Makefile hooked in, W=1 with warnings as errors, sparse.
intree_check()
{
	local dir list

	if [ -n "${PLANTED:-}" ]; then
		(cd "$TOP" && LIST=$TMP/tree.list prepare_tree) || return
		rm -rf "$KTREE/drivers/planted" "$KOBJ/drivers/planted"
		cp -r drivers/planted "$KTREE/drivers/"
		build_dir drivers/planted/
		[ ! -f "$KOBJ/drivers/planted/fine.o" ] || echo "fine.o was built"
		rm -rf "$KTREE/drivers/planted" "$KOBJ/drivers/planted"
		return 1
	fi
	for dir in $OURS; do
		list=$(files "$dir/*.c")
		need "${#list}" "sources in $dir" || return
	done
	prepare_tree && sync_ours || return
	# shellcheck disable=SC2046,SC2086	# a list of words
	build_dir $(printf '%s/ ' $OURS)
}

# One object per defect and one without, built with the flags of the real one.
intree_plant()
{
	local dir=drivers/planted

	mkdir -p $dir
	printf 'obj-m += sparse.o warning.o fine.o\n' > $dir/Makefile
	cat > $dir/fine.c <<-'END'
	// SPDX-License-Identifier: GPL-2.0
	#include <linux/module.h>
	MODULE_DESCRIPTION("planted");
	MODULE_LICENSE("GPL");
	END
	{
		cat $dir/fine.c
		cat <<-'END'
		int planted_sparse(const int __user *p);
		int planted_sparse(const int __user *p)
		{
			return *p;
		}
		END
	} > $dir/sparse.c
	{
		cat $dir/fine.c
		cat <<-'END'
		int planted_warning(int a)
		{
			return a;
		}
		END
	} > $dir/warning.c
	printf '%s\n' 'sparse.c:8:.*dereference of noderef expression' \
		"warning.c:5:.*no previous prototype for .*planted_warning" \
		'^fine.o was built'
}

# Against the packaged headers, as a user builds it; modpost resolves symbols.
outoftree_check()
{
	local hdr top=$TOP log

	hdr=$(kheaders) || return
	[ -z "${PLANTED:-}" ] || top=$PWD
	if [ ! -f "$top/Kbuild" ]; then
		echo "no Kbuild at the top"
		return 1
	fi
	log=$(mktemp -p "$TMP")
	make -C "$hdr" M="$top" MO="$OUT/oot${PLANTED:+-planted}" -k -j2 \
		--no-print-directory W=1 KCFLAGS=-Werror modules > "$log" 2>&1 &&
		! grep -E 'WARNING|warning:' "$log" && return 0
	grep -E '(warning:|WARNING|error:|ERROR|undefined|\*\*\* No rule)' "$log" | head -n 60
	return 1
}

outoftree_plant()
{
	echo 'obj-m += planted.o' > Kbuild
	cat > planted.c <<-'END'
	// SPDX-License-Identifier: GPL-2.0
	#include <linux/module.h>
	int planted_nowhere(void);
	static int __init planted_init(void)
	{
		return planted_nowhere();
	}
	module_init(planted_init);
	MODULE_DESCRIPTION("planted");
	MODULE_LICENSE("GPL");
	END
	echo 'planted_nowhere.* undefined'
}

# apply_series WHAT WORK PATH...: the kernel's PATHs in the directory WORK, with
# patches/WHAT/ applied. The series has to apply without fuzz, patch after patch.
apply_series()
{
	local src what=$1 work=$2 path list p out
	shift 2

	src=$(ksrc) || return
	list=$(files "patches/$what/7.3/*.patch")
	need "${#list}" "patches in patches/$what/7.3" || return
	for path; do
		mkdir -p "$work/${path%/*}"
		cp -r "$src/$path" "$work/$path"
	done
	while IFS= read -r p; do
		out=$(patch -d "$work" -p1 -F0 --no-backup-if-mismatch < "$p" 2>&1) &&
			! grep -q fuzz <<< "$out" && continue
		echo "$p does not apply:"
		echo "$out"
		return 1
	done <<< "$list"
}

# The series, and what comes out builds in-tree with the same strictness as our
# own code.
rxe_check()
{
	local dir=drivers/infiniband/sw/rxe work

	work=$(mktemp -d -p "$TMP")
	apply_series rxe "$work" $dir || return
	[ -z "${PLANTED:-}" ] || return 0
	prepare_tree && sync_ours || return
	(cd "$work" && find $dir -type f | sort | sync_dir "$KTREE/$dir" "$dir") || return
	build_dir $dir/
}

# plant_patch WHAT FILE: a patch in patches/WHAT/ that does not apply to FILE.
plant_patch()
{
	mkdir -p "patches/$1/7.3"
	cat > "patches/$1/7.3/0001-planted.patch" <<-END
	--- a/$2
	+++ b/$2
	@@ -1,3 +1,4 @@
	 // a line that is not in that file
	 // and another one
	+// a new one
	 // and the last one
	END
	echo '0001-planted.patch does not apply'
}

rxe_plant()
{
	plant_patch rxe drivers/infiniband/sw/rxe/rxe.c
}

# The same for the files that are patched (sparse has findings in others of the
# kernel's), and the driver as it is with such a core, in another directory.
# The patched header stays out of everybody else's sight.
thunderbolt_check()
{
	local core=drivers/thunderbolt hdr=include/linux/thunderbolt.h
	local ours=drivers/usb4net_rdma inc=$KTREE/patched/include work objs

	work=$(mktemp -d -p "$TMP")
	apply_series thunderbolt "$work" $core $hdr || return
	[ -z "${PLANTED:-}" ] || return 0
	prepare_tree && sync_ours || return
	sync_file "$work/$hdr" "$inc/linux/thunderbolt.h" || return
	(cd "$work" && find $core -type f | sort | sync_dir "$KTREE/$core" $core) || return
	files "$ours/*" | sync_dir "$KTREE/${ours}_batch" $ours || return
	objs=$(files 'patches/thunderbolt/7.3/*.patch' | xargs sed -n \
		"s|^+++ b/\($core/.*\)\.c\$|\1.o|p" | sort -u)
	need "${#objs}" "patched files" || return
	set -- TB_INCLUDE="$inc" NOSTDINC_FLAGS="-nostdinc -I$inc"
	# sparse knows no typeof of a bit-field, which the stock tb.c has
	build_dir $core/tb.o "$@" C=0 || return
	# shellcheck disable=SC2086	# a list of words
	build_dir ${objs/$core\/tb.o/} ${ours}_batch/ "$@"
}

thunderbolt_plant()
{
	plant_patch thunderbolt include/linux/thunderbolt.h
}

# The series for the kernel's lists are made, and applied with git am. What comes out
# is what the checks above have built; "make upstream-check" builds it again, in place.
upstream_check()
{
	local src log

	src=$(ksrc) || return
	if [ -n "${PLANTED:-}" ]; then
		python3 "$TOP/scripts/upstream.d/resolve.py" "$src/Makefile" < compat.h
		return
	fi
	log=$(mktemp -p "$TMP")
	scripts/upstream apply > "$log" 2>&1 && return 0
	tail -n 40 "$log"
	return 1
}

# A condition that is not about versions alone would be left in the tree.
upstream_plant()
{
	echo '#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0) || defined(OTHER)' > compat.h
	echo 'cannot decide: .*OTHER'
}
