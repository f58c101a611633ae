"""The page gradcli-json(5): every key of every document, from the schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcli.cli.main import COMMANDS
from gradcli.schema import names, read_schema

from . import texts
from .mdoc import argument, escape_roff, page, paragraphs

TEXT = "string or nested list of strings"


def kind_of(schema: dict[str, Any]) -> str:
    """Describe in words what a schema allows."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        short = {"text": TEXT, "real": "number", "sparse": "sparse matrix", "typed": "array", "locked": "locked check"}
        return short.get(name, name)
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(kind_of(part) for part in schema["anyOf"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " or ".join(plain_kind(kind, schema) for kind in kinds)


def plain_kind(kind: str, schema: dict[str, Any]) -> str:
    """Describe a type in words, with the type of its items."""
    if kind == "array" and "items" in schema:
        return f"list of {many(kind_of(schema['items']))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {many(kind_of(schema['additionalProperties']))}"
    return kind


def many(kind: str) -> str:
    """Return the plural of a kind of value."""
    return " or ".join(map(plural, kind.split(" or ")))


def plural(words: str) -> str:
    """Return the plural of a noun, or of the one before `of`: lists of numbers."""
    noun, of, rest = words.partition(" of ")
    noun = noun.replace("matrix", "matrice") if noun.endswith("matrix") else noun.removesuffix("s")
    return f"{noun}s{of}{rest}"


def children(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas inside that have keys of their own."""
    if "properties" in schema:
        yield schema
    for part in (*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(part, dict):
            yield from children(part)


def keys(schema: dict[str, Any]) -> list[str]:
    """List an object's keys, with nested ones."""
    lines = [".Bl -tag -width Ds"]
    for key, value in schema["properties"].items():
        optional = "" if key in schema.get("required", ()) else ", optional"
        kind = kind_of(value)
        lines += [f".It Va {argument(key)}", *paragraphs(f"({kind}{optional}) {value.get('description', '')}")]
        for inner in children(value):
            lines += keys(inner)
    return [*lines, ".El"]


def document(schema: dict[str, Any]) -> list[str]:
    """Describe a document, or each of its alternatives."""
    lines = paragraphs(schema["title"] if schema["title"].endswith(".") else f"{schema['title']}.")
    for part in schema.get("anyOf", ()):
        lines += [".Pp", *document(part)]
    return lines + (keys(schema) if "properties" in schema else [])


def json_page() -> str:
    common = read_schema("common")
    lines = [*paragraphs(texts.JSON), ".Ss All documents", *keys(common["head"])]
    order = [name for name in COMMANDS if name in names()]
    for name in [*order, *(n for n in names() if n not in order)]:
        lines += [
            f".Ss {escape_roff('gradcli ' + name) if name in COMMANDS else 'Errors'}",
            *document(read_schema(name)),
        ]
    lines += [".Ss Parts that documents share"]
    parts = {k: v for k, v in common["$defs"].items() if "properties" in v or k in ("number", "array")}
    for i, (name, schema) in enumerate(parts.items()):
        lines += [".Pp"] * (i > 0) + paragraphs(f"`{name}`: {schema['description']}")
        lines += keys(schema) if "properties" in schema else []
    return page(
        "gradcli-json(5)",
        "what gradcli prints with --json",
        lines,
        texts.JSON_EXAMPLES,
        ["gradcli(1)", "gradcli-schema(1)"],
        files=[("*.json", "`-o` writes JSON to files with this ending.")],
    )
