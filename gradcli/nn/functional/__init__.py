"""Functions of neural networks with the names and arguments of torch.nn.functional.

A module is imported when a name in it is first looked up.
"""

from __future__ import annotations

from ...api.wrap import lazy

__all__, __getattr__ = lazy(
    __name__,
    {
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
    },
)
OUTSIDE_TOO = frozenset(
    """
    adaptive_avg_pool1d adaptive_max_pool1d alpha_dropout avg_pool1d celu celu_ constant_pad_nd conv1d conv2d
    conv3d conv_transpose1d conv_transpose2d conv_transpose3d dropout feature_alpha_dropout group_norm
    hardshrink layer_norm max_pool1d max_pool1d_with_indices max_pool2d max_pool3d prelu relu_ rms_norm rrelu
    rrelu_ selu selu_ threshold threshold_
    """.split()
)
"""The functions that PyTorch has outside of this module, too: torch.conv2d is torch.nn.functional.conv2d."""
