"""The recipes for other engines in the manual, each run as a script in a folder with `replies.parquet`.

They need libraries that are not installed for everybody.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import xmltools as xt
import xmltools.batch
from xmltools.batch import OUTPUT_SCHEMA, BatchOptions, parse_table

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RECIPES = BLOCK.findall((Path(__file__).parents[2] / "docs" / "batches.md").read_text(encoding="utf-8"))
OPTIONS = next(each for each in RECIPES if "OPTIONS = " in each)
INTEGERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}

QUIET = {
    # Nothing of Spark listens to other machines, and its workers are this Python.
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false pyspark-shell",
    # Nor does Ray.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "DO_NOT_TRACK": "1",
    "DAFT_PROGRESS_BAR": "0",
}


def reply(number):
    call = f"<tool><tool_name>add</tool_name><arguments><a>{number}</a><b>+3</b></arguments></tool>"
    return ("Adding.\n" + call, "No call.", "<tool><tool_name>sub</tool_name></tool>", None, call[:-9])[number % 5]


@pytest.mark.parametrize("library", [pytest.param("ray", marks=pytest.mark.alone), "daft", "datasets", "pyspark"])
def test_a_recipe_gives_what_parse_table_gives(tmp_path, library):
    if find_spec(library) is None or (library == "pyspark" and shutil.which("java") is None):
        pytest.skip(f"{library} is not installed, or has no Java")
    (recipe,) = (each for each in RECIPES if re.search(rf"^(import|from) {library}\b", each, re.MULTILINE))
    table = pa.table({"n": range(2000), "reply": [reply(number) for number in range(2000)]})
    pq.write_table(table, tmp_path / "replies.parquet")
    (tmp_path / "recipe.py").write_text(OPTIONS + recipe, encoding="utf-8")
    environment = os.environ | QUIET | {"HF_HOME": str(tmp_path / "hf")}
    command = [sys.executable, "recipe.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    options = BatchOptions(tools=(xt.Tool(name="add", parameters=INTEGERS),))
    found = pq.read_table(tmp_path / "calls").sort_by("n")
    assert found.column_names == [*table.column_names, *OUTPUT_SCHEMA.names]
    assert found.to_pylist() == parse_table(table, options).to_pylist()


def test_the_script_that_reads_files_runs(tmp_path):
    (script,) = (each for each in RECIPES if "parse_files(" in each)
    pq.write_table(pa.table({"reply": [reply(number) for number in range(10)]}), tmp_path / "replies.parquet")
    (tmp_path / "script.py").write_text(script.replace(", options)", ", options, jobs=2)"), encoding="utf-8")
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "10 2 4 {'unknown_tool': 2, 'truncated': 2}\n"
