"""What there is to say about the functions of the table."""

from __future__ import annotations

from typing import NamedTuple


class Operation(NamedTuple):
    """A function of the table, described in text. Empty where there is nothing to say."""

    name: str
    aliases: tuple[str, ...]
    kind: str
    signature: str
    doc: str
    derivatives: tuple[tuple[str, str], ...]
    domain: str
    subgradient: str
    twin: str
    numpy: tuple[str, ...]


class Operations(NamedTuple):
    """Functions of the table. full: whether everything about them is wanted, or one line each."""

    entries: tuple[Operation, ...]
    full: bool = False
