# Everything a contributor types. `make` alone lists it.
PY := .venv/bin/python
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help venv compiled demo test-fast test test-all soak test-agents check fmt bench clean lock packages

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(STAMP) ## the virtual environment in .venv, exactly as requirements.lock says

$(STAMP): requirements.lock pyproject.toml scripts/venv
	@scripts/venv

compiled: venv
	@$(PY) -m compileall -q src

packages: ## the Debian packages that the tests need
	@scripts/debian-packages tests

demo: venv ## a run to a verified branch; cheats that are detected; a command that cannot leave the sandbox
	@scripts/debian-packages wall
	@scripts/demo

FAST := readers syntax workspace/policy model session engines judge memory
# Compiled modules are kept: the tests start the program thousands of times.
KEEP_COMPILED = PYTHONDONTWRITEBYTECODE=
# One worker more than cores, because tests also wait.
WORKERS = $(shell expr $$(nproc) + 1)
PYTEST = $(KEEP_COMPILED) PATH="$(CURDIR)/.venv/bin:$$PATH" $(PY) -m pytest -n $(WORKERS) --dist worksteal --ignore=tests/house

test-fast: compiled packages ## the tests of the inner loop: no whole runs, a sample of the long proofs
	@DONEWHEN_TESTS=sample $(PYTEST) $(addprefix tests/,$(FAST))

test: compiled packages ## every part of the program, with a sample of each family of long proofs
	@scripts/test-runners
	@scripts/test-projects
	@DONEWHEN_TESTS=sample $(PYTEST)

test-all: compiled packages ## every test, and all of the long proofs
	@scripts/test-runners
	@scripts/test-projects
	@$(PYTEST)

soak: compiled packages ## what takes longer than CI may: all hostile texts, files of 2 GiB, the fast tier in other places
	@DONEWHEN_FUZZ=1 DONEWHEN_LARGE_FILE=2147483648 $(PYTEST) tests/fuzz tests/runs/test_large_files.py
	@DONEWHEN_FAST_TIER="$(FAST)" $(PYTEST) tests/attacks/test_other_users_and_places.py

test-agents: venv packages ## the external engine with real agents and a scripted model
	@scripts/test-agents
	@PATH="$(CURDIR)/.venv/bin:$$PATH" DONEWHEN_REAL_AGENTS=1 $(PY) -m pytest -n 2 --dist worksteal tests/real_agents

check: venv ## format, lint, types, import rules, house rules
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/ruff check --quiet .
	@.venv/bin/lint-imports --no-logo
	@.venv/bin/pyright --warnings
	@$(KEEP_COMPILED) $(PY) -m pytest -q -n auto tests/house

fmt: venv ## format and sort imports
	@.venv/bin/ruff check --quiet --fix . || true
	@.venv/bin/ruff format --quiet .

bench: venv packages ## measurements, printed as ratios
	@scripts/test-runners
	@$(PY) bench/run.py

lock: venv ## write requirements.lock again from pyproject.toml
	@.venv/bin/uv pip compile -q --upgrade --generate-hashes --no-emit-index-url --no-header --universal \
		--python-version 3.11 --extra dev pyproject.toml -o requirements.lock

clean: ## remove what the other targets made
	rm -rf .venv .cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache bench/out
