"""From the words of a command line to checks."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import EXIT_TARGET, GradcliError
from ...program.detect_framework import engine_of
from ...program.elsewhere import is_elsewhere
from ...program.elsewhere.arguments import as_array, by_path
from ...program.elsewhere.dispatch import framework_arguments
from ...program.import_file import check_callable, find_in, load_module
from ...program.import_scope import Folders
from ...program.target import Target, read_source, refuse_arguments
from ...results.checks import CheckReport
from ..check import Check
from .arguments import arguments_of, by_name
from .files import files_in, import_checks, mentions_checks
from .request import Wanted, surroundings_of, with_options


def checks_of(targets: Sequence[Target], wanted: Wanted) -> list[Check | CheckReport]:
    """Return the checks of all targets; files that cannot be imported become reports.

    A Python file without checks is checked as a script when it is named alone, and left out among others. Raises
    GradcliError for targets that do not exist, and when nothing is declared.
    """
    checks: list[Check | CheckReport] = []
    folders = Folders()
    for target in targets:
        target.folders = folders
        if len(targets) == 1 or target.inline or not is_file_without_checks(target.text):
            checks += of_target(target, wanted)
    if not checks:
        names = ", ".join(target.text for target in targets)
        raise GradcliError(
            f"nothing to check in {names}",
            hint="declare checks with @gradcli.check(at=..., grad=...), or name a function: FILE.py:f --grad g",
            kind="file",
        )
    return checks


def is_file_without_checks(path: str) -> bool:
    """Return whether a Python file declares no checks: named alone it is a script, and among others nothing."""
    return path.endswith(".py") and os.path.isfile(path) and not mentions_checks(path)


def of_target(target: Target, wanted: Wanted) -> list[Check | CheckReport]:
    """Return the checks of one target."""
    text = target.text
    if not target.inline and is_elsewhere(text):
        from .external import of_address

        return [with_options(of_address(target, wanted), wanted)]
    if not target.inline and os.path.isdir(text):
        return [check for path in files_in(text) for check in of_file(path, target, wanted)]
    path, colon, name = text.partition(".py:")
    by_hand = any(wanted.claims.values()) or wanted.value_and_grad
    if colon and not target.inline and by_hand:
        return [hand_written_check(path + ".py", name, target, wanted)]
    if colon and not target.inline and (check := by_framework(path + ".py", name, target, wanted)) is not None:
        return [check]
    if not target.inline and text.endswith(".py") and os.path.isfile(text) and mentions_checks(text):
        return of_file(text, target, wanted)
    if by_hand:
        raise GradcliError(
            "--grad, --vjp, --jvp and --value-and-grad need a function: FILE.py:f --grad g", kind="usage"
        )
    from .programs import of_program

    return [of_program(target, wanted)]


def of_file(path: str, target: Target, wanted: Wanted) -> list[Check | CheckReport]:
    """Return the checks that a file declares, with the options of the command line."""
    if target.safe:
        raise GradcliError(f"--safe: {path} is Python, which would have to be executed", kind="usage")
    wanted.refuse_for(path)
    refuse_arguments(target, f"{path} declares checks, so it")
    assert target.folders is not None
    declared = import_checks(path, target.folders, target.stdout)
    if isinstance(declared, CheckReport):
        return [declared]
    for check in declared:
        check.repeated = wanted.repeated
    return [with_options(check, wanted) for check in declared]


def hand_written_check(path: str, name: str, target: Target, wanted: Wanted) -> Check:
    """Return the check of a function against the derivative in its file."""
    if target.safe:
        raise GradcliError(f"--safe: {path} is Python, which would have to be executed", kind="usage")
    source = read_source(path)
    refuse_arguments(target, f"{path}:{name} is no script, so it")
    module = load_module(path, target.stdout, target.folders, source)

    def named(function: str) -> Any:
        return check_callable(find_in(module, path, function), path, function)

    f = named(name)
    at = arguments_of(f, by_path(wanted.at), f"{path}:{name}")
    arrays = {n: as_array(x) for n, x in at.items() if isinstance(x, int | list | np.ndarray)}
    fixed = [n for n, x in arrays.items() if x is not None and x.dtype.kind in "iu"]
    others = [n for n, x in at.items() if n not in fixed and not isinstance(x, str | bool | None)]
    wrt = others if fixed and wanted.wrt is None else wanted.wrt
    claims = {key: named(by_hand) for key, by_hand in wanted.claims.items() if by_hand}
    for key, claim in claims.items():
        claims[key] = claim if engine_of(claim, None) else by_name(claim, at, first=int(key != "grad"))
    code = getattr(f, "__code__", None)
    check = Check(
        f if engine_of(f, None) else by_name(f, at),
        at,
        grad=claims.get("grad"),
        vjp=claims.get("vjp"),
        jvp=claims.get("jvp"),
        value_and_grad=wanted.value_and_grad,
        wrt=wrt,
        name=name,
        file=path,
        line=code.co_firstlineno if code else None,
        replay=wanted.replay(target),
    )
    check.surroundings = surroundings_of(target)
    return with_options(check, wanted)


def by_framework(path: str, name: str, target: Target, wanted: Wanted) -> Check | CheckReport | None:
    """Return the check of a function that a framework runs; None for one that gradcli's engine runs.

    Raises GradcliError for missing arguments.
    """
    if target.safe or not name or target.argv or wanted.options.get("engine") == "gradcli":
        return None
    start = time.perf_counter()
    try:
        function = find_in(load_module(path, target.stdout, target.folders, read_source(path)), path, name)
    except GradcliError as error:
        if error.exit_code != EXIT_TARGET:
            raise
        return CheckReport(
            f"{path}:{name}", path, None, "error", time.perf_counter() - start, message=error.message, hint=error.hint
        )
    engine = engine_of(function, wanted.options.get("engine"))
    if engine is None:
        return None
    if wanted.out is not None:
        raise GradcliError("--out names a variable of a program; a function has one output", kind="usage")
    check_callable(function, path, name)
    with surroundings_of(target):
        at = framework_arguments(engine, function, by_path(wanted.at), f"{path}:{name}")
    check = Check(
        function,
        at,
        wrt=wanted.wrt,
        name=target.text,
        file=path,
        single=target.dtype == np.float32,
        replay=wanted.replay(target),
    )
    check.surroundings = surroundings_of(target)
    return with_options(check, wanted)
