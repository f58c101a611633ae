"""The benchmark script and the page gradcli-bench(7), whose tables have the rows of the script."""

import json

import pytest

from man.generate.bench import MEASURED

from . import bench


def test_the_rows_of_the_page_are_those_of_the_script():
    table = json.loads(MEASURED.read_text())
    assert [(row["work"], row["reference"]) for row in table["ratios"]] == [row[:2] for row in bench.ROWS]
    assert [row["checker"] for row in table["checkers"]] == list(bench.CHECKERS)
    assert [row["checker"] for row in table["scales"]] == list(bench.SCALED)
    assert table["functions"] == bench.FUNCTIONS
    assert all(row["ratio"] is None or row["ratio"] > 0 for row in table["ratios"])


def test_every_reference_is_known():
    known = {*bench.PEERS, bench.HAND, bench.CLICK}
    assert {row.reference for row in bench.ROWS} == known


def test_the_handwritten_gradient_agrees_with_the_engine():
    """The gradient of x sin(x sin(x ...)): 20 steps by hand and by the engine."""
    assert bench.small_by(bench.HAND, (3,), 20) == pytest.approx(bench.sines(bench.gradcli, (3,), 20).numpy())


def test_checks_are_measured_by_size():
    (row,) = bench.scale("gradcli", [100])
    assert row["n"] == 100 and row["passes"] and row["finds"] and 0 < row["calls"] <= 200 + 20 * 7
    f, x, right, wrong = bench.scaled_loss(30)
    judge = bench.bank.load("scipy")
    assert judge(f, x, right) == "pass" and judge(f, x, wrong) == "fail"
    assert bench.scale("SciPy check_grad", [100])[0]["calls"] == 101
