"""The page gradcli-found(7): wrong derivatives in released packages, from the samples that show them."""

from __future__ import annotations

import ast
from pathlib import Path

from .mdoc import Item, argument, page, paragraphs, tag_list

SAMPLES = Path(__file__).parents[2] / "samples" / "found"
DESCRIPTION = """
gradcli-gradcheck(1) found these mistakes in releases of well-known packages. For each of them, samples/found has a file
with two checks: the released derivative, which fails, and the right formula, which passes. When the file is imported,
it compares the right formula with numeric differentiation in 30 digits. If the release is not installed, the file
skips itself with a message. `make test-found` installs each release in a separate environment.
"""
EXAMPLES = ["gradcli gradcheck samples/found", "gradcli gradcheck samples/found/umap_bray_curtis_grad.py -v"]


def found_page() -> str:
    samples = [path for path in sorted(SAMPLES.glob("*.py")) if path.stem != "released"]
    return page(
        "gradcli-found(7)",
        "wrong derivatives that gradcli has found",
        [*paragraphs(DESCRIPTION), ".Ss Mistakes", *tag_list(map(describe, samples))],
        EXAMPLES,
        ["gradcli-gradcheck(1)", "gradcli-verdict(7)"],
        files=[("samples/found", "The samples, named by package and function.")],
        compact=True,
    )


def describe(path: Path) -> Item:
    """Return release and function of a sample, and its description."""
    heading, _, text = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")
    mistake, _, formula = text.partition("\n\nRight: ")
    return f"Sy {argument(heading)}", f"{mistake}\n\nRight: {formula.rstrip('.')}."
