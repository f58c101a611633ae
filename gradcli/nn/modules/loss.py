"""Losses."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..functional.arguments import legacy
from .applied import Applied, module_for


class Loss(Applied):
    """A loss: reduced by 'mean', 'sum' or 'none'; size_average and reduce are the old way to say so."""

    _shown: tuple[str, ...] = ()
    reduction: str
    size_average: Any
    reduce: Any

    def check(self) -> None:
        """Replace the old arguments by the reduction that they mean."""
        if "reduce" in self.__dict__:
            self.reduction = legacy(self.reduction, self.size_average, self.reduce)
            self.size_average = self.reduce = None


loss = partial(module_for, base=Loss, module=__name__, shown=())
OLD: dict[str, Any] = {"size_average": None, "reduce": None, "reduction": "mean"}

L1Loss = loss("L1Loss", "l1_loss", "|input - target|.", **OLD)
MSELoss = loss("MSELoss", "mse_loss", "(input - target)^2.", **OLD)
SmoothL1Loss = loss("SmoothL1Loss", "smooth_l1_loss", "Squares near 0, absolute values beyond beta.", **OLD, beta=1.0)
HuberLoss = loss("HuberLoss", "huber_loss", "Squares near 0, straight from delta on.", reduction="mean", delta=1.0)
KLDivLoss = loss("KLDivLoss", "kl_div", "target (log(target) - input).", **OLD, log_target=False)
PoissonNLLLoss = loss(
    "PoissonNLLLoss",
    "poisson_nll_loss",
    "Negative logarithm of the Poisson likelihood.",
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-8,
    reduce=None,
    reduction="mean",
)
GaussianNLLLoss = loss(
    "GaussianNLLLoss",
    "gaussian_nll_loss",
    "Negative logarithm of the normal likelihood.",
    keyword_only=True,
    full=False,
    eps=1e-6,
    reduction="mean",
)
NLLLoss = loss(
    "NLLLoss",
    "nll_loss",
    "-input at the target classes.",
    tensors=("weight",),
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
)
CrossEntropyLoss = loss(
    "CrossEntropyLoss",
    "cross_entropy",
    "-log_softmax(input) at the target classes, or averaged over target probabilities.",
    tensors=("weight",),
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
)
BCELoss = loss(
    "BCELoss",
    "binary_cross_entropy",
    "-(target log(input) + (1 - target) log(1 - input)).",
    tensors=("weight",),
    weight=None,
    **OLD,
)
BCEWithLogitsLoss = loss(
    "BCEWithLogitsLoss",
    "binary_cross_entropy_with_logits",
    "BCELoss of sigmoid(input), without overflow.",
    tensors=("weight", "pos_weight"),
    weight=None,
    **OLD,
    pos_weight=None,
)


__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
]
