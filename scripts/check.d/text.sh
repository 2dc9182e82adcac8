# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Checks on the text of every file: licence tags, white space, sizes, words.

MAX_LINES=900
MAX_FUNCTION=100

# SPDX tag in the first three lines of every file. COPYING names the licences
# itself. A patch has none of its own, but every file it creates has.
spdx_check()
{
	local f n=0 bad=0

	while IFS= read -r f; do
		case $f in
		COPYING | *.patch | *.diff) continue ;;
		# a format of its own, without comments
		Documentation/ABI/*) continue ;;
		esac
		n=$((n + 1))
		if ! head -n 3 "$f" | grep -q 'SPDX-License-Identifier: '; then
			echo "$f: no SPDX-License-Identifier in the first three lines"
			bad=1
		fi
	done < <(files '*')
	while IFS= read -r f; do
		awk -v f="$f" '
			$1 == "---" { new = $2 == "/dev/null" }
			$1 == "+++" { name = $2 }
			/^@@/ && new {
				getline
				if ($0 !~ /SPDX-License-Identifier: /) {
					print f ": new file " name " has no SPDX tag"
					bad = 1
				}
				new = 0
			}
			END { exit bad }' "$f" || bad=1
	done < <(files '*.patch' '*.diff')
	need "$n" files && return "$bad"
}

spdx_plant()
{
	printf '#!/bin/sh\necho hello\n' > tool.sh
	echo 'tool.sh: no SPDX'
}

# The registry and what goes into rxe keep rxe's dual licence, so that they
# can be merged there; the rest is GPL-2.0.
licence_check()
{
	local f n=0 bad=0 want have

	while IFS= read -r f; do
		case $f in
		drivers/roce_link/* | include/rdma/*)
			want='GPL-2.0 OR Linux-OpenIB' ;;
		*)
			want='GPL-2.0' ;;
		esac
		n=$((n + 1))
		have=$(sed -n '1s/.*SPDX-License-Identifier: //p' "$f")
		have=${have%% \*/}
		if [ "$have" != "$want" ]; then
			echo "$f: line 1 says '$have', expected '$want'"
			bad=1
		fi
	done < <(files '*.c' '*.h')
	while IFS= read -r f; do
		if grep '^+.*SPDX-License-Identifier: ' "$f" |
		   grep -vq 'GPL-2.0 OR Linux-OpenIB'; then
			echo "$f: new file of rxe without rxe's dual licence"
			bad=1
		fi
	done < <(files 'patches/rxe/*.patch')
	need "$n" "C files" && return "$bad"
}

licence_plant()
{
	mkdir -p drivers/roce_link
	printf '// SPDX-License-Identifier: GPL-2.0\n' > drivers/roce_link/x.c
	echo "drivers/roce_link/x.c: line 1 says 'GPL-2.0'"
}

# In a patch only the added lines count.
whitespace_check()
{
	local f n=0 bad=0

	while IFS= read -r f; do
		n=$((n + 1))
		case $f in
		*.patch | *.diff)
			! grep -nE '^\+.*[[:space:]]$' "$f" | sed "s|^|$f:|" || bad=1
			continue ;;
		esac
		if grep -nHE '[[:space:]]$' "$f"; then
			bad=1
		fi
		if [ -s "$f" ] && [ -n "$(tail -c 1 "$f")" ]; then
			echo "$f: no newline at the end"
			bad=1
		fi
	done < <(files '*')
	need "$n" files && return "$bad"
}

whitespace_plant()
{
	printf 'clean line\nsome text \n' > notes
	echo '^notes:2:some text $'
}

size_check()
{
	local f n=0 bad=0 lines

	while IFS= read -r f; do
		n=$((n + 1))
		lines=$(wc -l < "$f")
		if [ "$lines" -gt $MAX_LINES ]; then
			echo "$f: $lines lines, at most $MAX_LINES allowed"
			bad=1
		fi
	done < <(files '*')
	need "$n" files && return "$bad"
}

size_plant()
{
	seq $((MAX_LINES + 1)) > long
	echo "long: $((MAX_LINES + 1)) lines"
}

# Kernel style makes a function easy to find: its braces stand in column one.
functions_check()
{
	local n

	n=$(files '*.c' '*.h' | wc -l)
	need "$n" "C files" || return
	# shellcheck disable=SC2016
	files '*.c' '*.h' | xargs -d '\n' awk -v max=$MAX_FUNCTION '
		FNR == 1 { start = 0 }
		/^{/ { start = FNR; name = last }
		/^}/ && start {
			if (FNR - start - 1 > max) {
				printf "%s:%d: %d lines in: %s\n", FILENAME,
				       start, FNR - start - 1, name
				bad = 1
			}
			start = 0
		}
		/^[a-zA-Z]/ { last = $0 }
		END { exit bad }'
}

functions_plant()
{
	{
		printf 'int f(void)\n{\n'
		seq -f '	g(%g);' 0 $MAX_FUNCTION
		printf '\treturn 0;\n}\n'
	} > long.c
	echo "long.c:2: $((MAX_FUNCTION + 2)) lines in: int f"
}

# Nothing unfinished, nothing that holds on one machine only: no marker words,
# no paths of a build machine, no package servers (mirrors come from the
# machine's own configuration). Brackets keep the patterns from matching
# themselves. In a patch only the added lines count.
words_check()
{
	local f n=0 bad=0 pattern

	pattern='\b(TO[D]O|FIX[M]E|XX[X]|TB[D]|WI[P]|HAC[K])\b'
	pattern+='|not yet implemente[d]|not implemente[d] yet'
	pattern+='|(^|[[:space:]=:(<>])["'"'"'`]*/wor[k](/|[^[:alnum:]_-]|$)'
	pattern+='|(^|[[:space:]=:(<>])["'"'"'`]*/(home|Users)/[[:alnum:]_]'
	pattern+='|(deb|security|ftp|snapshot|archive|ports)[.](debian|ubuntu)[.](org|com)'
	pattern+='|pypi[.]org|pythonhosted[.]org|npmjs[.](org|com)|crates[.]io'
	pattern+='|proxy[.]golang[.]org|(ghcr|quay|docker)[.]io|hub[.]docker[.]com'

	while IFS= read -r f; do
		n=$((n + 1))
		case $f in
		*.patch | *.diff)
			! grep -nE "^\\+.*($pattern)" "$f" | sed "s|^|$f:|" || bad=1 ;;
		*)
			! grep -nHIE "$pattern" "$f" || bad=1 ;;
		esac
	done < <(files '*')
	need "$n" files && return "$bad"
}

words_plant()
{
	printf 'all good here\nleft to do: %s finish this\n' 'TO''DO' > a.c
	printf 'cd %s && make\n' '/wor''k/main' > b.sh
	printf 'mirror=http://%s/debian\n' 'deb.debian''.org' > c
	printf '%s\n' '^a.c:2:left to do' '^b.sh:1:cd' '^c:1:mirror='
}

# What has an interpreter line can be executed, and the other way round.
modes_check()
{
	local f n=0 bad=0 shebang

	while IFS= read -r f; do
		n=$((n + 1))
		shebang=$(head -c 2 "$f" | tr -d '\0')
		if [ "$shebang" = '#!' ] && [ ! -x "$f" ]; then
			echo "$f: begins with #! but is not executable"
			bad=1
		elif [ "$shebang" != '#!' ] && [ -x "$f" ]; then
			echo "$f: is executable but does not begin with #!"
			bad=1
		fi
	done < <(files '*')
	need "$n" files && return "$bad"
}

modes_plant()
{
	printf '#!/bin/sh\n' > tool
	echo 'tool: begins with #! but'
}
