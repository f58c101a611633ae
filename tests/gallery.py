"""Run the commands on a page of the site, in the order of the page.

python -m tests.gallery     write the output of the commands into the pages

A block with a title is a file for the commands after it; a later block with the same title replaces it. A `console`
block holds commands, each on a line that begins with `$`, and their output.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import which

from .command import ROOT, shell
from .test_readme import PYTEST, steady

FOLDER = ROOT / "man/site/pages"
PAGES = sorted(path for path in FOLDER.rglob("*.md") if "```console" in path.read_text())
BLOCK = re.compile(r'^```(\w+)(?: title="([^"\n]*)")?\n(.*?)^```$', re.M | re.S)
FRAMEWORKS = ("torch", "jax")
PROGRAMS = ("gfortran", "julia", "node", "octave", "rustc")
PYTHON = 'python() { "$GRADCLI_PYTHON" "$@"; }\n'


def frameworks(page: Path) -> tuple[str, ...]:
    """Return the frameworks that the files of a page import."""
    return tuple(name for name in FRAMEWORKS if f"\nimport {name}\n" in page.read_text())


def missing(page: Path) -> list[str]:
    """Return the programs that the commands of a page run and that are not installed."""
    commands = re.findall(r"^\$ (.*)", page.read_text(), re.M)
    return [
        name for name in PROGRAMS if re.search(rf"^{name} |cmd:{name} ", "\n".join(commands), re.M) and not which(name)
    ]


def output(command: str, folder: Path, used: tuple[str, ...]) -> str:
    """Run a command as a user would in a terminal with 80 columns, and return its output."""
    if command.startswith("gradcli gradcheck") and " -f " not in command:
        command += " -f table"
    others = PYTHON + PYTEST if command.startswith("py") else ""
    done = shell(others + command, folder, frameworks=used)
    return (done.stdout + done.stderr).strip("\n").replace(f"{folder}/", "")


def comparable(text: str) -> str:
    """Return output without what varies between runs or processors: durations, last digits and numbers of calls."""
    text = re.sub(r"(?<=^    )\S+ digits agree.*?seen|\b\d+\.\d{1,3}$", "", steady(text), flags=re.M | re.S)
    text = re.sub(r" *\([\d.]+ s with imports\)", "", text)  # printed if imports take a second
    text = re.sub(r"[\d,]+ (?=calls)|-?\d\S*e-\d+", "", text)
    text = re.sub(r"-?\d+\.\d{9,}", lambda number: f"{float(number[0]):.9g}", text)
    return re.sub(r"\d+\.\d+ ?s\b|\(t? ?with imports\)|\s+", " ", text).strip()


def run_page(page: Path, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (command, output on the page, actual output) for each command."""
    for kind, title, body in BLOCK.findall(page.read_text()):
        if title:
            (folder / title).write_text(body)
        elif kind == "console":
            for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
                command, _, expected = part.partition("\n")
                yield command, expected.strip("\n"), output(command, folder, frameworks(page))


def update(page: Path) -> None:
    """Write the output of the commands of a page into it."""
    with tempfile.TemporaryDirectory() as folder:
        printed = [
            f"$ {command}\n{got}\n" if got else f"$ {command}\n" for command, _, got in run_page(page, Path(folder))
        ]
    parts = iter(printed)

    def renew(block: re.Match) -> str:
        if block[1] != "console":
            return block[0]
        return "```console\n" + "".join(next(parts) for _ in re.findall(r"^\$ ", block[3], re.M)) + "```"

    page.write_text(BLOCK.sub(renew, page.read_text()))


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:] or PAGES):
        if missing(page):
            print(f"{page.name}: needs {', '.join(missing(page))}")
        else:
            update(page)
            print(page.name)
