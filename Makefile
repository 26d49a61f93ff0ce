# Every target does its own set-up: a machine needs Python 3.10 or newer and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
# One process per core, one thread each.
ON_ALL_CORES = OMP_NUM_THREADS=1 sh tests/again.sh $(BIN)/python -m pytest -n auto --dist worksteal
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo docs test check format lint types layers wheel pythons references systems clusters compare quality bench soak clean help

help:  ## show the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMPS)/run: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[plot]'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/test: $(STAMPS)/run
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	@touch $@

$(STAMPS)/bench: $(STAMPS)/test
	$(BIN)/python -m pip install -q -c constraints.txt 'torch==2.13.0'
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[bench,dnn,dask,ray]'
	@touch $@

$(STAMPS)/docs: $(STAMPS)/test
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[docs]'
	@touch $@

demo: $(STAMPS)/run  ## find the front of a small neural network, within two minutes
	$(BIN)/flexibo demo

test: $(STAMPS)/test  ## run all tests
	$(ON_ALL_CORES)

check: export AGAIN := 1
check: $(STAMPS)/test lint types layers test docs wheel pythons references systems clusters compare  ## everything that CI runs

lint: $(STAMPS)/test
	$(BIN)/ruff format --check src tests benchmarks examples docs/*.py conftest.py
	$(BIN)/ruff check src tests benchmarks examples docs/*.py conftest.py

format: $(STAMPS)/test  ## rewrite the code in the house style
	$(BIN)/ruff format src tests benchmarks examples docs/*.py
	$(BIN)/ruff check --fix src tests benchmarks examples docs/*.py

types: $(STAMPS)/test
	$(BIN)/mypy

layers: $(STAMPS)/test
	$(BIN)/lint-imports

docs: $(STAMPS)/docs  ## the documentation as pages: build/docs/index.html
	$(BIN)/sphinx-build -q -W --keep-going -n -b html docs build/docs

wheel: $(STAMPS)/test  ## build a wheel and use it in an empty environment
	BIN=$(BIN) sh tests/wheel.sh

pythons: $(STAMPS)/test  ## the tests on the oldest and the newest Python that is installed
	BIN=$(BIN) sh tests/pythons.sh

references: $(STAMPS)/bench  ## the tests that need the optimisers of others: BoTorch's numbers, rivals
	$(ON_ALL_CORES) -q -m "botorch or rivals" tests/references tests/contracts

clusters: $(STAMPS)/bench  ## the tests that start clusters of Dask and Ray
	sh tests/again.sh $(BIN)/python -m pytest -q -m slow tests/integration/test_executors_dask.py tests/integration/test_executors_ray.py tests/contracts/test_executors.py

systems: $(STAMPS)/bench  ## the tests that train and run networks
	$(ON_ALL_CORES) -q -m torch tests

compare: $(STAMPS)/bench  ## methods and rivals on two small problems, at equal cost
	rm -rf results/quick
	$(BIN)/flexibo compare --suite quick --fresh --out results/quick

quality: $(STAMPS)/test  ## how good the fronts of all methods are, on two problems
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality

bench: $(STAMPS)/bench  ## speed, as ratios taken in one run
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m benchmarks.speed

soak: $(STAMPS)/test  ## kill, freeze and crowd the workers of shared studies, 20 minutes at most; SOAK='--kills 20 --each 50' is less
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.soak $(SOAK)

clean:  ## remove what was built
	rm -rf $(VENV) .venv-* dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
