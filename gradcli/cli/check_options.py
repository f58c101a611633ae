"""The checks that a command line selects, and their options."""

from __future__ import annotations

import re
import shlex

import click
from click.core import ParameterSource

from ..check.check import Check
from ..check.targets import checks_of
from ..errors import GradcliError
from ..lang.limits import CPU_SECONDS, Bound, enforce
from ..request import SHORT, Request
from ..show.check_results import CheckReport
from . import messages
from .option_table import shapes_of
from .options import Call, no_target

VALUE = re.compile(r"@.|(?:\d+\.)*[^\W\d][\w.\[\]]*=[^=]")
"""NAME=VALUE, also 0.weight=VALUE; NAME==... is an expression."""

FEW_TARGETS = 4
"""A report names as many targets one by one."""


def target_words(call: Call) -> list[str]:
    """Return the words that are targets. Without -e, the first one is, whatever it looks like."""
    first = () if call.inline else call.request.words[:1]
    return [*first, *(word for word in call.words if not VALUE.match(word))]


def names_of_targets(call: Call) -> str:
    if call.request.expression is not None:
        return call.request.expression
    names = target_words(call)
    return ", ".join(names) if len(names) <= FEW_TARGETS else f"{len(names)} files"


def select_checks(call: Call) -> list[Check | CheckReport]:
    """Return the checks that the command line selects, with reports on files that could not be imported."""
    targets = [call.as_target(text) for text in target_words(call)]
    if call.request.expression is not None:
        targets.insert(0, call.as_target(call.request.expression, inline=True))
    if not targets:
        raise no_target()
    with enforce(call.bound(targets[0]) if targets[0].is_language else None):
        checks = checks_of(targets, request_of(call))
    for check in (c for c in checks if isinstance(c, Check)):
        check.bound = bound_of(check, call.request.timeout)
        check.arguments = f"-- {shlex.join(call.request.argv)}" if call.request.argv else ""
        if check.is_script and str(check.file).endswith(".py"):
            messages.note(f"{check.file} declares no checks, so it runs as a script, and its own gradient is checked")
    if "samples" in call.request.named and not any(isinstance(c, Check) and c.random for c in checks):
        raise GradcliError("--samples needs an input that is drawn at random", hint="--shape x=3 draws one")
    pattern = call.request.keyword
    exact = any(c.name == pattern for c in checks if isinstance(c, Check))
    chosen = [
        c
        for c in checks
        if pattern is None
        or isinstance(c, CheckReport)
        or (c.name == pattern if exact else pattern.lower() in f"{c.file}:{c.name}".lower())
    ]
    if not chosen:
        raise GradcliError(f"-k {pattern}: no check has that in its name", hint="--list shows their names", kind="name")
    return chosen


def bound_of(check: Check, timeout: float | None) -> Bound | None:
    """Return the time limit of a check: --timeout, or CPU seconds per sample for programs of the language."""
    if check.bounds_answers:  # --timeout bounds each answer
        return None
    if timeout is not None:
        return Bound(timeout)
    points = check.request.samples + check.request.search // 50
    return None if str(check.file).endswith(".py") else Bound(CPU_SECONDS * points, cpu=True)


def request_of(call: Call) -> Request:
    """Return the request with values, shapes, and the options that repeat a check. Raises GradcliError."""
    words = tuple(w for w in call.words if VALUE.match(w))
    values = call.values(words)
    shapes = shapes_of(call.request.shapes, call.request.max_elements, values)
    asked = call.request
    ways = ("grad", "value_and_grad", "vjp", "jvp")
    if asked.dtype in SHORT and asked.reference is None:
        hint = "add --reference NAME, the function that computes the same plainly"
        raise GradcliError(f"--dtype {asked.dtype} needs --reference", hint=hint)
    claims = [way.replace("_", "-") for way in ways if getattr(asked, way) not in (None, False)]
    if len(claims) > 1 and claims != ["vjp", "jvp"]:
        raise GradcliError(f"--{claims[0]} and --{claims[1]} cannot be combined", hint="check one, then the other")
    if claims and asked.symbolic and not call.is_any("expression"):
        raise GradcliError(f"--{claims[0]} is a function of arrays, not symbols", hint="leave out --symbolic")
    typed = {name: text for name, _, text in (w.partition("=") for w in words)}
    show = "all" if call.output.form in ("csv", "html") else asked.show  # these formats hold every element
    return asked._replace(values=values, shapes=shapes, typed=typed, repeated=repeated_options(), show=show)


APART = """words expression format output precision color quiet verbose jobs junit list stop keyword
allow_inconclusive exit_zero seed samples timeout show"""
"""Options that do not change what is checked, or that a replay line has anyway."""


def repeated_options() -> str:
    """Return the options that change what is checked, as typed; shapes first."""
    context, words = click.get_current_context(), []
    options = [p for p in context.command.params if isinstance(p, click.Option) and p.name not in APART.split()]
    for option in sorted(options, key=lambda option: option.name != "shapes"):
        name, flag = str(option.name), max(option.opts, key=len)
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        given = context.params[name]
        texts = given if isinstance(given, tuple) else (",".join(given) if isinstance(given, list) else given,)
        words += [flag] if option.is_flag else [f"{flag} {shlex.quote(str(text))}" for text in texts]
    return " ".join(words)
