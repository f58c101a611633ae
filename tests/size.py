"""Print how large the packages are, and what changed: size is a budget.

python -m tests.size               compared with the last commit; where nothing changed since, with the one before
python -m tests.size --base REV    compared with any revision
"""

import argparse
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = "tests"
Counts = dict[str, Counter]


def git(*words: str) -> str:
    """Return what git prints. Raises CalledProcessError, or OSError where there is no git."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True, text=True).stdout


def package_of(path: Path) -> str:
    """Return the row in which a module is counted."""
    if path.parts[0] == TESTS:
        return TESTS
    return "/".join(path.parts[: min(2, len(path.parts) - 1)])


def lines_here() -> dict[str, int]:
    paths = [path for folder in ("gradcli", TESTS) for path in (ROOT / folder).rglob("*.py")]
    return {str(path.relative_to(ROOT)): path.read_bytes().count(b"\n") for path in paths}


def lines_at(revision: str) -> dict[str, int]:
    """Return the lines of the modules of a revision. Raises CalledProcessError where there is no such revision."""
    paths = git("ls-tree", "-r", "--name-only", revision, "gradcli", TESTS).splitlines()
    counted = git("grep", "-c", "", revision, "--", "gradcli/*.py", f"{TESTS}/*.py").splitlines()  # none of empty ones
    rows = (line.removeprefix(f"{revision}:").rpartition(":") for line in counted)
    return {path: 0 for path in paths if path.endswith(".py")} | {path: int(n) for path, _, n in rows}


def count(modules: dict[str, int]) -> Counts:
    """Return modules and lines by package."""
    counts: Counts = {}
    for path, lines in modules.items():
        counts.setdefault(package_of(Path(path)), Counter()).update(modules=1, lines=lines)
    return counts


def total(counts: Counts) -> Counter:
    return sum((count for name, count in counts.items() if name != TESTS), Counter())


def table(after: Counts, before: Counts) -> str:
    """Return a line per package; changes are left out where there are none."""
    after, before = ({**counts, "gradcli in all": total(counts)} for counts in (after, before))
    names = [*sorted({*after, *before} - {"gradcli in all", TESTS}), "gradcli in all", TESTS]
    lines = [f"{'package':20}{'modules':>9}{'lines':>9}{'+modules':>11}{'+lines':>9}"]
    for name in names:
        now, then = after.get(name, Counter()), before.get(name, Counter())
        changes = (f"{now[what] - then[what]:+d}" if now[what] != then[what] else "" for what in ("modules", "lines"))
        lines.append("{:20}{:9,}{:9,}{:>11}{:>9}".format(name, now["modules"], now["lines"], *changes))
    return "\n".join(line.rstrip() for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", metavar="REV", help="compare with this revision")
    base, here = parser.parse_args().base, lines_here()
    try:
        revision = base or "HEAD"
        before = lines_at(revision)
        if base is None and before == here:
            revision = "HEAD~1"
            before = lines_at(revision)
        print(f"compared with {git('log', '-1', '--format=%h %s', revision).strip()[:100]}")
    except (OSError, subprocess.CalledProcessError):
        if base is not None:
            parser.error(f"there is no revision '{base}' here")
        before = here  # no git, or the first commit that is here
    print(table(count(here), count(before)))


if __name__ == "__main__":
    main()
