"""What tests of functions against plain loops share: tensors of arrays, and values and gradients compared."""

import numpy as np
from numpy.testing import assert_allclose

import gradcli


def t(x) -> gradcli.Tensor:
    return gradcli.tensor(np.asarray(x))


def check(got, want, **options) -> None:
    assert_allclose(np.asarray(got.detach().numpy()), want, rtol=1e-10, atol=1e-12, **options)


def slope(function, x) -> np.ndarray:
    leaf = gradcli.tensor(np.array(x, float), requires_grad=True)
    function(leaf).sum().backward()
    return leaf.grad.numpy()
