"""A build step: the manual and the completion scripts go where `man` and the shells look for them.

For an editable install the package is byte-compiled as well. pip does this for a wheel; here every start would
otherwise compile the sources again if Python may not write its cache.
"""

from __future__ import annotations

import compileall
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPLETIONS = {
    "bash": "share/bash-completion/completions/gradcli",
    "fish": "share/fish/vendor_completions.d/gradcli.fish",
    "zsh": "share/zsh/site-functions/_gradcli",
}
"""By shell, where it finds the completion script of a command, below the prefix of an installation."""
NAMES = {"complete_func": "_gradcli_completion", "complete_var": "_GRADCLI_COMPLETE", "prog_name": "gradcli"}
"""What click fills into the templates; `gradcli completion` prints the same text, and a test holds it to that."""


class BuildHook(BuildHookInterface):
    """Adds what a wheel holds in addition to the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the data of a wheel; compile for `pip install -e`."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        shared = build_data["shared_data"]
        for page in sorted((root / "man").glob("*.[1-9]")):
            shared[str(page)] = f"share/man/man{page.suffix[1:]}/{page.name}"
        shared[str(root / ".github/SKILL.md")] = "share/gradcli/SKILL.md"
        self.scripts = tempfile.TemporaryDirectory()
        for shell, place in COMPLETIONS.items():
            template = (root / f"gradcli/cli/completion.{shell}").read_text(encoding="utf-8")
            script = Path(self.scripts.name, shell)
            script.write_text(template % NAMES, encoding="utf-8")
            shared[str(script)] = place
        if version == "editable":
            compileall.compile_dir(str(root / "gradcli"), quiet=2)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the scripts, which the wheel has by now."""
        if self.target_name == "wheel":
            self.scripts.cleanup()
