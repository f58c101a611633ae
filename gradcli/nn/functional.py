"""Functions of neural networks with the names and arguments of torch.nn.functional, imported on first use."""

from __future__ import annotations

from ..api.wrap import lazy

__all__, __getattr__ = lazy(
    __name__,
    {
        "gradcli.nn.layers": """
            dropout dropout2d elu embedding gelu leaky_relu linear log_softmax logsigmoid one_hot prelu relu relu_
            sigmoid silu softmax softplus tanh
        """,
        "gradcli.nn.sequences": "scaled_dot_product_attention",
        "gradcli.nn.conv": """
            adaptive_avg_pool1d adaptive_avg_pool2d avg_pool1d avg_pool2d conv1d conv2d max_pool1d max_pool2d pad
        """,
        "gradcli.nn.norm": "batch_norm group_norm layer_norm",
        "gradcli.nn.loss": """
            binary_cross_entropy binary_cross_entropy_with_logits cross_entropy huber_loss kl_div l1_loss mse_loss
            nll_loss smooth_l1_loss
        """,
    },
)
OUTSIDE_TOO = frozenset(
    """
    adaptive_avg_pool1d avg_pool1d conv1d conv2d dropout group_norm layer_norm max_pool1d max_pool2d prelu relu_
    """.split()
)
"""Functions that PyTorch also provides outside this module: torch.conv2d is torch.nn.functional.conv2d."""
