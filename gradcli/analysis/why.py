"""Why a gradient is None, zero or not finite: the cause in a script, from what a flow has seen of it.

None: forward from the tensor along the data, to the step that leaves the graph and still leads to where backward
started. Zero: up from the tensor against backward's way, to the node that got a gradient and sent zeros. nan and inf:
the first node that made them from finite gradients, or what made its operands so.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..errors import check_known, lines_of_file
from ..program.base import UNPREPARED, Values
from ..program.detect_framework import framework_imported, modules_imported
from ..program.flow import Edge, Event, Flow, Following, NodeRun, Pass, Place, Size, Step, Value, is_users
from ..program.script import Execution, ScriptProgram
from ..program.user_code import users_path
from ..show.causes import CAUSES, Explained, Explanation
from ..tape.modes import observing
from ..tape.record import recording

LEAVE = {
    "item": ".item() leaves the graph: everything before this line gets no gradient",
    "__float__": "float() leaves the graph: everything before this line gets no gradient",
    "__int__": "int() leaves the graph: everything before this line gets no gradient",
    "__index__": "an index leaves the graph: everything before this line gets no gradient",
    "tolist": ".tolist() leaves the graph: everything before this line gets no gradient",
    "detach": "detach() leaves the graph: everything before this line gets no gradient",
    "detach_": "detach_() leaves the graph: everything before this line gets no gradient",
    "data": ".data leaves the graph: everything before this line gets no gradient",
    "tensor": "torch.tensor(...) copies the numbers: everything before this line gets no gradient",
    "new_tensor": "new_tensor(...) copies the numbers: everything before this line gets no gradient",
}
TO_NUMPY = ("numpy", "__array__")
POSITIONS = re.compile("arg|sort|topk|max|min|median|mode|nonzero|unique|searchsorted|bucketize|multinomial|kthvalue")
SHAPES_ALONE = re.compile("_like$|^new_(?!tensor)|^(empty|zeros|ones|full|rand|randn|make)$|^is_|^result_type$")
"""Functions that take no numbers from their operands: their results do not depend on them."""
CASTS = re.compile("^(to|type|cast|astype|double|float|half|bfloat16|cuda|cpu|clone|contiguous)$")

ENDS = {
    "dead-relu": "Relu Threshold",
    "clamped": "Clamp ClampMin ClampMax Hardtanh Hardsigmoid Hardswish Relu6",
    "rounded": "Round Floor Ceil Trunc Sign Sgn Heaviside FloorDivide",
    "unselected-branch": "Where",
    "masked": "MaskedFill MaskedScatter NativeDropout FeatureDropout",
    "not-chosen": "Max Min Amax Amin Maximum Minimum Fmax Fmin Topk Sort Kthvalue Median Cummax Cummin Aminmax "
    "MaxPool1D MaxPool2D MaxPool2DWithIndices AdaptiveMaxPool1D AdaptiveMaxPool2D",
    "saturated": "Sigmoid Tanh LogSigmoid LogSigmoidForward Softplus Softmax LogSoftmax SafeSoftmax Erf Erfc Exp Gelu "
    "Silu Elu BinaryCrossEntropy Exp2 Mish Atan",
    "times-zero": "Mul Mm Addmm Bmm Baddbmm Mv Addmv Dot Vdot Div Matmul Linear Convolution Conv1D Conv2D Lerp Prod "
    "Einsum Addcmul ConvolutionOverrideable MatrixProduct",
    "flat-point": "Abs Pow MseLoss SmoothL1Loss L1Loss HuberLoss Square LinalgVectorNorm Norm Cos Cosh Atan2",
    "not-selected": "Index Select Slice Gather IndexSelect Take Narrow Split Unbind Diagonal Embedding GetItem "
    "IndexPut Setitem CopySlices Tril Triu",
    "cancelled": "Sub Add Sum Mean Var Std NativeBatchNorm NativeLayerNorm NativeGroupNorm CudnnBatchNorm Expand "
    "BatchNorm LayerNorm GroupNorm BroadcastTo",
    "nan-sqrt": "Sqrt Rsqrt",
    "nan-norm": "LinalgVectorNorm Norm Cdist PairwiseDistance",
    "nan-log": "Log Log2 Log10 Log1P Xlogy LogAddExp BinaryCrossEntropy Logit LogSigmoid",
    "nan-power": "Pow",
    "nan-arc": "Acos Asin Atanh Acosh",
    "nan-atan2": "Atan2",
    "nan-division": "Div Reciprocal",
    "nan-std": "Std Var StdMean VarMean",
    "nan-softmax": "Softmax LogSoftmax SafeSoftmax Logsumexp",
    "overflow": "Exp Exp2 Sinh Cosh Expm1",
}  # fmt: skip
ZERO_RULES = {op: rule for rule, ops in ENDS.items() if not rule.startswith(("nan", "over")) for op in ops.split()}
NAN_RULES = {op: rule for rule, ops in ENDS.items() if rule.startswith(("nan", "over")) for op in ops.split()}
MOVES = set("Stack Cat Split Unbind Select Slice View Reshape Permute Transpose T Expand Squeeze Unsqueeze Unsafe "
            "UnsafeView Repeat Clone Flatten Swapaxes BroadcastTo Alias AsStrided ToCopy Index Diagonal Hstack".split())  # fmt: skip
"""Nodes that move elements: where one sends zeros, an earlier one has chosen."""
HIDES = ("Where", "MaskedFill", "Mul", "Index", "IndexPut", "MaskedScatter", "MaskedSelect", "Select", "NanToNum")
MASKS = ("Where", "MaskedFill", "MaskedScatter")
ROUNDING = {**dict.fromkeys(("Sigmoid", "Tanh", "Erf", "Gelu", "Silu", "Softplus"), 1.0),
            **dict.fromkeys(("Softmax", "LogSoftmax", "SafeSoftmax"), 16.0),
            **dict.fromkeys(("NativeBatchNorm", "NativeLayerNorm", "NativeGroupNorm", "CudnnBatchNorm"), 64.0)}  # fmt: skip
"""How many rounding units of what a node receives count as zero in what it sends, where its slope cannot be small."""
CANCELS = 64.0  # rounding units of its largest part that are zero in a sum
TRIVIAL = ("zero",)


def kind_of(node: str) -> str:
    """Return the operation of a node's name: Mul of MulBackward0."""
    return node.partition("Backward")[0]


class Finding(NamedTuple):
    """A cause at a place. fix: where it says more than the table."""

    rule: str
    place: Place | None
    text: str
    fix: str = ""


class Followed(Execution):
    """An execution of a script that a flow follows."""

    def __init__(self, script: ScriptProgram, given: Values):
        super().__init__(script, given, UNPREPARED)
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
    import os

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
    execution.execute()
    return Explanation(program.title, tuple(Reader(execution.flow).explain(list(names))))


class Target(NamedTuple):
    """A tensor to explain. tensor: None where only its reading was seen. event: the last use of its gradient."""

    name: str
    value: Value
    tensor: Any
    event: Event | None


class Reader:
    """Reads causes out of a flow."""

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

    # -- which gradients ------------------------------------------------------------------------------

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
            check_known(asked, {**named, **reads}, "name")
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
            if old is None and (same or not self.is_replaced_read(name, known, event)):
                chosen[target.value.number] = target
        return list(chosen.values())

    def left_alone(self, targets: list[Target], found: dict[str, Explained]) -> set[str]:
        """Return parameters of modules that nobody trains: no gradient, no optimizer although there is one."""
        trained = {event.value for event in self.flow.events if event.kind in ("optimizer", "read")}
        owners: dict[str, list[Target]] = defaultdict(list)
        for target in targets:
            owners[target.name.partition(".")[0]].append(target)
        idle = [
            [target.name for target in group]
            for owner, group in owners.items()
            if all("." in t.name and found[t.name].state == "none" and t.value.number not in trained for t in group)
        ]
        optimized = any(event.kind == "optimizer" for event in self.flow.events)
        return {name for group in idle for name in group} if optimized else set()

    def is_replaced_read(self, name: str, known: Any, event: Event) -> bool:
        """Return whether a read was of an earlier tensor of that name, whose gradient was fine."""
        return known is not None and event.size is not None and event.size.state == "ok"

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

    def lost_leaf(self, value: Value) -> Step | None:
        """Return the step that made a non-leaf of a leaf without a name, on the line that made that leaf."""
        step = self.flow.steps.get(value.maker)
        if step is None or not value.wants or value.leaf or len(step.inputs) != 1:
            return None
        source = self.flow.known.get(step.inputs[0])
        alive = {self.flow.value(x).number for _, x in self.flow.names()}
        if source is None or not (source.leaf and source.wants) or source.number in alive or source.shape != value.shape:
            return None
        return step if CASTS.match(step.name) or source.place == step.place else None

    # -- one gradient -----------------------------------------------------------------------------------

    def explain_one(self, target: Target, asked: bool) -> Explained:
        size, run = self.state_of(target)
        if size is None:
            finding, state = self.why_none(target), "none"
        else:
            state, finding = size.state, None
            if state == "ok" and run is not None and (self.is_bias(target.name) is None or asked):
                zeros = Zeros(run, self)
                if zeros.is_zero(self.key_of(target)):
                    state = "zero"
            if state == "zero":
                finding = self.why_zero(target, run)
                if not asked and finding.rule == "cancelled" and self.is_bias(target.name):
                    state = "ok"
            elif state in ("nan", "inf"):
                finding = self.why_not_finite(target, run)
        if state == "ok" or finding is None:
            most = f"largest element {size.most:.3g}" if size is not None else ""
            return Explained(target.name, "ok", text=most)
        place = finding.place or target.value.place or (target.event.place if target.event else None)
        shown = "" if place is None else users_path(place[0])
        code = "" if place is None else "".join(lines_of_file(place[0])[place[1] - 1 : place[1]]).strip()
        fix = finding.fix or CAUSES[finding.rule].fix
        line = None if place is None else place[1]
        return Explained(target.name, state, finding.rule, shown or None, line, finding.text, fix, code)

    def is_bias(self, name: str) -> bool | None:
        """Return True for a bias, whose gradient a following normalization cancels in every ordinary network."""
        return True if name.rpartition(".")[2].startswith("bias") or name.endswith("_bias") else None

    def key_of(self, target: Target) -> Any:
        return target.event.key if target.event is not None else ("leaf", target.value.number)

    def state_of(self, target: Target) -> tuple[Size | None, Pass | None]:
        """Return how large the gradient was when it counted, None for None, and the pass that it came from.

        That is at its last use, by the script or an optimizer; where it was filled again since, or never used, at the
        end; and what autograd.grad returned, where nothing asked for `.grad`.
        """
        value, events = target.value, self.events[target.value.number]
        key = ("leaf", value.number) if target.event is None else target.event.key
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
            at_end = None if gradient is None else size_in(self.flow, gradient)
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

    # -- None ---------------------------------------------------------------------------------------------

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
            if (cut := reach.cut_towards(None)) is not None:
                return cut
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
        if last.number in reach.connected(self.roots) or last.shape == () or not self.consumers[last.number]:
            if last.shape == () or last.flag == "":
                outputs = "backward starts here, at an output that does not depend on it"
                return Finding(*(("other-output", attempts[-1].place, outputs) if last.shape == () else
                                 ("never-used", last.place, "what is computed from it here is not used")))  # fmt: skip
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
        if name in TO_NUMPY:
            return Finding("numpy", step.place, "NumPy records nothing: everything before this line gets no gradient")
        if name in LEAVE:
            return Finding("detached", step.place, LEAVE[name])
        if step.checkpoint is not None:
            text = "a reentrant checkpoint records nothing if none of its inputs requires grad"
            return Finding("checkpoint", step.checkpoint, text)
        if result.kind == "b" and not CASTS.match(name) and name != "bool":
            return Finding("comparison", step.place, f"{described(name)} gives True and False, which have no derivative")
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
            place = fresh.place or event.place
            line = event.place[1] if event.place else "?"
            text = f"made anew here; the optimizer of line {line} still holds the old one, whose gradient stays None"
            code = "" if place is None else "".join(lines_of_file(place[0])[place[1] - 1 : place[1]]).strip()
            path, row = (users_path(place[0]), place[1]) if place else (None, None)
            name = f"{event.name} (in the optimizer)" if event.name in told else event.name
            yield Explained(name, "none", "replaced", path, row, text, CAUSES["replaced"].fix, code)

    # -- zero ---------------------------------------------------------------------------------------------

    def why_zero(self, target: Target, run: Pass | None) -> Finding:
        events = self.events[target.value.number]
        late = [e for e in events if e.kind == "clear" and run is not None and e.number > run.number]
        if late and (target.event is None or late[-1].number < target.event.number):
            return Finding("cleared", late[-1].place, "the gradient is set to zero here, after backward has filled it")
        if run is None:
            return Finding("zero-slope", None, "it holds zeros")
        zeros = Zeros(run, self)
        node, rule = zeros.killer(self.key_of(target))
        if node is None:
            return Finding("zero-slope", run.place, "the gradient that backward starts with is zero")
        step = self.flow.steps.get(node.step)
        kind, place = kind_of(node.name), step.place if step else None
        rule = rule or ZERO_RULES.get(kind, "zero-slope")
        if rule != "cancelled" and kind in MOVES:
            chooser = zeros.chooser(node)
            if chooser is not None:
                node = chooser
                step = self.flow.steps.get(node.step)
                kind, place = kind_of(node.name), step.place if step else None
                rule = ZERO_RULES.get(kind, "not-selected")
        if rule == "saturated" and kind in ("Softmax", "LogSoftmax", "SafeSoftmax"):
            rule = "cancelled" if any(0 < e.size.most for e in node.edges if e.size) or flat(node) else "saturated"
        if rule == "times-zero" and step is not None:
            rule, place = self.zero_factor(step, rule)
        told = {
            "cancelled": f"what {target.name} adds to the output in several ways cancels here",
            "saturated": f"{kind.lower()} is flat here: {node.note}" if node.note else f"{kind.lower()} is flat here",
            "dead-relu": f"no input of relu is positive: {node.note}" if node.note else "no input of relu is positive",
            "clamped": f"all values are outside the limits: {node.note}" if node.note else "",
            "times-zero": "the other factor is zero everywhere",
        }
        text = told.get(rule) or CAUSES[rule].title
        return Finding(rule, place, text)

    def zero_factor(self, step: Step, rule: str) -> tuple[str, Place | None]:
        """Return the cause behind a factor of zeros: a mask, a relu, or nothing but itself."""
        for number in step.inputs:
            value = self.flow.known.get(number)
            while value is not None and value.flag == "zero":
                if value.kind == "b":
                    return "masked", step.place
                maker = self.flow.steps.get(value.maker)
                if maker is None or not maker.inputs:
                    break
                if maker.name in ("relu", "relu_", "relu6"):
                    return "dead-relu", maker.place
                value = next((v for n in maker.inputs if (v := self.flow.known.get(n)) and v.flag == "zero"), None)
        return rule, step.place

    # -- nan and inf ------------------------------------------------------------------------------------

    def why_not_finite(self, target: Target, run: Pass | None) -> Finding:
        bad = [] if run is None else [n for n in run.runs if n.size.state not in ("nan", "inf") and spoils(n)]
        if not bad or run is None:
            spoiled = next((v for n in self.roots if (v := self.flow.known.get(n)) and v.flag in ("nan", "inf")), None)
            if spoiled is not None and (origin := self.first_bad(spoiled)) is not None:
                return origin
            return Finding("nan-input", target.value.place, "the gradient that backward starts with is not finite")
        zeros, key = Zeros(run, self), self.key_of(target)
        node = next((n for n in bad if zeros.leads(n, key)), bad[0])
        step, kind = self.flow.steps.get(node.step), kind_of(node.name)
        place = step.place if step else None
        if step is not None:
            operands = [v for n in step.inputs if (v := self.flow.known.get(n)) is not None]
            soft = NAN_RULES.get(kind) == "nan-softmax"
            spoiled = next((v for v in operands if v.flag == "nan" or (v.flag == "inf" and not soft)), None)
            if spoiled is not None and (origin := self.first_bad(spoiled)) is not None:
                return origin
        rule = NAN_RULES.get(kind, "nan-made")
        text = f"{kind.lower()} has no finite slope at {node.note}" if node.note else CAUSES[rule].title
        fix = ""
        if node.hidden and (mask := zeros.mask_over(node)) is not None:
            hider = self.flow.steps.get(mask.step)
            word = {"Where": "where", "MaskedFill": "masked_fill", "Mul": "a mask"}.get(kind_of(mask.name), "an index")
            line = hider.place[1] if hider is not None and hider.place is not None else None
            at = f" at line {line}" if line is not None and (place is None or line != place[1]) else ""
            slope = "an infinite slope" if NAN_RULES.get(kind) != "nan-atan2" else "no slope"
            text = f"{kind.lower()} has {slope} at {node.note}, and {word}{at} multiplies it by 0"
            fix, rule = f"give {kind.lower()} a safe argument: apply where to its argument, not to its result", "nan-where"
        return Finding(rule, place, text, fix)

    def first_bad(self, value: Value) -> Finding | None:
        """Return the step that first made nan or inf of finite operands, behind a value that holds it."""
        seen: set[int] = set()
        while value.number not in seen:
            seen.add(value.number)
            step = self.flow.steps.get(value.maker)
            if step is None:
                return None
            operands = [v for n in step.inputs if (v := self.flow.known.get(n)) is not None]
            soft = "softmax" in step.name
            worse = next((v for v in operands if v.flag == "nan" or (v.flag == "inf" and not soft)), None)
            if worse is None or SHAPES_ALONE.search(step.name):
                if not step.inputs or step.name in ("tensor", "make", "masked_fill", "full"):
                    return None
                guess = next((rule for op, rule in NAN_RULES.items() if op.lower() == step.name.strip("_")), None)
                names = {"divide": "nan-division", "true_divide": "nan-division", "power": "nan-power"}
                rule = guess or names.get(step.name) or "nan-made"
                return Finding(rule, step.place, f"{described(step.name)} gives {value.flag} here")
            value = worse
        return None


def size_in(flow: Flow, gradient: Any) -> Size:
    from ..program.flow import size_of

    return size_of(flow.kit.array(gradient))


def spoils(node: NodeRun) -> bool:
    return any(edge.size is not None and edge.size.state in ("nan", "inf") for edge in node.edges)


def flat(node: NodeRun) -> bool:
    return all(edge.size is None or edge.size.state == "zero" for edge in node.edges) and "between" not in node.note


def described(name: str) -> str:
    return {"apply": "a custom function", "change": "an assignment in place"}.get(name, name.strip("_") or name)


class Zeros:
    """Where the gradients of one pass become zero, within rounding."""

    def __init__(self, run: Pass, reader: Reader):
        self.run, self.reader = run, reader
        self.incoming: dict[Any, list[tuple[NodeRun, Edge, bool]]] = defaultdict(list)
        self.nodes = {node.number: node for node in run.runs}
        self.zero: dict[int, bool] = {}
        for node in run.runs:
            self.zero[node.number] = self.is_zero(node.number, node.size)
            limit = ROUNDING.get(kind_of(node.name), 0.0) * node.eps * node.size.most
            for edge in node.edges:
                if edge.size is not None:
                    ends = self.zero[node.number] or edge.size.state == "zero"
                    ends = ends or (edge.size.state == "ok" and edge.size.most <= limit)
                    self.incoming[edge.to].append((node, edge, ends))

    def is_zero(self, key: Any, size: Size | None = None) -> bool:
        """Return whether all that a node or a leaf receives is zero. size: of the sum, where that was seen."""
        if size is not None and size.state in ("nan", "inf"):
            return False
        if size is not None and size.state == "zero":
            return True
        parts = self.incoming.get(key, [])
        if not parts:
            return False
        if all(ends for _, _, ends in parts):
            return True
        most = max(edge.size.most for _, edge, _ in parts if edge.size is not None)
        eps = max(node.eps for node, _, _ in parts)
        return size is not None and len(parts) > 1 and size.most <= CANCELS * eps * most

    def killer(self, key: Any) -> tuple[NodeRun | None, str]:
        """Return the node that got a gradient and sent zeros on towards a key, the nearest; and a rule, if known."""
        waiting, seen, found = [key], set(), []
        while waiting:
            key = waiting.pop(0)
            parts = self.incoming.get(key, [])
            if key in seen:
                continue
            seen.add(key)
            if parts and not all(ends for _, _, ends in parts):  # only their sum is zero
                return max((node for node, _, _ in parts), key=lambda node: node.step), "cancelled"
            found += [node for node, _, _ in parts if not self.zero[node.number]]
            waiting += [node.number for node, _, _ in parts if self.zero[node.number]]
        return (found[-1] if found else None), ""

    def chooser(self, node: NodeRun) -> NodeRun | None:
        """Return what chose among elements that a node moves: the first above that is not a move itself."""
        waiting, seen = [node.number], set()
        while waiting:
            number = waiting.pop(0)
            for other, _, ends in self.incoming.get(number, []):
                if other.number not in seen and not ends:
                    seen.add(other.number)
                    kind = kind_of(other.name)
                    if ZERO_RULES.get(kind) in ("not-chosen", "unselected-branch", "dead-relu", "clamped", "not-selected"):
                        return other
                    if kind in MOVES:
                        waiting.append(other.number)
        return None

    def above(self, number: int) -> Iterator[NodeRun]:
        """Yield the nodes that a node's gradient came through, the nearest first."""
        waiting, seen = [number], {number}
        while waiting:
            for other, _, _ in self.incoming.get(waiting.pop(0), []):
                if other.number not in seen:
                    seen.add(other.number)
                    waiting.append(other.number)
                    yield other

    def mask_over(self, node: NodeRun) -> NodeRun | None:
        """Return the where or mask that made a gradient zero before a node, in backward's order."""
        every = [other for other in self.above(node.number) if kind_of(other.name) in HIDES]
        return next((other for other in every if kind_of(other.name) in MASKS), every[0] if every else None)

    def leads(self, node: NodeRun, key: Any) -> bool:
        """Return whether what a node sends reaches a key."""
        waiting, seen = [node.number], set()
        while waiting:
            number = waiting.pop()
            for edge in self.nodes[number].edges if number in self.nodes else ():
                if edge.to == key:
                    return True
                if edge.to not in seen:
                    seen.add(edge.to)
                    waiting.append(edge.to)
        return False


class Reach:
    """What is computed from a value: through the graph, and beyond the steps that leave it."""

    def __init__(self, reader: Reader, value: Value):
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

    def connected(self, roots: Iterable[int]) -> set[int]:
        return self.inside & set(roots)

    def cut_towards(self, roots: Iterable[int] | None) -> Finding | None:
        """Return the cut behind which the data goes on to one of the roots; None where the graph leads there."""
        if roots is not None and self.connected(roots):
            return None
        found = []
        for step, result in self.cuts:
            if roots is None:
                continue
            if self.data_reaches(result, set(roots)):
                found.append((step, result))
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


# -- the text of the script ---------------------------------------------------------------------------------


class SourceFlow:
    """Which names of the user's files get data from which, statement by statement, whatever the order."""

    def __init__(self) -> None:
        self.files: dict[str, list[tuple[int, int, set[str], set[str]]]] = {}

    def statements(self, file: str) -> list[tuple[int, int, set[str], set[str]]]:
        """Return first and last line, names read and names written of each simple statement of a file."""
        if file not in self.files:
            self.files[file] = []
            with contextlib.suppress(SyntaxError, ValueError):
                tree = ast.parse("".join(lines_of_file(file)))
                functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
                self.files[file] = list(statements_of(tree, functions))
        return self.files[file]

    def leads(self, start: Place | None, end: Place | None) -> bool:
        """Return whether names may carry data from one line to another."""
        if start is None or end is None:
            return False
        every = [s for file in {start[0], end[0]} for s in self.statements(file)]
        here = [s for s in self.statements(start[0]) if s[0] <= start[1] <= s[1]]
        there = [s for s in self.statements(end[0]) if s[0] <= end[1] <= s[1]]
        if start[0] == end[0] and any(s in there for s in here):
            return True
        names = set().union(*(s[3] for s in here)) if here else set()
        while True:
            more = set().union(*(written for _, _, read, written in every if read & names)) - names
            if not more:
                return any(s[2] & names for s in there)
            names |= more


def statements_of(tree: ast.AST, functions: dict[str, Any], inside: str = "") -> Iterator[tuple]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from statements_of(node, functions, node.name)
        elif not isinstance(node, ast.stmt) or isinstance(node, ast.ClassDef | ast.If | ast.While | ast.With | ast.Try):
            yield from statements_of(node, functions, inside)
        else:
            parts = [node.target, node.iter] if isinstance(node, ast.For) else [node]
            read, written = set(), {inside} if isinstance(node, ast.Return) else set()
            for part in (inner for each in parts for inner in ast.walk(each)):
                if isinstance(part, ast.Name | ast.Attribute):
                    name = part.id if isinstance(part, ast.Name) else part.attr
                    (written if isinstance(part.ctx, ast.Store) else read).add(name)
                elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
                    written |= names_of(part.value)
                elif isinstance(part, ast.Call):
                    if isinstance(part.func, ast.Attribute):
                        written |= names_of(part.func.value)  # what append and its like change
                    if (function := functions.get(last_name(part.func))) is not None and (part.args or part.keywords):
                        written |= {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
            if isinstance(node, ast.AugAssign):
                read |= names_of(node.target)
            last = node.iter.end_lineno if isinstance(node, ast.For) else node.end_lineno
            yield node.lineno, last or node.lineno, read, written
            if isinstance(node, ast.For):
                yield from statements_of(ast.Module(node.body + node.orelse, []), functions, inside)


def names_of(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)
    }


def last_name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def enclosing_block(place: Place | None) -> int | None:
    """Return the line of the `with`, or the decorator, that switches recording off around a line."""
    if place is None or not is_users(place[0]):
        return None
    with contextlib.suppress(SyntaxError, ValueError):
        tree, line = ast.parse("".join(lines_of_file(place[0]))), place[1]
        for node in ast.walk(tree):
            if isinstance(node, ast.With | ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
                heads = node.decorator_list if isinstance(node, ast.FunctionDef) else [i.context_expr for i in node.items]
                for head in heads:
                    if names_of(head) & {"no_grad", "inference_mode", "set_grad_enabled"}:
                        return head.lineno
    return None
