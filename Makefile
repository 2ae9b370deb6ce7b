# Targets for people; `make` alone lists them. Everything is installed into .venv, and Debian packages
# with apt-get where the machine has it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this help
	@echo "lowtide: run a quantised .tflite network in the least RAM, with bit-exact outputs"
	@echo
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18

.PHONY: demo
demo: $(STAMP) ## Take a built-in network to C and run it on an emulated board
	@sh tools/demo.sh $(BIN)

.PHONY: test
test: check ## Run all checks and all tests
	$(BIN)/pytest -n auto --dist worksteal

.PHONY: check
check: $(STAMP) ## Run the linter, the formatter's check and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: platforms
platforms: $(STAMP) ## Check that it installs and type-checks on other systems and Pythons
	$(BIN)/mypy --python-version 3.14 src
	$(BIN)/mypy --platform win32 src
	$(BIN)/mypy --platform darwin src
	$(BIN)/python tools/check_platforms.py

# Parts end within 20 CPU minutes each: `make soak-3` runs the third alone.
SOAK_PARTS := 1 2 3 4 5 6 7 8

.PHONY: soak
soak: $(SOAK_PARTS:%=soak-%) ## Try thousands of random networks, in parts: soak-1 to soak-8

.PHONY: $(SOAK_PARTS:%=soak-%)
$(SOAK_PARTS:%=soak-%): $(STAMP)
	$(BIN)/pytest -n auto -m soak --part $(@:soak-%=%)/$(words $(SOAK_PARTS))

.PHONY: hunt
hunt: $(STAMP) ## Hunt for wrong bytes with fresh random networks and kernel cases (10 minutes)
	$(BIN)/python tests/hunting.py --seconds 600

.PHONY: bench
bench: $(STAMP) ## Measure everything, print it, and store the figures for the documents (takes long)
	bench/run tested --store
	bench/run stack --store
	bench/run misra --store
	-bench/run coverage --store
	-bench/run pairs --store
	bench/run examples --store
	bench/run reorder --store
	bench/run state --store
	bench/run hop --store
	bench/run flash --store
	bench/run speed --store
	bench/run deploy --store
	bench/run rows --store
	bench/run msf_cnn --store
	bench/run cliffs --store
	bench/run instructions --store
	bench/run simplify --store
	bench/run drawings --store
	bench/run browser --store
	bench/run sweep --store
	-bench/run cycles --store

.PHONY: mutants
mutants: $(STAMP) ## Plant small faults in kernels and in Python, and check that tests find them (takes long)
	bench/run mutants --store

.PHONY: figures
figures: $(STAMP) ## Write the stored figures into README.md and docs/
	bench/run figures

.PHONY: docs
docs: $(STAMP) ## Build the documentation's site into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

.PHONY: release
release: ## Check whether HEAD can be released; build and check its wheel and sdist
	$(PYTHON) tools/release.py

.PHONY: clean
clean: ## Remove what the other targets made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(STAMP): pyproject.toml tools/setup.sh
	sh tools/setup.sh $(PYTHON) $(VENV)
	@touch $@
