"""Targets that run elsewhere and may answer anything: servers, processes, shared libraries."""

import random
import shlex
import shutil
import sys
from pathlib import Path

from . import model
from .outside import Attempt, group

MODEL = Path(model.__file__).resolve()
COMMANDS = (
    "gradcheck {target} {values} --json --timeout 1",
    "gradcheck {target} {values} --json --timeout 1",
    "gradcheck {target} {values} --timeout 1",
    "gradcheck {target} {values} -f {form} --timeout 1 -j 2",
    "gradcheck {target} {values} -o out.html --timeout 1",
    "gradcheck {target} {values} --taylor --json --timeout 1",
    "gradcheck {target} {values} --json --timeout 1",
    "gradcheck {target} {values} --search 5 --json --timeout 1",
    "lock {target} {values} -o out.lock --timeout 1",
    "eval {target} {values} --json --timeout 1",
    "grad {target} {values} --json --timeout 1",
    "jacobian {target} {values} --timeout 1",
    "sweep {target} points.csv {values}",
    "precision {target} {values} --timeout 1",
    "gradcheck {target} --json --timeout 1",
    "gradcheck {target} {values} --wrt x0 --out y0 --config {config} --timeout 1 --json",
)
CONFIGS = ("'{}'", "'[]'", "'{'", "'{\"a\": NaN}'", "x", "'" + "[" * 2000 + "'", '\'{"a": ' + "9" * 5000 + "}'")


def line(rng: random.Random, target: str, values: str, quick: bool = True) -> str:
    """Return a command line for a target, with values for its inputs. quick: allow commands without --timeout."""
    Path("points.csv").write_text("x0\n1\n2\n")
    form = rng.choice(("tsv", "table", "github", "sarif", "csv"))
    known = [text for text in COMMANDS if quick or "--timeout" in text]
    return rng.choice(known).format(target=shlex.quote(target), values=values, form=form, config=rng.choice(CONFIGS))


def attempt(text: str, seconds: float = 15.0) -> Attempt:
    """Return an attempt that must print JSON if the command has --json."""
    return Attempt(text, codes=(0, 1, 2, 3, 4), seconds=seconds, json="--json" in text)


@group
def servers(rng: random.Random) -> Attempt:
    """Return a line that calls a server with hostile answers or hostile transport."""
    kind = rng.choice(("answer", "answer", *model.TRANSPORT))
    path, values = rng.choice((("/m", "x0='[1,2]'"), ("/m", "x0='[1,2]'"), ("", "x='[1,2]'")))
    scheme = rng.choice(("http",) * 9 + ("https",))
    return attempt(served(rng, kind, line(rng, f"{scheme}://127.0.0.1:PORT{path}", values, kind == "answer")))


def served(rng: random.Random, kind: str, text: str) -> str:
    """Return a line that starts a server and runs a command with it."""
    words = " ".join(shlex.quote(word) for word in ("serve", str(rng.random()), kind, "--"))
    return f'"$GRADCLI_PYTHON" {MODEL} {words} "$GRADCLI_PYTHON" -m gradcli {text}'


@group
def processes(rng: random.Random) -> Attempt:
    """Return a line that calls a process with hostile answers or hostile behaviour."""
    kind = rng.choice(("answer", *model.PIPE))
    target = f"cmd:{sys.executable} {MODEL} pipe {rng.random()} {kind}"
    return attempt("gradcli " + line(rng, target, "x0='[1,2]'", kind == "answer"))


SOURCE = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <signal.h>
#include <math.h>
{before}
double f(int n, const double *x) {{ double s = 0; {f}; for (int i = 0; i < n; i++) s += x[i]*x[i]; return s; }}
void g(int n, const double *x, double *gx) {{ {g}; for (int i = 0; i < n; i++) gx[i] = 2*x[i]; }}
"""
BEFORE = (
    "",
    *(
        f"__attribute__((constructor)) void c(void) {{ {deed}; }}"
        for deed in ('printf("junk\\n"); fflush(stdout)', "exit(0)", "abort()", "for(;;);", "*(volatile int*)0 = 1")
    ),
    "__attribute__((destructor)) void d(void) { for(;;); }",
    "extern double missing(double); double call(double x) { return missing(x); }",
)
DEEDS = (
    "", "for(;;)", "exit(0)", "exit(3)", "_exit(1)", "abort()", "raise(SIGSTOP)", "raise(SIGKILL)",
    'printf("{}\\n"); fflush(stdout)', 'write(1, "{}\\n", 3)', "close(0)", "close(1); close(2)", "fork()",
    "if (fork()) sleep(60)", "sleep(60)", "memset((void*)x, 0, 1 << 20)", "((double*)x)[1000000000] = 1",
    "memset((void*)x, 255, 4096)", "free((void*)x)", "((double*)x)[0] = NAN", "while (malloc(1 << 20))",
    "char a[1 << 26]; memset(a, 1, sizeof a)", "g(n, x, (double*)x)", 'fprintf(stderr, "\\033[2J")', 'chdir("/")',
    'for (int k = 0; k < 1000000; k++) fprintf(stderr, "flood\\n")', "dup2(1, 0)",
    "signal(SIGTERM, SIG_IGN); sleep(60)", "x = 0",
)  # fmt: skip
DECLARATIONS = (
    *("double f(int n, const double *x)",) * 5, "void f(int n, const double *x)", "double f(double x)",
    "int f(int n, const double *x)", "float f(int n, const float *x)", "double missing(int n, const double *x)",
    "double f()", "double f(int n, const double *x, ...)", "double *f(int n, const double *x)", "f", "",
    "double f(int n, double x[3])", "double f(char *x)", "double f(struct s x)",
    "double printf(int n, const double *x)", "double exit(int n, const double *x)",
    "double f(int n, const double *x);;", "void f(int n, const double *x, double *y)",
    "double system(const double *x)", "double f(long long n, const double *x)",
    "double f(int n, int m, const double *x)",
)  # fmt: skip
FILES = (
    "lib", "lib", "lib", "lib", "text", "empty", "elf32", "cut", "fifo", "folder", "missing", "null", "python",
    "loop",
)  # fmt: skip


@group
def libraries(rng: random.Random) -> Attempt:
    """Return a line that calls a function of a hostile shared library, or of a file that is not a library."""
    kind, before, extra = rng.choice(FILES), "", "--timeout 1"
    path = Path("k.so")
    if kind in ("lib", "elf32", "cut"):
        if shutil.which("gcc") is None:
            return Attempt("true")
        deed = rng.choice(DEEDS)
        parts = {"f": deed, "g": ""} if rng.random() < 0.5 else {"f": "", "g": deed}
        Path("k.c").write_text(SOURCE.format(before=rng.choice(BEFORE) if rng.random() < 0.3 else "", **parts))
        before = "gcc -w -O0 -shared -fPIC k.c -o k.so; "
        if kind == "elf32":
            before += "printf '\\1' | dd of=k.so bs=1 seek=4 conv=notrunc status=none; "
        elif kind == "cut":
            before += f"truncate -s {rng.choice((3, 64, 1000, 9000))} k.so; "
    elif kind == "text":
        path.write_text("no library\x1b[2J\n")
    elif kind == "empty":
        path.write_text("")
    elif kind == "fifo":
        before = "mkfifo k.so; "
    elif kind == "folder":
        path.mkdir()
    elif kind in ("null", "loop"):
        path.symlink_to("/dev/null" if kind == "null" else "k.so")
    elif kind == "python":
        path.symlink_to(sys.executable)
    target = shlex.quote(f"./k.so:{rng.choice(DECLARATIONS)}")
    form = rng.choice(("--json", "--json", "-f tsv", "-f github", "-j 2 --json"))
    derivative = rng.choice(
        ("--grad 'void g(int n, const double *x, double *gx)'",) * 4
        + ("--vjp 'void g(int n, const double *x, double *gx)'", "--grad g", "")
    )
    text = f"{before}gradcli gradcheck {target} {derivative} x='[1,2]' {extra} {form}"
    return attempt(text)
