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
