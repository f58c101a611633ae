"""The page of a command, from its help, options and epilog."""

from __future__ import annotations

import inspect
import itertools
import re

import click

from gradcli.cli.main import COMMANDS
from gradcli.cli.messages import examples_of
from gradcli.results.causes import causes
from gradcli.schema import names as schemas

from . import texts
from .mdoc import Item, argument, escape_roff, page, paragraphs, tag_list

LEAD = 21  # lines of a command's help above the options
RELATED = {
    "grad": ["jacobian", "gradcheck", "trace"],
    "eval": ["grad"],
    "jacobian": ["grad", "hessian", "vjp", "jvp"],
    "hessian": ["grad", "hvp"],
    "vjp": ["jvp", "jacobian"],
    "jvp": ["vjp", "jacobian"],
    "hvp": ["hessian"],
    "graph": ["trace"],
    "trace": ["graph", "grad"],
    "why": ["grad", "trace"],
    "symbolic": ["grad", "ops"],
    "run": ["grad", "trace"],
    "watch": ["gradcheck", "mutate"],
    "precision": ["gradcheck", "plot", "symbolic"],
}


def option_item(option: click.Option, command: str) -> Item:
    flags = sorted(option.opts, key=lambda flag: (flag.startswith("--"), flag))
    metavar = ""
    if not option.is_flag and not isinstance(option.flag_value, str):
        choices = getattr(option.type, "choices", None)
        metavar = option.metavar or ("|".join(map(str, choices)) if choices else "VALUE")
    value = f" Ar {argument(metavar)}" if metavar else ""
    options = texts.OPTIONS | {"--format": texts.LINES.get(command, "")} | texts.OPTIONS_OF.get(command, {})
    more = next((options[flag] for flag in flags if flag in options), "")
    return " , ".join(f"Fl {escape_roff(flag[1:])}{value}" for flag in flags), f"{option.help or ''} {more}".strip()


def split_help(text: str) -> tuple[str, str]:
    """Split a help text into the paragraphs that fit above the options and those that follow the options."""
    parts = inspect.cleandoc(text).split("\n\n")
    ends = list(itertools.accumulate(len(part.split("\n")) + 1 for part in parts))
    kept = max(1, sum(end <= LEAD for end in ends))
    return "\n\n".join(parts[:kept]), "\n\n".join(parts[kept:])


def takes_target(command: click.Command) -> bool:
    return any("TARGET" in (p.metavar or "") for p in command.params if isinstance(p, click.Argument))


def command_page(name: str, command: click.Command, context: click.Context) -> str:
    options = [p for p in command.get_params(context) if isinstance(p, click.Option)]
    arguments = command.collect_usage_pieces(context)[1:]
    references = ["gradcli(1)", *(f"gradcli-{other}(1)" for other in RELATED.get(name, []) if other in COMMANDS)]
    references += ["gradcli-expressions(7)"] if takes_target(command) or name == "ops" else []
    pages = "found manifolds protocol verdict".split() if name == "gradcheck" else []
    references += [f"gradcli-{other}(7)" for other in pages]
    references += ["gradcli-json(5)"] if name in schemas() or name == "schema" else []
    note = [".Pp", *paragraphs("gradcli(1) describes TARGET and VALUE.")]
    lead, rest = split_help(command.help or "")
    more, heading, sections = texts.DESCRIPTIONS.get(name, "").partition("# ")
    below = [".Ss Details", *paragraphs(rest)] if rest else []
    below += paragraphs(heading + sections) if sections else []
    found = [
        (f"Li {', '.join((page.name, *page.also))}", f"{page.title}.")
        for cause, page in causes().items()
        if page.group == name and page.name == cause
    ]
    below += [".Ss Findings", *paragraphs(texts.FINDINGS_OF.get(name, texts.FINDINGS))] if found else []
    below += tag_list(found, compact=True) if found else []
    files = [*texts.PROGRAMS, texts.DATA] if takes_target(command) else []
    files += [texts.WRITTEN] if any(p.name in ("output", "table") for p in command.params) else []
    files += [texts.PARTS] if name == "sweep" else []
    default = " Defaults are in square brackets." if any("[" in (option.help or "") for option in options) else ""
    return page(
        f"gradcli-{name}(1)",
        re.sub(r"^([A-Z])(?=[a-z ])", lambda m: m[1].lower(), COMMANDS[name].rstrip(".")),
        [
            *paragraphs(lead),
            *([".Pp", *paragraphs(more)] if more.strip() else []),
            *(note if takes_target(command) else []),
            *[".Pp", *paragraphs(f"The options are as follows.{default}")],
            *tag_list(option_item(option, name) for option in options),
            *below,
        ],
        [*examples_of(command), *texts.EXAMPLES.get(name, [])] or [f"gradcli {name} --help"],
        references,
        synopsis=[f".Nm gradcli {name}", ".Op Ar options", *(f".Ar {escape_roff(a)}" for a in arguments)],
        files=files,
        status=texts.exit_status(name),
        python=any(p.name == "python" for p in command.params),
    )
