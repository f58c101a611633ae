"""Files that are replaced atomically."""

import os

from gradcli.files import replacing


def test_an_existing_file_keeps_its_mode_and_umask_is_not_called(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    path.write_text("old")
    path.chmod(0o640)
    monkeypatch.setattr(os, "umask", lambda mask: 1 / 0)  # another thread may be creating a file
    with replacing(str(path)) as file:
        file.write(b"new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_mode_given_by_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing(str(tmp_path / "result.json")) as file:
            file.write(b"new")
    finally:
        assert os.umask(before) == 0o027
    assert (tmp_path / "result.json").stat().st_mode & 0o777 == 0o640
