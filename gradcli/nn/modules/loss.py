"""Losses."""

from __future__ import annotations

from functools import partial

from .wrappers import module_for

loss = partial(module_for, module=__name__, shown=())

L1Loss = loss("L1Loss", "l1_loss", "|input - target|.", reduction="mean")
MSELoss = loss("MSELoss", "mse_loss", "(input - target)^2.", reduction="mean")
SmoothL1Loss = loss(
    "SmoothL1Loss", "smooth_l1_loss", "Squares near 0, absolute values beyond beta.", reduction="mean", beta=1.0
)
HuberLoss = loss("HuberLoss", "huber_loss", "Squares near 0, straight from delta on.", reduction="mean", delta=1.0)
KLDivLoss = loss("KLDivLoss", "kl_div", "target (log(target) - input).", reduction="mean", log_target=False)
NLLLoss = loss(
    "NLLLoss",
    "nll_loss",
    "-input at the target classes.",
    tensors=("weight",),
    weight=None,
    ignore_index=-100,
    reduction="mean",
)
CrossEntropyLoss = loss(
    "CrossEntropyLoss",
    "cross_entropy",
    "-log_softmax(input) at the target classes, or averaged over target probabilities.",
    tensors=("weight",),
    weight=None,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
)
BCELoss = loss(
    "BCELoss",
    "binary_cross_entropy",
    "-(target log(input) + (1 - target) log(1 - input)).",
    tensors=("weight",),
    weight=None,
    reduction="mean",
)
BCEWithLogitsLoss = loss(
    "BCEWithLogitsLoss",
    "binary_cross_entropy_with_logits",
    "BCELoss of sigmoid(input), without overflow.",
    tensors=("weight", "pos_weight"),
    weight=None,
    reduction="mean",
    pos_weight=None,
)
