# SPDX-License-Identifier: GPL-2.0
#
# For the machines that have the hardware: build, install, packages.

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
PREFIX ?= /usr/local
DESTDIR ?=
BINDIR := $(PREFIX)/bin
# In front of the kernel's own modules, which stay where they are
MODDIR := $(DESTDIR)/lib/modules/$(KVER)/updates/usb4net-rdma

# The beds have kernels of their own
all modules rxe: export KDIR := $(KDIR)

.PHONY: modules rxe install install-modules install-tools uninstall deb

# With the patched rdma_rxe if the kernel's source is there
all:
	@if scripts/rxe-source find $(KVER) > /dev/null; then \
		$(MAKE) -s rxe; \
	else \
		echo 'building the driver without the patched rdma_rxe'; \
		$(MAKE) -s modules; \
	fi

modules:
	@scripts/host-modules $(KVER) build/host drivers
	@echo 'modules are in build/host/'

rxe:
	@scripts/host-modules $(KVER) build/host all
	@echo 'modules are in build/host/'

install: install-modules install-tools
	@echo 'installed; next: usb4net up, and systemctl enable --now usb4net-rdma'

# SIGN_KEY= and SIGN_CERT= sign them, for Secure Boot
install-modules:
	@[ -e build/host/usb4net_rdma.ko ] || { echo 'first: make'; exit 1; }
	@v=$$(modinfo -F vermagic build/host/usb4net_rdma.ko | cut -d ' ' -f 1); \
	[ "$$v" = $(KVER) ] || { \
		echo "build/host/ is for $$v, not for $(KVER): make"; exit 1; }
	rm -rf $(MODDIR)
	install -d $(MODDIR)
	install -m 644 build/host/*.ko $(MODDIR)
	@[ -z "$(SIGN_KEY)" ] || for m in $(MODDIR)/*.ko; do \
		$(KDIR)/scripts/sign-file sha256 $(SIGN_KEY) $(SIGN_CERT) $$m || exit; \
	done
	depmod $(if $(DESTDIR),-b $(DESTDIR)) $(KVER)
	install -D -m 644 packaging/systemd/usb4net-rdma.modules-load \
		$(DESTDIR)$(PREFIX)/lib/modules-load.d/usb4net-rdma.conf
	@[ -e build/host/rdma_rxe.ko ] || \
		echo 'without the patched rdma_rxe: make rxe KSRC=...'

install-tools:
	install -D -m 755 tools/usb4net $(DESTDIR)$(BINDIR)/usb4net
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/usb4net/usb4netlib \
		tools/usb4netlib/*.py
	install -D -m 644 tools/usb4net.8 $(DESTDIR)$(PREFIX)/share/man/man8/usb4net.8
	install -D -m 644 tools/usb4net.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/usb4net
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	for u in usb4net-rdma usb4net-rdma@; do \
		sed 's|@BINDIR@|$(BINDIR)|' packaging/systemd/$$u.service.in > \
			$(DESTDIR)$(PREFIX)/lib/systemd/system/$$u.service || exit; \
	done
	install -D -m 644 packaging/systemd/90-usb4net-rdma.rules \
		$(DESTDIR)$(PREFIX)/lib/udev/rules.d/90-usb4net-rdma.rules
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/usb4net-rdma/examples \
		Documentation/examples/*

uninstall:
	rm -rf $(DESTDIR)/lib/modules/*/updates/usb4net-rdma \
		$(DESTDIR)$(PREFIX)/lib/usb4net $(DESTDIR)$(PREFIX)/share/doc/usb4net-rdma
	rm -f $(DESTDIR)$(BINDIR)/usb4net $(DESTDIR)$(PREFIX)/share/man/man8/usb4net.8 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/usb4net \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/usb4net-rdma.service \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/usb4net-rdma@.service \
		$(DESTDIR)$(PREFIX)/lib/udev/rules.d/90-usb4net-rdma.rules \
		$(DESTDIR)$(PREFIX)/lib/modules-load.d/usb4net-rdma.conf
	for d in $(DESTDIR)/lib/modules/*/; do \
		v=$${d%/}; [ ! -e $$d/modules.dep ] || \
		depmod $(if $(DESTDIR),-b $(DESTDIR)) $${v##*/}; \
	done

# VERSION= unless it is to be that of the commit
deb:
	@scripts/deb
