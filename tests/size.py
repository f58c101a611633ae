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


def git(*words: str, given: bytes = b"") -> bytes:
    """Return what git prints. Raises CalledProcessError, or OSError where there is no git."""
    return subprocess.run(["git", *words], cwd=ROOT, input=given, capture_output=True, check=True).stdout


def package_of(path: Path) -> str:
    """Return the row in which a module is counted."""
    if path.parts[0] == TESTS:
        return TESTS
    return "/".join(path.parts[: min(2, len(path.parts) - 1)])


def count(modules: list[tuple[Path, bytes]]) -> Counts:
    """Return modules and lines by package."""
    counts: Counts = {}
    for path, text in modules:
        counts.setdefault(package_of(path), Counter()).update(modules=1, lines=text.count(b"\n"))
    return counts


def modules_here() -> list[tuple[Path, bytes]]:
    paths = [path for folder in ("gradcli", TESTS) for path in (ROOT / folder).rglob("*.py")]
    return [(path.relative_to(ROOT), path.read_bytes()) for path in paths]


def modules_at(revision: str) -> list[tuple[Path, bytes]]:
    """Return the modules of a revision. Raises CalledProcessError where there is no such revision."""
    rows = git("ls-tree", "-r", "-z", revision, "gradcli", TESTS).decode().split("\0")
    blobs = {path: row.split()[2] for row, _, path in (row.partition("\t") for row in rows) if path.endswith(".py")}
    output, modules = git("cat-file", "--batch", given="\n".join(blobs.values()).encode()), []
    for path in blobs:
        header, _, output = output.partition(b"\n")
        size = int(header.split()[2])
        modules.append((Path(path), output[:size]))
        output = output[size + 1 :]
    return modules


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
    base, here = parser.parse_args().base, modules_here()
    try:
        revision = base or "HEAD"
        before = modules_at(revision)
        if base is None and sorted(before) == sorted(here):
            revision = "HEAD~1"
            before = modules_at(revision)
        print(f"compared with {git('log', '-1', '--format=%h %s', revision).decode().strip()[:100]}")
    except (OSError, subprocess.CalledProcessError):
        if base is not None:
            parser.error(f"there is no revision '{base}' here")
        before = here  # no git, or the first commit that is here
    print(table(count(here), count(before)))


if __name__ == "__main__":
    main()
