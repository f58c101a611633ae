"""Run random hostile command lines and environments by group, each in its own folder."""

import contextlib
import io
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from gradcli.cli.main import main

FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters that a terminal would interpret."""
OURS = re.compile(r'File "[^"]*/gradcli/\w+/.*", line')
"""A line of a traceback from our code."""
PRELUDE = 'gradcli() { "$GRADCLI_PYTHON" -m gradcli "$@"; }; export -f gradcli\n'
ROOT = Path(__file__).parents[2]


class Attempt(NamedTuple):
    """A line for bash, in which `gradcli` is the command, and how it may end.

    codes: allowed exit codes, those in the manual. seconds: time limit. json: whether standard output must be JSON.
    judge: takes the folder and standard output, and returns what else is wrong, or "". prints: whether user code
    writes to standard error. variables: environment variables to set, or to remove if None.
    """

    line: str
    codes: tuple[int, ...] = (0, 1, 2, 3, 4, 130)
    seconds: float = 20.0
    json: bool = False
    judge: Callable[[Path, str], str] | None = None
    prints: bool = False
    variables: tuple[tuple[str, str | None], ...] = ()


Group = Callable[[random.Random], Attempt | list[str]]
GROUPS: dict[str, Group] = {}


def group(make: Group) -> Group:
    """Register a function that writes files into the current folder and returns a line, or words for this process."""
    GROUPS[make.__name__] = make
    return make


def words(line: str, **given: object) -> list[str]:
    """Split a line into words, then fill the fields in braces, whose values may contain spaces."""
    return [word.format(**given) for word in line.split()]


def run(attempt: Attempt, folder: Path) -> str:
    """Run a shell line in a folder; return what is wrong with how it ends, or ""."""
    kept = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    kept.update(attempt.variables, GRADCLI_PYTHON=sys.executable)
    process = subprocess.Popen(
        ["bash", "-c", PRELUDE + attempt.line],
        cwd=folder,
        env={name: text for name, text in kept.items() if text is not None},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        raw, said = process.communicate(timeout=attempt.seconds)
    except subprocess.TimeoutExpired:
        return f"no end within {attempt.seconds:g} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    out, err = raw.decode("utf-8", "replace"), said.decode("utf-8", "replace")
    return complaint(attempt, process.returncode, out, err) or (attempt.judge(folder, out) if attempt.judge else "")


def run_here(typed: list[str]) -> str:
    """Run a command line in this process; return what is wrong with how it ends, or ""."""
    start = time.monotonic()
    written, said = io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape"), io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(said):
        code = main(typed)
    seconds = time.monotonic() - start
    written.seek(0)
    out, err = written.buffer.read().decode("utf-8", "replace"), said.getvalue()
    form = dict(itertools.pairwise(typed))
    asks_json = "--json" in typed or "json" in [form.get(flag) for flag in ("-f", "-qf", "--format")]
    attempt = Attempt(" ".join(typed), json=asks_json and not {"-o", "--output"} & form.keys())
    if "Traceback" in err or seconds > attempt.seconds or (code > 1 and not (out + err).strip()):
        return f"exit code {code} after {seconds:.0f} s: {err[-600:]}"
    if not asks_json and FORBIDDEN.search(out) and not {"npz", "npy", "png"} & set(typed):
        return f"control characters in {out[:300]!r}"
    return complaint(attempt, code, out, err)


def complaint(attempt: Attempt, code: int, out: str, err: str) -> str:
    """Return what is wrong with the exit code and the output, or ""."""
    if code not in attempt.codes:
        return f"exit code {code}\n{out[-300:]}\n{err[-900:]}"
    if OURS.search(err) or "has a defect" in out + err or (not attempt.judge and "defect of gradcli" in out):
        return f"a traceback\n{out[-300:]}\n{err[-900:]}"
    if not attempt.prints and (found := FORBIDDEN.search(err)):
        return f"control character {found[0]!r} in {err[-300:]!r}"
    if attempt.json:
        try:
            json.loads(out)
        except ValueError as error:
            return f"no JSON ({error}): {out[:200]!r}\n{err[-300:]}"
    return ""


def attempts(name: str, seed: int, count: int) -> list[tuple[str | list[str], str]]:
    """Run `count` attempts of a group, each in its own folder; return those that end badly, and how."""
    found: list[tuple[str | list[str], str]] = []
    rng = random.Random(f"{name} {seed}")
    for _ in range(count):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, contextlib.chdir(folder):
            attempt = GROUPS[name](rng)
            if isinstance(attempt, Attempt):
                line, problem = attempt.line, run(attempt, Path(folder))
            else:
                line = [word for word in attempt if word]
                problem = run_here(line)
        if problem:
            found.append((line, problem))
    return found
