# The commands of the house. A fresh machine needs Python 3.11 or newer, a C++20 compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(shell find core -name '*.cpp' -o -name '*.hpp' -o -name '*.inc' -o -name 'CMakeLists.txt') CMakeLists.txt

.PHONY: demo test test-slow lint bench stubs clean

demo: $(VENV)/.ready  ## cluster a built-in data set, print what was found, write a report
	$(BIN)/hedgerow demo --out demo-output

test: $(VENV)/.ready-test lint  ## everything that must hold before a change lands
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

test-slow: $(VENV)/.ready-test  ## the long statistical checks
	$(BIN)/python -m pytest -q -m slow

lint: $(VENV)/.ready-test
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.ready-test  ## speed as ratios within one run
	$(BIN)/python -m benchmarks

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
