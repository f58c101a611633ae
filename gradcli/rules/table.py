"""The one table of primitives: what each computes, how it differentiates, what it is called.

An entry is made by one call of `elementwise`, `linear`, `general`, `constant` or `composition`; nothing else has to
be edited to add one (a new module is listed in `MODULES` of the package). What `gradcli ops` prints as its
derivative is the lambda, the formula beside it (`rule`), or the first line of a function's docstring. A rule's
parameter names say what is kept for backward: `x` keeps the array, `x_shape` only its shape, a name that begins with
`_` nothing. Entries made by `internal.elementwise` and the like are parts of others: the language does not have them.

- elementwise: one partial derivative per operand, `partial(out, x, y)` or a number; the constructor
  multiplies by the cotangent and undoes broadcasting, for complex operands with the conjugate (`real_elementwise`:
  complex operands have no derivative).
- linear: one vector-Jacobian product, `vjp(g, out, x, **params)`; forward mode is the primitive itself. `selection`:
  the elements are some of the operand's.
- general: a vector-Jacobian product per operand, or a single one with an operand number where the number of
  operands is open (`vjp(g, position, out, xs, **params)`).
- constant: no derivative (comparisons, index finding).
- composition: a function of other entries, differentiable because they are.

A cotangent may have more leading axes than the output: the batch rank is `g.ndim - out.ndim`.

An entry's `batch(size, operands, flags, params)` returns the operands and parameters for the call on operands
of which those flagged have a leading axis of length `size`; it may return the finished result instead. Without
one, elementwise entries align ranks from the right, and others get a leading axis on every operand.
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
"""By a method of a ufunc, such as np.add.reduce, which runs along the first axis unless told otherwise."""
BY_SCIPY: dict[str, Primitive] = {}
"""By the name in scipy.special, where that is another."""
BY_TORCH: dict[str, tuple[Primitive, str]] = {}
"""By PyTorch's name, with the signature that it has there."""

SKIP, ARRAY, SHAPE = 0, 1, 2
ELEMENTWISE, SELECTION, REDUCTION, LANES, PRODUCT = "elementwise", "selection", "reduction", "lanes", "product"
"""Which elements of the operands an element of the result depends on: that at its place; one of them, or none; all
over the axes that go, or along an axis that stays; a row of one factor and a column of the other. "": on any."""
Interval = tuple[float, float]
REAL: Interval = (-3.0, 3.0)
POSITIVE: Interval = (0.2, 4.0)


class A:
    """In an example call, an array of this shape with elements drawn from the domain."""

    __slots__ = ("shape",)

    def __init__(self, *shape: int):
        self.shape = shape


class Sample:
    """An example call for tests and help; `A(2, 3)` among the arguments stands for an array."""

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
    """Return what a rule's parameter of this name wants saved: SKIP, ARRAY or SHAPE."""
    return SKIP if name.startswith("_") else SHAPE if name.endswith(("_shape", "_shapes")) else ARRAY


class Primitive:
    """One entry. Call it with canonical operands and parameters; `function` takes the user's arguments.

    What users see: aliases, doc, public (whether the language has it), subgradient (what it is at kinks), slope (the
    derivative in words), domain (where it is tested, and may be computed), samples (none where it is not public, unless
    given). bind: from the user's arguments to operands and parameters, `lambda x, c: ((x, c), {})`; it gives them their
    names. node, variants: the name of its nodes (of a composition, of the last one, where PyTorch has one operation);
    those for a number on the left, on the right. numpy, folds, scipy: functions, methods of ufuncs and the name in
    scipy.special that it stands for. arity: the number of operands, None for any. outputs: of results. promote: the
    places of the operands that are cast to a common type, None for all. view: whether the result shares the operand's
    memory. complex: whether complex operands have a derivative; holomorphic: whether the partial is to be conjugated
    for them. pair: computes both cotangents at once, where that is better than two products. batch: how it runs with a
    leading axis, where the rules of shapes do not say it. exact: on the field's numbers; twin, twin_of: the formula
    instead, or that for given parameters. pattern: which operands an element depends on. size, rounds: how many
    elements a call makes, and how often it goes round; both are bounded. torch: PyTorch's signatures, such as
    "softmax(input, dim=None, *, dtype=None)"; `api/signature.py` says what may stand in one. floats_only: what PyTorch
    says of whole numbers where it refuses them.
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
        if not options.keys() <= OPTIONS.keys():
            raise TypeError(f"{name}: an entry has no option {', '.join(options.keys() - OPTIONS.keys())}")
        vars(self).update(OPTIONS | options)
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
        # what a rule takes as None where it was changed in place since
        self.spares = frozenset(i for part in names for i, name in enumerate(part) if name.endswith("_or_none"))
        self._register()

    def _register(self) -> None:
        if self.name in TABLE:
            raise ValueError(f"the table has two entries called {self.name!r}")
        TABLE[self.name] = self
        for name in (self.name, *self.aliases):
            if NAMES.setdefault(name, self) is not self:
                raise ValueError(f"the table gives {name!r} to two entries")
        for function in self.numpy:
            BY_NUMPY[function] = self
        for function in self.folds:
            BY_FOLD[function] = self
        if self.scipy:
            BY_SCIPY[self.scipy] = self
        for signature in self.torch:
            BY_TORCH.update(dict.fromkeys(signature.partition("(")[0].split(), (self, signature)))

    def _with_shapes(self, rule: Any, keeps: tuple[int, ...]) -> Any:
        """Return the rule so that it gets a shape also where another rule had the array saved."""
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

        A type takes part by having `__record__(primitive, operands, params)`; where several do, the one
        with the highest `record_level` is asked.
        """
        recorder = recorder_of(operands)
        if recorder is not None:
            return recorder(self, operands, params)
        return self.forward(*operands, **params)

    def node_name(self, shape: tuple[int, ...], params: dict) -> str:
        """Return the name of a node of this primitive for an operand of a shape."""
        return backward_name(self.node(shape, params)) if callable(self.node) else self.node

    def variant(self, operands: Iterable) -> str:
        """Return the name of an elementwise node: PyTorch has further forms for Python numbers."""
        numbers = [type(x) in (int, float, complex) for x in operands]  # NumPy's scalars are 0-d tensors
        return (numbers[0] and self.variants[0]) or (numbers[-1] and self.variants[1]) or self.node

    def function(self, *args: Any, **kwargs: Any) -> Any:
        """Call with NumPy's arguments, such as `axis=`. Raises TypeError naming the parameters when they do not fit."""
        if self.kind == "composition":
            return self._call(self.forward, args, kwargs)
        if self.bind is None:
            if len(args) != self.arity or (kwargs and self.public):
                self._call(self.signature_model(), args, kwargs)
            return self(*args, **kwargs)
        operands, params = self._call(self.bind, args, kwargs)
        return self(*operands, **params)

    def signature_model(self) -> Callable:
        """Return a callable whose signature is the one users see."""
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


OPTIONS = {option: getattr(Primitive, option) for option in Primitive.__annotations__}


@functools.cache
def backward_name(label: str) -> str:
    """Return PyTorch's name of a node: SinBackward0 for Sin."""
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
"""By PyTorch's name of an argument, what NumPy and the language call it."""


def parameters_of(signature: str) -> str:
    """Return what stands between the parentheses of a signature."""
    return signature[signature.index("(") + 1 : signature.rindex(")")]


def bind_parameters(signature: str, forward: Callable, operands: int) -> Callable | None:
    """Return what binds the arguments of PyTorch's signature, under NumPy's names, to forward's parameters, if any."""
    text = parameters_of(signature).replace("input", "x", 1).replace("other", "y", 1)
    names = eval(f"lambda {text}: 0").__code__.co_varnames
    code = getattr(forward, "__code__", None)
    params = [name for name in names[operands:] if code and name in code.co_varnames]
    if not params:
        return None
    given = ", ".join(f"{name!r}: {name}" for name in params)
    return eval(f"lambda {text}: (({', '.join(names[:operands])},), {{{given}}})")


def rule(formula: str, function: Callable) -> Callable:
    """Return a rule of one line under the formula that `gradcli ops` prints for it."""
    function.__name__, function.__doc__ = "rule", formula
    return function


def no_gradient(_g, *_, **__):
    """Give an operand that only steers (a condition, an index) no gradient."""


first_operand = rule("x; what the product x y has with respect to y", lambda _out, x, _y: x)
second_operand = rule("y; what the product x y has with respect to x", lambda _out, _x, y: y)
SIGNATURES: tuple[Callable, ...] = (lambda x: None, lambda x, y: None, lambda x, y, z: None)
"""The user's view of functions of one, two and three arrays."""


def elementwise(forward: Callable, *partials: Any, name: str | None = None, **options: Any) -> Primitive:
    """Enter a function that works element by element, with one partial derivative per operand.

    partial: `partial(out, x, y, **params)` or a number. The arity is the number of partials. The name is that of
    PyTorch's signature, or of the forward function, unless given.
    """
    name = name or options.get("torch", "").partition("(")[0]
    is_ufunc = isinstance(forward, np.ufunc)
    options.setdefault("samples", UNARY_SAMPLES if len(partials) == 1 else BINARY_SAMPLES)
    options.setdefault("promote", None)
    options.setdefault("numpy", (forward,) if is_ufunc else ())
    return Primitive(name or forward.__name__, "elementwise", forward, partials, arity=len(partials), **options)


real_elementwise = functools.partial(elementwise, complex=False)


def namesake(name: str, *homes: Any) -> tuple:
    """Return the function of this name in NumPy, where it is there: an old one may lack it."""
    return tuple(getattr(home, name) for home in homes or (np, np.linalg) if hasattr(home, name))[:1]


def linear(name: str, forward: Callable, vjp: Callable, **options: Any) -> Primitive:
    """Enter a function that is linear in its operand, with `vjp(g, out, x, **params)`."""
    options.setdefault("numpy", namesake(name) if options.get("public", True) else ())
    return Primitive(name, "linear", forward, (vjp,), **options)


selection = functools.partial(linear, pattern=SELECTION)


def general(name: str, forward: Callable, *vjps: Callable, **options: Any) -> Primitive:
    """Enter a function with one named vector-Jacobian product per operand, or one for any (arity=None)."""
    options.setdefault("arity", len(vjps))
    options.setdefault("numpy", namesake(name) if options.get("public", True) else ())
    return Primitive(name, "general", forward, vjps, **options)


internal = SimpleNamespace(
    elementwise=functools.partial(real_elementwise, public=False),
    linear=functools.partial(linear, public=False),
    selection=functools.partial(selection, public=False),
    general=functools.partial(general, public=False),
)
"""The constructors of entries that the language does not have."""


def constant(forward: Callable, name: str | None = None, arity: int = 1, **options: Any) -> Primitive:
    """Enter a function that has no derivative: its result never requires grad."""
    options.setdefault("samples", UNARY_SAMPLES if arity == 1 else BINARY_SAMPLES)
    options.setdefault("numpy", (forward,) if isinstance(forward, np.ufunc) else ())
    return Primitive(name or forward.__name__, "constant", forward, arity=arity, **options)


def composition(function: Callable, name: str | None = None, **options: Any) -> Primitive:
    """Enter a function written in terms of other entries; its docstring is the help unless `doc` says it shorter."""
    options.setdefault("doc", function.__doc__)
    options.setdefault("samples", UNARY_SAMPLES[:1])
    return Primitive(name or function.__name__, "composition", function, arity=None, **options)


def numpy_function(*samples: Sample, homes: tuple = (), **options: Any) -> Callable[[Any], Any]:
    """Enter a function written in terms of other entries as the one of its name in NumPy, where that is there."""

    def enter(function: Any) -> Any:
        name = options.get("name", function.__name__).rpartition(".")[2]
        composition(function, numpy=namesake(name, *homes), samples=samples, **options)
        return function

    return enter


def batched_call(primitive: Primitive, operands: Sequence, flags: Sequence[bool], size: int, params: dict) -> Any:
    """Call a primitive on operands of which those flagged have a leading axis of length `size`, as the result has."""
    if primitive.batch is not None:
        result = primitive.batch(size, tuple(operands), tuple(flags), params)
        if not isinstance(result, tuple) or not isinstance(result[1], dict):
            return result
        operands, params = result
    elif primitive.kind == "elementwise" or (primitive.kind == "constant" and primitive.bind is None):
        operands = align_ranks(operands, flags)
    else:
        operands = [x if flag else with_axis(x, size) for x, flag in zip(operands, flags, strict=True)]
    return primitive(*operands, **params)


def align_ranks(operands: Sequence, flags: Sequence[bool]) -> list:
    """Return operands with axes of length 1 behind the leading one, so that they broadcast from the right."""
    ranks = [rank(x) - flag for x, flag in zip(operands, flags, strict=True)]
    top = max(ranks)
    return [
        x.reshape(x.shape[:1] + (1,) * (top - n) + tuple(x.shape[1:])) if flag and n < top else x
        for x, flag, n in zip(operands, flags, ranks, strict=True)
    ]


def rename_keywords(named: dict, synonyms: dict) -> dict:
    """Return keyword arguments under one name each. Raises TypeError where one is given under two."""
    renamed = {synonyms.get(name, name): value for name, value in named.items()}
    if len(renamed) < len(named):
        chosen = [synonyms.get(name, name) for name in named]
        twice = [name for name, one in zip(named, chosen, strict=True) if chosen.count(one) > 1]
        raise TypeError(f"{' and '.join(map(repr, twice[:2]))} are two names of one argument; give one of them")
    return renamed


def with_axis(x: Any, size: int) -> Any:
    """Return an operand repeated, without a copy, along a new leading axis; None stays None."""
    return None if x is None else np.broadcast_to(x, (size, *shape_of(x)))


def batch_aligned(_size: int, operands: Sequence, flags: Sequence[bool], params: dict) -> tuple:
    """The rule of entries that broadcast from the right without being elementwise."""
    return tuple(align_ranks(operands, flags)), params
