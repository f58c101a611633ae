"""Locked gradients, their errors and their verification; tests/cases/check/lock.txt tests the commands."""

import json

import mpmath as mp
import numpy as np
import pytest

from gradcli.check.check import Check
from gradcli.check.lock import compute_at, errors_of, numbers_of, verify, write_lock
from gradcli.cli.main import main
from gradcli.numeric.flat import Flat
from gradcli.schema import schema_of


def softplus_slope(x):
    return 1 - 1 / (1 + np.exp(x))


@pytest.mark.parametrize("x", [-30.0, -3.0, 0.5, 12.0, 40.0])
def test_the_error_of_a_gradient_covers_its_rounding(x):
    """The formula cancels for negative x; mpmath gives the true slope."""
    check = Check.of(lambda x: np.logaddexp(0, x), {"x": x}, grad=softplus_slope)
    known = compute_at(check)
    with mp.workdps(40):
        true = float(1 / (1 + mp.exp(-mp.mpf(x))))
    error = float(known.errors["x"])
    assert abs(float(known.numbers["x"]) - true) <= error
    assert error <= 1e-13


def test_another_way_to_solve_a_system_is_the_same_and_leaves_its_matrix_unchanged():
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(5, 5)))[0] for _ in range(2))
    matrix = left @ np.diag(np.logspace(0, -7, 5)) @ right
    before, x = matrix.copy(), np.arange(1.0, 6.0)

    def checked(solve, off=0.0):
        def grad(x):
            return 2 * (1 + off) * solve(matrix.T, solve(matrix, x))

        return Check.of(lambda x: (solve(matrix, x) ** 2).sum(), {"x": x}, grad=grad, name="f")

    locked = write_lock("f", [checked(np.linalg.solve)], {})

    def inverted(matrix, x):
        return np.linalg.inv(matrix) @ x

    verdicts = [verify("g", locked, [c]).checks[0].verdict for c in (checked(inverted), checked(inverted, 1e-6))]
    assert verdicts == ["same", "changed"]
    np.testing.assert_array_equal(matrix, before)


def test_noise_counts_as_error():
    rng = np.random.default_rng(0)
    check = Check.of(lambda x: x * x, {"x": 3.0}, grad=lambda x: 2 * x + 1e-6 * rng.random())
    flat = Flat(check.claim({"x": 3.0}))
    assert errors_of(flat, numbers_of(flat, flat.claim.at))["x"] > 1e-7
    locked = write_lock("f", [check], {})
    assert verify("g.lock", locked, [check]).checks[0].verdict == "same"


@pytest.mark.parametrize("shape", ["0", "0,3", "3,0", "2,0,3"])
@pytest.mark.parametrize("program", ["x^2", "sum(x^2)"])
def test_empty_arrays_keep_their_shape(shape, program, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["lock", program, f"x=zeros({shape})", "-o", "g.lock"]) == 0
    assert main(["lock", "--verify", "g.lock", "--json"]) == 0
    assert '"verdict": "same"' in capsys.readouterr().out
    pytest.importorskip("jsonschema").validate(json.loads((tmp_path / "g.lock").read_text()), schema_of("lock"))


def test_changed_shapes_are_reported_in_a_fixed_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["lock", "x*y", "x=2", "y=[1, 2]", "-o", "g.lock"]) == 0
    locked = json.loads((tmp_path / "g.lock").read_text())
    locked["checks"][0] |= {"value": 2.0, "value_error": 0.0}
    (tmp_path / "g.lock").write_text(json.dumps(locked))
    assert main(["lock", "--verify", "g.lock"]) == 1
    was, now = capsys.readouterr().out.split("the shapes were ")[1].split(", and are now ")
    assert was.startswith("{'the value': (), 'x': (2,), 'y': (2, 2)}")
    assert now.startswith("{'the value': (2,), 'x': (2,), 'y': (2, 2)}")
