"""A build step: byte-compile the package, so that the first command is as quick as the next.

pip does this for a wheel, but not for an editable install, where every start would otherwise compile the
sources again if Python may not write its cache.
"""

from __future__ import annotations

import compileall
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ByteCompile(BuildHookInterface):
    """Compiles the sources when an editable install is prepared."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile for `pip install -e`; other builds are left to the installer."""
        if version == "editable":
            compileall.compile_dir(str(Path(self.root) / "gradcli"), quiet=2)
