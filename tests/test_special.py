"""torch.special's names: entries of the table; values by scipy or by hand, slopes by finite differences."""

import numpy as np
import pytest
import scipy.special

import gradcli as gc
from gradcli import special
from gradcli.rules import entry

from .api.slopes import check

X = np.array([0.4, 1.3, 2.6])
NAMES = (
    "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx exp2 expm1 gammaln i0 i0e i1 i1e "
    "log1p log_ndtr modified_bessel_k0 modified_bessel_k1 ndtr scaled_modified_bessel_k0 scaled_modified_bessel_k1 "
    "spherical_bessel_j0"
)
ALIASES = {"psi": "digamma", "expit": "sigmoid", "modified_bessel_i0": "i0", "modified_bessel_i1": "i1"}


@pytest.mark.parametrize(("name", "own"), [*((name, name) for name in NAMES.split()), *ALIASES.items()])
def test_functions_of_one_argument_are_entries(name, own):
    """Values and slopes of the entries are proven in tests/rules/test_special_points.py."""
    x = gc.tensor(X, requires_grad=True)
    out = getattr(special, name)(x)
    assert out.requires_grad
    assert out.tolist() == entry(own).function(x).tolist()


OTHERS = [
    ("erfinv", lambda x: special.erfinv(x / 3), scipy.special.erfinv(X / 3)),
    ("ndtri", lambda x: special.ndtri(x / 3), scipy.special.ndtri(X / 3)),
    ("logit", lambda x: special.logit(x / 3, eps=1e-6), scipy.special.logit(X / 3)),
    ("gammainc", lambda x: special.gammainc(gc.tensor(1.5), x), scipy.special.gammainc(1.5, X)),
    ("gammaincc", lambda x: special.gammaincc(gc.tensor(1.5), x), scipy.special.gammaincc(1.5, X)),
    ("zeta", lambda x: special.zeta(2.5, x), scipy.special.zeta(2.5, X)),
    ("xlogy", lambda x: special.xlogy(x, x + 1), X * np.log(X + 1)),
    ("xlog1py", lambda x: special.xlog1py(x, x), X * np.log1p(X)),
    ("polygamma", lambda x: special.polygamma(2, x), scipy.special.polygamma(2, X)),
    ("multigammaln", lambda x: special.multigammaln(x + 1, 3), [scipy.special.multigammaln(x + 1, 3) for x in X]),
    ("logsumexp", lambda x: special.logsumexp(x, 0), np.log(np.exp(X).sum())),
    ("softmax", lambda x: special.softmax(x, 0), np.exp(X) / np.exp(X).sum()),
    ("log_softmax", lambda x: special.log_softmax(x, 0), X - np.log(np.exp(X).sum())),
    ("sinc", special.sinc, np.sinc(X)),
]


@pytest.mark.parametrize(("call", "expected"), [row[1:] for row in OTHERS], ids=[row[0] for row in OTHERS])
def test_other_functions(call, expected):
    check(call, (X,), expected)
