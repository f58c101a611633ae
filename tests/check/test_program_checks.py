"""Formulas as claims, right and wrong, checked at random points of the domain and compared as formulas."""

import numpy as np
import pytest

from gradcli.check.program_checks import formula_checks
from gradcli.claims.recorded import Traced
from gradcli.program.target import Target
from gradcli.request import Request

RIGHT = [
    ("x^3", "3*x^2"),
    ("log(x)", "1/x"),
    ("acos(x)", "-1/sqrt(1-x^2)"),
    ("acosh(x)", "1/sqrt(x^2-1)"),
    ("log(x-50)", "1/(x-50)"),
    ("log(-x)", "1/x"),
    ("log(abs(x))", "1/x"),
    ("log(log(x))", "1/(x*log(x))"),
    ("x^x", "x^x*(log(x)+1)"),
    ("tan(x)", "1+tan(x)^2"),
    ("tan(x)", "1/cos(x)^2"),
    ("abs(x)", "sign(x)"),
    ("relu(x)", "where(x>0, 1, 0)"),
    ("relu(x)", "x > 0"),
    ("s = 1/(1+exp(-x)); s^2", "2*s^2*(1-s)"),
    ("sin(pi*x)", "pi*cos(pi*x)"),
    ("5*x", "5"),
]
WRONG = [
    ("x^3", "2*x^2", "at x = 2: the derivative is 12, not 8"),
    ("cosh(x)", "-sinh(x)", "at x = 2: the derivative is 3.62686, not -3.62686"),
    ("x^2+3", "2*x+3", "at x = 2: the derivative is 4, not 7"),
    ("sqrt(x^2)", "1", "at x = -2: the derivative is -1, not 1"),
    ("log(abs(x))", "1/abs(x)", "at x = -2: the derivative is -0.5, not 0.5"),
    ("5*x", "4", "at x = 2: the derivative is 5, not 4"),
    ("x^x", "x*x^(x-1)", "at x = 2: the derivative is 6.77259, not 4"),
    ("abs(x) + relu(x)", "2", "at x = -2: the derivative is -1, not 2"),
]


SWITCHED = [
    ("minimum(x,100)", {"grad": "1"}, {"grad": "where(x<100,1,0)"}),
    ("maximum(x-5,0)", {"grad": "0"}, {"grad": "where(x>5,1,0)"}),
    ("clip(x,-10,10)", {"grad": "1"}, {"grad": "where(abs(x)<10,1,0)"}),
    ("where(x<10, x, 2*x-10)", {"grad": "1"}, {"grad": "where(x<10,1,2)"}),
    ("where(x<4, x, 4)", {"grad": "1"}, {"grad": "x<4"}),
    ("where(abs(x)<=10, x^2/2, 10*abs(x)-50)", {"grad": "x"}, {"grad": "clip(x,-10,10)"}),
    ("where(x>37, where(x<40, x, 40), 37)", {"grad": "0"}, {"grad": "where((x>37)&(x<40),1,0)"}),
    ("where(t>37, k*(t-37), 0)", {"grad": ("t=0", "k=0")}, {"grad": ("t=where(t>37,k,0)", "k=maximum(t-37,0)")}),
    ("where(x<10, x^2, 20*x-100)", {"hess": ["x=2"]}, {"hess": ["x=where(x<10,2,0)"]}),
    ("minimum(x*0.01,50)", {"grad": "0.01"}, {"grad": "where(x<5000,0.01,0)"}),
]
"""Functions that switch branches beyond the usual random numbers, with a wrong claim and a right one."""


def check(target, **asked):
    request = Request(command="gradcheck", **{"shapes": {}, **asked})
    reports = [check.run() for check in formula_checks(Target(target, request, inline=True), request)]
    assert len(reports) == 1
    return reports[0]


@pytest.mark.parametrize(("target", "formula"), RIGHT)
def test_right_formulas_pass_at_random_points_of_the_domain(target, formula):
    report = check(target, grad=formula)
    assert report.verdict == "pass"
    assert "checked at 20 random points" in report.notes
    assert target == "acosh(x)" or "SymPy proves the claim" in report.message


@pytest.mark.parametrize(("target", "formula", "counterexample"), WRONG)
def test_wrong_formulas_have_a_counterexample_of_small_numbers(target, formula, counterexample):
    report = check(target, grad=formula)
    assert report.verdict == "fail"
    assert counterexample in [finding.text for finding in report.diagnosis]


def test_a_formula_that_is_right_at_the_only_sample_is_refuted_by_sympy():
    report = check("x^2 + relu(x - 3)", grad="2*x", samples=1, named=frozenset(["samples"]))
    texts = [finding.text for finding in report.diagnosis if finding.kind == "counterexample"]
    assert texts == ["at x = 4: the derivative is 9, not 8"]


@pytest.mark.parametrize(("target", "wrong", "right"), SWITCHED)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_points_lie_on_both_sides_of_the_constants(target, wrong, right, seed):
    report = check(target, seed=seed, **wrong)
    assert report.verdict == "fail"
    assert "the claim is right only where" in report.diagnosis[0].text
    assert check(target, seed=seed, **right).verdict == "pass"


def test_points_around_constants_follow_the_seed():
    first, again = (check("minimum(x,100)", grad="1", seed=3) for _ in range(2))
    assert first.verdict == "fail" and first.diagnosis == again.diagnosis


def test_constants_are_also_values_of_inputs_and_numbers_of_the_claim():
    shapes, at = {"x": (3,)}, {"K": np.array(1000.0)}
    assert check("minimum(x,100)", grad="1", elementwise=True, shapes=shapes).verdict == "fail"
    assert check("minimum(x,100)", grad="x<100", elementwise=True, shapes=shapes).verdict == "pass"
    assert check("minimum(S,K)", grad="S=1", values=at).verdict == "fail"
    assert check("minimum(S,K)", grad="S=S<K", values=at).verdict == "pass"
    assert check("x^2", grad="where(x<300,2*x,0)").verdict == "fail"
    assert check("x^2", grad="where(x<300,2*x,x+x)").verdict == "pass"


@pytest.mark.parametrize(
    ("target", "claimed"),
    [
        ("1000*tanh(x)", "1000/cosh(x)^2"),  # both tiny at 300, where SymPy's digits do not reach
        ("1000*logaddexp(0,x)", "1000*exp(x)/(1+exp(x))"),  # inf/inf at 3000
        ("299792458*sqrt(1-v^2/299792458^2)", "-v/sqrt(299792458^2-v^2)"),
    ],
)
def test_right_formulas_with_large_constants_pass(target, claimed):
    report = check(target, grad=claimed)
    assert report.verdict == "pass"
    assert not any("differs" in note for note in report.notes)


def verdicts(report):
    return {item.name: item.verdict for item in report.inputs}


COUNTEREXAMPLES = [
    ("x^y", ("x=y*x^(y-1)", "y=x^y*log(y)"), {"x": "pass", "y": "fail"}),
    ("x^y", ("x=x^(y-1)", "y=x^y"), {"x": "fail", "y": "fail"}),
    ("x^y", ("x=y*x^(y-1)", "y=x^y*log(x)"), {"x": "pass", "y": "pass"}),
    ("a*x^n", ("a=x^n", "x=a*n*x^n", "n=a*x^n*log(n)"), {"a": "pass", "x": "fail", "n": "fail"}),
    ("1/(2*pi*f*c)", ("f=-1/(2*pi*f*c)", "c=-1/(2*pi*f*c)"), {"f": "fail", "c": "fail"}),
    ("P*exp(r*t)", ("P=exp(r*t)", "r=P*exp(r*t)", "t=P*exp(r*t)"), {"P": "pass", "r": "fail", "t": "fail"}),
]


@pytest.mark.parametrize(("target", "claimed", "expected"), COUNTEREXAMPLES)
def test_a_counterexample_shows_every_wrong_input(target, claimed, expected):
    report = check(target, grad=claimed)
    assert verdicts(report) == expected
    assert not {"zero", "surrogate"} & {finding.kind for finding in report.diagnosis}
    point = "".join(finding.text for finding in report.diagnosis if finding.kind == "counterexample")
    assert "= 1," not in point
    assert "= -" not in point.partition(":")[0]


RIGHT_IF_POSITIVE = [
    ("2*pi*sqrt(L/g)", ("L=pi/sqrt(L*g)", "g=-pi*sqrt(L)/g^1.5"), ["the claim is right if g is positive"]),
    (
        "sqrt(x*y)",
        ("x=0.5*sqrt(y/x)", "y=0.5*sqrt(x/y)"),
        ["x: the claim is right if x is positive", "y: the claim is right if y is positive"],
    ),
    ("sqrt(x^2)", "1", ["the claim is right if x is positive"]),
    ("log(x^2*y^2)/2", ("x=1/x", "y=1/abs(y)"), ["the claim is right if y is positive"]),
]


@pytest.mark.parametrize(("target", "claimed", "texts"), RIGHT_IF_POSITIVE)
def test_a_claim_that_is_right_for_positive_inputs(target, claimed, texts):
    report = check(target, grad=claimed)
    assert report.verdict == "fail"
    assert [finding.text for finding in report.diagnosis if finding.kind == "symbolic"] == texts
    assert "sign" not in {finding.kind for finding in report.diagnosis}


def test_a_claim_that_is_wrong_for_positive_inputs_too():
    report = check("2*pi*sqrt(L/g)", grad=("L=pi/sqrt(L*g)", "g=-pi*sqrt(L/g)"))
    assert report.verdict == "fail"
    texts = [finding.text for finding in report.diagnosis]
    assert texts[:2] == ["L: the claim is right if g is positive", "g: the claim is g times the derivative"]


def test_claims_at_ties_are_not_counterexamples():
    report = check("maximum(x, y)", grad=("x=x>y", "y=y>x"))
    assert (report.verdict, "SymPy proves the claim" in report.message) == ("pass", True)
    report = check("maximum(x, y)", grad=("x=where(x>y,1,0)", "y=where(x>y,0,1)"))
    assert (report.verdict, "SymPy proves the claim" in report.message) == ("pass", True)
    report = check("maximum(x, y)", grad=("x=where(x>y,1,0)", "y=where(x>y,1,0)"))
    assert report.verdict == "fail"


def test_an_equation_that_holds_on_an_interval_is_not_a_tie():
    assert "SymPy proves the claim" not in check("where(floor(x)==3, 2*x, x)", grad="1").message
    assert "SymPy proves the claim" in check("where(floor(x)==3, 2*x, x)", grad="where(floor(x)==3, 2, 1)").message
    assert check("where(relu(x)==0, 2*x, x)", grad="1").verdict == "fail"


def test_a_ratio_that_is_infinite_is_not_shown():
    report = check("maximum(S-K,0)", grad=("S=1", "K=-1"))
    assert report.verdict == "fail"
    assert report.diagnosis[0].text == "the claim is right only where K < S"
    assert not any("inf" in finding.text for finding in report.diagnosis)


def test_the_headline_of_a_nonlinear_pullback_is_not_an_element_that_agrees():
    report = check("sum(x^2)", vjp="2*x", shapes={"x": (3,)})
    assert report.verdict == "fail"
    assert report.headline().startswith("the result of backward is not multiplied by grad_output")
    assert check("sum(x^2)", vjp="2*x*v", shapes={"x": (3,)}).verdict == "pass"


@pytest.mark.parametrize(("factor", "differs"), [(1 + 1e-7, True), (1, False)])
def test_formulas_that_differ_by_less_than_the_check_allows(factor, differs):
    report = check("x^2", grad=f"2*x*{factor!r}")
    assert (report.verdict, report.diagnosis) == ("pass", ())
    note = "SymPy's formula differs from the claimed one: the claim is 10000001/10000000 times the derivative"
    assert (note in report.notes) == differs
    assert ("SymPy proves the claim" in report.message) != differs


def test_checking_a_formula_uses_no_rules_of_the_engine(monkeypatch):
    for name in ("whole", "vjp", "jvp", "late_pull", "record_call"):
        monkeypatch.setattr(Traced, name, None)
    assert check("x^2*y", grad=("x=2*x*y", "y=x^2")).verdict == "pass"
    assert check("x^2*y", vjp=("x=2*x*y*v",)).verdict == "pass"
    assert check("x^2*y", hess=["x,y=2*x"]).verdict == "pass"
    assert check("x^2*y", hess=["x=2*x"]).verdict == "fail"


@pytest.mark.parametrize(
    ("scale", "verdict"), [("1", "pass"), ("2", "fail"), pytest.param("-1", "fail", marks=pytest.mark.nightly)]
)
def test_a_wrong_factor_fails_with_every_option(scale, verdict):
    A, x = np.array([[1.0, 2.0], [3.0, 4.0], [0.5, -1.0]]), np.array([0.3, -0.7])
    values = {"A": A, "x": x}
    claims = [
        {"grad": f"x={scale}*A.T@A@x"},
        {"vjp": f"x={scale}*A.T@A@x*v"},
        {"jvp": f"x={scale}*dot(A.T@A@x, v)"},
        {"hess": [f"x={scale}*A.T@A"]},
    ]
    for claim in claims:
        assert check("sum((A@x)^2)/2", values=values, **claim).verdict == verdict


def test_a_block_of_second_derivatives_has_the_shape_of_both_inputs():
    values = {"x": np.array([1.0, 2.0]), "y": np.array([3.0, 4.0, 5.0]), "A": np.arange(6.0).reshape(2, 3)}
    assert check("x@A@y", values=values, hess=["x,y=A"]).verdict == "pass"
    report = check("x@A@y", values=values, hess=["y,x=A"])
    assert (report.verdict, "(2, 3)" in report.message, "(3, 2)" in report.message) == ("fail", True, True)


def test_a_formula_undefined_on_part_of_the_domain_is_checked_by_values():
    assert check("abs(x)", grad="x/sqrt(x)^2").verdict == "fail"
    assert "SymPy proves the claim" in check("det(A)", grad="det(A)*inv(A).T", shapes={"A": (2, 2)}).message


def test_given_values_are_substituted_in_formulas():
    assert "SymPy proves the claim" in check("x^n", grad="x=2*x", values={"n": np.array(2.0)}).message
    assert check("x^n", grad="x=2*x", values={"n": np.array(3.0)}).verdict == "fail"


def test_equal_at_the_point_only_is_not_equal_as_formulas():
    report = check("x^3", grad="4*x+4", values={"x": np.array(2.0)}, symbolic=True)
    assert report.verdict == "pass"
    assert "SymPy proves the claim" not in report.message


def test_equal_formulas_prove_nothing_at_a_jump():
    at = {"x": np.array(2.0)}
    assert check("floor(x) + x", grad="1", values=at).verdict == "inconclusive"
    assert check("floor(x) + x", grad="1", values={"x": np.array(2.5)}).verdict == "pass"


def test_random_complex_points_have_imaginary_parts():
    """The gradient of |z|**2 is 2 z; its conjugate is the same at real points."""
    assert check("real(z*conj(z))", grad="2*z", dtype="complex128").verdict == "pass"
    assert check("real(z*conj(z))", grad="2*conj(z)", dtype="complex128").verdict == "fail"
