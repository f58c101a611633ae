"""Tensors, which hold raw data and the node of the operation that made them; and Parameters, which a module trains."""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import add_advice, describe_missing
from ..rules import entry
from ..rules.table import Primitive
from . import memory
from .dtypes import DType, as_dtype, as_numpy, cpu, defaults, imitation, package_name
from .modes import report_event, state
from .node import AccumulateGrad, Node, check_assigned_grad

if TYPE_CHECKING:
    from .methods import Methods  # a stub of the methods that `__getattr__` finds or other modules install
else:
    Methods = object


def rebuild(kind: type[Tensor], data: np.ndarray, wanted: bool) -> Tensor:
    result = object.__new__(kind)
    result._data = data
    result._node = result._key = None
    return result.requires_grad_() if wanted else result


class Size(tuple):
    """The shape of a tensor: a tuple of ints."""

    def numel(self) -> int:
        return math.prod(self)

    def __add__(self, other: Any) -> Size:
        return Size(tuple(self) + tuple(other))

    def __getitem__(self, key: Any) -> Any:
        part = tuple.__getitem__(self, key)
        return Size(part) if isinstance(key, slice) else part

    def __repr__(self) -> str:
        return f"{package_name()}.Size({list(self)})"


class TensorClass(type):
    """The metaclass of Tensor, which looks up each method once, by its name in the table or in PyTorch."""

    def __dir__(cls) -> list[str]:
        from .. import find_method, offered_names

        return sorted({*type.__dir__(cls), *(name for name in offered_names() if find_method(name) is not None)})

    def __getattr__(cls, name: str) -> Any:
        if not name.startswith("__"):
            from .. import find_attribute

            attribute = find_attribute(name)
            if attribute is not None:
                setattr(Tensor, name, attribute)
                return getattr(Tensor, name)
            if state.arrays and hasattr(np.ndarray, name):
                raise AttributeError(f"gradcli cannot record ndarray.{name}")
            if not name.startswith("_"):
                raise AttributeError(describe_missing(f"Tensor.{name}", ()))
        raise AttributeError(f"'Tensor' object has no attribute '{name}'")


class Tensor(Methods, metaclass=TensorClass):
    """An array whose operations are recorded, with PyTorch's interface.

    `_data` is an ndarray, or for 0-d results a NumPy scalar until its memory is needed. `_node` is None if no gradient
    is wanted. `_key` is one object for all tensors of the same real float type and shape, None if not yet looked up.
    Attributes that are rarely set are in the instance's dictionary, with defaults here. `Tensor()` takes no arguments,
    because that is the quickest way to make an object: users call `gradcli.tensor`.
    """

    __slots__ = ("__dict__", "__weakref__", "_data", "_key", "_node")
    __array_priority__ = 1000
    record_level = 1
    _grad: Any = None
    _base: Any = None
    _chain: tuple = ()
    _views: Any = None
    _origin: str | None = None
    _earlier = 0
    _data: Any
    _node: Any
    _key: Any

    @staticmethod
    def _wrap(raw: Any, node: Node | None) -> Tensor:
        """Return a tensor of raw data and its node, unchecked."""
        result = Tensor()
        result._data = raw
        result._node = node
        result._key = None
        return result

    def _array(self) -> np.ndarray:
        """Return the data as an array that can share memory; a NumPy scalar gets memory first."""
        data = self._data
        if not isinstance(data, np.ndarray):
            self._data = np.array(data)
            memory.adopt(data, self._data)
            data = self._data
        return data

    @property
    def shape(self) -> Size:
        """The length of each axis."""
        return Size(self._data.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._data.ndim

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return as_dtype(self._data.dtype)

    @property
    def device(self) -> Any:
        """Always the CPU."""
        return cpu

    @property
    def is_leaf(self) -> bool:
        """Whether it is not the result of a recorded operation."""
        return self._node is None or self._node.leaf

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded."""
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if not isinstance(wanted, bool):
            raise RuntimeError("requires_grad must be a bool")
        if wanted and not self.is_leaf:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Start (or stop) recording operations on this leaf. Raises RuntimeError for integers and non-leaves."""
        if not requires_grad and self._node is not None:
            report_event("freeze", self)
        if requires_grad is not True and not isinstance(requires_grad, bool):
            raise TypeError(f"requires_grad_(): requires_grad must be bool, not {type(requires_grad).__name__}")
        if requires_grad and self._node is None:
            if self._data.dtype.kind not in "fc":
                failure = RuntimeError("only Tensors of floating point dtype can require gradients")
                raise add_advice(failure, f"this one is {self.dtype}: make it with dtype=float64, or call .double()")
            self._node = AccumulateGrad(self)
        elif not requires_grad and self._node is not None:
            if not self._node.leaf:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed "
                    "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
                )
            self._node = None
        return self

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made it; None for leaves."""
        return None if self.is_leaf else self._node.public  # type: ignore[union-attr]

    @property
    def output_nr(self) -> int:
        """Its index among the outputs of `grad_fn`."""
        return 0 if self._node is None else self._node.output_nr

    @property
    def _version(self) -> int:
        """How often its memory was changed in place."""
        return self._earlier + (memory.version(self._data) if isinstance(self._data, np.ndarray) else 0)

    @property
    def grad(self) -> Tensor | None:
        """The gradient added up by backward, or None. Reading it on a non-leaf warns."""
        report_event("read", self)
        if self._grad is None and self._node is not None and not self._node.leaf and not self.retains_grad:
            from .torch_errors import NOT_LEAF

            warnings.warn(NOT_LEAF, UserWarning, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            check_assigned_grad(self, value)
            report_event("assign", self, value)
        else:
            report_event("clear", self)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        report_event("clear", self)
        self._grad = None

    @property
    def retains_grad(self) -> bool:
        """Whether backward stores the gradient of this non-leaf."""
        node = self._node
        if node is None or node.leaf or node.hooks is None:
            return False
        return any(reference() is self for reference in node.hooks.retain)

    def retain_grad(self) -> None:
        """Have backward store this non-leaf's gradient in `.grad`."""
        if self._node is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if not self._node.leaf and not self.retains_grad:
            self._node.hook_table.retain.append(weakref.ref(self))

    def register_hook(self, hook: Callable) -> Any:
        """Call hook(gradient) when backward has this tensor's gradient; its result replaces the gradient."""
        if self._node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return self._node.add_hook("tensor", hook)

    def register_post_accumulate_grad_hook(self, hook: Callable) -> Any:
        """Call hook(tensor) after backward has added to this leaf's `.grad`."""
        if self._node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self._node.leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return self._node.add_hook("accumulated", hook)

    def detach(self) -> Tensor:
        """Return a tensor outside the graph with the same memory. Backward detects in-place changes of it."""
        return report_event("detach", self, Tensor._wrap(self._array(), None))

    def detach_(self) -> Tensor:
        """Remove this tensor from the graph."""
        if self._base is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self._node = None
        return self

    @property
    def data(self) -> Tensor:
        """A tensor outside the graph with the same memory. Backward does *not* detect in-place changes of it."""
        return report_event("data", self, Tensor._wrap(memory.separate(self._array()), None))

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f".data must be set to a Tensor, not {type(value).__name__}")
        if self._node is not None and value._data.dtype.kind not in "fc":
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        mine, theirs = self._array().__array_interface__, value._array().__array_interface__
        if mine != theirs:
            earlier = self._version
            self._data = value._array()
            self._earlier = earlier - memory.version(self._data)
            self._key = None
        if self._node is not None and self._node.leaf:
            self._node.data = self._data

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *dir(Tensor)})

    def __getattr__(self, name: str) -> Any:
        TensorClass.__getattr__(type(self), name)
        return getattr(self, name)

    def _refuse_to_lose_graph(self, what: str) -> None:
        if self._node is not None and not imitation.of_torch:
            advice = "use tensor.detach() first, or tensor.item()"
            raise RuntimeError(f"{what}() of a Tensor that requires grad would lose its graph: {advice}")

    def _number(self, kind: Callable) -> Any:
        self._refuse_to_lose_graph(kind.__name__)
        if self._data.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        if self._data.dtype.kind == "c" and kind is not complex and self._data.item().imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        value = self._data.item()
        number = kind(value.real if isinstance(value, complex) and kind is not complex else value)
        return report_event("item", self, number)

    def __float__(self) -> float:
        return self._number(float)

    def __int__(self) -> int:
        return self._number(int)

    def __complex__(self) -> complex:
        return self._number(complex)

    def __index__(self) -> int:
        if self._data.dtype.kind not in "iub" or self._data.ndim:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __bool__(self) -> bool:
        if self._data.size != 1:
            amount = "more than one value" if self._data.size else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {amount} is ambiguous")
        return bool(self._data.item())

    def __getitem__(self, key: Any) -> Tensor:
        """Return the elements at any NumPy index, as a view if NumPy would return a view."""
        getitem: Any = entry("getitem")
        try:
            return report_event("index", key, self.__record__(getitem, (self,), getitem.bind(self._data, key)[1]))
        except IndexError as error:
            raise IndexError(str(error).replace("out of bounds for axis", "out of bounds for dimension")) from None

    T = property(lambda self: entry("transpose").function(self), doc="The transpose.")
    mT = property(lambda self: entry("swapaxes").function(self, -1, -2), doc="The last two axes exchanged.")  # noqa: N815
    H = property(lambda self: self.conj().T, doc="The conjugate of the transpose.")
    mH = property(lambda self: self.conj().mT, doc="The conjugate of mT.")  # noqa: N815

    @property
    def real(self) -> Tensor:
        """The real parts, which can be assigned to."""
        return entry("real").function(self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Tensor:
        """The imaginary parts, which can be assigned to."""
        if self.dtype.kind != "c" and not state.arrays:
            raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
        return entry("imag").function(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    def __matmul__(self, other: Any) -> Tensor:
        return matrix_product(self, as_operand(other)) if is_operand(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Tensor:
        return matrix_product(as_operand(other), self)

    def __len__(self) -> int:
        if not self._data.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._data.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._data.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(self._data.shape[0]))

    def __contains__(self, item: Any) -> bool:
        return bool((self._data == as_raw(item)).any())

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        from .printing import tensor_text

        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        if self._data.ndim == 0:
            return format(report_event("item", self, self._data.item()), spec)
        return object.__format__(self, spec)

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Return an ndarray with the same memory. Raises RuntimeError if the tensor requires grad, unless `force`."""
        if state.grad and not force and self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return report_event("numpy", self, self._array())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self._node is not None:
            advice = "use tensor.detach() first, or gradcli.stack to join tensors"
            raise RuntimeError(f"this Tensor requires grad and NumPy would lose its graph: {advice}")
        return report_event("numpy", self, np.array(self._array(), dtype=dtype, copy=copy))

    def item(self) -> Any:
        """Return the only element as a Python number."""
        if state.arrays:
            self._refuse_to_lose_graph("item")
        if self._data.size != 1:
            raise RuntimeError(f"a Tensor with {self._data.size} elements cannot be converted to Scalar")
        return report_event("item", self, self._data.item())

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers."""
        if state.arrays:
            self._refuse_to_lose_graph("tolist")
        return report_event("item", self, self._data.tolist())

    def __reduce__(self) -> Any:
        if self._node is not None and not self._node.leaf:
            whom = "Only Tensors created explicitly by the user (graph leaves)"
            failure = RuntimeError(f"{whom} support the deepcopy protocol at the moment.")
            raise add_advice(failure, "use detach() or clone() first")
        return rebuild, (type(self), self._array(), self._node is not None)

    def __deepcopy__(self, memo: dict) -> Tensor:
        kind, data, wanted = self.__reduce__()[1]
        result = memo[id(self)] = rebuild(kind, data.copy(), wanted)
        if self._grad is not None:
            result._grad = self._grad.__deepcopy__(memo)
        return result


NO_GRAD, CUSTOM, PART = "no_grad", "custom", "part"
"""Origins of views that must not be changed in place while gradients are recorded; `why_not` explains why."""
OF_PARTS = frozenset(("real_part", "imag_part", "view_as_real", "view_as_complex"))
"""Entries whose views have a different type from the base."""


def track_view(view: Tensor, source: Tensor, primitive: Primitive, params: dict) -> None:
    """If `view` shares memory with `source`, record that, and the primitives by which to take the view again."""
    data = view._data
    if not isinstance(data, np.ndarray) or memory.memory_of(data) is not memory.memory_of(source._data):
        return
    view._chain = (*source._chain, (primitive, params))
    origin = source._origin if state.grad else NO_GRAD
    if origin is None and primitive.name in OF_PARTS:
        origin = PART
    if origin is not None:
        view._origin = origin
    register_view(view, source if source._base is None else source._base)


def register_view(view: Tensor, base: Tensor) -> None:
    view._base = base
    references = base._views
    if references is None:
        references = base._views = []
    elif len(references) >= 16 and len(references).bit_count() == 1:  # a power of two: drop dead ones if half are dead
        living = [r for r in references if r() is not None]
        if 2 * len(living) <= len(references):
            references[:] = living
    references.append(weakref.ref(view))


def views_of(base: Tensor) -> list[Tensor]:
    return [view for view in (r() for r in base._views or ()) if view is not None]


def as_operand(x: Any) -> Any:
    """Return a list or tuple as an array; return everything else unchanged."""
    return np.asarray(x) if isinstance(x, list | tuple) else x


def is_operand(x: Any) -> bool:
    """Report whether an operator accepts x as its other operand."""
    return isinstance(x, Tensor | int | float | complex | np.ndarray | np.generic | list | tuple)


def matrix_product(x: Any, y: Any) -> Any:
    """Return x @ y. Raises RuntimeError if the shapes do not fit, or with `import torch` if the types differ."""
    if imitation.of_torch and isinstance(x, Tensor) and isinstance(y, Tensor) and x.dtype != y.dtype:
        from .torch_errors import types_error

        raise types_error(x, y)
    return multiply_matrices(x, y)


def multiply_matrices(x: Any, y: Any) -> Any:
    """Return x @ y. Raises RuntimeError if the shapes do not fit."""
    try:
        return entry("matmul").forward(x, y)
    except ValueError as error:
        from .torch_errors import as_pytorch, shapes_error

        raise shapes_error(x, y) or as_pytorch(error) from None


def as_raw(x: Any, dtype: Any = None) -> Any:
    """Return a Tensor's data, or anything else as an array, in `dtype` if given."""
    raw = x._data if isinstance(x, Tensor) else np.asarray(x)
    wanted = as_numpy(dtype)
    return raw if wanted is None or raw.dtype == wanted else raw.astype(wanted)


class Parameter(Tensor):
    """A leaf that requires grad. Assigning it to an attribute of a module makes it one of the module's parameters.

    It shares the memory of `data`. Operations on it are recorded as quickly as on other tensors, and give plain
    tensors.
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        """Return a parameter that shares a tensor's memory. Raises TypeError for anything but a tensor."""
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"a Parameter needs a Tensor, not {type(data).__name__}; make one with tensor(...)")
        self: Parameter = object.__new__(cls)
        self._data = np.zeros(0, defaults.float) if data is None else data._array()
        self._node = self._key = None
        if requires_grad:
            self.requires_grad_()
        return self

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()
