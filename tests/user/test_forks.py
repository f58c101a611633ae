"""How processes end."""

import pytest

from gradcli.user.forks import ending_text


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (0, "exited with status 0"),
        (7, "exited with status 7"),
        (-9, "was killed by signal 9 (SIGKILL)"),
        (-11, "was killed by signal 11 (SIGSEGV)"),
        (-99, "was killed by signal 99 (unknown)"),
    ],
)
def test_how_a_process_ended_in_words(status, text):
    assert ending_text(status) == text
