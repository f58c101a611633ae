"""Special functions with the names and arguments of torch.special."""

from __future__ import annotations

from .api.signature import resolve
from .api.wrap import missing

SAME_FUNCTIONS = """
    airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc
    gammaincc gammaln i0 i0e i1 i1e log1p log_ndtr log_softmax logit logsumexp modified_bessel_i0 modified_bessel_i1
    modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri polygamma psi round scaled_modified_bessel_k0
    scaled_modified_bessel_k1 sinc softmax spherical_bessel_j0 xlog1py xlogy zeta
""".split()
"""Functions that are the same as in the table of primitives or in gradcli itself."""

globals().update({name: resolve(name) for name in SAME_FUNCTIONS})
__all__: list[str] = []
__all__.extend(SAME_FUNCTIONS)
__getattr__ = missing(__name__, lambda: __all__)
