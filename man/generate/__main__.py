"""`python -m man.generate [FOLDER]`: write all pages, and remove those that are no more."""

from __future__ import annotations

import sys
from pathlib import Path

from . import pages


def main(folder: str = "man") -> None:
    """Write all pages into a folder."""
    texts = pages()
    Path(folder).mkdir(parents=True, exist_ok=True)
    for old in Path(folder).glob("gradcli*.[1-9]"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        Path(folder, name).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:2])
