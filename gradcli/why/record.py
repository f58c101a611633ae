"""The record of what a script does with its tensors, in the graph and outside it, for `gradcli why`.

A `RecordedStep` is an operation between values. A `RecordedPass` is a run of backward, with what its nodes received and
sent. The recorders write the record: `recorder.py` for gradcli's own engine, `record_torch.py` and `record_jax.py` for
others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..user.lines import CallChain, LinePlace


class ArraySize(NamedTuple):
    """The size of an array's elements. state: ok, zero, nan or inf. bad: how many of total are not finite.

    nonzero: how many are not zero, if that was counted.
    """

    state: str
    most: float
    low: float = 0.0
    high: float = 0.0
    bad: int = 0
    total: int = 0
    nonzero: int = 0


@dataclass(eq=False, slots=True)
class RecordedValue:
    """A tensor, number or array between two in-place changes.

    kind: f, i or b for the type of a tensor's elements; p for Python numbers and NumPy arrays. state: as in Size.
    chain: the lines that made it. step: the operation that made it, if known. gradient: its `.grad` at the end.
    filled: the last pass that gave it a gradient. bad: the first pass that made this gradient nan or inf. spoiled: set
    if a gradient that was not finite made the value so. events: the last of each kind (Recorder.take_note). gone:
    whether the script has replaced and freed it by the end.
    """

    number: int
    kind: str = "f"
    state: str = "ok"
    wants: bool = False
    leaf: bool = True
    shape: tuple = ()
    chain: CallChain = ()
    step: RecordedStep | None = None
    gradient: ArraySize | None = None
    filled: RecordedPass | None = None
    bad: RecordedPass | None = None
    spoiled: Spoiled | None = None
    events: dict[str, Event] = field(default_factory=dict)
    name: str = ""
    gone: bool = False

    @property
    def place(self) -> LinePlace | None:
        return self.chain[0][0] if self.chain else None


@dataclass(eq=False, slots=True)
class RecordedStep:
    """One operation. recorded: whether grad mode was on. is_open: whether an input has an unknown origin."""

    number: int
    name: str
    inputs: tuple[RecordedValue, ...]
    outputs: tuple[RecordedValue, ...] = ()
    place: LinePlace | None = None
    recorded: bool = True
    is_open: bool = False
    checkpoint: LinePlace | None = None


class Spoiled(NamedTuple):
    """When a value was seen to be nan or inf, and the pass whose gradient made it so."""

    number: int
    by: RecordedPass


class Note(NamedTuple):
    """The operand of a node, in words. hidden: whether nan or infinity came from a gradient of 0.

    reached: how many elements the node received a gradient for, if not for all; text is about these. high: the largest
    element of the operand. flat: for a softmax, whether it is 0 or 1 for them along some axis.
    """

    operand: RecordedValue
    text: str
    hidden: bool
    reached: int | None = None
    high: float = np.inf
    flat: bool = True


class NodeRun(NamedTuple):
    """A node that ran. key: its number. sent: pairs of a leaf's value or a node's number, and the gradient's size.

    eps: of the gradient's type. note: describes its operand, if the gradient vanishes there or is no longer finite.
    custom: the line of the user's backward() with its `return`, if the node is of a custom function.
    """

    key: int
    name: str
    step: RecordedStep | None
    received: ArraySize
    sent: tuple[tuple[RecordedValue | int, ArraySize], ...]
    eps: float = 2.2e-16
    note: Note | None = None
    custom: LinePlace | None = None

    @property
    def place(self) -> LinePlace | None:
        return self.custom or (self.step.place if self.step is not None else None)


@dataclass(eq=False)
class RecordedPass:
    """A run of backward or grad. runs: its nodes, in order. leaves: those in the graph. targets: the inputs of grad.

    count: how many passes of its kind there had been, with this one.
    """

    number: int
    kind: str
    roots: tuple[RecordedValue, ...]
    targets: tuple[RecordedValue, ...] = ()
    place: LinePlace | None = None
    runs: list[NodeRun] = field(default_factory=list)
    leaves: set[RecordedValue] = field(default_factory=set)
    count: int = 1


class Event(NamedTuple):
    """An event of a gradient, in `function`. filled, cleared: the last pass to fill it, and event to clear it."""

    number: int
    place: LinePlace | None
    size: ArraySize | None = None
    filled: RecordedPass | None = None
    cleared: Event | None = None
    function: str = ""


class Record(NamedTuple):
    """The record of a script. names: its tensors at the end. used: those whose gradients it read or stepped with.

    A name that got a new tensor after the last pass means the one before.
    """

    steps: list[RecordedStep]
    passes: list[RecordedPass]
    names: dict[str, RecordedValue]
    used: list[RecordedValue]


def fill(value: RecordedValue, which: RecordedPass, size: ArraySize | None = None) -> None:
    """Note that a pass gives a gradient to a value. size: of this gradient, if known."""
    if which.kind != "backward" and value not in which.targets:
        return
    value.filled = which
    cleared, bad = value.events.get("clear"), value.bad
    is_new = which.kind == "grad" or bad is None or (cleared is not None and cleared.number > bad.number)
    if is_new and size is not None and not is_finite(size):
        value.bad = which


STATE_ORDER = ("zero", "ok", "inf", "nan")
NOTHING = ArraySize("zero", 0.0)


def is_finite(size: ArraySize) -> bool:
    return size.state in ("ok", "zero")


def describe_range(
    value: RecordedValue, x: np.ndarray, received: list[np.ndarray], eps: float, soft: bool = False
) -> Note:
    """Describe an operand by its range where a gradient arrived that is not zero within rounding.

    soft: whether it is the operand of a softmax.
    """
    arrived = [np.abs(g) > eps * np.abs(g)[np.isfinite(g)].max(initial=0.0) for g in received]
    arrived = [mask | ~np.isfinite(g) for mask, g in zip(arrived, received, strict=True)]
    count = sum(int(mask.sum()) for mask in arrived)
    reached = None if all(mask.all() for mask in arrived) else count
    mask = next((mask for mask in arrived if mask.shape == x.shape and mask.any()), np.ones(x.shape, bool))
    low, high = f"{x[mask].min():.4g}", f"{x[mask].max():.4g}"
    text = low if low == high else f"between {low} and {high}"
    flat = not soft or any(softmax_is_flat(x, mask, axis, eps) for axis in range(x.ndim))
    return Note(value, text, False, reached, float(x.max()), flat)


def softmax_is_flat(x: np.ndarray, mask: np.ndarray, axis: int, eps: float) -> bool:
    """Report whether softmax along an axis is 0 or 1 within rounding for the elements in a mask."""
    import scipy.special

    with np.errstate(all="ignore"):
        p = scipy.special.softmax(x, axis)
    return bool((p * (1 - p) <= eps)[mask].all())


def size_of_array(x: np.ndarray) -> ArraySize:
    if not x.size:
        return ArraySize("ok", 1.0)  # not "zero": the empty selection is the cause to report
    numbers = np.abs(x) if x.dtype.kind == "c" else x
    low, high = float(numbers.min()), float(numbers.max())
    most = max(-low, high)
    if np.isfinite(most):
        return ArraySize("ok" if most else "zero", most, low, high)
    bad = int(np.sum(~np.isfinite(x)))
    return ArraySize("nan" if np.isnan(x).any() else "inf", np.inf, bad=bad, total=x.size)
