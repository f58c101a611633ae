"""A page in a real browser: what its script leaves behind, and what a probe finds out."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needed = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed (Debian: apt install chromium)")
DARK = "--blink-settings=preferredColorScheme=0"


def probe(page: Path, script: str, *, width: int = 1280, at: str = "", options: tuple[str, ...] = ()) -> Any:
    """Open a page headless with one more script behind its own; return what that assigns to `found`.

    A window is at least 500 pixels wide, so that a narrower page stands in a frame of that width.
    """
    copy = page.with_name(f"probe-{page.name}")
    more = f"<script>let found; {script}; top.document.title = 'found ' + JSON.stringify(found);</script></body>"
    text = page.read_text().replace("</body>", more)
    if width < 500:
        frame = f'<iframe width="{width}" height="800" style="border: 0" srcdoc="{html.escape(text)}">'
        text = f"<title></title>{frame}</iframe>"
    copy.write_text(text)
    command = [
        str(PROGRAM), "--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},900", *options,
    ]  # fmt: skip
    profile = f"--user-data-dir={page.parent / 'profile'}"
    done = subprocess.run(
        [*command, profile, "--virtual-time-budget=3000", "--dump-dom", f"{copy.as_uri()}{at}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    title = re.search(r"<title>found (.*?)</title>", done.stdout)
    assert title is not None, done.stdout[-2000:]
    return json.loads(html.unescape(title[1]))
