"""The page gradcli(1): what all commands have in common."""

from __future__ import annotations

from collections.abc import Iterable

from gradcli.cli.main import COMMANDS

from . import texts
from .differences import DELIBERATE, DIFFERENCES
from .mdoc import argument, page, paragraphs, tag_list

INTRODUCTION = """
differentiates expressions, programs and Python scripts, and checks derivatives written by hand. Its own
engine records a dynamic graph and computes with NumPy.
"""
OPTIONS = [
    ("Fl h , Fl \\-help", "Print a summary. After a command, print its options."),
    ("Fl \\-version", "Print the version."),
]


def overview_page(references: Iterable[str]) -> str:
    return page(
        "gradcli(1)",
        "compute and check gradients",
        [
            ".Nm",
            *paragraphs(INTRODUCTION),
            ".Pp",
            "The options are:",
            *tag_list(OPTIONS),
            ".Ss Commands",
            *tag_list((f"Cm {name}", f"{text} See gradcli-{name}(1).") for name, text in COMMANDS.items()),
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
        texts.EXAMPLES[""],
        references,
        synopsis=[".Nm", ".Op Fl h | Fl \\-help", ".Op Fl \\-version", ".Ar command", ".Op Ar argument ..."],
        files=[*texts.PROGRAMS, texts.DATA, texts.WRITTEN],
        status=texts.EXIT_STATUS,
    )
