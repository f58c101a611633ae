"""Evaluate a loss of PyTorch again, with the random numbers of the run, in float64 or as the run computed it."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

NARROW_TYPES = (torch.float32, torch.float16, torch.bfloat16)
TYPE_CASTS = {torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16}
NOT_CONVERTED = {torch.autograd.grad, torch.autograd.backward, torch.Tensor.backward}
"""Functions whose arguments are nodes of the graph: a converted argument would be another node."""
RANDOM = {
    *("randn", "rand", "randn_like", "rand_like", "normal", "normal_", "uniform_", "exponential_", "log_normal_"),
    *("cauchy_", "random_", "geometric_"),
}
"""Functions that draw numbers whose values depend on the type in which they are drawn."""
RANDOM_INSIDE = {"gumbel_softmax", "rrelu", "alpha_dropout", "feature_alpha_dropout"}
"""Functions that draw such numbers inside."""
WRAPPERS = ("DistributedDataParallel", "DataParallel", "FullyShardedDataParallel", "OptimizedModule")


def unwrap_module(module: Any) -> Any:
    """Return the module inside the wrappers of torch.compile and of several processes."""
    while type(module).__name__ in WRAPPERS:
        module = module._orig_mod if hasattr(module, "_orig_mod") else module.module
    return module


def tree_map(convert: Callable[[Any], Any], x: Any) -> Any:
    """Convert the leaves of nested lists, tuples and dicts, which are what functions of PyTorch get."""
    if isinstance(x, list | tuple) and not hasattr(x, "_fields"):
        return type(x)(tree_map(convert, part) for part in x) if type(x) in (list, tuple) else convert(x)
    if type(x) is dict:
        return {key: tree_map(convert, part) for key, part in x.items()}
    return convert(x)


class Draws:
    """The types in which a loss draws random numbers as the run computes it, by batch and number of the draw."""

    def __init__(self) -> None:
        self.types: dict[tuple[int, int], torch.dtype] = {}
        self.batch, self.number = -1, 0

    def begin(self, batch: int) -> None:
        self.batch, self.number = batch, 0

    def next(self) -> tuple[int, int]:
        self.number += 1
        return self.batch, self.number


class StandIns(TorchFunctionMode):
    """A context in which other tensors stand in for parameters, also where a function refers to them directly.

    instead: by the id of a parameter. wide: whether all floating-point numbers are float64; `narrow` collects the
    functions that have no float64, which compute in float32. draws: random numbers keep the types that are noted here.
    """

    def __init__(self, instead: Mapping[int, Any], wide: bool, draws: Draws):
        super().__init__()
        self.instead, self.wide, self.draws = instead, wide, draws
        self.default_type = torch.get_default_dtype()
        self.narrow: set[str] = set()

    def __torch_function__(self, function: Any, _: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        draws = name in RANDOM or name in RANDOM_INSIDE
        if name == "__set__" or not self.wide:
            result = function(*tree_map(self.stand_in, args), **tree_map(self.stand_in, kwargs))
            if draws and isinstance(result, torch.Tensor):
                self.draws.types[self.draws.next()] = result.dtype
            return result
        if function in NOT_CONVERTED:
            return function(*args, **kwargs)
        if draws:
            return self.draw(function, name, args, kwargs)
        changed = self.changed_tensor(name, args, kwargs)
        if changed is not None and changed.dtype in NARROW_TYPES:
            return self.write_into(function, changed, args, kwargs)
        function = torch.Tensor.double if function in TYPE_CASTS else function
        try:
            return function(*tree_map(self.widen, args), **tree_map(self.widen, kwargs))
        except (RuntimeError, NotImplementedError) as error:
            if not is_about_float64(error):
                raise
            self.narrow.add(name)
            result = function(*tree_map(self.as_float32, args), **tree_map(self.as_float32, kwargs))
            return tree_map(self.widen, result)

    def draw(self, function: Any, name: str, args: tuple, kwargs: dict) -> Any:
        """Draw random numbers in the type in which the run drew them."""
        kind = self.draws.types.get(self.draws.next(), self.default_type)

        def convert(x: Any) -> Any:
            if isinstance(x, torch.dtype):
                return kind if x in (*NARROW_TYPES, torch.float64) else x
            x = self.stand_in(x)
            return x.to(kind) if isinstance(x, torch.Tensor) and x.is_floating_point() else x

        if name.endswith("_"):
            target = self.stand_in(args[0])
            drawn = torch.empty(target.shape, dtype=kind if target.is_floating_point() else target.dtype)
            function(drawn.to(target.device), *args[1:], **kwargs)
            with torch.no_grad():
                return target.copy_(drawn)
        more = {"dtype": kind} if name in ("randn", "rand") and "dtype" not in kwargs else {}
        return tree_map(self.widen, function(*tree_map(convert, args), **tree_map(convert, kwargs), **more))

    def stand_in(self, x: Any) -> Any:
        return self.instead.get(id(x), x) if isinstance(x, torch.Tensor) else x

    def widen(self, x: Any) -> Any:
        if isinstance(x, torch.dtype):
            return torch.float64 if x in NARROW_TYPES else x
        x = self.stand_in(x)
        return x.double() if isinstance(x, torch.Tensor) and x.dtype in NARROW_TYPES else x

    def as_float32(self, x: Any) -> Any:
        if isinstance(x, torch.dtype):
            return torch.float32 if x in NARROW_TYPES else x
        x = self.stand_in(x)
        return x.float() if isinstance(x, torch.Tensor) and x.is_floating_point() else x

    @staticmethod
    def changed_tensor(name: str, args: tuple, kwargs: dict) -> Any:
        """Return the tensor that a function changes in place, if there is one."""
        out = kwargs.get("out")
        if isinstance(out, torch.Tensor):
            return out
        in_place = (name.endswith("_") and not name.endswith("__")) or name in ("__setitem__", "__iadd__", "__imul__")
        return args[0] if in_place and args and isinstance(args[0], torch.Tensor) else None

    def write_into(self, function: Any, changed: Any, args: tuple, kwargs: dict) -> Any:
        """Call a function that changes a tensor of few digits in place, with the other arguments in its type."""

        def convert(x: Any) -> Any:
            x = self.stand_in(x)
            fits = x is changed or not isinstance(x, torch.Tensor) or not x.is_floating_point()
            return x if fits else x.to(changed.dtype)

        return function(*tree_map(convert, args), **tree_map(convert, kwargs))


def is_about_float64(error: Exception) -> bool:
    text = str(error)
    return isinstance(error, NotImplementedError) or "Double" in text or "float64" in text


@contextlib.contextmanager
def swapped(modules: Sequence[Any], instead: Mapping[int, Any], buffers: Mapping[int, Any]) -> Iterator[None]:
    """Put stand-ins for parameters and buffers into modules."""
    kept = []
    for module in modules:
        for names, stand_ins in ((module._parameters, instead), (module._buffers, buffers)):
            for name, x in list(names.items()):
                if id(x) in stand_ins:
                    kept.append((names, name, x))
                    names[name] = stand_ins[id(x)]
    try:
        yield
    finally:
        for names, name, x in kept:
            names[name] = x


@contextlib.contextmanager
def uncompiled(modules: Sequence[Any]) -> Iterator[None]:
    """Run compiled functions and modules as they are written."""
    kept = [(module, module._compiled_call_impl) for module in modules]
    with contextlib.ExitStack() as stack:
        if hasattr(torch.compiler, "set_stance"):
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        for module, _ in kept:
            module._compiled_call_impl = None
        try:
            yield
        finally:
            for module, compiled in kept:
                module._compiled_call_impl = compiled


class ReplayedBatches(list):
    """Batches that set the random numbers to those of the run when a loss reads them one by one."""

    def __init__(self, values: Sequence[Any], read: Callable[[int], None]):
        super().__init__(values)
        self.read = read

    def __iter__(self) -> Iterator[Any]:
        for k in range(len(self)):
            yield self[k]

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, int) and len(self):
            self.read(k % len(self))
        return super().__getitem__(k)


class Replay:
    """What the hooks of the command call while a loss is evaluated: it sets the random numbers at each call.

    calls: for each batch, the recorded calls with it, in order. others: the recorded calls without a batch. numbers:
    has functions that get and set their state. returns: whether a call that draws none leaves them as
    they were before it. differs: how often the output of a call was not that of the run.
    """

    def __init__(
        self, calls: Sequence[Sequence[Any]], others: Sequence[Any], numbers: Any, of_batch: Callable, returns: bool
    ):
        self.calls, self.others = [list(some) for some in calls], list(others)
        self.numbers, self.of_batch, self.returns = numbers, of_batch, returns
        self.inside, self.now, self.current = False, 0, 0
        self.same, self.differs, self.earlier = 0, 0, None

    def __getattr__(self, name: str) -> Callable:
        return lambda *_: None  # no other event matters here

    def begin_call(self, module: Any, args: tuple, kwargs: dict) -> Any:
        if not torch.is_grad_enabled() or torch._C._current_graph_task_id() != -1:
            return None
        found = self.of_batch(args, kwargs)
        self.current = self.current if found is None else found
        left = self.calls[self.current] if self.current < len(self.calls) else []
        mine = next((call for call in left if unwrap_module(call.module()) is unwrap_module(module)), None)
        if mine is None:
            left, forms = self.others, forms_of((args, kwargs))
            alike = (call for call in left if call.module() is module and forms_of(call.arguments) == forms)
            mine = next(alike, None)
        if mine is None:
            return None
        left.remove(mine)
        if mine.random is not None:
            self.earlier = self.numbers.random_state() if self.returns else None
            self.numbers.set_random_state(mine.random)
        return mine

    def end_call(self, call: Any, result: Any) -> None:
        if self.returns and call.random is not None and same_state(call.random, self.numbers.random_state()):
            self.numbers.set_random_state(self.earlier)
        first = next(iter(floats_in(result)), None)
        if first is not None and call.output:
            now, then = float(first.detach().double().sum()), call.output[0]
            size = float(first.detach().double().abs().sum())
            close = abs(now - then) <= 1e-2 * size or now == then
            self.same, self.differs = self.same + close, self.differs + (not close)


def forms_of(x: Any) -> list[Any]:
    """Return the shapes of the tensors in the arguments of a call."""
    if isinstance(x, torch.Tensor):
        return [tuple(x.shape)]
    parts = x.values() if isinstance(x, Mapping) else x if isinstance(x, list | tuple) else ()
    return [form for part in parts for form in forms_of(part)]


def same_state(x: Mapping[str, Any], y: Mapping[str, Any]) -> bool:
    """Report whether two states of PyTorch's random numbers, and those of Python and NumPy, are the same."""
    parts = [key for key in ("python", "numpy") if key in x]
    return torch.equal(x["torch"], y["torch"]) and all(pickle.dumps(x[key]) == pickle.dumps(y[key]) for key in parts)


def floats_in(x: Any) -> Iterator[Any]:
    if isinstance(x, torch.Tensor):
        if x.is_floating_point():
            yield x
    elif isinstance(x, Mapping):
        for part in x.values():
            yield from floats_in(part)
    elif isinstance(x, list | tuple):
        for part in x:
            yield from floats_in(part)
