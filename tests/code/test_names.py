"""Names in generated code are valid and unique in each language."""

from itertools import islice

import pytest

from gradcli.code.names import UniqueNames, doc, identifier, nest_lists, plain_identifier


def test_names_in_code_are_valid_and_unique():
    names = UniqueNames([("lambda", ()), ("net.0.w", (2,)), ("net_0_w", ()), ("0b", ())], ["lambda", "math"])
    assert names.parameters == {"net_0_w": "net_0_w", "lambda": "lambda_", "net.0.w": "net_0_w_", "0b": "_0b"}
    assert names.elements["net.0.w[1]"] == ("net_0_w_", (1,), (2,))
    assert [names.free("math"), names.free("math"), names.free("t")] == ["math_", "math__", "t"]
    assert [identifier(name) for name in ("a.b[0]", "1x", "μ")] == ["a_b_0_", "_1x", "μ"]


def test_targets_are_escaped_in_comments():
    assert doc('x """ \\ \n y */ z') == "x ''' \\\\ y * / z"
    compile(f'"""{doc(chr(34) * 3 + chr(92))}"""', "f", "eval")


def test_nested_lists():
    words = list("abcdef")
    assert nest_lists(words, (2, 3)) == "[[a, b, c], [d, e, f]]"
    assert nest_lists(words[:1], ()) == "a" and nest_lists([], (0, 2)) == "[]"
    assert nest_lists(words[:2], (2, 1), "array([") == "array([array([a], array([b]]"  # `left` opens every list


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("x", "x"),
        ("\u03bc", "mu"),
        ("\u03a3_1", "SIGMA_1"),
        ("1x", "v1x"),
        ("_x", "v_x"),
        ("net.w", "net_w"),
        ("\u4e2d", "u4e2d"),
    ],
)
def test_plain_identifiers_are_ascii(name, spelled):
    assert plain_identifier(name) == spelled


def test_names_may_differ_by_more_than_case():
    names = UniqueNames([("X", ()), ("x", ()), ("T0", ())], ["dp"], plain_identifier, fold_case=True)
    assert names.parameters == {"X": "X", "x": "x_", "T0": "T0"}
    assert names.derivative("X") == "d_X" and names.derivative("x") == "d_x_"
    assert [*islice(names.numbered(), 2)] == ["t1", "t2"]
