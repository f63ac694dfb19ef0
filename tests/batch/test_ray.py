"""Parsing on Ray, on a cluster of this machine with two workers."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import xmltools as xt
from xmltools.batch import BatchOptions, parse_dataset, parse_files, parse_table
from xmltools.batch.ray import run_on_ray
from xmltools.errors import XMLToolsError
from xmltools.extras import install_line

# Ray's own modules warn of each other.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.alone]

ADD = xt.Tool(
    name="add", parameters={"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
)
OPTIONS = BatchOptions(tools=(ADD,))


def reply(number):
    call = f"<tool><tool_name>add</tool_name><arguments><a>{number}</a><b>+3</b></arguments></tool>"
    return ("Adding.\n" + call, "No call.", "<tool><tool_name>sub</tool_name></tool>", None, call[:-9])[number % 5]


TABLE = pa.table({"n": range(1000), "reply": [reply(number) for number in range(1000)]})


def as_lines(rows):
    return sorted(json.dumps(row) for row in rows)


@pytest.fixture(scope="module")
def ray():
    """A cluster that this module has to itself, with two workers."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(prefix="rt-", ignore_cleanup_errors=True) as folder:
        for name, value in (("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")):
            patch.setenv(name, value)
        found = pytest.importorskip("ray")
        pytest.importorskip("ray.data")
        quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "CRITICAL"}
        found.init(address="local", num_cpus=2, _temp_dir=folder, **quiet)
        found.data.DataContext.get_current().enable_progress_bars = False
        yield found
        found.shutdown()


@pytest.fixture(scope="module")
def dataset(ray):
    return ray.data.from_arrow([TABLE.slice(start, 50) for start in range(0, 1000, 50)])


def write(folder, ending, table=TABLE):
    path = folder / f"replies{ending}"
    match ending:
        case ".parquet":
            pq.write_table(table, path)
        case ".arrow":
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table, 128)
        case ".csv":
            pa.csv.write_csv(table, path)
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()) + "{broken\n")
        case ".jsonl.gz":
            path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()))
    return path


# Data sets


@pytest.mark.parametrize("concurrency", [None, 2, (1, 2)])
def test_a_data_set_gets_the_columns_that_a_table_gets(dataset, concurrency):
    parsed = parse_dataset(dataset, OPTIONS, batch_size=64, concurrency=concurrency)
    assert as_lines(parsed.take_all()) == as_lines(parse_table(TABLE, OPTIONS).to_pylist())


def test_two_workers_take_part(ray, dataset):
    import asyncio

    @ray.remote(num_cpus=0)
    class Meeting:
        def __init__(self):
            self.came, self.complete = set(), asyncio.Event()

        async def wait(self, process):
            self.came.add(process)
            if len(self.came) == 2:
                self.complete.set()
            await asyncio.wait_for(self.complete.wait(), 30)

        async def who(self):
            return self.came

    meeting = Meeting.remote()

    class Meeters(BatchOptions):
        def check_columns(self, names, where="the table"):
            ray.get(meeting.wait.remote(os.getpid()))
            super().check_columns(names, where)

    rows = parse_dataset(dataset, Meeters(tools=(ADD,)), batch_size=50, concurrency=2).take_all()
    came = ray.get(meeting.who.remote())
    assert len(rows) == 1000 and len(came) == 2 and os.getpid() not in came


def test_an_exception_in_a_worker_ends_the_run_and_loses_no_rows_silently(ray, dataset):
    def stumble(table):
        if 300 in table["n"].to_pylist():
            raise RuntimeError("a worker stumbles")
        return table

    broken = dataset.map_batches(stumble, batch_format="pyarrow")
    with pytest.raises(ray.exceptions.RayTaskError, match="a worker stumbles"):
        parse_dataset(broken, OPTIONS).take_all()


def test_a_data_set_of_something_else_is_refused(ray, dataset):
    with pytest.raises(XMLToolsError, match=r"expected a ray\.data\.Dataset, got Table"):
        parse_dataset(TABLE, OPTIONS)
    with pytest.raises(XMLToolsError, match="expected BatchOptions, got str"):
        parse_dataset(dataset, "reply")


# Files


@pytest.mark.parametrize(
    ("read", "written"),
    [
        (".parquet", ".parquet"),
        (".jsonl", ".jsonl"),
        (".jsonl.gz", ".jsonl.gz"),
        (".csv", ".csv"),
        (".arrow", ".jsonl"),
    ],
)
def test_files_hold_what_a_local_run_writes(ray, tmp_path, read, written):
    path = write(tmp_path, read)
    summary = run_on_ray([path], tmp_path / "calls", OPTIONS, format=written[1:])
    local = parse_files(path, tmp_path / f"local{written}", OPTIONS, jobs=1)
    (file,) = summary.outputs
    assert file.read_bytes() == (tmp_path / f"local{written}").read_bytes()
    assert (summary.rows, summary.calls, summary.failed_rows) == (local.rows, local.calls, local.failed_rows)
    assert (summary.errors, summary.repairs) == (local.errors, local.repairs)
    made = ["calls", ".calls.run.json", f"local{written}", f".local{written}.run.json", path.name]
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(made)


@pytest.fixture
def many(tmp_path):
    """A folder of files, each a part of its own."""
    (tmp_path / "in").mkdir()
    for start in range(0, 1000, 250):
        pq.write_table(TABLE.slice(start, 250), tmp_path / "in" / f"{start:03}.parquet")
    return tmp_path / "in"


def test_one_file_has_the_rows_of_all_in_their_order_and_progress_ends_with_all(ray, tmp_path, many):
    (many / "empty.jsonl").touch()
    told = []
    run_on_ray(many, tmp_path / "out.parquet", OPTIONS, on_progress=told.append)
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == parse_table(TABLE, OPTIONS).to_pylist()
    assert [progress.rows for progress in told] == [250, 500, 750, 1000] and told[-1].share > 0.99


def test_a_run_that_was_stopped_goes_on_here_or_on_ray(ray, tmp_path, many):
    def stop(progress):
        raise KeyboardInterrupt

    for resume in (run_on_ray, parse_files):
        out = tmp_path / f"{resume.__name__}.parquet"
        with pytest.raises(KeyboardInterrupt):
            run_on_ray(many, out, OPTIONS, on_progress=stop)
        assert not out.exists()
        summary = resume(many, out, OPTIONS, resume=True)
        assert summary.rows == 1000 and summary.skipped_rows >= 250
        assert pq.read_table(out).equals(parse_table(TABLE, OPTIONS))


def broken_bytes(folder):
    path = write(folder, ".jsonl.gz")
    path.write_bytes(path.read_bytes()[:-20])
    return path


def late_change(folder):
    # The first lines are looked at before the run; this one is met by a worker.
    path = folder / "late.jsonl"
    path.write_text('{"reply": ""}\n' * 1500 + '{"reply": "", "calls": 1}\n')
    return path


@pytest.mark.parametrize(
    ("make", "said"), [(broken_bytes, r"replies\.jsonl\.gz: "), (late_change, r"late\.jsonl:1501: ")]
)
def test_what_a_worker_cannot_read_ends_the_run_with_its_sentence_and_without_output(ray, tmp_path, make, said):
    good, bad = write(tmp_path, ".parquet"), make(tmp_path)
    with pytest.raises(XMLToolsError, match=said):
        run_on_ray([good, bad], tmp_path / "calls.jsonl", OPTIONS)
    assert not (tmp_path / "calls.jsonl").exists()


def test_a_task_that_ray_repeats_gives_its_rows_once(ray, tmp_path):
    trace, path, driver = tmp_path / "ended", write(tmp_path, ".parquet"), os.getpid()

    class Mortal(BatchOptions):
        def check_columns(self, names, where="the table"):
            if os.getpid() != driver and not trace.exists():
                trace.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            super().check_columns(names, where)

    summary = run_on_ray(path, tmp_path / "calls.parquet", Mortal(tools=(ADD,)))
    assert trace.exists() and summary.rows == 1000
    assert pq.read_table(tmp_path / "calls.parquet").equals(parse_table(TABLE, OPTIONS))


# What is wrong before anything runs


@pytest.mark.parametrize(
    ("output", "given", "said"),
    [
        ("file.parquet", {}, "there is such a file already; --overwrite"),
        ("out.parquet", {}, "an earlier run did not end; --resume"),
        ("new", {"format": "xml"}, "format: expected one of parquet, jsonl"),
        ("new", {"options": BatchOptions(column="replies")}, "there is no column 'replies'; did you mean 'reply'"),
        ("new", {"options": "reply"}, "options: expected BatchOptions, got str"),
        ("new", {"format": "jsonl", "address": "127.0.0.1:6379"}, "connected to Ray already; leave the address out"),
    ],
)
def test_a_run_that_cannot_begin_says_why(ray, tmp_path, output, given, said):
    path = write(tmp_path, ".parquet")
    (tmp_path / "out.parquet.parts").mkdir()
    pq.write_table(TABLE, tmp_path / "file.parquet")
    with pytest.raises(XMLToolsError, match=said):
        run_on_ray(path, tmp_path / output, **({"options": OPTIONS} | given))
    assert not (tmp_path / "new").exists() and not (tmp_path / "new.parts").exists()


def test_without_ray_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(ImportError, match=re.escape(f"needs the library ray: {install_line('ray')}")):
        parse_dataset(None, OPTIONS)


# A process that begins Ray itself

ALONE = """
import socket
import sys
from xmltools.batch import BatchOptions
from xmltools.batch.ray import run_on_ray
from xmltools.extras import install_line

def look(progress):
    import ray
    port = int(ray.get_runtime_context().gcs_address.rpartition(":")[2])
    with socket.socket() as probe:
        reached = [not probe.connect_ex((sys.argv[3], port))]
    print(ray.nodes()[0]["NodeManagerAddress"], reached, progress.rows)

print(run_on_ray(sys.argv[1], sys.argv[2], BatchOptions(), on_progress=look).rows)
"""


def test_a_run_that_begins_ray_is_quiet_and_reached_from_nowhere_else(ray, tmp_path):
    path = write(tmp_path, ".parquet")
    before = set(Path("/tmp").glob("xr-*"))
    # What listens on all interfaces is reached at 127.0.0.2 too.
    command = [sys.executable, "-c", ALONE, path, tmp_path / "calls.parquet", "127.0.0.2"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)
    assert (done.stdout, done.stderr) == ("127.0.0.1 [False] 1000\n1000\n", "")
    assert set(Path("/tmp").glob("xr-*")) <= before
    assert pq.read_table(tmp_path / "calls.parquet").num_rows == 1000


JOIN = """
import sys
from xmltools.batch import BatchOptions
from xmltools.batch.ray import run_on_ray
from xmltools.extras import install_line

print(run_on_ray(sys.argv[1], sys.argv[2], BatchOptions(), address=sys.argv[3]).rows)
"""


def join(address, tmp_path):
    command = [sys.executable, "-c", JOIN, write(tmp_path, ".parquet"), tmp_path / "calls.parquet", address]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def test_a_process_has_the_cluster_at_its_address(ray, tmp_path):
    done = join(ray.get_runtime_context().gcs_address, tmp_path)
    assert (done.stdout, done.stderr) == ("1000\n", "")
    assert ray.is_initialized() and len(ray.nodes()) == 1


def test_an_address_without_a_cluster_is_said_at_once(ray, tmp_path):
    done = join("127.0.0.1:1", tmp_path)
    assert "XMLToolsError: there is no cluster of Ray at 127.0.0.1:1: " in done.stderr
    assert not [*tmp_path.glob("calls*")]
