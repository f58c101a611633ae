"""`python -m man.generate [FOLDER]`: write all generated files, and remove obsolete pages."""

from __future__ import annotations

import sys
from pathlib import Path

from . import pages
from .architecture import architecture_page
from .site import PAGES, site_pages
from .stubs import ROOT, stubs


def main(folder: str = "man") -> None:
    """Write all pages into a folder, the stubs into the package, ARCHITECTURE.md, and the tables of the site."""
    texts = pages()
    Path(folder).mkdir(parents=True, exist_ok=True)
    for old in Path(folder).glob("gradcli*.[1-9]"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        Path(folder, name).write_text(text)
    for name, text in site_pages().items():
        (PAGES / name).write_text(text)
    for name, text in {**stubs(), ".github/ARCHITECTURE.md": architecture_page()}.items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:2])
