"""gradcli completion: scripts that teach a shell what may follow."""

from __future__ import annotations

import click

from ...errors import GradcliError, did_you_mean
from ...request import Request
from ..complete import SHELLS, items, script
from ..main import COMPLETE, cli
from ..messages import Command
from ..output import Output


@click.command(
    cls=Command,
    epilog='Examples: eval "$(gradcli completion bash)"; gradcli completion zsh > _gradcli; '
    "gradcli completion fish > gradcli.fish",
)
@click.argument(
    "shell", metavar="SHELL", shell_complete=lambda context, parameter, incomplete: items(SHELLS, incomplete)
)
def completion(shell: str) -> None:
    """Print a completion script for SHELL: bash, zsh or fish.

    Have it run by the shell's start-up file, as in the examples. Then TAB completes commands, options and their
    choices, files, the functions of FILE.py:, the names of a program after --wrt, --out, --retain and --hook, and its
    inputs as NAME=. Nothing is executed for that.
    """
    if shell not in SHELLS:
        raise GradcliError(
            f"there is no completion for '{shell}'",
            hint=did_you_mean(shell, SHELLS) or f"the shells are {', '.join(SHELLS)}",
        )
    Output(Request(command="completion", format="text"), ("text",)).write(script(shell, cli, COMPLETE))
