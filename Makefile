# SPDX-License-Identifier: Apache-2.0
# A thin front: CMakePresets.json does the work. `make help` lists the goals.
.DEFAULT_GOAL := help
.PHONY: help setup build install demo test test-slow clean
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
MODEL := build/models/efficientnet_lite0.onnx
FASHION := /usr/share/datasets/fashion-mnist

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile
	@echo "Variables: JOBS (parallel compilations), PREFIX and DESTDIR (install)"

setup:  ## Install the Debian packages that are missing (root or sudo)
	@tools/setup build run test

# Configures a preset when it never was, or when the presets changed; Ninja sees to the rest.
build/%/build.ninja: CMakePresets.json
	@cmake --preset $*
	@touch $@

build:  ## Build the Release program: build/release/bin/tandem
	@tools/setup build
	@$(MAKE) --no-print-directory build/release/build.ninja
	@cmake --build build/release -j $(JOBS) --target tandem_product

install: build  ## Install program, libraries, headers and CMake package to DESTDIR/PREFIX
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

$(MODEL):
	@mkdir -p $(@D)
	@tools/zoo/zoo get efficientnet_lite0 -o $@

demo:  ## Adapt EfficientNet-Lite0 to Fashion-MNIST; the report opens in a browser
	@tools/setup build run
	@$(MAKE) --no-print-directory build
	@$(MAKE) --no-print-directory $(MODEL)
	@build/release/bin/tandem adapt $(MODEL) --data $(FASHION) --train-limit 2000 --val-limit 1000 -o build/demo
	@echo "The report: $(CURDIR)/build/demo/report.html"

# The two lanes run under one ctest, so that one line closes both.
test: setup  ## Unit tests and short fuzzing (ASan, UBSan), threaded rooms under TSan
	@$(MAKE) --no-print-directory build/dev/build.ninja build/tsan/build.ninja
	@cmake --build build/dev -j $(JOBS)
	@cmake --build build/tsan -j $(JOBS) --target tandem_test_programs
	@mkdir -p build/lanes
	@printf 'subdirs("%s/build/dev" "%s/build/tsan")\n' "$(CURDIR)" "$(CURDIR)" > build/lanes/CTestTestfile.cmake
	@ctest --test-dir build/lanes -L '^(unit|fuzz)$$' -j $(JOBS) --output-on-failure --no-tests=error

# What is slow runs optimised; only the fuzzers run under sanitizers. The second part runs whatever the first one says.
test-slow:  ## Whole networks, peers from PyPI, the install, long fuzzing (hours)
	@tools/setup build run test slow
	@$(MAKE) --no-print-directory build/release/build.ninja build/dev/build.ninja
	@cmake --build build/release -j $(JOBS)
	@cmake --build build/dev -j $(JOBS) --target tandem_fuzz_programs
	@status=0; \
	ctest --test-dir build/release -L '^slow$$' --output-on-failure --no-tests=error || status=$$?; \
	ctest --test-dir build/dev -L '^fuzz-long$$' -j $(JOBS) --output-on-failure --no-tests=error || status=$$?; \
	exit $$status

clean:  ## Remove all that was built, the fetched model too
	@rm -rf build
