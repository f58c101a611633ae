"""What a result was made from, so that the same command goes on with it and another one does not touch it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from typing import Any

import numpy as np

from ... import __version__
from ...errors import GradcliError
from ...whole_files import replacing
from .run import Sweep


def identity(sweep: Sweep, points: str, shard: tuple[int, int]) -> dict[str, Any]:
    """Return what the result depends on, in words of the command line. points: the file as the user named it."""
    target, q = sweep.target, sweep.question
    program: list[Any] = [target.text, target.inline, *target.argv]
    if target.text == "-":
        program.append(source_of(q.program))
    path = target.text.partition(".py:")[0] + (".py" if ".py:" in target.text else "")
    if not target.inline and os.path.isfile(path):
        with open(path, "rb") as file:
            program.append(hashlib.sha256(file.read()).hexdigest())
    return {
        "program": program,
        "table": [points, *sweep.points.fingerprint()],
        "--shard": list(shard),
        "values": {name: [list(np.shape(x)), digest(x)] for name, x in q.given.items()},
        "--out": list(q.outs),
        "--wrt": list(q.wrt),
        "--diag": q.diag,
        "--keep": list(sweep.kept),
        "--dtype": str(np.dtype(target.dtype)),
        "--engine": target.engine,
        "--torch": target.torch,
        "--seed": target.settings.seed,
        "version": __version__,
    }


def source_of(program: Any) -> str:
    """Return the text of a program that came on standard input."""
    return program.parsed.source


def digest(x: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest()[:16]


def is_record(document: Any) -> bool:
    if not isinstance(document, dict) or not isinstance(document.get("made from"), dict):
        return False
    block, bad = document.get("block"), document.get("not_finite")
    return isinstance(block, int) and block > 0 and (bad is None or isinstance(bad, int))


class Record:
    """OUTPUT.sweep.json, the file beside a result that says what it is made from and, in the end, how it went."""

    def __init__(self, output: str):
        self.output = output
        self.path = f"{output}.sweep.json"
        self.found: dict[str, Any] = {}
        if os.path.exists(output) or os.path.isdir(f"{output}.parts"):
            with contextlib.suppress(OSError, ValueError, RecursionError), open(self.path, encoding="utf-8") as file:
                document = json.load(file)
                self.found = document if is_record(document) else {}

    def check(self, wanted: dict[str, Any]) -> None:
        """Raise GradcliError where the output, whole or in parts, was made from something else."""
        known = self.found.get("made from")
        if known is None:
            return
        other = [name for name in wanted if json.loads(json.dumps(wanted[name])) != known.get(name)]
        if other:
            raise GradcliError(
                f"{self.output} was made with another {' and '.join(other)}",
                hint="name another output with -o, or begin anew with --restart",
                kind="usage",
            )

    def write(self, wanted: dict[str, Any], step: int, not_finite: int | None = None) -> None:
        """Note what the output is made from, by blocks of how many rows, and how it went once it is done."""
        document = {"made from": wanted, "block": step, "not_finite": not_finite}
        with replacing(self.path) as file:
            file.write(json.dumps(document, indent=1).encode())

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self.path)

    @property
    def not_finite(self) -> int | None:
        """The number of rows of a finished output that are not finite; None where it is not finished, or gone."""
        return self.found.get("not_finite") if os.path.exists(self.output) else None
