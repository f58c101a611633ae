"""The switch that gives small float32 tensors the last digits that PyTorch gives: scripts for PyTorch turn it on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import entry
from .sums import order
from .table import Primitive
from .torch_forms import FORMS, ONCE, rounded_once
from .vectors import FEW

PLAIN = (int, float, bool, tuple)
usual: dict[Primitive, dict[str, Any]] = {}
"""What the entries were before they were given PyTorch's digits."""


def fits(*xs: Any) -> bool:
    """Return whether operands are few float32 numbers; beside them there may be Python's numbers, shapes and None."""
    found = False
    for x in xs:
        if isinstance(x, np.ndarray | np.generic):
            if x.dtype.char != "f" or not 0 < x.size < FEW:
                return False
            found = True
        elif x is not None and type(x) not in PLAIN:
            return False
    return found


def where_fitting(form: Callable, other: Callable | None) -> Callable:
    """Return a function that takes a form for few float32 numbers; else, or where that gives None, the other one.

    Without another function it gives None, too: then its caller has to compute from the rules.
    """

    def function(*xs: Any, **params: Any) -> Any:
        found = form(*xs, **params) if fits(*xs) else None
        return other(*xs, **params) if found is None and other is not None else found

    return function


def use_torch_digits(wanted: bool) -> None:
    """Have few float32 numbers get PyTorch's last digits from now on, or NumPy's again."""
    order.pytorch = wanted
    if wanted == bool(usual):
        return
    if not wanted:
        for primitive, before in usual.items():
            primitive.become(**before)
        return usual.clear()
    for name in {**dict.fromkeys(ONCE), **FORMS}:
        primitive, forms = entry(name), FORMS.get(name, {})
        changes: dict[str, Any] = {}
        if name in ONCE or "forward" in forms:
            form = forms.get("forward") or rounded_once(primitive.forward)
            changes["forward"] = where_fitting(form, forms.get("otherwise", primitive.forward))
        if "rules" in forms:
            changes["rules"] = tuple(map(where_fitting, forms["rules"], primitive.rules))
        for kind in {"cotangent", "pair"} & forms.keys():
            changes[kind] = where_fitting(forms[kind], getattr(primitive, kind))
        usual[primitive] = {kind: getattr(primitive, kind) for kind in changes}
        primitive.become(**changes)
