"""While a step is checked, a line says so; a check that will take long is announced."""

import io
import json
import threading

from gradcli.guard import step_progress
from gradcli.guard.step_progress import following


def follow_one(tmp_path, monkeypatch, seconds, shows):
    monkeypatch.setattr(step_progress, "POLL", 0.001)
    noted, drawn, stream = [], threading.Event(), io.StringIO()
    write = stream.write
    stream.write = lambda text: (write(text), drawn.set())

    def note(text):
        noted.append(text)
        drawn.set()

    with following(str(tmp_path), note, shows, stream):
        (tmp_path / "step-7.json").write_text(json.dumps({"step": 4, "optimizer": "SGD", "seconds": seconds}))
        assert drawn.wait(60) or not shows
    return noted, stream.getvalue()


def test_a_line_is_shown_on_a_terminal_and_cleared(tmp_path, monkeypatch):
    noted, written = follow_one(tmp_path, monkeypatch, 0.01, True)
    assert noted == [] and "checking step 4 of SGD (0 s)" in written and written.endswith("\r\x1b[K")


def test_a_long_check_is_announced_once(tmp_path, monkeypatch):
    noted, _ = follow_one(tmp_path, monkeypatch, 20.0, True)
    assert noted == ["checking step 4 of SGD: this takes 60 s or more, since the step itself took 20 s"]


def test_nothing_is_written_to_a_file(tmp_path, monkeypatch):
    assert follow_one(tmp_path, monkeypatch, 0.01, False) == ([], "")
