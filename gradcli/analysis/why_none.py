"""Why a gradient is None: forward from the tensor along the data, to the step that leaves the graph.

The step counts if what it made still leads, by data alone, to where backward started.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..program.flow import Event, Flow, Step, Value
from ..program.source_flow import SourceFlow, enclosing_block
from ..program.user_lines import Place

LEAVE = {name: f".{name}() leaves the graph" for name in ("item", "tolist")} | {
    "__float__": "float() leaves the graph",
    "__int__": "int() leaves the graph",
    "__index__": "an index leaves the graph",
    "detach": "detach() leaves the graph",
    "detach_": "detach_() leaves the graph",
    "data": ".data leaves the graph",
    "tensor": "torch.tensor(...) copies the numbers",
    "new_tensor": "new_tensor(...) copies the numbers",
    "numpy": "NumPy records nothing",
    "__array__": "NumPy records nothing",
}
POSITIONS = re.compile("arg|sort|topk|max|min|median|mode|nonzero|unique|searchsorted|bucketize|multinomial|kthvalue")
SHAPES_ALONE = re.compile("_like$|^new_(?!tensor)|^(empty|zeros|ones|full|rand|randn|make)$|^is_|^result_type$")
"""Functions that take no numbers from their operands: their results do not depend on them."""
CASTS = re.compile("^(to|type|cast|astype|double|float|half|bfloat16|cuda|cpu|clone|contiguous)$")


class Finding(NamedTuple):
    """A cause at a place. fix: where it says more than the table."""

    rule: str
    place: Place | None
    text: str
    fix: str = ""


class Target(NamedTuple):
    """A tensor to explain. tensor: None where only its reading was seen. event: the last use of its gradient."""

    name: str
    value: Value
    tensor: Any
    event: Event | None

    @property
    def key(self) -> Any:
        """Where backward sends its gradient."""
        return ("leaf", self.value.number) if self.event is None else self.event.key


class Record:
    """A flow with what is looked up in it, and the causes of None that it holds."""

    def __init__(self, flow: Flow):
        self.flow = flow
        self.consumers: dict[int, list[Step]] = defaultdict(list)
        for step in flow.steps.values():
            for number in step.inputs:
                self.consumers[number].append(step)
        self.open = [step for step in flow.steps.values() if step.is_open]
        self.events: dict[int, list[Event]] = defaultdict(list)
        for event in flow.events:
            self.events[event.value].append(event)
        self.roots = [number for run in flow.passes for number in run.roots]
        self.text = SourceFlow()

    def lost_leaf(self, value: Value) -> Step | None:
        """Return the step that made a non-leaf of a leaf without a name, on the line that made that leaf."""
        step = self.flow.steps.get(value.maker)
        if step is None or not value.wants or value.leaf or len(step.inputs) != 1:
            return None
        source = self.flow.known.get(step.inputs[0])
        alive = {self.flow.value(x).number for _, x in self.flow.names()}
        if (
            source is None
            or not (source.leaf and source.wants)
            or source.number in alive
            or source.shape != value.shape
        ):
            return None
        return step if CASTS.match(step.name) or source.place == step.place else None

    def why_none(self, target: Target) -> Finding:
        value = target.value
        events = self.events[value.number]
        if not value.wants:
            frozen = [e for e in events if e.kind == "freeze"]
            if frozen:
                return Finding("frozen", frozen[-1].place, "requires_grad was switched off here")
            return self.cut_before(value) or Finding("not-required", value.place, "it was made without requires_grad")
        if not value.leaf:
            if (step := self.lost_leaf(value)) is not None:
                text = f"{described(step.name)} returns a new tensor, which is not a leaf"
                return Finding("lost-leaf", step.place, text)
            step = self.flow.steps.get(value.maker)
            text = f"it is the result of {described(step.name)}" if step else "it is the result of an operation"
            fix = f"call {target.name}.retain_grad() before backward"
            return Finding("non-leaf", value.place, f"{text}: backward fills .grad of leaves only", fix)
        key = ("leaf", value.number)
        until = target.event.number if target.event is not None else None
        filled = [run.number for run in self.flow.passes if run.kind == "backward" and key in run.arrived()]
        cleared = [e for e in events if e.kind == "clear" and (until is None or e.number < until or not filled)]
        late = [e for e in cleared if filled and e.number > filled[0]]
        if late:
            return Finding("cleared", late[-1].place, "the gradient is cleared here, after backward has filled it")
        reach = Reach(self, value)
        attempts = [run for run in self.flow.passes if run.kind == "backward"] or list(self.flow.passes)
        for run in reversed(attempts):
            if (cut := reach.cut_towards(run.roots)) is not None and value.number not in run.leaves:
                return cut
        if not attempts:
            last = reach.last()
            text = "backward() is never called on what is computed from it"
            return Finding("no-backward", last.place if last else value.place, text)
        if any(value.number in run.targets for run in self.flow.passes if run.kind == "grad"):
            run = next(r for r in reversed(self.flow.passes) if r.kind == "grad" and value.number in r.targets)
            return Finding("grad-returned", run.place, "autograd.grad returns the gradient and does not fill .grad")
        for run in reversed(attempts):
            if value.number in run.leaves:
                nones = [node for node in run.runs for edge in node.edges if edge.to == key and edge.size is None]
                step = self.flow.steps.get(nones[-1].step) if nones else None
                text = f"{nones[-1].name} returned None for it" if nones else "backward reached it with no gradient"
                return Finding("no-derivative", step.place if step else run.place, text)
        last = reach.last()
        if last is None:
            return Finding("never-used", value.place, "nothing that is computed uses it")
        if last.shape == ():
            text = "backward starts here, at an output that does not depend on it"
            return Finding("other-output", attempts[-1].place, text)
        return Finding("never-used", last.place, "what is computed from it here is not used")

    def cut_before(self, value: Value) -> Finding | None:
        """Return the nearest step behind a tensor at which it left the graph."""
        waiting, seen = [value.number], set()
        while waiting:
            number = waiting.pop(0)
            known = self.flow.known.get(number)
            step = self.flow.steps.get(known.maker) if known is not None else None
            if known is None or step is None or number in seen or SHAPES_ALONE.search(step.name):
                continue
            seen.add(number)
            if any(self.flow.known[n].wants for n in step.inputs if n in self.flow.known):
                return self.cut_at(step, known)
            waiting += step.inputs
        return None

    def cut_at(self, step: Step, result: Value) -> Finding:
        """Return what cuts the graph at a step whose result does not require grad."""
        name = step.name
        if name in LEAVE:
            rule = "numpy" if LEAVE[name].startswith("NumPy") else "detached"
            return Finding(rule, step.place, f"{LEAVE[name]}: everything before this line gets no gradient")
        if step.checkpoint is not None:
            text = "a reentrant checkpoint records nothing if none of its inputs requires grad"
            return Finding("checkpoint", step.checkpoint, text)
        if result.kind == "b" and not CASTS.match(name) and name != "bool":
            return Finding(
                "comparison", step.place, f"{described(name)} gives True and False, which have no derivative"
            )
        if result.kind == "i" and POSITIONS.search(name):
            return Finding("indices", step.place, f"{described(name)} gives indices, which have no derivative")
        if result.kind in "ib":
            return Finding("integer-cast", step.place, f"{described(name)} gives integers, which have no derivative")
        if not step.recorded:
            block = enclosing_block(step.place)
            where = f" of line {block}" if block is not None else ""
            return Finding("no-grad", step.place, f"this runs inside no_grad or inference_mode{where}")
        if result.kind == "p":
            return Finding("detached", step.place, f"{described(name)} leaves the graph")
        return Finding("no-derivative", step.place, f"{described(name)} has no derivative")


def described(name: str) -> str:
    return {"apply": "a custom function", "change": "an assignment in place"}.get(name, name.strip("_") or name)


class Reach:
    """What is computed from a value: through the graph, and beyond the steps that leave it."""

    def __init__(self, reader: Record, value: Value):
        self.reader, self.flow = reader, reader.flow
        self.inside, self.cuts = {value.number}, []
        waiting = [value.number]
        while waiting:
            for step in reader.consumers[waiting.pop()]:
                if SHAPES_ALONE.search(step.name):
                    continue
                for number in step.outputs:
                    result = self.flow.known.get(number)
                    if result is None or number in self.inside:
                        continue
                    if result.wants and not result.leaf:  # a leaf: requires_grad_() was called on what was cut off
                        self.inside.add(number)
                        waiting.append(number)
                    else:
                        self.cuts.append((step, result))
        self.start = value.number

    def last(self) -> Value | None:
        """Return the last result that is connected with the value; None where nothing was computed."""
        rest = self.inside - {self.start}
        return self.flow.known[max(rest)] if rest else None

    def cut_towards(self, roots: Iterable[int]) -> Finding | None:
        """Return the cut behind which the data goes on to one of the roots; None where the graph leads there."""
        if self.inside & set(roots):
            return None
        found = [cut for cut in self.cuts if self.data_reaches(cut[1], set(roots))]
        if not found:
            return None
        weak = ("comparison", "indices", "integer-cast")
        chosen = min(found, key=lambda c: (self.reader.cut_at(*c).rule in weak, c[0].number))
        return self.reader.cut_at(*chosen)

    def data_reaches(self, value: Value, roots: set[int]) -> bool:
        waiting, seen = [value.number], {value.number}
        while waiting:
            number = waiting.pop()
            if number in roots:
                return True
            known = self.flow.known.get(number)
            steps = list(self.reader.consumers[number])
            if known is not None and known.kind == "p":  # numbers: what the script does with them is in its text
                maker = self.flow.steps.get(known.maker)
                if maker is not None:
                    later = (s for s in self.reader.open if s.number > maker.number)
                    steps += [s for s in later if self.reader.text.leads(maker.place, s.place)]
            for step in steps:
                if not SHAPES_ALONE.search(step.name) or step.name in ("tensor", "full", "full_like", "make"):
                    new = [n for n in step.outputs if n not in seen]
                    seen.update(new)
                    waiting += new
        return False
