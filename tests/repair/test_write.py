"""Patches as diffs, and files that are changed completely or not at all."""

import os
import shutil
import subprocess
import tempfile

import pytest

from gradcli.errors import GradcliError
from gradcli.repair.write import write_all
from gradcli.results.patches import Patch, Replacement
from gradcli.results.repairs import FixReport

TEXT = "def f(x):\r\n    return  x  # keep\r\n\x0cdef g(x):\n    return x"


def patch_of(path, old, new, text=TEXT, nth=0):
    start = -1
    for _ in range(nth + 1):
        start = text.index(old, start + 1)
    stop = start + len(old)
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    piece = Replacement(line, column, line, column + len(old), new, start, stop)
    after = text[:start] + new + text[stop:]
    return Patch(os.path.basename(path), str(path), line, text, after, (piece,), 0, 1, 1e-9)


class Repaired:
    """A check with a patch, as far as a diff needs it."""

    name, passed, verdict = "f", False, "fail"

    def __init__(self, patch):
        self.patch = patch


def diff_of(*patches):
    return FixReport("t", tuple(map(Repaired, patches)), (), 0.0).diff


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "grads.py"
    path.write_bytes(TEXT.encode())
    return path


def test_line_ends_and_comments_stay(path):
    assert write_all([patch_of(path, "x  #", "2 * x  #")]) == ("grads.py",)
    assert path.read_bytes() == TEXT.replace("x  #", "2 * x  #").encode()


def test_mode_stays_and_links_are_followed(path, tmp_path):
    path.chmod(0o640)
    link = tmp_path / "link.py"
    link.symlink_to(path)
    write_all([patch_of(link, "x  #", "3 * x  #")])
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert "3 * x" in path.read_text()


def test_a_changed_file_stays_as_it_is(path):
    path.write_text("something else")
    with pytest.raises(GradcliError, match=r"grads\.py changed while gradcli searched; nothing was written"):
        write_all([patch_of(path, "x  #", "2 * x  #")])
    assert path.read_text() == "something else"


def test_a_read_only_file_stays_as_it_is(path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)  # as root, every file can be written
    with pytest.raises(GradcliError, match=r"grads\.py is read-only; nothing was written"):
        write_all([patch_of(path, "x  #", "2 * x  #")])
    assert path.read_bytes() == TEXT.encode()


def test_a_missing_file_is_one_error(path):
    path.unlink()
    with pytest.raises(GradcliError, match="cannot read"):
        write_all([patch_of(path, "x  #", "2 * x  #")])


def test_two_changes_of_one_place_are_refused(path):
    with pytest.raises(GradcliError, match="two fixes change the same place"):
        write_all([patch_of(path, "x  #", "2 * x  #"), patch_of(path, "x  # keep", "3 * x")])
    assert path.read_bytes() == TEXT.encode()


def test_the_same_change_twice_is_one_change(path):
    patch = patch_of(path, "x  #", "2 * x  #")
    write_all([patch, patch])
    assert path.read_bytes() == patch.after.encode()
    assert diff_of(patch, patch) == patch.diff


def test_no_file_is_changed_if_one_of_them_cannot_be(path, tmp_path, monkeypatch):
    other = tmp_path / "other.py"
    other.write_bytes(TEXT.encode())
    real = tempfile.mkstemp
    folders = iter([tmp_path, None])

    def refuse(*args, **more):
        if next(folders) is None:
            raise PermissionError(13, "Permission denied")
        return real(*args, **more)

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(GradcliError, match=r"cannot write other\.py: Permission denied; nothing was written"):
        write_all([patch_of(path, "x  #", "2 * x  #"), patch_of(other, "x  #", "2 * x  #")])
    assert path.read_bytes() == other.read_bytes() == TEXT.encode()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["grads.py", "other.py"]


def test_a_diff_has_the_changes_of_a_file_once(path):
    both = [patch_of(path, "x  #", "2 * x  #"), patch_of(path, "return x", "return 3 * x")]
    diff = diff_of(*both)
    assert diff.count("--- a/grads.py") == 1
    assert "+    return  2 * x  # keep" in diff
    assert "+    return 3 * x\n\\ No newline at end of file" in diff


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_applies_a_diff(path, tmp_path):
    both = [patch_of(path, "x  #", "2 * x  #"), patch_of(path, "return x", "return 3 * x")]
    git = ["git", "apply", "-"]
    subprocess.run(git, input=diff_of(*both).encode(), cwd=tmp_path, check=True, timeout=60)
    assert path.read_bytes() == TEXT.replace("x  #", "2 * x  #").replace("return x", "return 3 * x").encode()
