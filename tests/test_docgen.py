"""The committed manual pages are what the commands' help says now."""

from pathlib import Path

import pytest

from gradcli.docgen import DATE, pages

MAN = Path(__file__).parents[1] / "man"


@pytest.mark.parametrize("name", pages(DATE))
def test_page_is_current(name):
    assert (MAN / name).read_text() == pages(DATE)[name], "run python -m gradcli.docgen"
