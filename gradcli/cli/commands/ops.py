"""gradcli ops: the table of functions."""

from __future__ import annotations

import click

from ...errors import GradcliError, did_you_mean
from ...lang.operations import describe
from ...rules import full_table
from ...rules.table import NAMES
from ...show import TEXT
from ...show.results import Operations
from ..messages import Command
from ..option_table import import_completion
from ..options import output_options


@click.command(cls=Command, epilog="Examples: gradcli ops; gradcli ops tanh; gradcli ops --json")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=import_completion("functions"))
@output_options((*TEXT, "latex"))
def ops(names: tuple[str, ...]) -> Operations:
    """List the functions of the language with their derivatives, or tell all about those named."""
    public = {name: entry for name, entry in full_table().items() if entry.public}
    for name in names:
        if name not in NAMES or not NAMES[name].public:
            raise GradcliError(f"no function '{name}'", hint=did_you_mean(name, NAMES), kind="name")
    chosen = [NAMES[name] for name in names] if names else [public[name] for name in sorted(public)]
    return Operations(tuple(describe(entry) for entry in chosen), bool(names))
