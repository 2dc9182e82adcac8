# SPDX-License-Identifier: GPL-2.0
#
# Targets of the benchmark, for the top Makefile. BASE= names an earlier
# build/bench.json to compare with, STACKS= and WORKLOADS= choose: see
# scripts/bench.

.PHONY: bench bench-quick bench-wall bench-profile bench-doc

bench:
	@scripts/bench full

bench-quick:
	@scripts/bench quick

bench-wall:
	@scripts/bench wall

bench-profile:
	@scripts/bench profile

bench-doc:
	@scripts/bench doc
