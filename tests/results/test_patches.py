"""What `gradcli fix` says of an edit in one line."""

import pytest

from gradcli.results.patches import Patch, Replacement

EDIT = Replacement(3, 1, 3, 2, "x", 0, 1)


@pytest.mark.parametrize(
    "edits, others, text",
    [
        (1, 0, "one edit in line 3 of a.py; no other edit gives the same values"),
        (1, 1, "one edit in line 3 of a.py; 1 other edit gives the same values"),
        (1, 2, "one edit in line 3 of a.py; 2 other edits give the same values"),
        (2, 1, "two edits in line 3 of a.py; 1 other pair of edits gives the same values"),
        (2, 3, "two edits in line 3 of a.py; 3 other pairs of edits give the same values"),
    ],
)
def test_summary_says_what_other_edits_give(edits, others, text):
    assert Patch("a.py", "/a.py", 3, "", "", (EDIT,), others, 9, 1e-9, edits).summary == text
