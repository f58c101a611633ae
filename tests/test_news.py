"""The files in man/news have the form that `make changelog` expects, and none of them repeats another."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter

import pytest

from .command import ROOT

NEWS = sorted((ROOT / "man/news").glob("*"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
KINDS = [kind["directory"] for kind in SETTINGS["type"]]
FRAGMENTS = [path for path in NEWS if path.name != "template.md"]


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.name)
def test_a_fragment_is_a_list_of_its_kind(path):
    assert re.fullmatch(rf"[a-z-]+\.({'|'.join(KINDS)})\.md", path.name)
    text = path.read_text()
    assert re.fullmatch(r"(- \S.*\n(  \S.*\n)?(  \S.*\n)?)+", text), "a list; each item has at most three lines"
    assert max(map(len, text.splitlines())) <= 145


def test_no_line_is_there_twice():
    lines = Counter(line for path in FRAGMENTS for line in path.read_text().splitlines())
    assert [line for line, count in lines.items() if count > 1] == []


def test_the_changelog_has_a_place_for_the_news():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert text.count(SETTINGS["start_string"]) == 1
    assert "Unreleased" not in text


def test_the_news_become_a_section_of_the_changelog(tmp_path):
    """Four headings in order, and every line of the fragments."""
    if not FRAGMENTS:
        pytest.skip("nothing has changed since the last version")
    pytest.importorskip("towncrier", reason="towncrier, which `make site` installs, joins the fragments")
    for name in ("CHANGELOG.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "man/news", tmp_path / "man/news")
    command = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", "9.9.9"]
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    section = (tmp_path / "CHANGELOG.md").read_text().partition("## [9.9.9]")[2].partition("\n## ")[0]
    assert re.findall("^### (.*)", section, re.M) == ["Added", "Changed", "Removed", "Fixed"]
    lines = {line for path in FRAGMENTS for line in path.read_text().splitlines()}
    assert lines <= set(section.splitlines())
