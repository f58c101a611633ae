"""The table of primitives: what each one computes, its derivative rules and its names.

One call of `elementwise`, `linear`, `general`, `constant` or `composition` adds an entry; no other edit is needed,
except that a new module must be listed in the package's `MODULES`. `gradcli ops` prints the derivative: the lambda,
the formula given to `rule`, or the first line of a function's docstring. The names of a rule's parameters determine
what is saved for backward: `x` saves the array, `x_shape` only its shape, `_x` nothing. Entries added with
`internal.elementwise` etc. are building blocks of other entries and are not available in the expression language.

- elementwise: one partial derivative per operand, `partial(out, x, y)` or a number. The engine multiplies it (its
  conjugate, for complex operands) by the cotangent and undoes broadcasting. `real_elementwise`: complex operands
  have no derivative.
- linear: one vector-Jacobian product, `vjp(g, out, x, **params)`; forward mode applies the primitive itself.
  `selection`: the result consists of elements of the operand.
- general: one vector-Jacobian product per operand, or, for any number of operands, a single
  `vjp(g, position, out, xs, **params)`.
- constant: no derivative (comparisons, index finding).
- composition: a function written with other entries and differentiated through them.

A cotangent may have more leading axes than the output: the batch rank is `g.ndim - out.ndim`.

`batch(size, operands, flags, params)` handles flagged operands, which have a leading axis of length `size`. It returns
the operands and parameters to call the entry with, or the finished result. If an entry has none, elementwise entries
align ranks from the right, and for other entries every operand gets a leading axis.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from .shapes import rank, shape_of

TABLE: dict[str, Primitive] = {}
NAMES: dict[str, Primitive] = {}
BY_NUMPY: dict[Any, Primitive] = {}
BY_FOLD: dict[Any, Primitive] = {}
"""Keyed by a ufunc's method, such as np.add.reduce, which runs along the first axis by default."""
BY_SCIPY: dict[str, Primitive] = {}
"""Keyed by the name in scipy.special, if it differs."""
BY_TORCH: dict[str, tuple[Primitive, str]] = {}
"""Keyed by PyTorch's name, with PyTorch's signature."""

SKIP, ARRAY, SHAPE = 0, 1, 2
ELEMENTWISE, SELECTION, REDUCTION, LANES, PRODUCT = "elementwise", "selection", "reduction", "lanes", "product"
"""Patterns: which operand elements a result element depends on. ELEMENTWISE: the one at its position; SELECTION: one
or none; REDUCTION: all along the reduced axes; LANES: all along a kept axis; PRODUCT: a row and a column; "": any."""
Interval = tuple[float, float]
REAL: Interval = (-3.0, 3.0)
POSITIVE: Interval = (0.2, 4.0)


class A:
    """Placeholder in an example call for an array of this shape with random elements of the domain."""

    __slots__ = ("shape",)

    def __init__(self, *shape: int):
        self.shape = shape


class Sample:
    """An example call for tests and help; `A(2, 3)` among the arguments stands for an array of that shape."""

    __slots__ = ("args", "kwargs")

    def __init__(self, *args: Any, **kwargs: Any):
        self.args = args
        self.kwargs = kwargs


TEST = np.array([[True, False, True, True], [False, True, False, False], [True, True, False, True]])
"""A (3, 4) condition for samples."""

UNARY_SAMPLES = (Sample(A(3, 4)), Sample(A()), Sample(A(0)))
BINARY_SAMPLES = (
    Sample(A(3, 4), A(3, 4)),
    Sample(A(3, 4), A(4)),
    Sample(A(3, 1), A(1, 4)),
    Sample(A(), A(3)),
    Sample(A(2, 3), A()),
)


def kept_as(name: str) -> int:
    """Return what to save for a rule's parameter with this name: SKIP, ARRAY or SHAPE."""
    return SKIP if name.startswith("_") else SHAPE if name.endswith(("_shape", "_shapes")) else ARRAY


class Primitive:
    """One entry of the table. Call it with canonical operands and parameters; `function` takes the user's arguments.

    For users: aliases, doc, public (available in the language), subgradient (the slope at kinks), slope (the derivative
    in words), domain (where tests evaluate it), samples. bind: maps the user's arguments to operands and parameters,
    such as `lambda x, c: ((x, c), {})`; users see its signature.

    numpy, folds, scipy: the NumPy functions, ufunc methods and scipy.special name that map to it. torch: PyTorch's
    signatures, such as "softmax(input, dim=None, *, dtype=None)" (see `api/signature.py`). floats_only: PyTorch's error
    for integers. node: the name of its graph nodes; for a composition, of the last one. variants: that name if the left
    or the right operand is a Python number.

    arity: the number of operands, None for any. outputs: the number of results. promote: which operands are cast to a
    common type, None for all. view: the result shares the operand's memory. complex: complex operands have a
    derivative; holomorphic: it is conjugated for them. pair: computes both cotangents in one go. batch: how it runs
    with a leading axis. pattern: see ELEMENTWISE. size, rounds: the elements a call creates and the iterations it runs,
    both limited. exact: computes with exact numbers; twin, twin_of: a formula for them, or one for given parameters.
    """

    aliases: tuple[str, ...] = ()
    arity: int | None = 1
    batch: Callable | None = None
    bind: Callable | None = None
    complex: bool = True
    doc: str = ""
    domain: tuple[Interval, ...] = (REAL, REAL, REAL)
    exact: Callable | None = None
    floats_only: str = ""
    folds: tuple[Any, ...] = ()
    holomorphic: bool = True
    node: Any = ""
    numpy: tuple[Any, ...] = ()
    outputs: int = 1
    pair: Callable | None = None
    pattern: str = ""
    promote: tuple[int, ...] | None = ()
    public: bool = True
    rounds: Callable[..., float] | None = None
    samples: tuple[Sample, ...] = UNARY_SAMPLES
    scipy: str = ""
    size: Callable[..., int] | None = None
    slope: str = ""
    subgradient: str = ""
    torch: tuple[str, ...] = ()
    twin: str | None = None
    twin_of: Callable[[dict], str | None] | None = None
    variants: tuple[str | None, str | None] = (None, None)
    view: bool = False

    def __init__(self, name: str, kind: str, forward: Callable, rules: tuple = (), **options: Any):
        self.name = name
        self.kind = kind
        self.forward = forward
        if not options.get("public", True):
            options.setdefault("samples", ())
        if isinstance(options.get("torch"), str):
            options["torch"] = (options["torch"],)
        if not options.keys() <= ENTRY_OPTIONS.keys():
            raise TypeError(f"{name}: unknown option {', '.join(options.keys() - ENTRY_OPTIONS.keys())}")
        vars(self).update(ENTRY_OPTIONS | options)
        if self.public and self.scipy not in ("", name, *self.aliases):
            self.aliases = (*self.aliases, self.scipy)
        if not callable(self.node) and (self.node or kind != "composition"):
            self.node = backward_name(self.node or "".join(part[:1].upper() + part[1:] for part in name.split("_")))
        if self.bind is None and kind != "composition" and self.torch:
            self.bind = bind_parameters(self.torch[0], forward, self.arity or 1)
        self.cache: dict[Any, Any] = {}
        skip = {"elementwise": 0, "linear": 1}.get(kind, 1 if self.arity is not None else 2)
        codes = [rule.__code__ if callable(rule) else None for rule in rules]
        names = [code.co_varnames[skip : code.co_argcount] if code else () for code in codes]
        self.keeps = tuple(tuple(map(kept_as, part)) for part in names)
        self.rules = tuple(self._with_shapes(rule, keeps) for rule, keeps in zip(rules, self.keeps, strict=True))
        self.saves = any(ARRAY in keeps for keeps in self.keeps)
        # operands that are passed to a rule as None if they have been changed in place since
        self.spares = frozenset(i for part in names for i, name in enumerate(part) if name.endswith("_or_none"))
        self._register()

    def _register(self) -> None:
        if self.name in TABLE:
            raise ValueError(f"the table has two entries called {self.name!r}")
        TABLE[self.name] = self
        for name in (self.name, *self.aliases):
            if NAMES.setdefault(name, self) is not self:
                raise ValueError(f"the table gives {name!r} to two entries")
        BY_NUMPY.update(dict.fromkeys(self.numpy, self))
        BY_FOLD.update(dict.fromkeys(self.folds, self))
        if self.scipy:
            BY_SCIPY[self.scipy] = self
        for signature in self.torch:
            BY_TORCH.update(dict.fromkeys(signature.partition("(")[0].split(), (self, signature)))

    def _with_shapes(self, rule: Any, keeps: tuple[int, ...]) -> Any:
        """Return the rule, wrapped so that it receives a shape even if another rule saved the whole array."""
        places = [
            i for i, kept in enumerate(keeps) if kept == SHAPE and any(k[i : i + 1] == (ARRAY,) for k in self.keeps)
        ]
        if not places:
            return rule

        def call(g: Any, *saved: Any, **params: Any) -> Any:
            values = (np.shape(x) if i in places and not isinstance(x, tuple) else x for i, x in enumerate(saved))
            return rule(g, *values, **params)

        call.__wrapped__ = rule  # type: ignore[attr-defined]
        return call

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Compute on raw arrays, or let the operands' own type record the call.

        Such a type defines `__record__(primitive, operands, params)`; the highest `record_level` wins.
        """
        recorder = recorder_of(operands)
        if recorder is not None:
            return recorder(self, operands, params)
        return self.forward(*operands, **params)

    def node_name(self, shape: tuple[int, ...], params: dict) -> str:
        return backward_name(self.node(shape, params)) if callable(self.node) else self.node

    def variant(self, operands: Iterable) -> str:
        """Return the name of an elementwise node; in PyTorch it is different if one operand is a Python number."""
        numbers = [type(x) in (int, float, complex) for x in operands]  # NumPy's scalars are 0-d tensors
        return (numbers[0] and self.variants[0]) or (numbers[-1] and self.variants[1]) or self.node

    def function(self, *args: Any, **kwargs: Any) -> Any:
        """Call with NumPy's arguments, such as `axis=`. Raises TypeError with the signature if they do not fit."""
        if self.kind == "composition":
            return self._call(self.forward, args, kwargs)
        if self.bind is None:
            if len(args) != self.arity or (kwargs and self.public):
                self._call(self.signature_model(), args, kwargs)
            return self(*args, **kwargs)
        operands, params = self._call(self.bind, args, kwargs)
        return self(*operands, **params)

    def signature_model(self) -> Callable:
        if self.kind == "composition":
            return self.forward
        return self.bind or SIGNATURES[(self.arity or 1) - 1]

    def _call(self, target: Callable, args: tuple, kwargs: dict) -> Any:
        try:
            return target(*args, **kwargs)
        except TypeError:
            import inspect

            signature = inspect.signature(target)
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{self.name}(): {error}; it takes {self.name}{signature}") from None
            raise


ENTRY_OPTIONS = {option: getattr(Primitive, option) for option in Primitive.__annotations__}


@functools.cache
def backward_name(label: str) -> str:
    """Return PyTorch's name for a node: SinBackward0 for Sin."""
    return label if "Backward" in label or label == "CopySlices" else f"{label}Backward0"


def recorder_of(operands: Iterable[Any]) -> Callable | None:
    """Return the recorder of the operand with the highest `record_level`, or None for raw arrays."""
    best, level = None, -1
    for x in operands:
        kind = type(x)
        recorder = getattr(kind, "__record__", None)
        if recorder is not None and kind.record_level > level:
            best, level = recorder, kind.record_level
    return best


IN_NUMPY = {
    "input": "x", "other": "y", "dim": "axis", "keepdim": "keepdims", "correction": "ddof",
    "interpolation": "method",
}  # fmt: skip
"""PyTorch's argument names and the corresponding names in NumPy and the language."""


def parameters_of(signature: str) -> str:
    return signature[signature.index("(") + 1 : signature.rindex(")")]


def bind_parameters(signature: str, forward: Callable, operands: int) -> Callable | None:
    """Return a function that binds PyTorch's arguments, under NumPy's names, to forward's parameters; None if none."""
    text = parameters_of(signature).replace("input", "x", 1).replace("other", "y", 1)
    names = eval(f"lambda {text}: 0").__code__.co_varnames
    code = getattr(forward, "__code__", None)
    params = [name for name in names[operands:] if code and name in code.co_varnames]
    if not params:
        return None
    given = ", ".join(f"{name!r}: {name}" for name in params)
    return eval(f"lambda {text}: (({', '.join(names[:operands])},), {{{given}}})")


def rule(formula: str, function: Callable) -> Callable:
    """Attach the formula that `gradcli ops` prints to a one-line rule, and return the rule."""
    function.__name__, function.__doc__ = "rule", formula
    return function


def no_gradient(_g, *_, **__):
    """Give no gradient to a condition or an index."""


first_operand = rule("x; the derivative of the product x y with respect to y", lambda _out, x, _y: x)
second_operand = rule("y; the derivative of the product x y with respect to x", lambda _out, _x, y: y)
SIGNATURES: tuple[Callable, ...] = (lambda x: None, lambda x, y: None, lambda x, y, z: None)
"""The signatures that users see for functions of one, two and three arrays."""


def elementwise(forward: Callable, *partials: Any, name: str | None = None, **options: Any) -> Primitive:
    """Add an entry for a function that works element by element, with one partial derivative per operand.

    partial: `partial(out, x, y, **params)` or a number. name: by default that of PyTorch's signature or of forward.
    """
    name = name or options.get("torch", "").partition("(")[0]
    is_ufunc = isinstance(forward, np.ufunc)
    options.setdefault("samples", UNARY_SAMPLES if len(partials) == 1 else BINARY_SAMPLES)
    options.setdefault("promote", None)
    options.setdefault("numpy", (forward,) if is_ufunc else ())
    return Primitive(name or forward.__name__, "elementwise", forward, partials, arity=len(partials), **options)


real_elementwise = functools.partial(elementwise, complex=False)


def namesake(name: str, *homes: Any) -> tuple:
    """Return the NumPy function of this name in a tuple, which is empty if NumPy is too old to have it."""
    return tuple(getattr(home, name) for home in homes or (np, np.linalg) if hasattr(home, name))[:1]


def linear(name: str, forward: Callable, vjp: Callable, **options: Any) -> Primitive:
    """Add an entry for a function that is linear in its operand, with `vjp(g, out, x, **params)`."""
    options.setdefault("numpy", namesake(name) if options.get("public", True) else ())
    return Primitive(name, "linear", forward, (vjp,), **options)


selection = functools.partial(linear, pattern=SELECTION)


def general(name: str, forward: Callable, *vjps: Callable, **options: Any) -> Primitive:
    """Add an entry with one vector-Jacobian product per operand, or a single one for any number (arity=None)."""
    options.setdefault("arity", len(vjps))
    options.setdefault("numpy", namesake(name) if options.get("public", True) else ())
    return Primitive(name, "general", forward, vjps, **options)


internal = SimpleNamespace(
    elementwise=functools.partial(real_elementwise, public=False),
    linear=functools.partial(linear, public=False),
    selection=functools.partial(selection, public=False),
    general=functools.partial(general, public=False),
)
"""Constructors of entries that are not available in the language."""


def constant(forward: Callable, name: str | None = None, arity: int = 1, **options: Any) -> Primitive:
    """Add an entry without a derivative: its result never requires grad."""
    options.setdefault("samples", UNARY_SAMPLES if arity == 1 else BINARY_SAMPLES)
    options.setdefault("numpy", (forward,) if isinstance(forward, np.ufunc) else ())
    return Primitive(name or forward.__name__, "constant", forward, arity=arity, **options)


def composition(function: Callable, name: str | None = None, **options: Any) -> Primitive:
    """Add an entry for a function written with other entries; its docstring is the help unless `doc` is given."""
    options.setdefault("doc", function.__doc__)
    options.setdefault("samples", UNARY_SAMPLES[:1])
    return Primitive(name or function.__name__, "composition", function, arity=None, **options)


def numpy_function(*samples: Sample, homes: tuple = (), **options: Any) -> Callable[[Any], Any]:
    """Return a decorator that adds a composition, which also stands for the NumPy function of that name."""

    def enter(function: Any) -> Any:
        name = options.get("name", function.__name__).rpartition(".")[2]
        composition(function, numpy=namesake(name, *homes), samples=samples, **options)
        return function

    return enter


def batched_call(primitive: Primitive, operands: Sequence, flags: Sequence[bool], size: int, params: dict) -> Any:
    """Call a primitive whose flagged operands, and therefore the result, have a leading axis of length `size`."""
    if primitive.batch is not None:
        result = primitive.batch(size, tuple(operands), tuple(flags), params)
        if not isinstance(result, tuple) or not isinstance(result[1], dict):
            return result
        operands, params = result
    elif primitive.kind == "elementwise" or (primitive.kind == "constant" and primitive.bind is None):
        operands = align_ranks(operands, flags)
    else:
        operands = [
            x if flag or x is None else np.broadcast_to(x, (size, *shape_of(x)))
            for x, flag in zip(operands, flags, strict=True)
        ]
    return primitive(*operands, **params)


def align_ranks(operands: Sequence, flags: Sequence[bool]) -> list:
    """Insert axes of length 1 after the leading one, so that operands broadcast from the right."""
    ranks = [rank(x) - flag for x, flag in zip(operands, flags, strict=True)]
    top = max(ranks)
    return [
        x.reshape(x.shape[:1] + (1,) * (top - n) + tuple(x.shape[1:])) if flag and n < top else x
        for x, flag, n in zip(operands, flags, ranks, strict=True)
    ]


def rename_keywords(named: dict, synonyms: dict) -> dict:
    """Return keyword arguments under canonical names. Raises TypeError if one is given under two names."""
    renamed = {synonyms.get(name, name): value for name, value in named.items()}
    if len(renamed) < len(named):
        chosen = [synonyms.get(name, name) for name in named]
        twice = [name for name, one in zip(named, chosen, strict=True) if chosen.count(one) > 1]
        raise TypeError(f"{' and '.join(map(repr, twice[:2]))} are names of the same argument; pass only one of them")
    return renamed


def batch_aligned(_size: int, operands: Sequence, flags: Sequence[bool], params: dict) -> tuple:
    """Batch an entry that broadcasts from the right without being elementwise."""
    return tuple(align_ranks(operands, flags)), params
