"""Call PyTorch's custom rules as programs do: in other memory layouts, with unused outputs, with a second backward."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ...program.arguments import arrays_in, tensor_data
from ..as_called import FILLING, compare
from ..claim import Difference
from .framework import FrameworkCall

MOST_OUTPUTS = 8  # if there are more outputs, none is used alone
CONTIGUOUS = "if it is contiguous"

Grads = dict[str, np.ndarray]
Grad = Callable[[], Grads]
Cotangents = Sequence[torch.Tensor | None]
Layout = Callable[[str, torch.Tensor], torch.Tensor]


class RecordedCall:
    """One forward pass of a call, for several backward passes. layout: changes the layout of an input, by name."""

    def __init__(self, call: FrameworkCall, layout: Layout = lambda _, x: as_given(x)):
        self.wrt = [name for name in call.at if name in call.wrt]
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)  # dropout drops the same elements in every run
            leaves = {n: tensor_copy(x).requires_grad_(n in self.wrt) for n, x in call.claimed(call.at).items()}
            self.given = {n: layout(n, x) if n in self.wrt else as_given(x) for n, x in leaves.items()}
            before = {n: (x.detach().clone(), x.grad_fn) for n, x in self.given.items()}
            result = call.result(self.given)
        self.outs = [x for _, x in arrays_in(result, is_torch_float) if x.requires_grad]
        self.kept = {n: x.detach().clone() for n, x in self.given.items()}
        self.changed = [n for n in self.wrt if self.given[n].grad_fn is not before[n][1]]
        self.written = [n for n in self.wrt if n not in self.changed and not same_tensors(self.kept[n], before[n][0])]
        # the gradient of a changed input or of expanded elements is that of its leaf
        whole = [n for n in self.wrt if n not in self.changed and same_tensors(before[n][0], leaves[n])]
        self.inputs = [(self.given if n in whole else leaves)[n] for n in self.wrt]

    @property
    def values(self) -> Grads:
        return {f"out[{k}]": tensor_data(x) for k, x in enumerate(self.outs)}

    @property
    def has_rules(self) -> bool:
        """Whether it contains custom Functions or operators that PyTorch itself does not define."""
        functions = [function for out in self.outs for function in functions_in(out.grad_fn)]
        return any(not f.__module__.startswith("torch.") or operator_behind(f) for f in functions)

    def pull(self, cotangents: Cotangents) -> list[torch.Tensor | None]:
        """Return the gradients of the inputs; an output is unused if its cotangent is None."""
        used = [(out, g) for out, g in zip(self.outs, cotangents, strict=True) if g is not None]
        outs, given = zip(*used, strict=True)
        return list(torch.autograd.grad(outs, self.inputs, given, retain_graph=True, allow_unused=True))

    def arrays(self, cotangents: Cotangents) -> Grads:
        return gradient_arrays(dict(zip(self.wrt, self.inputs, strict=True)), self.pull(cotangents))


def differences_of_calls(call: FrameworkCall) -> Iterator[Difference]:
    """Yield the first difference between ways of calling the rules of a call."""
    with call.running(call.single):
        try:
            ways = Ways(call)
        except Exception:  # the check itself reports it
            return
        general = (ways.second_backward, ways.other_cotangents, ways.other_inputs, ways.unused_outputs)
        others = general if call.seen is None else (ways.cotangents_seen, ways.inputs_seen)
        found = (way() for way in (ways.overwritten, *others)) if ways.record.has_rules else ()
        yield from itertools.islice(itertools.chain.from_iterable(found), 1)


class Ways:
    """The ways to call the rules of a call. first: the gradients for random cotangents."""

    def __init__(self, call: FrameworkCall):
        self.call, self.record = call, RecordedCall(call)
        self.cotangents = [drawn_like(out, k) for k, out in enumerate(self.record.outs)]
        self.first = self.record.arrays([x.clone() for x in self.cotangents]) if self.record.has_rules else {}

    def compare(self, rule: str, expected: Grads, got: Grad, again: Grad, *words: str) -> Iterator[Difference]:
        reference = self.first if expected.keys() == self.first.keys() else self.call.at
        return compare(rule, reference, expected, (got, again), self.call.single, *words)

    def overwritten(self) -> Iterator[Difference]:
        record, given = self.record, [x.clone() for x in self.cotangents]
        with contextlib.suppress(Exception):
            for name, grad in zip(record.wrt, record.pull(given), strict=True):
                if name in record.written and grad is not None:
                    text = f"forward overwrites {name} without telling autograd"
                    yield Difference("writes-into", f"{text}: work on a clone(), or call ctx.mark_dirty({name})")
            if not all(map(same_tensors, given, self.cotangents)):
                text = "backward overwrites its incoming gradient, which other nodes may still need"
                yield Difference("writes-into", f"{text}: work on grad_output.clone(), or use operations without _")
            for name, x in record.given.items():
                if not same_tensors(x, record.kept[name]):
                    yield Difference("writes-into", f"backward overwrites the input {name}: work on a clone()")

    def second_backward(self) -> Iterator[Difference]:
        def pull(record: RecordedCall) -> Grads:
            return record.arrays([x.clone() for x in self.cotangents])

        first, second = lambda: pull(RecordedCall(self.call)), lambda: pull(self.record)
        yield from self.compare("second-backward", self.first, second, first, "the second time", "the first")

    def other_cotangents(self) -> Iterator[Difference]:
        for name, change in LAYOUTS.items():
            others = [change(x) for x in self.cotangents]
            if any(x is not y for x, y in zip(self.cotangents, others, strict=True)):
                yield from self.with_cotangents(others, f"if grad_output is {name}")

    def cotangents_seen(self) -> Iterator[Difference]:
        for grads in (self.call.seen or ({}, ()))[1]:
            pairs = list(zip(self.cotangents, grads, strict=False))
            if len(pairs) == len(self.cotangents) and all(g is None or g.shape == x.shape for x, g in pairs):
                some = [g if g is None else laid_out_like(g.to(x.dtype), g) for x, g in pairs]
                yield from self.with_cotangents(some, "if it is called as in the run")

    def unused_outputs(self) -> Iterator[Difference]:
        count = len(self.cotangents)
        alone = [{k} for k in range(count)] if 1 < count <= MOST_OUTPUTS else []
        for used in [*alone, *({*range(count)} - one for one in alone if count > 2)]:
            names = " and ".join(f"output {k}" for k in sorted(used))
            some = [x if k in used else None for k, x in enumerate(self.cotangents)]
            yield from self.with_cotangents(some, f"if only {names} {'is' if len(used) == 1 else 'are'} used")

    def with_cotangents(self, some: Cotangents, here: str) -> Iterator[Difference]:
        """Yield differences from the gradients for contiguous cotangents, with zeros instead of None."""
        reference = [
            torch.zeros_like(x) if g is None else contiguous_copy(g) for x, g in zip(self.cotangents, some, strict=True)
        ]
        rule, there = ("unused-output", "zeros") if any(g is None for g in some) else ("layout", "contiguous gradients")
        plainly, so = lambda: self.record.arrays(reference), lambda: self.record.arrays(some)
        yield from self.compare(rule, plainly(), so, plainly, here, f"with {there}")

    def other_inputs(self) -> Iterator[Difference]:
        for name, change in LAYOUTS.items():
            if change in WITH_EQUAL_NUMBERS:  # a special point, where a normalised input is 0 / 0
                continue
            layout = lambda _, x, change=change: change(x) if change(x) is not x else as_given(x)  # noqa: E731
            yield from self.with_inputs(layout, f"if the input is {name}")

    def inputs_seen(self) -> Iterator[Difference]:
        tensors, _ = self.call.seen or ({}, ())

        def layout(name: str, x: torch.Tensor) -> torch.Tensor:
            return laid_out_like(x, tensors[name]) if isinstance(tensors.get(name), torch.Tensor) else as_given(x)

        yield from self.with_inputs(layout, "if the input is laid out in memory as in the run")

    def with_inputs(self, layout: Layout, here: str) -> Iterator[Difference]:
        """Yield differences in values and gradients for inputs in another layout."""
        call, record = self.call, self.record
        if isinstance(call.function, torch.nn.Module) or record.changed:
            return
        try:
            other = RecordedCall(call, layout)
            if all(map(same_layout, other.given.values(), record.given.values())):
                return
            equal = all(map(same_tensors, other.given.values(), record.given.values()))
            again = lambda: RecordedCall(call, lambda n, x: contiguous_copy(layout(n, x)))  # noqa: E731
            reference = record if equal else again()
            expected = self.first if equal else reference.arrays(self.cotangents)
        except Exception:  # refusing a layout with an error is right
            return
        values, other_values = lambda: again().values, lambda: other.values
        grads, other_grads = lambda: again().arrays(self.cotangents), lambda: other.arrays(self.cotangents)
        yield from self.compare("layout", reference.values, other_values, values, here, CONTIGUOUS)
        yield from self.compare("layout", expected, other_grads, grads, here, CONTIGUOUS)


def drawn_like(like: torch.Tensor, seed: int) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    real, imaginary = rng.standard_normal((2, *like.shape))
    return torch.as_tensor(real + 1j * imaginary if like.is_complex() else real).to(like.dtype)


def transposed_layout(x: torch.Tensor) -> torch.Tensor:
    axes = list(range(x.dim()))[::-1]
    other = x.permute(axes).contiguous().permute(axes)
    return x if other.is_contiguous() else other


def sliced(x: torch.Tensor) -> torch.Tensor:
    wide = torch.stack([x, torch.full_like(x, FILLING)], -1)
    return torch.cat([x.new_full((3,), FILLING), wide.reshape(-1)])[3::2].unflatten(0, x.shape) if x.dim() else x


def expanded(x: torch.Tensor) -> torch.Tensor:
    return x[:1].expand(x.shape) if x.dim() and x.shape[0] > 1 else x


def filled(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(-1)[0].expand(x.shape) if x.numel() > 1 else x


LAYOUTS = {
    "expanded from one number (stride 0, as the gradient of a sum)": filled,
    "expanded along its first axis (stride 0)": expanded,
    "transposed": transposed_layout,
    "a slice with steps of 2 and an offset": sliced,
}
"""Memory layouts that occur in programs: from sum, mean, transposition, slices and unbind."""


WITH_EQUAL_NUMBERS = (filled, expanded)


def contiguous_copy(x: torch.Tensor) -> torch.Tensor:
    return x.clone(memory_format=torch.contiguous_format)


def laid_out_like(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Return a copy of a tensor in another one's layout, which may have strides of 0."""
    once = tuple(slice(1) if step == 0 else slice(None) for step in like.stride())
    size = like.storage_offset() + 1 + sum((n - 1) * step for n, step in zip(like.shape, like.stride(), strict=True))
    memory = x.new_full((max(size, 1),), FILLING)
    memory.as_strided(x[once].shape, like.stride(), like.storage_offset()).copy_(x.detach()[once])
    return memory.requires_grad_(x.requires_grad).clone().as_strided(x.shape, like.stride(), like.storage_offset())


def same_tensors(x: torch.Tensor, y: torch.Tensor) -> bool:
    return torch.equal(x, y) or bool(((x == y) | (x.isnan() & y.isnan())).all())


def same_layout(x: torch.Tensor, y: torch.Tensor) -> bool:
    return (x.stride(), x.storage_offset()) == (y.stride(), y.storage_offset())


def gradient_arrays(inputs: Mapping[str, torch.Tensor], grads: Iterable[torch.Tensor | None]) -> Grads:
    """Return gradients as arrays by name, with zeros for None."""
    triples = ((name, x, g) for (name, x), g in zip(inputs.items(), grads, strict=True))
    return {name: tensor_data(torch.zeros_like(x) if g is None else g) for name, x, g in triples}


def functions_in(node: Any) -> list[Any]:
    return [node._forward_cls for node in nodes_of(node) if hasattr(node, "_forward_cls")]


def nodes_of(node: Any) -> Iterator[Any]:
    seen, waiting = set(), [node]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        waiting += [below for below, _ in node.next_functions]


def operator_behind(function: Any) -> tuple[Any, Callable] | None:
    """Return the operator and its backward for a Function that PyTorch made for an operator, else None."""
    if not function.__name__.startswith("GeneratedBackwardFor_"):
        return None
    inside = inspect.getclosurevars(function.backward).nonlocals
    return (inside["op"], inside["info"]._backward_fn) if "op" in inside else None


def as_given(x: torch.Tensor) -> torch.Tensor:
    """Return a copy of a leaf in the graph, which the function may change in place."""
    return x.clone() if x.is_leaf else x


def tensor_copy(x: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.array(x)).to(torch.get_default_device())


def is_torch_float(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())
