"""Words and files that a shell may offer."""

from __future__ import annotations

import os
from collections.abc import Iterable

from click.shell_completion import CompletionItem

Items = list[CompletionItem]


def item(value: str, help: str | None = None) -> CompletionItem:
    """Return something to offer; what ends in = : or / is to be gone on with."""
    return CompletionItem(value, "more" if value.endswith(("=", ":", "/")) else "plain", help)


def items(values: Iterable[str], incomplete: str, head: str = "") -> Items:
    """Return the values that go on where the incomplete word stops, with a head in front."""
    return [item(head + value) for value in values if (head + value).startswith(incomplete)]


def entries(incomplete: str, endings: tuple[str, ...] = (), head: str = "") -> Items:
    """Return folders, and files with one of the endings (all without any), beside the incomplete path."""
    folder, name = os.path.split(incomplete)
    found = []
    with os.scandir(os.path.expanduser(folder) or ".") as inside:
        for entry in sorted(inside, key=lambda e: e.name):
            if not entry.name.startswith(name) or (entry.name.startswith(".") and not name):
                continue
            path = head + incomplete[: len(incomplete) - len(name)] + entry.name
            if entry.is_dir():
                found.append(item(path + "/"))
            elif not endings or entry.name.endswith(endings):
                found.append(item(path))
    return found
