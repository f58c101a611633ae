"""Models whose parameters are split over processes (FSDP): put them together, as plain modules.

Each process gives its shards. The one that checks rebuilds the model in place, so that it can be called there without
the other processes. It does so in a fork, or else it takes the model apart again after the check. Each kind of FSDP
keeps its shards in attributes without public names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch


def shards_of(optimized: Sequence[Any], roots: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return this process's part of each unit of parameters and of its gradient; empty if nothing is split."""
    found = [(p._local_tensor, None if p.grad is None else p.grad._local_tensor) for p in optimized if is_split(p)]
    found += [(handle.flat_param.detach(), handle.sharded_grad) for handle in handles_of(roots)]
    return [(x.detach().clone(), None if g is None else g.detach().clone()) for x, g in found]


def is_split(p: Any) -> bool:
    return type(p).__name__ == "DTensor" and any(placement.is_shard() for placement in p.placements)


def handles_of(roots: Sequence[Any]) -> Iterator[Any]:
    """Yield the handles of FullyShardedDataParallel, which keep the parameters of a unit in one vector."""
    for module in unique_objects(m for root in roots for m in root.modules()):
        handle = getattr(module, "_handle", None) if type(module).__name__ == "FullyShardedDataParallel" else None
        if handle is not None:
            yield handle


def unique_objects(some: Iterator[Any]) -> list[Any]:
    return list({id(x): x for x in some}.values())


PARTS_OF_MODULES = ("_parameters", "_modules", "_forward_pre_hooks", "_forward_hooks")


def restorer_of(roots: Sequence[Any]) -> Callable[[], None]:
    """Return a function that undoes `unshard`."""
    modules = unique_objects(m for root in roots for m in root.modules())
    kept = [(m, dict(m.__dict__), [dict(getattr(m, name)) for name in PARTS_OF_MODULES]) for m in modules]

    def restore() -> None:
        for module, attributes, parts in kept:
            module.__dict__.clear()
            module.__dict__.update(attributes)
            for name, part in zip(PARTS_OF_MODULES, parts, strict=True):
                getattr(module, name).clear()
                getattr(module, name).update(part)

    return restore


def unshard(optimized: Sequence[Any], roots: Sequence[Any], shards: Sequence[Sequence[tuple[Any, Any]]]) -> list[Any]:
    """Rebuild the modules with whole parameters that have their gradients, and return these parameters.

    shards: of each process, the units in the same order.
    """
    modules = unique_objects(m for root in roots for m in root.modules())
    units = list(zip(*shards, strict=True))
    split, made = [p for p in optimized if is_split(p)], []
    for p, parts in zip(split, units[: len(split)], strict=True):
        dim = next(placement.dim for placement in p.placements if placement.is_shard())
        whole = joined(parts, dim)
        made.append(whole)
        for module in modules:
            for name, x in module._parameters.items():
                if x is p:
                    module._parameters[name] = whole
    for handle, parts in zip(list(handles_of(roots)), units[len(split) :], strict=True):
        made += unflattened(handle.flat_param, joined(parts, 0))
    for module in modules:
        remove_hooks(module)
        for name, child in module._modules.items():
            if type(child).__name__ == "FullyShardedDataParallel":
                module._modules[name] = child.module
    return made


def joined(parts: Sequence[tuple[Any, Any]], dim: int) -> Any:
    """Return a whole parameter with its gradient. A process without a gradient has zeros."""
    whole = torch.nn.Parameter(torch.cat([x for x, _ in parts], dim))
    if any(g is not None for _, g in parts):
        whole.grad = torch.cat([torch.zeros_like(x) if g is None else g.to(x.dtype) for x, g in parts], dim)
    return whole


def unflattened(flat: Any, whole: Any) -> list[Any]:
    """Put the parts of a vector of parameters into their modules, and return them."""
    sizes = list(getattr(flat, "_numels_with_padding", None) or flat._numels)
    padding = list(flat._is_padding_mask) if len(flat._is_padding_mask) == len(sizes) else [False] * len(sizes)
    values = [x for x, pads in zip(whole.detach()[: sum(sizes)].split(sizes), padding, strict=True) if not pads]
    slopes = [None] * len(values)
    if whole.grad is not None:
        slopes = [x for x, pads in zip(whole.grad[: sum(sizes)].split(sizes), padding, strict=True) if not pads]
    made = {}
    for info, shape, x, g in zip(flat._param_infos, flat._shapes, values, slopes, strict=True):
        p = torch.nn.Parameter(x.view(shape).clone())
        p.grad = None if g is None else g.view(shape).clone()
        made[id(info.module), info.param_name] = p
        place(info.module, info.param_name, p)
    for info in flat._shared_param_infos:
        place(info.module, info.param_name, made[id(info.prim_module), info.prim_param_name])
    return list(made.values())


def place(module: Any, name: str, p: Any) -> None:
    module.__dict__.pop(name, None)  # a view of the vector
    module._parameters[name] = p


def remove_hooks(module: Any) -> None:
    """Remove the hooks of fully_shard, which gather parameters before a call and drop them afterwards."""
    for hooks in (module._forward_pre_hooks, module._forward_hooks):
        for key, hook in list(hooks.items()):
            if type(getattr(hook, "__self__", None)).__name__ == "FSDPState":
                del hooks[key]
