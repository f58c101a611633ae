"""Checked functions that misbehave: the other checks in the file keep their verdicts."""

import json
import random
import re
import textwrap
from pathlib import Path

from .outside import Attempt, group

HERE = Path(__file__).parent
DEEDS = tuple(line.encode().decode("unicode_escape") for line in (HERE / "deeds.txt").read_text().splitlines())
"""Statements that a function may run before it returns; fields in braces are filled at random."""
RETURNED = tuple((HERE / "returned.txt").read_text().splitlines())
DRAWN = {
    "signal": ("KILL", "TERM", "INT", "STOP", "SEGV", "PIPE", "ALRM", "CHLD", "HUP", "USR1", "PROF", "XCPU"),
    "number": ("0", "1", "3", "15", "64", "-1", "100"),
    "status": ("0", "1", "-1", "255", "70", "124", "None"),
    "strange": ("None", "'\\x1b[2J'", "b'x'", "object()", "(lambda *a, **k: 1 / 0)", "[]", "3", "print"),
    "flag": ("True", "False"),
    "fd": ("0", "1", "2", "3", "4", "5", "6", "7"),
    "limit": ("40", "60", "10 ** 6", "2 ** 31 - 1"),
    "limited": ("NOFILE", "FSIZE", "STACK", "NPROC"),
    "error": (
        "TimeoutError", "AssertionError", "UnicodeDecodeError('utf-8', b'x', 0, 1, 'x')", "3", "None",
        "ImportError(name='torch')",
    ),
    "few": ("0", "1", "3", "9", "20"),
    "returned": RETURNED,
}  # fmt: skip
BREAKS = re.compile(r"builtins|sys\.(modules|path|meta_path|path_hooks|settrace)\b|math\.isfinite|np\.sum =")
"""Statements that break Python itself, so that no message can explain what went wrong."""
FILE = """import sys
import numpy as np
import gradcli
@gradcli.check(at={{"x": [1.0, 2.0, 3.0]}}, grad=lambda x: 2 * x)
def first(x): return x @ x
def f(x):
    {deed}
    return x @ x
def g(x):
    {other}
    return 2 * x
def at(rng):
    {third}
    return {{"x": rng.normal(size=3)}}
@gradcli.check(at={{"x": [1.0, 2.0, 3.0]}}, grad=lambda x: 3 * x)
def wrong(x): return x @ x
gradcli.check(at={at}, name="hostile"{grad})(f)
@gradcli.check(at={{"x": [1.0, 2.0, 3.0]}}, grad=lambda x: 2 * x)
def last(x): return x @ x
@gradcli.check(at={{"x": (3,)}})
def engine(x): return (x * x).sum()
"""


def deed(rng: random.Random) -> str:
    return fill(rng, rng.choice(DEEDS))


def fill(rng: random.Random, text: str) -> str:
    drawn = {name: rng.choice(words) for name, words in DRAWN.items()}
    return text.format(**drawn)


def write(rng: random.Random, statements: str) -> None:
    """Write a file of five checks; the third does something hostile in one of its parts."""
    where = rng.choice(("deed", "deed", "deed", "other", "third"))
    if rng.random() < 0.2:
        statements = f"try:\n{textwrap.indent(statements, '    ')}\nexcept BaseException: pass"
    parts = dict.fromkeys(("deed", "other", "third"), "pass") | {where: statements.replace("\n", "\n    ")}
    Path("checks.py").write_text(
        FILE.format(
            **parts,
            at="at" if where == "third" else '{"x": [1.0, 2.0, 3.0]}',
            grad=", grad=g"
            if where == "other" or rng.random() < 0.6
            else rng.choice(("", ", vjp=lambda c, x: c * g(x)")),
        )
    )


def kept(folder: Path, out: str) -> str:
    """Return which verdicts of the other checks are lost or wrong, or ""."""
    found = {check["name"]: check["verdict"] for check in json.loads(out)["checks"]}
    right = {"first": "pass", "wrong": "fail", "last": "pass", "engine": "pass"}
    if "defect of gradcli" in out and not BREAKS.search((folder / "checks.py").read_text()):
        return f"a defect: {out[-600:]}"
    lost = {name: found.get(name) for name in right if found.get(name) != right[name]}
    return f"lost: {lost}: {out[-600:]}" if lost or "hostile" not in found else ""


@group
def functions(rng: random.Random, statements: str | None = None) -> Attempt:
    """Return a line that checks a file in which one function does something hostile."""
    write(rng, statements or deed(rng))
    line = f"gradcli gradcheck checks.py --json --timeout 3 -j {rng.choice((1, 4))}"
    return Attempt(line, codes=(1,), json=True, judge=kept, prints=True)
