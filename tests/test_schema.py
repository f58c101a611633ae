"""Every JSON document that commands print is what its schema says, and no key is left unsaid."""

import re

import click
import pytest

from gradcli.cli.main import COMMANDS, cli
from gradcli.schema import names, schema_of

from .command import shell
from .schemas import validate
from .test_cases import IN_JSON

jsonschema = pytest.importorskip("jsonschema")


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


@pytest.mark.parametrize("command", DIRECT.strip().splitlines())
def test_direct_runs(command):
    assert validate(shell(f"gradcli {command}").stdout) == 1


@pytest.mark.parametrize("name", [name for name in names() if name != "error"])
def test_every_schema_is_tried(name):
    tried = [line.split()[0] for line in DIRECT.strip().splitlines()]
    assert name in (*tried, "lock") or any(re.search(rf"gradcli {name} ", case.command) for case in IN_JSON.values())


def test_a_verification(tmp_path):
    lock = tmp_path / "gradients.lock"
    done = shell(f"gradcli lock samples/gradients.py -o {lock}; gradcli lock --verify {lock} --json")
    assert validate(done.stdout) == 1


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
