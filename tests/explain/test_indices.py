"""Indices that occur several times."""

import numpy as np
import pytest

from gradcli import check_gradient

WORDS = np.array([0, 2, 2, 4, 1, 4])
TABLE = np.linspace(-1, 1, 18).reshape(6, 3)
PICKED = np.array([3, 0, 3])


def assigned(e, words):
    out = np.zeros_like(e)
    out[words] = np.cos(e[words])
    return out


def added(e, words):
    out = np.zeros_like(e)
    np.add.at(out, words, np.cos(e[words]))
    return out


def off_in_one_row(e, words):
    return added(e, words) * np.array([1, 1, 1.7, 1, 1, 1])[:, None] ** [1, 2, 3]


def rules(grad):
    report = check_gradient(lambda e, words: np.sin(e[words]).sum(), grad, {"e": TABLE, "words": WORDS}, wrt="e")
    return report.verdict, [finding.rule for finding in report.diagnosis]


def test_an_assignment_to_repeated_indices_is_named():
    assert rules(assigned) == ("fail", ["repeated-index"])
    assert rules(added) == ("pass", [])


def test_other_mistakes_in_repeated_rows_are_not_called_so():
    verdict, found = rules(off_in_one_row)
    assert verdict == "fail" and "repeated-index" not in found


@pytest.mark.parametrize("axis", [0, 1])
def test_indices_of_any_axis_and_in_the_code_are_found(axis):
    def backward(g, x):
        out = np.zeros_like(x)
        out[(slice(None),) * axis + (PICKED,)] = g
        return out

    at = {"x": np.arange(24.0).reshape(4, 6)}
    report = check_gradient(lambda x: np.take(x, PICKED, axis), at=at, vjp=backward)
    assert "more than once in PICKED" in report.diagnosis[0].text


def test_indices_that_are_a_default_are_found():
    def assign(x, g, indices):
        out = np.zeros_like(x)
        out[indices] = g
        return out

    def by_position(g, x, rows=PICKED):
        return assign(x, g, rows)

    def by_name(g, x, *, rows=PICKED):
        return assign(x, g, rows)

    for vjp in (by_position, by_name):
        report = check_gradient(lambda x, rows=PICKED: x[rows], at={"x": np.arange(8.0).reshape(4, 2)}, vjp=vjp)
        assert "more than once in rows" in report.diagnosis[0].text


def test_gradients_of_complex_inputs_are_not_compared_by_index():
    z = np.arange(1.0, 6.0) + 1j

    def backward(g, z):
        out = np.zeros_like(z)
        out[PICKED] = g * 2 * z.conj()[PICKED]
        return out

    assert check_gradient(lambda z: z[PICKED] ** 2, at={"z": z}, vjp=backward).verdict == "fail"
