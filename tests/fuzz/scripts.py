"""Random scripts in PyTorch's names, run by PyTorch and by this engine in one process.

The notes of a script (values, gradients, what hooks see) and the types of its errors must be the same.
`python -m tests.fuzz.scripts SEED COUNT` prints the scripts that differ, shortened as far as possible.
"""

import contextlib
import itertools
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HEAD = """import torch
from torch import nn
from torch.nn import functional as F
torch.set_default_dtype(torch.float64)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 6))
with torch.no_grad():
    for p in net.parameters():
        p.copy_(torch.linspace(-1, 1, p.numel()).reshape(p.shape))
"""
LEAVES = {"x": (2, 3), "y": (2, 3), "z": (3,), "w": ()}
EVENTS = {"same": 6, "scalar": 3, "shape": 5, "write": 4, "hook": 1, "hooked": 2, "backward": 3, "grad": 2}
"""Kinds of statements, and their weights."""


def read_patterns() -> dict[str, list[str]]:
    """Return the patterns of statements by kind: what they make or do, or for reshapes, the shapes (`2x3 to 3`).

    a and b are tensors of the same shape, s has a single element, x is a leaf.
    """
    patterns: dict[str, list[str]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.startswith("== "):
            kind = patterns.setdefault(line[3:], [])
        else:
            kind.append(line)
    return patterns


def shape_of(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split("x"))


PATTERNS = read_patterns()
RESHAPES: dict[tuple[int, ...], list[tuple[tuple[int, ...], list[str]]]] = {}
"""Shape of an operand -> shapes of results, with their patterns."""
for kind, patterns in PATTERNS.items():
    if " to " in kind:
        before, after = map(shape_of, kind.split(" to "))
        RESHAPES.setdefault(before, []).append((after, patterns))


def make_script(seed: int) -> list[str]:
    """Return the statements of a script: leaves, then random statements, then notes of everything that has a name."""
    rng = random.Random(seed)
    lines, shapes = [HEAD], dict(LEAVES)
    for name, shape in LEAVES.items():
        numbers = np.round(np.random.default_rng(seed).normal(size=shape) * 1.3, 2).tolist()
        lines.append(f"{name} = torch.tensor({numbers}, requires_grad={name != 'y' or rng.random() < 0.5})")
    lines.append("m = x * z + w; v = z.tanh() * w; s = (m * m).mean()")
    shapes |= {"m": (2, 3), "v": (3,), "s": ()}
    for number in range(rng.randint(4, 24)):
        made = f"t{number}"
        line, shape = make_statement(rng, made, shapes)
        if shape is not None:
            shapes[made] = shape
        lines.append(line)
    return [*lines, *(f"note('{name}', {name}); note('{name}.grad', {name}.grad)" for name in shapes)]


def make_statement(rng: random.Random, made: str, shapes: dict[str, tuple[int, ...]]) -> tuple[str, Any]:
    """Return a statement, and the shape of the tensor that it makes, or None if it makes none."""
    recent = list(shapes)[len(LEAVES) if rng.random() < 0.9 else 0 :][-8:]
    a = rng.choice([name for name in recent if shapes[name]] or ["m"])
    shape: Any = shapes[a]
    kind = rng.choices(list(EVENTS), list(EVENTS.values()))[0]
    if kind == "shape":
        shape, patterns = rng.choice(RESHAPES[shape])
    else:
        patterns = PATTERNS[kind]
    names = {
        "a": a,
        "made": made,
        "b": rng.choice([name for name, other in shapes.items() if other == shapes[a]]),
        "s": rng.choice([name for name, other in shapes.items() if not other][-3:]),
        "x": rng.choice("xz"),
    }
    shape = {"scalar": (), "grad": shapes[names["x"]], "write": None, "hook": None, "backward": None}.get(kind, shape)
    line = rng.choice(patterns).format(**names)
    if shape is not None:
        line = f"{made} = {line}"
    return (f"with torch.no_grad(): {line}" if kind in ("same", "write") and rng.random() < 0.12 else line), shape


def run(lines: list[str], ours: bool) -> list[tuple[str, Any]]:
    """Return the notes of a script, and the types and texts of the errors that its statements raise."""
    from gradcli.user.torch_names import as_torch

    notes: list[tuple[str, Any]] = []

    def note(name: str, x: Any) -> None:
        notes.append((name, None if x is None else (x.detach().tolist(), x.requires_grad)))

    space = {"note": note, "seen": note, "__name__": "__main__"}
    with warnings.catch_warnings(), as_torch() if ours else contextlib.nullcontext():
        warnings.simplefilter("ignore")
        for line in lines:
            try:
                exec(line, space)
            except Exception as problem:
                notes.append((f"error {type(problem).__name__} in {line.strip()}", str(problem)))
    return notes


ALLOWED = (
    "modified by an inplace operation",
    "through the graph a second time",
    "refers to a single memory location",
    "was created in no_grad mode",
)
"""Errors that may occur only in PyTorch, since this engine saves other tensors and shares memory differently."""


def difference(lines: list[str]) -> str:
    """Return the first difference between the two runs of a script, or ""."""
    theirs, mine = run(lines, False), run(lines, True)
    for (name, want), (own, got) in itertools.zip_longest(theirs, mine, fillvalue=("the end", "")):
        if name != own and name.startswith("error") and any(text in want for text in ALLOWED):
            return ""  # from here on they need not agree
        if name == own and name.startswith("error") and "a second time" in want:
            return ""  # which leaves get a gradient before backward fails is not compared
        if name != own or not same(want, got):
            return f"{name}: {want}\nours: {own}: {got}"
    return ""


def same(want: Any, got: Any) -> bool:
    """Return whether two notes are the same: two errors, two absent tensors, or two tensors with equal numbers.

    Whether zeros require grad is not compared, since they have no gradient.
    """
    if not isinstance(want, tuple) or not isinstance(got, tuple):
        return type(want) is type(got)
    first, second = np.asarray(want[0]), np.asarray(got[0])
    return (
        (want[1] == got[1] or not first.any())
        and first.shape == second.shape
        and np.allclose(second, first, rtol=1e-9, atol=1e-11, equal_nan=True)
    )


def shorten(lines: list[str]) -> list[str]:
    """Remove the statements from a script that it does not need in order to differ."""
    for place in range(len(lines) - 1, 0, -1):
        shorter = lines[:place] + lines[place + 1 :]
        if "NameError" not in (difference(shorter) or "NameError"):
            lines = shorter
    return lines


def differences(start: int, count: int) -> dict[int, str]:
    """Return, by seed, the shortened scripts that differ, with their difference."""
    found = {}
    for seed in range(start, start + count):
        if difference(lines := make_script(seed)):
            lines = shorten(lines)
            found[seed] = "\n".join(lines[1:]) + "\n# " + difference(lines).replace("\n", "\n# ")
    return found


if __name__ == "__main__":
    found = differences(int(sys.argv[1]), int(sys.argv[2]))
    for seed, text in found.items():
        print(f"-- {seed}\n{text}")
    print(f"{len(found)} of {sys.argv[2]} differ")
