"""The columns of `symbolic -f sql`, computed by DuckDB, are the engine's values and gradients."""

import numpy as np
import pytest

from gradcli.analysis.gradient import Request, compute_gradient
from gradcli.cli.main import main
from gradcli.program.target import Target, load_program

pytestmark = pytest.mark.framework("duckdb")
ROWS = np.random.default_rng(0).uniform(0.1, 0.9, (40, 2))
PROGRAMS = [
    "x**2 * sin(y) + exp(-x*y)", "log(x) / sqrt(y) + x**-3 + y**1.5 + x^y",
    "tan(x) + asin(y) + acos(x) + atan(y) + arctan2(x, y)",
    "sinh(x) + cosh(y) + tanh(x) + asinh(y) + acosh(1 + x) + atanh(y)",
    "where(x > y, x**2, 3*y) + relu(x - 0.5) + abs(x - y) + sign(y) / 3",
    "maximum(x, y) * minimum(x, 2*y) + clip(x, 0.3, 0.6)", "floor(10*x) * y + ceil(7*y) * x + (5*x) % (y + 1)",
    "sigmoid(x) * softplus(y) + log1p(x) + expm1(y) + logaddexp(x, y)",
    "a = sin(x*y); b = cos(a) + pi*e; b**2 / (1 + a) + 1/3", "1 / (2 if x > y else 3) + x*y",
    "hypot(x, y) + cbrt(x) + log10(x) + log2(y) + exp2(x)", "X = x; order = y; X * order",
]  # fmt: skip


def columns(capsys, program: str, *words: str) -> str:
    assert main(["symbolic", program, *words, "-f", "sql"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("program", PROGRAMS)
def test_columns_are_the_engines_gradients(program, capsys):
    import duckdb

    table = duckdb.connect()
    table.execute("CREATE TABLE points (k INTEGER, x DOUBLE, y DOUBLE)")
    table.executemany("INSERT INTO points VALUES (?, ?, ?)", [(k, *row) for k, row in enumerate(ROWS.tolist())])
    found = table.execute(f"SELECT {columns(capsys, program)} FROM points ORDER BY k").fetchnumpy()
    for k, (x, y) in enumerate(ROWS):
        result = compute_gradient(load_program(Target(program)), {"x": x, "y": y}, Request())
        np.testing.assert_allclose(found["value"][k], result.value, rtol=1e-12, atol=1e-14)
        for item in result.inputs:
            np.testing.assert_allclose(found[f"d_{item.name}"][k], item.grad, rtol=1e-12, atol=1e-14)


def test_columns_of_whole_numbers_lists_and_names_in_quotes(capsys):
    import duckdb

    table = duckdb.connect()
    table.execute('CREATE TABLE points ("order" INTEGER, "A" DOUBLE[][])')
    table.execute("INSERT INTO points VALUES (3, [[1, 2], [3, 4]])")
    written = columns(capsys, "sum(A**3) / order", "A=zeros(2, 2)")
    (row,) = table.execute(f"SELECT {written} FROM points").fetchall()
    assert row[0] == pytest.approx(100 / 3, rel=1e-15)
    assert dict(zip(("A", "order"), row[1:], strict=True)) == {
        "A": [[1.0, 4.0], [9.0, 16.0]],
        "order": pytest.approx(-100 / 9, rel=1e-15),
    }
