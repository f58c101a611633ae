"""While a step is checked, a line says so; a check that will take long is announced."""

import io
import itertools
import json
import threading

from gradcli.guard import step_progress
from gradcli.guard.step_progress import following


def follow_one(tmp_path, monkeypatch, seconds, shows):
    """Follow until the status of a step has been read twice, and therefore handled once."""
    noted, stream, handled, reads = [], io.StringIO(), threading.Event(), itertools.count()
    read = step_progress.read_status

    def reading(folder):
        for status in read(folder):
            if next(reads):
                handled.set()
            yield status

    monkeypatch.setattr(step_progress, "POLL", 0.001)
    monkeypatch.setattr(step_progress, "read_status", reading)
    with following(str(tmp_path), noted.append, shows, stream):
        (tmp_path / "step-7.json").write_text(json.dumps({"step": 4, "optimizer": "SGD", "seconds": seconds}))
        assert handled.wait(60)
    return noted, stream.getvalue()


def test_a_line_is_shown_on_a_terminal_and_cleared(tmp_path, monkeypatch):
    noted, written = follow_one(tmp_path, monkeypatch, 0.01, True)
    assert noted == [] and "checking step 4 of SGD (0 s)" in written and written.endswith("\r\x1b[K")


def test_a_long_check_is_announced_once(tmp_path, monkeypatch):
    noted, _ = follow_one(tmp_path, monkeypatch, 20.0, True)
    assert noted == ["checking step 4 of SGD: this takes 60 s or more, since the step itself took 20 s"]


def test_nothing_is_written_to_a_file(tmp_path, monkeypatch):
    assert follow_one(tmp_path, monkeypatch, 0.01, False) == ([], "")
