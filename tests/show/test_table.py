"""Tables of results on a terminal: their layout, and what they leave out."""

import numpy as np
import pytest
from scipy.sparse import coo_array

from gradcli.results.base import Gradients, Hessian, InputGradient, Jacobian, Products, Value
from gradcli.results.causes import Explained, Explanation
from gradcli.results.checks import CheckSummary, FoundPoint, Taylor, TaylorRow
from gradcli.results.formats import Style, render
from gradcli.results.inputs import Elements
from gradcli.results.studies import Operation, Operations

from .reports import FAILED, PASSED, RAISED, SKIPPED, UNDECIDED, WRONG, checked, element, printed, report


def table(result, width=80, **style):
    return printed(render(result, "table", Style(size=(width, 24), **style)), width=width)


X = np.array([1.0, 2.0])


def test_gradients_are_shown_next_to_values():
    inputs = (InputGradient("x", X, 2 * X), InputGradient("n", np.array(3.0), None))
    result = Gradients("t", np.array(5.0), inputs, {"k": np.array(7.0)}, "loss")
    assert table(result) == [
        *[
            "loss 5",
            "",
            "input  shape   value   gradient",
            "x      2       [1, 2]  [2, 4]",
            "n      scalar  3       none",
        ],
        "k      scalar          7",
    ]
    assert table(result._replace(value=None))[0].startswith("input")


def test_a_summary_of_gradients_has_their_sizes():
    inputs = (
        InputGradient("w", np.zeros((2, 2)), np.array([[3.0, 0.0], [0.0, -4.0]])),
        InputGradient("z", np.zeros(1), np.array([3 + 4j])),
        InputGradient("u", np.zeros(2), None),
        InputGradient("e", np.zeros(0), np.zeros(0)),
    )
    lines = table(Gradients("t", np.array(5.0), inputs, {}, summary=True))
    assert [line.split() for line in lines[2:7]] == [
        ["input", "shape", "norm", "least", "greatest", "zeros"],
        ["w", "2×2", "5", "-4", "3", "50%"],
        *[["z", "1", "5", "5", "5", "0%"], ["u", "2", "none"], ["e", "0", "empty"]],
    ]
    assert lines[-1].startswith("7 elements: use --wrt NAME")


def test_a_value_is_shown_alone():
    assert table(Value("t", np.eye(2))) == ["value [1  0]", "      [0  1]"]


def test_a_jacobian_has_a_matrix_for_each_array_and_one_for_all_scalars():
    blocks = {"a": np.array([1.0, 2.0]), "x": np.array([[3.0, 4.0], [5.0, 6.0]]), "b": np.array([7.0, 8.0])}
    inputs = {"a": np.array(0.0), "x": X, "b": np.array(0.0)}
    lines = [line.split() for line in table(Jacobian("t", X, inputs, blocks))]
    assert lines[2:5] == [["∂out/∂(a,", "b)", "2", "by", "2"], ["a", "b"], ["out[0]", "1", "7"]]
    assert lines[7:10] == [["∂out/∂x", "2", "by", "2"], ["x[0]", "x[1]"], ["out[0]", "3", "4"]]


def test_a_sparse_jacobian_shows_its_first_entries():
    entries = coo_array((np.arange(1.0, 13.0), (range(12), range(12))), shape=(12, 20))
    result = Jacobian("t", np.zeros(12), {"x": np.zeros(20)}, {"x": entries}, products=1)
    lines = table(result)
    assert "dout/dx   sparse 12×20, 12 entries (5.00%), 1 products" in lines
    assert lines[-2:] == ["  (9, 9)  10", "  …"]


def test_a_hessian_shows_mirrored_blocks_once():
    mixed = np.array([[1.0], [2.0]])
    second = {"x": {"x": np.eye(2), "y": mixed}, "y": {"x": mixed.T, "y": np.ones((1, 1))}}
    result = Hessian("t", np.array(1.0), {"x": X, "y": np.zeros(1)}, second)
    heads = [line.split("   ")[0] for line in table(result) if line.startswith("∂")]
    assert heads == ["∂²out/∂x∂x", "∂²out/∂x∂y, ∂y∂x", "∂²out/∂y∂y"]
    second["y"]["x"] = np.array([[1.0, 2.5]])  # not the mirror image: both are shown
    heads = [line.split("   ")[0] for line in table(result) if line.startswith("∂")]
    assert heads == ["∂²out/∂x∂x", "∂²out/∂x∂y", "∂²out/∂y∂x", "∂²out/∂y∂y"]


def test_a_hessian_of_scalars_is_one_matrix():
    second = {a: {b: np.array(float(i + j)) for j, b in enumerate("xy")} for i, a in enumerate("xy")}
    result = Hessian("t", np.array(1.0), dict.fromkeys("xy", np.array(0.0)), second, "z")
    assert table(result) == ["z 1", "", "Hessian of z", "   x  y", "x  0  1", "y  1  2"]


@pytest.mark.parametrize(("kind", "heading"), [("vjp", "input"), ("hvp", "input"), ("jvp", "output")])
def test_products_are_listed_by_input_or_by_output(kind, heading):
    lines = table(Products("t", kind, np.array(1.0), {"x": X}))
    assert [line.split() for line in lines[2:]] == [[heading, "shape", kind], ["x", "2", "[1,", "2]"]]


def test_functions_are_lines_or_pages():
    sine = Operation("sin", ("sine",), "", "(x)", "Sine.", (("x", "cos(x)"),), "", "", "sin", ())
    assert table(Operations((sine,))) == ["function  derivative  what it computes", "sin       cos(x)      Sine."]
    page = ["sin(x)", "  Sine.", "  derivative for x: cos(x)", "  exact twin: sin", "  also called: sine"]
    assert table(Operations((sine,), full=True)) == page


def test_a_pass_shows_its_evidence_and_a_fail_its_command():
    assert table(PASSED) == [
        "✓ pass         g  f.py:3",
        "    9.0 digits agree; a relative error above 1e-08 would have been seen",
        "    checked 1 element, with 14 calls of the function",
    ]
    assert table(FAILED) == [
        *["✗ fail         f  f.py:3", "    x[1]: claimed -4, numeric 2 ± 1e-09 (relative error 3)"],
        *["    x: 2 of 3 elements wrong (--show all lists them)", "    the sign is wrong in all elements [sign]"],
        *["    hint: look", "    again: gradcli gradcheck f.py:f x=1"],
    ]
    assert table(FAILED, unicode=False)[0].startswith("x fail") and "+- 1e-09" in table(FAILED, unicode=False)[1]


def test_verdicts_have_marks():
    others = {check.verdict: table(check) for check in (UNDECIDED, RAISED, SKIPPED)}
    assert {verdict: lines[0][0] for verdict, lines in others.items()} == {
        "inconclusive": "?",
        "error": "!",
        "skipped": "-",
    }
    assert others["error"] == ["! error        k", "    ValueError: bad", "    value", '    File "k.py", line 7']


def test_a_command_to_repeat_is_never_broken():
    long = report(inputs=(WRONG,), replay="gradcli gradcheck " + "f.py:f x='[1, 2]' " * 9)
    assert table(long, width=40)[-1] == f"    again: {long.replay}".rstrip()


def test_a_report_shows_taylor_remainders_cross_checks_and_notes():
    taylor = Taylor((TaylorRow(0.1, 0.05, None, False), TaylorRow(0.01, 0.0005, 2.0, False)), 2.0)
    shown = report(
        "pass",
        inputs=(checked(),),
        taylor=taylor,
        cross_checks=(("forward mode", 15.0), ("50 digits", 14.5)),
        notes=("held constant",),
        found=FoundPoint({}, "gradcli.check(f, at={})"),
    )
    lines = table(shown)
    assert [line.split() for line in lines[2:5]] == [
        ["step", "remainder", "rate"],
        ["0.1", "0.05"],
        ["0.01", "0.0005", "2.00"],
    ]
    assert lines[5:] == [
        "    rate of the Taylor remainder: 2.00 (2 if right, 1 if wrong)",
        "    the claim (reverse mode) agrees to 15.0 digits with forward mode, 14.5 with",
        "50 digits",
        "    note: held constant",
        "    to check this point every time: gradcli.check(f, at={})",
    ]


def test_a_summary_has_reports_and_counts():
    summary = CheckSummary("t", (PASSED, RAISED), 0.5)
    assert table(summary)[-1] == "1 passed, 1 error in 0.50 s"
    assert len([line for line in table(summary) if line[:1] in "✓!"]) == 2
    assert table(summary._replace(shown=True)) == []


def every():
    claimed, numeric = np.array([[2.0, 1 / 3]]), np.array([[2.0, 2 / 3]])
    verdicts = np.array([["pass", "fail"]])
    elements = Elements((((), ""),), (((0,), ""), ((1,), "")), claimed, numeric, np.array([[1e-9, np.inf]]), verdicts)
    return report(inputs=(checked("x", "fail", element(1 / 3, 2 / 3), (2,), elements=elements),))


def test_every_element_has_a_line():
    lines = table(every())
    assert lines[-4] == "    x: 1 of 2 wrong"
    assert [line.split() for line in lines[-3:]] == [
        ["element", "claimed", "numeric", "±", "error", "ratio"],
        ["x[0]", "2", "2", "1e-09", "1"],
        ["x[1]", "0.333333333333", "0.666666666667", "unknown", "FAIL"],  # no ratio, since the error is unknown
    ]


@pytest.mark.parametrize(
    ("width", "digits", "columns"),
    [(80, 12, "± error ratio"), (60, 9, "± error ratio"), (51, 5, "± error ratio"), (50, 8, "± error"), (40, 7, "")],
)
def test_a_table_of_elements_loses_digits_before_columns(width, digits, columns):
    head, *rows = table(every(), width=width)[-3:]
    assert max(map(len, [head, *rows])) <= width
    assert head.split() == ["element", "claimed", "numeric", *columns.split()]
    assert rows[1].split()[:3] == ["x[1]", f"{1 / 3:.{digits}g}", f"{2 / 3:.{digits}g}"]
    assert rows[1].endswith("FAIL")


def test_an_explanation_names_cause_and_fix():
    good = Explained("w", "ok")
    bad = Explained("b", "none", "detached", "s.py", 4, "it is detached", "leave out detach()", "y = b.detach()")
    assert table(Explanation("s.py", (good, bad))) == [
        *["✓ w.grad is fine", "✗ b.grad is None  [detached]", "    s.py:4  y = b.detach()", "    it is detached"],
        "    fix: leave out detach()",
    ]
    assert table(Explanation("s.py", ())) == ["no tensor requires grad, and no .grad is read"]
