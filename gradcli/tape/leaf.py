"""Leaves of the graph: the nodes where gradients are added up."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import naming
from .hooks import add_hook
from .node import Node, next_seq
from .rule import Rule
from .versions import mark_changed

leaf_made: list[Callable[[Any], None]] = []
"""Called with every new leaf that requires grad."""

ACCUMULATE = Rule("AccumulateGrad", lambda node, g: ())


class AccumulateGrad(Node):
    """Where a leaf's gradient is added up. It knows the leaf weakly and keeps its data."""

    __slots__ = ("data", "tensor_ref", "wrap")
    leaf = True
    nameless = False

    def __init__(self, tensor: Any):
        self.seq = next_seq()
        self.rule = ACCUMULATE
        self.all_parents = self.all_kept = ()
        self.hooks = None
        self.tensor_ref = weakref.ref(tensor)
        self.data = tensor._data
        self.wrap = tensor._wrap
        for listener in leaf_made:
            listener(tensor)

    def name(self) -> str:
        """Return the name, with PyTorch's prefix in its scripts."""
        return "torch::autograd::AccumulateGrad" if naming.addresses else "AccumulateGrad"

    def __repr__(self) -> str:
        return super().__repr__().replace("torch::autograd::", "")

    def register_hook(self, hook: Any) -> Any:
        """Call hook((), grad_outputs) after the leaf's `.grad` was added to."""
        return add_hook(self, "post", hook)

    @property
    def variable(self) -> Any:
        """The leaf; made anew from its data if the user let go of it."""
        tensor = self.tensor_ref()
        if tensor is None:
            tensor = self.wrap(self.data, self)
            self.tensor_ref = weakref.ref(tensor)
        return tensor

    def accumulate(self, g: Any, owned: bool, create: bool) -> None:
        """Add the cotangent to the leaf's `.grad`.

        g: a Tensor when create says that the graph of the gradient is wanted, else a raw array; owned says
        that nobody else holds it.
        """
        leaf = self.tensor_ref()
        if leaf is None:
            leaf = self.variable
        if leaf._node is None:
            return  # it was frozen since
        old = leaf._grad
        if create:
            g = g if g._data.dtype == leaf._data.dtype else g.to(leaf.dtype)
            if old is not None:
                g = old + g
            elif g._node is None or g._base is not None:
                g = g.clone()  # memory of its own, that may be changed in place
            leaf._grad = g
            return
        dtype = leaf._data.dtype
        if g.dtype != dtype:
            g, owned = cast_raw(g, dtype), True
        if old is None:
            leaf._grad = leaf._wrap(g if owned or not isinstance(g, np.ndarray) else g.copy(), None)
        elif old._array().flags.writeable:
            data = old._data
            data += g
            mark_changed(data)
        else:
            leaf._grad = leaf._wrap(old._data + g, None)


def clear_grad(parameter: Any, set_to_none: bool) -> None:
    """Forget a tensor's gradient, or make it zeros."""
    grad = parameter._grad
    if set_to_none or grad is None:
        parameter._grad = None
    else:
        parameter._grad = (grad if grad._node is None else grad.detach()).zero_()


def cast_raw(g: Any, dtype: Any) -> Any:
    """Return raw data in another dtype; a complex cotangent of something real keeps its real part."""
    if g.dtype.kind == "c" and dtype.kind != "c":
        g = g.real
    return g.astype(dtype)


def check_gradient(tensor: Any, value: Any) -> None:
    """Raise TypeError or RuntimeError unless a value can be a tensor's `.grad`: a Tensor of its shape and type."""
    if not hasattr(value, "_node"):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign a Tensor as its own grad")
    if value.shape != tensor.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
            f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
    if value.dtype != tensor.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{value.dtype.title.lower()}' to a tensor with "
            f"grad_dtype '{tensor.dtype.title}'. The gradient must match the tensor's grad_dtype "
            "(defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a "
            "specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes "
            "of a tensor and its gradient may break downstream systems that assume they match."
        )
