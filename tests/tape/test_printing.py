"""How tensors are printed."""

from __future__ import annotations

import gradcli


def test_blocks_of_matrices_stand_apart():
    assert repr(gradcli.arange(4.0).reshape(2, 1, 2)) == "tensor([[[0., 1.]],\n\n        [[2., 3.]]])"
