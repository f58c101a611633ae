"""The arguments of a call elsewhere: trees of dicts, lists and tuples, whose arrays have names by path."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...errors import GradcliError
from ..parameters import pass_by_name

STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")


class Arguments:
    """Arguments by name, of which the floating-point arrays are inputs and the rest stays fixed.

    arrays: the inputs by path, `x` or `params.w[0]`. fixed: paths whose numbers are not to be differentiated.
    """

    def __init__(self, tree: Mapping[str, Any], fixed: Callable[[str], bool] = lambda path: False):
        self.tree: dict[str, Any] = {}
        self.arrays: dict[str, np.ndarray] = {}
        for name, x in tree.items():
            self.tree[name] = self.take_in(name, x, fixed)

    def take_in(self, path: str, x: Any, fixed: Callable[[str], bool]) -> Any:
        """Return an argument with its numbers as arrays of NumPy, and note which of them are inputs."""
        if is_branch(x):
            return rebuild(x, [self.take_in(below, part, fixed) for below, part in branches(path, x)])
        raw = as_array(x)
        if raw is None:
            return x
        if raw.dtype.kind in "fc" and not fixed(path):
            self.arrays[path] = raw
        elif not raw.ndim:
            return raw.item()
        return raw

    def fill_in(self, leaves: Mapping[str, Any], fixed: Callable[[np.ndarray], Any]) -> dict[str, Any]:
        """Return the arguments with others in place of the inputs; what is fixed goes through a function."""

        def fill(path: str, x: Any) -> Any:
            if path in leaves:
                return leaves[path]
            if is_branch(x):
                return rebuild(x, [fill(below, part) for below, part in branches(path, x)])
            return fixed(x) if isinstance(x, np.ndarray) else x

        return {name: fill(name, x) for name, x in self.tree.items()}


def as_array(x: Any) -> np.ndarray | None:
    """Return numbers of any framework as an array; None for anything else."""
    if x is None or isinstance(x, str | bytes | bool) or callable(x):
        return None
    try:
        raw = tensor_data(x) if hasattr(x, "detach") else np.array(x)
    except Exception:  # whatever it is, it is no array
        return None
    if raw.dtype.kind == "V" and raw.dtype.itemsize == 2:  # bfloat16
        raw = raw.astype(np.float32)
    return raw if raw.dtype.kind in "biufc" else None


def tensor_data(x: Any) -> np.ndarray:
    """Return the numbers of a tensor, of PyTorch or of ours; NumPy has no bfloat16, which becomes float32."""
    if not hasattr(x, "to_dense"):
        return x.detach()._data
    x = x.detach().cpu().resolve_conj().resolve_neg().to_dense()
    return (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()


def is_branch(x: Any) -> bool:
    """Return whether an argument holds arguments: a dict, or a list or tuple that is no array of numbers."""
    if isinstance(x, Mapping):
        return True
    return isinstance(x, list | tuple) and (
        isinstance(x, tuple) or any(is_branch(part) or not is_number(part) for part in x)
    )


def is_number(x: Any) -> bool:
    """Return whether something is a plain number, or nested lists of such."""
    if isinstance(x, list):
        return all(map(is_number, x))
    return isinstance(x, int | float | complex | np.number) and not isinstance(x, bool)


def branches(path: str, x: Any) -> Iterator[tuple[str, Any]]:
    """Yield the paths and the parts of a dict, list or tuple."""
    if isinstance(x, Mapping):
        for key, part in x.items():
            yield f"{path}.{key}" if isinstance(key, str) else f"{path}[{key}]", part
    else:
        for i, part in enumerate(x):
            yield f"{path}[{i}]", part


def rebuild(like: Any, parts: list) -> Any:
    """Return a dict, list or (named) tuple like another one with other parts."""
    if isinstance(like, Mapping):
        return dict(zip(like, parts, strict=True))
    return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)


def by_path(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by name, those of `params.w[0]` and the like put together to dicts and lists.

    Raises GradcliError for lists with gaps and for paths below a value.
    """
    tree: dict[str, Any] = {}
    for path, x in given.items():
        head = re.split(r"[.\[]", path, maxsplit=1)[0]
        steps: list[Any] = [head, *(a or int(i) for a, i in STEP.findall(path[len(head) :]))]
        place = tree
        for step in steps[:-1]:
            place = place.setdefault(step, {})
            if not isinstance(place, dict):
                raise GradcliError(f"'{path}' lies below a value that is given as a whole", kind="usage")
        if steps[-1] in place:
            raise GradcliError(f"'{path}' is given as a whole and by its parts", kind="usage")
        place[steps[-1]] = x
    return {name: with_lists(name, x) for name, x in tree.items()}


def with_lists(path: str, x: Any) -> Any:
    """Return nested dicts with those that have numbers as keys turned to lists. Raises GradcliError for gaps."""
    if not isinstance(x, dict):
        return x
    if not all(isinstance(key, int) for key in x):
        return {key: with_lists(f"{path}.{key}", part) for key, part in x.items()}
    if sorted(x) != list(range(len(x))):
        gap = next(i for i in range(len(x)) if i not in x)
        raise GradcliError(f"'{path}' lacks its element {path}[{gap}]", kind="usage")
    return [with_lists(f"{path}[{i}]", x[i]) for i in range(len(x))]


def call_with(function: Callable, values: Mapping[str, Any]) -> Any:
    """Call a function on values by name: positionally where its parameters allow, as derived functions need it."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return function(*values.values())
    known = [p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if [p.name for p in known[: len(values)]] == list(values) or not values.keys() <= parameters.keys():
        return function(*values.values())
    bare, named = pass_by_name(known, values)
    return function(*bare, **named)
