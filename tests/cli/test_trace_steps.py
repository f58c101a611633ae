"""Step through a trace, as on a terminal."""

import click
import pytest

from gradcli.cli import messages
from gradcli.cli.main import main

KEYS = {"q": (1, False), "  q": (3, False), "a": (1, True), " a": (2, True), " " * 9: (4, True)}


@pytest.mark.parametrize("keys", KEYS)
def test_keys_show_the_next_step_or_all_steps_or_quit(keys, monkeypatch, capsys):
    """The parts are forward, heading and three steps: q quits, a shows all that remain, any other key the next one."""
    asked, whole = KEYS[keys]
    left = list(keys)
    monkeypatch.setattr(messages, "is_terminal", lambda stream: True)
    monkeypatch.setattr(click, "getchar", lambda: left.pop(0))
    assert main(["trace", "sin(x)*2", "x=1", "--step", "--color", "never"]) == 0
    out, err = capsys.readouterr()
    assert "any key: next step   a: all remaining steps   q: quit" in err
    assert len(keys) - len(left) == asked
    assert ("x.grad = " in out) == whole
