"""Random programs of the expression language and random sequences of statements, beside PyTorch in float64.

Programs go through grad, vjp, jvp, the Jacobian in both modes and the Hessian; every tenth also through 30 digits and
its formulas, which take ten times as long as all the rest. Sequences: views, in-place changes, hooks and backwards.
"""

import numpy as np
import pytest

import gradcli
from tests.fuzz.programs import compare, make_program
from tests.fuzz.sequences import first_difference, make_sequence

pytestmark = pytest.mark.framework("torch")


@pytest.mark.parametrize("start", range(0, 5000, 250))
def test_programs_agree(start):
    from .torch_language import derivatives

    with np.errstate(all="ignore"):
        found = {
            (seed, text): wrong
            for seed in range(start, start + 25)
            if (wrong := compare(text := make_program(seed), seed, derivatives, seed % 10 == 9, seed % 10 == 9))
        }
    assert not found


@pytest.mark.parametrize("start", range(0, 2000, 200))
def test_sequences_agree(start):
    import torch

    found = {
        seed: (difference, lines)
        for seed in range(start, start + 50)
        if (difference := first_difference(gradcli, torch, lines := make_sequence(seed)))
    }
    assert not found
