"""Functions that compute in float32 inside."""

import numpy as np
import pytest

from gradcli import check_gradient


def short_softmax(x):
    p = np.exp(x.astype(np.float32))
    return (p / p.sum(-1, keepdims=True)).astype(float)


def short_loss(x):
    return (np.sin(np.float32(1) * x.astype(np.float32)) ** 2).sum()


def softmax_back(factor):
    def back(g, x):
        p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
        return factor * p * (g - (p * g).sum(-1, keepdims=True))

    return back


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("factor", "verdict"), [(1, "pass"), (1.02, "fail")])
def test_a_function_that_computes_in_float32_is_judged_by_its_digits(seed, factor, verdict):
    x = np.random.default_rng(seed).normal(size=(3, 6))
    found = check_gradient(short_softmax, at={"x": x}, vjp=softmax_back(factor))
    place = "test_float32.py:{}: p = np.exp(x.astype(np.float32)))"
    (note,) = (note for note in found.notes if "float32" in note)
    assert found.verdict == verdict and note.endswith(place.format(short_softmax.__code__.co_firstlineno + 1))
    found = check_gradient(short_loss, lambda x: factor * np.sin(2 * x), {"x": x})
    assert found.verdict == verdict and any("float32, of 7.2 digits" in note for note in found.notes)


@pytest.mark.parametrize(
    "f", [lambda x: (x + 1e4).sum(), lambda x: np.round(x, 3).sum(), lambda x: (x * (x > 0)).sum()]
)
def test_others_are_not_said_to_compute_in_float32(f):
    x = np.random.default_rng(0).normal(size=5)
    for claim in (lambda x: 1.1 * np.ones(5), lambda x: 1.0 * (x > 0)):
        assert not any("float32" in note for note in check_gradient(f, claim, {"x": x}).notes)
