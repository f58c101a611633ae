"""Every command has a renderer for each of its results in each of its formats."""

from importlib import import_module

import pytest

from gradcli.cli.main import COMMANDS, cli
from gradcli.results import base, causes, checks, graphs, studies
from gradcli.results.formats import FORMATS

MODULES = (base, checks, studies, graphs, causes)
ROWS = ("rows", "arrays")
READ = {"tsv": ROWS, "csv": ROWS, "json": ("json",), "text": ROWS, "npz": ("arrays",), "npy": ("arrays",)}
"""A format can write a result of any type that has one of these attributes."""
PICTURES = {"svg", "png"}
OTHERS = {"int", "None", "bool"}


def formats_of(name: str) -> list[str]:
    params = cli.get_command(None, name).params
    choices = [p.type.choices for p in params if p.name == "format" and hasattr(p.type, "choices")]
    return [form for forms in choices for form in forms]


def formats_and_results(name: str) -> list[tuple[str, str]]:
    command = cli.get_command(None, name)
    function = getattr(command.callback, "__wrapped__", command.callback)
    results = {kind.strip() for kind in function.__annotations__.get("return", "int").split("|")} - OTHERS
    return [(form, kind) for form in formats_of(name) for kind in sorted(results)]


def takes(form: str, kind: type) -> bool:
    writer = import_module(f"gradcli.show.{FORMATS[form].module}").WRITERS[form]
    return (
        kind in writer
        if isinstance(writer, dict)
        else any(hasattr(kind, need) for need in READ.get(form, ("_fields",)))
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_format_of_a_command_can_write_its_results(name):
    types = {key: value for module in MODULES for key, value in vars(module).items()}
    for form, kind in formats_and_results(name):
        missing = kind == "LongNumbers" and form in {"npz", "npy", *PICTURES}  # high-precision numbers are text
        missing |= kind == "Tabulated" and form in {"latex", "npy"}  # these raise an error, which test_cases tests
        assert takes(form, types[kind]) or missing, f"gradcli {name} -f {form} cannot write {kind}"


def test_every_format_belongs_to_a_command():
    used = {form for name in COMMANDS for form in formats_of(name)}
    assert used == set(FORMATS) - {"report", "notebook"}
