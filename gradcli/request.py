"""The request: what a command line or a declaration asks for, in one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # `gradcli --help` and completion do without NumPy
    import numpy as np

DEFAULT_MAX_ELEMENTS = 100_000_000  # elements of a value, unless --max-elements overrides it

ADAPTED = ("torch", "jax", "autograd")
ENGINES = (*ADAPTED, "gradcli")
"""Engines of Python functions: frameworks with an adapter in claims/adapters, and gradcli."""
SHORT_TYPES = ("bfloat16", "float16")
"""Low-precision types, which are checked against a reference (--reference)."""
LEAST_DRAWS = 1_000
"""The least number of samples of an estimator (--draws)."""
EXCLUDES = {
    "on": "elementwise hess reference search order symbolic digits",
    "stochastic": "grad vjp jvp hess value_and_grad elementwise reference order calls taylor symbolic digits rtol atol "
    "eps nondet_tol strict search no_as_called engine device",
}
"""What cannot be combined with an option, on a command line and in a declaration."""
TYPES = ("float32", "float64", "complex128", *SHORT_TYPES)


class Request(NamedTuple):
    """The options of a command, or of a declared check.

    command: its name; words: its arguments; expression: -e; argv: the words after --; named: the options that were
    given. values: values of inputs by name; typed: the same as text; shapes: shapes of random inputs and of outputs;
    repeated: the options that repeat a check, as typed. wrt, out: the inputs to differentiate, and the output.
    gradient: the vector for an output that is not a scalar. hooks: in the order given. retain: intermediate results
    whose gradient is reported, None for all. grad, vjp, jvp: the claimed derivative, as a name in the target's file, a
    function, a C declaration, or formulas. hess: formulas for second derivatives. on: manifolds by input, or as texts
    NAME=MANIFOLD. reference: the function to compare with. stochastic: the estimator to check; level, draws: of its
    test. numeric: differentiate from values alone. keyword: selects checks. show: "all" reports every element.
    """

    command: str = "grad"
    words: tuple[str, ...] = ()
    expression: str | None = None
    argv: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()
    values: Mapping[str, Any] = {}
    shapes: Any = ()
    typed: Mapping[str, str] = {}
    repeated: str = ""
    columns: str | None = None
    arguments: tuple[str, ...] = ()
    wrt: Sequence[str] | None = None
    out: str | None = None
    gradient: Any = None
    hooks: Sequence[Any] = ()
    retain: Sequence[str] | None = ()
    with_value: bool = False
    grad: Any = None
    vjp: Any = None
    jvp: Any = None
    hess: Sequence[str] | None = None
    value_and_grad: bool = False
    numeric: bool = False
    elementwise: bool = False
    on: Any = ()
    # how a check is made
    keyword: str | None = None
    order: int = 1
    samples: int = 1
    no_as_called: bool = False
    calls: int | None = None
    taylor: bool = False
    repair: Any = None  # the SearchLimits of a search for an edit that repairs a wrong derivative, if one is wanted
    digits: int | None = None
    symbolic: bool = False
    rtol: float | None = None
    atol: float | None = None
    eps: float | None = None
    nondet_tol: float = 0.0
    search: int = 0
    show: str = "worst"
    strict: bool = False  # also for results: nan and infinity are errors
    # how a Jacobian is computed
    chunk_size: int | None = None
    # derivatives as formulas: max_symbols counts elements
    max_symbols: int = 64
    # how anything is run
    jobs: int | None = None
    engine: str | None = None
    python: str | None = None
    reference: Any = None
    stochastic: Any = None
    level: float | None = None
    draws: int | None = None
    device: str | None = None
    torch: bool = False
    safe: bool = False
    dtype: str | None = None
    seed: int = 0
    max_elements: int = DEFAULT_MAX_ELEMENTS
    timeout: float | None = None
    config: str | None = None
    stress: bool = False
    project: Any = None  # the Project whose settings apply
    # how it is shown
    plot: bool = False
    format: str | None = None
    output: str | None = None
    precision: int | None = None
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False

    @property
    def input_dtype(self) -> np.dtype:
        import numpy as np

        return np.dtype("float32" if self.dtype in SHORT_TYPES else self.dtype or "float64")

    @property
    def real(self) -> type:
        import numpy as np

        return np.float32 if self.dtype == "float32" else np.float64

    @property
    def claims(self) -> dict[str, Any]:
        return {name: x for name in ("grad", "vjp", "jvp") if (x := getattr(self, name)) is not None}

    @property
    def constants(self) -> set[str]:
        """The names that --arg holds constant."""
        return {word.partition("=")[0].strip() for word in self.arguments}

    @property
    def is_strict(self) -> bool:
        """Whether small differences are wrong, too: by the options, or by the project's settings."""
        return self.strict or (self.project is not None and bool(self.project.settings.get("strict")))

    @property
    def tolerances(self) -> tuple[float | None, ...] | None:
        """(eps, atol, rtol) for PyTorch's rule; None if none is given."""
        given = (self.eps, self.atol, self.rtol)
        return None if given == (None, None, None) else given

    def over(self, declared: Request) -> Request:
        """Return a declared request with those options of this one that say how to check."""
        ours = {name: getattr(self, name) for name in HOW_CHECKED.split() if name in self.named}
        always = {name: getattr(self, name) for name in ("show", "max_elements", "project", "repair")}
        return declared._replace(**ours, **always)


HOW_CHECKED = """order samples seed dtype calls taylor digits symbolic rtol atol eps nondet_tol strict search engine
device no_as_called level draws"""
