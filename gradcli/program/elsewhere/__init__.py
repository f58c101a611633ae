"""Functions that run somewhere else: in another framework, another process, a server, a library of C."""

from __future__ import annotations

import re

LIBRARY = re.compile(r"(?P<path>[^()]*?\.(?:so(?:\.\d+)*|dylib|dll)):(?P<declaration>[^:]*\(.*\)\s*;?\s*)\Z", re.S)


def is_elsewhere(text: str) -> bool:
    """Return whether a target is an address: of a server, a process, or a function of a shared library."""
    return text.startswith(("http://", "https://", "cmd:")) or LIBRARY.match(text) is not None
