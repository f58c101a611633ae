"""What the command line asks of its checks."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...errors import GradcliError
from ...program.target import Target
from ..check import Check


class Wanted(NamedTuple):
    """What the options of `gradcheck` ask for.

    values: arrays by input; shapes: inputs drawn at random; grad, vjp, jvp: names of hand-written derivatives;
    value_and_grad: whether the function returns both. options: those of `Options` that every check gets. timeout,
    config: seconds for an answer and JSON for what runs elsewhere. typed: the values as they were typed; repeated:
    the options that repeat a check, as they would be typed.
    """

    values: Mapping[str, np.ndarray]
    shapes: Mapping[str, tuple[int, ...]] = {}
    grad: str | None = None
    vjp: str | None = None
    jvp: str | None = None
    value_and_grad: bool = False
    wrt: list[str] | None = None
    out: str | None = None
    options: Mapping[str, Any] = {}
    timeout: float | None = None
    config: str | None = None
    typed: Mapping[str, str] = {}
    repeated: str = ""

    @property
    def at(self) -> dict[str, Any]:
        """The inputs: arrays and shapes by name."""
        return {**self.values, **self.shapes}

    @property
    def claims(self) -> dict[str, str | None]:
        """The names of derivatives by hand, by their option."""
        return {"grad": self.grad, "vjp": self.vjp, "jvp": self.jvp}

    def refuse_for(self, path: str) -> None:
        """Raise GradcliError for options that a file's declared checks cannot use: they have points of their own."""
        given = {
            **{f"{name}=": name for name in self.values},
            **{f"--shape {name}": name for name in self.shapes},
            "--grad": self.grad,
            "--vjp": self.vjp,
            "--jvp": self.jvp,
            "--value-and-grad": self.value_and_grad or None,
            "--wrt": self.wrt,
            "--out": self.out,
        }
        for option, value in given.items():
            if value is not None:
                raise GradcliError(
                    f"{path} declares its checks with their inputs, so {option} has no use",
                    hint=f"name a function to check it elsewhere: {path}:f x=2",
                    kind="usage",
                )

    def replay(self, target: Target) -> str:
        """Return the command line that repeats the check of a target, but for its seed.

        Few numbers are written out, more are read or drawn again, unless the seed of samples draws others.
        """
        words = ["-e", target.text] if target.inline else [target.text]
        several = sum("rand" in text for text in self.typed.values()) > 1  # they follow each other
        for name, x in self.values.items():
            typed = self.typed.get(name, "")
            drawn = "rand" in typed
            again = typed and (np.size(x) > 12 or (several and drawn)) and not (self.shapes and drawn)
            words.append(f"{name}={typed if again else np.asarray(x).tolist()}")
        return " ".join(["gradcli gradcheck", *map(shlex.quote, words), self.repeated]).rstrip()


def only_given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those that are None."""
    return {name: value for name, value in options.items() if value is not None}


def surroundings_of(target: Target) -> Any:
    """Return the context that a program runs in: the surroundings of the file that defines a function."""
    path, colon, _ = target.text.partition(".py:")
    if target.inline or not colon:
        return contextlib.nullcontext()
    assert target.folders is not None
    return target.folders.of(path + ".py")


def with_options(check: Any, wanted: Wanted) -> Any:
    """Return a check with the options of the command line; a report as it is."""
    if isinstance(check, Check):
        check.options = check.options._replace(**wanted.options)
    return check
