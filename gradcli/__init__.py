"""gradcli: gradients on NumPy, with PyTorch's names, and a checker for gradients written by hand.

Every command is one line: argv -> Request -> Program -> (graph, transform, check) -> Result -> format -> output.
Packages import only what stands above them in this list; a test reads the imports and holds them to it.

    errors, files      what goes wrong, and exit codes; files written whole or not at all
    request            what a command line, or a declaration, asks: one record, read where it matters
    show               beside all: what commands find out, as data, which any package may import, and as text, which
                       `cli` alone asks for; a function per format and type of result
    rules              the table of primitives: value, derivative, names, domain, samples; plain NumPy
    tape               the dynamic graph: tensors, nodes, recording, backward, hooks, in-place changes
    api                PyTorch's names and arguments over the table; linalg, fft and special
    func               transforms: vjp, jvp, Jacobians, Hessians, vmap, sparse Jacobians
    nn, optim, utils   the modules, optimizers, schedules and data loaders that tutorials use
    autograd           PyTorch's module of this name: it only gathers what stands elsewhere
    lang               the expression language: parser, evaluator, values of the command line
    exact              symbols and numbers of many digits, and the printing of formulas
    program            expressions, scripts, functions, what runs elsewhere: run on any values; claimed derivatives
    analysis           gradients, products, formulas, digits and their loss, graphs, traces, curves and sweeps
    check              numeric derivatives with their error, verdict, diagnosis, finding and running checks
    cli                options, commands, output, messages, exit codes, completion
    schema             the schemas of --json (man/generate writes the manual from these and from the help)

The table. One entry in `rules` is all the code it takes to add a function, made by `elementwise`, `linear`,
`general`, `constant` or `composition` (`rules/table.py`); `make man` writes it into the manual. The names of a
rule's parameters say what is kept for backward: `x` the array, `x_shape` its shape, `x_or_none` the array unless it
was changed in place since, `_` nothing. A rule is run on arrays, on Tensors (where the graph of the gradient is
wanted) and on cotangents with extra leading axes: it is written once and counts axes from the right. The entry also
says its exact form (`exact`, or `twin` in operands x, y, z), which operands an element depends on (`pattern`), and
how large the result is (`size`): nothing else knows functions by name.

The tape. A node keeps raw arrays, its parents and the rule that sends these their cotangents, never Tensors, so
there are no reference cycles. Nodes are numbered as they are made; backward takes the newest from a heap, adds
cotangents where paths meet, and frees as it goes, without recursion. In-place changes draw numbers from the
same sequence: a saved array was changed since exactly when its memory's last change is newer than the node, so
recording pays nothing for the check. A mode (observed, traced, packed, exact) is a recorder on a stack per
thread (`tape/record.py`); an observer (`tape/modes.py`) takes note of leaves, modules, calls and backward in every
thread, and slows nothing down; nothing is patched.

Transforms. A transform records a function once, on inputs of its own, so that transforms nest. Reverse mode runs
backward with cotangents of one more axis, forward mode pushes tangents through the recorded graph, and `vmap`
gives tensors a hidden leading axis.

Programs. A kind of target is a subclass of `Program` (`program/base.py`): `run`, and `as_function` where it may be
called on Tensors, as its `dtype` says. `load_program` (`program/target.py`) chooses it; a `Target` tells file, name and
kind. What runs elsewhere is a `Claim`: a new kind of address, or framework, is a line and a module
(`program/elsewhere/__init__.py`).

Formats. `FORMATS` in `show/__init__.py` says what a format holds, which file names ask for it, and which module of
`show` has its writer. tsv, csv, json, npz and npy are one function each, made from what a result says of itself:
`rows`, `document`, `arrays`; tables, pages and pictures have one by type. A command lists its `formats=`.
`cli/commands` tells how to add a command.

Claims. Whatever says what its derivative is, is a `Claim` (`program/claim.py`): it evaluates, and its derivative
pulls cotangents, pushes tangents, or comes whole. Functions with a derivative by hand (`program/hand_written.py`),
those that gradcli's engine records (`program/recorded.py`), frameworks, servers, processes and libraries
(`program/elsewhere`) are adapters of it; a failed call is a `CallError`, whoever made it.

The verdict. `check/run.py` leads a check through its stages. `Flat` (`check/flat.py`) makes real rows and columns of a
claim; its products must be linear and fresh (`products`); few directions are looked at where calls are dear
(`directions`, `wrong_elements`), else every element, by Chebyshev fits along its line (`line`, `jacobian`), whose
coefficients show noise and resolution; then the `verdict`, what may excuse a difference (`kink`, `noise`, `solver`,
`symmetric`), and what was mistaken (`diagnose`, `patterns`). NumPy code needs neither engine nor table.

The user's code. A Python file runs among the modules of its own folder, which are put away afterwards
(`program/user_code.py`). What runs no Python is bounded in memory by the operating system (`lang/limits.py`).

Start-up. Modules are imported when their names are first used; so are the families of the table.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

SUBMODULES = {"autograd", "check", "func", "nn", "linalg", "special", "fft", "optim", "utils"}
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
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None}


def _find(name: str) -> Any:
    if name in SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name in HOMES:
        return getattr(import_module(f"{__name__}.{HOMES[name]}"), {"device": "Device"}.get(name, name))
    if name in DTYPE_NAMES or name == "bool":
        dtypes = import_module(f"{__name__}.tape.dtypes")
        return dtypes.ALIASES.get(name) or getattr(dtypes, name)
    if name == "dtype":
        return import_module(f"{__name__}.tape.dtypes").DType
    if name in CONSTANTS:
        return CONSTANTS[name]
    functional = import_module(f"{__name__}.nn.functional")
    if name in functional.OUTSIDE_TOO:
        return getattr(functional, name)
    api = import_module(f"{__name__}.api")
    return api.resolve(name) or (api.method(name) if name.endswith("_") else None)


def find_method(name: str) -> Any:
    """Return the method of Tensors of this name beyond the core, None where there is none."""
    return import_module(f"{__name__}.api").method(name)


def __getattr__(name: str) -> Any:
    if name == "__all__":  # asked for by `from gradcli import *`
        return [n for n in __dir__() if not n.startswith("_") and n not in SUBMODULES]
    if name.startswith("__"):
        raise AttributeError(f"module 'gradcli' has no attribute '{name}'")
    attribute = _find(name)
    if attribute is None and name not in CONSTANTS:
        from .errors import describe_missing

        raise AttributeError(describe_missing(name, sorted(offered_names())))
    globals()[name] = attribute
    return attribute


def offered_names() -> set[str]:
    from .api import known_names
    from .nn.functional import OUTSIDE_TOO

    return {*known_names(), *OUTSIDE_TOO, *HOMES, *DTYPE_NAMES, *SUBMODULES, *CONSTANTS}


def __dir__() -> list[str]:
    return sorted({*globals(), *offered_names()})
