"""The texts that name a manifold: SE3, quaternion:left:xyzw, FILE.py:retract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import GradcliError, did_you_mean
from .custom import Custom
from .groups import QUATERNION_WORDS, SO3, SO3_WORDS, Quaternion
from .manifold import SIDES, Manifold
from .poses import SE3, SE3_WORDS
from .riemannian import METRICS, SPD, Sphere, Stiefel, Unit


def kinds() -> dict[str, tuple[Callable[..., Manifold], tuple[str, ...]]]:
    """Return what makes each kind of manifold, with the words that it takes, by name."""
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
            choices = (
                f"{kind} takes {', '.join(allowed)}"
                if allowed
                else f"{kind} has only one convention: leave out ':{word}'"
            )
            raise GradcliError(
                f"on: unknown convention '{word}' in {text}", hint=did_you_mean(word, allowed) or choices
            )
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
