"""A step of an optax optimizer: the gradient that it got, and the gradient of the loss that was declared for it."""

from __future__ import annotations

import contextlib
import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import jax
import numpy as np

from ...errors import GradcliError
from ..declared import Declared, NotDeclaredError, first_that_works

DEEP = 3  # levels of containers in which the parameters are searched: the argument, a state, a dict


def is_inexact_leaf(x: Any) -> bool:
    return hasattr(x, "dtype") and jax.numpy.issubdtype(x.dtype, jax.numpy.inexact)


def leaves_of_tree(tree: Any) -> list[Any]:
    """Return the arrays of a tree that a loss can be differentiated by."""
    return [x for x in jax.tree_util.tree_leaves(tree) if is_inexact_leaf(x)]


def shapes_of_tree(tree: Any) -> list[tuple[int, ...]]:
    return [tuple(x.shape) for x in leaves_of_tree(tree)]


def jax_vector(x: Any) -> np.ndarray:
    flat = np.asarray(x).astype(np.complex128 if np.iscomplexobj(x) else np.float64).reshape(-1)
    return flat.view(np.float64) if np.iscomplexobj(flat) else flat


class CallBatch:
    """The arguments of a call other than the model and the optimizer, as a batch.

    spread: a tuple of them, or a dict if they are named; value: the one argument alone, if there is only one.
    """

    def __init__(self, args: Sequence[Any], kwargs: Mapping[str, Any]):
        self.spread: Any = dict(kwargs) if kwargs and not args else (*args, *([dict(kwargs)] if kwargs else []))
        self.value = self.spread[0] if isinstance(self.spread, tuple) and len(self.spread) == 1 else self.spread


class JaxStep:
    """A step, and ways to evaluate its loss. `moment` has the notes of the run."""

    unused: Sequence[str] = ()
    frozen: Sequence[str] = ()
    outside: Sequence[str] = ()
    not_updated: Sequence[tuple[str, int]] = ()
    repeats = False
    unequal: Sequence[str] = ()
    loss_scale = None
    clips: Sequence[Any] = ()
    ranks: Sequence[int] = ()
    has_moved = False
    unit = float(np.finfo(np.float32).eps)

    def __init__(self, moment: Any, loss: Callable):
        self.moment, self.loss = moment, loss
        paths = jax.tree_util.tree_flatten_with_path(moment.gradients)[0]
        self.names = {name_of_path(path): x for path, x in paths if is_inexact_leaf(x)}
        wanted = [tuple(x.shape) for x in self.names.values()]
        own = [call for call in moment.calls if any(map(self.is_model, find(call, wanted)))]
        self.candidates = [*({id(x): x for call in own[-1:] for x in find(call, wanted)}.values())]
        if moment.params is not None:
            self.candidates.append(moment.params)
        if not self.candidates:
            raise GradcliError("no argument of the calls before this step has the form of the gradient")
        self.batches = [rest_of(call, wanted, moment.state) for call in own]
        self.model, self.spread, self.chosen = self.candidates[0], True, False

    def is_model(self, x: Any) -> bool:
        """Report whether an argument of the right shapes has the values of the parameters, if these are known."""
        leaves = leaves_of_tree(x)
        if self.moment.params is not None:
            return same_arrays(leaves, leaves_of_tree(self.moment.params))
        return not same_arrays(leaves, list(self.names.values()))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(x.shape) for name, x in self.names.items()}

    @cached_property
    def observed(self) -> dict[str, np.ndarray]:
        return {name: jax_vector(x) for name, x in self.names.items()}

    @cached_property
    def parameters(self) -> dict[str, np.ndarray]:
        return {name: jax_vector(x) for name, x in zip(self.names, leaves_of_tree(self.candidates[0]), strict=True)}

    @cached_property
    def before(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]] | None:
        kept = self.moment.progress.before
        if kept is None or kept[1] is None or shapes_of_tree(kept[0]) != list(self.shapes.values()):
            return None
        first, second = ({n: jax_vector(x) for n, x in zip(self.names, leaves_of_tree(t), strict=True)} for t in kept)
        return first, second

    @property
    def windows_before(self) -> tuple[int, ...]:
        return (self.moment.progress.window,)

    @property
    def counts(self) -> list[tuple[str, float]]:
        arrays = [[x for x in jax.tree_util.tree_leaves(b.spread) if getattr(x, "ndim", 0)] for b in self.batches]
        rows = sum(len(some[0]) for some in arrays if some)
        return [("rows", float(rows))] if rows else []

    def declared_with_stale_casts(self) -> None:
        return None

    def declared(
        self, some: Sequence[int] | None = None, *, wide: bool = True, at: str = "", replayed: bool = True
    ) -> Declared:
        """Evaluate the loss on some batches (default: all), and differentiate each term."""
        which = list(range(len(self.batches))) if some is None else list(some)
        evaluate = partial(self.evaluate, which, wide, at)
        if self.chosen:
            return evaluate()
        return first_that_works(self, itertools.product(self.candidates, (True, False)), evaluate)

    def evaluate(self, which: Sequence[int], wide: bool, at: str) -> Declared:
        with jax_precision(wide):
            leaves, rebuild = opened(self.model)
            if at == "before" and self.before is not None:
                values = list(self.before[1].values())
                leaves = [np.reshape(v, np.shape(x)).astype(x.dtype) for v, x in zip(values, leaves, strict=True)]
            leaves = [widened(x, wide) for x in leaves]
            batches = [self.batches[k].spread if self.spread else self.batches[k].value for k in which]
            batches = [jax.tree_util.tree_map(lambda x: widened(x, wide), b) for b in batches]
            names: list[str] = []

            def losses(arrays: list[Any]) -> list[Any]:
                terms = terms_of_jax_loss(self.loss(rebuild(arrays), batches), self.loss.__name__)
                names[:] = list(terms)
                return list(terms.values())

            values, pull = jax.vjp(losses, leaves)
            gradients = {}
            for k, name in enumerate(names):
                seeds = [jax.numpy.ones_like(v) if i == k else jax.numpy.zeros_like(v) for i, v in enumerate(values)]
                parts = pull(seeds)[0]
                gradients[name] = {n: jax_vector(g) for n, g in zip(self.names, parts, strict=True)}
            numbers = {name: float(v) for name, v in zip(names, values, strict=True)}
        if not any(g.any() for term in gradients.values() for g in term.values()):
            hint = "compute it from the parameters that it gets"
            raise GradcliError(
                f"{self.loss.__name__} returned a number that does not depend on the parameters", hint=hint
            )
        return Declared(numbers, gradients, True)

    def description(self) -> str:
        forms = list(dict.fromkeys(form_text(batch.value) for batch in self.batches))
        count = "1 batch" if len(self.batches) == 1 else f"{len(self.batches)} batches"
        return f"{count} of {forms[0]}" if forms else "0 batches"


def same_arrays(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(np.array_equal(np.asarray(x), np.asarray(y)) for x, y in zip(some, others, strict=True))


def name_of_path(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".") or "x"


def find(call: Any, wanted: list[tuple[int, ...]]) -> list[Any]:
    """Return what has arrays of the shapes of the gradient among the arguments of a call: first the whole argument."""
    found = []
    for argument in (*call.args, *call.kwargs.values()):
        inner = list(parts_with(argument, wanted, DEEP))
        found += [argument, *inner] if shapes_of_tree(argument) == wanted else [*inner, *([argument] if inner else [])]
    return found


def parts_with(x: Any, wanted: list[tuple[int, ...]], depth: int) -> Iterator[Any]:
    """Yield the parts of a state or a dict whose arrays have the shapes of the gradient."""
    parts = x.values() if isinstance(x, Mapping) else getattr(x, "__dict__", {}).values()
    for part in parts if depth else ():
        if shapes_safely(part) == wanted:
            yield part
        else:
            yield from parts_with(part, wanted, depth - 1)


def shapes_safely(x: Any) -> list[tuple[int, ...]] | None:
    with contextlib.suppress(Exception):
        return shapes_of_tree(x)
    return None


def rest_of(call: Any, wanted: list[tuple[int, ...]], state: Any) -> CallBatch:
    """Return the arguments of a call without the model and the state of the optimizer."""
    form = jax.tree_util.tree_structure(state)

    def is_rest(x: Any) -> bool:
        if is_of_nnx(x):
            return False
        own = shapes_of_tree(x) == wanted or any(True for _ in parts_with(x, wanted, DEEP))
        return not own and jax.tree_util.tree_structure(x) != form

    args = [x for x in call.args if is_rest(x) and not callable(x)]
    return CallBatch(args, {name: x for name, x in call.kwargs.items() if is_rest(x) and not callable(x)})


def is_of_nnx(x: Any) -> bool:
    """Report whether this is a module, an optimizer or a metric of flax.nnx."""
    return any(base.__module__.startswith("flax.nnx") for base in type(x).__mro__)


@contextlib.contextmanager
def jax_precision(wide: bool) -> Iterator[None]:
    if not wide:
        yield
        return
    holder = jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")
    with holder.enable_x64(True):
        yield


def widened(x: Any, wide: bool) -> Any:
    if not (wide and is_inexact_leaf(x)):
        return x
    kind = np.complex128 if jax.numpy.issubdtype(x.dtype, jax.numpy.complexfloating) else np.float64
    return jax.numpy.asarray(np.asarray(x).astype(kind))


def opened(model: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """Return the arrays of a model to differentiate by, and a function that puts others in their place."""
    graph = None
    if is_of_nnx(model):
        from flax import nnx

        graph, model = nnx.split(model)
    leaves, structure = jax.tree_util.tree_flatten(model)
    places = [k for k, x in enumerate(leaves) if is_inexact_leaf(x)]

    def rebuild(arrays: list[Any]) -> Any:
        every = list(leaves)
        for k, x in zip(places, arrays, strict=True):
            every[k] = x
        whole = jax.tree_util.tree_unflatten(structure, every)
        if graph is None:
            return whole
        from flax import nnx

        return nnx.merge(graph, whole)

    return [leaves[k] for k in places], rebuild


def terms_of_jax_loss(result: Any, name: str) -> dict[str, Any]:
    """Return the terms of a declared loss by name; "" for one number. Raises GradcliError."""
    if result is None:
        raise NotDeclaredError
    terms = dict(result) if isinstance(result, Mapping) else {"": result}
    for term, value in terms.items():
        what = f"term '{term}' of {name}" if term else name
        if np.size(value) != 1:
            shape = "×".join(map(str, np.shape(value)))
            raise GradcliError(f"{what} returned {shape} numbers instead of one", hint="return their mean or sum")
        terms[term] = jax.numpy.reshape(jax.numpy.asarray(value), ())
    return {str(term): value for term, value in terms.items()}


def form_text(x: Any) -> str:
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return f"{'×'.join(map(str, x.shape))} {x.dtype}".strip()
    if isinstance(x, Mapping):
        return f"({', '.join(f'{key}: {form_text(part)}' for key, part in x.items())})"
    if isinstance(x, list | tuple):
        return f"({', '.join(map(form_text, x))})"
    return type(x).__name__
