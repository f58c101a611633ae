"""Assertions about tensors."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.testing import assert_allclose, assert_close

ONE = gradcli.tensor([1.0, 2.0], dtype=gradcli.float32)


@pytest.mark.parametrize(
    ("actual", "expected", "settings"),
    [
        (ONE, ONE + 1e-6, {}),
        ([ONE, 1.0], [ONE, 1.0 + 1e-8], {}),
        ({"a": ONE}, {"a": ONE.double()}, {"check_dtype": False}),
        (ONE, ONE + 0.2, {"rtol": 0, "atol": 0.3}),
        (ONE / 0 * 0, ONE / 0 * 0, {"equal_nan": True}),
        (3, 3, {}),
    ],
)
def test_what_is_close_passes(actual, expected, settings):
    assert_close(actual, expected, **settings)


@pytest.mark.parametrize(
    ("actual", "expected", "kind", "text"),
    [
        (
            ONE,
            gradcli.tensor([1.0, 4.0], dtype=gradcli.float32),
            AssertionError,
            "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
            "Greatest absolute difference: 2.0 at index (1,) (up to 1e-05 allowed)\n"
            "Greatest relative difference: 0.5 at index (1,) (up to 1.3e-06 allowed)",
        ),
        (
            [1, 2],
            [1, 4],
            AssertionError,
            "Scalars are not equal!\n\nExpected 4 but got 2.\nAbsolute difference: 2\nRelative difference: 0.5\n\n"
            "The failure occurred for item [1]",
        ),
        (ONE, ONE[:1], AssertionError, "The values for attribute 'shape' do not match: "),
        (ONE, ONE.double(), AssertionError, "The values for attribute 'dtype' do not match: "),
        ([ONE], [ONE, ONE], AssertionError, "The length of the sequences mismatch: 1 != 2"),
        ({"a": 1}, {"b": 1}, AssertionError, "The keys of the mappings do not match:\nMissing keys"),
        (ONE, 1.0, TypeError, "No comparison pair was able to handle"),
        (1, 1.0, AssertionError, "The (d)types do not match: "),
    ],
)
def test_what_differs_is_described(actual, expected, kind, text):
    with pytest.raises(kind) as caught:
        assert_close(actual, expected)
    assert str(caught.value).startswith(text)


def test_one_tolerance_alone_is_refused():
    with pytest.raises(ValueError, match="got no atol"):
        assert_close(ONE, ONE, rtol=1e-3)


def test_words_can_be_chosen():
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1, 2, msg="mine")
    with pytest.raises(AssertionError, match=r"^so: Scalars"):
        assert_close(1, 2, msg=lambda text: f"so: {text}")


def test_the_old_form_takes_numbers_and_is_looser():
    assert_allclose(ONE, [1.00005, 2.0])
    with pytest.raises(AssertionError, match="not close"):
        assert_allclose(ONE, [1.001, 2.0])
