"""The page gradcli(1): what all commands have in common."""

from __future__ import annotations

from gradcli.cli.main import COMMANDS

from . import texts
from .commands import environment, exit_status
from .differences import DELIBERATE, DIFFERENCES
from .mdoc import argument, examples, page, paragraphs, section, see_also, tag_list


def overview_page(date: str) -> str:
    """Return the page."""
    commands = tag_list((f"Cm {name}", f"{text} See gradcli-{name}(1).") for name, text in COMMANDS.items())
    options = tag_list(
        [
            ("Fl h , Fl \\-help", "Print a summary; after a command, one of its options."),
            ("Fl \\-version", "Print the version."),
        ]
    )
    references = [f"gradcli-{name}(1)" for name in COMMANDS] + [
        "gradcli-json(5)",
        "gradcli-expressions(7)",
        "gradcli-bench(7)",
        "gradcli-found(7)",
        "gradcli-protocol(7)",
        "gradcli-verdict(7)",
    ]
    return page(
        "gradcli",
        1,
        "compute and check gradients",
        date,
        section(
            "SYNOPSIS", [".Nm", ".Op Fl h | Fl \\-help", ".Op Fl \\-version", ".Ar command", ".Op Ar argument ..."]
        ),
        section(
            "DESCRIPTION",
            [
                ".Nm",
                *paragraphs(
                    "differentiates expressions, programs and Python scripts with an engine of its own, which "
                    "records a dynamic graph on NumPy, and checks derivatives written by hand."
                ),
                ".Pp",
                "The commands are:",
                *commands,
                ".Pp",
                "The options are:",
                *options,
                ".Ss Targets",
                *paragraphs(texts.TARGETS),
                ".Ss Values",
                *paragraphs(texts.VALUES),
                ".Ss Output",
                *paragraphs(texts.OUTPUT),
                ".Ss Differences from PyTorch",
                *paragraphs(DIFFERENCES),
                *tag_list((f"Em {argument(head)}", text) for head, text in DELIBERATE),
            ],
        ),
        environment(),
        section(
            "FILES",
            tag_list((f"Pa {argument(name)}", text) for name, text in [*texts.PROGRAMS, texts.DATA, texts.WRITTEN]),
        ),
        exit_status(),
        section("EXAMPLES", examples(texts.EXAMPLES[""])),
        section("SEE ALSO", see_also(references)),
    )
