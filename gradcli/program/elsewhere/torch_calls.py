"""Calls of PyTorch's custom rules as programs make them: other layouts, outputs left unused, backward run twice."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from ...errors import describe_error
from ..arguments import arrays_in, tensor_data
from ..as_called import Difference, first_difference, largest
from .torch import Adapter, ModuleCall, as_given, functions_in, is_torch_float, operator_behind, tensor

FILLING = 17.0  # stands in memory between the elements of a strided tensor, where a right rule does not look
MOST_OUTPUTS = 8  # outputs up to which each is used alone
CONTIGUOUS = "call .contiguous() on it before its memory is read, or use .reshape instead of .view"
NOT_USED = "the gradient of an output that is not used is None (test with `is None`) or zeros"

Grads = dict[str, np.ndarray]
Layout = Callable[[str, torch.Tensor], torch.Tensor]


class Recorded:
    """One forward pass of a call, whose backward passes may be many. layout: makes what f is given, by name."""

    def __init__(self, call: Adapter, layout: Layout | None = None):
        self.wrt = [name for name in call.at if name in call.wrt]
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)  # dropout takes the same elements in every run
            at = call.claimed(call.at)
            self.leaves = {name: tensor(x).requires_grad_(name in self.wrt) for name, x in at.items()}
            self.given = {n: layout(n, x) if layout and n in self.wrt else as_given(x) for n, x in self.leaves.items()}
            before = {name: (x.detach().clone(), x.grad_fn) for name, x in self.given.items()}
            # a function may change in place what it is given; equal elements may share a gradient in any way
            self.inputs = [
                x if same(x, self.leaves[name]) else self.leaves[name]
                for name, x in self.given.items()
                if name in self.wrt
            ]
            result = call.result(self.given)
        self.outs = [x for _, x in arrays_in(result, is_torch_float) if x.requires_grad]
        self.changed = {name: x.grad_fn is not before[name][1] for name, x in self.given.items()}
        self.inputs = [self.leaves[n] if self.changed[n] else x for n, x in zip(self.wrt, self.inputs, strict=True)]
        self.written = [
            name for name in self.wrt if not (self.changed[name] or same(self.given[name], before[name][0]))
        ]

    @property
    def values(self) -> Grads:
        return {f"out[{k}]": tensor_data(x) for k, x in enumerate(self.outs)}

    @property
    def rules(self) -> list[Any]:
        """The custom Functions and operators of this run, without those that PyTorch itself defines."""
        functions = [function for out in self.outs for function in functions_in(out.grad_fn)]
        return [f for f in functions if not f.__module__.startswith("torch.") or operator_behind(f)]

    def pull(self, cotangents: Sequence[torch.Tensor | None]) -> dict[str, torch.Tensor | None]:
        """Return the gradients by input; an output with None is not used."""
        pairs = [(out, g) for out, g in zip(self.outs, cotangents, strict=True) if g is not None]
        outs, given = zip(*pairs, strict=True)
        grads = torch.autograd.grad(outs, self.inputs, given, retain_graph=True, allow_unused=True)
        return dict(zip(self.wrt, grads, strict=True))

    def arrays(self, cotangents: Sequence[torch.Tensor | None]) -> Grads:
        grads = self.pull(cotangents)
        return {n: np.zeros(tuple(self.leaves[n].shape)) if g is None else tensor_data(g) for n, g in grads.items()}


def differences(call: Adapter) -> Iterator[Difference]:
    """Yield how the rules of a call differ when they are called in other ways; at most one of each kind."""
    with call.running("", call.single):
        try:
            record = Recorded(call)
            rules = record.rules
            cotangents = [drawn(out, k) for k, out in enumerate(record.outs)]
            first = record.arrays([x.clone() for x in cotangents]) if rules else {}
        except Exception:  # the check itself reports it
            return
        if not rules:
            return
        asks = (overwritten, second_backward, other_cotangents, other_inputs, unused_outputs)
        for ask in asks if call.seen is None else (overwritten, cotangents_seen, inputs_seen):
            found = next(ask(call, record, cotangents, first), None)
            if found is not None:
                yield found
                return


def overwritten(call: Adapter, record: Recorded, cotangents: list, first: Grads) -> Iterator[Difference]:
    given = [x.clone() for x in cotangents]
    kept = {name: x.detach().clone() for name, x in record.given.items()}
    with contextlib.suppress(Exception):
        grads = record.pull(given)
        for name in record.written:
            if grads[name] is not None:
                text = f"forward overwrites {name}, and autograd does not know"
                yield Difference("writes-into", f"{text}: work on a clone(), or call ctx.mark_dirty({name})")
        if not all(map(same, given, cotangents)):
            text = "backward overwrites the gradient that it is given, which other nodes may still need"
            yield Difference("writes-into", f"{text}: work on grad_output.clone(), or use operations without _")
        for name, x in record.given.items():
            if not same(x, kept[name]):
                yield Difference("writes-into", f"backward overwrites the input {name}: work on a clone()")


def second_backward(call: Adapter, record: Recorded, cotangents: list, first: Grads) -> Iterator[Difference]:
    fix = "keep what is saved for backward as it is (retain_graph=True runs backward again)"
    text = difference(
        call, first, first, lambda: record.arrays([x.clone() for x in cotangents]), "the second time", "the first"
    )
    if text:
        yield Difference("second-backward", f"{text}: {fix}")


def other_cotangents(call: Adapter, record: Recorded, cotangents: list, first: Grads) -> Iterator[Difference]:
    for layout, change in LAYOUTS.items():
        others = [change(x) for x in cotangents]
        if all(x is y for x, y in zip(cotangents, others, strict=True)):
            continue
        expected = first if all(map(same, cotangents, others)) else record.arrays([plain(x) for x in others])
        words = (f"where grad_output is {layout}", "where it is contiguous")
        text = difference(call, first, expected, lambda others=others: record.arrays(others), *words)
        if text:
            yield Difference("layout", f"{text}: {CONTIGUOUS}")


def other_inputs(call: Adapter, record: Recorded, cotangents: list, first: Grads) -> Iterator[Difference]:
    for name, change in list(LAYOUTS.items())[1:]:
        layout = lambda _, x, change=change: change(x) if change(x) is not x else as_given(x)  # noqa: E731
        yield from in_layout(call, record, cotangents, first, layout, name)


def inputs_seen(call: Adapter, record: Recorded, cotangents: list, first: Grads) -> Iterator[Difference]:
    tensors, _ = call.seen or ({}, ())

    def layout(name: str, x: torch.Tensor) -> torch.Tensor:
        return laid_out_like(x, tensors[name]) if isinstance(tensors.get(name), torch.Tensor) else as_given(x)

    yield from in_layout(call, record, cotangents, first, layout, "as in the run")


def in_layout(
    call: Adapter, record: Recorded, cotangents: list, first: Grads, layout: Layout, name: str
) -> Iterator[Difference]:
    """Yield how values and gradients differ where inputs have another layout, whose name is given."""
    if isinstance(call, ModuleCall) or any(record.changed.values()):
        return
    try:
        other = Recorded(call, layout)
        if all(map(same_layout, other.given.values(), record.given.values())):
            return
        equal = all(map(same, other.given.values(), record.given.values()))
        usual = record if equal else Recorded(call, lambda n, x: plain(layout(n, x)))
        expected = first if equal else usual.arrays(cotangents)
    except Exception:  # the forward pass refuses such an input, aloud
        return
    words = (f"where the input is {name}", "where it is contiguous")
    text = difference(call, call.at, usual.values, lambda: other.values, *words)
    text = text or difference(call, first, expected, lambda: other.arrays(cotangents), *words)
    if text:
        yield Difference("layout", f"{text}: {CONTIGUOUS}")


def cotangents_seen(call: Adapter, record: Recorded, cotangents: list, first: Grads) -> Iterator[Difference]:
    """Yield how gradients differ for the cotangents of a run: their layouts, and outputs that were not used."""
    for grads in (call.seen or ({}, ()))[1]:
        if [x.shape for x in grads if x is not None] != [
            x.shape for x, g in zip(cotangents, grads, strict=False) if g is not None
        ] or len(grads) != len(cotangents):
            return
        some = [None if g is None else laid_out_like(g.to(x.dtype), g) for x, g in zip(cotangents, grads, strict=True)]
        usual = [torch.zeros_like(x) if g is None else plain(g) for x, g in zip(cotangents, some, strict=True)]
        unused = [k for k, g in enumerate(grads) if g is None]
        here = f"where output {unused[0]} is not used" if unused else "where grad_output lies in memory as in the run"
        there = "where it gets zeros" if unused else "where it is contiguous"
        text = difference(call, first, record.arrays(usual), lambda some=some: record.arrays(some), here, there)
        if text:
            yield (
                Difference("unused-output", f"{text}: {NOT_USED}")
                if unused
                else Difference("layout", f"{text}: {CONTIGUOUS}")
            )


def unused_outputs(call: Adapter, record: Recorded, cotangents: list, first: Grads) -> Iterator[Difference]:
    count = len(cotangents)
    if not 1 < count <= MOST_OUTPUTS:
        return
    alone = [{k} for k in range(count)]
    for used in [*alone, *({*range(count)} - one for one in alone if count > 2)]:
        zeros = [x if k in used else torch.zeros_like(x) for k, x in enumerate(cotangents)]
        some = [x if k in used else None for k, x in enumerate(cotangents)]
        expected = record.arrays(zeros)
        names = " and ".join(f"output {k}" for k in sorted(used))
        words = (f"where {names} alone {'is' if len(used) == 1 else 'are'} used", "where the others get zeros")
        text = difference(call, first, expected, lambda some=some: record.arrays(some), *words)
        if text:
            yield Difference("unused-output", f"{text}: {NOT_USED}")


def difference(call: Adapter, usual: Grads, expected: Grads, got: Callable[[], Grads], here: str, there: str) -> str:
    """Return how arrays differ from those that are expected, "" where they do not. here, there: how each was called.

    usual: gradients, or inputs, that are as large as these are usually.
    """
    try:
        found = first_difference(expected, got(), largest(usual), call.single)
    except Exception as error:
        return f"backward raises {describe_error(error)} {here}, and not {there}"
    return (found and f"{found[0]} is {found[2]} {here}, and {found[1]} {there}") or ""


def drawn(like: torch.Tensor, seed: int) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    real, imaginary = rng.standard_normal((2, *like.shape))
    return torch.as_tensor(real + 1j * imaginary if like.is_complex() else real).to(like.dtype)


def transposed(x: torch.Tensor) -> torch.Tensor:
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
    "transposed": transposed,
    "a slice with steps of 2 and an offset": sliced,
}
"""Ways to put a tensor in memory, as programs do by sum, mean, transposition, slices and unbind."""


def plain(x: torch.Tensor) -> torch.Tensor:
    """Return a contiguous copy."""
    return x.clone(memory_format=torch.contiguous_format)


def laid_out_like(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Return a tensor in another one's layout, which it may repeat along an axis."""
    once = tuple(slice(1) if step == 0 else slice(None) for step in like.stride())
    size = like.storage_offset() + 1 + sum((n - 1) * step for n, step in zip(like.shape, like.stride(), strict=True))
    memory = x.new_full((max(size, 1),), FILLING)
    memory.as_strided(x[once].shape, like.stride(), like.storage_offset()).copy_(x.detach()[once])
    return memory.requires_grad_(x.requires_grad).clone().as_strided(x.shape, like.stride(), like.storage_offset())


def same(x: torch.Tensor, y: torch.Tensor) -> bool:
    return torch.equal(x, y) or bool(((x == y) | (x.isnan() & y.isnan())).all())


def same_layout(x: torch.Tensor, y: torch.Tensor) -> bool:
    return (x.stride(), x.storage_offset()) == (y.stride(), y.storage_offset())
