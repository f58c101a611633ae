"""Record what a script does with PyTorch: a TorchFunctionMode sees all operations, even outside the graph."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.optim
from torch.overrides import TorchFunctionMode

from ..user.tracebacks import is_users
from .recorder import Recorder

UNREADABLE = (TypeError, BufferError, RuntimeError, ValueError)
"""Errors for tensors that NumPy cannot read. Those under vmap and parameters of lazy modules have no numbers yet."""
OPTIMIZERS = os.path.dirname(torch.optim.__file__) + os.sep


class TorchRecorder(Recorder, TorchFunctionMode):
    """Records the arguments and results of PyTorch's functions."""

    tensor_type = torch.Tensor

    def __init__(self, variables: dict[str, Any]) -> None:
        Recorder.__init__(self, variables)
        TorchFunctionMode.__init__(self)

    # -- access to tensors and nodes ------------------------------------------------------------------------------

    def array(self, x: Any) -> np.ndarray:
        with contextlib.suppress(*UNREADABLE):
            x = x.detach()
            if x.layout is torch.strided and not x.data_ptr():
                return np.zeros(0)  # its storage was freed
            with contextlib.suppress(*UNREADABLE):
                return np.from_dlpack(x)  # x.numpy() would keep the script from resizing x later
            x = x.coalesce().values() if x.is_sparse else x
            x = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
            return x.resolve_conj().resolve_neg().cpu().numpy()
        return np.zeros(0)

    def address(self, x: Any) -> Any:
        try:
            return x.data_ptr() or id(x)
        except UNREADABLE:  # sparse, or without memory
            return id(x)

    def node(self, x: Any) -> Any:
        with contextlib.suppress(RuntimeError):  # PyTorch does not differentiate some views whose base has changed
            return x.grad_fn
        return None

    def is_leaf(self, x: Any) -> bool:
        with contextlib.suppress(RuntimeError):  # as above
            return x.is_leaf
        return False

    def wants(self, x: Any) -> bool:
        """Report whether a tensor requires grad; a view made in no_grad() only repeats what its base requires."""
        return x.requires_grad and not (x._base is not None and x._base.requires_grad and self.node(x) is None)

    def gradient(self, x: Any) -> Any:
        with contextlib.suppress(RuntimeError):  # as above
            return super().gradient(x)
        return None

    def parents(self, node: Any) -> list[Any]:
        return [parent for parent, _ in node.next_functions]

    def variable(self, node: Any) -> Any:
        return getattr(node, "variable", None)

    def function(self, node: Any) -> Any:
        return getattr(node, "_forward_cls", None)

    def origin(self, node: Any) -> Any:
        return node.metadata.get("gradcli")

    def set_origin(self, node: Any, origin: tuple) -> None:
        node.metadata["gradcli"] = origin

    def hook(self, node: Any, hook: Callable) -> None:
        if "gradcli hook" in node.metadata:
            node.metadata["gradcli hook"].remove()
        node.metadata["gradcli hook"] = node.register_hook(hook)

    is_module = staticmethod(lambda x: isinstance(x, torch.nn.Module))

    # -- called by PyTorch ----------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name = kwargs or {}, getattr(func, "__name__", str(func))
        attribute = getattr(getattr(func, "__self__", None), "__name__", "") if name in ("__get__", "__set__") else ""
        code = sys._getframe(1).f_code
        in_optimizer = code.co_filename.startswith(OPTIMIZERS)
        if attribute == "grad":
            result = func(*args)
            uses = "read" if is_users(code.co_filename) else "step" if in_optimizer else "look"
            kind = "look" if code.co_name == "zero_grad" else uses
            if name == "__get__" or args[1] is None:
                self.take_note("clear" if name == "__set__" else kind, args[0], result)
            else:
                self.owners[self.address(args[1])] = self.value(args[0])
                self.changed(args[1])
            return result
        if attribute == "is_leaf" and in_optimizer and code.co_name == "add_param_group":
            self.take_note("optimizer", args[0])
        if in_optimizer and code.co_name != "zero_grad":
            return func(*args, **kwargs)  # updates by an optimizer are not operations of the script
        if name in ("backward", "grad") and getattr(func, "__module__", "").startswith(
            ("torch.autograd", "torch._ten")
        ):
            inputs = args[1] if len(args) > 1 and name == "grad" else kwargs.get("inputs") or ()
            outputs = args[0] if args else kwargs["outputs" if name == "grad" else "tensors"]
            targets = as_list(inputs) if name == "grad" else []
            self.follow(name, as_list(outputs), targets)
            result = func(*args, **kwargs)
            for target, gradient in zip(targets, result or (), strict=False):
                if gradient is not None:
                    self.owners[self.address(gradient)] = self.value(target)
            return result
        wanted = args[1:] or (*kwargs.values(),) if name == "requires_grad_" or attribute == "requires_grad" else ()
        if wanted[:1] == (False,):
            if args[0].requires_grad or is_users(code.co_filename):  # loaders switch off what was never on
                self.take_note("freeze", args[0])
            return func(*args, **kwargs)
        recorded = torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        for x in (*args, *kwargs.values()):  # an in-place operation may give it another node
            if isinstance(x, torch.Tensor):
                self.value(x)
        result = func(*args, **kwargs)
        made = args[0] if name == "__setitem__" else result
        if name == "__setitem__" or name.endswith("_"):
            given = next(iter((*args, *kwargs.values())), None)
            for x in given if isinstance(given, list | tuple) else (given,):  # _foreach functions take lists
                if isinstance(x, torch.Tensor):
                    self.changed(x)
        self.note_step(attribute or name, (args, kwargs), made, recorded)
        return result


def as_list(x: Any) -> list[Any]:
    return [x] if isinstance(x, torch.Tensor) else list(x)
