"""The inputs that are kept: one a line in corpus.txt, as Python writes bytes."""

from __future__ import annotations

import ast
from pathlib import Path

PLACE = Path(__file__).parent / "corpus.txt"


def kept() -> list[bytes]:
    """Return the inputs."""
    return [ast.literal_eval(line) for line in PLACE.read_text().splitlines() if line.strip()]
