"""Search with hypothesis for texts that cause a traceback."""

import contextlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcli.analysis.gradient import compute_gradient
from gradcli.errors import GradcliError
from gradcli.lang.evaluate import Evaluator, function_names
from gradcli.lang.parse import parse
from gradcli.lang.values import read_value, read_values
from gradcli.program.expression import ExpressionProgram
from gradcli.request import Request

QUICK = settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(QUICK, max_examples=1000, derandomize=False)
FUNCTIONS = function_names()
LIMITS = Request(max_elements=10_000)

atoms = st.one_of(
    st.integers(-3, 5).map(str),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.just("1e300"),
    st.sampled_from([*"x y z pi inf nan True None ... 2j ()".split(), "[1, 2]", "[[1, 2], [3, 4]]"]),
)


def grown(inner):
    binary = st.tuples(inner, st.sampled_from("+ - * / // % ** ^ @ < == and or & |".split()), inner)
    names = st.sampled_from(FUNCTIONS)
    return st.one_of(
        binary.map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda s: f"-{s}"),
        inner.map(lambda s: f"(not {s})"),
        st.tuples(names, st.lists(inner, max_size=3)).map(lambda t: f"{t[0]}({', '.join(t[1])})"),
        st.tuples(inner, names).map(lambda t: f"({t[0]}).{t[1]}()"),
        st.tuples(names, inner, inner).map(lambda t: f"{t[0]}({t[1]}, axis={t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]})[{t[1]}]"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]})[{t[1]}:{t[2]}]"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        inner.map(lambda s: f"({s}).T"),
    )


expressions = st.recursive(atoms, grown, max_leaves=8)


def run(text: str) -> None:
    """Run a program as the command would, allowing only GradcliError."""
    try:
        program = ExpressionProgram(parse(text), text, LIMITS)
        values = {"x": np.array(0.5), "y": np.array([1.0, -2.0]), "z": np.array([[1.0, 2.0], [3.0, 4.5]])}
        assert program.input_names(values) is not None
        given_values = {n: values.get(n, np.array(1.5)) for n in program.free_names()}
        with np.errstate(all="ignore"):
            compute_gradient(program, given_values, Request(gradient=None))
    except GradcliError as error:
        assert error.message
        assert error.exit_code in (2, 3)


TEXTS = st.text(max_size=60) | st.text(alphabet="x=[],.+-*/^()@0123456789ejnaif:' \n", max_size=40)


@QUICK
@given(TEXTS)
def test_any_text(text):
    """Read the text as a program and as a value."""
    run(text)
    try:
        read_values((text,), LIMITS)
    except GradcliError as error:
        assert error.message


@QUICK
@given(expressions, expressions, expressions)
def test_any_program(first, second, third):
    run(f"a = {first}\na[0] = {second}\nb = a * {third}\nb")
    run(first)


@pytest.mark.nightly
@MANY
@given(TEXTS, expressions, expressions, expressions)
def test_other_texts_and_programs_each_night(text, first, second, third):
    test_any_text.hypothesis.inner_test(text)
    test_any_program.hypothesis.inner_test(first, second, third)


ZIP = bytes.fromhex("504b03040a504b01022d03" + "00" * 33 + "504b0506" + "00" * 18)


@pytest.mark.parametrize("data", [b"\x93NUMPY\x01   \n", ZIP, b"1+2j\t3", b'["nan",""]'])
def test_malformed_files_raise_only_gradcli_errors(tmp_path, data):
    (tmp_path / "data").write_bytes(data)
    with contextlib.suppress(GradcliError):
        read_value(f"@{tmp_path}/data", LIMITS, "x")


@pytest.mark.parametrize("text", ["x.__class__", "x._data", "x.backward", "().__class__", "x.T.base"])
def test_programs_cannot_reach_python_attributes(text):
    with pytest.raises(GradcliError):
        Evaluator(parse(text)).run({})
