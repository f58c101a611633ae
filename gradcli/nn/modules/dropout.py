"""Dropout."""

from __future__ import annotations

from ..functional.dropping import check_probability
from .wrappers import Applied, module_for


class Dropping(Applied):
    """A kind of dropout: works when training only."""

    p: float

    def check(self) -> None:
        """Raise ValueError unless 0 <= p <= 1."""
        check_probability(self.p)


def dropout_class(name: str, function: str, doc: str) -> type:
    shown = ("p", "inplace")
    return module_for(
        name, function, doc, base=Dropping, module=__name__, modes=True, shown=shown, p=0.5, inplace=False
    )


Dropout = dropout_class("Dropout", "dropout", "Zero elements with probability p, the others divided by 1 - p.")
Dropout1d = dropout_class("Dropout1d", "dropout1d", "Zero channels of (N, C, L).")
Dropout2d = dropout_class("Dropout2d", "dropout2d", "Zero channels of (N, C, H, W).")
Dropout3d = dropout_class("Dropout3d", "dropout3d", "Zero channels of (N, C, D, H, W).")
AlphaDropout = dropout_class("AlphaDropout", "alpha_dropout", "Dropout that keeps mean 0 and variance 1.")
FeatureAlphaDropout = dropout_class("FeatureAlphaDropout", "feature_alpha_dropout", "AlphaDropout of whole channels.")
