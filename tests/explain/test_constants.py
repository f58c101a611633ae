"""Names of constants in the words of a diagnosis."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.explain import constants
from gradcli.explain.constants import OF_LENGTH


@pytest.mark.parametrize(("word", "value"), OF_LENGTH, ids=[word for word, _ in OF_LENGTH])
def test_a_function_of_a_length_computes_what_its_name_says(word, value):
    expected = eval(re.sub(r"(\d)N", r"\1 * N", word), {"N": 7.0, "sqrt": math.sqrt})
    assert value(7.0) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("c", "texts"),
    [
        (-1.0, ["the sign is wrong", "is -1 times"]),
        (2.0, ["twice the derivative", "is 2 times"]),
        (0.5, ["half the derivative", "is 1/2 times"]),
        (math.pi, ["is pi times"]),
        (1 / math.pi, ["is 1 / (pi) times"]),
        (180 / math.pi, ["is 180 / pi times the derivative; perhaps pi / 180"]),
        (3.0, ["is 3 times"]),
        (1.5, ["is 3/2 times"]),
        (-2 / 3, ["is -2/3 times"]),
        (0.123456, []),
        (25.0, []),
        (23 / 24, ["is 23/24 times"]),
    ],
)
def test_numbers_that_a_factor_may_be(c, texts):
    found = list(constants.plain_numbers(constants.Ratio(c, 0.0)))
    assert len(found) == len(texts)
    for named, text in zip(found, texts, strict=True):
        assert text in named.text and named.of(None) == pytest.approx(c, rel=1e-6)


@pytest.mark.parametrize(
    ("c", "text"),
    [
        (3.14 / math.pi, "the claim has 3.14 in place of pi"),
        (math.pi / 3.14, "the claim has 3.14 in place of pi, as a divisor"),
        (2.72 / math.e, "the claim has 2.72 in place of e"),
        (1.4142 / math.sqrt(2), "the claim has 1.4142 in place of sqrt 2"),
        (1.001, None),
        (1.2, None),
    ],
)
def test_rounded_constants_are_recognized(c, text):
    found = [named.text for named in constants.constants_typed_short(c)]
    assert found == ([] if text is None else [text])


@pytest.mark.parametrize(
    ("c", "text"),
    [(3.0, "3"), (0.5, "1/2"), (1 / 3, "1/3"), (0.25, "0.25"), (1 / 98, "1/98"), (1 / 101, "0.0099009901"),
     (-1.5, "-3/2"), (0.123456, "0.123456"), (math.pi, "3.14159265")],
)  # fmt: skip
def test_short_fractions_are_printed_as_such(c, text):
    assert constants.readable_factor(c) == text


def ratio(a, r, error=1e-12):
    block = SimpleNamespace(a=np.array(a), r=np.array(r), error=np.full(len(a), error))
    return constants.common_ratio(block, np.ones(len(a), bool))


def test_a_ratio_is_common_if_all_elements_have_it():
    assert ratio([2.0, -4.0], [1.0, -2.0]).value == 2
    assert ratio([2.0, -4.0], [1.0, 2.0]) is None
    assert ratio([2.0, 4.001], [1.0, 2.0]) is None
    assert ratio([2.0, 4.001], [1.0, 2.0], error=1e-2).value == pytest.approx(2, rel=1e-3)
    assert ratio([0.0, 0.0], [1.0, 2.0]) is None
    assert ratio([1.0], [0.0]) is None
    assert ratio([], []) is None


def test_the_error_of_a_ratio_is_that_of_the_element_known_best():
    found = ratio([2.0, -40.004], [1.0, -20.0], error=1e-3)
    assert found.value == pytest.approx(2.0002) and found.error == pytest.approx(2.5 * 1e-3 / 20 * 2.0002)
    assert found.is_near(2) and not found.is_near(2.001) and found.digits == 3 and not found.is_precise


@pytest.mark.parametrize(
    ("c", "error", "texts"),
    [
        (-1.0003, 1e-3, ["the sign is wrong"]),
        (0.4998, 1e-3, ["half the derivative"]),
        (1.5002, 1e-3, []),  # some fraction is always near
        (3.141, 1e-3, []),
        (1.01, 1e-3, []),
    ],
)
def test_a_factor_of_a_few_digits_may_only_be_a_usual_one(c, error, texts):
    found = [named.text for named in constants.plain_numbers(constants.Ratio(c, error))]
    assert len(found) == len(texts) and all(words in text for words, text in zip(texts, found, strict=True))


LABELS = np.array([0, 2, 1, 1, 0, 2, 2, 0, 1, 0, 2, 1, 1, 2, 0, 0])
FEATURES = np.random.default_rng(2).normal(size=(16, 3)).astype(np.float32)


def logits(w, b):
    return FEATURES @ w.astype(np.float32) + b.astype(np.float32)


def softmax_loss(w, b):
    z = logits(w, b)
    return np.mean(np.log(np.exp(z).sum(axis=1)) - z[np.arange(16), LABELS])


def softmax_gradient(w, b, w_times=1.0, b_times=1.0):
    p = np.exp(logits(w, b))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(16), LABELS] -= 1
    return np.float32(w_times) * (FEATURES.T @ p / 16), np.float32(b_times) * p.sum(axis=0) / 16


MEAN, SIGN = "too large by a factor of 16, a length of an array that the code uses", "the sign is wrong"


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ((16, 16), (MEAN, MEAN)),
        ((1, 16), (MEAN,)),
        ((1, -1), (SIGN,)),
        ((0.5, 1), ("half the derivative",)),
        ((1, 1.7), ("the claim is 1.7 times the derivative",)),
    ],
)
def test_a_factor_in_float32_code_is_compared_within_the_numeric_error(times, words):
    """The biases are 0, so that sigmoid(b) is 1/2 at the point, and nearly so at others."""
    at = {"w": np.random.default_rng(0).normal(size=(3, 3)) * 0.3, "b": np.zeros(3)}
    assert check_gradient(softmax_loss, softmax_gradient, at).verdict == "pass"
    report = check_gradient(softmax_loss, lambda w, b: softmax_gradient(w, b, *times), at)
    assert len(report.diagnosis) == len(words)
    for finding, text in zip(report.diagnosis, words, strict=True):
        assert text in finding.text


@pytest.mark.parametrize(
    ("x", "usable"),
    [
        (3, True),
        (2.5, True),
        (-7, True),
        (1, False),
        (0.5, False),
        (True, False),
        ("3", False),
        (1e13, False),
        (1j, False),
    ],
)
def test_numbers_of_the_code_that_are_tried(x, usable):
    assert constants.is_factor(x) is usable
