"""Names in generated code: parameters keep their names where the language allows it, and all names differ."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..results.base import label

NamedShapes = Sequence[tuple[str, tuple[int, ...]]]
"""Name and shape of each input."""


def identifier(name: str) -> str:
    """Convert a name to an identifier of a programming language: net.0.weight becomes net_0_weight."""
    word = re.sub(r"\W", "_", name)
    return f"_{word}" if word[:1].isdigit() else word


def plain_identifier(name: str) -> str:
    """Convert a name to an identifier of ASCII letters and digits that begins with a letter; μ becomes mu."""
    spelled = "".join(c if c.isascii() else spell(c) for c in name)
    word = re.sub(r"\W", "_", spelled)
    return word if word[:1].isalpha() else f"v{word}"


def spell(character: str) -> str:
    """Return the last word of a character's name: mu for μ, MU for Μ."""
    words = unicodedata.name(character, "").split()
    if not words or not words[-1].isalpha():
        return f"u{ord(character):x}"
    return words[-1] if character.isupper() else words[-1].lower()


def doc(target: str) -> str:
    """Make a target safe inside a docstring or comment."""
    return " ".join(target.split()).replace("\\", "\\\\").replace('"""', "'''").replace("*/", "* /")


def nest_lists(words: list[str], shape: tuple[int, ...], left: str = "[") -> str:
    """Write texts as nested lists of the given shape. left: the opening bracket."""
    if not shape:
        return words[0]
    step = len(words) // shape[0] if shape[0] else 0
    rows = (words[i * step : (i + 1) * step] for i in range(shape[0]))
    return left + ", ".join(nest_lists(row, shape[1:], left) for row in rows) + "]"


class UniqueNames:
    """Chooses names for generated code: all different, and none reserved.

    kept: reserved names. spelling: converts a name to an identifier. fold_case: capital letters make no difference.
    parameters: the name in the code of each input. elements: its name, index and shape for each element.
    """

    def __init__(
        self,
        inputs: NamedShapes,
        kept: Iterable[str],
        spelling: Callable[[str], str] = identifier,
        fold_case: bool = False,
    ):
        self.fold = str.lower if fold_case else str
        self.taken = {self.fold(name) for name in kept}
        self.spelling = spelling
        self.parameters: dict[str, str] = {}
        legal = [name for name, _ in inputs if spelling(name) == name and self.fold(name) not in self.taken]
        for name in (*legal, *(n for n, _ in inputs if n not in legal)):  # names that can stay as they are come first
            self.parameters[name] = self.free(spelling(name))
        places = [(name, index, shape) for name, shape in inputs for index in np.ndindex(*shape)]
        self.elements = {label(n, index): (self.parameters[n], index, shape) for n, index, shape in places}

    def free(self, name: str) -> str:
        """Reserve a name, with underscores appended if it is taken."""
        while self.fold(name) in self.taken:
            name += "_"
        self.taken.add(self.fold(name))
        return name

    def derivative(self, name: str) -> str:
        """Reserve the name of a derivative: d_x."""
        return self.free(f"d_{self.spelling(name)}")

    def numbered(self, letter: str = "t") -> Iterable[str]:
        """Reserve t0, t1 and so on, without those that are taken."""
        number = 0
        while True:
            name = f"{letter}{number}"
            number += 1
            if self.fold(name) not in self.taken:
                yield self.free(name)
