"""Every JSON document that commands print is what its schema says, and no key is left unsaid."""

import re
from pathlib import Path

import click
import pytest

from gradcli.cli.main import COMMANDS, cli
from gradcli.schema import names, schema_of

from .command import ROOT, shell
from .schemas import validate
from .test_cases import CASES, cases_of

jsonschema = pytest.importorskip("jsonschema")


def is_document_elsewhere(command: str) -> bool:
    words = "json" in command and "gradcli" in command
    others = "gradcli schema" in command or "sarif" in command
    return words and not others and bool(re.search(r"[|>]|-o |--output", command))


IN_JSON = [
    case for path in CASES for case in [case for case in cases_of(path) if is_document_elsewhere(case.command)][::3]
]
"""A third of each file's cases whose documents go elsewhere than to standard output, where test_cases looks at them."""
WRITTEN = re.compile(r"gradcli [^;|&]*(?:-o |--output[ =]|> *)(\S+\.json)")
"""A file that gradcli writes, in a command."""
DIRECT = """
eval 'y = x^2' x='[1, 2]' --json
eval 'y = x^2 / z' x=0:1 z=-1:1 --points 3 --json
eval 'y = x^2' x='[1, 2]' --digits 20 --json
grad 'real(x * conj(x))' x=1+2j --dtype complex128 --json
grad 'y = x*x; sum(y)' x='[1, 2]' --retain y --symbolic --check --json
jacobian 'x * x' x='[2, 3]' --sparse --json
jacobian 'x * x' x='[2, 3]' --symbolic --json
hessian 'x * x * y' x=3 y=2 --digits 20 --json
hessian 'sum(x**3)' x='[1, 2]' --symbolic --json
vjp 'x * [1, 2, 3]' x=2 -g '[1, 0, 1]' --json
jvp '[x*y, x+y]' x=2 y=3 --tangent x=1 --json
hvp 'x**2 * y' x=2 y=3 --tangent x=1 --json
gradcheck 'x**2 * sin(y)' x=2 y=3 --digits 40 --symbolic --json
gradcheck 'abs(x)' x=0 --json
gradcheck 'x * [1, 2]' x='[1, 2]' --json
gradcheck samples --json
gradcheck 'x**2' x=2 --list --json
plot 'x^2 + a' --over x=-1:1 a=2 --points 5 --json
plot 'log(x) * y' --over x=-1:1 --over y=0:1 --points 5 --json
precision 'y = 1/x; y*a' x=-1:1 a=2 --points 5 --json
gradcheck samples/gradients.py:mean_square --grad mean_square_gradient x='[1, 2, 4]' --json
gradcheck 'where(x > 20, x, log1p(exp(x)))' x=1 --search 20 --json
symbolic 'x^2 * y' --steps --json
symbolic 'y = sum((A@x)^2)' --matrix --shape A=m,n --shape x=n --steps --json
symbolic 'A@x' --matrix --shape A=m,3 --shape x=3 --wrt x --json
symbolic 'x^2 * y' --order 2 --at x=2 --at y=1 --json
graph samples/network.py --json
graph 'y = sin(x); sum(y * y)' x='[2, 3]' --values --json
trace samples/hooks.py --json
ops --json
grad 'x**2 + sinn(y)' x=1 y=2 --json
grad 'x' --json
grad missing.expr --json
frobnicate --json
mutate samples/gradients.py:mean_square_gradient --json -- true
"""


def run(command: str, folder: Path, tmp_path: Path) -> str:
    """Run a command line for the shell; return what every gradcli in it wrote to its standard output."""
    log = tmp_path / "log"
    log.touch()
    shell(command, folder, pipe=f'| tee -a "{log}"')
    return log.read_text()


@pytest.mark.parametrize("command", DIRECT.strip().splitlines())
def test_direct_runs(command, tmp_path):
    assert validate(run(f"gradcli {command}", ROOT, tmp_path)) == 1


@pytest.mark.parametrize("case", IN_JSON, ids=repr)
def test_cases(case, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    case.write_files(folder)
    validate(run(case.command, folder, tmp_path))
    for path in folder.glob("*.json"):
        if path.name in WRITTEN.findall(case.command):
            assert validate(path.read_text()) > 0


@pytest.mark.parametrize("name", [name for name in names() if name != "error"])
def test_every_schema_is_tried(name):
    tried = [line.split()[0] for line in DIRECT.strip().splitlines()]
    assert name in (*tried, "lock") or any(re.search(rf"gradcli {name} ", case.command) for case in IN_JSON)


def test_a_verification(tmp_path):
    lock = tmp_path / "gradients.lock"
    run(f"gradcli lock samples/gradients.py -o {lock}", ROOT, tmp_path)
    assert validate(run(f"gradcli lock --verify {lock} --json", ROOT, tmp_path)) == 1


def test_there_are_cases_in_json():
    assert len(IN_JSON) > 10


@pytest.mark.parametrize("name", names())
def test_schemas_are_schemas(name):
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
