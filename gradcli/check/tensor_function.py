"""Functions of Tensors, and their gradients, as what is checked: the engine's own derivative is what is claimed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ENDINGS, GradcliError, NotBatchableError
from ..func.forward import push_all
from ..func.mapping import batch_or_loop
from ..func.trace import pull, reverse_blocks
from ..func.trace import trace_function as trace
from ..program.arguments import arrays_in, layout_of
from ..show.check_results import InputCheck
from ..tape.backward import grad
from ..tape.function_node import FunctionNode
from ..tape.modes import enable_grad, no_grad, set_grad_enabled
from ..tape.tensor import Tensor
from ..tape.walk import reachable
from .subject import CheckError, NoForwardError, Subject, as_check_error, callable_name, copied


class Traced(Subject):
    """A function of Tensors, called positionally; the claimed derivative is the engine's."""

    traced = True
    records = False
    """Whether values need a graph: the function registers hooks or retains gradients."""

    def __init__(self, f: Callable, at: Mapping[str, Any], *, wrt: Sequence[str] | None = None, title: str = ""):
        super().__init__(at, wrt)
        self.f = f
        self.title = title or callable_name(f)
        self.batchable = True

    def call(self, tensors: Sequence[Tensor]) -> Tensor:
        """Call f; several outputs are joined into one vector. Raises CheckError."""
        try:
            result = self.note_result(self.f(*tensors))
        except (NotBatchableError, CheckError, *ENDINGS):
            raise
        except GradcliError as error:
            raise CheckError(error.message) from error
        except BaseException as error:
            raise as_check_error(self.title, error) from error
        finally:
            copied.end()
        outputs = list(arrays_in(result, is_float_tensor))
        self.layout = layout_of(outputs, lambda x: x.dtype.is_complex)
        return as_one_output([x for _, x in outputs], result, self.title)

    def note_result(self, result: Any) -> Any:
        return result

    def value(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        self.count()
        try:
            with set_grad_enabled(self.records):
                given = [tensor(x).requires_grad_(self.records and name in self.wrt) for name, x in arrays.items()]
                return np.array(self.call(given)._data)
        except CheckError as error:
            if self.records or ("requires" not in str(error) and "require gradient" not in str(error)):
                raise
        self.records = True
        return self.value(arrays)

    def values(self, stacks: Mapping[str, np.ndarray], count: int, like: np.ndarray) -> np.ndarray:
        if not self.batchable or not stacks:
            return super().values(stacks, count, like)
        self.require(count)
        dims = [0 if name in stacks else None for name in self.at]
        leaves = [self.leaf(name, stacks.get(name, x)) for name, x in self.at.items()]
        try:
            with no_grad(), np.errstate(all="ignore"):
                (out,), _ = batch_or_loop(lambda *xs: self.call(xs), leaves, dims, lambda xs: (tuple(xs), {}), count)
        except (CheckError, ValueError):
            self.batchable = False
            return super().values(stacks, count, like)
        if out._data.shape != (count, *like.shape):
            self.batchable = False
            return super().values(stacks, count, like)
        self.count(count)
        return np.array(out._data)

    def leaf(self, name: str, x: np.ndarray) -> Tensor:
        """Return the tensor that stands for an input, or for many of it."""
        return tensor(x)

    def jacobian(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        record = self.record_call(arrays)
        try:
            blocks = reverse_blocks(record, retain=True)[0]
        except ENDINGS:
            raise
        except BaseException as error:
            raise as_check_error("backward", error) from error
        return {name: np.asarray(block._data) for name, block in zip(self.wrt, blocks, strict=True)}

    has_pull = True

    def pull(self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray) -> dict[str, np.ndarray]:
        return self.late_pull(arrays, cotangent)

    def late_pull(
        self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray, between: Mapping[str, np.ndarray] | None = None
    ) -> dict[str, np.ndarray]:
        record = self.record_call(arrays)
        if between is not None:
            self.value(between)
        return self.products(record, arrays, cotangent, self.wrt)

    def pull_of(
        self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray, names: Sequence[str]
    ) -> dict[str, np.ndarray] | None:
        record = self.record_call(arrays, names)
        (out,) = record.outputs
        if out._node is None or not any(isinstance(node, FunctionNode) for node in reachable([out._node])):
            return None
        return self.products(record, arrays, cotangent, names)

    def products(
        self, record: Any, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray, names: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Return what backward makes of a cotangent for the inputs that a call was recorded for."""
        (out,) = record.outputs
        if out._node is None:
            return {name: np.zeros_like(arrays[name]) for name in names}
        try:
            products = pull(record, [(out, Tensor._wrap(cotangent, None))], False, False)
        except ENDINGS:
            raise
        except BaseException as error:
            raise as_check_error("backward", error) from error
        return {
            name: np.zeros_like(arrays[name]) if g is None else np.asarray(g)
            for name, g in zip(names, products, strict=True)
        }

    has_push = True

    def push(self, arrays: Mapping[str, np.ndarray], tangents: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return what forward mode makes of tangents. Raises NoForwardError for an operation without it."""
        record = self.record_call(arrays)
        (out,) = record.outputs
        if out._node is None:
            return np.zeros_like(out._data)
        names = [name for name in arrays if name in self.wrt]
        try:
            (pushed,) = push_all(record, [Tensor._wrap(np.asarray(tangents[name]), None) for name in names], False)
        except RuntimeError as error:
            raise NoForwardError(str(error)) from error
        except Exception as error:
            raise as_check_error("forward mode", error) from error
        return np.zeros_like(out._data) if pushed is None else np.asarray(pushed)

    @staticmethod
    def part(f: Callable, at: Mapping[str, Any], wrt: Sequence[str], title: str) -> Traced:
        return Traced(f, at, wrt=wrt, title=title)

    def blame(self, is_wrong: Callable[[Any], bool]) -> str | None:
        """Return the first custom function that is wrong by itself, with its place."""
        from .blame import blame

        return blame(self, is_wrong)

    def all_right(self, flat: Any) -> tuple[InputCheck, ...] | None:
        """Return what was found for each input of a large sparse Jacobian, where every element is right."""
        from .sparse_jacobian import LEAST, all_right

        return all_right(self, flat) if len(flat.f0) * flat.size >= LEAST else None

    def record_call(self, arrays: Mapping[str, np.ndarray], names: Sequence[str] | None = None) -> Any:
        places = tuple(i for i, name in enumerate(arrays) if name in (self.wrt if names is None else names))
        with no_grad():  # nothing will be differentiated further
            return trace(lambda *xs: self.call(xs), tuple(tensor(x) for x in arrays.values()), {}, places)


def tensor(x: np.ndarray) -> Tensor:
    """Return an array as a Tensor of its own."""
    return Tensor._wrap(np.array(x)[()] if np.ndim(x) == 0 else np.array(x), None)


def is_float_tensor(x: Any) -> bool:
    return isinstance(x, Tensor) and (x.dtype.is_floating_point or x.dtype.is_complex)


def as_one_output(outputs: list[Tensor], result: Any, title: str) -> Tensor:
    """Return the Tensors of a function's result as one real Tensor; several are flattened and joined.

    Complex outputs become pairs of real and imaginary parts, along a last axis.
    """
    from ..rules import entry

    parts = [as_pairs(x) for x in outputs]
    if parts:
        return parts[0] if len(parts) == 1 else entry("concatenate").function([x.reshape(-1) for x in parts])
    if isinstance(result, Tensor):
        return result
    if isinstance(result, tuple | list | Mapping):
        raise CheckError(f"{title} returned no Tensor of floating-point numbers")
    raise CheckError(
        f"{title} returned {type(result).__name__}, not a Tensor: compute with gradcli's or NumPy's functions "
        "on the arguments, without numpy() or detach()"
    )


def as_pairs(x: Tensor) -> Tensor:
    from ..rules import entry

    return entry("view_as_real").function(x) if x.dtype.is_complex else x


class SecondOrder(Traced):
    """The product of a random vector with a function's first derivative, as a function.

    The vector is one more input, so that the derivative for it, the first derivative again, is checked as well.
    first: the function's own subject; vector: the name of the vector.
    """

    def __init__(self, first: Traced, seed: int):
        self.first = first
        self.vector, vector = direction(first, seed)
        at = {**first.at, self.vector: vector}
        title = f"the derivative of {first.title}"
        super().__init__(self.product, at, wrt=[*first.wrt, self.vector], title=title)
        self.batchable = False

    def product(self, *tensors: Tensor) -> Any:
        """Return the products for the inputs of interest."""
        *xs, v = tensors
        places = [i for i, n in enumerate(self.first.at) if n in self.first.wrt]
        with enable_grad():
            inputs = [x if x.requires_grad else x.detach().requires_grad_() for x in (xs[i] for i in places)]
            for i, x in zip(places, inputs, strict=True):
                xs[i] = x
            result = self.first.call(xs)
            if result._node is None:
                raise CheckError(f"{self.first.title} does not depend on its inputs through recorded operations")
            products = grad(result, inputs, v, create_graph=True, materialize_grads=True)
        return tuple(products)


def direction(subject: Traced, seed: int) -> tuple[str, np.ndarray]:
    """Return a random vector in the shape of the output, and a name for it that no input has."""
    rng = np.random.default_rng(seed + 1)
    out = subject.value(subject.at)
    vector = rng.standard_normal(out.shape) + (1j * rng.standard_normal(out.shape) if out.dtype.kind == "c" else 0)
    name = "gradient"
    while name in subject.at:
        name += "_"
    return name, np.asarray(vector, out.dtype)
