"""Layers: linear maps, convolutions, tables of vectors, and modules of one function with fixed settings."""

from __future__ import annotations

import inspect
import math
from functools import partial
from typing import Any

from ..api.create import empty
from ..tape.modes import no_grad
from ..tape.tensor import Parameter, Tensor
from . import functional, init
from .functional.activation import check_probability
from .functional.windows import per_axis
from .module import Module

REQUIRED = inspect.Parameter.empty
KEYWORD, EITHER = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


class Applied(Module):
    """A module that calls a function of `nn.functional` with its settings: its attributes, named by `__signature__`.

    Derived classes are made by `module_for`. `_tensors` are settings that hold a tensor or None and become
    buffers; `_shown` are those to print, None for all but inplace, which is printed where it is set.
    """

    _function = ""
    _tensors: tuple[str, ...] = ()
    _shown: tuple[str, ...] | None = None
    _modes = False
    __signature__: inspect.Signature

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()
        try:
            given = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}(): {error}") from None
        given.apply_defaults()
        for name, value in given.arguments.items():
            if name in self._tensors:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)
        self.check()

    def check(self) -> None:
        """Complete the settings, or refuse them."""

    def forward(self, *inputs: Any, **named: Any) -> Any:
        settings = {name: getattr(self, name) for name in self.__signature__.parameters}
        if self._modes:
            settings["training"] = self.training
        return getattr(functional, self._function)(*inputs, **named, **settings)

    def extra_repr(self) -> str:
        names = self._shown
        if names is None:
            names = tuple(n for n in self.__signature__.parameters if n != "inplace" or self.inplace)
        return ", ".join(str(getattr(self, n[1:])) if n.startswith("=") else f"{n}={getattr(self, n)!r}" for n in names)


def module_for(
    name: str,
    function: str,
    doc: str,
    *,
    base: type = Applied,
    shown: tuple[str, ...] | None = None,
    tensors: tuple[str, ...] = (),
    modes: bool = False,
    keyword_only: bool = False,
    module: str = "",
    **settings: Any,
) -> Any:
    """Return the class of modules that apply a function of `nn.functional`.

    settings: the function's further arguments, in order, with their defaults (REQUIRED for none). shown: what
    is printed; `=name` prints the value alone. modes: whether the function asks if the module is in training.
    """
    kind = KEYWORD if keyword_only else EITHER
    signature = inspect.Signature([inspect.Parameter(n, kind, default=value) for n, value in settings.items()])
    members = {
        "__doc__": doc,
        "__module__": module,
        "__signature__": signature,
        "_function": function,
        "_tensors": tensors,
        "_shown": shown,
        "_modes": modes,
    }
    return type(name, (base,), members)


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


class Dropping(Applied):
    """A kind of dropout: works when training only."""

    p: float

    def check(self) -> None:
        check_probability(self.p)


def dropout_class(name: str, function: str, doc: str) -> type:
    shown = ("p", "inplace")
    return module_for(
        name, function, doc, base=Dropping, module=__name__, modes=True, shown=shown, p=0.5, inplace=False
    )


Dropout = dropout_class("Dropout", "dropout", "Zero elements with probability p, the others divided by 1 - p.")

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


class Pool(Applied):
    """A pool over windows; the stride is the window's size unless given."""

    kernel_size: Any
    stride: Any

    def check(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size


class PerAxisPool(Pool):
    """A pool whose settings are one number per axis."""

    _axes = 1
    padding: Any

    def check(self) -> None:
        super().check()
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, per_axis(getattr(self, name), self._axes, name))


def max_pool(n: int) -> type:
    return module_for(
        f"MaxPool{n}d",
        f"max_pool{n}d",
        f"Largest element of each window of {n} axes.",
        base=Pool,
        module=__name__,
        shown=("kernel_size", "stride", "padding", "dilation", "ceil_mode"),
        kernel_size=REQUIRED,
        stride=None,
        padding=0,
        dilation=1,
        return_indices=False,
        ceil_mode=False,
    )


def avg_pool(n: int) -> Any:
    return module_for(
        f"AvgPool{n}d",
        f"avg_pool{n}d",
        f"Average of each window of {n} axes.",
        base=PerAxisPool if n == 1 else Pool,
        module=__name__,
        shown=("kernel_size", "stride", "padding"),
        kernel_size=REQUIRED,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
    )


MaxPool1d, MaxPool2d = map(max_pool, (1, 2))
AvgPool1d, AvgPool2d = map(avg_pool, (1, 2))


class Flatten(Module):
    """The axes from start_dim to end_dim as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


def parameter(*shape: int, dtype: Any = None, device: Any = None) -> Parameter:
    """Return a parameter of a shape, to be filled."""
    return Parameter(empty(*shape, dtype=dtype, device=device))


def fill_uniform(module: Module, bound: float) -> None:
    """Fill the parameters of a module itself with uniform random numbers in [-bound, bound]."""
    for x in module.parameters(recurse=False):
        init.uniform_(x, -bound, bound)


class Identity(Module):
    """What goes in comes out; takes any settings and ignores them."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """input @ weight.T + bias; weight (out_features, in_features)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = parameter(out_features, in_features, dtype=dtype, device=device)
        self.register_parameter("bias", parameter(out_features, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly from +-1 / sqrt(in_features)."""
        fill_uniform(self, 1 / math.sqrt(self.in_features) if self.in_features else 0)

    def forward(self, input: Tensor) -> Tensor:
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Embedding(Module):
    """Rows of a table (num_embeddings, embedding_dim) at the numbers in the input.

    The table is drawn from a normal distribution; the row padding_idx starts as zeros and gets no gradient.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        _weight: Tensor | None = None,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        rows, columns, given = num_embeddings, embedding_dim, _weight
        if padding_idx is not None:
            if not -rows <= padding_idx < rows:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= rows
        self.num_embeddings, self.embedding_dim, self.padding_idx = rows, columns, padding_idx
        if given is None:
            self.weight = parameter(rows, columns, dtype=dtype, device=device)
            self.reset_parameters()
        elif tuple(given.shape) == (rows, columns):
            self.weight = Parameter(given)
        else:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")

    def reset_parameters(self) -> None:
        """Draw the table from a normal distribution."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **settings: Any) -> Embedding:
        """Return the module with a given table, which is not trained unless freeze is False."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        made = cls(*embeddings.shape, _weight=embeddings, **settings)
        made.weight.requires_grad_(not freeze)
        return made

    def forward(self, input: Tensor) -> Tensor:
        return functional.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = [] if self.padding_idx is None else [f"padding_idx={self.padding_idx}"]
        return ", ".join([str(self.num_embeddings), str(self.embedding_dim), *padding])


class Convolution(Module):
    """What all convolutions share; `_axes` is the number of axes that windows move along."""

    _axes = 1
    padding: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        n = self._axes
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = per_axis(kernel_size, n, "kernel_size")
        self.stride, self.dilation = per_axis(stride, n, "stride"), per_axis(dilation, n, "dilation")
        self.padding = self._check_padding(padding)
        self.groups = groups
        self.weight = parameter(out_channels, in_channels // groups, *self.kernel_size, dtype=dtype, device=device)
        self.register_parameter("bias", parameter(out_channels, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def _check_padding(self, padding: Any) -> Any:
        if not isinstance(padding, str):
            return per_axis(padding, self._axes, "padding")
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string '{padding}', should be one of {{'valid', 'same'}}")
        if padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        return padding

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly from +-1 / sqrt(inputs per output)."""
        inputs = math.prod(self.weight.shape[1:])
        if inputs:
            fill_uniform(self, 1 / math.sqrt(inputs))

    def forward(self, input: Tensor) -> Tensor:
        call = getattr(functional, f"conv{self._axes}d")
        return call(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        none, one = (0,) * self._axes, (1,) * self._axes
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        for name, usual in (("padding", none), ("dilation", one), ("groups", 1)):
            if getattr(self, name) != usual:
                parts.append(f"{name}={getattr(self, name)}")
        if self.bias is None:
            parts.append("bias=False")
        return ", ".join(parts)


def along_axes(n: int) -> Any:
    doc = f"Convolution of (N, C, ...) or (C, ...) along {n} axes; weight (out_channels, in_channels / groups, ...)."
    return type(f"Conv{n}d", (Convolution,), {"_axes": n, "__doc__": doc, "__module__": __name__})


Conv1d, Conv2d = (along_axes(n) for n in (1, 2))
