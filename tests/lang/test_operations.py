"""Derivatives shown for entries of the table use names of the language, and match the engine."""

import ast

import numpy as np
import pytest

from gradcli.lang.operations import describe_entry
from gradcli.lang.parse import parse
from gradcli.program.expression import ExpressionProgram
from gradcli.request import Request
from gradcli.rules import full_table
from gradcli.rules.shapes import fit_to_shape
from gradcli.rules.table import NAMES

from ..rules.calls import Call

OPERANDS = ("x", "y", "z")
ORDERS = {
    **dict.fromkeys(("betainc", "betaincc", "betaincinv"), ("a", "b")),
    **dict.fromkeys(("gammainc", "gammaincc", "gammaincinv", "gammainccinv", "zeta"), ("a",)),
}
"""Names of the operands before x that have no derivative; v for functions not listed (Bessel functions)."""
CONSTANTS = {"pi", "e", "tau", "inf", "nan"}
SHOWN = [
    (name, place, text)
    for name, entry in full_table().items()
    if entry.public and entry.kind == "elementwise"
    for place, (_, text) in enumerate(describe_entry(entry).derivatives)
]


def is_formula(text: str) -> bool:
    """Return whether a derivative is shown as an expression, not as a sentence."""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return text != "none"


def settings_of(name: str, call: Call) -> dict[str, object]:
    """Return values for the names that a formula may use in addition to the operands."""
    entry, args = full_table()[name], call.sample.args
    parts = [part(call.arrays) for part in call.template]
    params = {} if entry.bind is None else entry.bind(*parts, **call.sample.kwargs)[1]
    numbers = [x for x in args if isinstance(x, int | float)]
    named = {n: x for n, x in zip(OPERANDS, args, strict=False) if isinstance(x, int | float)}
    return {**named, **dict(zip(ORDERS.get(name, ("v",)), numbers, strict=False)), **params}


FORMULAS = [(name, place, text) for name, place, text in SHOWN if is_formula(text)]


def test_most_derivatives_are_formulas():
    assert len(FORMULAS) > 110
    words = {name for name, _, text in SHOWN if not is_formula(text)}
    assert not any(x in text for name, _, text in SHOWN for x in ("_slope(", "kummer", "ratio(", "source", "ierfcx"))
    assert "airy_ai" in words


@pytest.mark.parametrize(("name", "place", "text"), FORMULAS, ids=[f"{n}-{i}" for n, i, _ in FORMULAS])
def test_shown_formulas_match_the_engine(name, place, text):
    """Run the formula as a program on a sample of the entry, and compare it with the engine's backward."""
    entry = full_table()[name]
    calls = (Call(entry, i, sample) for i, sample in enumerate(entry.samples))
    call = next(call for call in calls if len(call.arrays) > place)
    leaves = call.leaves()
    out = call.on(leaves)
    out.sum().backward()
    given = {**settings_of(name, call), **dict(zip(OPERANDS, call.arrays, strict=False))}
    program = ExpressionProgram(parse(text), text, Request())
    unknown = set(program.free_names()) - set(given) - CONSTANTS
    assert not unknown
    called = {n.func.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert all(n in NAMES and NAMES[n].public for n in called)
    run = program.run({n: np.asarray(given[n], float) for n in program.free_names()}, wrt=("x",) if "x" in text else ())
    value = float(text) if run.output is None else run.output._data
    wanted = leaves[place]._grad._data
    sums = fit_to_shape(np.broadcast_to(value, out.shape), wanted.shape, out.ndim)
    assert np.allclose(sums, wanted, 1e-9, 1e-12, equal_nan=True), text
