"""The site: commands print what its pages show, and lists on its pages are complete."""

import itertools
import re
import runpy
import sys
import tomllib
import types
from importlib.util import find_spec

import pytest

from . import gallery
from .bank.run import CHECKERS
from .command import ROOT
from .text import matches

INDEX = (gallery.FOLDER / "gallery/index.md").read_text()
BANK = (gallery.FOLDER / "bank.md").read_text()


@pytest.mark.parametrize("page", gallery.PAGES, ids=lambda page: page.stem)
def test_commands_print_what_the_page_says(page, tmp_path):
    check_page(page, tmp_path)


def check_page(page, folder, most=None):
    """Run the commands of a page, or the first of them."""
    for name in gallery.frameworks(page):
        if find_spec(name) is None:
            pytest.skip(f"needs {name}")
    if gallery.missing(page):
        pytest.skip(f"needs {', '.join(gallery.missing(page))}")
    for command, expected, got in itertools.islice(gallery.run_page(page, folder), most):
        assert matches(gallery.comparable(expected), gallery.comparable(got)), f"$ {command}\n{got}"


@pytest.mark.parametrize("page", sorted(gallery.FOLDER.rglob("*.md")), ids=lambda page: page.stem)
def test_every_block_of_a_page_is_tested(page):
    """A block has commands with their output, a file for commands, or make targets."""
    for kind, title, body in gallery.BLOCK.findall(page.read_text()):
        if kind == "sh":
            assert {line.split()[0] for line in body.splitlines()} == {"make"}
            for target in re.findall(r"^make (\w+)", body, re.M):
                assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M)
        else:
            assert title or kind == "console", body
            assert not title or page in gallery.PAGES


def test_the_index_lists_every_page_of_the_gallery():
    pages = {path.stem for path in (gallery.FOLDER / "gallery").glob("*.md")} - {"index"}
    assert {*re.findall(r"\]\((\w+)\.md\)", INDEX)} == {*re.findall(r"^(\w+)$", INDEX, re.M)} == pages


def test_the_page_on_the_bank_names_all_checkers_and_columns():
    assert sorted(re.findall(r"CHECKER=(\w+)", BANK)) == CHECKERS
    heads = BANK.partition("python -m tests.bank")[2].splitlines()[1].replace("small found", "small_found").split()
    assert {name.replace("_", " ") for name in heads[1:]} == {*re.findall(r"`([a-z ]+)`", BANK.partition("\n## ")[0])}


def test_the_glossary_explains_words_that_users_meet():
    """Its words are in alphabetical order, and each is in the manual, in a finding or on a page."""
    words = re.findall(r"^(\S.*)\n: ", (gallery.FOLDER / "glossary.md").read_text(), re.M)
    assert len(words) >= 20 and words == sorted(words, key=str.lower)
    sources = [*(ROOT / "man").glob("*.[157]"), ROOT / "README.md", ROOT / "gradcli/results/causes.toml"]
    text = " ".join(" ".join(path.read_text() for path in sources).split())
    assert [word for word in words if word.split(",")[0].partition(" (")[0] not in text] == []


def test_every_page_of_the_manual_is_listed():
    """conf.py finds the pages of commands by itself and lists the other pages by name."""
    listed = (ROOT / "man/site/conf.py").read_text()
    assert [page.name for page in (ROOT / "man").glob("*.[57]") if f"manual/{page.name}" not in listed] == []


def test_the_page_of_findings_is_complete(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypandoc", types.ModuleType("pypandoc"))  # not needed for this page
    page = runpy.run_path(str(ROOT / "man/site/conf.py"))["findings"]()
    names = tomllib.loads((ROOT / "gradcli/results/causes.toml").read_text())
    assert [f"## {name}" for name in names] == re.findall("^## .*", page, flags=re.M)
