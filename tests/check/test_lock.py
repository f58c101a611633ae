"""A lock keeps gradients to the last bit, and reports what is beyond the errors of then and now, nothing else."""

import json

import mpmath as mp
import numpy as np
import pytest

from gradcli.check.check import Check
from gradcli.check.lock import compute_at, errors_of, lock, numbers_of, round_up, verify
from gradcli.cli.main import main
from gradcli.schema import schema_of

CHECKS = """
import gradcli
import numpy as np

@gradcli.check(at={"x": np.array([1.0, 2.0, 0.0])}, grad=lambda x: 3 * x**2 * FACTOR)
def cube(x):
    return np.sum(x**3)

@gradcli.check(at={"x": (2,), "z": np.array([1 + 2j])})
def product(x, z):
    return x.sin().sum() * (z * z.conj()).sum()

@gradcli.check(at={"x": np.float32([1, 2])}, grad=lambda x: np.diag(np.cos(x)), name="NAME")
def sine(x):
    return np.sin(x)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("1")
    assert main(["lock", "checks.py", "-o", "g.lock"]) == 0
    return tmp_path


def write(factor, name="sine"):
    with open("checks.py", "w") as file:
        file.write(CHECKS.replace("FACTOR", factor).replace("NAME", name))


def verified(capsys, code):
    capsys.readouterr()
    assert main(["lock", "--verify", "g.lock", "--json", "-q"]) == code
    found = json.loads(capsys.readouterr().out)
    pytest.importorskip("jsonschema").validate(found, schema_of("lock"))
    return {check["name"]: check for check in found["checks"]}


def test_a_lock_has_a_line_per_check_and_is_the_same_twice(folder, capsys):
    text = (folder / "g.lock").read_text()
    found = json.loads(text)
    pytest.importorskip("jsonschema").validate(found, schema_of("lock"))
    assert [json.loads(line.rstrip(","))["check"] for line in text.splitlines()[1:-1]] == ["cube", "product", "sine"]
    assert found["checks"][0]["grad"] == {"x": [3.0, 12.0, 0.0]}
    assert main(["lock", "checks.py"]) == 0
    assert capsys.readouterr().out == text
    assert {c["verdict"] for c in verified(capsys, 0).values()} == {"same"}


@pytest.mark.parametrize(("factor", "code"), [("(1 + 4e-16)", 0), ("(1 + 1e-12)", 1), ("-1", 1), ("np.nan", 1)])
def test_only_what_is_beyond_the_errors_has_changed(folder, capsys, factor, code):
    write(factor)
    found = verified(capsys, code)
    assert found["cube"]["verdict"] == ("changed" if code else "same")
    assert found["product"]["verdict"] == found["sine"]["verdict"] == "same"
    if code:
        worst = found["cube"]["worst"]
        assert (worst["input"], worst["locked"]) == ("x", [3.0, 12.0, 0.0][worst["index"][0]])


def test_new_and_gone_checks_are_told(folder, capsys):
    write("1", name="other")
    found = {name: check["verdict"] for name, check in verified(capsys, 0).items()}
    assert found == {"cube": "same", "other": "new", "product": "same", "sine": "gone"}


def test_a_function_that_raises_is_an_error(folder, capsys):
    write("missing")
    assert verified(capsys, 3)["cube"]["verdict"] == "error"
    assert main(["lock", "checks.py", "-o", "h.lock"]) == 3
    assert not (folder / "h.lock").exists()


def test_other_targets_are_verified_without_naming_them(folder, capsys):
    assert main(["lock", "x**2 * sin(y)", "x=2", "y=[1, 3]", "-o", "g.lock"]) == 0
    assert verified(capsys, 0)["x**2 * sin(y)"]["verdict"] == "same"
    assert main(["lock", "--verify", "checks.py"]) == 2
    assert "no file of locked gradients" in capsys.readouterr().err


def softplus_slope(x):
    return 1 - 1 / (1 + np.exp(x))


@pytest.mark.parametrize("x", [-30.0, -3.0, 0.5, 12.0, 40.0])
def test_the_error_of_a_gradient_covers_its_rounding(x):
    """The formula cancels for negative x; the true slope is that of mpmath."""
    check = Check(lambda x: np.logaddexp(0, x), {"x": x}, grad=softplus_slope)
    known = compute_at(check)
    with mp.workdps(40):
        true = float(1 / (1 + mp.exp(-mp.mpf(x))))
    error = float(known.errors["x"])
    assert abs(float(known.numbers["x"]) - true) <= error
    assert error <= 1e-13


def test_noise_counts_as_error():
    rng = np.random.default_rng(0)
    check = Check(lambda x: x * x, {"x": 3.0}, grad=lambda x: 2 * x + 1e-6 * rng.random())
    subject = check.subject({"x": 3.0})
    assert errors_of(subject, numbers_of(subject, subject.at))["x"] > 1e-7
    locked = lock("f", [check], {})
    assert verify("g.lock", locked, [check]).checks[0].verdict == "same"


def test_errors_are_rounded_up():
    errors = np.array([0.0, 1.23e-14, 9.99e-3, 5.0])
    assert (round_up(errors) >= errors).all()
    np.testing.assert_allclose(round_up(errors), [0, 1.3e-14, 0.01, 5], rtol=1e-12)


@pytest.mark.parametrize("shape", ["0", "0,3", "3,0", "2,0,3"])
@pytest.mark.parametrize("program", ["x^2", "sum(x^2)"])
def test_arrays_without_elements_keep_their_shape(shape, program, folder, capsys):
    assert main(["lock", program, f"x=zeros({shape})", "-o", "g.lock"]) == 0
    assert verified(capsys, 0)[program]["verdict"] == "same"
    pytest.importorskip("jsonschema").validate(json.loads((folder / "g.lock").read_text()), schema_of("lock"))
