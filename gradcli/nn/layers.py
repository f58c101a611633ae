"""Layers with or without weights, the functions that they apply, and modules that contain modules."""

from __future__ import annotations

import inspect
import math
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, MutableMapping, MutableSequence
from itertools import groupby
from typing import Any

import numpy as np

from ..api import method
from ..api.create import empty, full
from ..api.index import where
from ..api.shape import flatten
from ..api.signature import resolve
from ..api.wrap import as_method_operand, records_as
from ..rules import entry
from ..rules.shapes import lay_along
from ..tape import inplace as changes
from ..tape.dtypes import as_dtype, imitation
from ..tape.modes import no_grad, random_numbers
from ..tape.record import dispatch
from ..tape.tensor import Parameter, Tensor, multiply_matrices
from ..tape.torch_errors import types_error
from . import init
from .module import Module, indent, listing

REQUIRED = inspect.Parameter.empty


class Layer(Module):
    """A module that prints its settings. `_shown` lists their names; for `=name`, only the value is printed."""

    _shown = ""

    def extra_repr(self) -> str:
        names = [name for name in self._shown.split() if name != "inplace" or self.inplace]
        return ", ".join(map(self._show, names))

    def _show(self, name: str) -> str:
        if name == "bias":
            return f"bias={self.bias is not None}"
        return str(getattr(self, name[1:])) if name.startswith("=") else f"{name}={getattr(self, name)!r}"


class Applied(Layer):
    """A module that calls `_function` with its settings, which are the attributes named in `__signature__`."""

    _function: Callable
    __signature__: inspect.Signature

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()
        try:
            given = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}(): {error}") from None
        given.apply_defaults()
        for name, value in given.arguments.items():
            self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        settings = {name: getattr(self, name) for name in self.__signature__.parameters}
        return self._function(*inputs, **named, **settings)


def layer(name: str, function: Any, *, base: type = Applied, shown: str | None = None, **settings: Any) -> Any:
    """Make a class of modules that apply a function.

    settings: the function's other arguments and their defaults (REQUIRED if none), in the class's order. shown: the
    settings to print, by default all.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(n, kind, default=default) for n, default in settings.items()])
    members = {
        "__doc__": function.__doc__,
        "__module__": sys._getframe(1).f_globals["__name__"],  # so that pickle finds the class, as in namedtuple
        "__signature__": signature,
        "_function": staticmethod(function),
        "_shown": " ".join(settings) if shown is None else shown,
    }
    return type(name, (base,), members)


tanh, sigmoid, logsigmoid, softplus = map(resolve, ("tanh", "sigmoid", "logsigmoid", "softplus"))
relu_ = method("relu_")


def compute_into(input: Tensor, inplace: bool, function: Callable[[], Any]) -> Any:
    """Return function(); with inplace, write the result into input."""
    return changes.update(input, function) if inplace else function()


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0)."""
    return compute_into(input, inplace, lambda: resolve("relu")(input))  # type: ignore[misc]


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    return compute_into(input, inplace, lambda: resolve("silu")(input))  # type: ignore[misc]


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, alpha (exp(input) - 1) elsewhere."""
    return compute_into(input, inplace, lambda: entry("elu").function(input, alpha))


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where positive, negative_slope * input elsewhere."""
    return compute_into(input, inplace, lambda: entry("leaky_relu").function(input, negative_slope))


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """input times the normal cumulative distribution function, or its tanh approximation with approximate='tanh'."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return entry("gelu").function(input, approximate)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(input) / sum(exp(input)) over dim."""
    return input.softmax(default_dim(input, dim), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Logarithm of softmax over dim."""
    return input.log_softmax(default_dim(input, dim), dtype=dtype)


def default_dim(input: Tensor, dim: int | None) -> int:
    """Return dim, or if it is None PyTorch's old default: 0 for 0, 1 or 3 axes, else 1."""
    return dim if dim is not None else 0 if input.ndim in (0, 1, 3) else 1


Tanh = layer("Tanh", tanh)
Sigmoid = layer("Sigmoid", sigmoid)
ReLU = layer("ReLU", relu, inplace=False)
SiLU = layer("SiLU", silu, inplace=False)
LeakyReLU = layer("LeakyReLU", leaky_relu, negative_slope=0.01, inplace=False)
ELU = layer("ELU", elu, alpha=1.0, inplace=False)
GELU = layer("GELU", gelu, approximate="none")
Softplus = layer("Softplus", softplus, beta=1.0, threshold=20.0)
Softmax = layer("Softmax", softmax, dim=None)
LogSoftmax = layer("LogSoftmax", log_softmax, dim=None)
Flatten = layer("Flatten", flatten, start_dim=1, end_dim=-1)


def check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """When training, set elements to zero with probability p, and divide the others by 1 - p."""
    return drop(input, p, training, inplace, tuple(input.shape))


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """When training, set channels of (N, C, ...) to zero with probability p, and divide the others by 1 - p."""
    return drop(input, p, training, inplace, (*input.shape[:2], *(1,) * (input.ndim - 2)))


def drop(input: Tensor, p: float, training: bool, inplace: bool, shape: tuple[int, ...]) -> Tensor:
    """Set parts of input to zero, each decided by one of the random numbers in an array of this shape."""
    check_probability(p)
    if not training or p == 0:
        return input
    kept = as_method_operand(random_numbers.rng.random(shape) < 1 - p).to(input.dtype)
    return compute_into(input, inplace, lambda: input * (kept if p == 1 else kept / (1 - p)))


class Dropout(Layer):
    """When training, set elements to zero with probability p, and divide the others by 1 - p."""

    _function = staticmethod(dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        check_probability(p)
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout2d(Dropout):
    """When training, set channels of (N, C, H, W) to zero with probability p, and divide the others by 1 - p."""

    _function = staticmethod(dropout2d)


class Identity(Module):
    """Returns its input. The constructor accepts any arguments."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Filled(Layer):
    """A layer with a weight (outputs, inputs, ...) and an optional bias, initialized at random."""

    weight: Parameter
    bias: Parameter | None

    def _make(self, shape: tuple[int, ...], bias: bool, device: Any, dtype: Any) -> None:
        self.weight = Parameter(empty(*shape, dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty(shape[0], dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill weight and bias with uniform random numbers in +-1 / sqrt(inputs per output)."""
        fill_uniform(self, math.prod(self.weight.shape[1:]))


def fill_uniform(module: Module, count: int) -> None:
    """Fill a module's own parameters with uniform random numbers in +-1 / sqrt(count)."""
    bound = 1 / math.sqrt(count) if count else 0
    for x in module.parameters(recurse=False):
        init.uniform_(x, -bound, bound)


@records_as("PreluKernelBackward0")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input where positive, weight * input elsewhere; weight: one number, or one per channel (axis 1)."""
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.numel() not in (1, channels):
        raise RuntimeError(
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
            f"{weight.numel()} and channel size = {channels}."
        )
    if weight.numel() == 1:
        slope = weight if input.ndim else weight.reshape(())
    else:
        slope = lay_along(weight, 1 - input.ndim)
    return where(input > 0, input, input * slope)


class PReLU(Layer):
    """input where positive, weight * input elsewhere, with one trainable weight or one per channel."""

    _shown = "num_parameters"

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype, device=device))

    def forward(self, input: Tensor) -> Tensor:
        return prelu(input, self.weight)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias; weight (out, in) or (in,)."""
    if imitation.of_torch and input.dtype != weight.dtype:
        raise types_error(input, weight)
    if weight.ndim == 2 and bias is not None and input.ndim not in (0, 2):
        rows = linear(input.reshape(-1, input.shape[-1]), weight, bias)
        return rows.reshape(*input.shape[:-1], weight.shape[0])
    fits = input.shape[-1:] == weight.shape[1:] and bias is not None and bias.shape == weight.shape[:1]
    if fits and input.ndim == weight.ndim == 2:
        return dispatch(entry("affine"), (bias, input, weight))
    result = multiply_matrices(input, weight.t() if weight.ndim == 2 else weight)
    return result if bias is None else result + bias


class Linear(Filled):
    """input @ weight.T + bias; weight (out_features, in_features)."""

    _shown = "in_features out_features bias"

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self._make((out_features, in_features), bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Add a last axis that is 1 at the class and 0 elsewhere, by default with as many classes as needed."""
    classes = np.asarray(tensor.detach().numpy())
    if classes.dtype.kind not in "iu":
        raise RuntimeError("one_hot is only applicable to index tensor.")
    count = int(classes.max(initial=-1)) + 1 if num_classes == -1 else num_classes
    if classes.size and not 0 <= classes.min() <= classes.max() < count:
        raise RuntimeError("Class values must be non-negative and smaller than num_classes.")
    return as_method_operand((classes[..., None] == np.arange(count)).astype(np.int64))


@records_as("EmbeddingBackward0")
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Return the rows of weight at the indices in input; the row padding_idx gets no gradient. Raises IndexError."""
    indices = np.asarray(input.detach().numpy())
    if indices.dtype.kind not in "iu":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to be of type Long or Int; but got "
            f"torch.{as_dtype(indices.dtype).title}Tensor instead (while checking arguments for embedding)"
        )
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    count = weight.shape[0]
    if indices.size and not 0 <= indices.min() <= indices.max() < count:
        raise IndexError("index out of range in self")
    if padding_idx is None:
        return weight[indices]
    if not -count <= padding_idx < count:
        raise RuntimeError("Padding_idx must be within num_embeddings")
    rows = weight[indices]
    return where(as_method_operand((indices == padding_idx % count)[..., None]), rows.detach(), rows)


class Embedding(Layer):
    """Rows of a table (num_embeddings, embedding_dim) at the indices in the input.

    The table starts as normal random numbers; the row padding_idx starts as zeros and gets no gradient.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.weight = Parameter(empty(num_embeddings, embedding_dim, dtype=dtype, device=device))
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """Make an Embedding with the given table, which is trained only if freeze is False."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(rows, columns, padding_idx)
        made.weight = Parameter(embeddings, requires_grad=not freeze)
        return made

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    def forward(self, input: Tensor) -> Tensor:
        return embedding(input, self.weight, self.padding_idx)

    @property
    def _shown(self) -> str:  # type: ignore[override]
        return "=num_embeddings =embedding_dim" + " padding_idx" * (self.padding_idx is not None)


class Numbered(Module, MutableSequence):
    """A list of modules, registered under the names 0, 1, 2, ..."""

    def _refill(self, modules: list[Any]) -> None:
        self._modules.clear()
        for module in modules:
            self.append(module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]

    def __setitem__(self, index: Any, module: Any) -> None:
        setattr(self, list(self._modules)[operator.index(index)], module)

    def __delitem__(self, index: Any) -> None:
        modules = list(self)
        del modules[index]
        self._refill(modules)

    def append(self, module: Any) -> Any:
        """Add a module at the end; return self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Any]) -> Any:
        """Add modules at the end; return self."""
        super().extend(modules)
        return self

    def insert(self, index: int, module: Any) -> Any:
        """Insert a module before an index; return self."""
        modules = list(self)
        modules.insert(index, module)
        self._refill(modules)
        return self


class Sequential(Numbered):
    """Call modules one after another. They are given one by one, or as an ordered dictionary of names and modules."""

    def __init__(self, *args: Any):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return super().__getitem__(index)


class ModuleList(Numbered):
    """A list of registered modules, with no forward method."""

    def __init__(self, modules: Iterable[Module] | None = None):
        super().__init__()
        self.extend(modules or ())

    def __getitem__(self, index: Any) -> Any:
        return type(self)(list(self)[index]) if isinstance(index, slice) else super().__getitem__(index)

    def __repr__(self) -> str:
        lines, place = [], 0
        for text, group in groupby(repr(child) for child in self):
            count = len(list(group))
            name = f"({place})" if count == 1 else f"({place}-{place + count - 1})"
            times = "" if count == 1 else f"{count} x "
            lines.append(f"{name}: {indent(times + text)}")
            place += count
        return listing(type(self).__name__, [], lines)


class ModuleDict(Module, MutableMapping):
    """A dictionary of registered modules, with no forward method."""

    __eq__ = object.__eq__  # compare by identity, like other modules
    __hash__ = object.__hash__

    def __init__(self, modules: Any = ()):
        super().__init__()
        self.update(modules or ())

    def __setitem__(self, key: str, value: Module) -> None:
        if key in self._modules:
            setattr(self, key, value)
        else:
            self.add_module(key, value)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)
