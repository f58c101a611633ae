"""Quantities that may be missing in a claim."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.explain.quantities import matrix_products


def block(of, **at):
    return SimpleNamespace(at=at, array=at[of], x=at[of].reshape(-1), columns=slice(None))


@pytest.mark.parametrize(
    ("shapes", "names"),
    [
        ({"w": (3, 2), "x": (4, 3), "y": (4, 2)}, ["x.T @ y"]),
        ({"w": (4, 2), "x": (4, 3), "y": (3, 2)}, ["x @ y"]),
        ({"w": (4, 2), "x": (4, 3), "y": (2, 3)}, ["x @ y.T"]),
        ({"w": (3, 2), "x": (3,), "y": (2,)}, ["outer(x, y)"]),
        ({"w": (3,), "x": (3, 2), "y": (2,)}, ["x @ y", "x @ y.T", "y @ x.T"]),
        ({"w": (), "x": (3,), "y": (3,)}, []),
    ],
)
def test_products_of_two_inputs_have_the_shape_of_a_third(shapes, names):
    rng = np.random.default_rng(0)
    at = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    one = block("w", **at)
    found = {q.name: q.of(one) for q in matrix_products(one)}
    assert sorted(found) == names
    for name, values in found.items():
        np.testing.assert_allclose(values, eval(name, {"outer": np.outer, **at}).reshape(-1), rtol=1e-14)


def test_no_product_is_computed_only_to_see_its_shape():
    """Otherwise the outer product of two inputs of 10 million elements would need 800 TB."""
    one = block("x", x=np.ones(10_000_000), y=np.ones(10_000_000))
    assert list(matrix_products(one)) == []
