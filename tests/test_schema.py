"""JSON schemas: every command with JSON output has one, and they are valid and describe every key."""

import re

import click
import pytest

from gradcli.cli.main import COMMANDS, cli
from gradcli.schema import names, schema_of

from .test_cases import CASES, IN_JSON, cases_of

jsonschema = pytest.importorskip("jsonschema")


@pytest.mark.parametrize("name", [name for name in names() if name not in ("error", "lock")])
def test_every_schema_has_a_case(name):
    commands = [case.command for path in CASES for case in cases_of(path)]
    assert any(re.search(rf"gradcli {name} .*json", command) for command in commands)


def test_there_are_cases_in_json():
    assert len(IN_JSON) > 10


@pytest.mark.parametrize("name", names())
def test_schemas_are_valid_json_schemas(name):
    jsonschema.Draft202012Validator.check_schema(schema_of(name))


@pytest.mark.parametrize("name", names())
def test_every_key_has_a_description(name):
    parts = [schema_of(name)]
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "object":
            for key, value in part.get("properties", {}).items():
                assert value.get("description") or key in ("re", "im"), key
        parts += part.values() if isinstance(part, dict) else part if isinstance(part, list) else []


def test_every_command_with_json_has_a_schema():
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        formats = [p.type.choices for p in command.params if p.name == "format" and isinstance(p.type, click.Choice)]
        if any("json" in choices for choices in formats):
            assert name in names(), f"write gradcli/schema/{name}.json"
