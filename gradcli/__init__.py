"""gradcli: gradients on NumPy with PyTorch's names, and a checker for hand-written gradients.

Every command follows one path: argv -> Request -> Program -> (graph, transform, check) -> Result -> format -> output.
A package imports only packages above it in this list; a test checks that.

    errors, files      errors and exit codes; files that are written completely or not at all
    results            what a command found, as data; the names of formats and of findings
    request            the options of a command line or of a declared check, in one record
    schema             the schemas of --json (man/generate writes the manual from these and from the help)
    rules              the table of primitives: value, derivative, names, domain, samples; plain NumPy
    tape               the dynamic graph: tensors, nodes, recording, backward, hooks, in-place changes
    api                PyTorch's names and arguments over the table; linalg, fft and special
    func               transforms: vjp, jvp, Jacobians, Hessians, vmap, sparse Jacobians
    nn, optim, utils   the modules, optimizers, schedules and data loaders of tutorials
    autograd           PyTorch's module of this name: it collects names of other packages
    lang               the expression language: parser, evaluator, values of the command line
    user               the user's Python: what words name, the project, how files run, tracebacks, frameworks
    exact              symbols, high precision, and printing of formulas
    code               value and gradient as a function in C, Fortran, JavaScript, Julia, MATLAB, Python or Rust
    program            what can be run: expressions, scripts, functions
    manifolds          rotations, poses, spheres and others: small moves, and the conventions for them
    claims             what states a derivative: by hand, recorded, a formula, and adapters for code elsewhere
    numeric            a real matrix and values in, a state for each element out; no options, reports or files
    explain            from wrong elements to a mistake in words
    repair             edits of a wrong derivative that a check confirms
    analysis           gradients, vector products, formulas, lost digits, graphs, traces, curves and sweeps
    check              finds checks, runs them, and reports
    why                records a script and finds where a gradient is lost
    matrix             matrix calculus, for `symbolic --matrix`
    guard              checks inside a running program: watch and mutate
    show               one function for each format; imports only results, and only `cli` imports it
    cli                options, commands, output, messages, exit codes, completion
"""

from __future__ import annotations

import math
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

SUBMODULES = {"autograd", "check", "func", "nn", "numeric", "linalg", "special", "fft", "optim", "utils"}
HOMES = {
    name: module
    for module, names in {
        "tape.tensor": "Tensor Size",
        "tape.modes": "no_grad enable_grad set_grad_enabled is_grad_enabled inference_mode",
        "tape.dtypes": "set_default_dtype get_default_dtype device",
        "tape.printing": "set_printoptions get_printoptions",
        "errors": "GradcliError",
        "check.declare": "check_gradient",
        "notebook": "graph load_ipython_extension trace",
        "nn.module": "save load",
    }.items()
    for name in names.split()
}
DTYPE_NAMES = set(
    "float16 float32 float64 complex64 complex128 uint8 int8 int16 int32 int64 double float half long int short "
    "cdouble cfloat".split()
)
PUBLIC_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None}


class CallableNumeric(ModuleType):
    """The package `gradcli.numeric`, which is also the function of this name."""

    def __call__(self, f: Any, x: Any) -> Any:
        """Return the numeric derivative of f at x and its error; see `gradcli.analysis.numeric_derivatives`.

        .. versionadded:: 0.2.0
        """
        from .analysis.numeric_derivatives import numeric

        return numeric(f, x)


class Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if name == "numeric":  # set by the first import of one of its modules
            value.__class__ = CallableNumeric
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = Package  # the data model's way to give a module methods


def _find_name(name: str) -> Any:
    if name in SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name in HOMES:
        return getattr(import_module(f"{__name__}.{HOMES[name]}"), {"device": "Device"}.get(name, name))
    if name in DTYPE_NAMES or name == "bool":
        dtypes = import_module(f"{__name__}.tape.dtypes")
        return dtypes.DTYPE_ALIASES.get(name) or getattr(dtypes, name)
    if name == "dtype":
        return import_module(f"{__name__}.tape.dtypes").DType
    if name in PUBLIC_CONSTANTS:
        return PUBLIC_CONSTANTS[name]
    functional = import_module(f"{__name__}.nn.functional")
    if name in functional.OUTSIDE_TOO:
        return getattr(functional, name)
    api = import_module(f"{__name__}.api")
    return api.resolve(name) or (api.method(name) if name.endswith("_") else None)


def find_method(name: str) -> Any:
    """Return the Tensor method of this name that is defined outside the core, or None."""
    return import_module(f"{__name__}.api").method(name)


def find_attribute(name: str) -> Any:
    """Return what class Tensor has under this name and is defined outside the core, or None."""
    return import_module(f"{__name__}.api.ndarray").attribute(name)


def __getattr__(name: str) -> Any:
    if name == "__all__":  # asked for by `from gradcli import *`
        return [n for n in __dir__() if not n.startswith("_") and n not in SUBMODULES]
    if name.startswith("__"):
        raise AttributeError(f"module 'gradcli' has no attribute '{name}'")
    attribute = _find_name(name)
    if attribute is None and name not in PUBLIC_CONSTANTS:
        from .errors import describe_missing

        raise AttributeError(describe_missing(name, sorted(offered_names())))
    globals()[name] = attribute
    return attribute


def offered_names() -> set[str]:
    from .api import known_names
    from .nn.functional import OUTSIDE_TOO

    return {*known_names(), *OUTSIDE_TOO, *HOMES, *DTYPE_NAMES, *SUBMODULES, *PUBLIC_CONSTANTS}


def __dir__() -> list[str]:
    return sorted({*globals(), *offered_names()})
