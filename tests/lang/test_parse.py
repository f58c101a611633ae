"""Parsing: spans, rejected syntax, limits."""

import sys

import pytest

from gradcli.errors import GradcliError
from gradcli.lang import tree
from gradcli.lang.parse import NotInLanguageError, parse


def only(text):
    (statement,) = parse(text).statements
    return statement.value


def place(text, node):
    return text[node.start : node.end]


def test_a_caret_has_the_precedence_of_power():
    node = only("-x^2*y")
    assert (node.op, place("-x^2*y", node.x)) == ("multiply", "-x^2")
    assert isinstance(node.x, tree.Unary)
    assert node.x.x.op == "power"


def test_powers_group_to_the_right():
    node = only("2^3^x")
    assert place("2^3^x", node.y) == "3^x"


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("x^2 + sin(y)", tree.Call, "sin(y)"), ("π^2 + é*sin(ω^2)", tree.Call, "sin(ω^2)"),
        ("  a^2 ; b[1:2]", tree.Item, "b[1:2]"), ("x = 1\ny = f(x^2)", tree.Call, "f(x^2)"),
        ("x = 1\r\ny = f(x)", tree.Call, "f(x)"),
    ],
)  # fmt: skip
def test_spans_refer_to_the_users_text(text, name, expected):
    found = [n for s in parse(text).statements for n in s.value.walk() if isinstance(n, name)]
    assert [text[n.start : n.end] for n in found] == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "import os", "lambda x: x", "[x for x in y]", "{x: 1}", "{1, 2}", "'text'", 'f"{x}"', "x.__class__",
        "x._data", "f(*x)", "f(**x)", "(y := 3)", "x += 1", "a = b = 1", "a, b = 1, 2", "for i in x: y",
        "def f(): pass", "x is y", "x in y", "x << 2", "await x", "x: int = 3", "del x", "x.f = 1", "f(x)(y)",
        "x[0](1)",
    ],
)  # fmt: skip
def test_python_outside_the_language_is_rejected(text):
    with pytest.raises(NotInLanguageError) as caught:
        parse(text)
    assert caught.value.span is not None
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["x +", "(x", "x)", "1x", "x y", "f(", "[1, 2", "x..y", "=", "@", "\\", "x = "])
def test_broken_syntax(text):
    with pytest.raises(GradcliError) as caught:
        parse(text)
    assert caught.value.kind == "syntax"


def test_nesting_is_limited_to_200_levels():
    parse("(" * 200 + "x" + ")" * 200)
    parse("-" * 199 + "x")
    for text in ("(" * 201 + "x" + ")" * 201, "-" * 250 + "x", "f(" * 300 + "x" + ")" * 300, "-" * 100_000 + "x"):
        with pytest.raises(GradcliError, match="nested more than 200"):
            parse(text)


@pytest.mark.skipif((3, 12) <= sys.version_info < (3, 14), reason="these Pythons read at most a few thousand terms")
@pytest.mark.parametrize("operator", ["+", "*", "@", "-"])
def test_long_chains_do_not_count_as_nesting(operator):
    node = only(operator.join(["x"] * 20_000))
    assert sum(isinstance(n, tree.Binary) for n in node.walk()) == 19_999


def test_programs_are_limited_to_one_mebibyte():
    line = "x = 1\n"
    parse(line * 1000 + "x")
    with pytest.raises(GradcliError, match="1 MiB"):
        parse(line * (1 << 18))


def test_numbers_are_floats():
    assert only("3").value == 3.0
    assert isinstance(only("3").value, float)
    assert only("2j").value == 2j
    with pytest.raises(GradcliError, match="too large"):
        parse("1" + "0" * 400)
    with pytest.raises(GradcliError, match="too many digits"):
        parse("1" * 5000)
