"""Why a gradient is None, zero or not finite: runs a script under a flow, and says which gradients are not fine."""

from __future__ import annotations

import ast
import contextlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import TargetError, check_known, lines_of_file
from ..program.base import UNPREPARED, Values
from ..program.detect_framework import framework_imported, modules_imported
from ..program.flow import Event, Flow, Pass, Size, Value, size_of
from ..program.own_flow import Following
from ..program.script import Execution, ScriptProgram
from ..program.user_code import users_path
from ..show.causes import Explained, Explanation, causes
from ..tape.modes import observing
from ..tape.record import recording
from .why_none import Finding, Target
from .why_values import ValueCauses, Zeros


class Followed(Execution):
    """An execution of a script that a flow follows."""

    def __init__(self, script: ScriptProgram, given: Values):
        super().__init__(script, given, UNPREPARED, keep=False)
        self.flow = Flow(self.module.__dict__)

    @contextlib.contextmanager
    def surroundings(self) -> Iterator[None]:
        following = Following(self.flow)
        with contextlib.ExitStack() as stack:
            stack.enter_context(super().surroundings())
            if not self.script.torch and imports_torch(self.script.source, self.script.path):
                with contextlib.suppress(ImportError):  # then the script fails at its own import
                    from ..program.elsewhere.torch_flow import TorchFollowing, TorchKit

                    self.flow.kit = TorchKit()
                    stack.enter_context(TorchFollowing(self.flow))
            stack.enter_context(recording(following))
            stack.enter_context(observing(following))
            yield


def imports_torch(source: str, path: str, seen: frozenset[str] = frozenset()) -> bool:
    """Return whether a script, or a module beside it that it imports, imports torch."""
    with contextlib.suppress(SyntaxError, ValueError):
        if framework_imported(source) == "torch":
            return True
        for name in modules_imported(ast.walk(ast.parse(source))):
            place = os.path.join(os.path.dirname(path), *name.strip(".").split("."))
            for file in (f"{place}.py", os.path.join(place, "__init__.py")):
                if file not in seen and os.path.isfile(file):
                    with open(file, encoding="utf-8", errors="replace") as text:
                        if imports_torch(text.read(), file, seen | {file}):
                            return True
    return False


def explain(program: ScriptProgram, given: Values, names: Iterable[str]) -> Explanation:
    """Run a script and say why its gradients are as they are: those named, else all that count.

    Raises GradcliError where the script raises; its hint is the cause, where the script failed for want of one.
    """
    execution = Followed(program, given)
    try:
        execution.execute()
    except TargetError as error:
        if error.hint is None and re.search("require grad|NoneType|grad_fn", error.message):
            with contextlib.suppress(Exception):  # what is known of half a script may be too little
                items = Reader(execution.flow).explain([])
                item = next(item for item in items if item.state == "none" and item.line is not None)
                error.hint = f"{item.name}.grad is None [{item.rule}]: {item.file}:{item.line}: {item.text}"
        raise
    return Explanation(program.title, tuple(Reader(execution.flow).explain(list(names))))


class Reader(ValueCauses):
    """Reads out of a flow which gradients are not fine, and why."""

    def explain(self, names: list[str]) -> Iterator[Explained]:
        targets = self.targets(names)
        found = {target.name: self.explain_one(target, bool(names)) for target in targets}
        aside = set() if names else self.left_alone(targets, found)
        yield from (item for name, item in found.items() if name not in aside)
        yield from self.replaced({target.name for target in targets}, names)

    def targets(self, names: list[str]) -> list[Target]:
        named: dict[str, Any] = {}
        for name, x in self.flow.names():
            named.setdefault(name, x)
        reads: dict[str, Event] = {}
        for event in self.flow.events:
            if event.kind == "read" and event.value in self.flow.known:
                reads[event.name or f"tensor@line {event.place[1] if event.place else 0}"] = event
        if names:
            asked = [name.removesuffix(".grad") for name in names]
            check_known(asked, {**named, **reads}, "NAME")
            return [self.target(name, named.get(name), reads.get(name)) for name in asked]
        chosen: dict[int, Target] = {}
        for name, x in named.items():
            target = self.target(name, x, None)
            if self.counts(target):
                chosen.setdefault(target.value.number, target)
        for name, event in reads.items():
            known = named.get(name)
            same = known is not None and self.flow.value(known).number == event.value
            target = self.target(name, known if same else None, event)
            old = chosen.get(target.value.number)
            was_fine = event.size is not None and event.size.state == "ok"  # an earlier tensor of that name
            if old is None and (same or known is None or not was_fine):
                chosen[target.value.number] = target
        return list(chosen.values())

    def left_alone(self, targets: list[Target], found: dict[str, Explained]) -> set[str]:
        """Return parameters of modules that nobody trains: no gradient, no optimizer although there is one."""
        if not any(event.kind == "optimizer" for event in self.flow.events):
            return set()
        trained = {event.value for event in self.flow.events if event.kind in ("optimizer", "read")}
        owners: dict[str, list[Target]] = defaultdict(list)
        for target in targets:
            owners[target.name.partition(".")[0]].append(target)
        return {
            target.name
            for group in owners.values()
            if all("." in t.name and found[t.name].state == "none" and t.value.number not in trained for t in group)
            for target in group
        }

    def target(self, name: str, x: Any, event: Event | None) -> Target:
        value = self.flow.known[event.value] if x is None and event is not None else self.flow.value(x)
        uses = [e for e in self.events[value.number] if e.kind in ("read", "step")]
        return Target(name, value, x, uses[-1] if uses else event)

    def counts(self, target: Target) -> bool:
        """Return whether a named tensor is explained although nobody asked: leaves, and what was meant as one."""
        value, kinds = target.value, {event.kind for event in self.events[target.value.number]}
        if "read" in kinds or (value.wants and value.leaf):
            return True
        if "freeze" in kinds:
            return not type(target.tensor).__name__.startswith("Parameter") and value.kind == "f"
        return self.lost_leaf(value) is not None and value.wants

    def explain_one(self, target: Target, asked: bool) -> Explained:
        size, run = self.state_of(target)
        if size is None:
            finding, state = self.why_none(target), "none"
        else:
            state, finding = size.state, None
            if state == "ok" and run is not None and (asked or not self.is_bias(target.name)):
                state = "zero" if Zeros(run, self).is_zero(target.key) else "ok"
            if state == "zero":
                finding = self.why_zero(target, run)
                if not asked and finding.rule == "cancelled" and self.is_bias(target.name):
                    state = "ok"
            elif state in ("nan", "inf"):
                finding = self.why_not_finite(target, run)
        if state == "ok" or finding is None:
            text = "" if size is None else f"{size.high:.3g}"
            if size is not None and size.low != size.high:
                text = f"max {text}, min {size.low:.3g}"
            return Explained(target.name, "ok", text=text)
        place = finding.place or target.value.place or (target.event.place if target.event else None)
        share = f"{size.bad} of {size.total} elements" if size is not None and size.total > 1 else ""
        return explained(target.name, state, finding._replace(place=place), share)

    def is_bias(self, name: str) -> bool:
        """Return whether it is a bias, whose gradient a following normalization cancels in every ordinary network."""
        return name.rpartition(".")[2].startswith("bias") or name.endswith("_bias")

    def state_of(self, target: Target) -> tuple[Size | None, Pass | None]:
        """Return how large the gradient was when it counted, None for None, and the pass that it came from.

        That is at its last use, by the script or an optimizer; where it was filled again since, or never used, at the
        end; and what autograd.grad returned, where nothing asked for `.grad`.
        """
        value, events = target.value, self.events[target.value.number]
        key = target.key
        passes = [run for run in self.flow.passes if run.kind == "backward" and self.arrives(run, key)]
        last = passes[-1].number if passes else 0
        use = target.event
        cleared = [e.number for e in events if e.kind == "clear"]
        if use is not None and use.number > last:
            before = [run for run in passes if run.number < use.number]
            gradless = use.size is None and not before and use.kind == "step"
            if not (gradless and self.returned(value)):
                return use.size, before[-1] if before else None
        elif use is not None and cleared and cleared[-1] > last:
            return None, None
        at_end = None
        if target.tensor is not None:
            gradient = self.flow.kit.grad(target.tensor)
            at_end = None if gradient is None else size_of(self.flow.kit.array(gradient))
        elif use is not None:
            at_end = use.size
        if at_end is not None and at_end.state == "zero" and cleared and cleared[-1] > last and use is not None:
            return use.size, passes[-1] if passes else None
        if at_end is None and use is None and (returned := self.returned(value)) is not None:
            return returned
        return at_end, passes[-1] if passes else None

    def arrives(self, run: Pass, key: Any) -> bool:
        return key in run.arrived() or (key[1] if isinstance(key, tuple) else 0) in run.roots

    def returned(self, value: Value) -> tuple[Size, Pass] | None:
        """Return how large a gradient was that autograd.grad returned last."""
        for run in reversed(self.flow.passes):
            if run.kind == "grad" and value.number in run.targets:
                key = ("leaf", value.number)
                sizes = [edge.size for node in run.runs for edge in node.edges if edge.to == key and edge.size]
                states = {size.state for size in sizes}
                state = next((s for s in ("nan", "inf", "ok") if s in states), "zero")
                return Size("ok" if not value.leaf else state, max((s.most for s in sizes), default=0.0)), run
        return None

    def replaced(self, told: set[str], names: list[str]) -> Iterator[Explained]:
        """Yield parameters that an optimizer still holds although their names lead to others now."""
        now = dict(self.flow.names())
        for event in self.flow.events:
            other = now.get(event.name)
            if event.kind != "optimizer" or other is None or (names and event.name not in names):
                continue
            value, fresh = self.flow.known[event.value], self.flow.value(other)
            steps = [e for e in self.events[event.value] if e.kind == "step"]
            if fresh.number == event.value or not value.leaf or not steps or steps[-1].size is not None:
                continue
            same = (at for at, function in fresh.chain if function == event.function)
            place = next(same, fresh.place) or event.place
            line = event.place[1] if event.place else "?"
            text = f"made anew here; the optimizer of line {line} still holds the old one, whose gradient stays None"
            name = f"{event.name} (in the optimizer)" if event.name in told else event.name
            yield explained(name, "none", Finding("replaced", place, text))


def explained(name: str, state: str, finding: Finding, share: str = "") -> Explained:
    """Return a finding with the text of its line, and the fix of the table where it has none of its own."""
    path = line = None
    code, fix = "", finding.fix or causes()[finding.rule].fix
    if finding.place is not None:
        path, line = users_path(finding.place[0]), finding.place[1]
        code = "".join(lines_of_file(finding.place[0])[line - 1 : line]).strip()
    return Explained(name, state, finding.rule, path, line, finding.text, fix, code, share)
