"""Declared checks: their arguments, and command-line options that change them."""

import json

import numpy as np
import pytest

import gradcli
from gradcli.check.check import REGISTRY
from gradcli.check.points import in_type

from ..command import gradcli as run

DECLARED = """
import numpy as np, gradcli

def slope(x):
    return 2 * x

@gradcli.check(at={"x": [1.0, 2.0]}, grad=slope)
def square(x):
    assert x.dtype == np.TYPE, x.dtype
    return np.sum(x * x)

@gradcli.check(at={"x": (3,)}, grad=slope)
def drawn(x):
    return square(x)
"""


@pytest.mark.parametrize(("option", "wanted"), [((), "float64"), (("--dtype", "float32"), "float32")])
def test_dtype_applies_to_declared_points(option, wanted, tmp_path):
    (tmp_path / "checks.py").write_text(DECLARED.replace("TYPE", wanted))
    found = run("gradcheck", "checks.py", *option, "--json", cwd=tmp_path)
    verdicts = [check["verdict"] for check in json.loads(found.stdout)["checks"]]
    assert (found.returncode, verdicts) == (0, ["pass", "pass"]), found


def test_dtype_applies_to_values_inside_structures():
    kinds = set()

    def f(p):
        kinds.add(p["w"].dtype.name)
        return np.sum(p["w"] ** 2)

    report = gradcli.check_gradient(f, lambda p: {"p": {"w": 2 * p["w"]}}, {"p": {"w": np.ones(2)}}, dtype="float32")
    assert (kinds, report.verdict) == ({"float32"}, "pass")


@pytest.mark.parametrize("x", ["word", 3, None, np.array([1, 2]), np.array(1 + 2j), ["a"]])
def test_only_floating_point_numbers_change_their_dtype(x):
    assert in_type(x, np.dtype("float32")) is x


@pytest.mark.parametrize("x", [1.5, [1.5, 2], np.array([1.5]), np.float64(1.5)])
def test_floating_point_numbers_become_arrays_of_the_dtype(x):
    converted = in_type(x, np.dtype("float32"))
    assert converted.dtype == np.float32 and np.array_equal(converted, x)


def test_unknown_options_are_errors():
    with pytest.raises(TypeError, match="unexpected argument 'quick'"):
        gradcli.check(lambda x: x, at={"x": 1.0}, quick=True)


def test_a_check_without_values_says_how_to_give_them():
    report = gradcli.check_gradient(lambda x: x**2)
    assert (report.message, report.hint) == ("the check gives no values", 'add at={"x": [1.0, 2.0]}')


def test_a_declaration_returns_its_function_and_registers_it():
    before = len(REGISTRY)
    try:

        @gradcli.check(at={"x": 2.0}, grad=lambda x: 3 * x**2)
        def cube(x):
            return x**3

        (check,) = REGISTRY[before:]
        assert cube(2) == 8 and check.name == "cube" and check.run().verdict == "pass"
    finally:
        del REGISTRY[before:]


def test_a_lock_names_its_target_without_the_values(tmp_path):
    for words in (("-e", "x*y"), ("x*y",)):
        run("lock", *words, "x=2", "y=3", "-o", "a.lock", cwd=tmp_path)
        assert json.loads((tmp_path / "a.lock").read_text())["target"] == "x*y"
        assert run("lock", "--verify", "a.lock", cwd=tmp_path).returncode == 0
