"""What TAB offers, also in real shells; tests/cases/cli/completion.txt tests whole lines."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.cli import complete
from gradcli.cli.complete import array_files, entries, inputs_of_definition, names_of_text, quote_text, split_words
from gradcli.cli.main import main

FILES = {
    "f.expr": "a = 3\nw = [1, 2]\nk = x*a + sum(w)\nk**2\n",
    "f.py": 'open("executed", "w").close()\n\ndef cube(u, v=2):\n    return u**3\n',
    "my data.npy": "",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with one file of each kind."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(items):
    return [x.value for x in items]


def test_entries_are_folders_and_files_with_the_extensions(folder):
    for name in ("sub", ".git", "-dash"):
        (folder / name).mkdir()
    for name in ("sub/g.py", ".hidden.py", "~tilde.py", "notes.txt"):
        (folder / name).touch()
    assert values(entries("", (".py",))) == ["./-dash/", "f.py", "sub/", "./~tilde.py"]
    assert values(entries("sub/")) == ["sub/g.py"]
    assert values(entries("./f", (".py",))) == ["./f.py"]
    assert values(entries(".h")) == [".hidden.py"]
    assert values(entries("no", head="x=@")) == ["x=@notes.txt"]


def test_arrays_of_an_archive(folder):
    np.savez("z.npz", first=1, second=2)
    assert values(array_files("z")) == ["z.npz"]
    assert values(array_files("z.npz:s", "x=@")) == ["x=@z.npz:second"]


@pytest.mark.parametrize(
    ("target", "inline", "expected"),
    [
        ("f.expr", False, (["x", "a", "w"], ["x", "a", "w", "k"])),  # inputs, and all names
        ("x*y + x", False, (["x", "y"], ["x", "y"])),
        ("f.py", True, ([], [])),  # an expression that cannot be parsed, not the file
        ("f.py:cube", False, (["u", "v"], ["u", "v"])),
        ("f.py:none", False, ([], [])),
        ("-", False, ([], [])),  # standard input is not read for a completion
    ],
)
def test_names_of_a_target(target, inline, expected, folder):
    assert names_of_text(target, inline) == expected


def test_inputs_of_a_class_are_those_of_its_forward(folder):
    text = (
        "class Op:\n def forward(ctx, q, *, k): ...\nclass Split:\n def forward(p): ...\n def setup_context(c): ...\n"
    )
    (folder / "op.py").write_text(text)
    assert [inputs_of_definition("op.py", name) for name in ("Op", "Split", "no")] == [["q", "k"], ["p"], []]


def test_given_inputs_are_not_offered_again(folder):
    ctx = SimpleNamespace(params={"words": ("f.expr", "a=1"), "expression": None}, info_name="grad")
    assert values(complete.words(ctx, None, "")) == ["x=", "w="]
    assert values(complete.inputs(ctx, None, "x,w,")) == ["x,w,a"]


def test_a_failed_completion_offers_nothing():
    ctx = SimpleNamespace(params={"words": ("missing.py:f",), "expression": None}, info_name="grad")
    assert complete.offer_candidates("words", ctx, None, "") == []
    assert complete.offer_candidates("no such function", ctx, None, "") == []


LINES = [
    "gradcli grad x",
    "gradcli 'a b' c",
    'a "b c" d',
    r'a "b\"c" d',
    r"a b\ c d",
    "a ''",
    'a "" b',
    r"a 'b\c'",
    r'a "b\c\$d"',
]


def read_by_shell(text):
    """Return the words into which a shell splits a text."""
    done = subprocess.run(["sh", "-c", f"printf '%s\\0' {text}"], capture_output=True, text=True, check=True, cwd="/")
    return done.stdout.split("\0")[:-1]


@pytest.mark.parametrize("line", LINES)
def test_words_are_split_as_in_the_shell(line):
    assert split_words(line) == (read_by_shell(line), "")


@pytest.mark.parametrize(
    ("line", "words", "quote"),
    [
        ("gradcli ", ["gradcli", ""], ""),
        ("gradcli 'x +", ["gradcli", "x +"], "'"),
        ('gradcli "x +', ["gradcli", "x +"], '"'),
        (r'gradcli "x\"y', ["gradcli", 'x"y'], '"'),
        ("gradcli x='a", ["gradcli", "x=a"], "'"),
        ("gradcli 'a'\"b", ["gradcli", "ab"], '"'),
    ],
)
def test_the_word_at_the_cursor_and_its_open_quote(line, words, quote):
    assert split_words(line) == (words, quote)


NAMES = [
    "plain.py",
    "my data.npy",
    "it's",
    'say "x"',
    "$(touch ran)",
    "`ran`",
    "a\\b",
    "x;y|z&",
    "*?[a]{b,c}",
    "~#!",
    "é",
]


@pytest.mark.parametrize("quote", ["", "'", '"'])
@pytest.mark.parametrize("name", NAMES)
def test_a_quoted_name_is_read_unchanged(name, quote):
    text = quote_text(name, quote)
    closed = text if text.endswith(quote) else text + quote  # as readline does
    assert read_by_shell(quote + closed) == [name]


def typed(argv: list[str], keys: list[tuple[str, str]], path: str) -> str:
    """Run a shell on a terminal. Type each text and wait until its answer appears."""
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
BEGIN = {  # the command that starts a shell, and input that sets a prompt to wait for
    "bash": ("bash --norc --noprofile -i", "bind 'set enable-bracketed-paste off'; PS1='>> '\n"),
    "zsh": ("zsh -f -i", "PS1='>> '; autoload -Uz compinit; compinit -u -D; bindkey -e\n"),
    "fish": ("fish --no-config -i", "function fish_prompt; echo -n '>> '; end; function fish_greeting; end\n"),
}


def type_in(shell: str, lines: list[tuple[str, str]], path: str) -> None:
    """Type lines into a shell with the completions loaded."""
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    argv, begin = BEGIN[shell]
    load = "gradcli completion fish | source" if shell == "fish" else f'eval "$(gradcli completion {shell})"'
    typed(argv.split(), [(begin, "\n.*>> "), (f'{load}; echo read""y\n', "\nready"), *lines], path)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_tab_on_a_terminal(shell, folder, path):
    type_in(shell, [("\x15" + text, answer) for text, answer in TYPED], path)
    assert not (folder / "executed").exists()


def test_a_file_name_that_is_not_utf_8_is_completed(tmp_path, capsysbinary, monkeypatch):
    (tmp_path / "v\udcff.expr").touch()
    monkeypatch.chdir(tmp_path)
    for name, text in (("_GRADCLI_COMPLETE", "fish_complete"), ("COMP_LINE", "gradcli grad v"), ("COMP_WORD", "")):
        monkeypatch.setenv(name, text)
    main([])
    assert capsysbinary.readouterr() == (b"v\xff.expr\0", b"")


HOSTILE = "v$(touch ran)`touch ran`'\"; touch ran & !!*?{p,q}[r]|<s>#~t=:@\\\\u%^\xe9.npy"
UNFINISHED = ["grad x=@v", 'grad x=@"v', "grad x=@'v", 'grad "x=@v', "grad 'x=@v", r'grad x=@"v\$(', r"grad x=@v\$\("]


@pytest.mark.parametrize("shell", BEGIN)
def test_tab_and_enter_pass_on_the_exact_file_name(shell, tmp_path, monkeypatch, path):
    """The shell runs, expands and splits nothing in a completed name."""
    (tmp_path / HOSTILE).touch()
    (tmp_path / "bin").mkdir()
    teller = tmp_path / "bin" / "gradcli"
    real = shutil.which("gradcli", path=path)
    teller.write_text(f'#!/bin/sh\n[ "$1" = grad ] || exec {real} "$@"\nprintf "WORDS<%s>" "$@"\n')
    teller.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    answer = "WORDS<grad>WORDS<" + re.escape(f"x=@{HOSTILE}>")
    type_in(shell, [(f"gradcli {text}\t\n", answer) for text in UNFINISHED], f"{teller.parent}{os.pathsep}{path}")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("incomplete", "expected"),
    [
        ("", ["u=", "v=", "out="]),
        ("u=S", ["u=SO3", "u=SE3"]),
        ("u=quaternion:l", ["u=quaternion:left"]),
        ("u=SO3:left:", ["u=SO3:left:right"]),
        ("u=none:", []),
    ],
)
def test_manifolds_and_their_words(incomplete, expected, folder):
    context = SimpleNamespace(params={"words": ("f.py:cube",), "expression": None}, info_name="gradcheck")
    assert values(complete.complete_manifold(context, None, incomplete)) == expected
