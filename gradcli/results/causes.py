"""Findings by name: what each means, an example, and how to fix it. `gradcli help RULE` prints a page.

The table is in causes.toml. Add an entry there for each new kind of finding, including those of `why`, in the group
of the command that reports it.
"""

import functools
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import EXIT_FAIL, EXIT_OK
from .base import Rows, declare


class Cause(NamedTuple):
    """A finding; causes.toml explains the fields."""

    name: str
    title: str
    meaning: str
    fix: str
    wrong: str
    right: str
    group: str = "gradcheck"
    also: Sequence[str] = ()
    text: str = ""
    ops: str = ""
    units: float = 0.0

    @property
    def page(self) -> str:
        wrong, right = ("\n".join(f"    {line}" for line in code.split("\n")) for code in (self.wrong, self.right))
        names = ", ".join((self.name, *self.also))
        parts = [f"{names} - {self.title} (gradcli {self.group})", self.meaning, f"For example:\n\n{wrong}"]
        return "\n\n".join([*parts, f"Fix: {self.fix}.", f"Corrected:\n\n{right}"]) + "\n"


@functools.cache
def causes() -> dict[str, Cause]:
    """Return the causes by name; a cause with several names is listed under each."""
    with open(Path(__file__).with_name("causes.toml"), "rb") as file:
        pages = [Cause(name, **entry) for name, entry in tomllib.load(file).items()]
    return {name: page for page in pages for name in (page.name, *page.also)}


@declare(json="name state rule file line text fix")
class Explained(NamedTuple):
    """Explanation of one tensor's gradient.

    state: ok, none, zero, nan or inf. rule: a cause's name; a gradient that is ok has one if it is not used. code: the
    source of the script's line. text: what happened there, or the size of a gradient that is fine. returned: whether it
    is what autograd.grad() returned, not a `.grad`.
    """

    name: str
    state: str
    rule: str | None = None
    file: str | None = None
    line: int | None = None
    text: str = ""
    fix: str | None = None
    code: str = ""
    share: str = ""
    returned: bool = False

    @property
    def is_fine(self) -> bool:
        return self.state == "ok" and self.rule is None


@declare(json="gradients", columns=("name", "state", "rule", "file", "line", "text", "fix"))
class Explanation(NamedTuple):
    """The gradients of a script. unseen: why there are none, if not because no tensor requires grad."""

    target: str
    gradients: tuple[Explained, ...]
    unseen: str = ""

    def rows(self) -> Rows:
        for item in self.gradients:
            line = "" if item.line is None else str(item.line)
            yield (item.name, item.state, item.rule or "", item.file or "", line, item.text, item.fix or "")

    @property
    def notes(self) -> Sequence[str]:
        empty = self.unseen or "nothing to report: the script has no named leaf tensor that requires grad"
        return () if self.gradients else (empty,)

    @property
    def exit_code(self) -> int:
        return EXIT_OK if all(item.is_fine for item in self.gradients) else EXIT_FAIL
