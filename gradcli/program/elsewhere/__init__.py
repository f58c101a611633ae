"""Functions that run somewhere else: in another framework, another process, a server, a library of C."""

from __future__ import annotations

import re

LIBRARY = re.compile(r"(?P<path>[^()]*?\.(?:so(?:\.\d+)*|dylib|dll)):(?P<declaration>[^:]*\(.*\)\s*;?\s*)\Z", re.S)
SERVERS = ("http://", "https://")
REMOTE = (*SERVERS, "cmd:")


def is_elsewhere(text: str) -> bool:
    """Return whether a target is an address: of a server, a process, a function of a shared library, or an FMU."""
    return text.startswith(REMOTE) or is_fmu(text) or LIBRARY.match(text) is not None


def is_fmu(text: str) -> bool:
    return text.endswith(".fmu") and not text.startswith(REMOTE)
