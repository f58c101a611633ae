"""Files for GitHub: they follow its schemas, the action's commands run, and pages name only files that exist."""

import json
import os
import re
import subprocess
import sys

import pytest

import gradcli as gradcli_package
from man.generate.architecture import PARTS, architecture_page, layers

from .command import ROOT, gradcli, run
from .test_packaging import PROJECT, VERSIONS

GITHUB = ROOT / ".github"
SCHEMAS = {
    "actions/*/action.yml": "github-actions",
    "workflows/*.yml": "github-workflows",
    "dependabot.yml": "dependabot",
    "ISSUE_TEMPLATE/config.yml": "github-issue-config",
    "ISSUE_TEMPLATE/[!c]*.yml": "github-issue-forms",
}
FILES = {schema: sorted(GITHUB.glob(pattern)) for pattern, schema in SCHEMAS.items()}
ACTION = GITHUB / "actions/gradcheck"
RECIPE = GITHUB / "conda/recipe.yaml"
PAGES = sorted(GITHUB.glob("*.md"))
LOSS = """
import gradcli

@gradcli.check(at={"w": [1.0, 2.0]}, grad=lambda w: %s * w)
def loss(w):
    return (w**2).sum()
"""


@pytest.mark.parametrize("schema", FILES)
def test_files_follow_the_published_schema(schema):
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *FILES[schema]]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_file_has_a_schema_or_is_text():
    others = {path for path in GITHUB.rglob("*") if path.is_file()} - {*sum(FILES.values(), PAGES)}
    assert others == {ACTION / "matcher.json", RECIPE}


def test_every_action_is_pinned_to_a_commit_with_its_version():
    files = [*GITHUB.glob("workflows/*.yml"), ACTION / "action.yml"]
    used = [line for path in files for line in re.findall(r"^ *-? uses: ([^.\s].*)", path.read_text(), re.M)]
    assert len(used) >= 10
    for line in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line), line
    assert len({line.partition("@")[0] for line in used}) == len(set(used))  # one version of each


def test_workflows_have_minimal_permissions_and_can_be_started_by_hand():
    for path in (GITHUB / "workflows").glob("*.yml"):
        text = path.read_text()
        assert "\n  workflow_dispatch:\npermissions:\n  contents: read\nconcurrency:\n" in text, path.name
        assert text.count("timeout-minutes:") == text.count("runs-on:"), path.name


def test_descriptions_of_the_package_agree():
    """The conda-forge recipe and the citation file repeat the package's version, summary and dependencies."""
    recipe, citation = RECIPE.read_text(), (ROOT / "CITATION.cff").read_text()
    assert f'version: "{gradcli_package.__version__}"\n' in recipe
    assert f"\nversion: {gradcli_package.__version__}\n" in citation
    assert f"summary: {PROJECT['description']}\n" in recipe
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    needed = [text.replace(">=", " >=") for text in PROJECT["dependencies"]]
    assert re.findall(r"- (.*)", run) == ["python >=${{ python_min }}", *needed]
    assert f'python_min: "{VERSIONS[0]}"' in recipe
    assert f"license: {PROJECT['license']}\n" in recipe and f"license: {PROJECT['license']}\n" in citation


def steps_of(text: str) -> dict[str, str]:
    """Return the commands of an action by step name."""
    return dict(re.findall(r"- name: (.*)\n(?:(?!    - ).*\n)*?      run: (.*)\n", text))


@pytest.mark.parametrize(("factor", "code"), [(2, 0), (3, 1)])
def test_the_action_checks_gradients_and_writes_a_page(factor, code, path, tmp_path):
    """Run the action's own commands on a right and on a wrong gradient."""
    (tmp_path / "loss.py").write_text(LOSS % factor)
    steps = steps_of((ACTION / "action.yml").read_text())
    given = {"TARGETS": ".", "ARGS": "-j 1", "PATH": path, "FOLDER": str(ACTION)}
    done = run(["bash", "-e", "-c", steps["Check gradients"]], tmp_path, **given)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.startswith("::error file=loss.py,line=4,title=gradcheck loss::") == bool(code)
    if code:
        page = run(["bash", "-e", "-c", steps["Write a page about checks that did not pass"]], tmp_path, **given)
        assert page.returncode == 0, page.stderr
        assert "<html" in (tmp_path / "gradcheck.html").read_text()
    told = run(["bash", "-e", "-c", steps["Also annotate what later steps print as a table"]], tmp_path, **given).stdout
    assert os.path.exists(told.strip().removeprefix("::add-matcher::"))


def test_the_action_declares_the_inputs_that_it_uses():
    text = (ACTION / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(re.findall(r"^  ([\w-]+):\n    description", text, re.M))
    used = (GITHUB / "workflows/gradcheck.yml").read_text().rpartition("with:\n")[2]
    assert set(re.findall(r"^ {10}([\w-]+):", used, re.M)) <= set(re.findall(r"inputs\.([\w-]+)", text))


def test_the_matcher_finds_failures_in_a_table(tmp_path):
    """GitHub matches the patterns of a matcher against consecutive lines."""
    (tmp_path / "loss.py").write_text(LOSS % 3)
    lines = gradcli("gradcheck", "loss.py", "-f", "table", cwd=tmp_path).stdout.splitlines()
    matcher = json.loads((ACTION / "matcher.json").read_text())["problemMatcher"][0]
    first, second = matcher["pattern"]
    at = next(i for i, line in enumerate(lines) if re.search(first["regexp"], line))
    assert matcher["severity"] == "error"
    assert re.search(first["regexp"], lines[at])[first["file"]] == "loss.py"
    assert re.search(first["regexp"], lines[at])[first["line"]] == "4"
    assert re.search(second["regexp"], lines[at + 1])[second["message"]].startswith("w[1]: claimed 6, numeric 4")
    (tmp_path / "loss.py").write_text(LOSS % 2)
    passed = gradcli("gradcheck", "loss.py", "-f", "table", cwd=tmp_path).stdout.splitlines()
    assert not [line for line in passed if re.search(first["regexp"], line)]


def test_the_matcher_warns_about_inconclusive_checks(tmp_path):
    text = "import gradcli\nimport numpy as np\n\n\n@gradcli.check(at={'x': 1.0}, grad=lambda x: 0.0)\n"
    (tmp_path / "stair.py").write_text(text + "def stair(x):\n    return np.floor(x)\n")
    lines = gradcli("gradcheck", "stair.py", "-f", "table", cwd=tmp_path).stdout.splitlines()
    matcher = json.loads((ACTION / "matcher.json").read_text())["problemMatcher"][1]
    assert matcher["severity"] == "warning"
    assert re.search(matcher["pattern"][0]["regexp"], lines[0])[1] == "stair.py"


def test_the_architecture_page_is_current():
    assert (GITHUB / "ARCHITECTURE.md").read_text() == architecture_page(), "run make man"
    assert re.findall(r"^### (.*)$", architecture_page(), re.M) == list(PARTS)
    packages = {path.parent.name for path in (ROOT / "gradcli").glob("*/__init__.py")} - {"lang"}
    assert packages < {name for row in layers(gradcli_package.__doc__ or "") for name in re.findall(r"\w+", row)}


def test_the_workflow_tests_the_declared_python_versions():
    text = (GITHUB / "workflows/tests.yml").read_text()
    assert re.findall(r'"(3\.\d+)"', text) == VERSIONS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_on_a_page_exist(page):
    names = re.findall(
        r"`((?:gradcli|tests|man|samples|\.ci|\.github)/[\w./-]*|[\w.-]+\.md|Makefile)`", page.read_text()
    )
    assert len(names) > 1 or page.name == "SKILL.md"
    for name in names:
        if "NAME" in name:
            name = name.rpartition("/")[0]
        assert (ROOT / name).exists() or (GITHUB / name).exists(), name


@pytest.mark.parametrize("form", sorted((GITHUB / "ISSUE_TEMPLATE").glob("[dw]*t.yml")), ids=lambda form: form.name)
def test_issue_forms_ask_for_the_command_that_repeats_the_check(form):
    assert "`again:`" in form.read_text()
