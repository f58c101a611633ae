"""Record the gradients that a script computes with JAX, and how each came about, for `gradcli why`.

The script runs without compilation, so that all numbers are known. Afterwards, the function of a gradient that is zero
or not finite is traced, and its operations run one by one, forwards and then backwards, in the words of `record.py`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..results.causes import Explained
from ..user.lines import LinePlace, users_chain
from ..user.tracebacks import is_users
from .record import (
    ArraySize,
    NodeRun,
    Note,
    Record,
    RecordedPass,
    RecordedStep,
    RecordedValue,
    describe_range,
    is_finite,
    size_of_array,
)

JAX_TRANSFORMS = ("grad", "value_and_grad", "jacrev", "jacfwd")
OPERATIONS = {
    "_where": "where", "select_n": "where", "clip": "clamp", "convert_element_type": "astype",
    "integer_pow": "pow", "square": "pow", "logistic": "sigmoid", "not_equal": "ne", "gather": "index",
    "dynamic_slice": "index", "argmax": "argmax", "_norm": "norm", "_var": "var", "_std": "std", "safe_div": "div",
}  # fmt: skip
"""Names in the table of causes for JAX's primitives and for functions that JAX compiles."""
WHOLE_FUNCTIONS = {"relu", "relu6", "norm", "softmax", "log_softmax", "logsumexp", "clip", "_where", "floor_divide"}
"""Compiled functions that are one operation for a user; others are followed inside."""
INNER_JAXPRS = ("jaxpr", "call_jaxpr", "fun_jaxpr")
"""Parameters with the operations of a call."""
CALL_PRIMITIVES = (
    "jit",
    "pjit",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "closed_call",
    "remat",
    "checkpoint",
)


class JaxGradient(NamedTuple):
    """A gradient that the script computed.

    function, args, kwargs, argnum, leaf: what it is the derivative of. number: of the call. place: where it was called.
    has_aux: whether the function also returns something else.
    """

    name: str
    size: ArraySize
    function: Callable
    args: tuple
    kwargs: Mapping[str, Any]
    argnum: int
    leaf: int
    number: int
    place: LinePlace | None
    has_aux: bool


class JaxRecorder:
    """Notes the results of jax.grad and its relatives: of each gradient the first that is not finite, or the last."""

    def __init__(self) -> None:
        self.gradients: dict[tuple, JaxGradient] = {}
        self.count = itertools.count(1)

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        before = {name: getattr(jax, name) for name in JAX_TRANSFORMS}
        for name, transform in before.items():
            setattr(jax, name, self.watched(transform, name == "value_and_grad"))
        try:
            with jax.disable_jit():
                yield
        finally:
            for name, transform in before.items():
                setattr(jax, name, transform)

    def watched(self, transform: Callable, with_value: bool) -> Callable:
        @functools.wraps(transform)
        def make(fun: Callable, argnums: Any = 0, has_aux: bool = False, **more: Any) -> Callable:
            made = transform(fun, argnums=argnums, has_aux=has_aux, **more)

            @functools.wraps(made)
            def call(*args: Any, **kwargs: Any) -> Any:
                result = made(*args, **kwargs)
                with contextlib.suppress(Exception):
                    found = result[1] if with_value else result[0] if has_aux else result
                    self.note(fun, argnums, args, kwargs, found, has_aux)
                return result

            return call

        return make

    def note(self, fun: Callable, argnums: Any, args: tuple, kwargs: Mapping[str, Any], found: Any, aux: bool) -> None:
        numbers = argnums if isinstance(argnums, tuple | list) else (argnums,)
        parts = found if isinstance(argnums, tuple | list) else (found,)
        number, chain = next(self.count), users_chain(1)
        args, kwargs = concrete_tree(args), concrete_tree(dict(kwargs))
        for argnum, part in zip(numbers, parts, strict=True):
            leaves = jax.tree_util.tree_flatten_with_path(part)[0]
            for leaf, (path, x) in enumerate(leaves):
                name = name_of(fun, argnum, path)
                size = size_of_array(np.asarray(worst_value(x)))
                key = getattr(inspect.unwrap(fun), "__code__", fun), argnum, name
                known = self.gradients.get(key)
                if known is None or is_finite(known.size):
                    place = chain[0][0] if chain else None
                    self.gradients[key] = JaxGradient(name, size, fun, args, kwargs, argnum, leaf, number, place, aux)


def concrete_tree(x: Any) -> Any:
    return jax.tree_util.tree_map(worst_value, x)


def worst_value(x: Any) -> Any:
    """Return the value of a traced number; of a batch, the first one that is not finite, or else the first."""
    while isinstance(x, jax.core.Tracer):
        if hasattr(x, "primal"):
            x = x.primal
        else:
            x = jnp.take(x.val, 0, x.batch_dim)  # type: ignore[attr-defined]
    return x


def name_of(fun: Callable, argnum: int, path: tuple) -> str:
    """Return the name of a leaf: the parameter of the user's function, and the path inside of it."""
    function = inspect.unwrap(fun)
    code = getattr(function, "__code__", None)
    head = f"argument {argnum}"
    with contextlib.suppress(TypeError, ValueError, IndexError):
        head = list(inspect.signature(function).parameters)[argnum]
    inside = ""
    for key in path:
        text = str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))
        inside += f"[{text}]" if text.isdigit() else f".{text}"
    is_inner = code is not None and not is_users(code.co_filename) and inside
    return inside.removeprefix(".") if is_inner else head + inside


class Tracing:
    """Runs the operations of a function one by one, forwards and backwards, and notes them as steps and runs."""

    def __init__(self, gradient: JaxGradient):
        self.count, self.place = itertools.count(1), gradient.place
        self.steps: list[RecordedStep] = []
        self.numbers: dict[Any, Any] = {}
        self.values: dict[Any, RecordedValue] = {}
        self.equations: list[tuple[Any, list, list]] = []
        leaves, tree = jax.tree_util.tree_flatten(gradient.args)
        before = jax.tree_util.tree_leaves(gradient.args[: gradient.argnum])
        self.target = len(before) + gradient.leaf
        leaves = [jnp.asarray(x) for x in leaves]

        def flat(*xs: Any) -> Any:
            out = gradient.function(*jax.tree_util.tree_unflatten(tree, xs), **gradient.kwargs)
            return out[0] if gradient.has_aux else out

        closed = jax.make_jaxpr(flat)(*leaves)
        for variable, x in zip(closed.jaxpr.invars, leaves, strict=True):
            self.put(variable, x, leaf=True)
        self.run(closed.jaxpr, closed.consts, gradient.place)
        self.out = closed.jaxpr.outvars[0]
        self.leaf = self.values[closed.jaxpr.invars[self.target]]
        self.leaf.name = gradient.name

    def put(self, variable: Any, x: Any, leaf: bool = False, step: RecordedStep | None = None) -> RecordedValue:
        raw = np.asarray(x)
        kind = {"b": "b", "i": "i", "u": "i"}.get(raw.dtype.kind, "f")
        wants = kind == "f" and (leaf or (step is not None and step.name != "stop_gradient" and any_wants(step.inputs)))
        place = step.place if step is not None else self.place if leaf else None
        chain = () if place is None else ((place, ""),)
        value = RecordedValue(next(self.count), kind, size_of_array(raw).state, wants, leaf, raw.shape, chain, step)
        self.numbers[variable], self.values[variable] = x, value
        return value

    def run(self, jaxpr: Any, constants: Any, outer: LinePlace | None) -> None:
        """Run the operations of a jaxpr; those of calls inside of it take the place of the calls.

        outer: the line of the call, for operations without a line of the user.
        """
        for variable, x in zip(jaxpr.constvars, constants, strict=True):
            self.put(variable, x)
        for equation in jaxpr.eqns:
            inner = next((equation.params[name] for name in INNER_JAXPRS if name in equation.params), None)
            name = equation.params.get("name", "")
            if equation.primitive.name not in CALL_PRIMITIVES or inner is None or name in WHOLE_FUNCTIONS:
                self.apply(equation, name, place_of_equation(equation) or outer)
                continue
            body, consts = (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, ())
            body = renamed_variables(body)
            for variable, given in zip(body.invars, equation.invars, strict=True):
                self.alias(variable, given)
            self.run(body, consts, place_of_equation(equation) or outer)
            for variable, made in zip(equation.outvars, body.outvars, strict=True):
                self.alias(variable, made)

    def alias(self, variable: Any, other: Any) -> None:
        if hasattr(other, "val"):  # a literal
            self.put(variable, other.val)
        else:
            self.numbers[variable], self.values[variable] = self.numbers[other], self.values[other]

    def apply(self, equation: Any, name: str, place: LinePlace | None) -> None:
        name = OPERATIONS.get(name or equation.primitive.name, name or equation.primitive.name)
        if name in ("max", "min") and any(hasattr(x, "val") for x in equation.invars):
            name = "relu" if name == "max" and any(np.all(x.val == 0) for x in literals(equation)) else "clamp"
        xs = [x.val if hasattr(x, "val") else self.numbers[x] for x in equation.invars]
        inputs = tuple(self.values[x] for x in equation.invars if not hasattr(x, "val"))
        step = RecordedStep(next(self.count), name, inputs, (), place)
        results = bind_primitive(equation, xs)
        step.outputs = tuple(
            self.put(variable, x, step=step) for variable, x in zip(equation.outvars, results, strict=True)
        )
        self.steps.append(step)
        self.equations.append((equation, xs, list(results)))

    def backward(self, place: LinePlace | None, count: int) -> RecordedPass:
        """Pull a gradient of ones back through the operations, and note what each received and sent."""
        root = self.values[self.out]
        which = RecordedPass(next(self.count), "backward", (root,), (), place, count=count)
        which.leaves = {self.leaf} if self.leads_to(root) else set()
        cotangents: dict[RecordedValue, Any] = {root: jnp.ones_like(self.numbers[self.out])}
        for step, (equation, xs, _) in zip(reversed(self.steps), reversed(self.equations), strict=True):
            given = [cotangents.get(value) for value in step.outputs]
            operands = [(i, self.values[v]) for i, v in enumerate(equation.invars) if not hasattr(v, "val")]
            wanted = [(i, value) for i, value in operands if value.wants]
            if all(g is None for g in given) or not wanted or not any_wants(step.outputs):
                continue
            received = max((size_of_array(np.asarray(g)) for g in given if g is not None), key=lambda s: s.most)
            sent = pull_equation(equation, xs, [i for i, _ in wanted], given)
            parts: list[tuple[RecordedValue | int, ArraySize]] = []
            note = None
            for (i, value), x in zip(wanted, sent, strict=True):
                size = size_of_array(np.asarray(x))
                parts.append((value if value.leaf else value.step.number if value.step else value, size))
                cotangents[value] = cotangents[value] + x if value in cotangents else x
                if note is None and (not is_finite(size) or size.state == "zero"):
                    note = describe_operand(value, xs[i], x, given)
            which.runs.append(NodeRun(step.number, step.name, step, received, tuple(parts), 2.0**-23, note))
        return which

    def leads_to(self, root: RecordedValue) -> bool:
        waiting, seen = [root], {root}
        while waiting:
            value = waiting.pop()
            if value is self.leaf:
                return True
            more = [v for v in (value.step.inputs if value.step and value.wants else ()) if v not in seen and v.wants]
            waiting += more
            seen.update(more)
        return False


def any_wants(values: Any) -> bool:
    return any(value.wants for value in values)


def literals(equation: Any) -> list[Any]:
    return [x for x in equation.invars if hasattr(x, "val")]


def renamed_variables(jaxpr: Any) -> Any:
    """Return a jaxpr with variables of its own, because a function that is called twice has only one jaxpr."""
    return jax.make_jaxpr(lambda *xs: jax.core.eval_jaxpr(jaxpr, (), *xs))(*(x.aval for x in jaxpr.invars)).jaxpr


def place_of_equation(equation: Any) -> LinePlace | None:
    """Return the user's innermost line that an operation comes from."""
    trace = equation.source_info.traceback
    frames = trace.frames if trace is not None else ()
    return next(((f.file_name, f.line_num) for f in frames if is_users(f.file_name)), None)


def bind_primitive(equation: Any, xs: list[Any]) -> list[Any]:
    given = equation.primitive.get_bind_params(equation.params)
    functions, params = given if isinstance(given, tuple) else ((), given)  # JAX returns only parameters since 0.9
    result = equation.primitive.bind(*functions, *xs, **params)
    return list(result) if equation.primitive.multiple_results else [result]


def pull_equation(equation: Any, xs: list[Any], wanted: list[int], given: list[Any]) -> list[Any]:
    """Return the products of an operation's derivative for some operands with the gradients of its results."""

    def function(*some: Any) -> list[Any]:
        filled = list(xs)
        for i, x in zip(wanted, some, strict=True):
            filled[i] = x
        results = bind_primitive(equation, filled)
        return [x for x in results if jnp.issubdtype(jnp.result_type(x), jnp.inexact)]

    results, back = jax.vjp(function, *(xs[i] for i in wanted))
    floats = [g for g, v in zip(given, equation.outvars, strict=True) if jnp.issubdtype(v.aval.dtype, jnp.inexact)]
    return list(back([jnp.zeros_like(x) if g is None else g for x, g in zip(results, floats, strict=True)]))


def describe_operand(value: RecordedValue, x: Any, sent: Any, given: list[Any]) -> Note:
    """Describe an operand by its first element whose gradient is not finite, or by its range."""
    numbers, bad = np.asarray(x), ~np.isfinite(np.asarray(sent))
    if not bad.any() or bad.shape != numbers.shape:
        return describe_range(value, numbers, [np.asarray(g) for g in given if g is not None], 2.0**-23)
    index = tuple(np.argwhere(bad)[0])
    text = f"[{', '.join(map(str, index))}]" * bool(index) + f" = {numbers[index]:.4g}"
    hidden = any(g is not None and g.shape == numbers.shape and np.asarray(g)[index] == 0 for g in given)
    return Note(value, text, hidden)


def record_of(gradient: JaxGradient) -> tuple[Record, RecordedValue]:
    """Return the record of one gradient, and the value that it belongs to. Raises what JAX raises."""
    with enabled_x64(gradient):
        tracing = Tracing(gradient)
        which = tracing.backward(gradient.place, gradient.number)
    tracing.leaf.gradient, tracing.leaf.filled = gradient.size, which
    return Record(tracing.steps, [which], {gradient.name: tracing.leaf}, []), tracing.leaf


def enabled_x64(gradient: JaxGradient) -> contextlib.AbstractContextManager:
    """Return a context in which numbers keep the type that they had in the script."""
    leaves = jax.tree_util.tree_leaves(gradient.args)
    double = any(getattr(x, "dtype", None) in (np.float64, np.complex128) and isinstance(x, jax.Array) for x in leaves)
    return jax.enable_x64(double) if hasattr(jax, "enable_x64") else contextlib.nullcontext()


def fine(gradient: JaxGradient) -> Explained:
    size = gradient.size
    text = f"{size.high:.3g}" if size.low == size.high else f"max {size.high:.3g}, min {size.low:.3g}"
    return Explained(gradient.name, "ok", text=text)
