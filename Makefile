# The commands of the house. A fresh machine needs Python 3.11 or newer, a C++20 compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTHONS := src tests benchmarks docs tools papers examples
# Left out of the inner loop: what needs a browser, a cluster, video or other processes, and what takes long for what it guards.
QUICK := tests/unit tests/property tests/api/test_sampling.py tests/api/test_bad_input.py tests/api/test_estimators.py \
  --ignore-glob='*/test_video_*' --ignore=tests/unit/test_leaks.py --ignore=tests/property/test_fuzz_loaders.py
CORE := $(shell find core -name '*.cpp' -o -name '*.hpp' -o -name '*.inc' -o -name 'CMakeLists.txt') CMakeLists.txt

comma := ,
# core_tests: build the C++ tests with sanitizers $(1) in build/$(2), with further words $(3) to CMake.
core_tests = $(BIN)/cmake -S . -B build/$(2) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
  -DHEDGEROW_TESTS=ON -DHEDGEROW_PYTHON=OFF -DHEDGEROW_SANITIZE=$(1) $(3) > /dev/null && $(BIN)/cmake --build build/$(2) > /dev/null

.PHONY: demo test quick test-core test-clang test-windows test-threads test-slow calibrate fuzz mutants lint format hooks bench docs wheel golden stubs clean

demo: $(VENV)/.ready  ## cluster a built-in data set, print what was found, write a report
	$(BIN)/hedgerow demo --out demo-output

test: $(VENV)/.ready-test lint test-core test-clang  ## everything that must hold before a change lands
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

quick: $(VENV)/.ready-test  ## the inner loop: unit and property tests and a sample of the exam, in less than two minutes
	$(BIN)/ruff check --quiet $(PYTHONS)
	$(BIN)/python -m pytest -q -n 2 -m "not slow" $(QUICK)

test-core: $(VENV)/.ready-test  ## the C++ tests on every instruction set, under AddressSanitizer and UndefinedBehaviorSanitizer
	$(call core_tests,address$(comma)undefined,core-tests,-DHEDGEROW_STRICT=ON)
	CTEST_OUTPUT_ON_FAILURE=1 $(BIN)/cmake --build build/core-tests --target test

CLANG ?= $(shell command -v clang++ || ls /usr/bin/clang++-[0-9]* 2> /dev/null | tail -1)
test-clang: $(VENV)/.ready-test  ## the core and its bindings by clang without a warning, and the C++ tests
ifeq ($(CLANG),)
	@echo "test-clang: skipped, there is no clang++ here"
else
	$(call core_tests,,core-clang,-DCMAKE_CXX_COMPILER=$(CLANG) -DHEDGEROW_STRICT=ON \
	  -DHEDGEROW_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python)
	build/core-clang/core/hedgerow_tests
endif

test-windows: $(VENV)/.ready-test  ## the core for Windows by MinGW without a warning, and its C++ tests under Wine
ifeq ($(and $(shell command -v x86_64-w64-mingw32-g++-posix),$(shell command -v wine)),)
	@echo "test-windows: skipped, it takes x86_64-w64-mingw32-g++-posix and wine"
else
	$(call core_tests,,core-windows,-DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/packaging/mingw.cmake -DHEDGEROW_STRICT=ON)
	for isa in baseline avx2; do WINEDEBUG=-all HEDGEROW_ISA=$$isa wine build/core-windows/core/hedgerow_tests.exe || exit 1; done
endif

test-threads: $(VENV)/.ready-test  ## the C++ tests with threads under ThreadSanitizer
	$(call core_tests,thread,core-threads)
	build/core-threads/core/hedgerow_tests -tc="in threads:*"

test-slow: $(VENV)/.ready-test  ## the long statistical checks
	$(BIN)/python -m pytest -q -m slow

calibrate: $(VENV)/.ready-test  ## simulation-based calibration of every prior, likelihood and kernel
	$(BIN)/python -m pytest -q -m slow tests/statistical/test_calibration.py

MINUTES ?= 10
fuzz: $(VENV)/.ready-test  ## hostile files and lines for every reader, MINUTES for each
	$(BIN)/python tools/fuzz --minutes $(MINUTES)

JOBS ?= 2
mutants: $(VENV)/.ready-test  ## plant errors one at a time and see that the tests notice; hours, goes on where it was stopped
	$(BIN)/python -m tools.mutants --jobs $(JOBS)

lint: $(VENV)/.ready-test
	$(BIN)/ruff check $(PYTHONS)
	$(BIN)/ruff format --check --quiet $(PYTHONS)
	$(BIN)/clang-format --dry-run --Werror $(filter-out %.txt,$(CORE))
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready-test  ## lay the code out as `make lint` wants it
	$(BIN)/ruff format --quiet $(PYTHONS)
	$(BIN)/clang-format -i $(filter-out %.txt,$(CORE))

hooks: $(VENV)/.ready-test  ## have git run the quick part of `make lint` before every commit
	$(BIN)/python -m pre_commit install

bench: $(VENV)/.ready-test  ## speed as ratios within one run
	$(BIN)/python -m benchmarks

docs: $(VENV)/.ready-test  ## build the documentation into build/docs, warnings as errors, and run its examples
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	$(BIN)/python -m pytest -q -m "not slow" tests/api/test_docs.py

wheel:  ## sdist and wheel into dist/, and the demo from the wheel in an empty environment without a compiler
	packaging/wheel.sh $(PYTHON)

golden: $(VENV)/.ready-test  ## record the golden draws again, after a change of them on purpose (tests/golden/CHANGES.md)
	$(BIN)/python tests/golden

stubs: $(VENV)/.ready-test  ## rewrite the stub of the compiled module
	$(BIN)/python tools/stubs.py

clean:
	rm -rf $(VENV) build dist demo-output

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.ready: $(VENV)/.made pyproject.toml $(CORE)
	$(BIN)/python -m pip install --quiet --editable '.[plot,progress]'
	touch $@

# All extras at once and not on top of .ready: every install builds the core again.
$(VENV)/.ready-test: $(VENV)/.made pyproject.toml $(CORE)
	$(BIN)/python -m pip install --quiet --editable '.[test,lint]'
	touch $(VENV)/.ready $@
