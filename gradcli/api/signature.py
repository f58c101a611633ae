"""PyTorch's functions, made from signatures in the table's entries.

An example of a signature is `softmax(input, dim=None, *, dtype=None)`; several names may precede the parenthesis.

- If the first argument is called `input`, the function is also a method of Tensors.
- `dim` and `keepdim` are the entry's axis and keepdims; other arguments match the entry's by name, else by position.
  A dim of None means the entry's default, () means all axes, and a 0-d tensor has the axes 0 and -1.
- `dtype` is the type to cast the first operand to; without it, booleans and bytes are summed as int64.
- `A: square`, `A: matrix` and `A: floats` are checked as in torch.linalg, with errors that begin the same way. So are
  the matrices of functions that are not made from a signature (`on_matrices`).
- `-> AmaxBackward0` names the result's node if the entry does not; a second name is for calls with a dim.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules import by_torch, entry
from ..rules.shapes import negative_axes, negative_axis
from ..rules.table import IN_NUMPY, LANES, REDUCTION, Primitive, parameters_of
from ..tape.dtypes import imitation
from ..tape.operators import recorder_for
from ..tape.record import cast, dispatch, name_nodes, relabel
from ..tape.tensor import Tensor, multiply_matrices
from ..tape.torch_errors import as_pytorch, stacks_text, types_error
from .wrap import (
    OFFERED_METHODS,
    PUBLIC,
    as_method_operand,
    guard,
    offer,
    public,
    records_as,
    rename_function,
    stand_alone,
)


class LinAlgError(RuntimeError):
    """Raised if a matrix has no result because it is singular or not positive definite."""


def on_matrices(*, axes: int = 2, square: bool = False) -> Callable:
    """Return a decorator for a function whose first argument, A, is a stack of matrices (of vectors for axes=1).

    The function raises RuntimeError, prefixed with its name, for integers, too few axes and operands that do not match;
    LinAlgError if a matrix has no result; and IndexError for axes out of range.
    """

    def enter(function: Callable) -> Callable:
        title = f"linalg.{function.__name__}"

        @functools.wraps(function)
        def call(A: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N803 - PyTorch's word
            return raising_as_torch(title, function, (check_operand(A, title, axes, square), *args), kwargs)

        return call

    return enter


def raising_as_torch(title: str, function: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a function, raising PyTorch's errors in place of NumPy's."""
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        if isinstance(error, np.exceptions.AxisError):
            raise as_pytorch(error) from None
        kind = LinAlgError if isinstance(error, np.linalg.LinAlgError) else RuntimeError
        text = str(error)
        raise kind(text if text.startswith(f"{title.split('.')[-1]}:") else f"{title}: {text}") from None


def check_operand(x: Any, title: str, axes: int, square: bool) -> Tensor:
    """Return an operand as a Tensor. Raises RuntimeError for integers, too few axes and non-square matrices."""
    x = as_method_operand(x)
    if x.dtype.kind not in "fcO":
        raise RuntimeError(f"{title}: Expected a floating point or complex tensor as input. Got {x.dtype.name}")
    if x.ndim < axes:
        raise RuntimeError(f"{title}: The input tensor A must have at least {axes} dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        rows, columns = x.shape[-2:]
        raise RuntimeError(f"{title}: A must be batches of square matrices, but they are {rows} by {columns} matrices")
    return x


def of_ranks(name: str, ranks: tuple[int, int]) -> None:
    """Register a matmul for operands of fixed ranks, such as mm."""

    def function(input: Tensor, other: Tensor) -> Tensor:
        if (input.ndim, other.ndim) != ranks:
            wanted, got = (f"{first}D and {second}D tensors" for first, second in (ranks, (input.ndim, other.ndim)))
            raise RuntimeError(f"{name}: {wanted} expected, but got {got}")
        if ranks == (3, 3) and input.shape[0] != other.shape[0]:
            raise RuntimeError(stacks_text(input.shape, other.shape))
        if imitation.of_torch and input.dtype != other.dtype:
            raise types_error(input, other)
        return multiply_matrices(input, other)

    offer(name, function, f"Matrix product of tensors with {ranks[0]} and {ranks[1]} axes.")


for _name, _ranks in {"mm": (2, 2), "mv": (2, 1), "bmm": (3, 3), "dot": (1, 1)}.items():
    of_ranks(_name, _ranks)


@public
def matmul(input: Any, other: Any) -> Tensor:
    """Matrix product of vectors, matrices and stacks of matrices."""
    return multiply_matrices(as_method_operand(input), as_method_operand(other))


@public(node="AddmmBackward0")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * mat1 @ mat2."""
    product = multiply_matrices(as_method_operand(mat1), as_method_operand(mat2))
    product = product if alpha == 1 else product * alpha
    if beta == 0:  # ignore nan in the input, as PyTorch does
        return product + np.where(True, 0.0, input)
    return (input if beta == 1 else input * beta) + product


@public(method=False)
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Einstein summation: einsum("ij,jk->ik", a, b)."""
    parts = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    try:
        return entry("einsum").function(equation, *(as_method_operand(x) for x in parts))
    except ValueError as error:
        raise RuntimeError(str(error)) from None


@public(node="LinalgCrossBackward0")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Cross product along dim, by default the first axis of length 3."""
    if dim is None:
        sizes = np.broadcast_shapes(tuple(input.shape), tuple(other.shape))
        if 3 not in sizes:
            raise RuntimeError("no dimension of size 3 in input")
        dim = sizes.index(3) - len(sizes)
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        )
    return entry("cross").function(input, other, axis=dim)


TORCH_WORDS = {
    **dict.fromkeys(("axis", "axes"), ("dim", "dims")),
    "keepdims": ("keepdim",),
    "k": ("diagonal", "offset"),
    "x": ("input",),
    "y": ("other",),
}
"""PyTorch's names for an entry's parameters."""
IGNORED_ARGUMENTS = ("driver", "memory_format")
"""Arguments that do not change the result: the LAPACK algorithm, and the memory order."""
OPERAND_KINDS = {"floats": 0, "matrix": 2, "square": 2}
"""Minimum number of axes of an operand, by its kind in a signature."""


def parameter_names(primitive: Primitive) -> tuple[str, ...]:
    code = primitive.signature_model().__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def resolve(name: str) -> Callable | None:
    """Return the function of this name, or None: PyTorch's version if one is registered, else the table's."""
    function = PUBLIC.get(name)
    if function is not None or name.startswith("_"):
        return function
    found = by_torch(name)
    if found is None:
        return None
    primitive, signature = found
    if signature:
        function = guard(from_signature(primitive, signature, name))
        is_method = "(input" in signature and "." not in name
    else:
        function = from_table(primitive)
        is_method = primitive.arity != 0
    PUBLIC[name] = function
    if is_method:
        OFFERED_METHODS.add(name)
    return function


def from_table(primitive: Primitive) -> Callable:
    """Return an entry as a function of Tensors that accepts PyTorch's argument names."""
    quick = recorder_for(primitive)
    if quick is not None:
        return quick
    own = parameter_names(primitive)
    words = {word: name for name in own for word in TORCH_WORDS.get(name, ()) if word not in own}
    node = primitive.node if primitive.kind == "composition" else ""

    def function(*args: Any, **kwargs: Any) -> Any:
        named = {words.get(k, k): v for k, v in kwargs.items()}
        if "x" in named and not args:
            args = (named.pop("x"),)
        if args and isinstance(args[0], list | float | int):
            args = (as_method_operand(args[0]), *args[1:])
        try:
            result = primitive.function(*args, **named)
        except ValueError as error:
            raise as_pytorch(error) from None
        result = tuple(map(as_method_operand, result)) if isinstance(result, tuple) else as_method_operand(result)
        if type(result) is Tensor and result._base is not None:
            stand_alone(result, args)
        return result

    function.__wrapped__ = primitive.signature_model()  # type: ignore[attr-defined]  # what help() shows
    return records_as(node)(rename_function(function, primitive.name.rpartition(".")[2], primitive.doc))


def from_signature(primitive: Primitive, signature: str, name: str) -> Callable:
    label = name.rpartition(".")[2]
    kind = re.search(r"\(\w+: (\w+)", signature)
    title = name if name.startswith("linalg.") else f"linalg.{primitive.name}"
    nodes = signature.partition(" -> ")[2].split(", ")
    text = re.sub(r": \w+", "", parameters_of(signature.partition(" -> ")[0]))
    shown = eval(f"lambda {text}: None")
    arrange = arrange_arguments(primitive, text, shown)
    arrange.__name__ = arrange.__qualname__ = label  # shown in errors about missing arguments
    is_composition, adds_up = primitive.kind == "composition", "dtype" in text and not kind

    def run(x: Any, dim: Any, dtype: Any, others: tuple, params: dict) -> Any:
        x = check_operand(x, title, OPERAND_KINDS[kind[1]], kind[1] == "square") if kind else as_method_operand(x)
        if dim is not None:
            params.update(place_dim(primitive, x, dim))
        if dtype is not None:
            x = x.to(dtype)
        elif x._data.dtype.kind in "biu":
            x = take_whole_numbers(primitive, x, adds_up)
        if is_composition:
            result = primitive.forward(x, *others, **params)
            return name_nodes(result, nodes[0], (x, *others)) if nodes[0] else result
        operands, params = primitive.bind(x, *others, **params) if primitive.bind else ((x, *others), params)
        result = dispatch(primitive, operands, params)
        return relabel(result, nodes[0 if dim is None else -1]) if nodes[0] else result

    def function(*args: Any, **kwargs: Any) -> Any:
        arguments = arrange(*args, **kwargs)
        return raising_as_torch(title, run, arguments, {}) if kind else run(*arguments)

    function.__wrapped__ = shown  # type: ignore[attr-defined]  # what help() shows
    return rename_function(function, label, re.sub(r"\baxis\b", "dim", primitive.doc))


def arrange_arguments(primitive: Primitive, text: str, shown: Callable) -> Callable:
    """Return a function with this signature that returns (first operand, dim, dtype, other operands, parameters)."""
    own, code = parameter_names(primitive), shown.__code__
    names = code.co_varnames
    count = primitive.arity or code.co_argcount - len(shown.__defaults__ or ())
    operands = [name for name in names[:count] if name != "dim"]
    named = []
    for place, name in enumerate(names):
        if name not in operands and name not in ("dim", "dtype", *IGNORED_ARGUMENTS):
            word = IN_NUMPY.get(name, name)
            named.append(f"{word if word in own else own[place]!r}: {name}")
    dim, dtype = (name if name in names else None for name in ("dim", "dtype"))
    others = "".join(f"{n}, " for n in operands[1:])
    return eval(f"lambda {text}: ({operands[0]}, {dim}, {dtype}, ({others}), {{{', '.join(named)}}})")


def place_dim(primitive: Primitive, x: Tensor, dim: Any) -> dict[str, Any]:
    """Return the entry's parameter for a dim. Raises IndexError for a dim out of range."""
    word = "axes" if "axes" in parameter_names(primitive) else "axis"
    if primitive.pattern == LANES:
        return {word: negative_axis(dim, x.ndim)}
    if not x.ndim:
        negative_axes(dim, 1)
    is_every = primitive.pattern == REDUCTION and (not x.ndim or dim == () or dim == [])
    return {} if is_every else {word: dim}


def take_whole_numbers(primitive: Primitive, x: Tensor, adds_up: bool) -> Tensor:
    """Cast integers to the type in which they are summed. Raises RuntimeError if PyTorch does not accept integers."""
    if primitive.floats_only:
        text = primitive.floats_only.format(type=x.dtype.title, dtype=x.dtype)
        raise (NotImplementedError if "not implemented" in text else RuntimeError)(text)
    return cast(x, np.dtype(np.int64)) if adds_up and x._data.dtype.kind in "bu" else x
