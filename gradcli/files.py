"""Files that are written completely or not at all, and the pages of the manual."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """Yield a file that replaces another if the block ends without error. Links are followed, and the mode is kept."""
    target = os.path.realpath(path)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".gradcli-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o666 & ~current_umask())
        os.replace(temporary, target)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def current_umask() -> int:
    mask = os.umask(0)  # the only way to read it
    os.umask(mask)
    return mask


def find_pages(commands: Iterable[str]) -> dict[str, Path]:
    """Return the manual's pages by topic: those next to the source, else the installed ones.

    Pages of commands come first, in the given order, then the others by name.
    """
    from importlib import metadata

    source = Path(__file__).parents[1] / "man"
    paths = list(source.glob("gradcli*.[1-9]"))
    if not paths:
        files = metadata.files("gradcli") or ()
        paths = [Path(str(file.locate())).resolve() for file in files if "share/man/" in file.as_posix()]
    pages = {path.stem.removeprefix("gradcli-"): path for path in paths if path.is_file()}
    order = [name for name in ("gradcli", *commands) if name in pages]
    return {name: pages[name] for name in [*order, *sorted(pages.keys() - order)]}


def find_skill() -> Path:
    """Return the page for agents: the one next to the source, else the installed one."""
    from importlib import metadata

    source = Path(__file__).parents[1] / ".github" / "SKILL.md"
    installed = (Path(str(file.locate())) for file in metadata.files("gradcli") or () if file.name == source.name)
    return source if source.is_file() else next(installed, source)
