# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Documentation must not name what is not there.

# Markup that docutils understands. Sphinx's own directives and roles are
# accepted as they are: their targets are looked at below.
docs_markup()
{
	python3 - "$@" <<-'END'
	import sys
	try:
	    import docutils.core
	    import docutils.parsers.rst as rst
	    from docutils import nodes
	except ImportError as e:
	    sys.exit(e)

	class Ignored(rst.Directive):
	    optional_arguments = 1
	    final_argument_whitespace = has_content = True
	    option_spec = {n: rst.directives.unchanged for n in (
	        'maxdepth', 'caption', 'identifiers', 'export', 'internal',
	        'doc', 'functions', 'language', 'glob', 'numbered', 'titlesonly')}
	    def run(self):
	        return []

	for name in ('toctree', 'kernel-doc', 'only', 'highlight'):
	    rst.directives.register_directive(name, Ignored)
	for name in ('doc', 'ref', 'file', 'envvar', 'c:func', 'c:type'):
	    rst.roles.register_local_role(name, lambda role, raw, text, line,
	        inliner, options={}, content=[]: ([nodes.literal(raw, text)], []))
	for name in sys.argv[1:]:
	    try:
	        docutils.core.publish_doctree(open(name).read(), source_path=name,
	            settings_overrides={'report_level': 2, 'halt_level': 5,
	                                'warning_stream': sys.stdout})
	        sys.stdout.flush()
	    except Exception as e:
	        print(f'{name}: {e}')
	END
}

# Files, make targets and other pages that README and Documentation mention.
docs_check()
{
	local f word page n=0 bad=0 targets out src

	src=$(ksrc) || return
	targets=$(cat Makefile scripts/*.mk 2>/dev/null |
		sed -n 's/^\([a-z][-_a-z0-9 ]*\):.*/\1/p')
	while IFS= read -r f; do
		n=$((n + 1))
		while IFS= read -r word; do
			[ -e "${word%/}" ] || [ -e "$src/$word" ] && continue
			# NAME stands for any name
			compgen -G "${word//NAME/*}" > /dev/null && continue
			echo "$f: names $word, which does not exist"
			bad=1
		done < <(docs_paths "$f")
		while IFS= read -r word; do
			[[ " ${targets//$'\n'/ } " == *" $word "* ]] && continue
			echo "$f: names 'make $word', which the Makefile does not know"
			bad=1
		done < <(docs_targets "$f")
		while IFS= read -r page; do
			[ -f "$(dirname "$f")/$page.rst" ] && continue
			echo "$f: links to page $page, which does not exist"
			bad=1
		done < <(docs_pages "$f")
	done < <(files README 'Documentation/*.rst')
	need "$n" documentation || return
	# shellcheck disable=SC2046	# a list of words
	out=$(docs_markup $(files README 'Documentation/*.rst') 2>&1) || bad=1
	out+=${out:+$'\n'}$(docs_tests)
	if [ -n "${out#$'\n'}" ]; then
		echo "$out"
		bad=1
	fi
	while IFS= read -r f; do
		page=${f##*/}
		page=${page%.rst}
		[ "$page" = index ] && continue
		docs_pages Documentation/index.rst | grep -qxF "$page" && continue
		echo "Documentation/index.rst: page $page is missing in the toctree"
		bad=1
	done < <(files 'Documentation/*.rst')
	return "$bad"
}

# The table of tests in testing.rst says what the tests' headers say.
docs_tests()
{
	diff <(selftests/bed/suite list | sed -E 's/ +test: */|/; s/ *test-long: */|/; s/ *$//' | sort) \
	     <(awk '/^   \* - / { name = $3; row = ""; n = 0; next }
		    name && /^     -/ {
			if (++n == 3 && name != "Test" && name !~ /`/)
				print name row
			sub(/^     - */, "")
			row = row "|" $0
		    }' Documentation/testing.rst | sort) |
		sed -n 's|^< |Documentation/testing.rst: the header of the test says: |p
			s|^> |Documentation/testing.rst: the table says: |p'
}

# Words that begin like a path of this tree, or of the kernel's. What a build makes is not there
# in a clean clone and not looked for.
docs_paths()
{
	# shellcheck disable=SC2016	# back quotes of reStructuredText
	grep -oE '(^|[[:space:]`"(])(scripts|selftests|drivers|patches|include|Documentation|\.ci)/[][A-Za-z0-9_./*?-]*' "$1" |
		sed 's/^[[:space:]`"(]*//; s/[.,:;]*$//' | sort -u
}

# "make TARGET" in literals and in indented command lines
docs_targets()
{
	# shellcheck disable=SC2016
	sed -nE 's/^[[:space:]]+(sudo )?make ([a-z][-_a-z0-9]*).*/\2/p' "$1"
	grep -oE '``make [a-z][-_a-z0-9]*' "$1" | sed 's/.* //'
}

# :doc:`page` and the lines of a toctree
docs_pages()
{
	# shellcheck disable=SC2016
	grep -oE ':doc:`[^`]*`' "$1" | sed -E 's/:doc:`([^<`]*<)?([^>`]*)>?`/\2/'
	# shellcheck disable=SC2016
	awk '/^\.\. toctree::/ { on = 1; next }
	     on && /^[^[:space:]]/ { on = 0 }
	     on && /^[[:space:]]+[a-z]/ { print $1 }' "$1"
}

docs_plant()
{
	mkdir -p Documentation scripts selftests/bed
	printf '#!/bin/sh\necho "ghost  test: uml  test-long: "\n' > selftests/bed/suite
	chmod +x selftests/bed/suite
	printf 'all: build\n' > Makefile
	# shellcheck disable=SC2016
	printf 'See scripts/missing and ``make wish``.\n' > README
	printf '.. toctree::\n\n   nowhere\n\nText.\n' > Documentation/index.rst
	printf 'A longer title\n======\n\nLonely.\n' > Documentation/lonely.rst
	printf '%s\n' 'README: names scripts/missing' "README: names 'make wish'" \
		'links to page nowhere' 'header of the test says: ghost.uml' 'page lonely is missing' \
		'lonely.rst:2:.*Title underline too short'
}
