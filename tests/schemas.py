"""Validate JSON documents against their schemas, and reject keys that these do not name."""

import json
from typing import Any

import jsonschema

from gradcli.schema import names, schema_of


def closed(schema: Any) -> Any:
    """Return a schema that allows no keys beyond those it names."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(value) for key, value in schema.items()}
    is_object = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    return {"additionalProperties": False, **parts} if is_object else parts


VALIDATORS = {name: jsonschema.Draft202012Validator(closed(schema_of(name))) for name in names()}


def validate(text: str) -> int:
    """Check every document of an output against its schema; return how many there were."""
    documents = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    for document in documents:
        name = document.get("command", "error")
        problems = [f"{'/'.join(map(str, e.path))}: {e.message}" for e in VALIDATORS[name].iter_errors(document)]
        assert not problems, problems
    return len(documents)
