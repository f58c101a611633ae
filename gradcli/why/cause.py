"""Find in a record why a gradient is None, zero or not finite.

None: follow the data from the tensor to a step that leaves the graph and whose result leads to the start of backward.
Zero: on every path, find the last node that received a gradient and sent zeros. nan and inf: find the first node that
made them from finite gradients, or the step that made its operands non-finite.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..errors import check_known, lines_of_file
from ..results.causes import Explained, causes
from ..user.lines import LinePlace, carries, name_at
from ..user.tracebacks import users_path
from .passes import Backward, latest_run, operation, rules_for, zero_factor, zero_rule
from .record import ArraySize, Event, NodeRun, Record, RecordedPass, RecordedStep, RecordedValue, is_finite


def explain_record(record: Record, names: list[str]) -> list[Explained]:
    """Explain the named gradients, or else all that matter."""
    reader = Reader(record)
    targets = reader.targets(names)
    found = [(value, reader.explain(name, value, bool(names))) for name, value in targets.items()]
    if not names and any("optimizer" in value.events for value in record.used):  # skip what nobody trains
        wanted = {"optimizer", "read"}
        found = [(v, x) for v, x in found if x.state != "none" or "." not in x.name or v.events.keys() & wanted]
    found = [(value, reader.without_optimizer(value, item)) for value, item in found]
    return [*(item for _, item in found), *reader.replaced(names)]


class PlacedCause(NamedTuple):
    """A cause at a place. what, at, mask, where: for the text in the table of causes. text: replaces that text."""

    rule: str
    place: LinePlace | None
    what: str = ""
    at: str = ""
    mask: str = ""
    text: str = ""
    where: str = ""


SHAPES_ALONE = re.compile("_like$|^new_(?!tensor)|^(empty|zeros|ones|full|rand|randn|make)$|^result_type$")
"""Functions whose results depend on numbers and on the shapes of tensors, not on their values."""
CASTS = re.compile("^(to|type|cast|astype|bool|char|byte|short|int|long|half|bfloat16|float|double|cuda|cpu|clone)$")
WEAK = ("comparison", "indices", "integer-cast")  # causes that many correct scripts contain as well
MASKS = ("where", "maskedfill", "maskedscatter", "mul", "index", "indexput", "maskedselect", "select", "nantonum")


def named_step(step: RecordedStep | None) -> str:
    name = "an operation" if step is None else step.name.strip("_")
    return {"apply": "a custom function", "change": "an assignment in place"}.get(name, name)


def named_run(run: NodeRun | None) -> str:
    if run is not None and run.custom is not None:
        return f"backward() of {run.name.removesuffix('Backward')}"
    return named_step(None if run is None else run.step)


def carried_by(step: RecordedStep) -> Iterable[RecordedValue]:
    """Return the operands whose values influence the results of a step."""
    return [v for v in step.inputs if v.kind == "p"] if SHAPES_ALONE.search(step.name) else step.inputs


def last_use(value: RecordedValue) -> Event | None:
    """Return the last use of a gradient by the script or an optimizer, unless it was filled again since."""
    found = [value.events[kind] for kind in ("read", "step") if kind in value.events]
    late = [event for event in found if value.filled is None or event.number > value.filled.number]
    return max(late, key=lambda event: event.number, default=None)


def last_clear(value: RecordedValue) -> Event | None:
    """Return the event that cleared a gradient before its last use."""
    used = last_use(value)
    return used.cleared if used is not None else value.events.get("clear")


class Reader:
    """Finds in a record which gradients have a problem, and why."""

    def __init__(self, record: Record):
        self.record = record
        self.consumers: dict[RecordedValue, list[RecordedStep]] = defaultdict(list)
        self.leaving: dict[LinePlace, list[RecordedStep]] = defaultdict(
            list
        )  # steps that returned plain numbers, by line
        for step in record.steps:
            for value in carried_by(step):
                self.consumers[value].append(step)
            if step.place is not None and any(v.kind == "p" for v in step.outputs):
                self.leaving[step.place].append(step)
        self.passes = [p for p in record.passes if p.kind == "backward"] or record.passes
        self.backward = functools.cache(Backward)
        self.behind = functools.cache(lambda which: self.behind_pass(which, set()))

    # -- which gradients, and their states --------------------------------------------------------------------

    def targets(self, names: list[str]) -> dict[str, RecordedValue]:
        """Return the tensors to explain: the named ones, or else (lost) leaves and those whose .grad is read."""
        named, reads = self.record.names, {}
        for value in self.record.used:
            if "read" in value.events:
                reads[value.name or name_at(value.events["read"].place)] = value
        if names:
            asked = [name.removesuffix(".grad") for name in names]
            check_known(asked, {**named, **reads}, "NAME")
            return {name: named.get(name) or reads[name] for name in asked}
        chosen: dict[RecordedValue, str] = {}
        for name, value in named.items():
            frozen = "freeze" in value.events and "." not in value.name  # in a module, freezing is intended
            if "read" in value.events or (value.wants and (value.leaf or self.lost_leaf(value))) or frozen:
                chosen.setdefault(value, name)
        for name, value in reads.items():
            size = value.events["read"].size
            if name not in named or size is None or size.state != "ok":  # else an earlier tensor of this name was fine
                chosen.setdefault(value, name)
        return {name: value for value, name in chosen.items()}

    def explain(self, name: str, value: RecordedValue, asked: bool) -> Explained:
        """Explain a gradient. asked: whether the user named it."""
        which = value.filled
        item = self.explain_size(name, value, asked)
        is_returned = which is not None and which.kind == "grad" and value.gradient is None and last_use(value) is None
        return item._replace(returned=is_returned and item.state != "none")

    def explain_size(self, name: str, value: RecordedValue, asked: bool) -> Explained:
        size, which = self.state_of(value)
        state = "none" if size is None else size.state
        backward = None if which is None else self.backward(which)
        if size is None:
            return explained(name, state, self.why_none(value))
        if state in ("nan", "inf"):
            share = f"{size.bad} of {size.total} elements" if size.total > 1 else ""
            return explained(name, state, self.why_first_not_finite(value, backward), share)
        if state == "zero" or (backward is not None and backward.is_zero(backward.key(value), size)):
            cause = self.why_zero(value, backward)
            if asked or cause.rule != "cancelled" or not self.only_shifts(name):
                return explained(name, "zero", cause)
            return Explained(name, "ok", text="0, because the output does not change if a constant is added here")
        text = f"{size.high:.3g}" if size.low == size.high else f"max {size.high:.3g}, min {size.low:.3g}"
        return Explained(name, "ok", text=text)

    def only_shifts(self, name: str) -> bool:
        """Report whether a bias shifts what others of its layer make, such as before a normalization."""
        layer, _, last = name.rpartition(".")
        others = [v for x, v in self.record.names.items() if x != name and layer and x.rpartition(".")[0] == layer]
        return last.startswith("bias") and any(self.has_gradient(value) for value in others)

    def has_gradient(self, value: RecordedValue) -> bool:
        """Report whether a gradient is finite and not zero within rounding."""
        size, which = self.state_of(value)
        if size is None or size.state != "ok":
            return False
        return which is None or not self.backward(which).is_zero(self.backward(which).key(value), size)

    def state_of(self, value: RecordedValue) -> tuple[ArraySize | None, RecordedPass | None]:
        """Return the size of the gradient when it mattered, or None if it was None, and the pass that computed it.

        The size is taken at the gradient's last use, or at the end if it was never used or has been filled again since.
        If the script did not read `.grad`, it is the size of what autograd.grad returned.
        """
        used, which = last_use(value), value.filled
        size = used.size if used is not None else value.gradient
        from_pass = which is not None and (which.kind == "grad" or value.gone) and "read" not in value.events
        if size is None and which is not None and from_pass:
            backward = self.backward(which)
            parts = [part for _, part in backward.incoming[backward.key(value)]]
            size = max(parts, key=lambda s: (s.state != "ok", s.most), default=ArraySize("ok", 1.0))
        return size, which

    def replaced(self, names: list[str]) -> Iterator[Explained]:
        """Yield parameters that an optimizer still holds although their names refer to other tensors now."""
        for old in self.record.used:
            new, made, step = self.record.names.get(old.name), old.events.get("optimizer"), old.events.get("step")
            if new is None or new is old or made is None or step is None or (names and old.name not in names):
                continue
            if not any(which.number > new.number for which in self.record.passes):  # nothing trains the new one
                continue
            if old.leaf and step.size is None:
                place = next((at for at, function in new.chain if function == made.function), new.place)
                line = str(made.place[1]) if made.place else "?"
                name = f"{old.name} (in the optimizer)"
                yield explained(name, "none", PlacedCause("replaced", place or made.place, line))

    def without_optimizer(self, value: RecordedValue, item: Explained) -> Explained:
        """Add to the report on a parameter whose gradient is fine that no optimizer holds it, if there are others."""
        stepped = any("step" in other.events for other in self.record.used)
        first = self.passes[0].number if self.passes else 0
        is_old = value.number < first and len(self.passes) > 1
        unused = value.leaf and value.filled is not None and not value.events.keys() & {"optimizer", "step", "read"}
        if item.state != "ok" or not (stepped and unused and is_old):
            return item
        added = explained(item.name, "ok", PlacedCause("no-optimizer", value.place))
        return added._replace(text=f"{item.text}; {added.text}")

    # -- None -------------------------------------------------------------------------------------------------

    def why_none(self, value: RecordedValue) -> PlacedCause:
        if not value.wants:
            if "freeze" in value.events:
                return PlacedCause("frozen", value.events["freeze"].place)
            return self.cut_before(value) or PlacedCause("not-required", value.place)
        if not value.leaf:
            return PlacedCause(
                "lost-leaf" if self.lost_leaf(value) else "non-leaf", value.place, named_step(value.step)
            )
        cleared = last_clear(value)
        if cleared is not None and cleared.filled is not None and cleared.filled.kind == "backward":
            return PlacedCause("cleared", cleared.place, "cleared")
        inside, cuts = self.reach(value)
        last = max(inside, key=lambda v: v.number)
        if not self.passes:
            return PlacedCause("no-backward", last.place)
        for which in reversed(self.passes):
            if value not in which.leaves and (cut := self.cut_towards(which, inside, cuts)) is not None:
                return cut
        asked = [which for which in self.record.passes if which.kind == "grad" and value in which.targets]
        if asked:
            return PlacedCause("grad-returned", asked[-1].place)
        for which in reversed(self.passes):
            if value in which.leaves:
                runs = [run for run in which.runs if run.step is not None and value in run.step.inputs]
                run = next((run for run in runs if run.custom is not None), runs[0] if runs else None)
                return PlacedCause("no-derivative", run.place if run else which.place, named_run(run))
        if last.shape == () and last is not value:
            return PlacedCause("other-output", self.passes[-1].place)
        return PlacedCause("never-used", last.place)

    def lost_leaf(self, value: RecordedValue) -> bool:
        """Return whether a tensor was made from a leaf without a name, by a cast or on the line that made that leaf."""
        step = value.step
        if step is None or not value.wants or value.leaf or len(step.inputs) != 1:
            return False
        source = step.inputs[0]
        nameless = source.leaf and source.wants and source not in self.record.names.values()
        return nameless and source.shape == value.shape and bool(CASTS.match(step.name) or source.place == step.place)

    def reach(self, value: RecordedValue) -> tuple[set[RecordedValue], list[tuple[RecordedStep, RecordedValue]]]:
        """Return the values that the graph connects with a value, and the steps that leave the graph, with results."""
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

    def cut_towards(
        self, which: RecordedPass, inside: set[RecordedValue], cuts: list[tuple[RecordedStep, RecordedValue]]
    ) -> PlacedCause | None:
        """Return the first cut from which data leads to the start of a pass without coming back inside."""
        found = [cut for cut in cuts if cut[1] in self.behind(which)]
        if len({step.place for step, _ in found}) > 1:
            outside = self.behind_pass(which, inside)
            found = [cut for cut in found if cut[1] in outside]
        candidates = [(step.number, self.cut_at(step, result)) for step, result in found]
        return min(candidates, key=lambda x: (x[1].rule in WEAK, x[0]), default=(0, None))[1]

    def behind_pass(self, which: RecordedPass, inside: set[RecordedValue]) -> set[RecordedValue]:
        """Return all values that the start of a pass was computed from, going back to values inside."""
        waiting, seen = list(which.roots), set(which.roots)
        done: dict[tuple, int] = defaultdict(int)
        while waiting:
            value = waiting.pop()
            if value in inside:
                continue
            step = value.step
            more = [] if step is None else [*carried_by(step)]
            end, number = (value.place, value.number) if step is None else (step.place, step.number)
            # Only the script's text shows what it does with numbers, and what a function that is not recorded reads.
            for start, steps in self.leaving.items() if end is not None and (step is None or step.is_open) else ():
                while done[start, end] < len(steps) and steps[done[start, end]].number < number and carries(start, end):
                    more += steps[done[start, end]].outputs
                    done[start, end] += 1
            waiting += [value for value in dict.fromkeys(more) if value not in seen]
            seen.update(more)
        return seen

    def cut_before(self, value: RecordedValue) -> PlacedCause | None:
        """Return the nearest step before a tensor that left the graph."""
        waiting = [value]
        for result in waiting:
            if result.step is not None:
                inputs = carried_by(result.step)
                if any(v.wants for v in inputs):
                    return self.cut_at(result.step, result)
                waiting += [v for v in inputs if v not in waiting]
        return None

    def cut_at(self, step: RecordedStep, result: RecordedValue) -> PlacedCause:
        """Return the cause at a step whose result does not require grad."""
        what, rules = named_step(step), rules_for(step.name)
        if step.checkpoint is not None:
            return PlacedCause("checkpoint", step.checkpoint)
        if "numpy" in rules or "detached" in rules or result.kind == "p":
            call = f".{what}" if what == "data" else f".{what}()" if what in ("item", "tolist") else f"{what}()"
            return PlacedCause("numpy" if "numpy" in rules else "detached", step.place, call)
        if result.kind in "ib":
            kind = "comparison" if result.kind == "b" else "indices"
            return PlacedCause("integer-cast" if CASTS.match(step.name) else kind, step.place, what)
        return PlacedCause("no-derivative" if step.recorded else "no-grad", step.place, what)

    # -- zero, nan and inf ------------------------------------------------------------------------------------

    def why_zero(self, value: RecordedValue, backward: Backward | None) -> PlacedCause:
        cleared = last_clear(value)
        if cleared is not None and cleared.filled is not None and cleared.filled is value.filled:
            return PlacedCause("cleared", cleared.place, "set to zero")
        run, rule = (None, "") if backward is None else backward.killer(backward.key(value))
        if backward is None or run is None:
            return PlacedCause("zero-slope", backward.which.place if backward else value.place, "an operation")
        if run.custom is not None and not rule:
            return PlacedCause("zero-slope", run.custom, named_run(run))
        if not rule and not (rule := zero_rule(run)):
            run = backward.chooser(run)
            rule = zero_rule(run) or "zero-slope"
        place, what = run.place, "an operation" if rule == "zero-slope" else operation(run.name)
        if rule == "times-zero" and run.step is not None:
            rule, place = zero_factor(run.step)
            return PlacedCause(rule, place, what)
        note = run.note
        if note is None or note.reached is None or (rule == "dead-relu" and note.high <= 0):
            return PlacedCause(rule, place, what, operand_text(run, ": {} is {}"))
        parts = backward.incoming[run.key]
        if rule != "cancelled" and len(parts) > 1 and max(part.nonzero for _, part in parts) > note.reached:
            last = latest_run(parts)
            return PlacedCause("cancelled", last.place)
        where = " where a gradient arrives"
        return PlacedCause(rule, place, what, operand_text(run, ": {} is {} there"), where=where)

    def why_first_not_finite(self, value: RecordedValue, backward: Backward | None) -> PlacedCause:
        """Return the cause in the pass that made the gradient nan or inf first, or that made the tensor so before."""
        which = value.bad or (backward.which if backward else None)
        if which is None:
            return PlacedCause("nan-input", value.place)
        if value.spoiled is not None and value.spoiled.number < which.number:
            return self.followed(value, value.spoiled.by)
        cause = self.why_not_finite(value, self.backward(which))
        return cause if backward is None or which is backward.which else in_pass(cause, which, "")

    def followed(self, value: RecordedValue, first: RecordedPass) -> PlacedCause:
        """Return the cause in an earlier pass, whose gradient made a value nan or inf."""
        return in_pass(self.why_not_finite(value, self.backward(first)), first, "; later ones follow from it")

    def why_not_finite(self, value: RecordedValue, backward: Backward) -> PlacedCause:
        which = backward.which
        bad = [r for r in which.runs if is_finite(r.received) and spoils(r)]
        if not bad:
            return self.first_bad(which.roots, which.number) or PlacedCause("nan-input", value.place)
        above = list(backward.above(backward.key(value)))
        run = next((run for run in bad if run in above), bad[0])
        step, kind = run.step, operation(run.name)
        if step is not None and (origin := self.first_bad(step.inputs, step.number, "softmax" in kind)) is not None:
            return origin
        if run.custom is not None:
            return PlacedCause("nan-made", run.custom, named_run(run))
        place, at = run.place, operand_text(run, " at {}{}")
        hides = run.note is not None and run.note.hidden
        mask = next((r.step for r in backward.above(run.key) if hides and selects_elements(r)), None)
        if mask is not None:
            line = f" at line {mask.place[1]}" if mask.place and mask.place != place else ""
            return PlacedCause("nan-where", place, kind, at, f"{named_step(mask)}{line}")
        rule = next(iter(rules_for(run.name, bad=True)), "nan-made")
        at += ", where the gradient that arrives is 0" * hides
        return PlacedCause(rule, place, kind if rule != "nan-made" else "an operation", at)

    def first_bad(self, values: Iterable[RecordedValue], before: int, soft: bool = False) -> PlacedCause | None:
        """Return the step that first made nan or inf from finite operands.

        before: the number of the step or pass that uses the values. soft: whether infinite operands are normal.
        """
        found = None
        while True:
            spoiled = next((v for v in values if v.spoiled is not None and v.spoiled.number < before), None)
            if spoiled is not None and spoiled.spoiled is not None:
                return self.followed(spoiled, spoiled.spoiled.by)
            value = next((v for v in values if v.state == "nan" or (v.state == "inf" and not soft)), None)
            if value is None and found is not None and found.step is not None and values:
                rule = (rules_for(found.step.name, bad=True) or ["nan-made"])[0]
                return PlacedCause(rule, found.step.place, text=f"{named_step(found.step)} gives {found.state} here")
            if value is None or value.step is None or value.step.name in ("tensor", "make", "masked_fill", "full"):
                return None if value is None or value.state == "inf" else PlacedCause("nan-input", value.place)
            found, values, before = value, carried_by(value.step), value.step.number
            soft = "softmax" in value.step.name


def in_pass(cause: PlacedCause, which: RecordedPass, more: str) -> PlacedCause:
    """Say in a cause's text in which pass it was, unless the text names one already."""
    text = cause.text or (causes()[cause.rule].text or causes()[cause.rule].title).format(name="", **cause._asdict())
    kind = "backward" if which.kind == "backward" else "autograd.grad()"
    return cause if " number " in text else cause._replace(text=f"{text} (in {kind} number {which.count}{more})")


def spoils(run: NodeRun) -> bool:
    return not all(is_finite(part) for _, part in run.sent)


def selects_elements(run: NodeRun) -> bool:
    """Report whether a node selects elements. A product does so if a factor comes from truth values."""
    kind = operation(run.name)
    factors = run.step.inputs if run.step is not None else ()
    return kind in MASKS and (kind != "mul" or any(map(is_mask, factors)))


def is_mask(value: RecordedValue) -> bool:
    source = value.step.inputs if value.step is not None and CASTS.match(value.step.name) else ()
    return value.kind == "b" or any(v.kind == "b" for v in source)


def operand_text(run: NodeRun, text: str) -> str:
    return text.format(run.note.operand.name or "its operand", run.note.text) if run.note else ""


def explained(name: str, state: str, cause: PlacedCause, share: str = "") -> Explained:
    """Add the texts of the table and the line of the script to a cause."""
    page, path, line, code = causes()[cause.rule], None, None, ""
    if cause.place is not None:
        path, line = users_path(cause.place[0]), cause.place[1]
        code = "".join(lines_of_file(cause.place[0])[line - 1 : line]).strip()
    text = cause.text or (page.text or page.title).format(name=name, **cause._asdict())
    return Explained(name, state, cause.rule, path, line, text, page.fix, code, share)
