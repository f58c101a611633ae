"""Python's and NumPy's numbers as operands: elementwise entries take them in each place, like an array."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gradcli import tensor
from gradcli.rules import entry, full_table
from gradcli.rules.table import A, Primitive, Sample

from . import test_table as net
from .calls import Call
from .per_entry import per_entry

APART = 0.03  # distance from the elements, with which a number may be at a kink: larger than the steps of the check
NUMBERS = {
    float: (-1.5, 0.75, 2.25, 3.5, 1.02),
    int: (3, 0, 2, 1),
    bool: (True, False),
    np.float64: (-1.5, 0.75, 2.25, 3.5, 1.02),
    np.int64: (3, 0, 2, 1),
}
"""Candidates by type: the first that is in the domain, and apart from the elements, is taken."""


class WithNumber(Call):
    """A call of an elementwise entry with one operand that is a number."""

    def __init__(self, entry: Primitive, place: int, kind: type):
        super().__init__(entry, place, Sample(*[A(3)] * entry.arity))
        self.place = place
        del self.arrays[place]
        low, high = entry.domain[min(place, len(entry.domain) - 1)]
        fitting = [x for x in NUMBERS[kind] if low <= x <= high and np.abs(np.subtract(self.arrays, x)).min() > APART]
        self.value = kind(fitting[0]) if fitting else None

    def on(self, values: list) -> object:
        return self.entry.function(*self.with_number(values, self.value))

    def with_number(self, values: list, number: object) -> list:
        return [*values[: self.place], number, *values[self.place :]]

    def describe(self) -> str:
        return f"{self!r}: {self.entry.name} with {self.value!r} as operand {self.place}"


ENTRIES = [e for e in full_table().values() if e.kind == "elementwise" and (e.arity or 0) > 1 and e.public]
CALLS = [
    call
    for e in ENTRIES
    for place in range(e.arity)
    for kind in NUMBERS
    if (call := WithNumber(e, place, kind)).value is not None
]


@per_entry(CALLS)
def test_values_are_those_of_an_array_of_the_number(call):
    array = np.full(3, call.value, float)
    assert_allclose(call.plain(*call.arrays), call.entry.function(*call.with_number(call.arrays, array)), rtol=1e-14)


@per_entry(CALLS)
def test_gradients_match_differences(call):
    net.test_gradients_match_differences.check(call)
    net.test_second_gradients_match_differences.check(call)


@per_entry([c for c in CALLS if isinstance(c.value, bool | int | float) and not isinstance(c.value, np.generic)])
def test_python_numbers_keep_the_dtype(call):
    net.test_the_dtype_is_kept.check(call)


FUNCTIONS = [np.maximum, np.minimum, np.fmax, np.fmin]


@pytest.mark.parametrize("number", [0, 0.0, False, np.float64(0), np.int64(0)], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_numpys_extrema_take_a_number_first(function, number):
    x = tensor([1.0, -2.0, 3.0], requires_grad=True)
    out = function(number, x)
    out.sum().backward()
    positive = [1, 0, 1]
    expected = positive if "max" in function.__name__ else [0, 1, 0]
    assert x.grad.tolist() == expected
    assert out.tolist() == [a * b for a, b in zip(expected, [1, -2, 3], strict=True)]


def test_clip_and_tensordot_take_a_number_first():
    low = tensor([1.0, -2.0, 3.0], requires_grad=True)
    np.clip(2, low, 5).sum().backward()
    assert low.grad.tolist() == [0, 0, 1]
    x = tensor([1.0, -2.0, 3.0], requires_grad=True)
    np.tensordot(2, x, axes=0).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_true_is_one_in_the_type_of_the_array():
    x = tensor([0.5, 2.0], requires_grad=True)
    entry("xlog1py").function(x, True).sum().backward()
    assert_allclose(x.grad.numpy(), np.log([2.0, 2.0]), rtol=1e-15)


def test_full_like_makes_a_tensor_that_can_be_changed():
    x = tensor([1.0, -2.0], requires_grad=True)
    out = np.full_like(x, 2.0)
    out[0] = x[1]
    (out * out).sum().backward()
    assert x.grad.tolist() == [0, -4]
