"""How many wrong versions of a function a command notices: each is run in memory, and no file changes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import GradcliError
from ..program.target import read_source, split_name
from ..show.study_results import MutantRun, Mutation
from .mutants import Mutant, SourceFunction, numeric_mutants, source_mutants
from .watch import environment_with, start_command

EQUAL = 1e-14
"""A relative difference at all points that makes a mutant equal to the original."""
PATIENCE, LEAST_SECONDS = 5.0, 10.0
"""How many times longer than without a mutant a run may take, and how long at least."""


class Mutator:
    """Runs a command with the mutants of a function. Use as a context, which leaves nothing behind."""

    def __init__(self, path: str, name: str, command: Sequence[str]):
        self.path, self.name, self.command = path, name, list(command)
        self.function = SourceFunction(read_source(path), name.split("."), path)
        self.mutants: list[Mutant] = [*numeric_mutants(self.function), *source_mutants(self.function)]
        self.folder = ""
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> Mutator:
        self.folder = tempfile.mkdtemp(prefix="gradcli-mutate-")
        job = {
            "file": os.path.realpath(self.path),
            "names": self.function.code_names,
            "line": self.function.line,
            "original": self.function.source,
            "record": self.function.recording(),
            "mutants": [{"kind": m.kind, "source": m.source} for m in self.mutants],
            "folder": self.folder,
        }
        (Path(self.folder) / "job.json").write_text(json.dumps(job), encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, which: str) -> dict[str, str]:
        """Return the environment of the command: without files that are left, and pytest importing as Python does."""
        pytest_options = f"{os.environ.get('PYTEST_ADDOPTS', '')} -x --assert=plain -o cache_dir={self.folder}/cache"
        return {
            **environment_with("gradcli_mutant_host"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_ADDOPTS": pytest_options.lstrip(),
            "HYPOTHESIS_STORAGE_DIRECTORY": os.path.join(self.folder, "hypothesis"),
            "GRADCLI_MUTATE": os.path.join(self.folder, "job.json"),
            "GRADCLI_MUTANT": which,
        }

    def run(self, which: str, seconds: float | None = None) -> tuple[int | None, float]:
        """Run the command in a session of its own, with a mutant, or the original to `record`. Raises GradcliError.

        Returns the exit code, None where it had to be ended, and what it took.
        """
        start = time.perf_counter()
        with open(os.path.join(self.folder, "output"), "wb") as output:
            streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
            self.process = start_command(self.command, env=self.environment(which), **streams, start_new_session=True)
        try:
            status: int | None = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        self.end()
        return status, time.perf_counter() - start

    def end(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def output(self) -> str:
        with open(os.path.join(self.folder, "output"), encoding="utf-8", errors="replace") as file:
            return "\n".join(file.read().rstrip().splitlines()[-12:])

    def read_report(self) -> dict[str, Any]:
        """Return what the recorded calls told: of the process that called the function most."""
        texts = (place.read_text(encoding="utf-8") for place in sorted(Path(self.folder).glob("measured-*.json")))
        reports = [{"loaded": False, "calls": 0, "sizes": []}, *map(json.loads, texts)]
        return max(reports, key=lambda m: (bool(m["sizes"]), m["calls"], m["loaded"]))


def mutate(
    target: str, command: Sequence[str], at_least: float, timeout: float | None = None, watch: Any = iter
) -> Mutation:
    """Run a command with every mutant of FILE.py:FUNCTION. watch: wraps the mutants, to show progress."""
    start = time.perf_counter()
    path, name = split_name(target)
    if not name:
        raise GradcliError(f"{target}: write FILE.py:FUNCTION", hint="the function that computes a gradient")
    with Mutator(path, name, command) as mutator:
        status, took = mutator.run("record")
        report = mutator.read_report()
        if status != 0:
            text = f":\n{output}" if (output := mutator.output()) else ""
            hint = "it has to pass first"
            raise GradcliError(f"'{' '.join(command)}' fails without a mutant (exit {status}){text}", hint=hint)
        if not report["loaded"]:
            raise GradcliError(
                f"'{' '.join(command)}' never imports {mutator.path}, so that no mutant of {target} could be noticed",
                hint="is another copy installed? name the file that is imported",
            )
        seconds = timeout or max(LEAST_SECONDS, PATIENCE * took)
        chosen = list(different(mutator.mutants, report["sizes"]))
        runs = []
        for number, error, call in watch(chosen):
            mutant = mutator.mutants[number]
            status, took = mutator.run(str(number), seconds)
            killed = status != 0
            test = None if killed or not call else test_of(name, mutator.path, call, error, at_least)
            runs.append(MutantRun(mutant.name, mutant.line, error, killed, status is None, took, test))
        equal = len(mutator.mutants) - len(chosen)
    return Mutation(target, tuple(runs), at_least, equal, report["calls"], time.perf_counter() - start)


def different(mutants: Sequence[Mutant], sizes: Sequence[dict[str, Any]]) -> Iterator[tuple[int, float | None, Any]]:
    """Yield the numbers of mutants that differ, how much, and a call that shows it; not of those that always raise."""
    for number, mutant in enumerate(mutants):
        if not sizes:
            yield number, mutant.relative_error, None
            continue
        size = sizes[number]
        if size["relative"] is not None and size["relative"] > EQUAL:
            yield number, mutant.relative_error or size["relative"], size["test"]


def test_of(name: str, path: str, call: dict[str, Any], error: float | None, at_least: float) -> str | None:
    """Return a test that fails with a mutant; None for one that is too small to care."""
    if error is None or error <= at_least:
        return None
    module = os.path.splitext(os.path.basename(path))[0]
    words = ", ".join(f"{key}={text}" for key, text in call["call"].items())
    return (
        f"def test_{name}_at_a_point():\n"
        f"    expected = {call['result']}\n"
        f"    np.testing.assert_allclose({module}.{name}({words}), expected, rtol={at_least / 10:g})\n"
    )
