"""The names of torch.special are entries of the table; tests/rules tests their values and derivatives."""

import numpy as np
import pytest

import gradcli as gc
from gradcli import special
from gradcli.rules import entry

X = np.array([0.6, 0.7, 0.8])
ALIASES = {
    **{"psi": "digamma", "expit": "sigmoid", "modified_bessel_i0": "i0", "modified_bessel_i1": "i1"},
    "multigammaln": "mvlgamma",
}
OPERANDS = {
    **dict.fromkeys(("xlogy", "xlog1py"), (X, X)),
    **dict.fromkeys(("gammainc", "gammaincc"), (1.5, X)),
    **{"zeta": (2.5, X), "polygamma": (2, X), "multigammaln": (X, 2)},
    **dict.fromkeys(("logsumexp", "softmax", "log_softmax"), (X, 0)),
}


@pytest.mark.parametrize("name", special.__all__)
def test_names_are_entries(name):
    operands = [gc.tensor(x, requires_grad=True) if x is X else x for x in OPERANDS.get(name, (X,))]
    out = getattr(special, name)(*operands)
    assert out.requires_grad
    assert out.tolist() == entry(ALIASES.get(name, name)).function(*operands).tolist()
