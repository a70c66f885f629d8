# make demo | test | lint | format | docs | bench-kernel | clean. Everything lives in .venv and build/.
PYTHON ?= python3
JOBS ?= auto
BIN := .venv/bin
OLDEST := build/venv-oldest
PIP := -m pip --quiet --disable-pip-version-check
WHEEL := build/wheel
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE \
  $(shell find src cpp -type f \( -name '*.py' -o -name '*.pyi' -o -name '*.cpp' -o -name '*.hpp' \) ! -path '*/tests/*')
CPP := $(shell find cpp -name '*.cpp' -o -name '*.hpp')
# Tests of the public estimator and its steps, for the oldest scikit-learn that is supported.
CORE_TESTS := $(addprefix tests/test_,core.py effects.py result.py designs.py columns.py trees.py \
  projected_boosting.py projected_forest.py stack.py tree_values.py presets.py)
# One thread in each test process: the numerical libraries would fight over the cores.
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MPLBACKEND=Agg

.PHONY: demo test lint format cpp-test python-test oldest-test docs bench-kernel clean

demo: .venv/.cli
	$(BIN)/shaff demo

test: lint cpp-test python-test oldest-test
	@echo "All checks passed."

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(if $(CPP),$(BIN)/clang-format --dry-run -Werror $(CPP))

format: .venv/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(if $(CPP),$(BIN)/clang-format -i $(CPP))

cpp-test: .venv/.test
	$(BIN)/cmake -S . -B build/sanitized -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O1 -DSHAFF_PYTHON=OFF -DSHAFF_TESTS=ON -DSHAFF_SANITIZE=ON > build/cmake.log
	$(BIN)/cmake --build build/sanitized
	$(BIN)/ctest --test-dir build/sanitized --output-on-failure

# The installed package is tested, its doctests included, never the source folder.
python-test: .venv/.test
	$(TEST_ENV) $(BIN)/python -m pytest -n $(JOBS) --pyargs shaff tests

# Old scikit-learn with new SciPy warns of deprecations that are not ours.
oldest-test: $(OLDEST)/.installed
	$(TEST_ENV) $(OLDEST)/bin/python -m pytest -q -n $(JOBS) -W ignore::DeprecationWarning $(CORE_TESTS)

docs: .venv/.docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench-kernel: .venv/.bench
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.kernel

clean:
	rm -rf .venv build docs/_build docs/api/generated demo-output .mypy_cache .ruff_cache .pytest_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "shaff needs Python 3.11 or later; name one with: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

$(WHEEL)/.built: $(BIN)/python $(SOURCES)
	@command -v $${CXX:-c++} > /dev/null || \
	  { echo "shaff needs a C++20 compiler: install g++ or clang, or name one in CXX" >&2; exit 1; }
	@mkdir -p $(WHEEL) && rm -f $(WHEEL)/*.whl
	$(BIN)/python $(PIP) wheel --no-deps --wheel-dir $(WHEEL) .
	@touch $@

# pip keeps an installed package of the same version, so the new wheel is put in by force.
define install
	$(1)/bin/python $(PIP) install --no-compile $$(ls $(WHEEL)/*.whl)[$(2)] $(3)
	$(1)/bin/python $(PIP) install --no-compile --force-reinstall --no-deps $$(ls $(WHEEL)/*.whl)
	@touch $@
endef

.venv/.cli: $(WHEEL)/.built
	$(call install,.venv,cli)

.venv/.docs: $(WHEEL)/.built
	$(call install,.venv,docs)

.venv/.bench: $(WHEEL)/.built
	$(call install,.venv,plot)

.venv/.test: $(WHEEL)/.built
	$(call install,.venv,test)

$(OLDEST)/.installed: $(WHEEL)/.built
	test -d $(OLDEST) || $(PYTHON) -m venv $(OLDEST)
	$(call install,$(OLDEST),plot,"scikit-learn==1.6.*" pytest pytest-xdist hypothesis pandas polars pyarrow rich)
