"""The documentation of gradcli's own Python names: the options of `check` with types, and since when names exist."""

import inspect
import re

import pytest

import gradcli
from gradcli.analysis.numeric_derivatives import NumericDerivative
from gradcli.check.declare import Options, check, check_gradient
from gradcli.request import Request
from gradcli.results.checks import CheckReport

OWN = [
    *(check, check_gradient, gradcli.GradcliError, gradcli.graph, gradcli.trace, gradcli.load_ipython_extension),
    *(type(gradcli.numeric(abs, 1.0)), gradcli.numeric.__call__, CheckReport),
]
"""What PyTorch does not have; the names of PyTorch and NumPy are all of the first version."""
TYPES = {option: kind.__forward_arg__ for option, kind in Options.__annotations__.items()}
DOCUMENTED = dict(re.findall(r"^    (\w+) \((.+?)\): ", inspect.getdoc(check).replace("\n", "\n    "), re.M))


def test_every_option_is_documented_with_its_type():
    assert {"f", "at"} < inspect.signature(check).parameters.keys()
    assert DOCUMENTED == {"f": "Callable | str", "at": "Any", **TYPES}


def test_an_option_may_be_none_if_that_is_its_default():
    for option in TYPES.keys() - {"name"}:
        assert ("None" in TYPES[option]) == (Request._field_defaults[option] in (None, ())), option


def test_a_default_in_the_documentation_is_that_of_the_request():
    text = " ".join(inspect.getdoc(check).split())
    found = re.findall(r" (\w+) \((?:int|float)[^)]*\): [^:]*? \[(\d[\d.e-]*)\]", text)
    assert {"order", "samples", "seed", "search", "nondet_tol"} <= dict(found).keys()
    for option, value in found:
        default = Request._field_defaults[option]
        assert default is None or float(value) == default, option


@pytest.mark.parametrize("name", OWN, ids=lambda name: getattr(name, "__qualname__", str(name)))
def test_own_names_say_since_when_they_exist(name):
    """A version up to the next one."""
    (version,) = re.findall(r"^\.\. versionadded:: (\d+)\.(\d+)\.0$", inspect.getdoc(name), re.M)
    major, minor = map(int, re.findall(r"\d+", gradcli.__version__)[:2])
    assert (0, 1) <= tuple(map(int, version)) <= (major, minor + 1), version


def test_names_that_came_later_are_told_from_those_of_the_first_version():
    first = (check, check_gradient, gradcli.GradcliError, CheckReport)
    assert all(".. versionadded:: 0.1.0" in name.__doc__ for name in first)
    assert ".. versionadded:: 0.2.0" in NumericDerivative.__doc__
