"""Wrong gradients as people write them, each with its right form and words that a true report contains.

A case is a class that serves as a namespace: `f`; the wrong derivative, called `grad`, `vjp` or `jvp` after its form;
`right`, the same without the mistake; `at`, the inputs (shapes stand for normally distributed numbers); `says`, words
of which a report must contain one. A docstring says what is wrong. local: what a report can name holds in the branch
of the point only. fixable: whether one edit of the source repairs it, in principle.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module

import numpy as np

AREAS = ("activations", "losses", "networks", "matrices", "physics", "statistics", "grids", "rotations", "plain")
FORMS = ("grad", "vjp", "jvp")


class Case:
    """A case of the bank. form: grad, vjp or jvp; wrong, right: the two derivatives in this form."""

    def __init__(self, area: str, space: type):
        self.name, self.space, self.area = space.__name__, space, area
        self.form = next(form for form in FORMS if form in vars(space))
        self.f, self.wrong, self.right = space.f, getattr(space, self.form), space.right
        self.wrt = getattr(space, "wrt", None)
        self.elementwise = getattr(space, "elementwise", False)
        says = getattr(space, "says", ())
        self.says = (says,) if isinstance(says, str) else says
        self.local = getattr(space, "local", False)
        self.fixable = getattr(space, "fixable", True)
        self.file = inspect.getsourcefile(space)

    def at(self, seed: int = 0) -> dict:
        rng = np.random.default_rng(seed)
        given = self.space.at(rng) if callable(self.space.at) else self.space.at
        drawn = {n: rng.standard_normal(x) if isinstance(x, tuple) else x for n, x in given.items()}
        return {n: np.asarray(x, float) if isinstance(x, list) else x for n, x in drawn.items()}


def cases(*areas: str) -> Iterator[Case]:
    for area in areas or AREAS:
        module = import_module(f"{__name__}.{area}")
        for space in list(vars(module).values()):
            if isinstance(space, type) and space.__module__ == module.__name__:
                yield Case(area, space)
