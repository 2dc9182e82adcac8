# SPDX-License-Identifier: GPL-2.0
#
# make help tells what there is.

.PHONY: all thunderbolt toolbox demo test test-long test-debug check \
	patches-check uml upstream upstream-check htmldocs \
	clean distclean help

all:

include scripts/install.mk

help:
	@echo 'On any x86-64 machine, as root (no USB4 hardware needed):'
	@echo '  demo         two emulated hosts, one cable, RDMA over it'
	@echo '  test         the tests that every change has to pass'
	@echo '  test-long    all of them, before a release'
	@echo '  test-debug   the tests on a kernel with KASAN, lockdep and the like'
	@echo '  check        static checks'
	@echo '  patches-check  each patch builds on top of those before it'
	@echo '  upstream     three series for the kernel, in build/upstream/'
	@echo '  upstream-check  the same, applied and built'
	@echo '  htmldocs     Documentation/ in build/html/'
	@echo '  bench        what a message costs, beside the stock stack'
	@echo '               (bench-quick, bench-wall, bench-profile, bench-doc)'
	@echo '  uml          a shell on two cabled hosts in User Mode Linux'
	@echo '  shell        the same in QEMU (BED, TOPOLOGY, SMP, ... see'
	@echo '               selftests/bed/run)'
	@echo '  toolbox      only what all of these need, cached outside the clone'
	@echo
	@echo 'For real hardware:'
	@echo '  all          (default) the modules for the running kernel, or KVER=;'
	@echo '               the patched rdma_rxe if its source is there, or KSRC='
	@echo '  modules, rxe without it, and only with it'
	@echo '  install      modules beside the stock ones, the usb4net command, units'
	@echo '  uninstall'
	@echo '  deb          packages for Debian and Ubuntu, the modules by DKMS'
	@echo '  thunderbolt  thunderbolt with patches, and the driver for it; optional'
	@echo
	@echo '  clean        remove what was built, keep the toolbox'

thunderbolt:
	@[ -n "$(KSRC)" ] || { echo 'KSRC= must name the kernel source of KDIR'; exit 1; }
	KDIR=$(KDIR) KSRC=$(KSRC) scripts/build-modules qemu --thunderbolt
	@echo 'modules are in build/qemu/tb/'

toolbox:
	@scripts/toolbox build

demo:
	@selftests/demo.sh

test:
	@selftests/bed/suite test

test-long:
	@selftests/bed/suite test-long

test-debug:
	@selftests/bed/suite test-debug $(TESTS)

check: toolbox
	@scripts/check

patches-check: toolbox
	@scripts/build-modules qemu --prefixes
	@for kernel in $$(scripts/kernel --list); do \
		KERNEL=$$kernel scripts/build-modules qemu --prefixes || exit; \
	done

upstream: toolbox
	@scripts/upstream

upstream-check: toolbox
	@scripts/upstream check

htmldocs: toolbox
	@scripts/htmldocs

uml:
	@selftests/bed/run - BED=uml

include scripts/bench.mk

.PHONY: shell
shell:
	@selftests/bed/run -

clean:
	rm -rf build
	find . -path ./.git -prune -o \( -name '*.o' -o -name '*.ko' -o \
		-name '*.mod' -o -name '*.mod.c' -o -name '.*.cmd' -o \
		-name Module.symvers -o -name modules.order \) -type f -print | \
		xargs -r rm -f

distclean: clean
	@echo 'The toolbox stays where it is: $(shell scripts/toolbox path 2>/dev/null)'
