# Every target creates the environment that it needs. This requires only python3 and its venv module.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
ELSEWHERE := .venv-elsewhere
FOUND := .venv-found
SITE := .venv-site
READY := $(VENV)/.ready
# Let Python keep compiled modules, because the tests start many processes that use them.
export PYTHONDONTWRITEBYTECODE :=
# Most installed modules are never imported; Python compiles the others when they are.
INSTALL := pip install --quiet --disable-pip-version-check --no-compile
# pip 25.1 is the first version with dependency groups.
UPGRADE := $(INSTALL) --upgrade 'pip>=25.1'

.PHONY: demo test test-all test-oldest test-elsewhere test-found lint format man site changelog bank bench calibrate clean

# The tests already run on all cores, so threads of BLAS and PyTorch would only wait for each other.
test test-%: export OMP_NUM_THREADS := 1

demo: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh samples/demo.sh

# The tests that need other engines would only be skipped here.
HERE := --ignore tests/elsewhere
test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal $(HERE)

# Also the tests that `test` and `test-elsewhere` leave out: more seeds, volume, large cases.
test-all: $(READY) $(ELSEWHERE)/.ready
	$(BIN)/python -m pytest -n auto --dist worksteal $(HERE) -m ""
	$(ELSEWHERE)/bin/python -m pytest -n auto --dist worksteal -m "" tests/elsewhere

# The tests and the case files of one package, as in `make test-check`.
test-%: $(READY)
	CASES=$* $(BIN)/python -m pytest -n auto --dist worksteal tests/$* tests/test_cases.py

# Some of the tests, with the oldest supported versions of the dependencies; TESTS=tests runs all of them.
TESTS := tests/tape tests/lang tests/test_readme.py
test-oldest: $(OLDEST)/.ready
	$(OLDEST)/bin/python -m pytest -n auto --dist worksteal $(TESTS)

# The tests that need other engines, in an environment with these engines.
test-elsewhere: $(ELSEWHERE)/.ready
	$(ELSEWHERE)/bin/python -m pytest -n auto --dist worksteal tests/elsewhere

# The samples of wrong derivatives, each with the release that it names.
RELEASES := $(shell sed -n 's/^require("\(.*\)", "\(.*\)")/\1@\2/p' samples/found/*.py | sort -u)
test-found: $(RELEASES:%=$(FOUND)/%/.ready)
	for release in $(RELEASES); do $(FOUND)/$$release/bin/python -m pytest tests/test_found.py || exit; done

lint: $(READY)
	$(BIN)/ruff check gradcli tests samples man
	$(BIN)/ruff format --check gradcli tests man
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix gradcli tests samples man
	$(BIN)/ruff format gradcli tests man

# The manual and the stubs.
man: $(READY)
	$(BIN)/python -m man.generate man

# The documentation site, in build/site.
site: $(SITE)/.ready
	@mkdir -p build/site-sources
	$(SITE)/bin/python -m sphinx -q -W --keep-going -E -c man/site build/site-sources build/site

# Move the files of man/news into CHANGELOG.md, as in `make changelog VERSION=0.2.0`.
changelog: $(SITE)/.ready
	$(SITE)/bin/python -m towncrier build --yes --version $(VERSION)

# Count how often the verdict is right, for the table in gradcli-verdict(7).
calibrate: $(READY) $(ELSEWHERE)/.ready
	$(BIN)/python -W ignore -m tests.calibrate --functions 1000 man/generate/calibration.json
	$(ELSEWHERE)/bin/python -W ignore -m tests.calibrate_reference --kernels 1000 man/generate/calibration_reference.json
	$(BIN)/python -m man.generate man

# Compare the speed with other engines, and checkers on one bank, for the tables in gradcli-bench(7).
bench: $(ELSEWHERE)/.ready
	$(ELSEWHERE)/bin/python -W ignore -m tests.bench $(MEASURED)

# Run a gradient checker on the bank of right and wrong claims: one of tests/bank/checkers, or a Python file.
CHECKER := gradcli
bank: $(ELSEWHERE)/.ready
	$(ELSEWHERE)/bin/python -W ignore -m tests.bank $(CHECKER)

clean:
	rm -rf $(VENV) $(OLDEST) $(ELSEWHERE) $(FOUND) $(SITE) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m $(UPGRADE)
	$(BIN)/python -m $(INSTALL) -e . --group dev
	@touch $(READY)

$(OLDEST)/.ready: pyproject.toml .ci/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m $(INSTALL) -r .ci/oldest.txt -e .
	@touch $@

$(SITE)/.ready: pyproject.toml
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m $(UPGRADE)
	$(SITE)/bin/python -m $(INSTALL) --group docs
	@touch $@

$(FOUND)/%/.ready: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m $(INSTALL) $(subst @,==,$*) pytest -e .
	@touch $@

$(ELSEWHERE)/.ready: pyproject.toml
	$(PYTHON) -m venv $(ELSEWHERE)
	$(ELSEWHERE)/bin/python -m $(INSTALL) torch==2.13.0
	$(ELSEWHERE)/bin/python -m $(INSTALL) \
		jax jaxlib autograd umbridge fmpy ase matplotlib pyarrow 'dask[distributed]' ipykernel nbconvert numdifftools jacobi \
		pytest pytest-xdist
	$(ELSEWHERE)/bin/python -m $(INSTALL) -e .
	@touch $@
