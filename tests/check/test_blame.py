"""The custom function and line that a failed check blames, and which files declare checks."""

import numpy as np
import pytest

import gradcli
from gradcli import check_gradient
from gradcli.check.targets import mentions_checks
from tests.tape.build import function


class Scaled(gradcli.autograd.Function):
    """Twice the input, with a backward whose mistake is chosen by the flag."""

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


def test_finding_the_part_to_blame_stays_within_the_budget():
    at = {"x": np.array([0.3, 0.5])}
    found = check_gradient(lambda x: gradcli.sin(Scaled.apply(x, "first")).sum(), at=at, calls=300)
    without = check_gradient(lambda x: np.sin(2 * x).sum(), lambda x: 3 * np.cos(2 * x), at, calls=300)
    assert "ScaledBackward" in found.blame
    assert without.evidence.points < found.evidence.points <= 300


def test_a_pass_blames_nothing():
    found = check_gradient(lambda x: Scaled.apply(x, "right").sum(), at={"x": np.array([0.3, 0.5])})
    assert found.verdict == "pass" and found.blame is None


def test_a_contradicting_forward_mode_fails():
    @function(lambda ctx, g: 2 * g, jvp=lambda ctx, t: 3 * t)
    def double(ctx, x):
        return 2 * x

    found = check_gradient(lambda x: double.apply(x).sum(), at={"x": np.array([0.3, 0.5])})
    assert found.verdict == "fail" and "forward mode (jvp) is wrong" in found.message


@pytest.mark.parametrize(
    ("text", "declares"),
    [
        ("import gradcli\nck = gradcli.check\n", True),
        ("from gradcli import check as ck\n", True),
        ("import gradcli\nx = gradcli.tensor(1.0)  # to check it\n", False),
    ],
)
def test_declared_checks_are_found_under_another_name(tmp_path, text, declares):
    path = tmp_path / "f.py"
    path.write_text(text)
    assert mentions_checks(str(path)) is declares
