"""Activations."""

from __future__ import annotations

from functools import partial

from ...api.create import full
from ...tape.parameter import Parameter
from ...tape.tensor import Tensor
from .. import functional
from .module import Module
from .wrappers import REQUIRED, module_for

activation = partial(module_for, module=__name__)

Tanh = activation("Tanh", "tanh", "Hyperbolic tangent.")
Sigmoid = activation("Sigmoid", "sigmoid", "1 / (1 + exp(-x)).")
LogSigmoid = activation("LogSigmoid", "logsigmoid", "Logarithm of sigmoid.")
Softsign = activation("Softsign", "softsign", "x / (1 + |x|).")
Tanhshrink = activation("Tanhshrink", "tanhshrink", "x - tanh(x).")
ReLU = activation("ReLU", "relu", "max(x, 0).", inplace=False)
ReLU6 = activation("ReLU6", "relu6", "min(max(x, 0), 6).", inplace=False)
SELU = activation("SELU", "selu", "Scaled elu, which keeps mean 0 and variance 1.", inplace=False)
SiLU = activation("SiLU", "silu", "x sigmoid(x).", inplace=False)
Mish = activation("Mish", "mish", "x tanh(softplus(x)).", inplace=False)
Hardsigmoid = activation("Hardsigmoid", "hardsigmoid", "Ramp from 0 at -3 to 1 at 3.", inplace=False, shown=())
Hardswish = activation("Hardswish", "hardswish", "x hardsigmoid(x).", inplace=False, shown=())
LeakyReLU = activation(
    "LeakyReLU", "leaky_relu", "x where positive, negative_slope x elsewhere.", negative_slope=0.01, inplace=False
)
ELU = activation("ELU", "elu", "x where positive, alpha (exp(x) - 1) elsewhere.", alpha=1.0, inplace=False)
CELU = activation("CELU", "celu", "x where positive, alpha (exp(x / alpha) - 1) elsewhere.", alpha=1.0, inplace=False)
GELU = activation("GELU", "gelu", "x times the normal distribution function.", approximate="none")
Softplus = activation("Softplus", "softplus", "log(1 + exp(beta x)) / beta.", beta=1.0, threshold=20.0)
Hardtanh = activation(
    "Hardtanh", "hardtanh", "x limited to [min_val, max_val].", min_val=-1.0, max_val=1.0, inplace=False
)
Threshold = activation(
    "Threshold", "threshold", "x above the threshold, else value.", threshold=REQUIRED, value=REQUIRED, inplace=False
)
Hardshrink = activation("Hardshrink", "hardshrink", "x where |x| > lambd, else 0.", lambd=0.5, shown=("=lambd",))
Softshrink = activation("Softshrink", "softshrink", "x moved towards 0 by lambd.", lambd=0.5, shown=("=lambd",))
GLU = activation("GLU", "glu", "The first half along dim times sigmoid of the second.", dim=-1)
Softmax = activation("Softmax", "softmax", "exp(x) / sum(exp(x)) over dim.", dim=None)
Softmin = activation("Softmin", "softmin", "softmax of -x over dim.", dim=None)
LogSoftmax = activation("LogSoftmax", "log_softmax", "Logarithm of softmax over dim.", dim=None)
RReLU = activation(
    "RReLU",
    "rrelu",
    "leaky_relu with a random slope when training.",
    modes=True,
    lower=1.0 / 8,
    upper=1.0 / 3,
    inplace=False,
)


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply softmax. Raises ValueError for another number of axes."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return functional.softmax(input, -3)


class PReLU(Module):
    """x where positive, weight x elsewhere; the weight is trained, one or one per channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: object = None, dtype: object = None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype, device=device))

    def forward(self, input: Tensor) -> Tensor:
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
