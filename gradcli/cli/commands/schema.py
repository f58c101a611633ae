"""gradcli schema: the form of the JSON that commands print."""

from __future__ import annotations

import json

import click

from ...errors import GradcliError, did_you_mean
from ...request import Request
from ...schema import names, schema_of
from ..messages import Command
from ..option_table import OPTIONS
from ..output import Output


@click.command(cls=Command, epilog="Examples: gradcli schema; gradcli schema grad; gradcli schema error -o error.json")
@click.argument("name", required=False, metavar="[COMMAND]")
@OPTIONS["output"]
def schema(name: str | None, output: str | None) -> None:
    """Print the JSON Schema of what COMMAND prints with --json, or of errors; without COMMAND, list what there is."""
    shown = Output(Request(command="schema", format="json", output=output), ("json",))
    shown.check()
    if name is None:
        shown.write("".join(f"{known}\t{schema_of(known)['title']}\n" for known in names()))
    elif name in names():
        shown.write(json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n")
    else:
        hint = did_you_mean(name, names()) or "see 'gradcli schema'"
        raise GradcliError(f"no schema for '{name}'", hint=hint, kind="name")
