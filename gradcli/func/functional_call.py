"""Calling a module with other tensors in place of its parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def registered_places(module: Any) -> Iterator[tuple[str, dict, str]]:
    """Yield (dotted name, registry, key) of every parameter and buffer of a module, shared ones at all places."""
    for path, part in module.named_modules(remove_duplicate=False):
        for registry in (part._parameters, part._buffers):
            for key in registry:
                yield (f"{path}.{key}" if path else key), registry, key


@contextlib.contextmanager
def substitute_parameters(module: Any, tensors: Mapping[str, Any], tie_weights: bool = True) -> Iterator[None]:
    """Put tensors in the place of parameters and buffers by name, and the old ones back at the end.

    tie_weights: what is shared under several names is replaced under all of them.
    """
    known = [(name, registry, key, registry[key]) for name, registry, key in registered_places(module)]
    by_identity = {id(old): tensors[name] for name, _, _, old in known if name in tensors and old is not None}
    try:
        for name, registry, key, old in known:
            if name in tensors:
                registry[key] = tensors[name]
            elif tie_weights and id(old) in by_identity:
                registry[key] = by_identity[id(old)]
        yield
    finally:
        for _, registry, key, old in known:
            registry[key] = old


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Return module(*args, **kwargs) with these tensors in place of its parameters and buffers.

    strict: RuntimeError unless exactly all names are given. A key given twice raises ValueError.
    """
    dicts = parameter_and_buffer_dicts
    tensors: dict[str, Any] = {}
    for part in [dicts] if isinstance(dicts, Mapping) else dicts:
        repeated = tensors.keys() & part.keys()
        if repeated:
            raise ValueError(
                f"{sorted(repeated)} appeared in multiple dictionaries; behavior of functional call is ambiguous"
            )
        tensors.update(part)
    if strict:
        known = {name for name, registry, key in registered_places(module) if registry[key] is not None}
        for title, names in (("Unexpected", tensors.keys() - known), ("Missing", known - tensors.keys())):
            if names:
                listed = ", ".join(f'"{name}"' for name in sorted(names))
                raise RuntimeError(
                    f"Error(s) in loading state_dict for {type(module).__name__}:\n\t"
                    f"{title} key(s) in state_dict: {listed}."
                )
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with substitute_parameters(module, tensors, tie_weights):
        return module(*arguments, **(kwargs or {}))
