"""Turn the targets of a command line, and the declarations in files, into checks."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import itertools
import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..claims.claim import CallError, GoneError
from ..claims.open import open_address
from ..errors import EXIT_TARGET, GradcliError, check_known, refuse_unknown
from ..lang.limits import MAX_PROGRAM_BYTES, Bound, enforce
from ..program.arguments import RANDOM_NAMES, Arguments, arguments_of, as_array, by_path, free_inputs, without
from ..program.target import Target, load_file, load_named, read_source, refuse_arguments, refuse_python
from ..request import Request
from ..results.checks import CheckReport
from ..user.address import kind_of_address
from ..user.frameworks import engine_of, modules_imported, refuse_several
from ..user.loading import Folders, check_callable, find_in, load_module, root_of, same_file
from .check import REGISTRY, Check, claim_opened, error_report, reference_check, surroundings_of
from .keeper import kept

SHAPE_HINT = ", or --shape {}=3,4"
DECLARING = {"check", "check_gradient"}  # a file that names none of these declares no check, and is not imported


def mentions_checks(path: str) -> bool:
    """Return whether a path is a regular file that mentions gradcli and a function that declares checks."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_PROGRAM_BYTES)
    except (OSError, ValueError):
        return False
    if "gradcli" not in text or "check" not in text:
        return False
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return any(f"{name}(" in text for name in DECLARING)  # importing it reports why it cannot be parsed
    imported = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    names = {node.id for node in nodes if isinstance(node, ast.Name)} if "*" in imported else set()
    return bool(DECLARING & (imported | attributes | names))


def declares_checks(path: str) -> bool:
    """Return whether a Python file may declare checks: in itself, or in a module of the same folder that it imports.

    The module counts only if the file does not mention gradcli; else it may be a script that uses checked functions.
    """
    if mentions_checks(path):
        return True
    text = read_source(path)
    if "gradcli" in text:
        return False
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        names = [name.lstrip(".") for name in modules_imported(ast.parse(text).body)]
        return any(mentions_checks(os.path.join(os.path.dirname(path), *name.split(".")) + ".py") for name in names)
    return False


IMPORT_FACTOR, IMPORT_SECONDS = 10.0, 30.0
"""The time limit of an import, as a multiple of a check's (--timeout), and its minimum: frameworks load slowly."""


def bound_of_import(timeout: float | None) -> Bound | None:
    return None if timeout is None else Bound(max(IMPORT_FACTOR * timeout, IMPORT_SECONDS))


def import_checks(path: str, folders: Folders, stdout: Any, timeout: float | None) -> list[Check] | CheckReport:
    """Import a file and return the checks that it, or a file that it imports, declares; a report if that fails."""
    before, start = len(REGISTRY), time.perf_counter()
    if path in kept.by.found.died:
        return died_report(path)
    try:
        with kept.by.importing(path), enforce(bound_of_import(timeout)):
            load_module(path, stdout, folders)
    except GradcliError as error:
        return error_report(path, path, start, error)
    finally:
        declared = REGISTRY[before:]
        del REGISTRY[before:]
    if not any(belongs(check, path) for check in declared):  # the file was imported before, for one of its functions
        declared += [check for check in REGISTRY if belongs(check, path)]
        REGISTRY[:] = [check for check in REGISTRY if not belongs(check, path)]
    return [replace(check, file=file_shown(check, path), surroundings=folders.of(path)) for check in declared]


def file_shown(check: Check, path: str) -> str:
    """Return the file of a check as reports show it. path: the file that was imported."""
    if check.file is None or belongs(check, path):
        return path
    relative = os.path.relpath(check.file)
    return check.file if relative.startswith(os.pardir) else relative


def belongs(check: Check, path: str) -> bool:
    return check.file is not None and same_file(check.file, path)


def without_random(
    f: Callable, given: Mapping[str, Any], title: str, parameters: Sequence[inspect.Parameter]
) -> list[inspect.Parameter]:
    """Return the parameters that are inputs: not random numbers, and not the number of samples. Raises GradcliError."""
    from ..claims.random_function import COUNT_NAMES, roles_of

    names = [p.name for p in parameters if p.name in given]
    names = names or [p.name for p in parameters if p.name not in RANDOM_NAMES | COUNT_NAMES and p.default is p.empty]
    roles = roles_of(f, names, title)
    return [p for p in parameters if p.name not in (roles.random, roles.number)]


def checks_of(targets: Sequence[Target], request: Request) -> list[Check | CheckReport]:
    """Return the checks of all targets, or reports. A file without checks is a script if it is the only target."""
    checks: list[Check | CheckReport] = []
    folders = Folders()
    for target in targets:
        if len(targets) == 1 or not is_python_file(target) or declares_checks(target.text):
            checks += of_named(target._replace(folders=folders), request)
    if not checks:
        names = ", ".join(target.text for target in targets)
        hint = "declare checks with @gradcli.check(at=..., grad=...), or name a function: FILE.py:f --grad g"
        raise GradcliError(f"nothing to check in {names}", hint=hint, kind="file")
    return checks


def of_named(target: Target, request: Request) -> list[Check | CheckReport]:
    """Return the checks of a target, or a report if an earlier process has died of importing the file of a name."""
    if target.name is None:
        return of_target(target, request)
    if target.text in kept.by.found.died:
        return [died_report(target.text)]
    with kept.by.importing(target.text):
        return of_target(target, request)


def died_report(name: str) -> CheckReport:
    path = name.partition(".py:")[0] + ".py" if ".py:" in name else name
    how = kept.by.found.died[name]
    return CheckReport(name, path, None, "error", 0.0, message=f"importing {path} failed: {how}")


def is_python_file(target: Target) -> bool:
    return not target.inline and target.text.endswith(".py") and os.path.isfile(target.text)


def with_reference(target: Target, request: Request) -> list[Check | CheckReport]:
    """Return the check of a function against the derivative of a reference, which is loaded in the same way."""
    (check,) = of_target(target, request._replace(reference=None))
    if not isinstance(check, Check):
        return [check]
    name = str(request.reference)
    other = target._replace(text=name if ".py:" in name else f"{target.path}:{name}")
    with enforce(bound_of_import(request.timeout)):
        function = check_callable(load_named(other), other.text)
    return [replace(check, reference=reference_check(function, request.engine, other.text))]


def of_target(target: Target, request: Request) -> list[Check | CheckReport]:
    if request.reference is not None:
        return with_reference(target, request)
    request = with_manifolds(target, request)
    text, by_hand = target.text, bool(request.claims or request.value_and_grad or request.hess or request.stochastic)
    twice = next((option for option, x in request.claims.items() if isinstance(x, tuple)), None)
    if twice and (target.is_address or target.name is not None):
        hint = "only for an expression can it be repeated, with x=FORMULA for each input"
        raise GradcliError(f"--{twice} is given twice", hint=hint)
    if target.is_address:
        return [of_address(target, request)]
    if not target.inline and os.path.isdir(text):
        return of_folder(target, request)
    if target.name is not None and by_hand:
        return [hand_written_check(target, request)]
    if target.name is not None and request.engine != "gradcli" and (check := by_framework(target, request)) is not None:
        return [check]
    if target.name is not None and request.engine is None and defines_engine(target, request):
        return [hand_written_check(target, request)]
    if is_python_file(target) and declares_checks(text):
        return of_file(text, target, request)
    if by_hand:
        from .program_checks import formula_checks

        return [*formula_checks(target, request)]
    from .program_checks import of_program

    return [of_program(target, request)]


def of_folder(target: Target, request: Request) -> list[Check | CheckReport]:
    assert target.folders is not None
    checks, files, project = [], [], request.project
    for place, folders, names in os.walk(target.text):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in ("__pycache__", "node_modules"))
        names = sorted(name for name in names if name.endswith(".py"))
        for listed in (folders, names) if project is not None else ():
            listed[:] = [name for name in listed if not project.excludes(os.path.join(place, name))]
        files += [os.path.join(place, name) for name in names]
    for _, paths in itertools.groupby([*filter(mentions_checks, files)], root_of):
        first, *others = paths
        with target.folders.of(first):  # active for all of these files, so that what they import is listed once
            checks += [check for path in (first, *others) for check in of_file(path, target, request)]
    return checks


def of_file(path: str, target: Target, request: Request) -> list[Check | CheckReport]:
    refuse_python(path, request)
    refuse_points(request, path)
    refuse_arguments(target, f"{path} declares checks, so it")
    assert target.folders is not None
    declared = import_checks(path, target.folders, target.stdout, request.timeout)
    if isinstance(declared, CheckReport):
        return [declared]
    return [
        replace(check, request=request.over(check.request), replay=f"{check.command} {request.repeated}".rstrip())
        for check in declared
    ]


def with_manifolds(target: Target, request: Request) -> Request:
    """Return the request with the manifolds that --on names. Raises GradcliError for points that are not on them."""
    if not request.on:
        return request
    from ..manifolds.named import manifolds_of

    def load(text: str) -> Callable:
        other = target._replace(text=text)
        with enforce(bound_of_import(request.timeout)):
            return check_callable(load_named(other), text)

    manifolds, values = manifolds_of(request.on, load), dict(request.values)
    for name, manifold in manifolds.items():
        x = as_array(values.get(name))
        if x is not None:
            values[name] = x = x.astype(float) if x.dtype.kind in "biu" else x
            manifold.refuse(manifold.formed(x), name)
    return request._replace(on=manifolds, values=values)


def refuse_unknown_on(request: Request, at: Mapping[str, Any], title: str) -> None:
    """Raise GradcliError if --on names neither the output nor an input (or an array inside one)."""
    inputs = [*dict.fromkeys([*at, *Arguments(at).arrays])]
    refuse_unknown([n for n in request.on if n != "out"], inputs, f"--on: {title} has no input", "its inputs are")


def hand_written_check(target: Target, request: Request) -> Check:
    path = target.path
    with enforce(bound_of_import(request.timeout)):
        module = load_file(target)

    owner = str(target.name).rpartition(".")[0]

    def named(function: str) -> Any:
        if owner and hasattr(find_in(module, path, owner), function):
            function = f"{owner}.{function}"
        return check_callable(find_in(module, path, function), f"{path}:{function}")

    def claimed(option: str, text: str) -> Any:
        if not all(map(str.isidentifier, text.split("."))):
            hint = f"--{option} takes a function of {path} here; formulas are for expressions"
            if ".py:" in text:
                hint = f"give only the name of the function: --{option} {text.rpartition(':')[2]}"
            raise GradcliError(f"{path} defines no '{text}'", hint=hint, kind="name")
        return named(text)

    f = named(str(target.name))
    if request.claims and isinstance(f, type) and hasattr(f, "apply") and hasattr(f, "backward"):
        hint = f"leave out --{next(iter(request.claims))}"
        raise GradcliError(f"{f.__name__} is an autograd.Function, whose own backward is checked", hint=hint)
    given, choose = by_path({**request.values, **request.shapes}), None
    if request.stochastic is not None:
        choose = functools.partial(without_random, f, given, target.text)
    at = arguments_of(f, given, target.text, request.wrt or (), SHAPE_HINT, choose)
    refuse_unknown_on(request, at, target.text)
    wrt = free_inputs(at, request.constants) if request.wrt is None else request.wrt
    claims = {option: claimed(option, text) for option, text in request.claims.items()}
    if request.stochastic is not None:
        claims["stochastic"] = claimed("stochastic", request.stochastic)
    code = getattr(f, "__code__", None)
    line = code.co_firstlineno if code else None
    asked = request._replace(wrt=wrt, **claims)
    return Check.of_target(target, f, at, asked, name=target.name, file=path, line=line)


def defines_engine(target: Target, request: Request) -> bool:
    """Return whether the file of a function has an engine of its own: objects with data, grad and backward()."""
    with enforce(bound_of_import(request.timeout)):
        function = load_named(target)
    from ..claims.hand_written import own_engine

    return own_engine(function) is not None


def by_framework(target: Target, request: Request) -> Check | CheckReport | None:
    """Return the check of a function that a framework runs; None for one that gradcli's engine runs."""
    start, title, path = time.perf_counter(), target.text, target.path
    try:
        with enforce(bound_of_import(request.timeout)):
            function = load_named(target)
    except GradcliError as error:
        if error.exit_code != EXIT_TARGET:
            raise
        return error_report(title, path, start, error)
    refuse_calculator(function, title)
    refuse_several(function, title, request.engine)
    engine = engine_of(function, request.engine)
    if engine is None:
        return None
    from ..user.frameworks import refuse_foreign_code

    refuse_foreign_code(function, title, engine)
    if request.out is not None:
        raise GradcliError("--out names a variable of a program; a function has one output")
    from ..claims.adapters.framework import adapter_of, framework_arguments

    with surroundings_of(target):
        given = {**request.values, **request.shapes}
        at = framework_arguments(engine, check_callable(function, title), given, title)
        refuse_unknown_on(request, at, title)
        if request.constants and request.wrt is None:
            _, weights = adapter_of(engine).signature(function, title) or ((), ())
            request = request._replace(
                wrt=[*without(request.constants, [*at], at), *(n for n in weights if n not in at)]
            )
    return Check.of_target(target, function, at, request, file=path)


def refuse_calculator(function: Any, title: str) -> None:
    """Raise GradcliError for a calculator of ASE, whose forces are checked with another kind of target."""
    kinds = function.__mro__ if isinstance(function, type) else type(function).__mro__
    if any(kind.__module__.startswith("ase.calculators") for kind in kinds):
        hint = f"check its forces: gradcli gradcheck ase:{title} STRUCTURE"
        raise GradcliError(f"{title} is an ASE calculator, not a function", hint=hint)


def refuse_points(request: Request, path: str) -> None:
    """Raise GradcliError for options that a file's declared checks cannot use, because they have their own points."""
    given = {
        **{f"{name}=": name for name in request.values},
        **{f"--shape {name}": name for name in request.shapes},
        **{f"--{name}": x for name, x in request.claims.items()},
        "--stochastic": request.stochastic,
        "--value-and-grad": request.value_and_grad or None,
        "--elementwise": request.elementwise or None,
        "--on": request.on or None,
        "--wrt": request.wrt,
        "--out": request.out,
    }
    for option, value in given.items():
        if value is not None:
            hint = f"to check a function with other inputs, name it: {path}:f x=2"
            text = f"{option} does not apply to the checks that {path} declares, which have inputs of their own"
            raise GradcliError(text, hint=hint)


def of_address(target: Target, request: Request) -> Check | CheckReport:
    """Return the check of the function at an address; a report if it cannot be reached. Raises GradcliError."""
    text = target.text
    if request.argv:
        raise GradcliError(f"{text} takes no arguments after --", hint="put them into cmd:")
    start = time.perf_counter()
    rng = np.random.default_rng(request.seed)
    own, outputs = sort_shapes(text, request.shapes)
    make = open_address(text, request._replace(shapes=outputs))
    try:
        claim = make({**request.values, **{name: rng.standard_normal(shape) for name, shape in own.items()}})
    except (CallError, GoneError) as error:
        return CheckReport(text, None, None, "error", time.perf_counter() - start, message=str(error))
    if not (claim.capabilities.pull or claim.capabilities.push):
        hint = f"add {getattr(claim, 'advice', '--grad')}"
        raise GradcliError(f"{claim.title}: a library function needs a derivative from the same library", hint=hint)
    if request.wrt is not None:
        check_known(request.wrt, claim.at, "--wrt")
    refuse_unknown_on(request, claim.at, text)
    opens, asked = functools.partial(claim_opened, make), request._replace(grad=None, vjp=None, jvp=None)
    at, file = {**claim.at, **request.values, **own}, target.path if target.name else None
    moves = {name: size for name, size in claim.jitter.items() if name not in request.values}

    def displaced(rng: np.random.Generator) -> dict[str, Any]:
        return {**at, **{name: at[name] + size * rng.standard_normal(at[name].shape) for name, size in moves.items()}}

    points, remote = displaced if moves else at, claim.connection is not None
    return Check.of_target(target, make, points, asked, opens=opens, file=file, bounds_answers=remote)


def sort_shapes(text: str, shapes: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the shapes of inputs and the shapes of outputs; only library functions need the latter."""
    if kind_of_address(text) != "library":
        return dict(shapes), {}
    from ..claims.adapters.library import read_declaration, split_address

    outputs = {p.name for p in read_declaration(split_address(text)[1]).parameters if p.kind == "output"}
    own = {name: shape for name, shape in shapes.items() if name not in outputs}
    return own, {name: shape for name, shape in shapes.items() if name in outputs}
