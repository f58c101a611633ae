"""Pages of the site whose files need a framework."""

import pytest

from tests import gallery
from tests.test_site import check_page


@pytest.mark.parametrize("most", [3, pytest.param(None, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "page", [page for page in gallery.PAGES if gallery.frameworks(page)], ids=lambda page: page.stem
)
def test_commands_print_what_the_page_shows(page, most, tmp_path):
    """Run some of the commands. A program that trains takes 5 s, and case files have similar ones."""
    check_page(page, tmp_path, most)
