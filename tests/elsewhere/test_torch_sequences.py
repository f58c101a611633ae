"""1,000 random sequences of views, in-place changes, hooks and backwards beside PyTorch."""

import pytest

import gradcli
from tests.fuzz.sequences import first_difference, make_sequence

pytestmark = pytest.mark.framework("torch")


@pytest.mark.parametrize("start", range(0, 2000, 200))
def test_sequences_agree(start):
    import torch

    found = {
        seed: (difference, lines)
        for seed in range(start, start + 50)
        if (difference := first_difference(gradcli, torch, lines := make_sequence(seed)))
    }
    assert not found
