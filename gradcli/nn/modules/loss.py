"""Losses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...tape.tensor import Tensor
from .. import functional
from ..functional.arguments import legacy
from .applied import Applied, applied
from .module import Module


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


loss = partial(applied, base=Loss, module=__name__, shown=())
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
CosineEmbeddingLoss = loss(
    "CosineEmbeddingLoss",
    "cosine_embedding_loss",
    "1 - cosine for pairs that belong together, cosine - margin for others.",
    margin=0.0,
    **OLD,
)
HingeEmbeddingLoss = loss(
    "HingeEmbeddingLoss",
    "hinge_embedding_loss",
    "The distance of pairs that belong together, margin minus it for others.",
    margin=1.0,
    **OLD,
)
MarginRankingLoss = loss(
    "MarginRankingLoss",
    "margin_ranking_loss",
    "max(0, -target (input1 - input2) + margin).",
    margin=0.0,
    **OLD,
)
SoftMarginLoss = loss("SoftMarginLoss", "soft_margin_loss", "log(1 + exp(-target input)).", **OLD)
MultiLabelMarginLoss = loss(
    "MultiLabelMarginLoss", "multilabel_margin_loss", "Margins between classes that apply and others.", **OLD
)
MultiLabelSoftMarginLoss = loss(
    "MultiLabelSoftMarginLoss",
    "multilabel_soft_margin_loss",
    "BCEWithLogitsLoss averaged over the classes.",
    tensors=("weight",),
    weight=None,
    **OLD,
)
MultiMarginLoss = loss(
    "MultiMarginLoss",
    "multi_margin_loss",
    "Margins between the target class and the others.",
    tensors=("weight",),
    p=1,
    margin=1.0,
    weight=None,
    **OLD,
)
TripletMarginLoss = loss(
    "TripletMarginLoss",
    "triplet_margin_loss",
    "Distance to what belongs together, minus that to another, plus margin.",
    margin=1.0,
    p=2.0,
    eps=1e-6,
    swap=False,
    **OLD,
)
CTCLoss = loss(
    "CTCLoss",
    "ctc_loss",
    "Connectionist temporal classification.",
    blank=0,
    reduction="mean",
    zero_infinity=False,
)


class TripletMarginWithDistanceLoss(Module):
    """TripletMarginLoss with a distance function of one's own."""

    def __init__(
        self,
        *,
        distance_function: Callable | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ):
        super().__init__()
        self.distance_function = distance_function or functional.pairwise_distance
        self.margin, self.swap, self.reduction = margin, swap, reduction

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Return the loss."""
        return functional.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]
