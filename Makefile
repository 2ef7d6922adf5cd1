# Everything a user of the checkout or a developer types. `make` alone lists the targets.

PY := .venv/bin/python
FILTER ?=
# more arguments for pytest, as in `make test-py ARGS="-x -k merge"`
ARGS ?=
PYTEST := $(PY) -m pytest $(ARGS)
LUA_FILES := build.lua lua plugin scripts $(wildcard tests bench)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## --- setting up -------------------------------------------------------------------------------

.PHONY: deps deps-dev cli lock install
deps: .venv/.deps ## Prepare what scripts/nvim needs, in .venv
deps-dev: .venv/.deps-dev ## Prepare what the tests and linters need as well

VENV_PARTS := scripts/venv scripts/make_venv.py $(wildcard python/agent_ide_venv/*.py)

.venv/.deps: requirements.lock $(VENV_PARTS)
	scripts/venv runtime
	@touch $@

.venv/.deps-dev: requirements.lock requirements-dev.lock $(VENV_PARTS)
	scripts/venv dev
	@touch .venv/.deps $@

# What cannot be had is no error here: its tests are skipped and counted, or fail in CI.
cli: deps-dev ## Fetch what the tests run from npm, the real CLIs above all, into a cache folder
	@scripts/venv node
	@for name in claude copilot gemini qwen conformance; do \
	  $(PY) scripts/fetch_cli.py $$name >/dev/null || echo "the tests with $$name will be skipped"; \
	done

lock: deps-dev ## Pin all third parties anew, with hashes
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(LOCK) -o requirements.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(LOCK) -c requirements.lock \
	  -o requirements-notebook.lock --extra notebook
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(LOCK) -c requirements-notebook.lock \
	  -o requirements-dev.lock --extra dev --extra notebook --extra neovim --extra node
LOCK := .venv/bin/uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 \
  --generate-hashes --no-annotate --no-emit-index-url

install: ## Build the plugin's own venv for your Neovim, as the plugin does at its first start; tag the help
	$$(scripts/find-nvim) --clean --headless -c "helptags doc" -c q
	$$(scripts/find-nvim) -l build.lua

## --- running ----------------------------------------------------------------------------------

.PHONY: demo test test-py test-lua e2e check
demo: deps ## Try it: Neovim with the plugin, an agent and a sample project
	@$(PY) scripts/demo.py

# two workers: half of the time is spent waiting for a real program's screen
test: deps-dev cli ## Run all tests
	$(PYTEST) -n 2 --dist loadfile

test-py: deps-dev ## Run the tests that need no real CLI and no Lua
	$(PYTEST) --ignore tests/lua --ignore tests/e2e

test-lua: deps-dev ## Run the tests of the Lua half; FILTER=name picks some
	$(PYTEST) tests/lua $(if $(FILTER),-k "$(FILTER)")

e2e: deps-dev cli ## Run the tests with sockets and real CLIs
	$(PYTEST) tests/e2e $(if $(FILTER),-k "$(FILTER)")

# other versions of Neovim than the one on PATH; Debian's packages, so as root on Debian
.PHONY: test-010 test-011 test-012
test-010 test-011 test-012: test-0%: deps-dev
	NVIM=$$(scripts/fetch-neovim 0.$*) $(PYTEST) tests/lua tests/editor $(if $(FILTER),-k "$(FILTER)")

# Neovims and libraries that are not the pinned ones, and an old Claude Code; ARGS="0.12.4" is one cell
.PHONY: test-matrix
test-matrix: deps-dev cli ## Run the tests with the oldest and the newest that we promise to work with
	$(PY) scripts/matrix.py $(ARGS)

# ARGS="qwen" or ARGS="claude=2.2.0" is one of them
.PHONY: cli-drift
cli-drift: deps-dev cli ## Run the e2e tests with the newest CLIs; which protocol facts do they break?
	$(PY) scripts/cli_drift.py $(ARGS)

# the long form of what `make test` runs in a short one; figures at the end, and in build/figures.json
.PHONY: torture
torture: deps-dev cli ## Hostile input and faults, the long form: about half an hour
	$(PYTEST) tests/torture --long --timeout 1800

.PHONY: soak
soak: deps-dev ## A day of work in ten minutes, and what it leaves; MINUTES=60 takes longer
	SOAK_MINUTES=$(or $(MINUTES),10) $(PYTEST) tests/soak --long

# about four minutes, and two; figures also in build/bench.json
.PHONY: bench bench-short
bench: deps-dev ## Measure speed and memory; ARGS="calls" runs one part, ARGS="other --port ..." another server
	$(PY) -m bench $(ARGS)

bench-short: deps-dev ## The same with fewer runs; fails where a ratio is far outside its budget
	$(PY) -m bench --short $(ARGS)

check: lint types doc-check test ## What CI runs

## --- reading and writing code -----------------------------------------------------------------

.PHONY: lint types format doc doc-check clean
# npm may be missing; node is fetched for it then
STYLUA = $$($(PY) scripts/fetch_cli.py stylua)

lint: deps-dev ## Look for faults: ruff, stylua, luacheck if it is there
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	@scripts/venv node
	stylua=$(STYLUA) && "$$stylua" --check $(LUA_FILES)
	@if command -v luacheck >/dev/null; then luacheck --quiet lua plugin build.lua; fi

types: deps-dev ## Check the types of the Python half
	$(PY) -m mypy

format: deps-dev ## Format all code
	$(PY) -m ruff check --fix-only --quiet .
	$(PY) -m ruff format --quiet .
	@scripts/venv node
	stylua=$(STYLUA) && "$$stylua" $(LUA_FILES)

doc: deps ## Write the options into doc/agent_ide.txt
	$$(scripts/find-nvim) --clean -l scripts/gen_help.lua

.PHONY: pictures
pictures: deps ## Draw the pictures of diffs anew, from a real screen
	$(PY) scripts/pictures.py

doc-check: deps ## Are doc/agent_ide.txt and doc/licences.md up to date?
	$$(scripts/find-nvim) --clean -l scripts/gen_help.lua --check
	$(PY) scripts/licences.py --check

.PHONY: licences
licences: deps-dev ## Write the licences of what is installed into doc/licences.md
	$(PY) scripts/licences.py

clean: ## Remove what was made here, .venv included
	rm -rf .venv .testenv build .mypy_cache .ruff_cache .pytest_cache .hypothesis doc/tags
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
