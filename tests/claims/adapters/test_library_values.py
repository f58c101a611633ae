"""Values of a C function at several points: together as one by one."""

import shutil
import subprocess

import numpy as np
import pytest

from gradcli.claims.adapters.library import open_address
from gradcli.request import Request

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

SOURCE = """
#include <stdlib.h>
double total(int n, const double *x, double a) {
    double y = a;
    for (int i = 0; i < n; i++) y += (i + 1) * x[i] * x[i];
    return y;
}
void squares(int n, const float *x, double *y) { for (int i = 0; i < n; i++) y[i] = (double)x[i] * x[i]; }
int picky(int n, const double *x, double *y) { if (x[1] > 5) return 3; y[0] = x[0] + x[1]; return 0; }
double fragile(int n, const double *x) { if (x[0] > 5) abort(); return x[0]; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "k.c").write_text(SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", "k.so", "k.c"], cwd=folder, check=True, timeout=60)
    return folder / "k.so"


def claim_of(library, declaration, inputs, **more):
    return open_address(f"{library}:{declaration}", Request(**more))(inputs)


def moved(x, changes):
    """Return a stack of points, each with some elements of x changed."""
    stack = np.repeat(x[None], len(changes), axis=0)
    for point, change in zip(stack, changes, strict=True):
        for i, value in change.items():
            point[i] = value
    return stack


CHANGES = [{}, {0: 0.1}, {2: -1e-300}, {1: np.pi, 3: np.inf}, {1: np.nan}]


@pytest.mark.parametrize(
    "declaration, inputs, shapes",
    [
        ("double total(int n, const double *x, double a)", {"x": np.array([1.0, 2, 3, 4]), "a": 0.5}, {}),
        ("void squares(int n, const float *x, double *y)", {"x": np.array([1.0, 2, 3, 4])}, {"y": (4,)}),
    ],
)
def test_values_together_are_those_one_by_one(library, declaration, inputs, shapes):
    claim = claim_of(library, declaration, inputs, shapes=shapes)
    like = claim.value_here()
    stacks = {"x": moved(claim.at["x"], CHANGES)}
    if "a" in claim.at:
        stacks["a"] = np.linspace(0, 1, len(CHANGES))
    claim.seconds = 0.0  # as after a fast call
    made, asked = claim.budget.made, claim.connection.asked
    together = claim.values(stacks, len(CHANGES), like)
    assert claim.connection.asked == asked + 1
    assert claim.budget.made == made + len(CHANGES)
    alone = [claim.value({**claim.at, **{n: x[i] for n, x in stacks.items()}}) for i in range(len(CHANGES))]
    np.testing.assert_array_equal(together, np.array(alone))


def test_a_point_with_an_error_code_leaves_the_others(library):
    claim = claim_of(library, "int picky(int n, const double *x, double *y)", {"x": np.ones(3)}, shapes={"y": (1,)})
    like = claim.value_here()
    claim.seconds = 0.0
    values = claim.values({"x": moved(claim.at["x"], [{1: 2.0}, {1: 6.0}, {0: 3.0}])}, 3, like)
    np.testing.assert_array_equal(values[:, 0], [3.0, np.nan, 4.0])
    assert "error code 3" in claim.trouble


def test_a_crash_is_reported_as_of_a_single_call(library):
    claim = claim_of(library, "double fragile(int n, const double *x)", {"x": np.ones(2)})
    like = claim.value_here()
    claim.seconds = 0.0
    with pytest.raises(Exception, match="killed by signal"):
        claim.values({"x": moved(claim.at["x"], [{0: 2.0}, {0: 6.0}])}, 2, like)


def test_points_in_which_many_elements_move_are_sent_one_by_one(library):
    claim = claim_of(library, "double total(int n, const double *x, double a)", {"x": np.ones(40), "a": 0.0})
    like = claim.value_here()
    claim.seconds = 0.0
    stack = np.random.default_rng(0).standard_normal((3, 40))
    got = claim.values({"x": stack}, 3, like)
    np.testing.assert_allclose(got, (stack**2) @ np.arange(1, 41), rtol=1e-14)
