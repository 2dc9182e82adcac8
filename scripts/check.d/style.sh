# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Checks that use the kernel's own style tools, and shellcheck.

# The kernel source of the toolbox: checkpatch.pl and kernel-doc live nowhere
# else. KSRC= names another one.
ksrc()
{
	local dir=${KSRC:-$("$TOP"/scripts/toolbox path 2>/dev/null)/src}

	if [ ! -f "$dir/scripts/checkpatch.pl" ]; then
		echo "no kernel source in $dir"
		return 1
	fi >&2
	echo "$dir"
}

# cached TOOL FILE CMD...: run CMD on FILE, unless it has passed before in
# this form under this version of the checks. A failure is never remembered.
# The variable depends holds what else the result depends on.
cached()
{
	local tool=$1 file=$2 sum mark

	shift 2
	if [ -n "${PLANTED:-}" ]; then
		"$@" "$file"
		return
	fi
	sum=$(cat "$file" "$TOP"/scripts/check.d/style.sh - \
		<<< "$* $file ${src:-} ${depends:-}" | sha256sum)
	mark=$OUT/passed/$tool-${sum%% *}
	[ -e "$mark" ] && return 0
	"$@" "$file" || return
	mkdir -p "$OUT/passed"
	: > "$mark"
}

# each_cached TOOL CMD... < FILES: two at a time
each_cached()
{
	local tool=$1 f i n=0 bad=0 tmp

	shift
	tmp=$(mktemp -d -p "$TMP")
	while IFS= read -r f; do
		n=$((n + 1))
		{ cached "$tool" "$f" "$@" || : > "$tmp/bad"; } > "$tmp/$n.out" 2>&1 &
		[ $((n % 2)) -ne 0 ] || wait
	done
	wait
	for ((i = 1; i <= n; i++)); do
		cat "$tmp/$i.out"
	done
	[ ! -e "$tmp/bad" ] || bad=1
	return "$bad"
}

# --no-tree: our files are not laid out as a kernel tree, so there is no
# MAINTAINERS entry to look for either. In a git tree it leaves files behind in
# the current directory, hence another one. The last argument is the file.
checkpatch()
{
	local here=$PWD

	(
		cd "$TMP" &&
		"$src"/scripts/checkpatch.pl --strict --no-tree --root="$src" \
			--terse --show-types --no-summary --quiet "${@:1:$#-1}" "$here/${*: -1}"
	) | sed "s|^$here/||"
}

# Programs of user space have neither u32, nor BIT(), nor __printf(), and errno
# is positive there; names of libraries have capitals. Comparing kernel versions
# is what a compat.h is for.
checkpatch_file()
{
	local ignore=

	case $1 in
	*/compat.h)
		ignore=LINUX_VERSION_CODE,CONSTANT_COMPARISON ;;
	# written as trace headers are
	*/trace.h)
		ignore=PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE ;;
	selftests/usb4emu/um/*) ;;
	selftests/*)
		ignore=PREFER_KERNEL_TYPES,BIT_MACRO,PREFER_DEFINED_ATTRIBUTE_MACRO,USE_NEGATIVE_ERRNO
		ignore+=,CAMELCASE ;;
	esac
	checkpatch ${ignore:+--ignore "$ignore"} -f "$1"
}

checkpatch_check()
{
	local src list

	src=$(ksrc) || return
	list=$(files '*.c' '*.h')
	need "${#list}" "C files" || return
	each_cached checkpatch checkpatch_file <<< "$list"
}

checkpatch_plant()
{
	printf '// SPDX-License-Identifier: GPL-2.0\n\nint f(int a)\n{\n' > x.c
	printf '\tif(a)\n\t\treturn 0 ;\n\treturn 1;\n}\n' >> x.c
	echo 'x.c:5: ERROR:SPACING:'
}

# Patches carry no Signed-off-by: it would certify an origin on behalf of a
# person, and only that person may add it when sending the series. MAINTAINERS
# entries for new files (FILE_PATH_CHANGES) come with the sending, too.
# checkpatch takes any file that git knows for source, whatever its options say,
# so it gets to see a copy.
checkpatch_patch()
{
	local dir

	dir=$(mktemp -d -p "$TMP")
	cp "$1" "$dir/"
	( cd "$dir" && checkpatch --patch \
		--ignore MISSING_SIGN_OFF,FILE_PATH_CHANGES "${1##*/}" ) |
		sed "s|^|${1%/*}/|"
}

patches_check()
{
	local src list

	src=$(ksrc) || return
	list=$(files 'patches/*.patch')
	need "${#list}" patches || return
	each_cached patches checkpatch_patch <<< "$list"
}

patches_plant()
{
	mkdir -p patches
	cat > patches/0001-x.patch <<-'END'
	From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
	From: A U Thor <author@example.com>
	Date: Thu, 1 Jan 2026 00:00:00 +0000
	Subject: [PATCH] x: return early

	Nothing is left to do at this point.
	---
	 x.c | 1 +
	 1 file changed, 1 insertion(+)

	diff --git a/x.c b/x.c
	index 1111111..2222222 100644
	--- a/x.c
	+++ b/x.c
	@@ -1,3 +1,4 @@
	 int f(int a)
	 {
	+  if(a) return 0;
	 	g(a);
	END
	echo 'patches/0001-x.patch:[0-9]+: ERROR:SPACING:'
}

kerneldoc()
{
	local out

	out=$(PYTHONDONTWRITEBYTECODE=1 "$src"/scripts/kernel-doc -none -Wall \
		"$1" 2>&1) && [ -z "$out" ] && return 0
	echo "$out"
	return 1
}

kerneldoc_check()
{
	local src list

	src=$(ksrc) || return
	# Only where kernel-doc comments are: the tool warns about a file
	# that has none.
	list=$(files '*.c' '*.h' | xargs -d '\n' grep -l '^/\*\*$')
	need "${#list}" "kernel-doc comments" || return
	each_cached kerneldoc kerneldoc <<< "$list"
}

kerneldoc_plant()
{
	cat > x.h <<-'END'
	/* SPDX-License-Identifier: GPL-2.0 */
	/**
	 * f() - do something
	 * @a: a number
	 * @b: not there
	 */
	int f(int a, int c);
	END
	echo "x.h:.*'c' not described in 'f'"
}

# Scripts are known by their first line or their name.
shell_scripts()
{
	local f line

	while IFS= read -r f; do
		case $f in
		*.sh)
			echo "$f"
			continue ;;
		esac
		line=
		IFS= read -r line < <(head -c 200 "$f" | tr -d '\0')
		[[ $line =~ ^#!.*[/\ ](ba|da|a)?sh( |$) ]] && echo "$f"
	done < <(files '*')
}

shellcheck_check()
{
	local list depends

	command -v shellcheck > /dev/null || { echo "no shellcheck"; return 1; }
	list=$(shell_scripts)
	need "${#list}" "shell scripts" || return
	# A script is checked together with those that it sources.
	depends=$(xargs -d '\n' cat <<< "$list" | sha256sum)
	each_cached shellcheck shellcheck -x -P SCRIPTDIR -f gcc <<< "$list"
}

shellcheck_plant()
{
	# shellcheck disable=SC2016
	printf '#!/bin/bash\nrm -rf $1/tmp\n' > tool
	echo 'tool:2:.*SC2086'
}
