"""TAB: what the completion scripts offer, in the shells themselves where they are installed."""

import os
import pty
import re
import select
import shutil
import sys
import time

import numpy as np
import pytest

from gradcli.cli.main import COMMANDS, main

from ..command import run

PROGRAM = "a = 3\nw = [1, 2]\nk = x*a + sum(w)\nk**2\n"
PYTHON = '''
import sys
sys.stderr.write("EXECUTED")
open("executed", "w").close()
loss = 1

def cube(u, v=2):
    """The cube."""
    return u**3

def circle(r): ...

def _hidden(q): ...

class Op:
    def forward(ctx, q): ...

class Split:
    def forward(p, q): ...
    def setup_context(ctx): ...
'''


FILES = {
    **{"f.expr": PROGRAM, "f.py": PYTHON, "broken.py": "def f(:\n"},
    **dict.fromkeys(["notes.txt", "photo.jpg", ".hidden.py", "my data.npy"], ""),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with one file of each kind."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "dir").mkdir()
    np.savez(tmp_path / "z.npz", first=1, second=2)
    os.mkfifo(tmp_path / "pipe.expr")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offered(line: str, capsys, monkeypatch, shell: str = "fish", word: str = "") -> list[str]:
    """Return what a script would be told for a line up to the cursor."""
    monkeypatch.setenv("_GRADCLI_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_WORD", word)
    main([])
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


CASES = {
    "gradcli ": list(COMMANDS),
    "gradcli gradch": ["gradcheck"],
    "gradcli --ver": ["--version"],
    "gradcli grad ": ["broken.py", "dir/", "f.expr", "f.py", "pipe.expr"],
    "gradcli grad di": ["dir/"],
    "gradcli gradcheck dir/": ["dir/"],
    "gradcli gradcheck f.py di": ["dir/"],
    "gradcli grad f.expr ": ["x=", "a=", "w="],
    "gradcli grad f.expr a=1 ": ["x=", "w="],
    "gradcli grad f.expr a=": [],
    "gradcli grad f.expr a=@": ["a=@dir/", "a=@my data.npy", "a=@notes.txt", "a=@z.npz"],
    "gradcli grad f.expr a=@z.npz:": ["a=@z.npz:first", "a=@z.npz:second"],
    "gradcli grad f.expr a=@z.npz:s": ["a=@z.npz:second"],
    "gradcli grad f.py:": ["f.py:cube", "f.py:circle", "f.py:Op", "f.py:Split"],
    "gradcli grad f.py:ci": ["f.py:circle"],
    "gradcli grad f.py:cube ": ["u=", "v="],
    "gradcli grad f.py:Op ": ["q="],
    "gradcli grad f.py:Split ": ["p=", "q="],
    "gradcli grad f.py --retain ": ["loss"],
    "gradcli sweep f.expr ": ["dir/", "my data.npy"],
    "gradcli sweep f.expr p.csv a=1 ": ["x=", "w="],
    "gradcli grad f.expr --wrt ": ["x", "a", "w"],
    "gradcli grad f.expr --wrt=": ["--wrt=x", "--wrt=a", "--wrt=w"],
    "gradcli grad f.expr --wrt x,": ["x,a", "x,w"],
    "gradcli grad f.expr --out ": ["x", "a", "w", "k"],
    "gradcli grad f.expr --retain k": ["k"],
    "gradcli grad f.expr --hook ": ["x=", "a=", "w=", "k="],
    "gradcli grad f.expr --hook k=": ["k=print"],
    "gradcli grad f.expr --hook k=f.py:cu": ["k=f.py:cube"],
    "gradcli grad 'p*q' --wrt ": ["p", "q"],
    "gradcli grad -e 'p*q' ": ["p=", "q="],
    "gradcli grad -e '-p' --wrt ": ["p"],
    "gradcli grad - ": [],
    "gradcli grad pipe.expr --wrt ": [],
    "gradcli grad broken.py:": [],
    "gradcli grad missing.py:": [],
    "gradcli grad 'x +' --wrt ": [],
    "gradcli grad f.expr --json --wr": ["--wrt"],
    "gradcli grad f.expr -f ": ["table", "tsv", "json", "latex", "npz", "npy", "csv"],
    "gradcli graph f.expr -f m": ["mermaid"],
    "gradcli grad f.expr --dtype float3": ["float32"],
    "gradcli grad f.expr -o ph": ["photo.jpg"],
    "gradcli grad f.expr -o no": ["notes.txt"],
    "gradcli grad f.expr -g @n": ["@notes.txt"],
    "gradcli jvp f.expr --tangent ": ["x=", "a=", "w="],
    "gradcli gradcheck f.py:cube --grad ": ["cube", "circle", "Op", "Split"],
    "gradcli plot f.expr --over x": ["x="],
    "gradcli grad f.py -- ph": ["photo.jpg"],
    "gradcli ops arctanh arcsinh arccos": ["arccos", "arccosh"],
    "gradcli completion ": ["bash", "zsh", "fish"],
    "gradcli nothing ": [],
    "gradcli grad 'unfinished": [],
}


@pytest.mark.parametrize("line", CASES)
def test_offers(line, folder, capsys, monkeypatch):
    found = [text.split("\t")[0] for text in offered(line, capsys, monkeypatch)]
    assert found == CASES[line]
    assert not (folder / "executed").exists()


@pytest.mark.parametrize(
    ("line", "shell", "expected"),
    [
        ("gradcli grad f.py:cu", "fish", ["f.py:cube\tThe cube."]),
        ("gradcli tra", "fish", ["trace\tBackward, step by step."]),
        ("gradcli grad f.py:cu", "zsh", ["plain", "f.py:cube", "f.py:cube  -- The cube."]),
        ("gradcli grad f.expr a", "zsh", ["more", "a=", "a="]),
    ],
)
def test_help_stands_beside(line, shell, expected, folder, capsys, monkeypatch):
    assert offered(line, capsys, monkeypatch, shell) == expected


@pytest.mark.parametrize(
    ("line", "word", "expected"),
    [
        ("gradcli gradch", "gradch", "gradcheck "),
        ("gradcli grad f.py:cu", "cu", "cube "),
        ("gradcli grad f.py:", "", "cube "),
        ("gradcli grad f.expr a=@my", "my", r"my\ data.npy "),
        (r"gradcli grad f.expr a=@my\ d", r"my\ d", r"my\ data.npy "),
        ("gradcli grad 'f.py:cu", "f.py:cu", "f.py:cube"),
        ("gradcli grad f.expr --wrt=a,", "a,", "a,x "),
        ("gradcli grad di", "di", "dir/"),
    ],
)
def test_bash_gets_the_part_after_its_word_breaks(line, word, expected, folder, capsys, monkeypatch):
    assert offered(line, capsys, monkeypatch, "bash", word)[0] == expected


def test_nothing_heavy_is_imported(folder):
    given = {"_GRADCLI_COMPLETE": "fish_complete", "COMP_LINE": "gradcli grad f.expr --wrt "}
    done = run([sys.executable, "-X", "importtime", "-m", "gradcli"], folder, **given)
    assert done.stdout.split() == ["x", "a", "w"]
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "gradcli.cli.main" in modules
    assert not modules & {"sympy", "rich", "rich.console", "scipy", "gradcli.check"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_asks_by_the_variable(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_GRADCLI_COMPLETE={shell}_complete" in script
    assert "COMP_LINE" in script
    assert "2>/dev/null" in script


def test_unknown_shell(capsys):
    for shell, hint in (("bsh", "did you mean 'bash'?"), ("tcsh", "bash, zsh, fish")):
        assert main(["completion", shell]) == 2
        assert hint in capsys.readouterr().err


def typed(argv: list[str], keys: list[tuple[str, str]], path: str) -> str:
    """Run a shell on a terminal; type each text, and wait until its answer shows."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(argv[0], argv, {"PATH": path, "TERM": "dumb", "PS1": "> ", "HOME": os.getcwd(), "LANG": "C.UTF-8"})
    seen = ""
    try:
        for text, answer in keys:
            os.write(terminal, text.encode())
            start, end = len(seen), time.monotonic() + 20
            while not re.search(answer, seen[start:]) and time.monotonic() < end:
                if select.select([terminal], [], [], 0.1)[0]:
                    seen += os.read(terminal, 65536).decode(errors="replace")
            assert re.search(answer, seen[start:]), f"typed {text!r}, saw {seen[start:]!r}"
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)
    return seen


TYPED = [
    ("gradcli gradc\t", "gradcheck "),
    ("gradcli grad f.py:cu\t", "cube "),
    ("gradcli grad f.expr --hook k\t", "--hook k="),
    ("gradcli grad f.expr --wrt=a,x,\t", "--wrt=a,x,w "),
    ("gradcli grad f.expr a=@my\t", r"a=@my\\ data.npy "),
    ("gradcli grad 'p*quite' --wrt q\t", "quite "),
]


def keys(first: tuple[str, str], shell: str) -> list[tuple[str, str]]:
    script = f'eval "$(gradcli completion {shell})"; echo read""y\n'
    return [first, (script, "\nready"), *(("\x15" + text, answer) for text, answer in TYPED)]


def test_bash_on_a_terminal(folder, path):
    begin = ("bind 'set enable-bracketed-paste off'; PS1='>> '\n", "\n>> ")
    typed(["bash", "--norc", "--noprofile", "-i"], keys(begin, "bash"), path)
    assert not (folder / "executed").exists()


def test_zsh_on_a_terminal(folder, path, capsys):
    if shutil.which("zsh"):
        begin = ("PS1='>> '; autoload -Uz compinit; compinit -u -D; bindkey -e\n", "\n.*>> ")
        typed(["zsh", "-f", "-i"], keys(begin, "zsh"), path)
    else:  # at least what it inserts is all there
        main(["completion", "zsh"])
        script = capsys.readouterr().out
        assert script.startswith("#compdef gradcli\n")
        assert "compadd" in script and "compdef _gradcli_completion gradcli" in script
    assert not (folder / "executed").exists()


def test_fish(folder, path, capsys):
    main(["completion", "fish"])
    script = capsys.readouterr().out
    if shutil.which("fish"):
        for text, _ in TYPED:
            line = f"{script}\ncomplete -C {text.rstrip()!r}"
            assert run(["fish", "--no-config", "-c", line], folder, PATH=path).stdout, text
    else:
        assert "complete --no-files --keep-order --command gradcli --arguments" in script
    assert not (folder / "executed").exists()
