# The commands of the house. A fresh machine needs Python 3.11 or newer, a C++20 compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTHONS := src tests benchmarks docs tools papers examples
CORE := $(shell find core -name '*.cpp' -o -name '*.hpp' -o -name '*.inc' -o -name 'CMakeLists.txt') CMakeLists.txt


.PHONY: demo test test-core test-slow calibrate fuzz lint format bench docs golden stubs clean

demo: $(VENV)/.ready  ## cluster a built-in data set, print what was found, write a report
	$(BIN)/hedgerow demo --out demo-output

test: $(VENV)/.ready-test lint test-core  ## everything that must hold before a change lands
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

test-core: $(VENV)/.ready-test  ## the C++ tests on every instruction set, under AddressSanitizer and UndefinedBehaviorSanitizer
	$(BIN)/cmake -S . -B build/core-tests -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DHEDGEROW_TESTS=ON -DHEDGEROW_PYTHON=OFF -DHEDGEROW_SANITIZE=ON > /dev/null
	$(BIN)/cmake --build build/core-tests > /dev/null
	CTEST_OUTPUT_ON_FAILURE=1 $(BIN)/cmake --build build/core-tests --target test

test-slow: $(VENV)/.ready-test  ## the long statistical checks
	$(BIN)/python -m pytest -q -m slow

calibrate: $(VENV)/.ready-test  ## simulation-based calibration of every prior, likelihood and kernel
	$(BIN)/python -m pytest -q -m slow tests/statistical/test_calibration.py

MINUTES ?= 10
fuzz: $(VENV)/.ready-test  ## hostile files and lines for every reader, MINUTES for each
	$(BIN)/python tools/fuzz --minutes $(MINUTES)

lint: $(VENV)/.ready-test
	$(BIN)/ruff check $(PYTHONS)
	$(BIN)/ruff format --check --quiet $(PYTHONS)
	$(BIN)/clang-format --dry-run --Werror $(filter-out %.txt,$(CORE))
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready-test  ## lay the code out as `make lint` wants it
	$(BIN)/ruff format --quiet $(PYTHONS)
	$(BIN)/clang-format -i $(filter-out %.txt,$(CORE))

bench: $(VENV)/.ready-test  ## speed as ratios within one run
	$(BIN)/python -m benchmarks

docs: $(VENV)/.ready-docs  ## build the documentation into build/docs, warnings as errors, and run its examples
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	$(BIN)/python -m pytest -q -m "not slow" tests/api/test_docs.py

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

$(VENV)/.ready-test: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --editable '.[test,lint]'
	touch $@

$(VENV)/.ready-docs: $(VENV)/.ready-test
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@
