"""Functions of JAX, with their custom_vjp and custom_jvp."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import GradcliError, describe_error
from ...program.arguments import Arguments, Path
from ...user.tracebacks import place_of_return
from ..as_called import compare
from ..claim import Arrays, CallError, Claim, Difference, callable_name, nearby_point
from .framework import FrameworkCall, join_real, to_double

CALLS_AS_WRITTEN = 4  # calls before a function is compiled, a choice; the comparison calls it four times more
DERIVATIVES_AS_WRITTEN = 16  # the same for derivatives without loops: few checks need more, and compiling is slow
COMPARISON = 5  # calls of a comparison: two at each of two points, and one to trace
SPARE_CALLS = 10 * COMPARISON  # a comparison needs a budget with this many calls left: a choice
ROUNDINGS = 1024.0  # rounding units by which compiled code may differ, which sums in another order: a choice
MOST_UNIT = 1e-7  # the largest rounding unit in this comparison, for types shorter than float32
RULES = ("custom_vjp", "custom_jvp")
DRAWING = ("random_bits", "random_gamma", "threefry2x32", "rng_")  # primitives that draw random numbers
MOST_USES = 3  # calls of one custom rule inside a function that are checked alone: a choice
FLOAT0 = "the derivative uses the gradient or tangent of an integer, which is a float0 without numbers; leave it out"
LOOPS = {"while", "scan", "cond"}  # primitives that JAX compiles anew in each call unless the caller is compiled

Linearized = tuple[np.ndarray, Callable[[np.ndarray], dict[str, np.ndarray]]]


class CompiledChoice:
    """Functions as written, replaced by compiled ones after some calls if these give the same values.

    run: calls the functions at a point. wait: the number of calls before they are compiled.
    """

    def __init__(self, written: Sequence[Callable], run: Callable[[Sequence[Callable], Any], Any], wait: int):
        self.written, self.run, self.wait = written, run, wait
        self.chosen = written

    def compile(self, at: Arrays) -> None:
        """Choose the compiled functions if they agree with those as written, at a point and at a point near it."""
        compiled = [jax.jit(function) for function in self.written]
        points = [as_jax(at), as_jax(nearby_point(at))]
        with contextlib.suppress(Exception):  # the code cannot be traced, or raises near the point
            once, again, other = ([self.run(f, x) for x in points] for f in (self.written, self.written, compiled))
            if same_trees(once, again, 0.0) and same_trees(once, other, ROUNDINGS):
                self.chosen = compiled


class Adapter(FrameworkCall):
    """A call in JAX: reverse mode by jax.vjp, forward mode by jax.jvp."""

    engine = "jax"
    reverse_mode: bool | None = None

    def precision(self, narrow: bool) -> contextlib.AbstractContextManager:
        return enable_x64(not narrow)

    @classmethod
    def in_double(cls) -> contextlib.AbstractContextManager:
        return enable_x64(True)

    @classmethod
    def signature(cls, function: Any, title: str) -> tuple[list[inspect.Parameter], list[str]] | None:
        return super().signature(behind_custom_gradient(function), title)

    @staticmethod
    def array(x: np.ndarray) -> Any:
        return jnp.asarray(x)

    def shortened(self, x: Any) -> Any:
        return x.astype(self.short) if jnp.issubdtype(x.dtype, jnp.floating) else x

    def choose(self, choice: CompiledChoice, at: Arrays) -> Sequence[Callable]:
        """Return the functions to call. A comparison counts as calls, and needs enough of the budget."""
        if choice.wait == 0 and self.budget.left >= SPARE_CALLS:
            self.budget.made += COMPARISON
            choice.compile(at)
        choice.wait -= 1
        return choice.chosen

    @classmethod
    def on_device(cls, device: str) -> contextlib.AbstractContextManager:
        if device == "cuda" and jax.default_backend() != "gpu":
            raise GradcliError(f"JAX {jax.__version__} finds no CUDA device")
        return jax.default_device(jax.devices(device)[0])

    @functools.cached_property
    def values_by(self) -> CompiledChoice:
        return CompiledChoice([self.evaluate_as_written], lambda functions, x: functions[0](x), CALLS_AS_WRITTEN)

    @functools.cached_property
    def reverse_by(self) -> CompiledChoice:
        def run(functions: Sequence[Callable], x: Any) -> Any:
            out, vjp = functions[0](x)
            return out, functions[1](vjp, drawn(out))

        written: list[Callable] = [
            lambda x: jax.vjp(self.evaluate_as_written, x),
            lambda vjp, cotangent: vjp(cotangent)[0],
        ]
        return CompiledChoice(written, run, self.derivatives_as_written)

    @functools.cached_property
    def forward_by(self) -> CompiledChoice:
        def run(functions: Sequence[Callable], x: Any) -> Any:
            return functions[0](x, {name: drawn(array) for name, array in x.items()})

        written = [lambda x, tangents: jax.jvp(self.evaluate_as_written, (x,), (tangents,))[1]]
        return CompiledChoice(written, run, self.derivatives_as_written)

    @property
    def derivatives_as_written(self) -> int:
        return 0 if any(equation.primitive.name in LOOPS for equation in self.equations) else DERIVATIVES_AS_WRITTEN

    def compute(self, at: Arrays) -> Any:
        (value,) = self.choose(self.values_by, at)
        return value(as_jax(at))

    def evaluate_as_written(self, arrays: Mapping[str, Any]) -> Any:
        return self.join_result(self.result(arrays))

    def function_of(self, names: Sequence[str]) -> Callable:
        return lambda *xs: self.join_result(self.result(dict(zip(names, xs, strict=True))))

    def goes_backward(self) -> bool:
        """Report whether reverse mode supports the function: most while loops prevent it."""
        if self.reverse_mode is None:
            self.reverse_mode = True
            if any(equation.primitive.name == "while" for equation in self.equations):
                try:
                    self.vjps(self.at, [np.zeros_like(self.value(self.at))])
                except CallError as error:
                    self.reverse_mode = "Reverse-mode differentiation does not work" not in str(error)
        return self.reverse_mode

    @functools.cached_property
    def equations(self) -> list[Any]:
        """The equations of the function's jaxpr; empty if it cannot be traced."""
        at = self.claimed(self.at)
        with contextlib.suppress(Exception), self.running(self.single):
            traced = jax.make_jaxpr(self.function_of(list(at)))(*map(jnp.asarray, at.values()))
            return list(equations_in(traced.jaxpr))
        return []

    def settle(self) -> bool:
        if self.single and self.equations_of(DRAWING):
            self.use_single("random numbers in float64 would be different ones")
            return False
        return super().settle()

    def short_types(self) -> Iterator[tuple[float, str]]:
        results = [x.aval for equation in self.equations for x in equation.outvars]
        for dtype in {x.dtype for x in results if hasattr(x, "dtype")}:
            if jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize <= 2:
                yield float(jnp.finfo(dtype).eps) / 2, dtype.name

    def linearize(self, at: Arrays) -> Linearized:
        return linearized(self.choose(self.reverse_by, at), at)

    def linearize_as_written(self, at: Arrays) -> Linearized:
        return linearized(self.reverse_by.written, at)

    def late_pull(self, arrays: Arrays, cotangent: np.ndarray, between: Arrays) -> dict[str, np.ndarray]:
        """Return the products without compiling: compiled functions skip Python code that caches values of a call."""
        at = self.claimed(arrays)
        self.budget.made += 2
        with self.running(self.is_narrow(at)):
            self.recorded, back = linearized(self.reverse_by.written, at)
            self.evaluate_as_written(as_jax(self.claimed(between)))
            with self.failing_backward():
                return {name: to_double(x) for name, x in back(cotangent).items()}

    def along(self, at: Arrays, tangents: Arrays) -> np.ndarray:
        (push,) = self.choose(self.forward_by, at)
        return np.asarray(push(as_jax(at), as_jax(tangents)))

    def lacks_forward(self, error: BaseException) -> bool:
        text = str(error).lower()
        return isinstance(error, NotImplementedError) or "forward-mode" in text or "jvp" in text

    def join_result(self, result: Any) -> Any:
        return join_real(self.note_layout(result, inexact_in(result), jnp.iscomplexobj), jnp)

    def as_called(self) -> Iterator[Difference]:
        """Yield differences in the gradients of an output that is used alone, and uses of a float0 by a rule.

        A rule may get symbolic zeros for unused outputs, and it gets a float0 for outputs that are integers.
        """
        integers = any(map(meets_integers, self.equations_of(RULES)))
        if not integers and (len(self.layout) < 2 or not self.equations_of(RULES[0])):
            return
        with self.running(self.single), contextlib.suppress(CallError):
            at = as_jax(self.claimed(self.at))
            try:
                out, vjp = jax.vjp(self.inexact_parts, at)
                vjp(list(map(jnp.zeros_like, out)))
            except (TypeError, ValueError) as error:
                if integers:
                    yield Difference("unused-output", f"{FLOAT0}: it raises {describe_error(error)}")
                return
            for k, part in enumerate(out if len(out) > 1 else ()):
                cotangents = [drawn(part) if i == k else jnp.zeros_like(x) for i, x in enumerate(out)]
                (reference,) = vjp(cotangents)
                calls = functools.partial(self.pull_part, k, cotangents[k], at), lambda some=cotangents: vjp(some)[0]
                words = f"if only output {k} is used", "if the others get zeros"
                yield from compare("unused-output", reference, reference, calls, self.single, *words)

    def equations_of(self, kinds: str | tuple[str, ...]) -> list[Any]:
        return [equation for equation in self.equations if equation.primitive.name.startswith(kinds)]

    def parts(self) -> Iterator[tuple[Claim, Callable[[], str]]]:
        if not self.equations_of(RULES):
            return
        with self.running(self.single), jax.disable_jit():
            self.budget.made += 1
            calls = rules_called(functools.partial(self.evaluate_as_written, as_jax(self.claimed(self.at))))
        for rule, arguments in calls:
            given = {f"argument {i}": x for i, x in enumerate(arguments)}
            constant = getattr(rule, "nondiff_argnums", ())
            wrt = [name for i, name in enumerate(given) if i not in constant and is_inexact(given[name])]
            title = f"{type(rule).__name__} of {callable_name(rule)}"
            with contextlib.suppress(CallError):
                part = Adapter(rule, Arguments(given, wrt), title, dtype="float32" if self.single else None)
                yield part, functools.partial(describe_jax_rule, title, rule)

    def pull_part(self, k: int, cotangent: Any, at: Any) -> Any:
        return jax.vjp(lambda x: self.inexact_parts(x)[k], at)[1](cotangent)[0]

    def inexact_parts(self, arrays: Mapping[str, Any]) -> list[Any]:
        return [x for _, x in inexact_in(self.result(arrays))]

    def product(self, *given: Any) -> tuple:
        *xs, seed = given
        out, back = jax.vjp(self.function_of(list(self.at)), *xs)
        return tuple(map(jnp.conj, back(seed.reshape(out.shape).astype(out.dtype))))


def behind_custom_gradient(function: Any) -> Any:
    """Return the user's function below @jax.custom_gradient, which does not pass on its parameters."""
    if str(getattr(function, "__module__", "")).startswith("jax.") or not inspect.isfunction(function):
        return function
    made_by = function.__code__.co_filename.replace(os.sep, "/")
    inner = inspect.getclosurevars(function).nonlocals.get("fun") if "/jax/_src/custom_deriv" in made_by else None
    return function if inner is None else inner


def rules_called(run: Callable) -> list[tuple[Any, tuple]]:
    """Return the user's custom rules that a run differentiates, in order, with the arguments of some of their calls."""
    kinds = [inspect.unwrap(getattr(jax, kind).__call__).__code__ for kind in RULES]
    calls: list[tuple[Any, tuple]] = []
    inside: list[Any] = []  # the rules being called; what they call is not differentiated

    def watch(frame: Any, event: str, _: Any) -> None:
        if frame.f_code not in kinds or event not in ("call", "return"):
            return
        if event == "return":
            inside.pop()
            return
        rule, function = frame.f_locals["self"], frame.f_locals["self"].__wrapped__
        inside.append(rule)
        wanted = len(inside) == 1 and [known for known, _ in calls].count(rule) < MOST_USES
        if wanted and not str(function.__module__).startswith("jax."):
            with contextlib.suppress(Exception):  # for traced values
                bound = inspect.signature(function).bind(*frame.f_locals["args"], **frame.f_locals["kwargs"])
                bound.apply_defaults()
                calls.append((rule, jax.tree_util.tree_map(concrete, bound.args)))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls


def concrete(x: Any) -> Any:
    """Return the value of an argument; of a batch, the first one."""
    while isinstance(x, jax.core.Tracer):
        x = x.primal if hasattr(x, "primal") else jnp.take(x.val, 0, x.batch_dim)
    return np.asarray(x) if isinstance(x, jax.Array) else x


def is_inexact(x: Any) -> bool:
    leaves = jax.tree_util.tree_leaves(x)
    return bool(leaves) and all(jnp.issubdtype(jnp.result_type(leaf), jnp.inexact) for leaf in leaves)


def describe_jax_rule(title: str, rule: Any) -> str:
    back = rule.jvp if isinstance(rule, jax.custom_jvp) else rule.bwd
    if str(back.__module__).startswith("jax."):  # made by defjvps
        back = next(filter(None, inspect.getclosurevars(back).nonlocals.get("jvps", ())), rule.__wrapped__)
    return f"there is a mistake in {title}: {place_of_return(back)}"


def linearized(functions: Sequence[Callable], at: Arrays) -> Linearized:
    """Return the output and the pullback at a point. functions: jax.vjp, and a function that applies its result."""
    record, pull = functions
    out, vjp = record(as_jax(at))

    def back(cotangent: np.ndarray) -> dict[str, np.ndarray]:
        products = pull(vjp, jnp.asarray(cotangent, out.dtype).reshape(out.shape))
        return {name: np.conj(np.asarray(products[name])) for name in at}

    return np.asarray(out), back


def as_jax(arrays: Arrays) -> dict[str, Any]:
    return {name: jnp.asarray(x) for name, x in arrays.items()}


def drawn(like: Any) -> Any:
    """Return random numbers in an array's shape and type, the same in each call."""
    real, imaginary = np.random.default_rng(0).standard_normal((2, *like.shape))
    return jnp.asarray(real + 1j * imaginary if jnp.iscomplexobj(like) else real, like.dtype)


def same_trees(first: Any, second: Any, units: float) -> bool:
    """Report whether trees have equal arrays, up to `units` of each element and one unit of the largest."""

    def alike(x: np.ndarray, y: np.ndarray) -> bool:
        if units == 0 or x.shape != y.shape:
            return np.array_equal(x, y, equal_nan=True)
        unit = min(float(jnp.finfo(x.dtype).eps), MOST_UNIT)
        largest = np.abs(x).max(initial=0.0, where=np.isfinite(x))
        return np.allclose(x, y, rtol=units * unit, atol=unit * float(largest), equal_nan=True)

    leaves = (map(np.asarray, jax.tree_util.tree_leaves(tree)) for tree in (first, second))
    return all(alike(x, y) for x, y in zip(*leaves, strict=True))


def enable_x64(wanted: bool) -> contextlib.AbstractContextManager:
    """Return a context with or without 64-bit types; older versions of JAX have it in jax.experimental."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(wanted)
    from jax.experimental import enable_x64 as older

    return older(wanted)


def equations_in(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for part in jax.tree_util.tree_leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            inner = getattr(part, "jaxpr", part)
            if hasattr(inner, "eqns"):
                yield from equations_in(inner)


def meets_integers(equation: Any) -> bool:
    """Report whether a rule gets gradients of integer outputs, or tangents of integer inputs, which are float0."""
    given = [*equation.outvars, *(() if equation.primitive.name.startswith(RULES[0]) else equation.invars)]
    return any(not jnp.issubdtype(x.aval.dtype, jnp.inexact) for x in given)


def inexact_in(result: Any) -> list[tuple[Path, Any]]:
    """Return the floating-point arrays in an output with their paths, including those in registered pytrees."""
    leaves = jax.tree_util.tree_leaves_with_path(result)
    arrays = [(Path(map(key_of_path, path)), jnp.asarray(x)) for path, x in leaves if not isinstance(x, str)]
    return [(path, x) for path, x in arrays if jnp.issubdtype(x.dtype, jnp.inexact)]


def key_of_path(step: Any) -> int | str:
    key = next(getattr(step, name) for name in ("key", "idx", "name") if hasattr(step, name))
    return key if isinstance(key, int) else str(key)
