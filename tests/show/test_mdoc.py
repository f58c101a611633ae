"""Manual pages as plain text: groff prints the same words; tests/cases/show/manual_page.txt tests the formatting."""

import re
import shutil

import pytest

from gradcli.show.mdoc import render_page

from ..command import ROOT, run

PAGES = sorted((ROOT / "man").glob("*.[1-9]"))


def words(text: str) -> list[str]:
    text = re.sub("‐\\n *", "", text)  # groff hyphenates words at the end of a line
    return re.sub("[‘’“”`']", "'", text).replace("—", "-").replace("•", "-").split()


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_groff_prints_the_same_words(path):
    printed = run(["groff", "-mdoc", "-Tutf8", "-P-cbou", path]).stdout
    body = printed.strip().partition("\n")[2].rpartition("\n")[0]  # without the header and footer of the page
    assert words(render_page(path.read_text(), 80)) == words(body)
