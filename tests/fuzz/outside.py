"""Hostile surroundings for whole processes: a line of the shell in a folder of its own, and what may come of it."""

from __future__ import annotations

import contextlib
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

CODES = (0, 1, 2, 3, 4, 130)
"""The exit codes that the manual names."""
FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that a terminal would obey."""
OURS = re.compile(r'File "[^"]*/gradcli/\w+/.*", line')
"""A line of a traceback that is ours."""
PRELUDE = 'gradcli() { "$GRADCLI_PYTHON" -m gradcli "$@"; }; export -f gradcli\n'


class Attempt(NamedTuple):
    """A line for bash in which `gradcli` is the command, and how it may end.

    codes: exit codes of the line. seconds: what it may take. json: whether standard output holds a document of JSON.
    judge: told the folder and standard output, it returns what is wrong besides, "" for nothing. prints: whether code
    of the user's writes to standard error. variables: of the environment, None for one to be left out.
    """

    line: str
    codes: tuple[int, ...] = CODES
    seconds: float = 20.0
    json: bool = False
    judge: Callable[[Path, str], str] | None = None
    prints: bool = False
    variables: tuple[tuple[str, str | None], ...] = ()


Group = Callable[[random.Random], Attempt]


def run(attempt: Attempt, folder: Path) -> str:
    """Run a line of the shell in a folder; return what is wrong with how it ends, "" for nothing."""
    kept = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONPATH": os.getcwd()}
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
        raw, words = process.communicate(timeout=attempt.seconds)
    except subprocess.TimeoutExpired:
        return f"no end within {attempt.seconds:g} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    out, err = raw.decode("utf-8", "replace"), words.decode("utf-8", "replace")
    return complaint(attempt, process.returncode, out, err) or (attempt.judge(folder, out) if attempt.judge else "")


def complaint(attempt: Attempt, code: int, out: str, err: str) -> str:
    """Return what is wrong with an exit code and what was printed."""
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


def attempts(make: Group, seed: int, count: int) -> list[tuple[str, str]]:
    """Run so many lines of a group; return those that end badly, and how."""
    found = []
    for number in range(count):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            folder = Path(place)
            before = os.getcwd()
            rng = random.Random(f"{make.__name__} {seed} {number}")
            os.chdir(folder)
            try:
                attempt = make(rng)
            finally:
                os.chdir(before)
            problem = run(attempt, folder)
        if problem:
            found.append((attempt.line, problem))
    return found


def report(groups: dict[str, Group]) -> None:
    """Run groups from a command line: SEED COUNT [GROUP...]; print those lines that end badly."""
    for name in sys.argv[3:] or groups:
        start = time.monotonic()
        bad = attempts(groups[name], int(sys.argv[1]), int(sys.argv[2]))
        print(f"{name}: {len(bad)} of {sys.argv[2]} in {time.monotonic() - start:.0f} s", flush=True)
        for line, why in bad:
            print("  ", line, "\n      ", why.replace("\n", "\n       "), flush=True)
