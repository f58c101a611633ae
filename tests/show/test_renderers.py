"""Every command has a renderer for each of its results in each of its formats."""

from importlib import import_module

import pytest

from gradcli.cli.main import COMMANDS, cli
from gradcli.show import FORMATS, RENDERERS

WITHOUT = {"LongNumbers": {"npz", "npy", "svg", "png"}}
"""The formats that a result does not have, although another result of its commands has them."""
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


@pytest.mark.parametrize("name", COMMANDS)
def test_every_format_of_a_command_takes_its_results(name):
    for form, kind in formats_and_results(name):
        home = FORMATS[form].module or form
        if form in WITHOUT.get(kind, ()):
            continue
        try:
            import_module(f"gradcli.show.{home}")
        except ImportError as error:  # matplotlib is an extra
            assert error.name in ("matplotlib", "graphviz"), error
            continue
        assert (form, kind) in RENDERERS, f"gradcli {name} -f {form} cannot write {kind}: see gradcli/show/{home}.py"


def test_the_commands_are_seen():
    assert ("tsv", "Gradients") in formats_and_results("grad")
    assert ("npz", "Hessian") in formats_and_results("hessian")


def test_every_format_is_one_of_a_command():
    used = {form for name in COMMANDS for form in formats_of(name)}
    assert set(FORMATS) - used == {"junit"}  # which --junit writes besides
    assert used <= set(FORMATS)
