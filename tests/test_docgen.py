"""The manual: the committed pages are current, complete and well-formed, and their examples run."""

import re
import shutil
from pathlib import Path

import pytest

from gradcli.cli.main import COMMANDS
from gradcli.lang.limits import CONSTANTS
from gradcli.lang.parse import PROPERTIES
from gradcli.numeric import decide
from gradcli.rules import full_table
from gradcli.schema import names, schema_of
from man.generate import pages
from man.generate.language import functions
from man.generate.site import PAGES as SITE
from man.generate.site import site_pages

from .command import ROOT, gradcli, run, shell

MAN = ROOT / "man"
PAGES = pages()
SECTIONS = ["DESCRIPTION", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]


def plain(text: str) -> str:
    """Return roff text as it is printed."""
    escapes = {"\\&": "", "\\-": "-", "\\(aq": "'", "\\(ha": "^", "\\(ti": "~", "\\(ga": "`", "\\e": "\\"}
    for escape, character in escapes.items():
        text = text.replace(escape, character)
    return text


def examples(page: str) -> list[str]:
    """Return the command lines of the section EXAMPLES."""
    body = PAGES[page].partition(".Sh EXAMPLES\n")[2].partition(".Sh ")[0]
    return [e.strip() for e in re.sub(r"^\.(Bd|Ed).*\n", "", plain(body), flags=re.M).split("$ ")[1:]]


@pytest.mark.parametrize("name", PAGES)
def test_page_is_current(name):
    assert (MAN / name).read_text() == PAGES[name], "run make man"


def test_the_tables_of_the_site_are_current():
    """They are written by `make man`, and those of decide have all rows."""
    pages = site_pages()
    assert pages.keys() == {"comparison.md", "decisions.md"}
    for name, text in pages.items():
        assert text == (SITE / name).read_text(), "run make man"
    for row in (*decide.ELEMENT, *decide.CHECK):
        assert f" | {row.verdict} | {row.why} |\n" in pages["decisions.md"]


def test_descriptions_of_functions_are_whole_sentences():
    assert [call for call, text in functions() if not text.endswith(".")] == []


def test_there_are_no_stale_pages():
    assert {str(path.relative_to(MAN)) for path in MAN.glob("*.*")} == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_pages_have_all_sections(name):
    found = re.findall(r"^\.Sh (.*)$", PAGES[name], re.M)
    assert found == ["NAME", *(["SYNOPSIS"] if name.endswith(".1") else []), *SECTIONS]
    for variable in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM"):
        assert f".It Ev {variable}\n" in PAGES[name]


@pytest.mark.parametrize("name", PAGES)
def test_references_point_to_existing_pages(name):
    for other, section in re.findall(r"^\.Xr (\S+) (\d)", PAGES[name], re.M):
        assert f"{other}.{section}" in PAGES
        assert name != f"{other}.{section}"


@pytest.mark.parametrize("name", PAGES)
def test_page_is_well_formed(name):
    text = PAGES[name]
    for opening, closing in ((".Bl", ".El"), (".Bd", ".Ed")):
        assert len(re.findall(rf"^\{opening}\b", text, re.M)) == len(re.findall(rf"^\{closing}$", text, re.M))
    assert text.isascii()
    assert not re.search(r"\n\n|[ \t]\n", text)
    if shutil.which("mandoc"):
        lint = run(["mandoc", "-Tlint", MAN / name]).stdout.splitlines()
        complaints = [line for line in lint if "referenced manual not found: Xr gradcli" not in line]
        assert complaints == []  # references are tested above


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_pages_list_the_options_of_help(name):
    shown = gradcli(*([name] if name else []), "--help", COLUMNS="200").stdout
    listed = re.findall(r"^(?:Options|Target and values|Output):\n((?:  .*\n|\n)+)", shown, re.M)
    assert listed, shown
    forms = re.findall(r"^  (-.*?)(?:  .*)?$", "".join(listed), re.M)  # without the texts
    shown_flags = set(re.findall(r"(?:^|, )(--?[\w-]+)", "\n".join(forms), re.M))
    page = PAGES[f"gradcli-{name}.1" if name else "gradcli.1"]
    heads = re.findall(r"^\.It (Fl .*)$", page, re.M)
    assert {f"-{plain(flag)}" for head in heads for flag in re.findall(r"Fl (\S+)", head)} == shown_flags
    assert len(heads) == len(set(heads))


def test_the_language_is_documented_completely():
    text = plain(PAGES["gradcli-expressions.7"])
    for name, entry in full_table().items():
        if entry.public:
            assert re.search(rf'^\.It "?{name}\(', text, re.M), name
            assert all(alias in text for alias in entry.aliases)
    for name in (*CONSTANTS, *(f"x.{name}" for name in PROPERTIES)):
        assert f".It Va {name}\n" in text, name


def test_every_key_of_every_document_is_documented():
    told = set(re.findall(r"^\.It Va (\S+)$", plain(PAGES["gradcli-json.5"]), re.M))

    def keys(part: object) -> set[str]:
        if isinstance(part, list):
            return set().union(*map(keys, part)) if part else set()
        if not isinstance(part, dict):
            return set()
        own = set(part["properties"]) if isinstance(part.get("properties"), dict) and "type" in part else set()
        return own.union(*map(keys, part.values()))

    for name in names():
        assert keys(schema_of(name)) - {"re", "im"} <= told, name


EXAMPLES = sorted({(example, page) for page in PAGES for example in examples(page)})


def test_every_page_has_examples():
    assert {page for _, page in EXAMPLES} == set(PAGES)


def as_parameter(example: str) -> object:
    """Run examples of mutate only nightly, since a case file tests the same mutants."""
    return pytest.param(example, marks=[pytest.mark.nightly] if " mutate " in example else [], id=example)


@pytest.mark.parametrize("example", [as_parameter(example) for example in sorted({example for example, _ in EXAMPLES})])
def test_example_runs(example, path, tmp_path):
    if re.search(r"\.png\b", example) and "gradcli graph" in example and shutil.which("dot") is None:
        pytest.skip("graphs as PNG need Graphviz")
    if " --loss " in example:
        pytest.importorskip("torch")
    folder = shutil.copytree(Path(__file__).parent / "manual", tmp_path / "manual")
    shutil.copytree(ROOT / "samples" / "found", folder / "samples" / "found")
    shutil.copy(ROOT / "samples" / "poses.py", folder / "samples")
    done = shell(f"set -o pipefail\n{example}", folder, PATH=path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert done.returncode == 0, done.stdout + done.stderr
