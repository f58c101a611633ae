"""Which custom function is to blame, and rules of other frameworks that are not vouched for."""

import sys
from types import FunctionType

import numpy as np
import pytest

import gradcli
from gradcli import check_gradient
from gradcli.check.targets import mentions_checks
from gradcli.program.detect_framework import calls_solver, framework_of
from tests.tape.build import function


class Scaled(gradcli.autograd.Function):
    """Twice the input, with backwards that are wrong in the way that the flag says."""

    @staticmethod
    def forward(ctx, x, flag):
        ctx.flag = flag
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        if ctx.flag == "first":
            return 3 * g, None
        if ctx.flag == "crash":
            raise ZeroDivisionError("in backward")
        if ctx.flag == "shape":
            return g.sum(), None
        if ctx.flag == "negative":
            return 2 * g.clamp(min=0), None
        return 2 * g, None


@pytest.mark.parametrize(
    ("flag", "verdict", "line"),
    [
        ("first", "fail", "return 3 * g, None"),
        ("crash", "error", 'raise ZeroDivisionError("in backward")'),
        ("shape", "error", "return g.sum(), None"),
        ("negative", "fail", "return 2 * g.clamp(min=0), None"),
    ],
)
def test_the_line_that_ran_is_blamed(flag, verdict, line):
    found = check_gradient(lambda x: gradcli.sin(Scaled.apply(x, flag)).sum(), at={"x": np.array([0.3, 0.5])})
    assert found.verdict == verdict
    assert "ScaledBackward" in found.blame and line in found.blame


def test_nobody_is_blamed_for_what_is_right():
    found = check_gradient(lambda x: Scaled.apply(x, "right").sum(), at={"x": np.array([0.3, 0.5])})
    assert found.verdict == "pass" and found.blame is None


def test_forward_mode_that_contradicts_is_a_fail():
    @function(lambda ctx, g: 2 * g, jvp=lambda ctx, t: 3 * t)
    def double(ctx, x):
        return 2 * x

    found = check_gradient(lambda x: double.apply(x).sum(), at={"x": np.array([0.3, 0.5])})
    assert found.verdict == "fail" and "forward mode (jvp) is wrong" in found.message


@pytest.fixture
def framework(tmp_path, monkeypatch):
    """A package with the name and the shape of HIPS autograd, and a module that uses it."""
    (tmp_path / "autograd").mkdir()
    (tmp_path / "autograd/__init__.py").write_text("def primitive(f):\n    return lambda x: f(x)\n")
    (tmp_path / "uses.py").write_text(
        "import autograd\n\n\n@autograd.primitive\ndef square(x):\n    return x * x\n\n\n"
        "def loss(x):\n    return square(x).sum()\n\n\ndef plain(x):\n    return (x * x).sum()\n"
    )
    (tmp_path / "through.py").write_text("import uses\n\n\ndef loss(x):\n    return uses.loss(x)\n")
    monkeypatch.syspath_prepend(tmp_path)
    import through
    import uses

    yield uses, through
    for name in ("autograd", "uses", "through"):
        del sys.modules[name]


def test_rules_of_another_framework_are_not_vouched_for(framework):
    uses, through = framework
    for f in (uses.loss, through.loss, uses.square):
        assert framework_of(f) == "autograd"
        found = check_gradient(f, at={"x": np.array([1.0, 2.0])}, engine="gradcli")
        assert found.verdict == "error" and "HIPS autograd" in found.message
    assert framework_of(uses.plain) is None
    assert check_gradient(uses.plain, at={"x": np.array([1.0, 2.0])}, engine="gradcli").verdict == "pass"


def test_solvers_are_known_by_name():
    def area(k):
        from scipy.integrate import quad

        return quad(np.exp, 0, k)[0]

    assert calls_solver(area) and not calls_solver(np.sin) and not calls_solver(FunctionType((lambda: 0).__code__, {}))


@pytest.mark.parametrize(
    ("text", "declares"),
    [
        ("import gradcli\nck = gradcli.check\n", True),
        ("from gradcli import check as ck\n", True),
        ("import gradcli\nx = gradcli.tensor(1.0)  # to check it\n", False),
    ],
)
def test_checks_declared_under_another_name(tmp_path, text, declares):
    path = tmp_path / "f.py"
    path.write_text(text)
    assert mentions_checks(str(path)) is declares
