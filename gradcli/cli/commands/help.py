"""gradcli help, ops and schema: pages of the manual, functions of the language, and JSON schemas."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import GradcliError, did_you_mean
from ...results.formats import TEXT
from .. import messages, output
from ..messages import Command
from ..option_table import OPTIONS, import_completion, option
from ..options import Call, target_command
from ..output import output_of, terminal_size

if TYPE_CHECKING:
    from ...results.studies import Operations


@target_command(
    "Examples: gradcli ops; gradcli ops tanh; gradcli ops --json",
    formats=TEXT,
    common="format json output color",
    metavar="[NAME]...",
    complete="functions",
)
def ops(call: Call) -> Operations:
    """List the functions of the language with their derivatives, or describe the functions NAME."""
    from ...lang.operations import describe_entry
    from ...results.studies import Operations
    from ...rules import full_table
    from ...rules.table import NAMES

    call.output.check()
    names = call.request.words
    table = full_table()  # this also fills NAMES
    public = {name: entry for name, entry in NAMES.items() if entry.public}
    for name in names:
        if name not in public:
            raise GradcliError(f"no function '{name}'", hint=did_you_mean(name, public), kind="name")
    chosen = [public[name] for name in names or sorted(public.keys() & table.keys())]
    return Operations(tuple(describe_entry(entry) for entry in chosen), bool(names))


@click.command(cls=Command, epilog="Examples: gradcli schema; gradcli schema grad; gradcli schema error -o error.json")
@click.argument("name", required=False, metavar="[COMMAND]")
@OPTIONS["output"]
def schema(name: str | None, output: str | None) -> None:
    """Print the JSON Schema of what COMMAND prints with --json, or of errors. Without COMMAND, list all schemas."""
    import json

    from ...schema import names, schema_of

    shown = output_of("schema", ("json",), format="json", output=output)
    if name is None:
        shown.write("".join(f"{known}\t{schema_of(known)['title']}\n" for known in names()))
    elif name in names():
        shown.write(json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n")
    else:
        hint = did_you_mean(name, names()) or "see 'gradcli schema'"
        raise GradcliError(f"no schema for '{name}'", hint=hint, kind="name")


@click.command(cls=Command, epilog="Examples: gradcli help; gradcli help grad; gradcli help findings")
@click.argument("topic", required=False, metavar="[TOPIC]", shell_complete=import_completion("topics"))
@option("--skill", "Print a page for AI agents, as SKILL.md.")
def help(topic: str | None, skill: bool) -> None:
    """Show the manual's page on TOPIC, which is a command or a subject. Without TOPIC, list the topics.

    TOPIC may also be the name of a finding, which reports print in brackets; `gradcli help findings` lists these names.
    If a command has the same name, the page of the finding follows that of the command. On a terminal, man shows the
    page if it is installed. Otherwise the page is printed as plain text.
    """
    from ...files import find_pages, find_skill
    from ...show.mdoc import render_page
    from ..main import COMMANDS

    if skill:
        output_of("help", ("text",), format="text").write(find_skill().read_text(encoding="utf-8"))
        return
    pages = find_pages(COMMANDS)
    if not pages:
        raise GradcliError("the manual was not installed", hint="'gradcli COMMAND --help' describes a command")
    shown = output_of("help", ("text",), format="text")
    if topic is None:
        shown.write("".join(f"{name}\t{title_of(path)}\n" for name, path in pages.items()))
        return
    path = pages.get(topic.removeprefix("gradcli-"))
    finding = page_of_rule(topic)
    if path is None and finding is not None:
        shown.write(finding)
        return
    if path is None:
        from ...results.causes import causes
        from ...rules import full_table

        hint = did_you_mean(topic, [*pages, *causes()]) or "'gradcli help' lists the topics"
        if topic in full_table():
            hint = f"'gradcli ops {topic}' describes the function"
        raise GradcliError(f"the manual has no page '{topic}'", hint=hint, kind="name")
    if finding is None and messages.is_terminal(output.results()) and show_by_man(path):
        return
    text = render_page(path.read_text(encoding="utf-8"), terminal_size()[0])
    if finding is not None:  # a finding and a command may have the same name
        text = f"'{topic}' is also the name of a finding. Its page follows that of the command.\n\n{text}\n{finding}"
    shown.write(text if shown.unicode else re.sub("[‘’]", "'", text))


def page_of_rule(topic: str) -> str | None:
    """Return the page of a finding, or the list of all findings for `findings`; None for any other topic."""
    from ...results.causes import causes

    if topic in ("findings", "rules", "why-rules"):
        return "".join(f"{name}\t{cause.title}\n" for name, cause in causes().items())
    cause = causes().get(topic)
    return None if cause is None else cause.page


def title_of(path: Path) -> str:
    from ...show.mdoc import unescape

    title = re.search(r"^\.Nd (.*)$", path.read_text(encoding="utf-8"), re.M)
    return unescape(title[1]) if title else ""


def show_by_man(path: Path) -> bool:
    import shutil
    import subprocess

    return shutil.which("man") is not None and subprocess.run(["man", str(path)], check=False).returncode == 0
