"""Run a command unchanged, and collect what its processes report on the derivatives that they use."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import gradcli

from ..errors import GradcliError
from ..results.steps import StepSummary
from ..results.studies import WatchedDerivative, WatchSummary
from ..user.forks import handling, in_foreground
from ..user.project import what_to_lend
from .step_summary import StepOptions, summarize

HOSTS = str(Path(__file__).with_name("in_command"))
"""The folder of the modules that run inside the command, in any version of Python."""
BOOTSTRAP = "gradcli_importlib_bootstrap"
VERDICT_RANK = ("fail", "pass", "inconclusive", "error")
"""If verdicts differ between points, the first of these counts: a decision at one point is a decision."""


class WatchedRun(NamedTuple):
    """Result of a watched command. interrupted: while waiting for reports. problem: why no step could be checked."""

    summary: WatchSummary | StepSummary
    troubles: tuple[str, ...]
    interrupted: bool
    problem: GradcliError | None = None


def watch_command(
    command: Sequence[str],
    points: int,
    calls: int | None,
    timeout: float,
    seconds: float | None = None,
    steps: StepOptions | None = None,
    rules: bool = True,
    on_wait: Callable[[str], AbstractContextManager] | None = None,
) -> WatchedRun:
    """Run a command, and check its derivatives at `points` of their uses, with at most `calls` calls each.

    timeout: seconds for each check. seconds: for all checks of a process, None for as long as it ran. steps: check
    training steps. rules: check derivatives, too. on_wait: called with the folder of the notes; what it returns is
    active while the command runs.
    """
    folder = tempfile.mkdtemp(prefix="gradcli-watch-")
    try:
        home = str(Path(gradcli.__file__).parent)
        settings = {"folder": folder, "points": points, "calls": calls, "timeout": timeout, "gradcli": home}
        settings["seconds"] = seconds
        settings["lent"], settings["rules"] = what_to_lend(), rules
        settings |= {"loss": None} if steps is None else steps._asdict()
        place = Path(folder, "settings.json")
        place.write_text(json.dumps(settings), encoding="utf-8")
        with nullcontext() if on_wait is None else on_wait(folder):
            status = run_to_end(command, {**environment_with(BOOTSTRAP), "GRADCLI_WATCH": str(place)})
        if status == 0 and not Path(folder, "python").exists():
            raise not_watched(command)
        interrupted = wait_for_checks(Path(folder))
        reports = [read_report(report) for report in sorted(Path(folder).glob("report-*"))]
        troubles = tuple(report.pop("trouble") for report in reports if "trouble" in report)
        found = tuple(merge(x for report in reports for x in report.values() if isinstance(x, WatchedDerivative)))
        seconds = sum(item.report.seconds for item in found)
        if steps is not None:
            summary, problem = summarize(steps, " ".join(command), reports, found, status)
            return WatchedRun(summary, troubles, interrupted, problem)
        return WatchedRun(WatchSummary(" ".join(command), found, seconds, status), troubles, interrupted)
    finally:
        end_checks(Path(folder))
        shutil.rmtree(folder, ignore_errors=True)


def not_watched(command: Sequence[str]) -> GradcliError:
    """Return the error for a command in which no Python was watched."""
    program, *words = command
    options = itertools.takewhile(lambda word: word.startswith("-"), words)
    isolated = next((word for word in options if re.match("-[^cmWX-]*[EIS]", word)), None)
    if isolated is not None and os.path.basename(program).startswith("python"):
        hint = "run it without -I, -E and -S: with them, Python does not load watch"
        return GradcliError(f"{program} {isolated} cannot be watched", hint=hint)
    hint = "watch a command such as python fit.py or pytest -q; python -I, -E and -S cannot be watched"
    return GradcliError(f"'{' '.join(command)}' did not run Python, so there was nothing to watch", hint=hint)


def wait_for_checks(folder: Path) -> bool:
    """Wait for the processes that check the notes; report whether a signal ended the wait."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    try:
        with handling(dict.fromkeys(ENDING, interrupt)):
            for report in sorted(folder.glob("report-*")):
                with open(report, "rb") as file:  # locked until the process that writes it has ended
                    fcntl.flock(file, fcntl.LOCK_SH)
    except KeyboardInterrupt:
        return True
    return False


def end_checks(folder: Path) -> None:
    """End the processes that still check notes."""
    for path in folder.glob("report-*"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                if (number := read_report(path).get("checker")) is not None:
                    os.kill(number, signal.SIGKILL)


def run_to_end(command: Sequence[str], environment: dict[str, str]) -> int:
    """Run a command and return its exit code, 128 + n for signal n. Signals to gradcli are passed on to it."""
    process: subprocess.Popen | None = None

    def pass_on(number: int, _: object) -> None:
        if process is not None and not (number == signal.SIGINT and in_foreground()):
            process.send_signal(number)

    with handling(dict.fromkeys(ENDING, pass_on)):
        process = start_command(command, env=environment)
        status = process.wait()
    return status if status >= 0 else 128 - status


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def read_report(path: Path) -> dict[Any, Any]:
    """Return the last report of a process on each of its derivatives, and the error that stopped it, if any."""
    found: dict[Any, Any] = {}
    with open(path, "rb") as file, contextlib.suppress(EOFError, pickle.UnpicklingError):
        while True:  # to the end, or to an incomplete report of a process that was killed
            found.update([pickle.load(file)])
    return found


def merge(found: Iterable[WatchedDerivative]) -> list[WatchedDerivative]:
    """Return each derivative once, with the report that comes first in VERDICT_RANK, ordered by file and line."""
    merged: dict[tuple, WatchedDerivative] = {}
    for item in found:
        key = (item.report.file, item.report.line, item.name, item.role)
        same = merged.get(key)
        worst = item if same is None else min(same, item, key=lambda each: VERDICT_RANK.index(each.report.verdict))
        points, calls = item.points + (same.points if same else 0), item.calls + (same.calls if same else 0)
        merged[key] = worst._replace(points=points, calls=calls)
    return sorted(merged.values(), key=lambda item: (item.report.file or "", item.report.line or 0, item.role))


def environment_with(host: str) -> dict[str, str]:
    """Return an environment in which every Python loads a module from HOSTS: see sitecustomize there."""
    path = os.pathsep.join(filter(None, [HOSTS, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "GRADCLI_HOST": host}


def start_command(command: Sequence[str], **how: Any) -> subprocess.Popen:
    """Start a command. Raises GradcliError if it cannot be run."""
    try:
        return subprocess.Popen(command, **how)
    except OSError as error:
        raise GradcliError(f"cannot run {command[0]}: {error.strerror}") from None
