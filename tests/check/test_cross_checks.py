"""The exact cross-checks of gradcheck, for first and second derivatives, and if rounding dominates."""

import re

import pytest
from click.testing import CliRunner

from gradcli.cli.main import cli


def digits(*words: str) -> dict[str, float]:
    """Return the number of digits to which each cross-check agrees."""
    done = CliRunner().invoke(cli, ["gradcheck", *words, "-f", "table"], env={"COLUMNS": "200"})
    line = re.search(r"the claim \(reverse mode\) agrees to (.*)", done.output)
    assert line, done.output
    found = re.findall(r"([\d.]+)(?: digits)? with ([^,]+)", line.group(1))
    return {name: float(number) for number, name in found}


@pytest.mark.parametrize(
    "target", ["sin(x)", "x^2 * sin(x)", "exp(x) / x", "tanh(sin(x))", "where(x > 1, x*x, sin(x))"]
)
@pytest.mark.parametrize("x", ["2", "3", "2.5", "[2, 3]"])
def test_fifty_digits_confirm_right_derivatives_at_integers_too(target, x):
    whole = f"sum({target})" if x.startswith("[") else target
    assert digits(whole, f"x={x}", "--digits", "50")["50-digit arithmetic"] > 14.5


@pytest.mark.parametrize("words", ["x*sin(x) x=1", "x*sin(x) x=0.7", "sum(sin(x)*y) x=[1,2] y=3"])
def test_second_derivatives_have_all_cross_checks(words):
    formula = "SymPy's formula for {}"
    found = digits(*words.split(), "--order", "2", "--digits", "40", "--symbolic")
    assert min(found["40-digit arithmetic"], found[formula.format("x")], found.get(formula.format("y"), 15)) > 14.5
    assert (formula.format("y") in found) == ("y=3" in words)


def test_digits_lost_to_cancellation_do_not_agree():
    found = digits("(1 - cos(x)) / x^2", "x=3e-6", "--digits", "50")
    assert found["the numeric derivative"] < 1
    assert found["50-digit arithmetic"] < 1
