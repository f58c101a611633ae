"""Run a script under the recorder of its framework, and explain its gradients, or the error that ended it."""

from __future__ import annotations

import ast
import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import TargetError, check_known, describe_error, lines_of_file
from ..program.base import UNPREPARED, Values
from ..program.script import Execution, ScriptProgram
from ..results.causes import Explained, Explanation
from ..user.frameworks import framework_imported, modules_imported
from ..user.lines import LinePlace
from ..user.tracebacks import users_path
from .cause import PlacedCause, Reader, explain_record, explained
from .passes import operation
from .record import Record, RecordedStep
from .recorder import OwnRecorder


class Followed(Execution):
    """An execution of a script that a recorder follows."""

    def __init__(self, script: ScriptProgram, given: Values):
        super().__init__(script, given, UNPREPARED, keep=False)
        self.recorder: Any = OwnRecorder(self.module.__dict__)
        framework = None if script.torch else imports_framework(script.source, script.path)
        if framework == "jax":
            with contextlib.suppress(ImportError):
                from .record_jax import JaxRecorder

                self.recorder = JaxRecorder()
        if framework == "torch":
            with contextlib.suppress(ImportError):  # the script will fail at its own import
                from .record_torch import TorchRecorder

                self.recorder = TorchRecorder(self.module.__dict__)

    @contextlib.contextmanager
    def surroundings(self) -> Iterator[None]:
        with super().surroundings(), self.recorder.following():
            yield


def imports_framework(source: str, path: str, seen: frozenset[str] = frozenset()) -> str | None:
    """Return the framework that a script imports, directly or through a module in its folder."""
    with contextlib.suppress(SyntaxError, ValueError, OSError):
        if (found := framework_imported(source)) is not None:
            return BUILT_ON.get(found, found)
        names = [*modules_imported(ast.walk(ast.parse(source)))]
        if found := next((BUILT_ON[root] for root in (n.partition(".")[0] for n in names) if root in BUILT_ON), None):
            return found
        for name in names:
            place = os.path.join(os.path.dirname(path), *name.strip(".").split("."))
            for file in {f"{place}.py", os.path.join(place, "__init__.py")} - seen:
                if os.path.isfile(file):
                    found = imports_framework("".join(lines_of_file(file)), file, seen | {file})
                    if found is not None:
                        return found
    return None


BUILT_ON = {"jaxlib": "jax", **dict.fromkeys(("flax", "equinox", "optax", "haiku", "numpyro", "jaxopt"), "jax")}
"""Packages whose gradients are those of another one."""


def explain(program: ScriptProgram, given: Values, names: Iterable[str]) -> Explanation:
    """Run a script and explain its gradients: the named ones, or else all that matter.

    Raises GradcliError if the script raises; if that is because a gradient is missing, the hint explains why it is.
    """
    if not program.torch and imports_framework(program.source, program.path) == "jax":
        return explain_jax(program, given, list(names))
    execution = Followed(program, given)
    try:
        execution.execute()
    except TargetError as error:
        if error.hint is None and re.search("require grad|NoneType|grad_fn", error.message):
            items = explain_record(execution.recorder.finish(), [])
            item = next((item for item in items if item.state == "none" and item.line is not None), None)
            if item is not None:
                error.hint = f"{item.name}.grad is None [{item.rule}]: {item.file}:{item.line}: {item.text}"
        if changed := IN_PLACE.search(error.message):
            error.hint = hint_on_change(execution.recorder.finish(), changed) or error.hint
        raise
    return Explanation(program.title, tuple(explain_record(execution.recorder.finish(), list(names))))


def explain_jax(program: ScriptProgram, given: Values, names: list[str]) -> Explanation:
    """Run a script that uses JAX, and explain the gradients that it computed."""
    execution = Followed(program, given)
    execution.execute()
    found = getattr(execution.recorder, "gradients", {})
    if names:
        check_known(names, {gradient.name: gradient for gradient in found.values()}, "NAME")
    wanted = [gradient for gradient in found.values() if not names or gradient.name in names]
    unseen = "" if found else "the script uses JAX, and no call of grad, value_and_grad, jacrev or jacfwd was seen"
    return Explanation(program.title, tuple(map(explain_gradient, wanted)), unseen)


def explain_gradient(gradient: Any) -> Explained:
    """Explain a gradient that JAX computed. If its function cannot be traced, say only where it was computed."""
    from .record_jax import fine, record_of

    state = gradient.size.state
    if state == "ok":
        return fine(gradient)
    try:
        record, value = record_of(gradient)
        reader = Reader(record)
        if state == "zero" and value not in record.passes[0].leaves:
            return explained(gradient.name, state, reader.why_none(value))
        return reader.explain(gradient.name, value, asked=True)
    except Exception as error:
        text = f"JAX computed it here; its function cannot be followed ({describe_error(error)})"[:MOST_EXPLAINED]
        rule = "zero-slope" if state == "zero" else "nan-made"
        return explained(gradient.name, state, PlacedCause(rule, gradient.place, text=text))


MOST_EXPLAINED = 300  # characters of an explanation with an error of JAX: a choice
IN_PLACE = re.compile(r"modified by an inplace operation: \[\S+ \[([\d, ]*)\]\](?:, which is output \d+ of (\w+))?")


def hint_on_change(record: Record, found: re.Match) -> str | None:
    """Return a hint that names the line of the script that changed a tensor in place, from PyTorch's message."""
    shape = tuple(int(n) for n in found[1].split(",") if n.strip())
    made_by = operation(found[2] or "")
    steps = [step for step in record.steps if is_in_place(step) and step.place is not None]
    alike = [step for step in steps if any(v.shape == shape for v in step.outputs)]
    origins = [step for step in alike if step.inputs and step.inputs[0].step is not None]
    exact = [s for s in origins if s.inputs[0].step is not None and operation(s.inputs[0].step.name) == made_by]
    if step := next(reversed(exact or alike), None):
        return cause_place_text(step.place, "changes the tensor in place; make a new one: h = h + 1 instead of h += 1")
    stepped = [value.events["step"] for value in record.used if "step" in value.events]
    if stepped and (place := max(stepped, key=lambda event: event.number).place) is not None:
        return cause_place_text(
            place, "changes the parameters before this backward pass; call backward() before step()"
        )
    return None


def is_in_place(step: RecordedStep) -> bool:
    name = step.name
    if name.startswith("__"):
        return name == "__setitem__" or (name.startswith("__i") and name not in ("__invert__", "__index__"))
    return name == "change" or (name.endswith("_") and name != "requires_grad_")


def cause_place_text(place: LinePlace | None, what: str) -> str:
    file, line = place or ("", 0)
    code = "".join(lines_of_file(file)[line - 1 : line]).strip()
    return f"{users_path(file)}:{line}  {code}  {what}"
