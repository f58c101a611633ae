"""Write patches into files: each file completely or not at all, and only if it is still as it was read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from ..errors import GradcliError
from ..files import replacing
from ..results.patches import Patch, by_file, with_all
from ..user.source import read_code


def write_all(patches: Sequence[Patch]) -> tuple[str, ...]:
    """Apply all patches, and return the names of the changed files. Raises GradcliError before anything is changed."""
    files = by_file(patches)
    texts = [edited(several) for several in files]
    try:
        with contextlib.ExitStack() as stack:  # no file is replaced before all are complete
            for several, text in zip(files, texts, strict=True):
                file = stack.enter_context(replacing(several[0].path))
                file.write(text.encode())
    except OSError as error:
        name = several[0].file
        raise GradcliError(f"cannot write {name}: {error.strerror}; nothing was written", kind="file") from None
    return tuple(several[0].file for several in files)


def edited(patches: Sequence[Patch]) -> str:
    """Return the text of one file with its patches applied. Raises GradcliError if it changed, or if two overlap."""
    first = patches[0]
    if any(patch.before != first.before for patch in patches) or read_code(first.path) != first.before:
        message = f"{first.file} changed while gradcli searched; nothing was written"
        raise GradcliError(message, hint="run the command again", kind="file")
    if not os.access(first.path, os.W_OK):
        raise GradcliError(f"{first.file} is read-only; nothing was written", kind="file")
    text = with_all(patches)
    if text is None:
        message = f"two fixes change the same place in {first.file}; nothing was written"
        raise GradcliError(message, hint="fix one check at a time, with -k", kind="file")
    return text
