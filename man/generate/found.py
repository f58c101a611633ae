"""The page gradcli-found(7): wrong derivatives in released packages, told by the samples that show them."""

from __future__ import annotations

import ast
from pathlib import Path

from .mdoc import Item, argument, page, paragraphs, tag_list

SAMPLES = Path(__file__).parents[2] / "samples" / "found"
DESCRIPTION = """
These are mistakes that gradcli-gradcheck(1) has shown in releases of well-known packages. Each has a file in
samples/found with two checks: that of what was released, which fails, and that of the right formula, which passes.
The formula is held against differences of its function in 30 digits whenever the file is imported. Where another
release is installed, or none, the file is skipped and says so; `make test-found` installs each release in an
environment of its own.
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
    """Return release and function of a sample, and what it says of them."""
    heading, _, text = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")
    mistake, _, formula = text.partition("\n\nRight: ")
    return f"Sy {argument(heading)}", f"{mistake}\n\nRight: {formula.rstrip('.')}."
