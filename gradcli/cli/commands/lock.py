"""gradcli lock: gradients kept in a file, and compared with it later."""

from __future__ import annotations

import click

from ...check.lock import lock as lock_checks
from ...check.lock import read_lock, verify
from .. import status
from ..context import Context
from ..help import Command
from ..options import command_options
from .gradcheck import select_checks

CHOOSING = (
    "words",
    "expression",
    "grad",
    "vjp",
    "jvp",
    "wrt",
    "out",
    "engine",
    "shapes",
    "keyword",
    "config",
    "torch",
)
"""The options that choose checks; a lock keeps them, to be verified without naming them again."""


@click.command(
    cls=Command,
    epilog="Examples: gradcli lock tests -o gradients.lock; gradcli lock tests -o a.lock && gradcli lock --verify "
    "a.lock; gradcli lock grads.py:f --grad g x='[1, 2]' | cat",
)
@command_options(
    "verify",
    "wrt",
    "out",
    "grad",
    "vjp",
    "jvp",
    "engine",
    "shape",
    "keyword",
    "config",
    formats=("table", "json", "tsv"),
)
def lock(context: Context) -> int:
    """Keep the gradients of declared checks in a file, and compare them with it later (--verify FILE).

    TARGET is what gradcheck takes. Each check has a line: file, name, point, value, gradient, and the errors of both.
    An error is how uncertain a number is by rounding: five times the most that it changes when the inputs move by up
    to two units of rounding, or that it scatters about a smooth curve close by, and 32 units of itself.

    With --verify, value and gradient are computed at the points of the file: same within the errors of then and now,
    changed beyond them (exit code 1; both numbers and both errors are shown), new without a line, gone without a
    check. Unless TARGET is given, it is that of the lock.
    """
    options = context.options
    path = options["verify"]
    context.output.check()
    if path is None:
        settings = {key: options[key] for key in CHOOSING if options.get(key)}
        settings["words"] = list(options["words"])
        context.output.show(lock_checks(" ".join(options["words"]), select_checks(context), settings))
        return 0
    locked = read_lock(path)
    if not options["words"] and options["expression"] is None:
        options.update({key: value for key, value in locked.settings.items() if key in CHOOSING})
        options["shapes"] = tuple(options["shapes"])
        options["words"] = tuple(options["words"])
    result = verify(path, locked, select_checks(context))
    if options["format"] is None and context.output.form == "json" and not str(options["output"]).endswith(".json"):
        context.output.form = "tsv"
    context.output.show(result)
    stale = [f"{n} {word}" for word in ("new", "gone") if (n := result.count(word))]
    if stale:
        status.note(f"{' and '.join(stale)}: lock again to take that in")
    return 1 if result.count("changed") else 3 if result.count("error") else 0
