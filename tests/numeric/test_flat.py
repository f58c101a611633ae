"""A function of named arrays as one of a real vector: labels and sizes of elements, and blocks of the Jacobian."""

import types
from dataclasses import replace

import numpy as np
import pytest

from gradcli.claims.claim import CallError, WrongShapeError
from gradcli.claims.hand_written import HandWritten
from gradcli.numeric.flat import Flat, arrays_behind, is_filled, medians_of, scales_of

A, Z = np.array([[1.0, 2.0, 3.0]]), np.array([4.0 + 5j, 6 - 7j])


def total(a, z):
    return a.sum() + z.real.sum() + 2 * z.imag.sum()


def flat_of(f=total, at=None, **claims):
    at = {"a": A, "z": Z} if at is None else at
    return Flat(HandWritten(f, at, **(claims or {"grad": lambda a, z: (np.ones_like(a), (1 + 2j) * np.ones_like(z))})))


def test_elements_of_all_inputs_are_numbered_and_labelled():
    flat = flat_of()
    assert flat.x.tolist() == [1, 2, 3, 4, 5, 6, -7] and flat.size == 7
    assert [flat.input_of(i) for i in range(7)] == [0, 0, 0, 1, 1, 1, 1]
    assert [float(flat.coordinate(i)) for i in range(7)] == flat.x.tolist()
    assert flat.label(2) == ("a", (0, 2), "")
    assert [flat.label(i) for i in (3, 4, 5, 6)] == [
        ("z", (0,), "re"),
        ("z", (0,), "im"),
        ("z", (1,), "re"),
        ("z", (1,), "im"),
    ]
    assert (flat.columns(0), flat.columns(1)) == (slice(0, 3), slice(3, 7))
    arrays = flat.arrays_at(flat.x + 1)
    assert arrays["a"].tolist() == [[2, 3, 4]] and arrays["z"].tolist() == [5 + 6j, 7 - 6j]


def test_rounding_units_are_the_largest_of_all_types():
    flat = flat_of(at={"a": A.astype(np.float32), "z": Z})
    assert flat.input_unit == flat.claim_unit == 2.0**-24 and flat.unit == 2.0**-53
    flat.claim.capabilities = replace(flat.claim.capabilities, claim_unit=1e-3)
    assert flat.claim_unit == 1e-3
    assert flat_of().input_unit == 2.0**-53


def test_an_output_that_is_not_floating_point_has_no_derivative():
    claim = HandWritten(np.sum, {"x": A}, grad=np.ones_like)
    claim.here = np.array(3)
    with pytest.raises(CallError, match="the output has type int64, which has no derivative"):
        Flat(claim)


MATRIX = np.arange(14.0).reshape(2, 7)


def test_blocks_of_a_jacobian_have_the_shapes_of_output_and_input():
    """A complex element has the derivatives by its real and its imaginary part as one complex number."""
    flat = flat_of(lambda a, z: np.stack([a.sum(), z.real.sum()]), vjp=lambda g, a, z: (a, z))
    blocks = flat.blocks(MATRIX)
    assert {name: block.shape for name, block in blocks.items()} == {"a": (2, 1, 3), "z": (2, 2)}
    assert blocks["a"][1].tolist() == [[7, 8, 9]]
    assert blocks["z"].tolist() == [[3 + 4j, 5 + 6j], [10 + 11j, 12 + 13j]]
    assert flat.as_rows(blocks).tolist() == MATRIX.tolist()


def test_blocks_of_a_complex_output_have_pairs_of_numbers():
    flat = flat_of(lambda a: np.array([a.sum() * 1j]), {"a": A}, vjp=lambda g, a: a)
    assert flat.blocks(MATRIX[:, :3])["a"].shape == (1, 2, 1, 3)


def test_a_jacobian_of_another_shape_is_refused():
    flat = flat_of(lambda a: np.stack([a.sum(), a.max()]), {"a": A}, vjp=lambda g, a: a)
    assert flat.as_rows({"a": np.arange(6.0)}).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(WrongShapeError, match=r"the derivative is a \(3, 3\) matrix; it must be \(2, 3\)"):
        flat.as_rows({"a": np.zeros((3, 3))})


@pytest.mark.parametrize(
    ("rows", "columns", "pulls_first", "claims"),
    [(2, 3, False, "vjp"), (3, 2, False, "jvp"), (3, 2, True, "vjp"), (2, 2, False, "vjp")],
)
def test_a_jacobian_is_computed_from_the_cheaper_products(rows, columns, pulls_first, claims):
    matrix = np.arange(1.0, 1 + rows * columns).reshape(rows, columns)
    flat = flat_of(
        lambda x: matrix @ x, {"x": np.ones(columns)}, vjp=lambda g, x: matrix.T @ g, jvp=lambda t, x: matrix @ t[0]
    )
    flat.claim.capabilities = replace(flat.claim.capabilities, pulls_first=pulls_first)
    seen = []
    flat.claim.progress.callback = lambda what, done, of: seen.append((what, done, of))
    assert flat.matrix().tolist() == matrix.tolist() and flat.claim.claims == claims
    assert seen == ([("cotangent", 0, rows)] if claims == "vjp" else [("tangent", i, columns) for i in range(columns)])


def test_a_jacobian_of_many_rows_is_computed_in_parts():
    matrix = np.random.default_rng(0).normal(size=(70, 2))
    flat = flat_of(lambda x: matrix @ x, {"x": np.ones(2)}, vjp=lambda g, x: matrix.T @ g)
    assert np.array_equal(flat.matrix(), matrix)


def test_a_point_without_inputs_has_the_unit_of_float64():
    flat = flat_of(at={"a": A, "z": Z})
    flat.parts = []
    assert flat.input_unit == 2.0**-53 and flat_of(lambda x: x.sum(), {"x": np.zeros(0)}).scales.shape == (0,)


def test_the_function_is_called_before_its_gradient():
    """Programs do so, and a gradient may depend on it."""
    seen = []
    flat = flat_of(
        lambda x: seen.append("f") or x.sum(), {"x": np.ones(2)}, vjp=lambda g, x: seen.append("vjp") or g * x
    )
    seen.clear()
    flat.matrix({"x": np.zeros(2)})
    assert seen == ["f", "vjp"]


def test_medians_of_rows():
    assert medians_of(np.array([[3.0, 1, 2], [9, 7, 8]])).tolist() == [2, 8]
    assert medians_of(np.array([[3.0, 1, 2, 10]])).tolist() == [2.5]


@pytest.mark.parametrize(
    ("x", "scales"),
    [
        ([3.0, -0.2, 0.0], [3, 0.2, 1]),
        ([0.5, -0.2, 0.3, 0.0], [0.5, 0.2, 0.3, 0.3]),
        ([0.0, 0.0], [1, 1]),
        ([np.inf, np.nan, 0.5], [0.5, 0.5, 0.5]),
        ([1e-310, 0.5], [0.5, 0.5]),
        ([1e-290, 0.5], [1e-290, 0.5]),
    ],
)
def test_zeros_have_the_median_size_of_the_others(x, scales):
    assert scales_of(np.array(x)).tolist() == scales


USED, UNUSED = np.ones(2), np.ones(3)


def test_arrays_that_the_code_uses_are_named_as_there():
    hidden, also, inner = np.ones(4), np.ones(5), np.ones((6, 1))
    module = types.ModuleType("data")
    module.also = np.ones((3, 1))

    def helper():
        return inner.sum()

    def f(x):
        return x @ x + USED.sum() + hidden.sum() + helper() + module.also.sum()

    def grad(x):
        return 2 * x + 0 * hidden.sum() + 0 * also.sum()

    claim = HandWritten(f, {"x": np.ones(2)}, grad=grad)
    claim.constants = {"k": np.ones(7), "n": 3}
    found = arrays_behind(claim)
    assert {name: x.size for name, x in found if name} == {"k": 7, "USED": 2, "hidden": 4, "also": 5, "inner": 6}
    assert [x.shape for name, x in found if not name] == [(3, 1)]


def test_a_cell_may_be_empty():
    assert is_filled(types.CellType(3)) and not is_filled(types.CellType()) and not is_filled(types.CellType(None))
