"""`python -m gradcli.docgen [FOLDER]`: write all pages, and remove those that are no more."""

from __future__ import annotations

import sys
from pathlib import Path

from . import pages


def main(folder: str = "man") -> None:
    """Write all pages into a folder."""
    texts = pages()
    for old in Path(folder).glob("man?/*"):
        if str(old.relative_to(folder)) not in texts:
            old.unlink()
    for name, text in texts.items():
        Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
        Path(folder, name).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:2])
