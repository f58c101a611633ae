"""Names of constants in the words of a diagnosis."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

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
        (180 / math.pi, ["is 180 / pi (degrees) times"]),
        (3.0, ["is 3 times"]),
        (1.5, ["is 3/2 times"]),
        (-2 / 3, ["is -2/3 times"]),
        (0.123456, []),
        (25.0, []),
        (23 / 24, ["is 23/24 times"]),
    ],
)
def test_numbers_that_a_factor_may_be(c, texts):
    found = list(constants.plain_numbers(c))
    assert len(found) == len(texts)
    for named, text in zip(found, texts, strict=True):
        assert text in named.text and named.of(None) == pytest.approx(c, rel=1e-6)


@pytest.mark.parametrize(
    ("c", "text"),
    [
        (3.14 / math.pi, "3.14 in place of pi"),
        (math.pi / 3.14, "3.14 in place of pi, as a divisor"),
        (2.72 / math.e, "2.72 in place of e"),
        (1.4142 / math.sqrt(2), "1.4142 in place of sqrt 2"),
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
    assert ratio([2.0, -4.0], [1.0, -2.0]) == 2
    assert ratio([2.0, -4.0], [1.0, 2.0]) is None
    assert ratio([2.0, 4.001], [1.0, 2.0]) is None
    assert ratio([2.0, 4.001], [1.0, 2.0], error=1e-2) == pytest.approx(2, rel=1e-3)
    assert ratio([0.0, 0.0], [1.0, 2.0]) is None
    assert ratio([1.0], [0.0]) is None
    assert ratio([], []) is None


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
