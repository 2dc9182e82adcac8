# SPDX-License-Identifier: GPL-2.0
#
# Targets of the benchmark, for the top Makefile. BASE= names an earlier
# build/bench.json to compare with.

.PHONY: bench bench-quick bench-wall bench-profile bench-doc

bench:
	@BASE=$(BASE) scripts/bench full

bench-quick:
	@BASE=$(BASE) scripts/bench quick

bench-wall:
	@scripts/bench wall

bench-profile:
	@scripts/bench profile

bench-doc:
	@scripts/bench doc
