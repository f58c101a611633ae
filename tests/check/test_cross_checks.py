"""The exact cross-checks of gradcheck, for first and second derivatives, and if rounding dominates."""

import re

import pytest
from click.testing import CliRunner

from gradcli.cli.main import cli


def digits(*words: str) -> dict[str, float]:
    """Return the number of digits to which each cross-check agrees."""
    done = CliRunner().invoke(cli, ["gradcheck", *words, "-f", "table"], env={"COLUMNS": "200"})
    line = re.search(r"digits that agree with reverse mode: (.*)", done.output)
    assert line, done.output
    return {name: float(number) for name, number in re.findall(r"([a-z0-9\- ]+?) ([\d.]+)(?:, |$)", line.group(1))}


@pytest.mark.parametrize(
    "target", ["sin(x)", "x^2 * sin(x)", "exp(x) / x", "tanh(sin(x))", "where(x > 1, x*x, sin(x))"]
)
@pytest.mark.parametrize("x", ["2", "3", "2.5", "[2, 3]"])
def test_fifty_digits_confirm_right_derivatives_at_integers_too(target, x):
    whole = f"sum({target})" if x.startswith("[") else target
    assert digits(whole, f"x={x}", "--digits", "50")["50-digit"] > 14.5


@pytest.mark.parametrize("words", ["x*sin(x) x=1", "x*sin(x) x=0.7", "sum(sin(x)*y) x=[1,2] y=3"])
def test_second_derivatives_have_all_cross_checks(words):
    found = digits(*words.split(), "--order", "2", "--digits", "40", "--symbolic")
    assert min(found["40-digit"], found["symbolic x"], found.get("symbolic y", 15)) > 14.5
    assert ("symbolic y" in found) == ("y=3" in words)


def test_digits_lost_to_cancellation_do_not_agree():
    found = digits("(1 - cos(x)) / x^2", "x=3e-6", "--digits", "50")
    assert found["numeric"] < 1
    assert found["50-digit"] < 1
