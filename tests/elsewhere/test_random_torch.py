"""Random programs of the expression language, compared with PyTorch in float64.

Each is compared in grad, vjp, jvp, the Jacobian in both modes and the Hessian; every tenth also with 30 digits and
by its formulas, which take ten times as long as all the rest.
"""

import numpy as np
import pytest

from tests.fuzz.programs import compare, make_program

pytestmark = pytest.mark.framework("torch")


@pytest.mark.parametrize(
    "start", [0, 250, *(pytest.param(start, marks=pytest.mark.nightly) for start in range(500, 5000, 250))]
)
def test_programs_agree(start):
    from .torch_language import derivatives

    with np.errstate(all="ignore"):
        found = {
            (seed, text): wrong
            for seed in range(start, start + 25)
            if (wrong := compare(text := make_program(seed), seed, derivatives, seed % 10 == 9, seed % 10 == 9))
        }
    assert not found
