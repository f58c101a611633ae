"""Feeds a flow from PyTorch: a TorchFunctionMode sees every operation, also those that leave the graph."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ..flow import Flow, Key, Kit, Mark
from ..user_lines import caller, is_users

IGNORED = frozenset(
    "size dim stride numel is_floating_point is_complex element_size __repr__ __format__ __len__ __hash__ __iter__ "
    "data_ptr storage untyped_storage _set_grad_enabled retain_grad register_hook __dir__ is_contiguous "
    "register_post_accumulate_grad_hook ndimension nelement get_device is_tensor is_storage manual_seed".split()
)
"""Functions that say something of a tensor and make no data of it."""


class TorchKit(Kit):
    def is_tensor(self, x: Any) -> bool:
        return isinstance(x, torch.Tensor)

    def wants(self, x: Any) -> bool:
        return x.requires_grad

    def array(self, x: Any) -> np.ndarray:
        with torch.no_grad():
            x = x.detach()
            x = x.coalesce().values() if x.is_sparse else x
            x = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
            return x.resolve_conj().resolve_neg().cpu().numpy()

    def grad(self, x: Any) -> Any:
        return x.grad if x.is_leaf or x.retains_grad else None

    def address(self, x: Any) -> Any:
        try:
            return x.data_ptr() or id(x)
        except RuntimeError:  # sparse, or without memory
            return id(x)

    def node(self, x: Any) -> Any:
        return x.grad_fn

    def mark(self, node: Any) -> Mark | None:
        return node.metadata.get("gradcli")

    def parameters(self, x: Any) -> Iterable[tuple[str, Any]] | None:
        return x.named_parameters() if isinstance(x, torch.nn.Module) else None


class TorchFollowing(TorchFunctionMode):
    """Feeds a flow with what PyTorch's functions are given and give."""

    def __init__(self, flow: Flow):
        super().__init__()
        self.flow = flow

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, flow, name = kwargs or {}, self.flow, getattr(func, "__name__", str(func))
        owner = getattr(getattr(func, "__self__", None), "__name__", "")
        if name in ("__get__", "__set__"):
            return self.attribute(func, owner, name, args)
        if name in ("backward", "grad") and getattr(func, "__module__", "").startswith(
            ("torch.autograd", "torch._ten")
        ):
            return self.backward(func, name, args, kwargs)
        if name in IGNORED or name.startswith("_record_function"):
            return func(*args, **kwargs)
        code = sys._getframe(1).f_code
        if "optim" in code.co_filename and not is_users(code.co_filename) and code.co_name != "zero_grad":
            return func(*args, **kwargs)  # what an optimizer does to parameters in place is no data of the script
        if name == "requires_grad_" and (args[1:] or (kwargs.get("requires_grad", True),))[0] is False:
            flow.event("freeze", args[0])
            return func(*args, **kwargs)
        recorded = torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        for x in flat_tensors((args, kwargs)):  # before a change in place gives it another node
            self.adopt(x)
        result = func(*args, **kwargs)
        changed = args[0] if result is None and args and isinstance(args[0], torch.Tensor) else result
        if (name.endswith("_") and not name.endswith("__")) or name in ("__setitem__", "__imul__"):
            for x in flat_tensors(args[:1]):
                flow.changed(x, not flow.kit.array(x).any())
        number = flow.step(name, (args, kwargs), changed, recorded)
        for x in flat_tensors(changed):
            if x.grad_fn is not None:
                self.mark_new(x.grad_fn, number, args)
        return result

    def adopt(self, x: Any) -> None:
        """Give the nodes of a tensor marks where no step did: those of a custom function, or of a changed view."""
        value = self.flow.value(x)
        if x.grad_fn is not None and "gradcli" not in x.grad_fn.metadata:
            self.mark_new(x.grad_fn, value.maker, ())

    def mark_new(self, node: Any, step: int, operands: tuple) -> None:
        """Mark nodes that are new with the step that made them, from the result's down to those of its operands."""
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if node is not None and "gradcli" not in node.metadata and not hasattr(node, "variable"):
                node.metadata["gradcli"] = Mark(next(self.flow.count), step, operands)
                waiting += [parent for parent, _ in node.next_functions]

    def attribute(self, func: Any, owner: str, name: str, args: tuple) -> Any:
        flow, x = self.flow, args[0]
        if owner == "data" and name == "__get__":
            result = func(*args)
            flow.step("data", x, result, torch.is_grad_enabled())
            return result
        if owner in ("T", "mT", "H", "mH", "real", "imag") and name == "__get__":
            self.adopt(x)
            result = func(*args)
            number = flow.step(owner, x, result, torch.is_grad_enabled())
            if result.grad_fn is not None:
                self.mark_new(result.grad_fn, number, args)
            return result
        file, function = caller() if owner in ("grad", "is_leaf", "requires_grad") else ("", "")
        in_optimizer = "torch" in file and "optim" in file
        if owner == "requires_grad" and name == "__set__" and args[1] is False:
            flow.event("freeze", x)
        elif owner == "grad" and name == "__set__" and args[1] is None:
            flow.event("clear", x)
        elif owner == "grad" and name == "__get__" and (is_users(file) or in_optimizer):
            gradient = func(*args) if x.is_leaf or x.retains_grad or is_users(file) else None
            if function != "zero_grad":
                flow.event("read" if is_users(file) else "step", x, gradient)
            elif gradient is not None:
                flow.gradients[flow.kit.address(gradient)] = flow.value(x).number
            return gradient
        elif owner == "is_leaf" and function == "add_param_group":
            flow.event("optimizer", x)
        return func(*args)

    def backward(self, func: Any, kind: str, args: tuple, kwargs: dict) -> Any:
        """Run backward or grad with a hook on every node."""
        names = ("outputs" if kind == "grad" else "tensors", "inputs")
        roots = as_list(args[0] if args else kwargs.get(names[0], ()))
        targets = as_list(args[1] if kind == "grad" and len(args) > 1 else kwargs.get("inputs") or ())
        for x in (*roots, *targets):
            self.adopt(x)
        which = self.flow.start(kind, roots, targets if kind == "grad" else ())
        with contextlib.ExitStack() as hooks:
            waiting, seen = [x.grad_fn for x in roots if x.grad_fn is not None], set()
            while waiting:
                node = waiting.pop()
                if node in seen:
                    continue
                seen.add(node)
                if hasattr(node, "variable"):
                    which.leaves.add(self.flow.value(node.variable).number)
                    continue
                if "gradcli" not in node.metadata:
                    self.mark_new(node, 0, ())
                hooks.callback(node.register_hook(self.after(node)).remove)
                waiting += [parent for parent, _ in node.next_functions if parent is not None]
            which.leaves |= {self.flow.value(x).number for x in roots if x.is_leaf}
            return func(*args, **kwargs)

    def after(self, node: Any) -> Callable:
        mark, name = node.metadata["gradcli"], node.name()
        keys = tuple([self.key(parent) for parent, _ in node.next_functions])

        def hook(sent: tuple, received: tuple) -> None:
            arrays = [tuple([None if x is None else self.flow.kit.array(x) for x in part]) for part in (sent, received)]
            self.flow.ran(mark, name, keys, *arrays)

        return hook

    def key(self, parent: Any) -> Key:
        if parent is None:
            return None
        if hasattr(parent, "variable"):
            return "leaf", self.flow.value(parent.variable).number
        if "gradcli" not in parent.metadata:
            self.mark_new(parent, 0, ())
        return parent.metadata["gradcli"].number


def flat_tensors(x: Any) -> Iterator[Any]:
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, list | tuple | dict):
        for part in x.values() if isinstance(x, dict) else x:
            yield from flat_tensors(part)


def as_list(x: Any) -> list[Any]:
    return [x] if isinstance(x, torch.Tensor) else list(x)
