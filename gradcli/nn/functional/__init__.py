"""Functions of neural networks with the names and arguments of torch.nn.functional.

A module is imported when a name in it is first looked up.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from ...api.wrap import missing
from ...tape.record import name_nodes

HOMES = {
    name: module
    for module, names in {
        "activation": """
            celu celu_ elu elu_ gelu glu hardshrink hardsigmoid hardswish hardtanh hardtanh_
            leaky_relu leaky_relu_ log_softmax logsigmoid mish normalize prelu relu relu_ relu6 rrelu rrelu_
            selu selu_ sigmoid silu softmax softmin softplus softshrink softsign tanh tanhshrink threshold
            threshold_
        """,
        "classification": "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy nll_loss",
        "convolution": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d fold unfold",
        "dropping": "alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout",
        "embeddings": "embedding one_hot",
        "linear_maps": "linear",
        "normalization": "batch_norm group_norm instance_norm layer_norm rms_norm",
        "padding": "constant_pad_nd pad",
        "pooling": """
            adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
            adaptive_max_pool1d_with_indices adaptive_max_pool2d adaptive_max_pool2d_with_indices
            adaptive_max_pool3d adaptive_max_pool3d_with_indices avg_pool1d avg_pool2d avg_pool3d
            max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d
            max_pool3d_with_indices
        """,
        "regression": "gaussian_nll_loss huber_loss kl_div l1_loss mse_loss poisson_nll_loss smooth_l1_loss",
    }.items()
    for name in names.split()
}
NODES = {
    **dict.fromkeys([f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)], "ConvolutionBackward0"),
    **{f"avg_pool{n}d": f"AvgPool{n}DBackward0" for n in (2, 3)},
    **{f"max_pool{n}d": f"MaxPool{n}DWithIndicesBackward0" for n in (2, 3)},
    **{
        f"adaptive_{kind.lower()}_pool{n}d": f"Adaptive{kind}Pool{n}DBackward0"
        for kind in ("Avg", "Max")
        for n in (2, 3)
    },
    "smooth_l1_loss": "SmoothL1LossBackward0",
    "huber_loss": "HuberLossBackward0",
    "batch_norm": "NativeBatchNormBackward0",
    "layer_norm": "NativeLayerNormBackward0",
    "group_norm": "NativeGroupNormBackward0",
    "embedding": "EmbeddingBackward0",
    "unfold": "Im2ColBackward0",
    "fold": "Col2ImBackward0",
    "glu": "GluBackward0",
    "prelu": "PreluKernelBackward0",
    "rrelu": "RreluWithNoiseBackward0",
}
"""The names of the nodes of functions that are compositions here."""
__all__ = sorted(HOMES)  # noqa: PLE0605
absent = missing(__name__, lambda: __all__)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        return absent(name)
    function = getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    found = globals()[name] = name_result(function, NODES[name]) if name in NODES else function
    return found


def name_result(function: Any, node: str) -> Any:
    """Return a function whose result has a node of this name."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return name_nodes(function(*args, **kwargs), node, (*args, *kwargs.values()))

    return call
