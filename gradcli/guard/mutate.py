"""Count how many mutants of a function a command notices. A mutant changes its results or a piece of its source.

Mutants run in memory, and no file changes.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import json
import math
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import GradcliError, did_you_mean
from ..program.target import read_source
from ..results.studies import MutantRun, Mutation
from ..user.address import split_name
from ..user.source import own_nodes, walk_code
from .watch import environment_with, start_command

MUTANT_HOST = '__import__("gradcli_mutant_host")'
SMALLEST_POWER = 12  # factors are 1 + 1e-1 to 1 + 1e-12: a choice
OTHER: dict[type, Any] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
MOST_MUTANTS = 300  # mutants of the source; if there are more, only every n-th is run: a choice


class Mutant(NamedTuple):
    """A wrong version. kind: how its results are changed; None if its source is changed at `line`."""

    name: str
    source: str
    kind: str | None = None
    line: int | None = None
    relative_error: float | None = None


class SourceFunction:
    """A function in the text of its file: a FunctionDef, or a lambda bound to a name."""

    def __init__(self, source: str, names: Sequence[str], path: str):
        self.source, self.raw = source, source.encode()
        try:
            scope: Any = ast.parse(source)
        except (SyntaxError, ValueError) as error:
            raise GradcliError(f"{path} cannot be parsed: {error}", kind="file") from None
        for k, name in enumerate(names):
            definitions = [node for node in own_nodes(scope) if defines(node, name, last=k == len(names) - 1)]
            if not definitions:
                known = [n.name for n in own_nodes(scope) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
                raise GradcliError(
                    f"{path} defines no function '{'.'.join(names)}'",
                    hint=did_you_mean(name, known) or "mutants are made from a function's own source",
                    kind="name",
                )
            scope = definitions[-1]
        assigned: Any = getattr(scope, "value", None)
        self.node: Any = assigned if isinstance(scope, ast.Assign | ast.AnnAssign) else scope
        self.is_lambda = isinstance(self.node, ast.Lambda)
        decorators = getattr(self.node, "decorator_list", [])
        self.line: int = min([self.node.lineno, *(d.lineno for d in decorators)])
        self.code_names = [*names[:-1], "<lambda>" if self.is_lambda else names[-1]]

    def with_node(self, node: Any) -> str:
        """Return the text of the file with this function replaced by another, under the same decorators."""
        rows, old = self.raw.splitlines(keepends=True), self.node
        begin = sum(map(len, rows[: old.lineno - 1])) + old.col_offset
        end = sum(map(len, rows[: old.end_lineno - 1])) + old.end_col_offset
        if self.is_lambda:
            text = f"({ast.unparse(node)})"
        else:
            node.decorator_list = []
            text = ast.unparse(node).replace("\n", "\n" + " " * old.col_offset)
        return (self.raw[:begin] + text.encode() + self.raw[end:]).decode()

    def recording(self) -> str:
        """Return the text of the file with a function that records its arguments."""
        node, enter = copy.copy(self.node), f"{MUTANT_HOST}.enter(locals())"
        if self.is_lambda:
            node.body = ast.parse(f"({enter}, ({ast.unparse(node.body)}))[1]", mode="eval").body
        else:
            node.body = [*ast.parse(enter).body, *node.body]
        return self.with_node(node)

    def numeric(self) -> str:
        """Return the text of the file with a function whose results the host changes."""
        returns = (node for node in own_nodes(self.node) if isinstance(node, ast.Return))
        values = [self.node.body] if self.is_lambda else [node.value for node in returns if node.value is not None]
        calls = {x: ast.parse(f"{MUTANT_HOST}.apply_mutant(({ast.unparse(x)}))", mode="eval").body for x in values}
        return self.with_node(rebuilt(self.node, calls))


def rebuilt(x: Any, changes: Mapping[Any, ast.AST]) -> Any:
    if isinstance(x, list):
        return [rebuilt(y, changes) for y in x]
    if not isinstance(x, ast.AST):
        return x
    if x in changes:
        return changes[x]
    return ast.copy_location(type(x)(**{name: rebuilt(y, changes) for name, y in ast.iter_fields(x)}), x)


def defines(node: Any, name: str, last: bool) -> bool:
    """Report whether a statement defines a class with this name or, for the last name, a function."""
    if not last:
        return isinstance(node, ast.ClassDef) and node.name == name
    if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Lambda):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(t, ast.Name) and t.id == name for t in targets)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name


def numeric_mutants(function: SourceFunction) -> Iterator[Mutant]:
    source = function.numeric()
    for k in range(1, SMALLEST_POWER + 1):
        yield Mutant(f"factor 1+1e-{k:02d}", source, f"factor {k}", relative_error=10.0**-k)
    for name, kind in (
        ("sign", "sign"),
        ("zero", "zero"),
        ("shift by one", "shift"),
        ("last element dropped", "last"),
        ("transposition", "transpose"),
        ("one element doubled", "element"),
    ):
        yield Mutant(name, source, kind)


def source_mutants(function: SourceFunction) -> list[Mutant]:
    mutants: dict[str, Mutant] = {}
    body = [function.node.body] if function.is_lambda else function.node.body
    for node in (n for part in body for n in walk_code(part)):
        for new in replacements_of(node):
            text = function.with_node(rebuilt(function.node, {node: new}))
            with contextlib.suppress(SyntaxError, ValueError):
                compile(text, "mutant", "exec", dont_inherit=True)
                name = f"line {node.lineno}: {short_text(node)} -> {short_text(new)}"
                mutants.setdefault(text, Mutant(name, text, line=node.lineno))
    step = -(-len(mutants) // MOST_MUTANTS) if mutants else 1
    return list(mutants.values())[::step]


def short_text(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 48 else text[:47] + "…"


def replacements_of(node: Any) -> Iterator[ast.AST]:
    """Yield replacements for a piece of code: a term or factor dropped, a sign changed, an index or constant moved."""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
            is_sum = isinstance(op, ast.Add)
            yield left
            yield right if is_sum else ast.UnaryOp(ast.USub(), right)
            yield ast.BinOp(left, OTHER[type(op)](), right)
            yield ast.BinOp(ast.UnaryOp(ast.USub(), left), op, right)
        case ast.BinOp(left, ast.Mult(), right):
            yield from (left, right)
        case ast.BinOp(left, ast.Div(), _):
            yield left
        case ast.UnaryOp(ast.USub(), operand):
            yield operand
        case ast.Constant(int() | float() as value) if not isinstance(value, bool):
            yield ast.Constant(value + 1)
        case ast.AugAssign(target, ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, value):
            if isinstance(op, ast.Add | ast.Sub):
                yield ast.copy_location(ast.AugAssign(target, OTHER[type(op)](), value), node)
            yield ast.Pass()
        case ast.Subscript(value, ast.Name() | ast.Tuple() as index, context):
            for part in index.elts if isinstance(index, ast.Tuple) else [index]:
                if isinstance(part, ast.Name):
                    before = ast.BinOp(part, ast.Sub(), ast.Constant(1))
                    yield ast.Subscript(value, rebuilt(index, {part: before}), context)


EQUAL = 1e-14  # mutants with at most this relative difference at all points equal the original: 90 rounding units
TICK = 0.5  # seconds between two reports of a run that goes on
RUN_FACTOR, RUN_SECONDS = 5.0, 10.0  # time limit: times a run without a mutant, and least seconds: a choice


class Watcher:
    """Hears how far the runs are; does nothing by default."""

    def waits(self, seconds: float) -> None:
        """Hear twice a second for how long the current run has taken."""

    def starts(self, mutants: int) -> None:
        """Hear that the command has run without a mutant, and how many mutants follow."""

    def ends(self, run: MutantRun) -> None:
        """Hear the result of a mutant."""


UNWATCHED = Watcher()


class Mutator:
    """Runs a command with the mutants of a function. A context manager that removes its files at the end."""

    def __init__(self, path: str, name: str, command: Sequence[str], watcher: Watcher = UNWATCHED):
        self.path, self.name, self.command, self.watcher = path, name, list(command), watcher
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
        """Return an environment in which the command leaves no files, and pytest imports modules as Python does."""
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
        """Run the command in its own session, with a mutant, or with the original to `record`. Raises GradcliError.

        Returns the exit code, None if the time limit was reached, and the duration in seconds.
        """
        start = time.perf_counter()
        with open(os.path.join(self.folder, "output"), "wb") as output:
            streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
            self.process = start_command(self.command, env=self.environment(which), **streams, start_new_session=True)
        status: int | None = None
        while status is None and (seconds is None or time.perf_counter() - start < seconds):
            rest = TICK if seconds is None else max(min(TICK, seconds - (time.perf_counter() - start)), 0.0)
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self.process.wait(rest)
            self.watcher.waits(time.perf_counter() - start)
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
        """Return the measurements of the process that called the function most often."""
        texts = (place.read_text(encoding="utf-8") for place in sorted(Path(self.folder).glob("measured-*.json")))
        reports = [{"loaded": False, "calls": 0, "sizes": []}, *map(json.loads, texts)]
        return max(reports, key=lambda m: (bool(m["sizes"]), m["calls"], m["loaded"]))


def run_mutants(
    target: str, command: Sequence[str], at_least: float, timeout: float | None = None, watcher: Watcher = UNWATCHED
) -> Mutation:
    """Run a command with every mutant of FILE.py:FUNCTION. watcher: shows progress."""
    start = time.perf_counter()
    path, name = split_name(target)
    if not name:
        raise GradcliError(f"{target}: write FILE.py:FUNCTION", hint="the function that computes a gradient")
    with Mutator(path, name, command, watcher) as mutator:
        status, took = mutator.run("record")
        report = mutator.read_report()
        if status != 0:
            text = f":\n{output}" if (output := mutator.output()) else ""
            words = f"'{' '.join(command)}' already fails on the unchanged {path} (exit {status}){text}"
            raise GradcliError(words, hint="it has to pass first")
        if not report["loaded"]:
            raise GradcliError(
                f"'{' '.join(command)}' never imports {mutator.path}, so it cannot notice any mutant of {target}",
                hint="if the command imports another copy of the file, such as an installed one, name that copy",
            )
        seconds = timeout or max(RUN_SECONDS, RUN_FACTOR * took)
        chosen = list(different(mutator.mutants, report["sizes"]))
        watcher.starts(len(chosen))
        runs = []
        for number, error, call in chosen:
            mutant = mutator.mutants[number]
            status, took = mutator.run(str(number), seconds)
            killed = status != 0
            test = None if killed or not call else test_of(name, mutator.path, call, error, at_least)
            runs.append(MutantRun(mutant.name, mutant.line, error, killed, status is None, took, test))
            watcher.ends(runs[-1])
        equal = len(mutator.mutants) - len(chosen)
    whole, is_random = time.perf_counter() - start, report.get("random", False)
    return Mutation(target, tuple(runs), at_least, equal, report["calls"], whole, is_random)


def different(mutants: Sequence[Mutant], sizes: Sequence[dict[str, Any]]) -> Iterator[tuple[int, float | None, Any]]:
    """Yield number, difference and a revealing call of each mutant that differs, but not of those that always raise."""
    for number, mutant in enumerate(mutants):
        size = sizes[number] if sizes else {"relative": math.inf, "test": None}
        if size["relative"] is not None and size["relative"] > EQUAL:
            yield number, mutant.relative_error or (size["relative"] if sizes else None), size["test"]


def test_of(name: str, path: str, call: dict[str, Any], error: float | None, at_least: float) -> str | None:
    """Return a test that fails with a mutant; None if the mutant's error is unknown or at most `at_least`."""
    if error is None or error <= at_least:
        return None
    module = os.path.splitext(os.path.basename(path))[0]
    words = ", ".join(f"{key}={text}" for key, text in call["call"].items())
    return (
        f"def test_{name}_at_a_point():\n"
        f"    expected = {call['result']}\n"
        f"    np.testing.assert_allclose({module}.{name}({words}), expected, rtol={at_least / 10:g})\n"
    )
