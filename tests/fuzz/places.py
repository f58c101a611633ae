"""Outputs and inputs in hostile places: full disks, read-only folders, pipes, devices, concurrent processes."""

import functools
import random
import shlex
import subprocess
from pathlib import Path

from .outside import Attempt, group

CHECKS = """import gradcli
def g(x): return 2 * x
@gradcli.check(at={"x": [1.0, 2.0]}, grad=g)
def f(x): return x @ x
@gradcli.check(at={"x": [1.0, 2.0]}, grad=lambda x: 3 * x)
def h(x): return x @ x
"""
WRITERS = (
    ("grad 'sum(x*x)' x='ones({many})' -o {out}", ("json", "npy", "npz", "csv", "tex", "tsv", "txt")),
    ("eval 'x*x' x='ones({many})' -o {out}", ("json", "npy", "csv")),
    ("jacobian 'x*x' x='ones(100)' -o {out}", ("json", "npy", "npz", "csv")),
    ("graph 'x*x*x' x=2 -o {out}", ("dot", "mmd", "json", "txt")),
    ("trace 'sin(x)*x' x=2 -o {out}", ("json", "tsv", "html")),
    ("plot 'x*x' --over x=-1:1 -o {out}", ("json", "tsv")),
    ("symbolic 'x*x' -o {out}", ("py", "c", "tex", "json")),
    ("precision 'x*x' x=1:2 -o {out}", ("json", "tsv")),
    ("gradcheck checks.py -o {out}", ("html", "json", "csv", "txt")),
    ("gradcheck checks.py --junit {out}", ("xml",)),
    ("gradcheck checks.py --search 50 --save-points {out}", ("json",)),
    ("sweep 'x*x' points.csv -o {out}", ("csv", "tsv")),
    ("sweep 'x*x' points.csv --restart -j 2 -o {out}", ("csv",)),
    ("lock checks.py -o {out}", ("lock",)),
    ("mutate checks.py:g -o {out} -- python use.py", ("json",)),
)
"""Command lines that write a file, and the file types that they may write."""
PRINTERS = (
    "--help", "--version", "grad 'x*x' x=2", "grad 'sum(x*x)' x='ones({many})'",
    "jacobian 'x*x' x='ones(100)' -f csv", "gradcheck checks.py -f {form}", "gradcheck 'x*x' x=2 --json",
    "symbolic 'x*x' -f c", "graph 'x*x' x=2 -f dot", "trace 'x*x' x=2 --json", "plot 'x*x' --over x=-1:1",
    "sweep 'x*x' points.csv", "sweep 'x*x' points.csv -o kept.csv --json", "lock checks.py", "precision 'x*x' x=1:2",
    "mutate checks.py:g -- python use.py", "ops {name}", "completion bash", "schema grad", "{command} --help",
    "eval 'x*x' x=2 -f table",
)  # fmt: skip
READERS = (
    "grad 'sum(x)' x=@{path}", "grad 'sum(x)' x=@{path}:x", "grad {path} x=1", "gradcheck {path}",
    "gradcheck {path}:f", "sweep 'x*x' {path}", "sweep {path} points.csv", "lock --verify {path}", "run {path}",
    "grad 'x*y' y=2 --columns {path}", "gradcheck checks.py --save-points {path}", "mutate {path}:g -- true",
    "eval {path}:'double f(double x)' x=1", "grad 'x*x' x=2 --hook x={path}:f",
)  # fmt: skip
NAMES = (
    "a b", "a\nb", "-o", "--", "é", "'", '"', "$x", "*", "a" * 250, "..x", "#", "%0A", "\x1b[2J", "x=1", "a,b",
    "\udcff", "~",
)  # fmt: skip
"""Names of files and folders that a shell or a terminal would misinterpret."""


@functools.cache
def may_mount() -> bool:
    """Return whether this user may mount a temporary disk."""
    try:
        words = "unshare -rm mount -t tmpfs t /mnt".split()
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def prepare() -> None:
    Path("checks.py").write_text(CHECKS)
    Path("points.csv").write_text("x\n" + "1.5\n" * 300)
    Path("use.py").write_text("import numpy as np\nfrom checks import g\nassert np.allclose(g(np.ones(2)), 2)\n")


def drawn(rng: random.Random, text: str, **more: str) -> str:
    """Fill the fields in braces of a command line at random."""
    form = rng.choice(("table", "tsv", "json", "github", "html", "sarif", "csv"))
    command = rng.choice(("grad", "gradcheck", "sweep", "symbolic", "plot", "lock", "mutate", "trace", "schema"))
    return text.format(
        **{
            "many": rng.choice(("2", "3000", "40000")),
            "form": form,
            "command": command,
            "name": rng.choice(("sin", "")),
            **more,
        }
    )


def writer(rng: random.Random, folder: str = "", stem: str = "o") -> tuple[str, str]:
    text, endings = rng.choice(WRITERS)
    place = f"{folder}{stem}.{rng.choice(endings)}"
    return drawn(rng, text, out=shlex.quote(place)), place


@group
def disks(rng: random.Random) -> Attempt:
    """Return a line that writes to a full or read-only disk, where the old file must survive a failure."""
    prepare()
    line, place = writer(rng, "disk/")
    Path("disk").mkdir()
    free = rng.choice((0, 1, 4, 8, 24, 60))
    options = f"size={64}k"
    late = rng.choice(("", "mount -o remount,ro disk; "))
    fill = f"head -c {(64 - free) * 1024} /dev/zero > disk/fill 2>/dev/null; "
    inner = (
        f"mount -t tmpfs -o {options} t disk; printf old > {place}; {fill}{late}"
        f"gradcli {line}{rng.choice((' --json', '', '')) if '-f' not in line else ''} > out; echo $? > code; "
        f"cat {place} > kept; ls -A disk > names; exit $(cat code)"
    )
    if not may_mount():
        return Attempt("true")
    return Attempt(
        f"unshare -rm bash -c {shlex.quote(inner)}", codes=(0, 1, 2), judge=functools.partial(whole, Path(place).name)
    )


def whole(name: str, folder: Path, _: str) -> str:
    """Return what is wrong with a file that should be the old or the new one, or which files are left over."""
    code, kept = (folder / "code").read_text().strip(), (folder / "kept").read_bytes()
    others = set((folder / "names").read_text().split()) - {"fill", name}
    if code == "2" and kept != b"old":
        return f"exit 2, and the old file is {kept[:80]!r}"
    if code != "2" and kept == b"old":
        return f"exit {code}, and the old file stands there"
    return f"left over: {others}" if {n for n in others if not n.startswith(name)} else ""


@group
def printing(rng: random.Random) -> Attempt:
    """Return a line that prints to a full disk, a closed pipe, or nowhere."""
    prepare()
    line = drawn(rng, rng.choice(PRINTERS))
    where, codes = rng.choice((
        ("> /dev/full", (1, 2)), ("> /dev/full 2>&1", (1, 2)), ("2> /dev/full", (0, 1)), (">&-", (0, 1, 2)),
        ("2>&-", (0, 1)), ("<&- >&- 2>&-", (0, 1, 2)), ("<&-", (0, 1)), ("> /dev/null < /", (0, 1)),
        ("| true; exit ${PIPESTATUS[0]}", (0, 1)), ("| head -c 1 > /dev/null; exit ${PIPESTATUS[0]}", (0, 1)),
        ("2>&1 > /dev/null | true; exit ${PIPESTATUS[0]}", (0, 1)), ("| sed q; exit ${PIPESTATUS[0]}", (0, 1)),
        ("| sh -c 'sleep 0.2; exec head -1'; exit ${PIPESTATUS[0]}", (0, 1)),
    ))  # fmt: skip
    variables = rng.choice(
        (
            (),
            (),
            (("HOME", None), ("TERM", None), ("PATH", "/usr/bin:/bin")),
            (("HOME", "/nowhere"), ("TMPDIR", "/nowhere"), ("XDG_CACHE_HOME", "/dev/null")),
            (("LANG", "C"), ("LC_ALL", "C"), ("PYTHONUTF8", "0"), ("PYTHONCOERCECLOCALE", "0")),
            (("PYTHONOPTIMIZE", "2"),),
            (("COLUMNS", "-1"), ("LINES", "x"), ("TERM", "\x1b")),
            (("PYTHONIOENCODING", "latin-1"),),
            (("PYTHONWARNINGS", "error"), ("PYTHONDEVMODE", "")),
            (("PYTHONUNBUFFERED", "1"), ("PYTHONDONTWRITEBYTECODE", "1"), ("PYTHONHASHSEED", "0")),
            (("OPENBLAS_NUM_THREADS", "0"), ("OMP_NUM_THREADS", "-3")),
            (("FORCE_COLOR", "1"), ("TZ", "nowhere"), ("GRADCLI_X", "1")),
        )
    )
    return Attempt(f"gradcli {line} {where}", codes=codes, variables=variables)


@group
def inputs(rng: random.Random) -> Attempt:
    """Return a line that reads something other than a regular file, or a file with a misleading name."""
    prepare()
    ending = rng.choice((".npy", ".npz", ".csv", ".json", ".txt", ".py", ".parquet", ".expr", ".so", "", ".lock"))
    name = rng.choice((*NAMES, "plain", "plain")) + ending
    path = Path(name if len(name.encode("utf-8", "replace")) < 256 else name[-200:])
    before = after = ""
    quoted = shlex.quote(str(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    path = Path(str(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    kind = rng.choice(
        ("file", "fifo", "device", "folder", "loop", "unreadable", "growing", "vanishing", "changing", "sparse")
    )
    if kind == "file":
        path.write_text(rng.choice((CHECKS, "x\n1\n2\n", "[1, 2]", "x*x", "")))
    elif kind == "fifo":
        before = f"mkfifo ./{quoted}; "
        write = rng.choice(("", f"echo '[1, 2]' > ./{quoted}", f"cat /dev/urandom > ./{quoted}"))
        before += f"timeout 5 sh -c {shlex.quote(write)} 2>/dev/null & "
    elif kind == "device":
        path.symlink_to(
            rng.choice(
                ("/dev/zero", "/dev/urandom", "/dev/null", "/dev/full", "/dev/tty", "/proc/self/mem", "/proc/kmsg")
            )
        )
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "unreadable":
        path.write_text("1")
        path.chmod(0)
    elif kind == "sparse":
        before = f"truncate -s 1T ./{quoted} 2>/dev/null; "
    else:
        path.write_text("x\n1\n2\n" if ending in (".csv", "") else CHECKS)
        change = {
            "growing": f"while :; do echo 1 >> ./{quoted}; done",
            "vanishing": f"while :; do rm -f ./{quoted}; printf 'x\\n1\\n' > ./{quoted}; done",
            "changing": f"while :; do printf 'x\\n1\\n' > ./{quoted}; head -c 9 /dev/urandom > ./{quoted}; done",
        }[kind]
        before, after = f"({change}) 2>/dev/null & ", "; c=$?; kill %1; exit $c"
    prefix = "./" if quoted.lstrip("'").startswith("-") else rng.choice(("", "./"))
    line = drawn(rng, rng.choice(READERS), path=prefix + quoted)
    bound = "--timeout 4" if not line.startswith(("sweep", "lock", "run", "mutate")) else ""
    return Attempt(
        f"{before}timeout 8 bash -c {shlex.quote(f'gradcli {line} {bound}')}{after}", codes=(0, 1, 2, 3, 4, 124)
    )


@group
def outputs(rng: random.Random) -> Attempt:
    """Return a line that writes to a strange name or to something other than a regular file."""
    prepare()
    stem = rng.choice(NAMES).encode("utf-8", "surrogateescape").decode("utf-8", "replace")[:200]
    folder = rng.choice(("./", "./", "./sub/", "./missing/", "/dev/", "/proc/", "/dev/full/", "./checks.py/"))
    Path("sub").mkdir()
    line, place = writer(rng, folder, stem)
    if rng.random() < 0.3 and folder in ("./", "./sub/"):
        what = rng.choice(("loop", "dangling", "folder", "fifo", "null", "self"))
        if what == "folder":
            Path(place).mkdir()
        elif what == "fifo":
            return Attempt(
                f"mkfifo {shlex.quote(place)}; (timeout 5 cat {shlex.quote(place)} > /dev/null) & gradcli {line}",
                codes=(0, 1, 2),
            )
        else:
            target = {"loop": Path(place).name, "dangling": "nowhere/x", "null": "/dev/null", "self": "checks.py"}[what]
            Path(place).symlink_to(target)
    where = rng.choice(("", "umask 777; ", "ulimit -f 1; ", "ulimit -n 12; ", "chmod 555 sub; ", "set -C; "))
    return Attempt(f"{where}gradcli {line}", codes=(0, 1, 2))


@group
def crowds(rng: random.Random) -> Attempt:
    """Return a line that starts many processes in one folder, or kills one while it writes."""
    prepare()
    line, place = writer(rng)
    while "--save-points" in line:  # this also reads the file, and "old" is not valid
        line, place = writer(rng)
    count = 4 if rng.random() < 0.8 else 20
    if rng.random() < 0.5:
        killed = f"timeout -s KILL {rng.uniform(0.05, 1.2):.2f} $GRADCLI_PYTHON -m gradcli {line} 2>/dev/null"
        body = f"printf old > {place}; {killed}; gradcli {line} > again; echo $? > code"
    else:
        crowd = f"for i in $(seq {count}); do gradcli {line} > $i.out 2> $i.err & done; wait"
        body = f"{crowd}; gradcli {line} > last; echo $? > code"
    return Attempt(f"{body}; cat {place} > kept; exit 0", seconds=60, judge=functools.partial(fresh, place))


def fresh(name: str, folder: Path, _: str) -> str:
    """Return what is wrong with a file written by several processes, or again after one was killed."""
    code, kept = (folder / "code").read_text().strip(), (folder / "kept").read_bytes()
    if code not in ("0", "1") or kept == b"old" or not kept:
        return f"exit {code}, and the file is {kept[:80]!r}"
    bad = [p.read_text() for p in folder.glob("*.err") if "Traceback" in p.read_text() or "defect" in p.read_text()]
    return "".join(bad)[-900:]
