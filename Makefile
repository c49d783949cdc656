# A machine with Python 3.11 or newer and make is all that is needed; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup page studio demo test check fuzz bench quality papers docs clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "understudy needs Python 3.11 or newer, and '$(PYTHON)' is none." >&2; \
	  echo "hint: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "'$(PYTHON) -m venv' failed: this Python comes without what makes environments." >&2; \
	  echo "hint: on Debian and Ubuntu, 'apt install python3-venv'" >&2; exit 1; }

# A stamp is a copy of what was installed from: no network while that is the same, however new the file is.
$(VENV)/installed.%: pyproject.toml $(BIN)/python
	@cmp -s pyproject.toml $@ || $(PIP) -e '.[$*]'
	@cp pyproject.toml $@

# Node comes from a Python package where the machine has none that will do; without any, all but the studio works.
node = needs="$$($(BIN)/python web/build.py --needs $(1))"; [ -z "$$needs" ] || $(PIP) "$$needs" || true

setup: $(VENV)/installed.dev page ## make the private environment

page: $(VENV)/installed.dev ## build the studio's page, if its sources changed
	@$(call node,build)
	@$(BIN)/python web/build.py

studio: page ## open the studio
	@$(BIN)/understudy studio

demo: $(VENV)/installed.dev ## show what there is: a page, out/demo/demo.html, which opens by itself
	@$(BIN)/understudy demo -o out/demo

test: $(VENV)/installed.dev page ## run the tests
	@$(call node,test)
	@$(BIN)/python web/build.py --test
	@$(BIN)/python -m pytest -n auto --dist loadgroup

check: $(VENV)/installed.dev ## lint, format and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(call node,check)
	@$(BIN)/python web/build.py --check

fuzz: $(VENV)/installed.dev ## read mutants of every format: COUNT=100000, FIRST numbers the first one
	@$(BIN)/python tests/fuzz/run.py --count $(or $(COUNT),100000) --first $(or $(FIRST),0)

bench: $(VENV)/installed.dev $(VENV)/installed.bench ## measure beside other packages, into docs/benchmarks.md
	@$(PIP) -q -e '.[peers]' || echo "some packages to compare with could not be installed: they are skipped"
	@$(BIN)/python benchmarks/run.py

quality: $(VENV)/installed.dev ## measure the judge's matrix of pairs, into docs/quality.md; UNDERSTUDY_JUDGE names its folder
	@$(BIN)/python benchmarks/quality.py $(ARGS)

papers: $(VENV)/installed.dev ## run the papers' experiments, into docs/papers; UNDERSTUDY_DATA and UNDERSTUDY_CMU name folders of captures, NAMES some experiments
	@$(BIN)/python -m papers $(NAMES) -o out/papers $(if $(UNDERSTUDY_DATA),--data '$(UNDERSTUDY_DATA)'); \
	  status=$$?; $(BIN)/python -m docs.papers.pages out/papers && exit $$status

docs: $(VENV)/installed.dev $(VENV)/installed.docs ## run what the pages show, build them into site/
	@$(BIN)/python docs/fill.py
	@NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet

clean: ## remove what was made
	rm -rf $(VENV) web/node_modules src/understudy/studio/page build dist site out .pytest_cache .mypy_cache .ruff_cache .hypothesis
