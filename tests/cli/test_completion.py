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
    (tmp_path / ".odd").mkdir()
    for name in [*ODD, ".odd/\x1b[2J", ".odd/tab\there"]:
        (tmp_path / name).touch()
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
    assert not err
    return os.fsdecode(out).split("\0")[:-1]


ODD = [f".odd/{name}" for name in sorted(["$(touch ran)", "'", "\n", '"', "\\", "~h", "-o"])]
QUOTED = {  # what the shell will hand over: the words so far, as they may be typed or were inserted
    "$(touch ran)": [r".odd/\$", ".odd/$", r'".odd/\$', "'.odd/$"],
    "'": [r".odd/\'", r"'.odd/'\'", r'".odd"/\'', "\".odd/'"],
    '"': [r".odd/\"", r'".odd/\"', "'.odd/\""],
    "\\": [r".odd/\\", r'".odd/\\', "'.odd/\\"],
    "\n": [r".odd/$'\n'", r"'.odd/'$'\n''"],
}
CASES = {
    "gradcli ": list(COMMANDS),
    "gradcli gradch": ["gradcheck"],
    "gradcli help expr": ["expressions"],
    "gradcli help grad": ["gradcli", "grad", "gradcheck"],
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


@pytest.mark.parametrize(("word", "name"), [(word, name) for name in QUOTED for word in QUOTED[name]])
def test_a_word_is_read_as_the_shell_does(word, name, folder, capsys, monkeypatch):
    assert offered(f"gradcli mutate f -- {word}", capsys, monkeypatch) == [f".odd/{name}"]


@pytest.mark.parametrize(
    ("word", "expected"), [(".odd/", ODD), ("'.odd/", ODD), ('".odd/', ODD), ("$'.odd", []), (r"'.odd/\$", [])]
)
def test_no_name_with_other_control_characters_is_offered(word, expected, folder, capsys, monkeypatch):
    assert offered(f"gradcli mutate f -- {word}", capsys, monkeypatch) == expected


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
    assert done.stdout == "x\0a\0w\0"
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
BEGIN = {  # how a shell starts, and what gives it a prompt to wait for
    "bash": ("bash --norc --noprofile -i", "bind 'set enable-bracketed-paste off'; PS1='>> '\n"),
    "zsh": ("zsh -f -i", "PS1='>> '; autoload -Uz compinit; compinit -u -D; bindkey -e\n"),
    "fish": ("fish --no-config -i", "function fish_prompt; echo -n '>> '; end; function fish_greeting; end\n"),
}


def type_in(shell: str, lines: list[tuple[str, str]], path: str) -> None:
    """Type lines into a shell that has the completions."""
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    argv, begin = BEGIN[shell]
    load = "gradcli completion fish | source" if shell == "fish" else f'eval "$(gradcli completion {shell})"'
    typed(argv.split(), [(begin, "\n.*>> "), (f'{load}; echo read""y\n', "\nready"), *lines], path)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_tab_on_a_terminal(shell, folder, path):
    type_in(shell, [("\x15" + text, answer) for text, answer in TYPED], path)
    assert not (folder / "executed").exists()


def test_fish(folder, path, capsys):
    if shutil.which("fish") is None:
        pytest.skip("needs fish")
    main(["completion", "fish"])
    script = capsys.readouterr().out
    for text, _ in TYPED:
        line = f"{script}\ncomplete -C {text.rstrip()!r}"
        assert run(["fish", "--no-config", "-c", line], folder, PATH=path).stdout, text
    assert not (folder / "executed").exists()


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("-ox.expr", "gradcli grad ", ["./-ox.expr"]),
        ("~x.expr", "gradcli grad ", ["./~x.expr"]),
        ("~x.npy", "gradcli grad f a=@", ["a=@./~x.npy"]),
        ("~x.npy", "gradcli grad f -o ", ["./~x.npy"]),
    ],
)
def test_a_name_is_no_option_and_no_home(name, line, expected, tmp_path, capsys, monkeypatch):
    (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert offered(line, capsys, monkeypatch) == expected


def test_a_name_that_is_no_text(tmp_path, capsysbinary, monkeypatch):
    (tmp_path / "v\udcff.expr").touch()
    monkeypatch.chdir(tmp_path)
    assert offered("gradcli grad v", capsysbinary, monkeypatch) == ["v\udcff.expr"]


HOSTILE = "v$(touch ran)`touch ran`'\"; touch ran & !!*?{p,q}[r]|<s>#~t=:@\\\\u\n%^\xe9.npy"
UNFINISHED = ["grad x=@v", 'grad x=@"v', "grad x=@'v", 'grad "x=@v', "grad 'x=@v", r'grad x=@"v\$(', r"grad x=@v\$\("]


@pytest.mark.parametrize("shell", BEGIN)
def test_tab_and_enter_hand_over_the_name_of_a_file(shell, tmp_path, monkeypatch, path):
    """Where a completion is inserted, nothing in a name is run, expanded or split."""
    (tmp_path / HOSTILE).touch()
    (tmp_path / "bin").mkdir()
    teller = tmp_path / "bin" / "gradcli"
    real = shutil.which("gradcli", path=path)
    teller.write_text(f'#!/bin/sh\n[ "$1" = grad ] || exec {real} "$@"\nprintf "WORDS<%s>" "$@"\n')
    teller.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    answer = "WORDS<grad>WORDS<" + re.escape(f"x=@{HOSTILE}>").replace("\\\n", "\r?\n")
    type_in(shell, [(f"gradcli {text}\t\n", answer) for text in UNFINISHED], f"{teller.parent}{os.pathsep}{path}")
    assert not (tmp_path / "ran").exists()
