"""gradcli help: the manual's pages."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click

from ...errors import GradcliError, did_you_mean
from ...files import find_pages
from ...request import Request
from ...show.mdoc import render_page, unescape
from .. import messages, output
from ..main import COMMANDS
from ..messages import Command
from ..option_table import import_completion
from ..output import Output, terminal_size


@click.command(cls=Command, epilog="Examples: gradcli help; gradcli help grad; gradcli help expressions")
@click.argument("topic", required=False, metavar="[TOPIC]", shell_complete=import_completion("topics"))
def help(topic: str | None) -> None:
    """Show the manual's page on TOPIC, a command or a subject; without TOPIC, list the topics.

    On a terminal the page is shown by man, where there is one; elsewhere as plain text.
    """
    pages = find_pages(COMMANDS)
    if not pages:
        raise GradcliError("the manual was not installed", hint="'gradcli COMMAND --help' tells of a command")
    shown = Output(Request(command="help", format="text"), ("text",))
    if topic is None:
        shown.write("".join(f"{name}\t{title_of(path)}\n" for name, path in pages.items()))
        return
    path = pages.get(topic.removeprefix("gradcli-"))
    if path is None:
        from ...rules import full_table

        listed = did_you_mean(topic, pages) or "'gradcli help' lists the topics"
        hint = f"'gradcli ops {topic}' tells of the function" if topic in full_table() else listed
        raise GradcliError(f"the manual has no page '{topic}'", hint=hint, kind="name")
    if messages.is_terminal(output.results()) and show_by_man(path):
        return
    text = render_page(path.read_text(encoding="utf-8"), terminal_size()[0])
    shown.write(text if shown.unicode else re.sub("[‘’]", "'", text))


def title_of(path: Path) -> str:
    title = re.search(r"^\.Nd (.*)$", path.read_text(encoding="utf-8"), re.M)
    return unescape(title[1]) if title else ""


def show_by_man(path: Path) -> bool:
    """Let man show a page, and return whether it could."""
    return shutil.which("man") is not None and subprocess.run(["man", str(path)], check=False).returncode == 0
