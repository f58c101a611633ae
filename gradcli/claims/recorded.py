"""Claims of gradcli's own engine, which records a function of Tensors: the engine's derivative is the claim."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import count_of
from ..func.forward import push_all
from ..func.mapping import batch_or_loop
from ..func.trace import CallTrace, pull, reverse_blocks
from ..func.trace import trace_function as trace
from ..program.arguments import arrays_in, layout_of
from ..program.base import Run, new_tensor
from ..rules import entry
from ..tape.backward import grad, reachable
from ..tape.function import Function, FunctionNode
from ..tape.modes import Observer, enable_grad, no_grad, observing, set_grad_enabled
from ..tape.record import Mode, recording
from ..tape.tensor import Tensor
from ..user.tracebacks import place_of_return
from .claim import (
    Arrays,
    CallError,
    Capabilities,
    Claim,
    NoForwardError,
    call_failed,
    callable_name,
    failing_as,
    free_name,
    note_on_type,
    wider,
)


class Traced(Claim):
    """A function of Tensors, called positionally; the claimed derivative is the engine's."""

    capabilities = Capabilities(vjp=True, jvp=True, second=True, traced=True)
    records = False  # whether values need a graph, because the function registers hooks or retains gradients
    first: Traced | None = None
    vector = ""  # the name of the vector, if this is a product with the derivative of `first`

    def __init__(self, f: Callable, at: Mapping[str, Any], *, wrt: Sequence[str] | None = None, title: str = ""):
        super().__init__(title or callable_name(f), at, wrt)
        self.check_wrt()
        self.f, self.functions = f, (f,)
        self.batchable = True

    def call(self, tensors: Sequence[Tensor]) -> Tensor:
        """Call f; several outputs are joined into one vector. Raises CallError."""
        with np.errstate(), failing_as(self.title):  # np.seterr in a function has no effect outside
            result = self.f(*tensors)
        outputs = list(arrays_in(result, lambda x: isinstance(x, Tensor) and x.dtype.kind in "fcO"))
        self.layout = layout_of(outputs, lambda x: x.dtype.is_complex)
        return as_one_output([x for _, x in outputs], result, self.title)

    def value_here(self) -> np.ndarray:
        """Return f at the point; note if f computes in float16, which limits the digits of values and claim."""
        if self.here is None:
            with recording(HalfPrecision()) as computed:
                self.here = self.value(self.at)
            if computed.seen and all(x.dtype != np.float16 for x in self.at.values()):
                unit = float(np.finfo(np.float16).eps) / 2
                self.capabilities = replace(self.capabilities, value_unit=unit, claim_unit=unit)
                self.notes = (*self.notes, note_on_type("float16", unit))
        return self.here

    def value(self, arrays: Arrays) -> np.ndarray:
        self.budget.require(1)
        self.budget.made += 1
        try:
            with set_grad_enabled(self.records):
                given = [new_tensor(x).requires_grad_(self.records and name in self.wrt) for name, x in arrays.items()]
                return np.array(self.call(given)._data)
        except CallError as error:
            if self.records or ("requires" not in str(error) and "require gradient" not in str(error)):
                raise
        self.records = True
        return self.value(arrays)

    def values(self, stacks: Arrays, count: int, like: np.ndarray) -> np.ndarray:
        if not self.batchable or not stacks:
            return super().values(stacks, count, like)
        self.budget.require(count)
        dims = [0 if name in stacks else None for name in self.at]
        leaves = [self.leaf(name, stacks.get(name, x)) for name, x in self.at.items()]
        try:
            with no_grad(), np.errstate(all="ignore"):
                (out,), _ = batch_or_loop(lambda *xs: self.call(xs), leaves, dims, lambda xs: (tuple(xs), {}), count)
        except (CallError, ValueError):
            out = None
        if out is None or out._data.shape != (count, *like.shape):
            self.batchable = False
            return super().values(stacks, count, like)
        self.budget.made += count
        return np.array(out._data)

    def evaluate_wider(self, arrays: Arrays) -> Any:
        if self.records:  # hooks may be for one type
            return None
        self.budget.made += 1
        with no_grad():
            return self.call([new_tensor(x) for x in arrays.values()])._data

    def whole_wider(self) -> dict[str, np.ndarray] | None:
        wide = {name: more for name in self.wrt if (more := wider(self.at[name])) is not None}
        with contextlib.suppress(CallError):
            return self.whole({**self.at, **wide})
        return None

    def leaf(self, name: str, x: np.ndarray) -> Tensor:
        return new_tensor(x)

    def whole(self, arrays: Arrays) -> dict[str, np.ndarray]:
        record = self.record_call(arrays)
        with failing_as("backward"):
            blocks = reverse_blocks(record, retain=True)[0]
        return {name: np.asarray(block._data) for name, block in zip(self.wrt, blocks, strict=True)}

    def vjp(self, arrays: Arrays, cotangent: np.ndarray) -> dict[str, np.ndarray]:
        return self.late_pull(arrays, cotangent)

    def pullback(self, arrays: Arrays) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
        record = self.record_call(arrays)
        return lambda cotangent: self.products(record, arrays, cotangent, self.wrt, retain=True)

    def late_pull(self, arrays: Arrays, cotangent: np.ndarray, between: Arrays | None = None) -> dict[str, np.ndarray]:
        record = self.record_call(arrays)
        if between is not None:
            self.value(between)
        return self.products(record, arrays, cotangent, self.wrt)

    def pull_of(self, arrays: Arrays, cotangent: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray] | None:
        record = self.record_call(arrays, names)
        (out,) = record.outputs
        if out._node is None or not any(isinstance(node, FunctionNode) for node in reachable([out._node])):
            return None
        return self.products(record, arrays, cotangent, names)

    def products(
        self, record: Any, arrays: Arrays, cotangent: np.ndarray, names: Sequence[str], retain: bool = False
    ) -> dict[str, np.ndarray]:
        """Return the products of a cotangent, from backward, for the inputs that the call was recorded for."""
        (out,) = record.outputs
        with failing_as("backward"):
            products = zip(names, pull(record, [(out, Tensor._wrap(cotangent, None))], retain, False), strict=True)
        return {name: np.zeros_like(arrays[name]) if g is None else np.asarray(g) for name, g in products}

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        """Return the product by forward mode. Raises NoForwardError for an operation without it."""
        record = self.record_call(arrays)
        (out,) = record.outputs
        given = (tangents.get(name) for name in arrays if name in self.wrt)
        seeds = [None if x is None else Tensor._wrap(np.asarray(x), None) for x in given]
        try:
            (pushed,) = push_all(record, seeds, False)
        except RuntimeError as error:
            raise NoForwardError(str(error)) from error
        except Exception as error:
            raise call_failed("forward mode", error) from error
        return np.zeros_like(out._data) if pushed is None else np.asarray(pushed)

    def parts(self) -> Iterator[tuple[Claim, Callable[[], str]]]:
        calls = Calls()
        with observing(calls):
            self.record_call(self.at)
        for node, function, args in calls.made:
            single = call_alone(node, function, args)
            if single is not None:
                yield single, functools.partial(describe_part, node, single, function)

    def pull_function(self, cotangent: np.ndarray) -> Traced:
        def product(*tensors: Tensor) -> Any:
            *xs, v = tensors
            with enable_grad():
                fixed = [x.requires_grad or n not in self.wrt for n, x in zip(self.at, xs, strict=True)]
                xs = [x if keep else x.detach().requires_grad_() for x, keep in zip(xs, fixed, strict=True)]
                inputs = [x for n, x in zip(self.at, xs, strict=True) if n in self.wrt]
                result = self.call(xs)
                if result._node is None:
                    raise CallError(f"{self.title} does not depend on its inputs through recorded operations")
                return tuple(grad(result, inputs, v, create_graph=True, materialize_grads=True))

        name = free_name("gradient", self.at)
        at, title = {**self.at, name: cotangent}, f"the derivative of {self.title}"
        claim = Traced(product, at, wrt=[*self.wrt, name], title=title)
        claim.first, claim.vector, claim.batchable = self, name, False
        return claim

    def record_call(self, arrays: Arrays, names: Sequence[str] | None = None) -> Any:
        places = tuple(i for i, name in enumerate(arrays) if name in (self.wrt if names is None else names))
        with no_grad():  # no second derivatives are needed
            return trace(lambda *xs: self.call(xs), tuple(new_tensor(x) for x in arrays.values()), {}, places)


class HalfPrecision(Mode):
    """Notes whether an operation gives float16."""

    seen = False

    def record(self, primitive: Any, operands: tuple, params: dict) -> Any:
        result = self.below.record(primitive, operands, params)
        tensors = arrays_in(result, lambda x: isinstance(x, Tensor))
        self.seen = self.seen or any(x._data.dtype == np.float16 for _, x in tensors)
        return result


def as_one_output(outputs: list[Tensor], result: Any, title: str) -> Tensor:
    """Return Tensors as one real Tensor: several are flattened and joined; complex numbers become pairs."""
    parts = [entry("view_as_real").function(x) if x.dtype.is_complex else x for x in outputs]
    if parts:
        return parts[0] if len(parts) == 1 else entry("concatenate").function([x.reshape(-1) for x in parts])
    if isinstance(result, Tensor):
        return result
    if isinstance(result, tuple | list | Mapping):
        raise CallError(f"{title} returned no Tensor of floating-point numbers")
    advice = "compute with gradcli's or NumPy's functions on the arguments, without item(), numpy() or detach()"
    raise CallError(f"{title} returned {type(result).__name__}, not a Tensor: {advice}")


class ScriptClaim(Traced):
    """A script's output as a function of its leaves; if it runs backward itself, their `.grad` is the claim."""

    capabilities = replace(Traced.capabilities, pulls_apart=False)

    def __init__(self, script: Any, at: Mapping[str, Any], *, wrt: Sequence[str] | None = None, out: str | None = None):
        super().__init__(script, at, wrt=wrt, title=script.title)  # type: ignore[arg-type]
        self.script = script
        self.out = out
        self.batchable = False

    def execute(self, arrays: Arrays) -> Run:
        with failing_as(self.title):
            run = self.script.run(arrays, out=self.out)
        for name, x in arrays.items():
            if not np.array_equal(run.leaves[name]._data, x.astype(run.leaves[name]._data.dtype), equal_nan=True):
                advice = "name the output with --out, or check the function that computes it"
                what = f"{self.title} changes '{name}' after making it, so its derivative cannot be checked"
                raise CallError(f"{what}: {advice}")
        if run.output is None and (len(run.backwards) != 1 or np.size(run.backwards[0]) != 1):
            raise CallError(
                f"{self.title} runs backward {count_of(len(run.backwards), 'time')} itself, which can be checked only "
                "if it does so once, on a single number: remove its calls to backward, or name the output with --out"
            )
        return run

    def pull_function(self, cotangent: np.ndarray) -> Traced:
        return SecondScript(self, cotangent)

    def outcome(self, arrays: Arrays) -> tuple[list[Tensor], Tensor]:
        """Return the leaves in the order of `arrays`, and the output that depends on them."""
        run = self.execute(arrays)
        output = run.output if run.output is not None else new_tensor(run.backwards[0])
        return [run.leaves[name] for name in arrays], output

    def value(self, arrays: Arrays) -> np.ndarray:
        self.budget.require(1)
        self.budget.made += 1
        return np.array(self.outcome(arrays)[1]._data)

    def evaluate_wider(self, arrays: Arrays) -> None:
        """Return None: a script makes its leaves itself."""

    def whole_wider(self) -> None:
        """Return None for the same reason."""

    def record_call(self, arrays: Arrays, names: Sequence[str] | None = None) -> CallTrace:
        leaves, output = self.outcome(arrays)
        wanted = [leaves[i] for i, name in enumerate(arrays) if name in (self.wrt if names is None else names)]
        return CallTrace(wanted, outputs=[output])

    def whole(self, arrays: Arrays) -> dict[str, np.ndarray]:
        run = self.execute(arrays)
        if run.output is not None:
            return super().whole(arrays)
        shape = np.shape(run.backwards[0])
        blocks = {}
        for name in self.wrt:
            x = run.leaves[name]
            g = np.zeros(x._data.shape, x._data.dtype) if x._grad is None else np.asarray(x._grad._data)
            blocks[name] = g.reshape(shape + x._data.shape)
        return blocks


class SecondScript(ScriptClaim):
    """The product of a vector with the derivative of a script's output, as a function of leaves and vector."""

    def __init__(self, of: ScriptClaim, vector: np.ndarray):
        name = free_name("gradient", of.at)
        super().__init__(of.script, {**of.at, name: vector}, wrt=[*of.wrt, name], out=of.out)
        self.title = f"the derivative of {of.title}"
        self.of = of

    def outcome(self, arrays: Arrays) -> tuple[list[Tensor], Tensor]:
        *names, last = arrays
        run = self.of.execute({name: arrays[name] for name in names})
        if run.output is None:
            what = f"{self.of.title} runs backward itself, so its graph is gone"
            raise CallError(f"{what}: remove its call to backward")
        if run.output._node is None:
            raise CallError(f"{self.of.title} does not depend on its leaves through recorded operations")
        vector = new_tensor(arrays[last]).requires_grad_()
        wanted = [run.leaves[name] for name in self.of.wrt]
        products = grad(run.output, wanted, vector, create_graph=True, materialize_grads=True)
        return [*(run.leaves[name] for name in names), vector], as_one_output(list(products), products, self.title)

    def whole(self, arrays: Arrays) -> dict[str, np.ndarray]:
        return Traced.whole(self, arrays)


class Calls(Observer):
    """Collects (node, Function, arguments) of the calls of custom functions, in order."""

    def __init__(self) -> None:
        self.made: list[tuple[Any, type, tuple]] = []

    def see_call(self, node: Any, function: type, args: tuple) -> None:
        self.made.append((node, function, tuple(x.detach().clone() if isinstance(x, Tensor) else x for x in args)))


def describe_part(node: Any, single: Traced, function: Any) -> str:
    if function.backward is Function.backward:
        return f"the first wrong node is {node.name()}: {place_of_return(function)}"
    place = place_of_return(function.backward, last_line(single, function))
    return f"the first wrong node is {node.name()}: {place}"


def call_alone(node: Any, function: Any, args: tuple) -> Traced | None:
    """Return one call of a custom function as a claim; None if it needs no gradient."""
    places = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
    wanted = [i for i in places if node.needs_input_grad[i] and args[i]._data.dtype.kind in "fc"]
    if not wanted:
        return None

    def call(*xs: Tensor) -> Any:
        full = list(args)
        for i, x in zip(places, xs, strict=True):
            full[i] = x
        return function.apply(*full)

    at = {f"argument {i}": np.array(args[i]._data) for i in places}
    return Traced(call, at, wrt=[f"argument {i}" for i in wanted], title=function.__name__)


def last_line(claim: Traced, function: Any) -> int | None:
    """Return the last line that runs in a Function's backward: the `return` of its result."""
    code = getattr(inspect.unwrap(function.backward), "__code__", None)
    lines: list[int] = []

    def watch(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code is not code:
            return None
        if event in ("line", "return"):
            lines.append(frame.f_lineno)
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        with contextlib.suppress(CallError):
            claim.pull(claim.at, np.ones_like(claim.value(claim.at)))
    finally:
        sys.settrace(before)
    return lines[-1] if lines else None
