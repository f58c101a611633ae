"""The page of a command, from its help, options and epilog."""

from __future__ import annotations

import re

import click

from gradcli.cli.main import COMMANDS
from gradcli.schema import names as schemas

from . import texts
from .mdoc import argument, escape_roff, examples, page, paragraphs, section, see_also, tag_list

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
    "symbolic": ["grad", "ops"],
    "run": ["grad", "trace"],
    "watch": ["gradcheck", "mutate"],
    "precision": ["gradcheck", "plot", "symbolic"],
}


def flags_of(option: click.Option) -> list[str]:
    """Return the spellings of an option, the short ones first."""
    return sorted({*option.opts, *option.secondary_opts}, key=lambda flag: (flag.startswith("--"), flag))


def option_item(option: click.Option) -> tuple[str, str]:
    """Return head and text of an option."""
    flags = flags_of(option)
    metavar = ""
    if not option.is_flag and not isinstance(option.flag_value, str):
        choices = getattr(option.type, "choices", None)
        metavar = option.metavar or ("|".join(map(str, choices)) if choices else "VALUE")
    value = f" Ar {argument(metavar)}" if metavar else ""
    more = next((texts.OPTIONS[flag] for flag in flags if flag in texts.OPTIONS), "")
    return " , ".join(f"Fl {escape_roff(flag[1:])}{value}" for flag in flags), f"{option.help or ''} {more}".strip()


def examples_of(name: str, command: click.Command) -> list[str]:
    """Return the command lines of the epilog, and those that the manual adds."""
    shown = (command.epilog or "").partition(":")[2]
    return [e.strip() for e in re.split(r";\s+(?=gradcli )", shown) if e.strip()] + texts.EXAMPLES.get(name, [])


def takes_target(command: click.Command) -> bool:
    """Return whether a command works on a TARGET."""
    return any("TARGET" in (p.metavar or "") for p in command.params if isinstance(p, click.Argument))


def environment() -> list[str]:
    """Return the section on the environment."""
    return section("ENVIRONMENT", tag_list((f"Ev {name}", text) for name, text in texts.ENVIRONMENT))


def exit_status() -> list[str]:
    """Return the section on exit codes."""
    return section("EXIT STATUS", tag_list(texts.EXIT_STATUS))


def files(command: click.Command) -> list[str]:
    """Return the section on files."""
    items = [*texts.PROGRAMS, texts.DATA] if takes_target(command) else []
    items += [texts.WRITTEN] if any(p.name == "output" for p in command.params) else []
    return section("FILES", tag_list((f"Pa {argument(name)}", text) for name, text in items) if items else ["None."])


def command_page(name: str, command: click.Command, context: click.Context, date: str) -> str:
    """Return the page of a command."""
    options = [p for p in command.get_params(context) if isinstance(p, click.Option)]
    arguments = [p.metavar or (p.name or "").upper() for p in command.params if isinstance(p, click.Argument)]
    references = ["gradcli(1)", *(f"gradcli-{other}(1)" for other in RELATED.get(name, []) if other in COMMANDS)]
    references += ["gradcli-expressions(7)"] if takes_target(command) or name == "ops" else []
    references += ["gradcli-found(7)", "gradcli-protocol(7)", "gradcli-verdict(7)"] if name == "gradcheck" else []
    references += ["gradcli-json(5)"] if name in schemas() or name == "schema" else []
    note = [".Pp", *paragraphs("What a TARGET and a VALUE may be is told in gradcli(1).")]
    more = [".Pp", *paragraphs(texts.DESCRIPTIONS[name])] if name in texts.DESCRIPTIONS else []
    return page(
        f"gradcli-{name}",
        1,
        re.sub(r"^([A-Z])(?=[a-z ])", lambda m: m[1].lower(), COMMANDS[name].rstrip(".")),
        date,
        section("SYNOPSIS", [f".Nm gradcli {name}", ".Op Ar options", *(f".Ar {escape_roff(a)}" for a in arguments)]),
        section(
            "DESCRIPTION",
            [
                *paragraphs(command.help or ""),
                *more,
                *(note if takes_target(command) else []),
                ".Pp",
                "The options are:",
                *tag_list(option_item(option) for option in options),
            ],
        ),
        environment(),
        files(command),
        exit_status(),
        section("EXAMPLES", examples(examples_of(name, command) or [f"gradcli {name} --help"])),
        section("SEE ALSO", see_also(references)),
    )
