"""Going through a trace step by step, as on a terminal."""

import click
import pytest

from gradcli.cli import messages
from gradcli.cli.main import main

KEYS = {"q": (1, False), "  q": (3, False), "a": (1, True), " a": (2, True), " " * 9: (4, True)}


@pytest.mark.parametrize("keys", KEYS)
def test_keys(keys, monkeypatch, capsys):
    """The keys are named; q ends, a shows all the rest, any other is one step on. Forward, heading, three steps."""
    asked, whole = KEYS[keys]
    left = list(keys)
    monkeypatch.setattr(messages, "is_terminal", lambda stream: True)
    monkeypatch.setattr(click, "getchar", lambda: left.pop(0))
    assert main(["trace", "sin(x)*2", "x=1", "--step", "--color", "never"]) == 0
    out, err = capsys.readouterr()
    assert "any key: the next step   a: all the rest   q: the end" in err
    assert len(keys) - len(left) == asked
    assert ("x.grad = " in out) == whole
