"""Activations."""

from __future__ import annotations

from functools import partial

from .wrappers import module_for

activation = partial(module_for, module=__name__)

Tanh = activation("Tanh", "tanh", "Hyperbolic tangent.")
Sigmoid = activation("Sigmoid", "sigmoid", "1 / (1 + exp(-x)).")
ReLU = activation("ReLU", "relu", "max(x, 0).", inplace=False)
SiLU = activation("SiLU", "silu", "x sigmoid(x).", inplace=False)
LeakyReLU = activation(
    "LeakyReLU", "leaky_relu", "x where positive, negative_slope x elsewhere.", negative_slope=0.01, inplace=False
)
ELU = activation("ELU", "elu", "x where positive, alpha (exp(x) - 1) elsewhere.", alpha=1.0, inplace=False)
GELU = activation("GELU", "gelu", "x times the normal distribution function.", approximate="none")
Softplus = activation("Softplus", "softplus", "log(1 + exp(beta x)) / beta.", beta=1.0, threshold=20.0)
Softmax = activation("Softmax", "softmax", "exp(x) / sum(exp(x)) over dim.", dim=None)
LogSoftmax = activation("LogSoftmax", "log_softmax", "Logarithm of softmax over dim.", dim=None)
