"""A step of a PyTorch optimizer: the gradient that it got, and the gradient of the loss that was declared for it."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ...errors import GradcliError, count_of
from ..declared import Declared, NotDeclaredError, first_that_works
from .torch_batches import CallArguments, RemoteBatch, RemoteCall, batch_form, counts_of
from .torch_replay import Draws, Replay, ReplayedBatches, StandIns, swapped, uncompiled, unwrap_module
from .torch_sharded import restorer_of, shards_of, unshard


def torch_vector(x: Any) -> np.ndarray:
    """Return a tensor as a real float64 vector."""
    x = x.detach()
    x = x.to_dense() if x.is_sparse else x
    x = torch.view_as_real(x) if x.is_complex() else x
    return np.array(x.double().cpu().reshape(-1).numpy())


class TorchStep:
    """A step, and ways to evaluate its loss. moment: the notes of the run. tools: the functions that made them."""

    def __init__(self, moment: Any, tools: Any, loss: Callable):
        self.moment, self.tools, self.loss = moment, tools, loss
        training, optimizer = moment.training, moment.optimizer
        self.optimized = list({id(p): p for group in optimizer.param_groups for p in group["params"]}.values())
        self.calls = reached_calls(moment.calls, {id(p) for p in self.optimized})
        self.batches, self.batch_calls = batches_of(
            self.calls, training.unused(moment.progress) if not moment.calls else []
        )
        self.candidates = candidate_models(self.calls, self.optimized) or [tuple(self.optimized)]
        self.model, self.spread = self.candidates[0], True
        self.shards = shards_of(self.optimized, self.called) if moment.world > 1 else []
        self.names = {} if self.shards else names_of_parameters(self.model, self.optimized, loss)
        self.chosen, self.draws, self.returns = False, Draws(), False
        self.owners: list[int] = []
        self.others: list[dict[str, tuple[float, float]]] = []

    # the run

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(p.shape) for name, p in self.names.items()}

    @functools.cached_property
    def unused(self) -> tuple[str, ...]:
        return tuple(name for name, p in self.names.items() if p.grad is None)

    @property
    def frozen(self) -> tuple[str, ...]:
        return tuple(name for name, p in self.names.items() if not p.requires_grad)

    @property
    def outside(self) -> tuple[str, ...]:
        """The parameters without a gradient that belong to no module that was called."""
        modules = [m for m in (*self.called, self.model) if is_torch_module(m)]
        inside = {id(p) for m in modules for p in m.parameters()}
        return tuple(n for n in self.unused if n not in self.frozen and id(self.names[n]) not in inside)

    @property
    def not_updated(self) -> tuple[tuple[str, int], ...]:
        """Names and keys of the model's parameters that have a gradient, and are not among those of the optimizer."""
        if self.shards or not is_torch_module(self.model):
            return ()
        own = {id(p) for p in self.optimized}
        keys = self.moment.training.keys
        named = [(name, p) for name, p in self.model.named_parameters() if id(p) in keys and id(p) not in own]
        return tuple((name, keys[id(p)]) for name, p in named if p.grad is not None)

    @property
    def repeats(self) -> bool:
        """Whether all gradients are those of the step before, and nothing has changed them since."""
        kept = self.moment.progress.before or {}
        given = [p for p in self.names.values() if p.grad is not None]
        return bool(given) and all(id(p) in kept and is_same_tensor(kept[id(p)][2], p.grad) for p in given)

    @functools.cached_property
    def observed(self) -> dict[str, np.ndarray]:
        scale = float(getattr(self.moment.optimizer, "grad_scale", None) or 1.0)
        return {
            n: np.zeros(count_real_numbers(p)) if p.grad is None else torch_vector(p.grad) / scale
            for n, p in self.names.items()
        }

    @functools.cached_property
    def parameters(self) -> dict[str, np.ndarray]:
        return {name: torch_vector(self.value_of(p)) for name, p in self.names.items()}

    @functools.cached_property
    def before(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]] | None:
        """Gradients and parameters at the step before, if they were kept."""
        kept = self.moment.progress.before
        if kept is None or not all(id(p) in kept for p in self.names.values()):
            return None
        pairs = {name: kept[id(p)] for name, p in self.names.items()}
        gradients = {
            name: np.zeros(count_real_numbers(x)) if g is None else torch_vector(g) for name, (g, x, _) in pairs.items()
        }
        return gradients, {name: torch_vector(value) for name, (_, value, _) in pairs.items()}

    @property
    def loss_scale(self) -> float | None:
        scale = self.moment.training.scale
        return None if scale is None else float(scale)

    @property
    def clips(self) -> list[tuple[str, float, float | None]]:
        """Kind, limit and norm of each clipping of these gradients since the step before."""
        ids = {id(p) for p in self.optimized}
        start = self.moment.progress.since
        clips = [c for c in self.moment.training.clips if c[0] > start and not ids.isdisjoint(c[4])]
        return [(kind, float(limit), None if norm is None else float(norm)) for _, kind, limit, norm, _ in clips]

    @property
    def unit(self) -> float:
        """The rounding unit of the narrowest type in which the run computes."""
        types = {p.dtype for p in self.optimized if p.is_floating_point()}
        types |= {call.autocast[1] for call in self.calls if call.autocast}
        return max(torch.finfo(kind).eps for kind in types)

    @property
    def ranks(self) -> list[int]:
        """The process of each batch; empty if there is only one process."""
        return self.owners

    @property
    def counts(self) -> list[tuple[str, float]]:
        """Numbers of elements in the batches, by which a loss may be divided."""
        return counts_of([batch.value for batch in self.batches])

    @property
    def windows_before(self) -> tuple[int, ...]:
        """How many batches the last step had, and the longest of all steps before."""
        return self.moment.progress.window, self.moment.progress.widest

    def value_of(self, x: Any) -> Any:
        """Return the values of a parameter or buffer at the calls of the model."""
        return self.value_at_call(x) if self.is_after_another else x

    @property
    def is_after_another(self) -> bool:
        """Whether another optimizer has taken a step since the model was called."""
        return any(call.time < self.moment.training.stepped for call in self.calls)

    def value_at_call(self, x: Any) -> Any:
        return next((call.kept[id(x)][2] for call in self.calls if id(x) in call.kept), x)

    @property
    def has_moved(self) -> bool:
        """Whether parameters have changed since the model was called, and not by another optimizer."""
        if self.is_after_another:
            return False
        return any(not torch.equal(self.value_at_call(p), p) for p in self.names.values())

    @property
    def is_inside_autocast(self) -> bool:
        """Whether the optimizer takes its step inside autocast, which keeps its copies of weights until it ends."""
        return self.moment.autocast

    # the declared loss

    def declared(
        self, some: Sequence[int] | None = None, *, wide: bool = True, at: str = "", replayed: bool = True
    ) -> Declared:
        """Evaluate the loss on some batches (default: all), and differentiate each term.

        wide: in float64, or as the run computes. at: with the parameters "before", at the step before, or at the
        "call" of the model. replayed: with the random numbers of the run.
        """
        which = list(range(len(self.batches))) if some is None else list(some)
        evaluate = functools.partial(self.evaluate, which, wide, at, replayed)
        if self.chosen:
            return evaluate()
        forms = (True, False) if self.has_no_loader else (True,)
        found = first_that_works(self, itertools.product(self.candidates, forms), evaluate)
        return self.replayed_otherwise(evaluate) or found if found.replayed is False else found

    def replayed_otherwise(self, evaluate: Callable[[], Declared]) -> Declared | None:
        """Evaluate a loss that draws random numbers of its own, as if the calls of the model drew none of these."""
        self.returns = True
        found = evaluate()
        self.returns = bool(found.replayed)
        return found if found.replayed else None

    @property
    def has_no_loader(self) -> bool:
        return any(isinstance(batch, CallArguments) for batch in self.batches)  # those of other processes come last

    def evaluate(self, which: Sequence[int], wide: bool, at: str, replayed: bool) -> Declared:
        values = [self.batch_value(self.batches[k], wide) for k in which]
        present = {id(p): self.value_of(p).detach().clone() for p in self.optimized} if at == "first" else {}
        replay = self.replay(which, values) if replayed else None
        with self.setting(which, wide, at, replay) as (instead, mode):
            if replay is not None:
                batches: Any = ReplayedBatches(values, functools.partial(self.read, replay, which))
                self.read(replay, which, 0)
            else:
                batches = values
                self.draws.begin(-1)
            with self.autocast(wide):
                if at == "first":
                    self.prime_casts(batches, instead, present)
                result = self.loss(self.model, batches)
            terms = terms_of_torch_loss(result, self.loss.__name__)
            gradients = self.differentiate(terms, instead, 1.0 if wide else self.loss_scale or 1.0)
            reached = any(x.any() for found in gradients.values() for x in found.values())
            if not reached and len(which) == len(self.batches) and not self.depends(terms, instead):
                hint = "compute it from the model that it gets, and return None for the steps of other optimizers"
                raise GradcliError(
                    f"{self.loss.__name__} does not depend on the parameters of this optimizer", hint=hint
                )
        known = None
        if replay is not None and replay.same + replay.differs:
            known = not replay.differs
        return Declared({t: float(x) for t, x in terms.items()}, gradients, known, tuple(sorted(mode.narrow)))

    def declared_with_stale_casts(self) -> Declared | None:
        """Evaluate the loss as if autocast still had its copies of the parameters at the first step."""
        if not self.is_inside_autocast or self.moment.progress.first is None:
            return None
        return self.evaluate(list(range(len(self.batches))), False, "first", True)

    def prime_casts(self, batches: Any, instead: Mapping[int, Any], present: Mapping[int, Any]) -> None:
        """Let autocast copy the stand-ins, then give them the present values."""
        state = self.tools.random_state()
        self.loss(self.model, list(batches))
        with torch.no_grad():
            for key, value in present.items():
                instead[key].copy_(value)
        self.tools.set_random_state(state)

    def depends(self, terms: Mapping[str, Any], instead: Mapping[int, Any]) -> bool:
        """Report whether a term is a function of any parameter of the optimizer, also if its gradient is zero."""
        nodes = [x.grad_fn for x in terms.values() if isinstance(x, torch.Tensor) and x.grad_fn is not None]
        own, seen = {id(instead[id(p)]) for p in self.names.values()}, set(nodes)
        while nodes:
            node = nodes.pop()
            if id(getattr(node, "variable", None)) in own:
                return True
            fresh = [above for above, _ in node.next_functions if above is not None and above not in seen]
            seen.update(fresh)
            nodes += fresh
        return False

    def differentiate(self, terms: Mapping[str, Any], instead: Mapping[int, Any], scale: float) -> dict[str, Any]:
        gradients = {}
        for k, (term, value) in enumerate(terms.items()):
            for x in instead.values():
                x.grad = None
            if isinstance(value, torch.Tensor) and value.requires_grad:
                (value * scale).backward(retain_graph=k + 1 < len(terms))
            gradients[term] = {
                name: np.zeros(count_real_numbers(p))
                if instead[id(p)].grad is None
                else torch_vector(instead[id(p)].grad) / scale
                for name, p in self.names.items()
            }
        return gradients

    def batch_value(self, batch: Any, wide: bool) -> Any:
        value = batch.spread if isinstance(batch, CallArguments) and self.spread else batch.value
        narrow = (torch.float32, torch.float16, torch.bfloat16)

        def convert(x: Any) -> Any:
            return x.double() if wide and x.dtype in narrow else x.clone()

        return self.tools.map_tensors(value, convert)

    def replay(self, which: Sequence[int], values: Sequence[Any]) -> Replay:
        owners = {x.data_ptr(): i for i, value in enumerate(values) for x in self.tools.tensors_in(value) if x.numel()}

        def of_batch(*arguments: Any) -> int | None:
            found = (owners.get(x.data_ptr()) for x in self.tools.tensors_in(arguments) if x.numel())
            return next((k for k in found if k is not None), None)

        used = {id(call) for calls in self.batch_calls for call in calls}
        others = [call for call in self.calls if id(call) not in used and call.arguments is not None]
        return Replay([self.batch_calls[k] for k in which], others, self.tools, of_batch, self.returns)

    def read(self, replay: Replay, which: Sequence[int], k: int) -> None:
        """Set the random numbers to those that the run had when it began with a batch."""
        replay.current = k
        self.draws.begin(which[k])
        batch = self.batches[which[k]]
        state = batch.random or next((c.random for c in self.batch_calls[which[k]] if c.random), None)
        if state is not None:
            self.tools.set_random_state(state)

    @contextlib.contextmanager
    def setting(
        self, which: Sequence[int], wide: bool, at: str, replay: Replay | None
    ) -> Iterator[tuple[Any, StandIns]]:
        """Put stand-ins into the model while its loss is evaluated."""
        modules = list(
            {
                id(m): m for root in (*self.candidates, *self.called) if is_torch_module(root) for m in root.modules()
            }.values()
        )
        parameters = {id(p): p for m in modules for p in m._parameters.values() if p is not None}
        parameters |= {id(p): p for p in self.optimized}
        buffers = {id(x): x for m in modules for x in m._buffers.values() if x is not None}
        instead = {key: self.stand_in(p, wide, at) for key, p in parameters.items()}
        others = {key: self.buffer(x, wide, which) for key, x in buffers.items()}
        mode, dtype = StandIns({**instead, **others}, wide, self.draws), torch.get_default_dtype()
        training = self.tools.training
        current, training.current = training.current, replay
        kept = [(p, p.grad) for p in all_parameters()] if self.tools.in_process else []
        try:
            torch.set_default_dtype(torch.float64 if wide else dtype)
            with swapped(modules, instead, others), uncompiled(modules), torch.enable_grad(), mode:
                yield instead, mode
        finally:
            torch.set_default_dtype(dtype)
            training.current = current
            for p, grad in kept:
                p.grad = grad

    @property
    def called(self) -> list[Any]:
        return [module for call in self.calls if (module := call.module()) is not None]

    def stand_in(self, p: Any, wide: bool, at: str) -> Any:
        kept = (self.moment.progress.first if at == "first" else self.moment.progress.before) or {}
        if at in ("before", "first") and id(p) in kept:
            value = kept[id(p)][1].detach()
        else:
            value = (self.value_at_call(p) if at == "call" else self.value_of(p)).detach()
        fresh = value.double() if wide and value.is_floating_point() else value.clone()
        fresh = fresh.clone() if fresh is value else fresh
        return torch.nn.Parameter(fresh, requires_grad=p.requires_grad)

    def buffer(self, x: Any, wide: bool, which: Sequence[int]) -> Any:
        """Return a copy of a buffer at the first call with the batches."""
        calls = (*(call for k in which for call in self.batch_calls[k]), *self.calls)
        value = next((call.kept[id(x)][2] for call in calls if id(x) in call.kept), x).detach()
        return value.double() if wide and value.is_floating_point() else value.clone()

    def autocast(self, wide: bool) -> contextlib.AbstractContextManager:
        used = next((call.autocast for call in self.calls if call.autocast), None)
        if used is None or wide:
            return contextlib.nullcontext()
        return torch.autocast(used[0], dtype=used[1])

    # other processes

    def share(self) -> dict[str, Any]:
        """Return what the process that checks needs of this one: its batches with random states, and its gradient."""
        batches = [
            (batch.value, batch.random, [(call.random, call.output) for call in calls])
            for batch, calls in zip(self.batches, self.batch_calls, strict=True)
        ]
        return {"batches": batches, "gradient": self.sizes, "shards": self.shards}

    @property
    def sizes(self) -> dict[str, tuple[float, float]]:
        """Norm and sum of the gradient of each parameter; empty if the processes have different parts of them."""
        if self.shards:
            return {}
        return {name: (float(np.linalg.norm(g)), float(g.sum())) for name, g in self.observed.items()}

    def add(self, shares: Sequence[Mapping[str, Any]]) -> None:
        """Take in what the other processes used in the same step."""
        self.owners = [0] * len(self.batches)
        if self.shards:
            self.moment.undo.append(restorer_of(self.called))
            self.optimized = unshard(self.optimized, self.called, [self.shards, *(share["shards"] for share in shares)])
            self.candidates = list({id(m): m for m in map(unwrap_module, self.candidates)}.values())
            self.model = self.candidates[0]
            self.names = names_of_parameters(self.model, self.optimized, self.loss)
        for rank, share in enumerate(shares, 1):
            self.others.append(share["gradient"])
            for value, random, calls in share["batches"]:
                self.batches.append(RemoteBatch(value, random))
                self.batch_calls.append([RemoteCall(self.candidates[0], *call) for call in calls])
                self.owners.append(rank)

    @property
    def unequal(self) -> list[str]:
        """The parameters whose gradients differ between the processes."""
        return [
            name
            for name, (size, total) in self.sizes.items()
            for other in self.others
            if abs(other[name][0] - size) > 1e-4 * size or abs(other[name][1] - total) > 1e-3 * size
        ]

    # what was recorded, in words

    def description(self) -> str:
        forms = [batch_form(batch.value) for batch in self.batches]
        if not forms:
            return "no batches"
        distinct = list(dict.fromkeys(forms))
        form = distinct[0] if distinct else ""
        more = f" and {count_of(len(distinct) - 1, 'other form')}" if len(distinct) > 1 else ""
        batches = "1 batch" if len(forms) == 1 else f"{len(forms)} batches"
        return f"{batches} of {form}{more}"


def is_same_tensor(noted: tuple[Callable[[], Any], int] | None, x: Any) -> bool:
    """Report whether a tensor is the noted one, and has not been written to since. noted: a weak reference, version."""
    return noted is not None and noted[0]() is x and noted[1] == x._version


def count_real_numbers(x: Any) -> int:
    return x.numel() * (2 if x.is_complex() else 1)


def terms_of_torch_loss(result: Any, name: str) -> dict[str, Any]:
    """Return the terms of a declared loss by name; "" for one number. Raises GradcliError."""
    if result is None:
        raise NotDeclaredError
    terms = dict(result) if isinstance(result, Mapping) else {"": result}
    for term, value in terms.items():
        what = f"term '{term}' of {name}" if term else name
        if isinstance(value, torch.Tensor) and value.numel() != 1:
            shape = "×".join(map(str, value.shape))
            raise GradcliError(f"{what} returned {shape} numbers instead of one", hint="return their mean or sum")
        if not isinstance(value, torch.Tensor | int | float):
            raise GradcliError(f"{what} returned {type(value).__name__}, not a number", hint="return a tensor")
        if isinstance(value, torch.Tensor):
            terms[term] = value.reshape(())
    if not any(isinstance(value, torch.Tensor) and value.requires_grad for value in terms.values()):
        hint = "compute it from model(...) without detach(), item() and no_grad()"
        raise GradcliError(f"{name} returned a number that does not depend on the parameters", hint=hint)
    return {str(term): value for term, value in terms.items()}


def reached_calls(calls: Sequence[Any], ids: set[int]) -> list[Any]:
    """Return the calls of a step that belong to its optimizer, without those of a validation.

    A call in eval() belongs to a validation if backward did not come back to it. So does one with a loader that
    backward never reached, if it reached another one.
    """
    own = [c for c in calls if (m := c.module()) is not None and any(id(p) in ids for p in m.parameters())]
    own = [call for call in own if call.reached or (call.trains or not call.hooked)]
    if not any(call.reached for call in own):
        return own
    loaders = {batch.loop.loader for call in own if call.reached for batch in call.batches}
    if loaders:
        return [call for call in own if any(batch.loop.loader in loaders for batch in call.batches) or not call.batches]
    if any(call.batches for call in own):
        return own
    return [call for call in own if call.reached or not call.hooked]


def batches_of(calls: Sequence[Any], unseen: Sequence[Any]) -> tuple[list[Any], list[list[Any]]]:
    """Return the batches of a step in order, and the calls with each: of a loader, else the arguments of calls.

    unseen: batches for a step without calls, as in a compiled function.
    """
    found = sorted({batch for call in calls for batch in call.batches}, key=lambda batch: batch.order) or [*unseen]
    if found:
        return found, [[call for call in calls if batch in call.batches] for batch in found]
    with_arguments = [call for call in calls if call.arguments is not None and not call.inner]
    return [CallArguments(call) for call in with_arguments], [[call] for call in with_arguments]


def candidate_models(calls: Sequence[Any], optimized: Sequence[Any]) -> list[Any]:
    """Return the modules that may be the model, the likeliest one first.

    That is a module of Lightning around the called one, the called module that has most of the parameters, or the
    smallest module that has them all although only its parts or methods are called.
    """
    wanted = {id(p) for p in optimized}

    def share(module: Any) -> int:
        return len(wanted & {id(p) for p in module.parameters()})

    called = list({id(m): m for call in calls if (m := call.module()) is not None and share(m)}.values())
    called.sort(key=lambda m: -share(m))
    around = [m for m in (x for x in gc.get_objects() if is_torch_module(x)) if share(m) == len(wanted)]
    around.sort(key=lambda m: sum(1 for _ in m.modules()))
    lightning = [m for m in around if any(base.__name__ == "LightningModule" for base in type(m).__mro__)]
    whole = [m for m in called if share(m) == len(wanted)]
    order = [*lightning, *whole, *around, *called]
    return list({id(m): m for m in map(unwrap_module, order)}.values())


def is_torch_module(x: Any) -> bool:
    try:
        return isinstance(x, torch.nn.Module)
    except ReferenceError:  # a weak proxy
        return False


def all_parameters() -> list[Any]:
    return [x for x in gc.get_objects() if type(x) is torch.nn.Parameter]


def names_of_parameters(model: Any, optimized: Sequence[Any], loss: Callable) -> dict[str, Any]:
    """Return the parameters of an optimizer by their names in the model, or in the file of the loss, in its order."""
    ids = {id(p) for p in optimized}
    parameters = model.named_parameters() if is_torch_module(model) else ()
    named = {name.replace("_orig_mod.", ""): p for name, p in parameters if id(p) in ids}
    for name, x in getattr(loss, "__globals__", {}).items():
        if id(x) in ids and id(x) not in {id(p) for p in named.values()}:
            named[name] = x
    known = {id(p) for p in named.values()}
    others = {f"parameter {k + 1}": p for k, p in enumerate(optimized) if id(p) not in known}
    return {name: p for name, p in {**named, **others}.items() if p.is_floating_point() or p.is_complex()}
