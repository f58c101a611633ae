"""Sweeps: blocks compared with single rows, missing extras, failing rows."""

import os

import numpy as np
import pytest

from gradcli.analysis.gradient import compute_gradient
from gradcli.analysis.sweep.plan import open_points
from gradcli.analysis.sweep.rows import (
    BYTES,
    SAMPLE_ROWS,
    Interpreted,
    Question,
    RowError,
    by_shape,
    peak_memory,
    rows_in_memory,
)
from gradcli.analysis.transform import compute_hessian
from gradcli.claims.open import load_program
from gradcli.cli.main import main
from gradcli.errors import GradcliError
from gradcli.program.target import Target
from gradcli.request import Request

PROGRAMS = {
    "x**2 * sin(y) + exp(-x*y)": {"x": (), "y": ()},
    "sum(w**2) * x / w[0]": {"x": (), "w": (3,)},
    "w @ v + cumsum(w)[1]": {"w": (3,), "v": (3,)},
    "solve([[2 + x, 1], [1, 3 + y]], w)[0]": {"x": (), "y": (), "w": (2,)},
    "det(outer(w, w) + x * eye(3))": {"x": (), "w": (3,)},
    "max(w) * mean(w) + x**y": {"x": (), "y": (), "w": (4,)},
    "where(x > y, x * y, sum(w))": {"x": (), "y": (), "w": (2,)},
    "a = x * y; b = a + norm(w); b * a": {"x": (), "y": (), "w": (2,)},
}


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_block_equals_its_rows(text):
    program = load_program(Target(text, inline=True))
    rng = np.random.default_rng(0)
    columns = {name: rng.uniform(0.5, 2, (5, *shape)) for name, shape in PROGRAMS[text].items()}
    evaluate = Interpreted(Question(program, {}, tuple(columns), tuple(columns), diag=True))
    block = evaluate(columns)
    assert not evaluate.looped
    for i in range(5):
        at = {name: x[i] for name, x in columns.items()}
        row = compute_gradient(program, at, Request())
        np.testing.assert_allclose(block["value"][i], row.value, rtol=1e-13)
        for item in row.inputs:
            np.testing.assert_allclose(block[f"d_{item.name}"][i], item.grad, rtol=1e-12, atol=1e-13)
        bends = compute_hessian(program, at, Request()).blocks
        for name, x in at.items():
            wanted = np.diagonal(bends[name][name].reshape(x.size, x.size)).reshape(x.shape)
            np.testing.assert_allclose(block[f"d2_{name}"][i], wanted, rtol=1e-11, atol=1e-12)


def ask(text, **columns):
    program = load_program(Target(text, inline=True))
    return Question(program, {}, tuple(columns), tuple(columns)), columns


def test_only_the_singular_row_is_nan():
    x = np.linspace(1, 2, 1000)
    x[617] = 0
    question, columns = ask("inv([[x, 0], [0, 1]])[0, 0]", x=x)
    found = Interpreted(question)(columns)
    assert np.flatnonzero(np.isnan(found["value"])).tolist() == [617]
    np.testing.assert_allclose(np.delete(found["d_x"], 617), -1 / np.delete(x, 617) ** 2)


def test_the_failing_row_is_named():
    rows = np.empty(3, object)
    rows[:] = [np.ones(2), np.ones(2), np.ones(1)]
    question, columns = ask("w[1] * x", x=np.ones(3), w=rows)
    with pytest.raises(RowError) as caught:
        by_shape(Interpreted(question), columns)
    assert caught.value.row == 2


@pytest.mark.parametrize("text, shape", [("x**2", ()), ("sum(x)", (1000,)), ("sum(outer(x, x) * 2)", (300,))])
def test_blocks_fit_into_memory(text, shape):
    question, first = ask(text, x=np.full((1, *shape), 0.5))
    evaluate = Interpreted(question)
    evaluate(first)  # the first call also makes preparations
    rows = rows_in_memory(evaluate, first, SAMPLE_ROWS)
    assert rows == 65536 if not shape else 1 < rows < 65536
    block = {"x": np.repeat(first["x"], rows, axis=0)}
    assert peak_memory(Interpreted(question), block) < 1.5 * BYTES


@pytest.mark.parametrize(
    "words, extra",
    [(["p.csv", "-o", "o.parquet"], "sweep"), (["p.parquet"], "sweep"), (["p.csv", "--dask", "local"], "dask")],
)
def test_a_missing_extra_is_named(words, extra, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("x\n1\n")
    (tmp_path / "p.parquet").write_bytes(b"PAR1")
    before = sorted(tmp_path.iterdir())
    assert main(["sweep", "x**2", *words]) == 2
    names = {"sweep": "pyarrow", "dask": "'dask[distributed]' pyarrow"}
    assert f"pip install {names[extra]} (the extra gradcli[{extra}])" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


CHANGES = {
    "shorten": lambda path: os.truncate(path, os.path.getsize(path) // 2),
    "rewrite": lambda path: (path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8), os.utime(path, ns=(0, 0))),
    "garble": lambda path: path.write_bytes(b"\xff" * path.stat().st_size),
    "remove": lambda path: path.unlink(),
}


def write_numpy(path):
    np.save(path, np.ones(40_000, [("x", float)]))


def write_text(path):
    path.write_text("x\n" + "1.5000001\n" * 300_000)


def write_parquet(path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"x": np.random.default_rng(0).normal(size=400_000)}), path)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name, write", [("p.npy", write_numpy), ("p.csv", write_text), ("p.parquet", write_parquet)])
def test_changing_a_table_while_it_is_read_is_an_error_with_its_row(name, write, change, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / name)
    points = open_points(name)
    points.prepare(["x"], [])
    blocks = points.read(0, points.rows, 10_000)
    next(blocks)
    CHANGES[change](tmp_path / name)
    with pytest.raises(GradcliError, match=f"{name}, from row 10001 on, cannot be read: ") as caught:
        list(blocks)
    assert caught.value.exit_code == 2


def test_removed_parts_are_an_error(tmp_path, monkeypatch, capsys):
    (tmp_path / "p.csv").write_text("x\n1\n2\n")
    monkeypatch.setattr("gradcli.analysis.sweep.plan.Folder.count_done", lambda folder: {})
    assert main(["sweep", "x**2", str(tmp_path / "p.csv"), "-o", str(tmp_path / "o.csv")]) == 2
    assert "parts of" in (said := capsys.readouterr().err) and "were removed while it was being written" in said
    assert os.listdir(tmp_path) == ["p.csv"]


def test_a_row_error_keeps_the_exit_code_of_its_cause():
    caused = RowError(3, GradcliError("x = nan", hint="leave it out", kind="value", exit_code=2))
    assert (caused.row, caused.exit_code, caused.hint, caused.kind) == (3, 2, "leave it out", "value")
    raised = RowError(4, ZeroDivisionError("division by zero"))
    assert (raised.row, raised.exit_code, raised.message) == (4, 3, "division by zero")
