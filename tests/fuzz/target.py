"""What is fuzzed: the command line on expressions and programs, the value parser, and the readers of files.

An input is one letter that chooses what reads the rest:
`e` + a character that chooses the command + an expression; `v` + a value; `f` + a character that chooses the type of
file + its bytes. Any of them must end well or with an error that says something, within SECONDS of processor time.
"""

import ast
import re
import signal
import tempfile
import warnings
from pathlib import Path

import numpy as np

from gradcli.errors import GradcliError
from gradcli.lang.files import READERS
from gradcli.lang.values import read_value
from gradcli.request import Request
from gradcli.tape.dtypes import defaults, set_default_dtype

from .outside import run_here

SECONDS = 30
LIMIT = 20_000
GIVEN = {"x": "2.5", "y": "[1, -2, 3]", "A": "[[4, 1], [1, 3]]", "v": "[0.5, 1]", "n": "0", "z": "1+2j"}
WAYS = (
    "grad", "jacobian", "hessian", "hvp -t x=1", "jvp -t x=1", "vjp", "gradcheck", "graph --values", "trace",
    "symbolic --timeout 1", "symbolic --timeout 1 -f latex --steps", "grad --json --retain-all --hook x=g*2",
    "grad -f latex --digits 15", "grad --check --out a", "grad -g [1,2] --wrt x",
    "grad --dtype complex128 --detect-anomaly", "jacobian --sparse -f table", "grad --dtype float32 -f npz -o -",
    "plot --over x=-1:1 --points 5",
)  # fmt: skip
SCALAR = ("grad", "hessian", "hvp", "trace")
KINDS = (*READERS, ".expr")
FOLDER = Path(tempfile.mkdtemp(prefix="fuzz"))
KEPT = [ast.literal_eval(line) for line in (Path(__file__).parent / "corpus.txt").read_text().splitlines() if line]
"""The inputs that are kept: one a line, as Python writes bytes."""


class TooSlowError(BaseException):
    """Nothing but the fuzzer may catch it."""


def run(data: bytes) -> None:
    """Run one input. Raises what is a finding: anything but an error that says something, or TooSlowError."""
    kind, way, rest = data[:1], data[1:2], data[2:]
    signal.signal(signal.SIGVTALRM, too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        if kind == b"f":
            run_file(KINDS[ord(way or b"0") % len(KINDS)], rest)
        elif kind == b"v":
            reading(way.decode(errors="replace") + rest.decode(errors="replace"))
        else:
            run_command(WAYS[ord(way or b"0") % len(WAYS)], rest.decode(errors="replace"))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def too_slow(*_: object) -> None:
    raise TooSlowError


def reading(text: str) -> None:
    try:
        read_value(text, Request(max_elements=LIMIT), "x")
    except GradcliError as error:
        assert error.message
        assert error.exit_code in (2, 3)


def run_file(kind: str, content: bytes) -> None:
    path = FOLDER / f"data{kind}"
    path.write_bytes(content)
    if kind == ".expr":
        run_command("grad", str(path))
    else:
        reading(f"@{path}")


def run_command(way: str, text: str) -> None:
    """Run the command line, with values for the inputs that the text names and does not bind."""
    names = [n for n in GIVEN if re.search(rf"\b{n}\b", text) and not re.search(rf"(^|[;\n]) *{n} *=", text)]
    target = [text] if text.startswith(str(FOLDER)) else ["-e", text]
    if way.split()[0] in SCALAR and not re.search(r"[=;\n]", text) and target != [text]:
        target = ["-e", f"sum(real({text}))"]
    values = [] if target == [text] else [f"{n}={GIVEN[n]}" for n in names]
    before, shown = defaults.float, warnings.showwarning
    try:
        with np.errstate():
            problem = run_here([*way.split(), "--max-elements", str(LIMIT), *target, *values])
    finally:  # what a process would take with it
        set_default_dtype(before)
        warnings.showwarning = shown
    assert not problem, problem
