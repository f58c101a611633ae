"""Pages of the site whose files need a framework."""

import pytest

from tests import gallery
from tests.test_site import check_page


@pytest.mark.parametrize(
    "page", [page for page in gallery.PAGES if gallery.frameworks(page)], ids=lambda page: page.stem
)
def test_commands_print_what_the_page_shows(page, tmp_path):
    check_page(page, tmp_path)
