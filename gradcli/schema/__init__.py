"""JSON Schemas (2020-12) of what commands print with --json: one file per command, and what they share.

A file holds the keys of its command; the head that all documents have and the definitions that it uses are added
here, so that what `gradcli schema` prints is complete.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return what there are schemas for: commands, and `error`."""
    return sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "common")


@functools.cache
def read_schema(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def schema_of(name: str) -> dict[str, Any]:
    """Return the schema of a command's output, or of errors, complete in itself."""
    own, common = read_schema(name), read_schema("common")
    if name != "error":
        head = common["head"]
        command = {"command": {**head["properties"]["command"], "const": name}}
        own = {
            **own,
            "properties": {**head["properties"], **command, **own["properties"]},
            "required": [*head["required"], *own["required"]],
        }
    used: set[str] = set()
    waiting = [own]
    while waiting:  # definitions have references, too
        found = set(re.findall(r'"\$ref": "#/\$defs/(\w+)"', json.dumps(waiting.pop()))) - used
        used |= found
        waiting += [common["$defs"][name] for name in found]
    definitions = {key: value for key, value in common["$defs"].items() if key in used}
    return {"$schema": DIALECT, **own, **({"$defs": definitions} if definitions else {})}
