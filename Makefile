# make demo | quick | test | paper | peers | slow-test | spark-test | lint | format | docs | screenshots |
# architecture | tables | bench-kernel | wheels | check-wheels | clean. Everything lives in .venv and build/.
PYTHON ?= python3
JOBS ?= auto
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
UV := $(BIN)/uv --quiet --no-progress
WHEEL := build/wheel
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE \
  $(shell find src cpp -type f \( -name '*.py' -o -name '*.pyi' -o -name '*.cpp' -o -name '*.hpp' \
    -o -name '*.html' -o -name '*.css' -o -name '*.js' \) ! -path '*/tests/*')
CPP := $(shell find cpp -name '*.cpp' -o -name '*.hpp')
# What depends on other packages, for their lowest versions and for other versions of Python.
CORE_TESTS := $(addprefix tests/test_,core.py effects.py result.py columns.py trees.py stack.py \
  projected_boosting.py projected_forest.py tree_values.py presets.py plots.py paper.py \
  cli.py cli_broken.py table_files.py sources.py notes.py fuzz.py)
# The checks of scikit-learn run with a quick estimator there; with the default one they take a third
# of the time of all these tests, and run in python-test.
CORE_OPTIONS := --deselect "tests/test_effects.py::test_scikit_learn_checks[ShapleyEffects()-"
# For every change: files that take a few seconds at most (`pytest --durations=0`). The examples in
# the docstrings of all packages run besides.
QUICK_TESTS := $(addprefix tests/test_,core.py columns.py comparison.py direction.py docs.py docs_checks.py \
  extend.py files.py forest_paths.py formats.py games.py json_schema.py notes.py least_squares.py \
  local_plots.py markdown.py missing.py no_silent_loss.py packed.py proxy.py report.py result.py \
  screening.py splits.py \
  table_files.py trees.py wrong_settings.py)
# Pages whose examples start clusters, or fit at length, wait for `make test`.
QUICK_OPTIONS := -k "not examples_run and not readme_example"
# Packages that ship tables, read as files: they need not work, and what they depend on would hold
# pandas and scipy back.
TABLES := --no-deps ISLP lifelines linearmodels palmerpenguins statsmodels
# One thread in each test process: the numerical libraries would fight over the cores. Bytecode is
# kept, whatever the machine's habit: pip installs none here, and without it every process that a
# test starts compiles scikit-learn, SciPy and pandas again, which takes 5 seconds.
TEST_ENV := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MPLBACKEND=Agg
# A worker that is done takes tests from the other.
PYTEST := -m pytest -n $(JOBS) --dist worksteal
SIDE_BY_SIDE := $(MAKE) --no-print-directory -j 3 $(if $(filter output-sync,$(.FEATURES)),-Otarget)

.PHONY: demo quick test lint lint-cpp lint-python format cpp-test python-test slow-test spark-test \
  lowest-test other-pythons-test python-3.12-test python-3.13-test core-environments docs \
  screenshots architecture browser paper peers tables bench-kernel wheels check-wheels clean

demo: .venv/.cli
	$(BIN)/shaff demo

# The source tree, with the compiled core of the installed package beside it: only a change of the
# core needs a build.
quick: build/.core
	PYTHONPATH=src $(MAKE) --no-print-directory lint-python
	PYTHONPATH=src $(TEST_ENV) $(BIN)/python $(PYTEST) -q $(QUICK_OPTIONS) src/shaff $(QUICK_TESTS)

build/.core: pyproject.toml CMakeLists.txt $(CPP)
	$(MAKE) --no-print-directory .venv/.test
	cp "$$($(BIN)/python -c 'import shaff._core; print(shaff._core.__file__)')" src/shaff/
	@touch $@

# What leaves a core idle (mypy, downloads, links) runs side by side, and so do the environments of
# other versions. The tests of the package have the machine for themselves: some of them take time.
test: .venv/.test
	@$(SIDE_BY_SIDE) lint cpp-test core-environments
	@$(MAKE) --no-print-directory python-test
	@$(SIDE_BY_SIDE) lowest-test python-3.12-test python-3.13-test JOBS=$(SHARED_JOBS)
	@echo "All checks passed."
# Three environments at once: half of the cores for each.
SHARED_JOBS = $(shell $(BIN)/python -c 'import os; print((os.cpu_count() + 1) // 2)')

lint: .venv/.test
	@$(MAKE) --no-print-directory lint-python lint-cpp

lint-python:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

lint-cpp:
	$(if $(CPP),$(BIN)/clang-format --dry-run -Werror $(CPP))

format: .venv/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(if $(CPP),$(BIN)/clang-format -i $(CPP))

# Address and undefined behaviour over every kernel and width; races over what threads run.
cpp-test: .venv/.test
	$(call sanitized,address,-O1,all)
	$(BIN)/ctest --test-dir build/sanitized-address --output-on-failure
	$(call sanitized,thread,-O1,test_threads)
	$(BIN)/ctest --test-dir build/sanitized-thread --output-on-failure -R test_threads

# $(call sanitized,sanitizer,flags,target); a warning is an error.
define sanitized
	$(BIN)/cmake -S . -B build/sanitized-$(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=$(2) -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
	  -DSHAFF_PYTHON=OFF -DSHAFF_TESTS=ON -DSHAFF_SANITIZE=$(1) > build/cmake.log
	$(BIN)/cmake --build build/sanitized-$(1) --target $(3)
endef

# The installed package is tested, its doctests included, never the source folder.
python-test: .venv/.test browser
	$(TEST_ENV) $(BIN)/python $(PYTEST) --pyargs shaff tests

slow-test: .venv/.test
	$(TEST_ENV) $(BIN)/python $(PYTEST) -m slow tests

# Spark comes as an archive of half a gigabyte and needs Java: not a part of `make test`.
spark-test: .venv/.test
	$(PIP) install joblibspark pyspark
	$(TEST_ENV) $(BIN)/python -m pytest tests/spark.py

# The lowest versions that pyproject.toml names, all at once. They warn of deprecations that are
# not ours.
LOWEST := ON=3.11 RESOLUTION=lowest-direct
lowest-test: core-environments
	@$(MAKE) --no-print-directory core-test $(LOWEST) WARN="-W ignore::DeprecationWarning"

other-pythons-test: python-3.12-test python-3.13-test

python-3.12-test python-3.13-test: python-%-test: core-environments
	@$(MAKE) --no-print-directory core-test ON=$*

# One after the other: the last two share a wheel.
core-environments: .venv/.test
	@$(MAKE) --no-print-directory core-environment $(LOWEST)
	@$(MAKE) --no-print-directory core-environment ON=3.12
	@$(MAKE) --no-print-directory core-environment ON=3.13

# Chromium for the tests of the report: put in where we may, else those tests are skipped.
browser:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get -qq update && \
	    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium \
	      fonts-dejavu-core > /dev/null; } || \
	  echo "No Chromium here (apt install chromium): tests in the browser are skipped."

# The pictures of the guide: report, plots, notebook and terminal, into docs/images; then what the
# pages say that code prints.
screenshots: .venv/.test browser
	$(TEST_ENV) PYTHONPATH=. $(BIN)/python -m benchmarks.screenshots
	$(BIN)/python -m benchmarks.which_measure
	$(TEST_ENV) PYTHONPATH=. $(BIN)/python -m benchmarks.doc_outputs

# The drawing of the packages, from their imports.
architecture: .venv/.test
	$(BIN)/python -m benchmarks.architecture

# Warnings, misspelt or American words and links to nothing are errors.
docs: .venv/.docs
	$(BIN)/codespell README.md CONTRIBUTING.md SECURITY.md docs
	$(BIN)/python docs/check_words.py
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html
	@echo "Open docs/_build/html/index.html"

# The tables and figures of the paper: `make paper ARGS=--quick` takes minutes, all of it hours.
paper: .venv/.paper
	$(BIN)/python -m paper $(ARGS)

# shaff beside other packages on data with known effects: `make peers ARGS=--quick` takes minutes.
peers: build/venv-peers/.installed
	PYTHONPATH=. build/venv-peers/bin/python -m benchmarks.peers $(ARGS)

# The peers have an environment of their own: some need Python 3.12, some hold others back.
PEERS_PYTHON := $(firstword $(wildcard $(shell pyenv root 2>/dev/null)/versions/3.12.*/bin/python) \
  $(shell command -v python3.12) $(PYTHON))
build/venv-peers/.installed: benchmarks/peers/requirements.txt $(SOURCES) | $(BIN)/uv
	$(UV) venv --clear --python "$(PEERS_PYTHON)" build/venv-peers
	$(UV) pip install --python build/venv-peers/bin/python -r benchmarks/peers/requirements.txt .
# Their tables are read as files: what they depend on would hold the peers back.
	$(UV) pip install --python build/venv-peers/bin/python --no-deps ISLP statsmodels
	@touch $@

# What a release consists of, as far as this machine can build it: build/release. The wheels come
# from the source archive, so that it is complete; its date is that of the last commit.
RELEASE := build/release
EPOCH = $(shell git log -1 --format=%ct 2>/dev/null || echo 1767225600)
wheels: $(RELEASE)/.built
$(RELEASE)/.built: $(SOURCES) build/venv-release/.installed
	SOURCE_DATE_EPOCH=$(EPOCH) build/venv-release/bin/python -m benchmarks.wheels build $(RELEASE)
	@touch $@

# Each wheel in empty environments, without the source: tests, demonstration, audits, a second build.
check-wheels: wheels
	$(TEST_ENV) SOURCE_DATE_EPOCH=$(EPOCH) build/venv-release/bin/python -m benchmarks.wheels check $(RELEASE)

build/venv-release/.installed: pyproject.toml | $(BIN)/uv
	$(UV) venv --clear --python $(BIN)/python build/venv-release
	$(UV) pip install --python build/venv-release/bin/python --group release "uv>=0.8"
	@touch $@

# The tables of the benchmarks, of the guide and of the gallery.
tables: .venv/.test

bench-kernel: .venv/.bench
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.kernel

clean:
	rm -rf .venv build docs/_build docs/api/generated docs/gallery demo-output .mypy_cache .ruff_cache .pytest_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "shaff needs Python 3.11 or later; name one with: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }
	$(PIP) install "pip>=25.1" || { rm -rf .venv; exit 1; }

$(WHEEL)/.built: $(BIN)/python $(SOURCES)
	@command -v $${CXX:-c++} > /dev/null || \
	  { echo "shaff needs a C++20 compiler: install g++ or clang, or name one in CXX" >&2; exit 1; }
	@mkdir -p $(WHEEL) && rm -f $(WHEEL)/*.whl
	$(PIP) wheel --no-deps --wheel-dir $(WHEEL) \
	  --config-settings=cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON .
	@touch $@

# pip keeps an installed package of the same version, so the new wheel is put in by force.
define install
	$(PIP) install --no-compile $$(ls $(WHEEL)/*.whl)[$(1)] $(2)
	$(PIP) install --no-compile --force-reinstall --no-deps $$(ls $(WHEEL)/*.whl)
	@touch $@
endef

.venv/.cli: $(WHEEL)/.built
	$(call install,cli)

.venv/.docs: $(WHEEL)/.built
	$(PIP) install --no-compile $(TABLES)
	$(call install,cli,--group docs)

.venv/.paper: $(WHEEL)/.built
	$(call install,plot,--group paper)

.venv/.bench: $(WHEEL)/.built
	$(call install,plot)

# By uv: the largest environment, in a quarter of pip's time.
.venv/.test: $(WHEEL)/.built | $(BIN)/uv
	$(UV) pip install --python $(BIN)/python --reinstall-package shaff \
	  "$$(ls $(WHEEL)/*.whl)[cli,files,distributed]" --group test --group front --group lint
	$(UV) pip install --python $(BIN)/python $(TABLES)
	@touch $@

$(BIN)/uv: | $(BIN)/python
	$(PIP) install "uv>=0.8"

# make core-test ON=3.12: in an environment of its own, if this machine has that Python.
ifdef ON
.PHONY: core-test core-environment
RESOLUTION ?= highest
MAIN := $(shell $(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
FOUND := $(shell for python in $(BIN)/python python$(ON) "$$(pyenv root 2>/dev/null)"/versions/$(ON).*/bin/python; do \
  "$$python" -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "$(ON)")' 2>/dev/null && \
  echo "$$python" && break; done)
# Python 3.11 has a wheel of its own; all later ones share the one that the first of them builds.
abi = $(if $(filter 3.11,$(1)),cp311,abi3)
ON_WHEEL := $(if $(filter $(call abi,$(MAIN)),$(call abi,$(ON))),$(WHEEL),$(WHEEL)-$(call abi,$(ON)))
ON_VENV := build/venv-$(ON)-$(RESOLUTION)

ifeq ($(FOUND),)
core-environment:
core-test:
	@echo "Skipped: this machine has no Python $(ON) for the core tests with $(RESOLUTION) versions."
else ifeq ($(MAIN)-$(RESOLUTION),$(ON)-highest)
core-environment:
core-test:
	@echo "Skipped: python-test has run on Python $(ON)."
else
core-environment: $(ON_VENV)/.installed
core-test: $(ON_VENV)/.installed
	$(TEST_ENV) $(ON_VENV)/bin/python $(PYTEST) -q $(WARN) $(CORE_OPTIONS) $(CORE_TESTS)
endif

ifneq ($(ON_WHEEL),$(WHEEL))
$(ON_WHEEL)/.built: $(SOURCES)
	@mkdir -p $(ON_WHEEL) && rm -f $(ON_WHEEL)/*.whl
	$(UV) build --wheel --python "$(FOUND)" --out-dir $(ON_WHEEL)
	@touch $@
endif

# Made anew each time: uv would keep what is installed and not lower it.
$(ON_VENV)/.installed: $(ON_WHEEL)/.built
	$(UV) venv --clear --python "$(FOUND)" $(ON_VENV)
	$(UV) pip install --python $(ON_VENV)/bin/python --resolution $(RESOLUTION) \
	  -r pyproject.toml --extra cli --extra files --group test
	$(UV) pip install --python $(ON_VENV)/bin/python --no-deps $(ON_WHEEL)/*.whl
	@touch $@
endif
