"""Print the size of the packages and how it has changed: size is a budget.

python -m tests.size               compare with the last commit; if nothing has changed since, with the one before
python -m tests.size --base REV    compare with any revision
"""

import argparse
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALL = "gradcli in all"


def git(*words: str) -> str:
    """Return the output of git. Raises CalledProcessError."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True, text=True).stdout


def count(revision: str = "") -> dict[str, Counter]:
    """Return modules and lines by package, for a revision or for the working tree."""
    counts: dict[str, Counter] = {}
    words = ["", revision] if revision else ["--untracked", ""]
    for line in git("grep", "-c", *words, "--", "gradcli/*.py", "tests/*.py").splitlines():
        path, _, lines = line.removeprefix(f"{revision}:").rpartition(":")
        parts = path.split("/")
        package = "tests" if parts[0] == "tests" else "/".join(parts[: min(2, len(parts) - 1)])
        for row in (package, *([ALL] if parts[0] == "gradcli" else [])):
            counts.setdefault(row, Counter()).update(modules=1, lines=int(lines))
    return counts


def table(after: dict[str, Counter], before: dict[str, Counter]) -> str:
    """Return a table with a line per package; a change of zero is left blank."""
    lines = [f"{'package':20}{'modules':>9}{'lines':>9}{'+modules':>11}{'+lines':>9}"]
    for name in sorted({*after, *before}, key=lambda name: (name in (ALL, "tests"), name)):
        now, then = after.get(name, Counter()), before.get(name, Counter())
        changes = (f"{now[what] - then[what]:+d}" if now[what] != then[what] else "" for what in ("modules", "lines"))
        lines.append("{:20}{:9,}{:9,}{:>11}{:>9}".format(name, now["modules"], now["lines"], *changes))
    return "\n".join(line.rstrip() for line in lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", metavar="REV", help="compare with this revision")
    base = parser.parse_args().base
    try:
        here = count()
        revision = base or next((r for r in git("rev-list", "-2", "HEAD").split() if count(r) != here), "HEAD")
        print(f"compared with {git('log', '-1', '--format=%h %s', revision).strip()[:100]}")
        print(table(here, count(revision)))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"nothing to compare with: {error}")
