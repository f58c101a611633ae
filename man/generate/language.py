"""The page gradcli-expressions(7): the language, and the table of its functions."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.lang.limits import CONSTANTS
from gradcli.lang.operations import describe_entry
from gradcli.lang.parse import PROPERTIES
from gradcli.rules import full_table

from . import texts
from .mdoc import Item, argument, page, paragraphs, tag_list


def functions() -> Iterator[Item]:
    """Yield every function of the language: its call, the first paragraph of its description, and its other names."""
    for name, entry in sorted(full_table().items()):
        if entry.public:
            shown = describe_entry(entry)
            doc = " ".join(shown.doc.strip().split("\n\n")[0].split())
            first = doc.split(" ")[0]
            if len(first) > 1 and first.isalpha() and first != "nan":
                doc = doc[0].upper() + doc[1:]
            also = f" Also called {' and '.join(f'`{other}`' for other in shown.aliases)}." if shown.aliases else ""
            yield name + shown.signature, doc + also


def expressions_page() -> str:
    return page(
        "gradcli-expressions(7)",
        "the expression language of gradcli",
        [
            *paragraphs(texts.LANGUAGE),
            ".Ss Syntax",
            *paragraphs(texts.SYNTAX),
            *tag_list((argument(form), text) for form, text in texts.FORMS),
            ".Pp",
            "An array has these properties:",
            *tag_list(((f"Va x.{name}", texts.PROPERTIES[name]) for name in PROPERTIES), compact=True),
            ".Ss Constants",
            *tag_list(((f"Va {name}", texts.CONSTANTS[name]) for name in CONSTANTS), compact=True),
            ".Ss Inputs and the output",
            *paragraphs(texts.INPUTS),
            ".Ss Functions",
            *paragraphs(texts.FUNCTIONS),
            *tag_list((argument(call), text) for call, text in sorted([*functions(), *texts.SPECIAL.items()])),
        ],
        texts.LANGUAGE_EXAMPLES,
        ["gradcli(1)", "gradcli-grad(1)", "gradcli-ops(1)", "gradcli-json(5)"],
        files=[("*.expr", "Programs in this language."), texts.DATA],
        python=False,
    )
