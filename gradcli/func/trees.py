"""Nested tuples, lists and dictionaries of tensors: what functions take and return besides single tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rebuild = Callable[[list], Any]


def flatten(tree: Any) -> tuple[list, Rebuild]:
    """Return the leaves of a nested structure, and a function that puts other leaves in their places.

    Dictionaries are walked in the order of their sorted keys, and put together in their own.
    """
    leaves: list = []
    build = _walk(tree, leaves)

    def rebuild(values: list) -> Any:
        return build(iter(values))

    return leaves, rebuild


def _walk(tree: Any, leaves: list) -> Callable[[Any], Any]:
    kind = type(tree)
    if isinstance(tree, dict):
        keys = sorted(tree, key=str)
        parts = [_walk(tree[key], leaves) for key in keys]
        order = list(tree)

        def rebuild_dictionary(values: Any) -> Any:
            items = dict(zip(keys, [part(values) for part in parts], strict=True))
            return kind((key, items[key]) for key in order)

        return rebuild_dictionary
    if isinstance(tree, tuple | list):
        parts = [_walk(item, leaves) for item in tree]
        if hasattr(tree, "_fields"):
            return lambda values: kind(*[part(values) for part in parts])
        return lambda values: kind([part(values) for part in parts])
    leaves.append(tree)
    return next


def spread_prefix(prefix: Any, tree: Any, what: str) -> list:
    """Return one item of `prefix` per leaf of `tree`, where prefix is a single item or has the tree's outer form.

    Raises ValueError when it has another form.
    """
    if prefix is None or isinstance(prefix, int):
        return [prefix] * len(flatten(tree)[0])
    if isinstance(tree, dict) and isinstance(prefix, dict) and set(tree) == set(prefix):
        return [x for key in sorted(tree, key=str) for x in spread_prefix(prefix[key], tree[key], what)]
    if isinstance(tree, tuple | list) and isinstance(prefix, tuple | list) and len(tree) == len(prefix):
        return [x for p, t in zip(prefix, tree, strict=True) for x in spread_prefix(p, t, what)]
    raise ValueError(f"{what} {prefix!r} does not have the structure of what it describes")
