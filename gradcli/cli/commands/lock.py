"""gradcli lock: gradients kept in a file, and compared with it later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from ...check.lock import lock as lock_checks
from ...check.lock import read_lock
from ...check.lock import verify as verify_checks
from ...results.locks import Lock, Verification
from ..call import Call, pick
from ..checks import Claims, Manner, select_checks
from ..help import Command
from ..options import command_options

ASKED = ("words", "expression", "engine", "config", "torch")
"""What a lock keeps beside the claims, so that it is verified without naming them again."""


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
def lock(call: Call, verify: str | None, **options: Any) -> Lock | Verification:
    """Keep the gradients of declared checks in a file, and compare them with it later (--verify FILE).

    TARGET is what gradcheck takes. Each check has a line: file, name, point, value, gradient, and the errors of both.
    An error is how uncertain a number is by rounding: five times the most that it changes when the inputs move by up
    to two units of rounding, or that it scatters about a smooth curve close by, and 32 units of itself.

    With --verify, value and gradient are computed at the points of the file: same within the errors of then and now,
    changed beyond them (exit code 1; both numbers and both errors are shown), new without a line, gone without a
    check. Unless TARGET is given, it is that of the lock.
    """
    call.output.check()
    claims = pick(Claims, options)
    if verify is None:
        checks = select_checks(call, claims, Manner())
        return lock_checks(" ".join(call.asked.words), checks, settings_of(call, claims))
    locked = read_lock(verify)
    if call.inline or call.asked.words:
        checks = select_checks(call, claims, Manner())
    else:
        again, claims = as_locked(call, locked.settings)
        with again.held:
            checks = select_checks(again, claims, Manner())
    asked = call.asked
    if asked.format is None and call.output.form == "json" and not str(asked.output).endswith(".json"):
        call.output.form = "tsv"
    return verify_checks(verify, locked, checks)


def settings_of(call: Call, claims: Claims) -> dict[str, Any]:
    """Return the options that choose checks, as plain data."""
    options = {**{name: getattr(call.asked, name) for name in ASKED}, **claims._asdict()}
    options["wrt"] = ",".join(claims.wrt or ())
    return {**{name: value for name, value in options.items() if value}, "words": [*call.asked.words]}


def as_locked(call: Call, settings: Mapping[str, Any]) -> tuple[Call, Claims]:
    """Return a call for the target of a lock, and the claims that were locked."""
    wrt = settings.get("wrt")
    options = {**settings, "wrt": wrt.split(",") if wrt else None, "shapes": tuple(settings.get("shapes", ()))}
    asked = {name: options[name] for name in ASKED if name in options}
    asked["words"] = tuple(asked.get("words", ()))
    return Call(call.command, call.formats, call.asked._replace(**asked)), pick(Claims, options)
