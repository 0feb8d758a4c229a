# The commands of README.md. Each installs what it needs (packages.txt), configures, builds and runs; a second run
# does only what is left to do. PRESET=debug, asan or tsan (CMakePresets.json) builds apart, in build/<preset>.
PRESET ?= release
BUILD = build/$(PRESET)

# As many compilers at once as there are processors and 1.5 GB of free memory for each.
JOBS ?= $(shell awk -v n="$$(nproc)" '/^MemAvailable/ { m = int($$2 / 1.5e6) } \
          END { print (m > 0 && m < n ? m : n) }' /proc/meminfo 2>/dev/null || echo 2)

.DEFAULT_GOAL = help
.PHONY: help setup build demo test golden fuzz soak bench gauntlet references experiments pages wheel docs format clean
.DELETE_ON_ERROR:

help:
	@echo "make demo     build the command line and the viewer, run a gallery of simulations"
	@echo "make test     build everything, warnings being errors, and run every test"
	@echo "make bench    measure against other simulators; tables in build/bench/results (BENCH=--full: all of it, hours)"
	@echo "make gauntlet  small scenes with known answers in every simulator; docs/results/gauntlet.md"
	@echo "make references  the gauntlet's answers worked out anew; geometry and start of every simulator compared"
	@echo "make experiments  repeat the published experiments; docs/results"
	@echo "make pages    bounces, scales and starts by default, random meetings, 100,000 random problems; docs/results (half an hour)"
	@echo "make build    build everything into $(BUILD)"
	@echo "make setup    only install the Debian packages that a build needs"
	@echo "make golden   after results changed on purpose: write tests/golden/hashes.txt anew"
	@echo "make fuzz     MINUTES=10 of fuzzing with libFuzzer (TARGETS=\"yaml steps\": only these)"
	@echo "make soak     HOURS=1 of random simulations with recording and viewer; watches memory, time, energy"
	@echo "make wheel    build the Python package as a wheel for this machine, in build/wheel (needs PyPI)"
	@echo "make docs     build the documentation site, in build/site (needs PyPI)"
	@echo "make format   lay out the C++ files with clang-format 14"
	@echo "make clean    remove everything built"
	@echo
	@echo "PRESET=debug|asan|tsan for another build, JOBS=n for n compilers at once (now $(JOBS))."

setup:
	@tools/setup build

# Ninja runs CMake again by itself when a CMakeLists.txt changes; presets and packages are our part.
build/%/build.ninja: CMakePresets.json packages.txt | setup
	@cmake --preset $* --log-level=NOTICE
	@touch $@

build: setup $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS)

demo: setup setup-viewer $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target apps/capstan/capstan viewer_page
	@$(BUILD)/apps/capstan/capstan demo

test: setup-format setup-viewer setup-python build
	@cd $(BUILD) && if ctest --output-on-failure --no-tests=error --timeout 300 -j $(JOBS); \
	  then echo "make test: passed ($(PRESET))"; \
	  else echo "make test: FAILED ($(PRESET)), see above"; exit 1; fi

bench: setup-bench build/bench/build.ninja
	@cmake --build build/bench -j $(JOBS)
	@bench/run build/bench $(BENCH)

gauntlet: setup-bench build/bench/build.ninja
	@cmake --build build/bench -j $(JOBS) --target capstan_cli gauntlet_peers
	@python3 bench/gauntlet/run.py --build build/bench $(GAUNTLET)

# Every answer of the gauntlet worked out anew, and what each engine has built of the scenes beside ours.
references: setup-bench build/bench/build.ninja
	@cmake --build build/bench -j $(JOBS) --target capstan_cli gauntlet_peers
	@python3 bench/gauntlet/references.py --capstan build/bench/apps/capstan/capstan
	@python3 bench/gauntlet/compare.py --build build/bench --out docs/results/gauntlet_geometry.md

experiments: setup $(BUILD)/build.ninja
	@tools/setup --optional experiments
	@tools/conic-solvers
	@cmake --build $(BUILD) -j $(JOBS) --target capstan_cli capstan_experiments_cli
	@$(BUILD)/apps/capstan/capstan experiments --all

PROBLEMS ?= 100000
pages: setup $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target capstan_cli convergence meetings
	@python3 bench/defaults.py --capstan $(BUILD)/apps/capstan/capstan --page docs/results/defaults.md
	@$(BUILD)/tests/meetings --page docs/results/meetings.md
	@$(BUILD)/tests/convergence --law coulomb --count $(PROBLEMS) --page docs/results/random_problems.md

golden: setup build/release/build.ninja
	@tools/setup --optional golden
	@cmake --build build/release -j $(JOBS) --target tests/golden
	@tools/golden build/release/tests/golden

HOURS ?= 1
soak: setup $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target tests/soak
	@$(BUILD)/tests/soak --minutes $$(awk 'BEGIN { print 60 * $(HOURS) }')

MINUTES ?= 10
fuzz: setup
	@tools/setup --optional fuzz
	@command -v clang++-14 >/dev/null || { echo "make fuzz needs clang 14 (packages.txt, group fuzz)"; exit 1; }
	@$(MAKE) --no-print-directory build/fuzz/build.ninja
	@cmake --build build/fuzz -j $(JOBS)
	@JOBS=$(JOBS) tools/fuzz build/fuzz $(MINUTES) $(TARGETS)

wheel: setup setup-viewer setup-python
	@test -x build/python/bin/python3 || { echo "make wheel needs PyPI (see tools/python-env)"; exit 1; }
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) tools/wheel

docs: setup setup-viewer setup-python $(BUILD)/build.ninja
	@test -x build/python/bin/python3 || { echo "make docs needs PyPI (see tools/python-env)"; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS) --target capstan_cli capstan_python_package viewer_page
	@tools/docs $(BUILD)/python

format: setup-format
	@tools/format

.PHONY: setup-format setup-bench setup-viewer setup-python
# Node, npm and Chromium: what needs them is left out where they cannot be had.
setup-viewer: setup
	@tools/setup --optional viewer browser
setup-python: setup
	@tools/setup --optional python
	@tools/python-env
setup-format:
	@tools/setup --optional format

setup-bench: setup
	@tools/setup bench
	@tools/setup --optional peers
	@tools/peers
build/bench/build.ninja: | setup-bench

clean:
	@rm -rf build .setup
