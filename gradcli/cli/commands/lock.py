"""gradcli lock: gradients kept in a file, and compared with it later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...check.lock import lock as lock_checks
from ...check.lock import read_lock
from ...check.lock import verify as verify_checks
from ...request import Request
from ...show.study_results import Lock, Verification
from ..check_options import select_checks
from ..options import COMMON, Call, target_command

TARGET = ("words", "expression", "engine", "config", "torch")
CLAIM = ("wrt", "out", "grad", "vjp", "jvp", "shapes", "keyword")
"""The options that a lock keeps, so that it is verified without naming them again."""


@target_command(
    "Examples: gradcli lock tests -o gradients.lock; gradcli lock tests -o a.lock && gradcli lock --verify "
    "a.lock; gradcli lock grads.py:f --grad g x='[1, 2]' | cat",
    "verify wrt out grad vjp jvp engine shape keyword config",
    formats=("table", "json", "tsv"),
    common=COMMON.replace("precision ", ""),
)
def lock(call: Call, verify: str | None) -> Lock | Verification:
    """Keep the gradients of declared checks in a file, and compare them with it later (--verify FILE).

    TARGET is what gradcheck takes. Each check has a line: file, name, point, value, gradient, and the errors of both.
    An error is how uncertain a number is by rounding: five times the most that it changes when the inputs move by up
    to two units of rounding, or that it scatters about a smooth curve close by, and 32 units of itself.

    With --verify, value and gradient are computed at the points of the file: same within the errors of then and now,
    changed beyond them (exit code 1; both numbers and both errors are shown), new without a line, gone without a
    check. Unless TARGET is given, it is that of the lock.
    """
    call.output.check()
    if verify is None:
        checks = select_checks(call)
        return lock_checks(" ".join(call.request.words), checks, settings_of(call.request))
    locked = read_lock(verify)
    if call.inline or call.request.words:
        checks = select_checks(call)
    else:
        again = as_locked(call, locked.settings)
        with again.held:
            checks = select_checks(again)
    asked = call.request
    if asked.format is None and call.output.form == "json" and not str(asked.output).endswith(".json"):
        call.output.form = "tsv"
    return verify_checks(verify, locked, checks)


def settings_of(asked: Request) -> dict[str, Any]:
    options = {name: getattr(asked, name) for name in (*TARGET, *CLAIM)}
    options["wrt"] = ",".join(asked.wrt or ())
    return {**{name: value for name, value in options.items() if value}, "words": [*asked.words]}


def as_locked(call: Call, settings: Mapping[str, Any]) -> Call:
    options = {name: Request._field_defaults[name] for name in CLAIM}
    options |= {name: settings[name] for name in (*TARGET, *CLAIM) if name in settings}
    options["wrt"] = options["wrt"].split(",") if options["wrt"] else None
    options |= {name: tuple(options.get(name, ())) for name in ("words", "shapes")}
    return Call(call.request._replace(**options), call.formats)
