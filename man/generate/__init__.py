"""Manual pages, generated from the commands, the table of functions and the JSON schemas.

`python -m man.generate man` writes them. Text that is in no help message is in `texts.py`.
"""

from __future__ import annotations

import click

from gradcli.cli.main import COMMANDS, cli

from .bench import bench_page
from .commands import command_page
from .documents import json_page
from .found import found_page
from .language import expressions_page
from .manifolds import manifolds_page
from .overview import overview_page
from .project import configuration_page, environment_page, exit_codes_page
from .protocol import protocol_page
from .verdict import verdict_page

SUBJECTS = {
    "gradcli-bench.7": bench_page,
    "gradcli-configuration.5": configuration_page,
    "gradcli-environment.7": environment_page,
    "gradcli-exit-codes.7": exit_codes_page,
    "gradcli-json.5": json_page,
    "gradcli-expressions.7": expressions_page,
    "gradcli-found.7": found_page,
    "gradcli-manifolds.7": manifolds_page,
    "gradcli-protocol.7": protocol_page,
    "gradcli-verdict.7": verdict_page,
}


def pages() -> dict[str, str]:
    """Return the text of every page by file name: gradcli-grad.1."""
    context = click.Context(cli, info_name="gradcli", **cli.context_settings)
    others: dict[str, str] = {}
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if command is not None:
            inner = click.Context(command, info_name=name, parent=context)
            others[f"gradcli-{name}.1"] = command_page(name, command, inner)
    others |= {name: write() for name, write in SUBJECTS.items()}
    return {"gradcli.1": overview_page(f"{name.replace('.', '(')})" for name in others), **others}
