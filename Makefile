# SPDX-License-Identifier: Apache-2.0
# A thin front for CMake. JOBS=N sets the number of parallel jobs; PREFIX and DESTDIR say where `make install` goes.

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
RELEASE := build/release
# What `make bench` runs: a trial on one matrix. `make bench BENCH_OPTIONS="--set large"` measures.
BENCH_OPTIONS ?= --quick --matrix gallery:laplace3d:100

# CMake's Makefiles serve as well; ninja orders the work better. A build folder keeps what it was made with.
ifneq ($(shell command -v ninja),)
export CMAKE_GENERATOR ?= Ninja
endif

.PHONY: all petsc demo check check-sanitized check-all bench install packages packages-cuda wheel wheel-cuda \
    wheel-aarch64 dist fuzz site site-check format tidy clean

all:
	@bash scripts/setup.sh build
	cmake --preset release
	cmake --build $(RELEASE) -j $(JOBS) --target tessera tessera_cli

# The plug-in for PETSc, which needs libpetsc-real-dev: docs/howto/petsc.md
petsc:
	@bash scripts/setup.sh build
	cmake --preset release -DTESS_PETSC=ON
	cmake --build $(RELEASE) -j $(JOBS) --target tessera_petsc

demo:
	@JOBS=$(JOBS) bash scripts/demo.sh

check:
	@JOBS=$(JOBS) bash scripts/check.sh

check-sanitized:
	@JOBS=$(JOBS) bash scripts/check.sh sanitized

check-all:
	@JOBS=$(JOBS) bash scripts/check.sh all

bench:
	@bash scripts/setup.sh build
	cmake --preset release -DTESS_BUILD_BENCH=ON
	cmake --build $(RELEASE) -j $(JOBS)
	$(RELEASE)/bench/bench_product $(BENCH_OPTIONS)
	@echo "Benchmarks: $$(ls $(RELEASE)/bench/bench_* | tr '\n' ' ')(each with --help)"

install: all
	cmake --install $(RELEASE) --prefix $(PREFIX)

# Debian packages in build/packages; build/packages-cuda has the library with CUDA.
packages packages-cuda:
	@bash scripts/setup.sh build
	@JOBS=$(JOBS) bash scripts/packages.sh $@

# Python wheels for other machines, in build/python/dist.
wheel:
	@bash scripts/setup.sh build
	@bash scripts/python.sh prepare
	@bash scripts/python.sh release

wheel-cuda:
	@bash scripts/setup.sh build
	@bash scripts/python.sh prepare
	@JOBS=$(JOBS) bash scripts/packages.sh wheel-cuda library
	@bash scripts/python.sh release build/wheel-cuda/lib/libtessera.so

# For 64-bit Arm, built across and tried under emulation.
wheel-aarch64:
	@bash scripts/setup.sh build
	@JOBS=$(JOBS) bash scripts/aarch64.sh

dist:
	@bash scripts/dist.sh

# The documentation as pages for a browser, in build/site; site-check opens them in headless Chromium.
site:
	@bash scripts/setup.sh site
	@bash scripts/site.sh

site-check: site
	@bash scripts/setup.sh site-check
	@bash scripts/site.sh check

# make fuzz lists the targets; make fuzz TARGET=fuzz_NAME runs one until stopped.
fuzz:
	@bash scripts/setup.sh check
	cmake --preset dev
	cmake --build build/dev -j $(JOBS) $(patsubst tests/fuzz/%.c,--target %,$(wildcard tests/fuzz/fuzz_*.c))
	bash scripts/fuzz.sh $(TARGET)

format:
	bash scripts/format.sh

tidy:
	cmake --preset dev
	bash scripts/tidy.sh build/dev

clean:
	rm -rf build
