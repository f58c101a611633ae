"""TAB in the shells themselves, where they are installed; tests/cases/completion.txt has what is offered."""

import os
import pty
import re
import select
import shutil
import time

import pytest

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


def test_a_name_that_is_no_text(tmp_path, capsysbinary, monkeypatch):
    (tmp_path / "v\udcff.expr").touch()
    monkeypatch.chdir(tmp_path)
    for name, text in (("_GRADCLI_COMPLETE", "fish_complete"), ("COMP_LINE", "gradcli grad v"), ("COMP_WORD", "")):
        monkeypatch.setenv(name, text)
    main([])
    assert capsysbinary.readouterr() == (b"v\xff.expr\0", b"")


HOSTILE = "v$(touch ran)`touch ran`'\"; touch ran & !!*?{p,q}[r]|<s>#~t=:@\\\\u%^\xe9.npy"
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
    answer = "WORDS<grad>WORDS<" + re.escape(f"x=@{HOSTILE}>")
    type_in(shell, [(f"gradcli {text}\t\n", answer) for text in UNFINISHED], f"{teller.parent}{os.pathsep}{path}")
    assert not (tmp_path / "ran").exists()
