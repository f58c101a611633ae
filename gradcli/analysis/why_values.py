"""Why a gradient is zero, nan or infinite: against backward's way, to the node where it became so.

Zero: the last node that got a gradient and sent zeros, on every path. nan and inf: the first node that made them from
finite gradients, or what made its operands so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..program.flow import Edge, NodeRun, Pass, Size, Step, Value
from ..program.user_lines import Place
from ..show.causes import causes
from .why_none import SHAPES_ALONE, Finding, Record, Target, described

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
MOVES = frozenset(
    "Stack Cat Split Unbind Select Slice View Reshape Permute Transpose T Expand Squeeze Unsqueeze Unsafe UnsafeView "
    "Repeat Clone Flatten Swapaxes BroadcastTo Alias AsStrided ToCopy Index Diagonal Hstack".split()
)
"""Nodes that move elements: where one sends zeros, an earlier one has chosen."""
HIDES = ("Where", "MaskedFill", "Mul", "Index", "IndexPut", "MaskedScatter", "MaskedSelect", "Select", "NanToNum")
MASKS = ("Where", "MaskedFill", "MaskedScatter")
CHOOSE = ("not-chosen", "unselected-branch", "dead-relu", "clamped", "not-selected")
ROUNDING = {
    **dict.fromkeys(("Sigmoid", "Tanh", "Erf", "Gelu", "Silu", "Softplus"), 1.0),
    **dict.fromkeys(("Softmax", "LogSoftmax", "SafeSoftmax"), 16.0),
    **dict.fromkeys(("NativeBatchNorm", "NativeLayerNorm", "NativeGroupNorm", "CudnnBatchNorm"), 64.0),
}
"""How many rounding units of what a node receives count as zero in what it sends, where its slope cannot be small."""
CANCELS = 64.0  # rounding units of its largest part that are zero in a sum


def kind_of(node: str) -> str:
    """Return the operation of a node's name: Mul of MulBackward0."""
    return node.partition("Backward")[0]


class Zeros:
    """Where the gradients of one pass become zero, within rounding."""

    def __init__(self, run: Pass, reader: Record):
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
                    if ZERO_RULES.get(kind) in CHOOSE:
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


def spoils(node: NodeRun) -> bool:
    return any(edge.size is not None and edge.size.state in ("nan", "inf") for edge in node.edges)


def flat(node: NodeRun) -> bool:
    return all(edge.size is None or edge.size.state == "zero" for edge in node.edges) and "between" not in node.note


class ValueCauses(Record):
    """The causes of zeros and of nan that a flow holds."""

    def why_zero(self, target: Target, run: Pass | None) -> Finding:
        events = self.events[target.value.number]
        late = [e for e in events if e.kind == "clear" and run is not None and e.number > run.number]
        if late and (target.event is None or late[-1].number < target.event.number):
            return Finding("cleared", late[-1].place, "the gradient is set to zero here, after backward has filled it")
        if run is None:
            return Finding("zero-slope", None, "it holds zeros")
        zeros = Zeros(run, self)
        node, rule = zeros.killer(target.key)
        if node is None:
            return Finding("zero-slope", run.place, "the gradient that backward starts with is zero")
        step = self.flow.steps.get(node.step)
        kind, place = kind_of(node.name), step.place if step else None
        rule = rule or ZERO_RULES.get(kind, "zero-slope")
        if rule != "cancelled" and kind in MOVES and (chooser := zeros.chooser(node)) is not None:
            node, step, kind = chooser, self.flow.steps.get(chooser.step), kind_of(chooser.name)
            place, rule = step.place if step else None, ZERO_RULES[kind]
        if rule == "saturated" and kind in ("Softmax", "LogSoftmax", "SafeSoftmax"):
            rule = "cancelled" if any(e.size.most > 0 for e in node.edges if e.size) or flat(node) else "saturated"
        if rule == "times-zero" and step is not None:
            rule, place = self.zero_factor(step, rule)
        note = f": {node.note}" if node.note else ""
        told = {
            "cancelled": f"what {target.name} adds to the output in several ways cancels here",
            "saturated": f"{kind.lower()} is flat here{note}",
            "dead-relu": f"no input of relu is positive{note}",
            "clamped": note and f"all values are outside the limits{note}",
            "times-zero": "the other factor is zero everywhere",
        }
        return Finding(rule, place, told.get(rule) or causes()[rule].title)

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

    def why_not_finite(self, target: Target, run: Pass | None) -> Finding:
        bad = [] if run is None else [n for n in run.runs if n.size.state not in ("nan", "inf") and spoils(n)]
        if not bad or run is None:
            spoiled = next((v for n in self.roots if (v := self.flow.known.get(n)) and v.flag in ("nan", "inf")), None)
            if spoiled is not None and (origin := self.first_bad(spoiled)) is not None:
                return origin
            return Finding("nan-input", target.value.place, "the gradient that backward starts with is not finite")
        zeros, key = Zeros(run, self), target.key
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
        text = f"{kind.lower()} has no finite slope at {node.note}" if node.note else causes()[rule].title
        fix = ""
        if node.hidden and (mask := zeros.mask_over(node)) is not None:
            hider = self.flow.steps.get(mask.step)
            word = {"Where": "where", "MaskedFill": "masked_fill", "Mul": "a mask"}.get(kind_of(mask.name), "an index")
            line = hider.place[1] if hider is not None and hider.place is not None else None
            at = f" at line {line}" if line is not None and (place is None or line != place[1]) else ""
            slope = "an infinite slope" if NAN_RULES.get(kind) != "nan-atan2" else "no slope"
            text = f"{kind.lower()} has {slope} at {node.note}, and {word}{at} multiplies it by 0"
            rule = "nan-where"
            fix = f"apply where to the argument of {kind.lower()}, not to its result"
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
