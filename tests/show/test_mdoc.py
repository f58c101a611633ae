"""Pages of the manual as plain text: the words are those that groff prints; tests/cases/page.txt has the forms."""

import re
import shutil

import pytest

from gradcli.show.mdoc import render_page

from ..command import ROOT, run

PAGES = sorted((ROOT / "man").glob("*.[1-9]"))


def words(text: str) -> list[str]:
    text = re.sub("‐\\n *", "", text)  # groff parts words at the end of a line
    return re.sub("[‘’“”`']", "'", text).replace("—", "-").replace("•", "-").split()


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_words_are_those_of_groff(path):
    printed = run(["groff", "-mdoc", "-Tutf8", "-P-cbou", path]).stdout
    body = printed.strip().partition("\n")[2].rpartition("\n")[0]  # without the heading and the foot of the page
    assert words(render_page(path.read_text(), 80)) == words(body)
