"""Why a gradient is None, zero or not finite: runs a script under a recorder, and reads the cause out of the record.

None: forward along the data, from the tensor to the step that leaves the graph, if what it made leads to where backward
started. Zero: the last node that got a gradient and sent zeros, on every path. nan and inf: the first node that made
them from finite gradients, or what made its operands so.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..errors import TargetError, check_known, lines_of_file
from ..program.base import UNPREPARED, Values
from ..program.detect_framework import framework_imported, modules_imported
from ..program.flow import Event, OwnRecorder, Pass, Record, Recorder, Run, Size, Step, Value, is_finite
from ..program.script import Execution, ScriptProgram
from ..program.user_code import users_path
from ..program.user_lines import Place, carries, name_at
from ..show.causes import Explained, Explanation, causes


class Followed(Execution):
    """An execution of a script that a recorder follows."""

    def __init__(self, script: ScriptProgram, given: Values):
        super().__init__(script, given, UNPREPARED, keep=False)
        self.recorder: Recorder = OwnRecorder(self.module.__dict__)
        if not script.torch and imports_torch(script.source, script.path):
            with contextlib.suppress(ImportError):  # then the script fails at its own import
                from ..program.elsewhere.torch_flow import TorchRecorder

                self.recorder = TorchRecorder(self.module.__dict__)

    @contextlib.contextmanager
    def surroundings(self) -> Iterator[None]:
        with super().surroundings(), self.recorder.following():
            yield


def imports_torch(source: str, path: str, seen: frozenset[str] = frozenset()) -> bool:
    """Return whether a script imports torch, or a module next to it that it imports does."""
    with contextlib.suppress(SyntaxError, ValueError, OSError):
        if framework_imported(source) == "torch":
            return True
        for name in modules_imported(ast.walk(ast.parse(source))):
            place = os.path.join(os.path.dirname(path), *name.strip(".").split("."))
            for file in {f"{place}.py", os.path.join(place, "__init__.py")} - seen:
                if os.path.isfile(file) and imports_torch("".join(lines_of_file(file)), file, seen | {file}):
                    return True
    return False


def explain(program: ScriptProgram, given: Values, names: Iterable[str]) -> Explanation:
    """Run a script and say why its gradients are as they are: those named, else all that count.

    Raises GradcliError where the script raises; its hint is the cause, where the script failed for want of a gradient.
    """
    execution = Followed(program, given)
    try:
        execution.execute()
    except TargetError as error:
        if error.hint is None and re.search("require grad|NoneType|grad_fn", error.message):
            items = explain_record(execution.recorder.finish(), [])
            item = next((item for item in items if item.state == "none" and item.line is not None), None)
            if item is not None:
                error.hint = f"{item.name}.grad is None [{item.rule}]: {item.file}:{item.line}: {item.text}"
        raise
    return Explanation(program.title, tuple(explain_record(execution.recorder.finish(), list(names))))


def explain_record(record: Record, names: list[str]) -> list[Explained]:
    reader = Reader(record)
    targets = reader.targets(names)
    found = {name: reader.explain(name, value, bool(names)) for name, value in targets.items()}
    aside = set() if names else reader.left_alone(targets, found)
    return [*(item for name, item in found.items() if name not in aside), *reader.replaced(targets, names)]


class Finding(NamedTuple):
    """A cause at a place. fix: where it says more than the table."""

    rule: str
    place: Place | None
    text: str = ""
    fix: str = ""


POSITIONS = re.compile("arg|sort|topk|max|min|median|mode|nonzero|unique|searchsorted|bucketize|multinomial|kthvalue")
SHAPES_ALONE = re.compile("_like$|^new_(?!tensor)|^(empty|zeros|ones|full|rand|randn|make)$|^result_type$")
"""Functions whose results depend on the shapes of tensors, and on numbers."""
CASTS = re.compile("^(to|type|cast|astype|bool|double|float|half|bfloat16|cuda|cpu|clone|contiguous)$")
WEAK = ("comparison", "indices", "integer-cast")  # causes that many right scripts have aside
CHOOSE = ("not-chosen", "unselected-branch", "dead-relu", "clamped", "not-selected")
MASKS = ("where", "maskedfill", "maskedscatter", "mul", "index", "indexput", "maskedselect", "select", "nantonum")
CANCELS = 64.0  # rounding units of its largest part that are zero in a sum


def operation(name: str) -> str:
    """Return the operation of a node or a step as the table of causes has it: logsoftmax of LogSoftmaxBackward0."""
    return name.partition("Backward")[0].replace("_", "").lower()


@functools.cache
def rules_by_operation() -> dict[str, list[str]]:
    rules = defaultdict(list)
    for rule, cause in causes().items():
        for name in cause.ops.split():
            rules[name].append(rule)
    return rules


def rules_of(name: str, bad: bool = False) -> list[str]:
    """Return the rules of an operation that makes zeros, or nan and infinity."""
    makes_bad = ("nan-", "overflow")
    return [rule for rule in rules_by_operation().get(operation(name), ()) if rule.startswith(makes_bad) == bad]


def described(name: str) -> str:
    return {"apply": "a custom function", "change": "an assignment in place"}.get(name, name.strip("_") or name)


def carried_by(step: Step) -> Iterable[Value]:
    """Return the operands whose numbers a step's results depend on."""
    return [v for v in step.inputs if v.kind == "p"] if SHAPES_ALONE.search(step.name) else step.inputs


def last_use(value: Value) -> Event | None:
    """Return the last use of a gradient, by the script or an optimizer."""
    uses = [value.events[kind] for kind in ("read", "step") if kind in value.events]
    return max(uses, key=lambda event: event.number, default=None)


class Reader:
    """Reads out of a record which gradients are not fine, and why."""

    def __init__(self, record: Record):
        self.record = record
        self.consumers: dict[Value, list[Step]] = defaultdict(list)
        self.leaving: dict[Place, list[Step]] = defaultdict(list)  # steps that made numbers, by their line
        for step in record.steps:
            for value in carried_by(step):
                self.consumers[value].append(step)
            if step.place is not None and any(v.kind == "p" for v in step.outputs):
                self.leaving[step.place].append(step)
        self.passes = [p for p in record.passes if p.kind == "backward"] or record.passes
        self.behind: dict[Pass, set[Value]] = {}

    # -- which gradients ----------------------------------------------------------------------------------

    def targets(self, names: list[str]) -> dict[str, Value]:
        """Return the tensors to explain: those named, else leaves, what was meant as one, and what the script reads."""
        named, reads = self.record.names, {}
        for value in self.record.used:
            if "read" in value.events:
                reads[value.name or name_at(value.events["read"].place)] = value
        if names:
            asked = [name.removesuffix(".grad") for name in names]
            check_known(asked, {**named, **reads}, "NAME")
            return {name: named.get(name) or reads[name] for name in asked}
        chosen: dict[Value, str] = {}
        for name, value in named.items():
            frozen = "freeze" in value.events and "." not in value.name  # of a module, it is meant
            if "read" in value.events or (value.wants and (value.leaf or self.lost_leaf(value))) or frozen:
                chosen.setdefault(value, name)
        for name, value in reads.items():
            size = value.events["read"].size
            if name not in named or size is None or size.state != "ok":  # else an earlier tensor of that name was fine
                chosen.setdefault(value, name)
        return {name: value for value, name in chosen.items()}

    def left_alone(self, targets: dict[str, Value], found: dict[str, Explained]) -> set[str]:
        """Return parameters of modules that nobody trains: no gradient, no optimizer although there is one."""
        if not any("optimizer" in value.events for value in self.record.used):
            return set()
        owners: dict[str, list[str]] = defaultdict(list)
        for name in targets:
            owners[name.partition(".")[0]].append(name)
        used = {name for name, value in targets.items() if value.events.keys() & {"optimizer", "read"}}
        return {
            name
            for group in owners.values()
            if all("." in n and found[n].state == "none" and n not in used for n in group)
            for name in group
        }

    def replaced(self, targets: dict[str, Value], names: list[str]) -> Iterator[Explained]:
        """Yield parameters that an optimizer still holds although their names lead to others now."""
        for old in self.record.used:
            new, made, step = self.record.names.get(old.name), old.events.get("optimizer"), old.events.get("step")
            if new is None or new is old or made is None or (names and old.name not in names):
                continue
            if old.leaf and step is not None and step.size is None:
                place = next((at for at, function in new.chain if function == made.function), new.place)
                line = made.place[1] if made.place else "?"
                text = (
                    f"made anew here; the optimizer of line {line} still holds the old one, whose gradient stays None"
                )
                name = f"{old.name} (in the optimizer)" if old.name in targets else old.name
                yield explained(name, "none", Finding("replaced", place or made.place, text))

    # -- how they are -----------------------------------------------------------------------------------------

    def explain(self, name: str, value: Value, asked: bool) -> Explained:
        size, which = self.state_of(value)
        state = "none" if size is None else size.state
        backward = None if which is None else Backward(which)
        if size is None:
            finding = self.why_none(name, value)
        elif state in ("nan", "inf"):
            finding = self.why_not_finite(value, backward)
        elif state == "zero" or (backward is not None and backward.is_zero(backward.key(value), size)):
            state, finding = "zero", self.why_zero(name, value, backward)
            if not asked and finding.rule == "cancelled" and name.rpartition(".")[2].startswith("bias"):
                state = "ok"  # a normalization after it cancels its gradient in every ordinary network
        if size is not None and state == "ok":
            text = f"{size.high:.3g}" if size.low == size.high else f"max {size.high:.3g}, min {size.low:.3g}"
            return Explained(name, "ok", text=text)
        use = last_use(value)
        place = finding.place or value.place or (use.place if use else None)
        share = f"{size.bad} of {size.total} elements" if size is not None and size.total > 1 else ""
        return explained(name, state, finding._replace(place=place), share)

    def state_of(self, value: Value) -> tuple[Size | None, Pass | None]:
        """Return how large the gradient was when it counted, None for None, and the pass that it came from.

        That is at its last use; where it was filled again since, or never used, at the end; and what autograd.grad
        returned, where the script did not read `.grad`.
        """
        use, which = last_use(value), value.filled
        size = use.size if use is not None and (which is None or use.number > which.number) else value.gradient
        if size is None and which is None and value.returned is not None and "read" not in value.events:
            which = value.returned
            parts = Backward(which).incoming[Backward(which).key(value)]
            size = max((part for _, part in parts), key=lambda s: (s.state != "ok", s.most), default=Size("ok", 1.0))
        return size, which

    # -- None -------------------------------------------------------------------------------------------------

    def why_none(self, name: str, value: Value) -> Finding:
        events, use = value.events, last_use(value)
        if not value.wants:
            if "freeze" in events:
                return Finding("frozen", events["freeze"].place, "requires_grad was switched off here")
            return self.cut_before(value) or Finding("not-required", value.place, "it was made without requires_grad")
        if not value.leaf:
            if self.lost_leaf(value) and value.step is not None:
                text = f"{described(value.step.name)} returns a new tensor, which is not a leaf"
                return Finding("lost-leaf", value.step.place, text)
            made = f"the result of {described(value.step.name if value.step else 'an operation')}"
            fix = f"call {name}.retain_grad() before backward"
            return Finding("non-leaf", value.place, f"it is {made}: backward fills .grad of leaves only", fix)
        is_late = use is not None and (value.filled is None or use.number > value.filled.number)
        cleared = use.cleared if use is not None and is_late else events.get("clear")
        if cleared is not None and cleared.filled is not None:
            return Finding("cleared", cleared.place, "the gradient is cleared here, after backward has filled it")
        inside, cuts = self.reach(value)
        last = max(inside - {value}, key=lambda v: v.number, default=None)
        if not self.passes:
            text = "backward() is never called on what is computed from it"
            return Finding("no-backward", last.place if last else value.place, text)
        for which in reversed(self.passes):
            if value not in which.leaves and (cut := self.cut_towards(which, cuts)) is not None:
                return cut
        asked = [which for which in self.record.passes if which.kind == "grad" and value in which.targets]
        if asked:
            return Finding(
                "grad-returned", asked[-1].place, "autograd.grad returns the gradient and does not fill .grad"
            )
        for which in reversed(self.passes):
            if value in which.leaves:
                run = next((run for run in which.runs if run.step is not None and value in run.step.inputs), None)
                text = f"{run.name} returned None for it" if run else "backward reached it with no gradient"
                return Finding("no-derivative", run.step.place if run and run.step else which.place, text)
        if last is None:
            return Finding("never-used", value.place, "nothing that is computed uses it")
        if last.shape == ():
            text = "backward starts here, at an output that does not depend on it"
            return Finding("other-output", self.passes[-1].place, text)
        return Finding("never-used", last.place, "what is computed from it here is not used")

    def lost_leaf(self, value: Value) -> bool:
        """Return whether a tensor was made of a leaf without a name, by a cast or on the line that made that leaf."""
        step = value.step
        if step is None or not value.wants or value.leaf or len(step.inputs) != 1:
            return False
        source = step.inputs[0]
        nameless = source.leaf and source.wants and source not in self.record.names.values()
        on_its_way = CASTS.match(step.name) or source.place == step.place
        return bool(nameless and source.shape == value.shape and on_its_way)

    def reach(self, value: Value) -> tuple[set[Value], list[tuple[Step, Value]]]:
        """Return what the graph connects with a value, and the steps where data leave the graph, with their results."""
        inside, cuts, waiting = {value}, [], [value]
        while waiting:
            for step in self.consumers[waiting.pop()]:
                for result in step.outputs:
                    if not result.wants or result.leaf:  # a leaf: requires_grad_() was called on what was cut off
                        cuts.append((step, result))
                    elif result not in inside:
                        inside.add(result)
                        waiting.append(result)
        return inside, cuts

    def cut_towards(self, which: Pass, cuts: list[tuple[Step, Value]]) -> Finding | None:
        """Return the first cut behind which the data goes on to where a pass started."""
        behind = self.behind_pass(which)
        findings = [(step.number, self.cut_at(step, result)) for step, result in cuts if result in behind]
        return min(findings, key=lambda x: (x[1].rule in WEAK, x[0]), default=(0, None))[1]

    def behind_pass(self, which: Pass) -> set[Value]:
        """Return what the start of a pass was computed from, by data alone."""
        if which in self.behind:
            return self.behind[which]
        seen, waiting, done = set(which.roots), list(which.roots), defaultdict(int)
        while waiting:
            step = waiting.pop().step
            if step is None:
                continue
            more = [*carried_by(step)]
            if step.is_open and step.place is not None:  # what a script does with numbers is in its text alone
                for place, steps in self.leaving.items():
                    pair = place, step.place
                    while done[pair] < len(steps) and steps[done[pair]].number < step.number and carries(*pair):
                        more += steps[done[pair]].outputs
                        done[pair] += 1
            waiting += [value for value in dict.fromkeys(more) if value not in seen]
            seen.update(more)
        self.behind[which] = seen
        return seen

    def cut_before(self, value: Value) -> Finding | None:
        """Return the nearest step behind a tensor at which it left the graph."""
        waiting, seen = [value], {value}
        for value in waiting:
            if value.step is not None:
                inputs = [v for v in carried_by(value.step) if v not in seen]
                if any(v.wants for v in inputs):
                    return self.cut_at(value.step, value)
                seen.update(inputs)
                waiting += inputs
        return None

    def cut_at(self, step: Step, result: Value) -> Finding:
        """Return what cuts the graph at a step whose result does not require grad."""
        what, rules = described(step.name), rules_of(step.name)
        lost = "everything before this line gets no gradient"
        if step.checkpoint is not None:
            text = "a reentrant checkpoint records nothing if none of its inputs requires grad"
            return Finding("checkpoint", step.checkpoint, text)
        if result.kind == "b" and not CASTS.match(step.name):
            return Finding("comparison", step.place, f"{what} gives True and False, which have no derivative")
        if result.kind == "i" and POSITIONS.search(step.name):
            return Finding("indices", step.place, f"{what} gives indices, which have no derivative")
        if result.kind in "ib":
            return Finding("integer-cast", step.place, f"{what} gives integers, which have no derivative")
        if "numpy" in rules:
            return Finding("numpy", step.place, f"NumPy records nothing: {lost}")
        if "detached" in rules or result.kind == "p":
            call = ".data" if what == "data" else f".{what}()" if what in ("item", "tolist") else f"{what}()"
            return Finding("detached", step.place, f"{call} leaves the graph: {lost}")
        if not step.recorded:
            return Finding("no-grad", step.place, "this runs inside no_grad or inference_mode")
        return Finding("no-derivative", step.place, f"{what} has no derivative")

    # -- zero -------------------------------------------------------------------------------------------------

    def why_zero(self, name: str, value: Value, backward: Backward | None) -> Finding:
        use, clear = last_use(value), value.events.get("clear")
        if clear is not None and clear.filled is not None and clear.filled is value.filled:
            if use is None or clear.number < use.number:
                return Finding("cleared", clear.place, "the gradient is set to zero here, after backward has filled it")
        if backward is None:
            return Finding("zero-slope", None, "it holds zeros")
        run, rule = backward.killer(backward.key(value))
        if run is None:
            return Finding("zero-slope", backward.which.place, "the gradient that backward starts with is zero")
        if not rule and not (rule := zero_rule(run)):
            run = backward.chooser(run)
            rule = zero_rule(run) or "zero-slope"
        place = run.step.place if run.step else None
        if rule == "times-zero" and run.step is not None:
            rule, place = zero_factor(run.step)
        note = f": {operand(run)}{run.note.text}" if run.note else ""
        text = {
            "cancelled": f"what {name} adds to the output in several ways cancels here",
            "saturated": f"{operation(run.name)} is flat here{note}",
            "dead-relu": f"no input of relu is positive{note}",
            "clamped": note and f"all values are outside the limits{note}",
            "times-zero": "the other factor is zero everywhere",
        }.get(rule)
        return Finding(rule, place, text or causes()[rule].title)

    # -- nan and inf ------------------------------------------------------------------------------------------

    def why_not_finite(self, value: Value, backward: Backward | None) -> Finding:
        bad = [r for r in backward.which.runs if is_finite(r.received) and spoils(r)] if backward else []
        if not bad or backward is None:
            roots = [root for which in self.record.passes for root in which.roots]
            return first_bad(roots) or Finding(
                "nan-input", value.place, "backward starts with a gradient that is not finite"
            )
        above = list(backward.above(backward.key(value)))
        run = next((run for run in bad if run in above), bad[0])
        step, kind, rules = run.step, operation(run.name), rules_of(run.name, bad=True)
        if step is not None and (origin := first_bad(step.inputs, soft="softmax" in kind)) is not None:
            return origin
        place, rule = step.place if step else None, (rules or ["nan-made"])[0]
        if run.note is None:
            return Finding(rule, place, causes()[rule].title)
        at = f"{operand(run)}{run.note.text}"
        masks = [mask for mask in backward.above(run.key) if operation(mask.name) in MASKS] if run.note.hidden else []
        if not masks:
            return Finding(rule, place, f"{kind} has no finite slope at {at}")
        mask = min(masks, key=lambda mask: MASKS.index(operation(mask.name)) > 2)  # the nearest, a where before others
        word = {"where": "where", "maskedfill": "masked_fill", "mul": "a mask"}.get(operation(mask.name), "an index")
        there = mask.step.place if mask.step else None
        line = f" at line {there[1]}" if there and there != place else ""
        slope = "no slope" if "nan-atan2" in rules else "an infinite slope"
        fix = f"apply where to the argument of {kind}, not to its result"
        return Finding("nan-where", place, f"{kind} has {slope} at {at}, and {word}{line} multiplies it by 0", fix)


def spoils(run: Run) -> bool:
    return not all(is_finite(part) for _, part in run.sent)


def operand(run: Run) -> str:
    return (run.note and run.note.operand.name) or "its operand"


def zero_rule(run: Run) -> str:
    """Return the rule of a node that sends zeros; a softmax cancels what is the same for all elements."""
    rules = rules_of(run.name)
    uniform = run.received.low == run.received.high
    return next((rule for rule in rules if len(rules) == 1 or uniform == (rule == "cancelled")), "")


def zero_factor(step: Step) -> tuple[str, Place | None]:
    """Return the cause behind a factor of zeros: a mask, a relu, or nothing but itself."""
    waiting = [v for v in step.inputs if v.state == "zero"]
    for value in waiting:
        if value.kind == "b":
            return "masked", step.place
        if value.step is not None:
            if "dead-relu" in (rules := rules_of(value.step.name)):
                return rules[0], value.step.place
            waiting += [v for v in value.step.inputs if v.state == "zero" and v not in waiting]
    return "times-zero", step.place


def first_bad(values: Iterable[Value], soft: bool = False) -> Finding | None:
    """Return the step that first made nan or inf of finite operands. soft: whether infinite ones are usual."""
    seen: set[Value] = set()
    while True:
        value = next((v for v in values if v.state == "nan" or (v.state == "inf" and not soft)), None)
        if value is None or value in seen or value.step is None:
            return None
        seen.add(value)
        step, values, soft = value.step, carried_by(value.step), "softmax" in value.step.name
        if not any(v.state == "nan" or (v.state == "inf" and not soft) for v in values):
            if not step.inputs or step.name in ("tensor", "make", "masked_fill", "full"):
                return None
            rule = (rules_of(step.name, bad=True) or ["nan-made"])[0]
            return Finding(rule, step.place, f"{described(step.name)} gives {value.state} here")


def explained(name: str, state: str, finding: Finding, share: str = "") -> Explained:
    """Return a finding with the text of its line, and the fix of the table where it has none of its own."""
    path = line = None
    code, fix = "", finding.fix or causes()[finding.rule].fix
    if finding.place is not None:
        path, line = users_path(finding.place[0]), finding.place[1]
        code = "".join(lines_of_file(finding.place[0])[line - 1 : line]).strip()
    return Explained(name, state, finding.rule, path, line, finding.text, fix, code, share)


class Backward:
    """A pass of backward, looked at from where gradients arrive."""

    def __init__(self, which: Pass):
        self.which = which
        self.incoming: dict[Value | int, list[tuple[Run, Size]]] = defaultdict(list)
        self.zero: dict[int, bool] = {}
        for run in which.runs:  # in this order all that a node was sent is known when it runs
            self.zero[run.key] = self.is_zero(run.key, run.received)
            for to, size in run.sent:
                self.incoming[to].append((run, size))

    def key(self, value: Value) -> Value | int:
        """Return where the gradient of a value arrives: itself for a leaf, else the node that made it."""
        runs = (run.key for run in self.which.runs if run.step is value.step and value.step is not None)
        return value if value.leaf else next(runs, value)

    def noise(self, run: Run, size: Size) -> float:
        """Return how large a part may be that is zero within rounding."""
        if self.zero[run.key]:
            return size.most
        units = max((causes()[rule].units for rule in rules_of(run.name)), default=0.0)
        return units * run.eps * run.received.most

    def is_zero(self, key: Value | int, size: Size) -> bool:
        """Return whether all that a node or a leaf receives is zero within rounding. size: of the sum."""
        parts = self.incoming.get(key)
        if not parts or size.state != "ok":
            return size.state == "zero"
        cancelled = CANCELS * max(r.eps for r, _ in parts) * max(s.most for _, s in parts) if len(parts) > 1 else 0.0
        return size.most <= cancelled + sum(self.noise(run, part) for run, part in parts)

    def killer(self, key: Value | int) -> tuple[Run | None, str]:
        """Return the farthest node that got a gradient and sent zeros on towards a key; and its rule, if known."""
        waiting, found = [key], None
        for key in waiting:
            parts = self.incoming.get(key, [])
            if any(part.most > self.noise(run, part) for run, part in parts):  # only their sum is zero
                return max((run for run, _ in parts), key=lambda run: run.step.number if run.step else 0), "cancelled"
            for run, _ in parts:
                if not self.zero[run.key]:
                    found = run
                elif run.key not in waiting:
                    waiting.append(run.key)
        return found, ""

    def above(self, key: Value | int) -> Iterator[Run]:
        """Yield the nodes that a gradient came through, the nearest first."""
        waiting = [key]
        for key in waiting:
            for run, _ in self.incoming.get(key, ()):
                if run.key not in waiting:
                    waiting.append(run.key)
                    yield run

    def chooser(self, run: Run) -> Run:
        """Return what chose among the elements that a node moves: the nearest above that is not a move, too."""
        for other in self.above(run.key):
            rule = zero_rule(other)
            if rule in CHOOSE:
                return other
            if rule not in ("", "cancelled"):
                break
        return run
