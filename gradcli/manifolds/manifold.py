"""The interface of a manifold, and the texts that name one: SE3, quaternion:left:xyzw, FILE.py:retract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import GradcliError, did_you_mean

ON_MANIFOLD = 1e-6  # a point may be this far from its manifold: float32 and printed digits are not further off
SIDES = ("right", "left", "split", "split-left")  # where a move of a pose acts
SEPARATE = 1e-6  # conventions whose maps differ by less than this at a point agree there


class Convention(NamedTuple):
    """Another way to measure small moves of a point.

    kind: the finding's name if a claim follows it. text: what the claim is then. columns: the matrix K (or one for
    each point of a batch) for which claim = derivative @ K. fix: the map to multiply the claim by.
    """

    kind: str
    text: str
    columns: np.ndarray
    fix: str


class Manifold:
    """A manifold with a convention for its tangents. name: as in --on.

    The coordinates of a move have the shape `tangent_shape(x)` and are 0 at the point x itself.
    """

    name: str
    is_riemannian = False  # whether a claim is a gradient in the shape of the point

    def formed(self, x: np.ndarray) -> np.ndarray:
        """Return a point whose entries are given as a vector in its own shape; any other one unchanged."""
        return x

    def refuse(self, x: np.ndarray, name: str) -> None:
        """Raise GradcliError if x is not a point (or a batch of points) of the manifold. name: of the input."""
        raise NotImplementedError

    def refuse_shape(self, x: np.ndarray, name: str) -> None:
        """Raise GradcliError if an array of this shape cannot be a point."""

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """Return the point that is closest to an array of a suitable shape."""
        raise NotImplementedError

    def tangent_shape(self, x: np.ndarray) -> tuple[int, ...]:
        raise NotImplementedError

    def sizes(self, x: np.ndarray) -> np.ndarray:
        """Return moves that are as large as the point itself, in the shape of its tangents."""
        raise NotImplementedError

    def retract(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return the point that the move d leads to."""
        raise NotImplementedError

    def local(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the move that leads from x to y."""
        raise NotImplementedError

    def pull(self, x: np.ndarray, d: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return derivatives by moves of retract(x, d) as derivatives by d. rows: (R, *tangent_shape)."""
        raise NotImplementedError

    def push(self, x: np.ndarray, d: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the move of retract(x, d) that a change of d makes."""
        raise NotImplementedError

    def by_entries(self, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return derivatives by moves of x for derivatives by its entries. rows: (R, *x.shape)."""
        raise NotImplementedError

    def entries(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return how the entries of x change along a small move d."""
        raise NotImplementedError

    def conventions(self, x: np.ndarray) -> list[Convention]:
        """Return the other conventions that a claim may follow."""
        return []

    def moves_of(self, x: np.ndarray) -> int:
        """Return how many coordinates a single point of a batch has."""
        return int(np.prod(self.tangent_shape(x)[-1:]))

    @property
    def describes(self) -> str:
        """How a move acts, such as T exp(d)."""
        return ""


def bad_point(name: str, what: str, hint: str | None = None) -> GradcliError:
    return GradcliError(f"'{name}' {what}", hint=hint, kind="value")


def kinds() -> dict[str, tuple[Callable[..., Manifold], tuple[str, ...]]]:
    """Return what makes each kind of manifold, with the words that it takes, by name."""
    from .groups import QUATERNION_WORDS, SO3, SO3_WORDS, Quaternion
    from .poses import SE3, SE3_WORDS
    from .riemannian import METRICS, SPD, Sphere, Stiefel, Unit

    return {
        "SO3": (SO3, SO3_WORDS),
        "SE3": (SE3, SE3_WORDS),
        "quaternion": (Quaternion, QUATERNION_WORDS),
        "unit": (Unit, ()),
        "sphere": (Sphere, ()),
        "stiefel": (Stiefel, METRICS[Stiefel]),
        "spd": (SPD, METRICS[SPD]),
    }


CHOICES = (SIDES, {"wxyz", "xyzw"}, {"rotation-first", "translation-first"}, {"affine-invariant", "euclidean"})
"""Words of which a manifold takes at most one."""


def as_manifold(text: Any, load: Callable[[str], Callable] | None = None) -> Manifold:
    """Return the manifold that a text names, or that a retraction makes. Raises GradcliError.

    load: returns the function at FILE.py:NAME.
    """
    from .custom import Custom

    if isinstance(text, Manifold):
        return text
    if callable(text):
        return Custom(getattr(text, "__name__", "retract"), text)
    if not isinstance(text, str):
        raise GradcliError(f"on: a manifold is a name such as SE3, or a retraction, not {type(text).__name__}")
    if ".py:" in text:
        if load is None:
            raise GradcliError(f"on: pass the function instead of its name, '{text}'")
        place, _, count = text.rpartition(":")
        return Custom(place, load(place), int(count)) if count.isdigit() else Custom(text, load(text))
    return named_manifold(text)


def named_manifold(text: str) -> Manifold:
    known, (name, *words) = kinds(), text.split(":")
    kind = {kind.lower(): kind for kind in known}.get(name.lower())
    if kind is None:
        hint = did_you_mean(name, known) or f"the manifolds are {', '.join(known)} and FILE.py:RETRACT"
        raise GradcliError(f"unknown manifold '{name}'", hint=hint, kind="name")
    make, allowed = known[kind]
    for word in words:
        if word not in allowed:
            choices = f"{kind} takes {', '.join(allowed)}" if allowed else f"{kind} takes no words"
            raise GradcliError(f"on: unknown word '{word}' in {text}", hint=did_you_mean(word, allowed) or choices)
    for choice in CHOICES:
        if len(twice := [word for word in dict.fromkeys(words) if word in choice]) > 1:
            raise GradcliError(f"on: {text} says both {twice[0]} and {twice[1]}", hint="leave one of them out")
    return make(text, frozenset(words))


def manifolds_of(on: Any, load: Callable[[str], Callable] | None = None) -> dict[str, Manifold]:
    """Return manifolds by input from a mapping, or from texts NAME=MANIFOLD. Raises GradcliError."""
    if isinstance(on, Mapping):
        pairs = list(on.items())
    else:
        pairs = [(name.strip(), text.strip()) for name, _, text in (str(word).partition("=") for word in on)]
    for name, text in pairs:
        if not isinstance(name, str) or not name or text == "":
            raise GradcliError(f"on: '{name}' is not of the form NAME=MANIFOLD", hint="write T=SE3")
    return {name: as_manifold(text, load) for name, text in pairs}
