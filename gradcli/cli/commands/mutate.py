"""gradcli mutate: how many wrong gradients the tests notice."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from ...check.mutate import mutate as run_mutants
from ...errors import GradcliError
from ...show import TEXT
from ...show.study_results import Mutation
from .. import messages
from ..messages import Command
from ..option_table import OPTIONS, Finite, import_completion
from ..options import output_options


@click.command(
    cls=Command,
    epilog="Examples: gradcli mutate grads.py:g -- pytest -q check_grads.py; gradcli mutate grads.py:g "
    "-- gradcli gradcheck grads.py:f --grad g x=2",
)
@click.argument("target", metavar="FILE.py:FUNCTION", shell_complete=import_completion("words"))
@click.option(
    "--at-least",
    type=Finite(),
    default=1e-3,
    metavar="X",
    help="Exit with 1 when a mutant survives whose relative error is larger (0.001).",
)
@click.option(
    "--timeout",
    type=Finite(positive=True),
    metavar="S",
    help="Seconds for one run; a slower one counts as noticed (5 times a run without a mutant, 10 at least).",
)
@OPTIONS["quiet"]
@output_options((*TEXT, "svg"))
def mutate(target: str, at_least: float, timeout: float | None, quiet: bool) -> Mutation:
    """Run the COMMAND after -- with wrong versions of a function, and tell which of them it notices.

    The wrong versions: results times 1 + 10^-k for k = 1 to 12, with the other sign, zero, shifted by one,
    transposed, without the last element, with one element doubled; and the source with a term or factor dropped, a
    sign, an index or a constant changed. Those that give the same values at 20 random points about the command's own
    calls are left out. A command that fails with a mutant has killed it; without one it must pass.

    All happens in memory, no file changes. Where COMMAND is pytest, tests are collected once, and each mutant has a
    fork of that session; any other command is run for each. Exit code 1: a mutant larger than --at-least survived.
    """
    messages.settings.quiet = quiet
    command = click.get_current_context().obj
    if not command:
        raise GradcliError("no command to run", hint=f"write it after --: gradcli mutate {target} -- pytest -q")
    return run_mutants(target, command, at_least, timeout, progress)


def progress(mutants: Sequence[Any]) -> Iterator[Any]:
    """Show how many mutants were run, on a terminal's standard error."""
    if not messages.shows_progress():
        yield from mutants
        return
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True, no_color=not messages.colourful(sys.stderr))
    yield from track(mutants, "mutants", console=console, transient=True)
