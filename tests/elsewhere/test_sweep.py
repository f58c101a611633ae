"""Sweeps over Parquet files and on a Dask cluster: results are the same however a sweep is run or interrupted."""

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from gradcli.analysis.sweep.plan import open_points
from gradcli.analysis.sweep.run import rows_as_csv
from gradcli.analysis.sweep.tables import TextPoints, load_arrow
from gradcli.errors import GradcliError
from tests.command import gradcli
from tests.test_samples import run_sweeps

pytestmark = pytest.mark.framework("pyarrow")
PROGRAM = "x**2*sin(y) + exp(-x*y)"
SLOW = """
import time

def f(x, y):
    time.sleep(0.0005)
    return x * y if x > y else x**2
"""


def sweep(*words, folder, code=0):
    done = gradcli("sweep", *words, "--json", cwd=folder)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if done.stdout else {}


def write(path, **columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path, row_group_size=70_000)


def read(path):
    import pyarrow.parquet as pq

    return pq.read_table(path)


@pytest.fixture
def table(tmp_path):
    x, y = np.random.default_rng(0).normal(size=(2, 150_000))
    write(tmp_path / "p.parquet", x=x, y=y, name=[f"row {i}" for i in range(len(x))])
    return x, y


@pytest.mark.parametrize(
    "more",
    [[], ["-j", "2"], pytest.param(["--dask", "local", "-j", "2"], marks=pytest.mark.framework("distributed"))],
    ids=" ".join,
)
def test_parquet_to_parquet(table, tmp_path, more):
    x, y = table
    found = sweep(PROGRAM, "p.parquet", "-o", "o.parquet", "--diag", "--keep", "name", *more, folder=tmp_path)
    assert (found["rows"], found["not_finite"], found["output"]) == (150_000, 0, "o.parquet")
    columns = read(tmp_path / "o.parquet")
    e = np.exp(-x * y)
    wanted = {
        "value": x**2 * np.sin(y) + e,
        "d_x": 2 * x * np.sin(y) - y * e,
        "d_y": x**2 * np.cos(y) - x * e,
        "d2_x": 2 * np.sin(y) + y**2 * e,
        "d2_y": -(x**2) * np.sin(y) + x**2 * e,
    }
    assert columns.column_names == ["x", "y", *wanted, "name"]
    assert [columns[name].to_pylist() for name in "xy"] == [x.tolist(), y.tolist()]
    for name, numbers in wanted.items():
        np.testing.assert_allclose(columns[name].to_numpy(), numbers, rtol=1e-12, atol=1e-14 * np.abs(numbers).max())
    assert columns["name"].to_pylist() == [f"row {i}" for i in range(150_000)]


def test_all_formats_give_the_same_results(tmp_path):
    x, y = np.random.default_rng(1).normal(size=(2, 3000))
    write(tmp_path / "p.parquet", x=x, y=y)
    np.save(tmp_path / "p.npy", np.rec.fromarrays([x, y], names="x,y"))
    rows = "".join(f"{a!r},{b!r}\n" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    (tmp_path / "p.csv").write_text("x,y\n" + rows)
    (tmp_path / "p.tsv").write_text(("x,y\n" + rows).replace(",", "\t"))
    tables = []
    for ending in ("parquet", "npy", "csv", "tsv"):
        sweep(PROGRAM, f"p.{ending}", "-o", f"{ending}.parquet", folder=tmp_path)
        sweep(PROGRAM, f"p.{ending}", "-o", f"{ending}.csv", folder=tmp_path)
        tables.append(read(tmp_path / f"{ending}.parquet"))
        assert (tmp_path / f"{ending}.csv").read_bytes() == (tmp_path / "parquet.csv").read_bytes()
    assert all(other.equals(tables[0]) for other in tables)
    assert np.loadtxt(tmp_path / "csv.csv", delimiter=",", skiprows=1)[:, 3].tolist() == tables[0]["d_x"].to_pylist()


def test_lists_are_arrays_and_null_is_nan(tmp_path):
    import pyarrow as pa

    rows = [[1.0, 2.0], [3.0], [], None, [4.0, None]]
    write(tmp_path / "p.parquet", x=[1, 2, 3, 4, None], w=rows, f=pa.array([[1, 2]] * 5, pa.list_(pa.float32(), 2)))
    found = sweep("x*sum(w**2) + f @ f", "p.parquet", "-o", "o.parquet", "--no-keep", "--keep", "w", folder=tmp_path)
    assert found["not_finite"] == 2
    columns = read(tmp_path / "o.parquet").to_pydict()
    np.testing.assert_equal(columns["value"], [10.0, 23.0, 5.0, np.nan, np.nan])
    np.testing.assert_equal(columns["d_w"][:3], [[2.0, 4.0], [12.0], []])
    assert columns["d_f"][0] == [2.0, 4.0]
    assert columns["w"] == rows
    sweep("x*sum(w**2) + f @ f", "p.parquet", "-o", "with.parquet", folder=tmp_path)
    handed = read(tmp_path / "with.parquet").to_pydict()
    assert list(handed) == ["x", "w", "f", "value", "d_x", "d_w", "d_f"]
    np.testing.assert_equal(handed["w"], [*rows[:3], [np.nan], [4.0, np.nan]])
    assert handed["f"] == [[1.0, 2.0]] * 5


def test_shards_add_up_to_the_whole(table, tmp_path):
    sweep(PROGRAM, "p.parquet", "-o", "whole.parquet", folder=tmp_path)
    parts = []
    for k in range(1, 4):
        sweep(PROGRAM, "p.parquet", "-o", f"{k}.parquet", "--shard", f"{k}/3", folder=tmp_path)
        parts += read(tmp_path / f"{k}.parquet")["d_y"].to_pylist()
    assert parts == read(tmp_path / "whole.parquet")["d_y"].to_pylist()


def parts(folder):
    with contextlib.suppress(FileNotFoundError):
        return [name for name in os.listdir(folder / "o.parquet.parts") if name.endswith(".parquet")]
    return []


def begin(folder, rows, *words, count):
    """Sweep a slow function, then start a second sweep; return it once `count` of its parts exist."""
    (folder / "slow.py").write_text(SLOW)
    x, y = np.random.default_rng(2).normal(size=(2, rows))
    write(folder / "p.parquet", x=x, y=y)
    sweep("slow.py:f", "p.parquet", "-o", "whole.parquet", folder=folder)
    line = [sys.executable, "-m", "gradcli", "sweep", "slow.py:f", "p.parquet", "-o", "o.parquet", *words]
    run = subprocess.Popen(line, cwd=folder, stderr=subprocess.PIPE, text=True)
    while len(parts(folder)) < count:
        assert run.poll() is None, run.stderr.read()
        time.sleep(0.01)
    return run


@pytest.mark.parametrize(
    "stop", [pytest.param(signal.SIGINT, marks=pytest.mark.nightly), signal.SIGKILL], ids=["SIGINT", "SIGKILL"]
)
def test_a_sweep_resumes_where_it_was_stopped(tmp_path, stop):
    run = begin(tmp_path, 5000, count=2)
    run.send_signal(stop)
    _, said = run.communicate(timeout=30)
    assert run.returncode == (130 if stop == signal.SIGINT else -9)
    assert stop == signal.SIGKILL or "interrupted" in said
    assert 2 <= len(parts(tmp_path)) < 5 and not (tmp_path / "o.parquet").exists()
    words = ["slow.py:f", "p.parquet", "-o", "o.parquet"]
    sweep(*words, "--wrt", "x", folder=tmp_path, code=2)
    (tmp_path / "slow.py").write_text(SLOW + "\n# changed\n")
    sweep(*words, folder=tmp_path, code=2)
    (tmp_path / "slow.py").write_text(SLOW)
    sweep(*words, *(["-j", "2"] if stop == signal.SIGKILL else []), folder=tmp_path)
    assert (tmp_path / "o.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert parts(tmp_path) == []


@pytest.mark.nightly
@pytest.mark.framework("distributed")
def test_dask_survives_a_killed_worker(tmp_path):
    with cluster(tmp_path) as (address, workers):
        run = begin(tmp_path, 8000, "--dask", address, count=1)
        workers[0].kill()
        _, said = run.communicate(timeout=100)
    assert run.returncode == 0, said
    assert (tmp_path / "o.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


@contextlib.contextmanager
def cluster(folder):
    """Start a scheduler and two workers; yield the scheduler's address and the workers."""
    started = []

    def start(kind, *words):
        module = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words]
        started.append(subprocess.Popen(module, cwd=folder, stdout=log, stderr=log))
        return started[-1]

    with open(folder / "log", "w") as log:
        try:
            start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
            while not (found := re.search(r"tcp://127.0.0.1:\d+", (folder / "log").read_text())):
                assert started[0].poll() is None, (folder / "log").read_text()
                time.sleep(0.05)
            words = [found[0], "--nthreads", "1", "--no-nanny", "--no-dashboard"]
            yield found[0], [start("worker", *words), start("worker", *words)]
        finally:
            for process in started:
                process.kill()
                process.wait()


@pytest.mark.framework("distributed")
def test_the_sample_runs_on_dask(path, tmp_path):
    assert run_sweeps(path, tmp_path).endswith("the same\n")


CELLS = ["", "nan", "-INF", "+5", " 7 ", "-0", "1e400", "5e-324", "0.1", "1e5", "1e16", "123456789012", "0.00001", "1."]


def test_text_is_the_same_with_and_without_arrow(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**63, 5000, np.uint64).view(float)
    numbers = [*map(repr, bits[np.isfinite(bits)].tolist()), *(f"{x:.6f}" for x in rng.normal(size=5000).tolist())]
    names = ["a", "é ü", " c ", "", "7", "nan", "(x)"]
    rows = [f"{x},{y},{names[i % 7]}\n" for i, (x, y) in enumerate(zip(numbers, itertools.cycle(CELLS), strict=False))]
    (tmp_path / "p.csv").write_text("x,y,id\n" + "".join(rows))
    texts, blocks = [], []
    for least in (1 << 60, 0):
        monkeypatch.setattr("gradcli.analysis.sweep.tables.WORTH_ARROW", least)
        arrow = load_arrow(1)
        if least == 0:
            monkeypatch.delattr(TextPoints, "parse_cells")
        assert (arrow is None) == (least > 0)
        points = open_points(str(tmp_path / "p.csv"))
        points.prepare(["x", "y"], ["id"])
        (block,) = points.read(0, points.rows, points.rows)
        blocks.append(block)
        texts.append([rows_as_csv(block.inputs, ";", arrow), rows_as_csv({**block.inputs, **block.kept}, ",", arrow)])
    assert texts[0] == texts[1]
    wanted = np.array([[float(cell or "nan") for cell in row.split(",")[:2]] for row in rows])
    for block in blocks:
        assert bits_of(np.stack([block.inputs["x"], block.inputs["y"]], 1)) == bits_of(wanted)
        assert block.kept["id"].tolist() == [row[:-1].split(",")[2] for row in rows]
    read_again = np.loadtxt(texts[0][0].decode().splitlines(), delimiter=";")
    assert bits_of(read_again) == bits_of(wanted)


def bits_of(numbers):
    """Return the bits of numbers, with all nans made the same."""
    return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64).tolist()


@pytest.mark.parametrize(
    "row, why",
    [
        ("1,x", "'x' in column 'y'"),
        ("1,nan(3)", "'nan"),
        ("1", "it has 1 cell"),
        ("1,2,3", "it has 3"),
        ('1,"2', "a quotation mark is not closed"),
    ],
)
@pytest.mark.parametrize("least", [0, 1 << 60])
def test_an_unreadable_row_is_the_same_error_with_arrow(row, why, least, tmp_path, monkeypatch):
    monkeypatch.setattr("gradcli.analysis.sweep.tables.WORTH_ARROW", least)
    (tmp_path / "p.csv").write_text("x,y\n1,2\n\n3,4\n" + row + "\n5,6\n")
    with pytest.raises(GradcliError, match="row 3: " + re.escape(why)):
        open_points(str(tmp_path / "p.csv")).prepare(["x", "y"], [])


@pytest.mark.parametrize("least", [0, 1 << 60])
def test_decimal_commas(least, tmp_path, monkeypatch):
    monkeypatch.setattr("gradcli.analysis.sweep.tables.WORTH_ARROW", least)
    (tmp_path / "p.csv").write_text("x;y\n1;2\n-1,5e2;,25\n")
    points = open_points(str(tmp_path / "p.csv"), delimiter=";")
    points.prepare(["x", "y"], [])
    (block,) = points.read(0, 2, 2)
    assert points.mark == "," and block.inputs["x"].tolist() == [1, -150] and block.inputs["y"].tolist() == [2, 0.25]
