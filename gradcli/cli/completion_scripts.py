"""Completion scripts and the answers they get: click's machinery, with what bash, zsh and fish need here.

Names such as `x=`, `f.py:` and `A=@file` hold characters at which bash splits words, so every script hands over its
line up to the cursor, and the words are found here, alike for all shells.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    split_arg_string,
)

BASH = """\
%(complete_func)s() {
    mapfile -t COMPREPLY < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORD="$2" \\
        %(complete_var)s=bash_complete "${1/#\\~/$HOME}" 2>/dev/null)
    compopt -o nospace
}
complete -F %(complete_func)s %(prog_name)s
"""
ZSH = """\
#compdef %(prog_name)s

%(complete_func)s() {
    local -a response plain more plain_help more_help
    local kind value help
    response=("${(@f)$(COMP_LINE="${words[1,CURRENT]}" \\
        %(complete_var)s=zsh_complete ${~words[1]} 2>/dev/null)}")
    for kind value help in "${response[@]}"; do
        [[ $kind == plain ]] && plain+=("$value") plain_help+=("$help")
        [[ $kind == more ]] && more+=("$value") more_help+=("$help")
    done
    (( $#plain )) && compadd -l -d plain_help -a plain
    (( $#more )) && compadd -S '' -l -d more_help -a more
    return 0
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""
FISH = """\
function %(complete_func)s
    set -lx COMP_LINE (commandline -cp | string collect)
    %(complete_var)s=fish_complete %(prog_name)s 2>/dev/null
end
complete --no-files --keep-order --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


class Complete(ShellComplete):
    """What the shells share."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the whole words before the cursor, and the one at it."""
        words = split_arg_string(os.environ["COMP_LINE"] + "_")
        return words[1:-1], words[-1][:-1]

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return what may stand in place of the word at the cursor, as whole words."""
        if "--" in args:
            from .complete import entries

            return entries(incomplete)
        head = ""
        if incomplete.startswith("--") and "=" in incomplete:
            head = incomplete.partition("=")[0] + "="
        elif args and re.match(r"-[^=]+\Z", args[-1]):  # a last option without its value would void the whole parse
            args, incomplete = args[:-1], f"{args[-1]}={incomplete}"
        items = super().get_completions(args, incomplete)
        return [CompletionItem(head + item.value, item.type, item.help) for item in items]


class Bash(Complete, BashComplete):
    """bash: what is offered replaces the part after the last of its word breaks, and is quoted here."""

    source_template = BASH

    def format_completion(self, item: CompletionItem) -> str:
        """Return the text to insert, with a blank after a word that is complete."""
        line, part = os.environ["COMP_LINE"], os.environ.get("COMP_WORD", "")
        word = self.get_completion_args()[1]
        plain = (split_arg_string(part) or [""])[0]
        text = item.value[len(word) - len(plain) if word.endswith(plain) else 0 :]
        if is_open(line):
            return text
        return re.sub(r"([^\w@%+=:,./~-])", r"\\\1", text) + (" " if item.type == "plain" else "")


class Zsh(Complete, ZshComplete):
    """zsh: three lines each, the last one being what its list shows."""

    source_template = ZSH

    def format_completion(self, item: CompletionItem) -> str:
        """Return kind, value, and the value with its help."""
        about = " ".join((item.help or "").split())
        return f"{item.type}\n{item.value}\n{item.value}{'  -- ' + about if about else ''}"


class Fish(Complete, FishComplete):
    """fish: value, tab, help; it adds no blank after = : and / by itself."""

    source_template = FISH

    def format_completion(self, item: CompletionItem) -> str:
        about = " ".join((item.help or "").split())
        return f"{item.value}\t{about}" if about else item.value


SHELLS: dict[str, type[Complete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def is_open(line: str) -> bool:
    try:
        shlex.split(line + "_")
    except ValueError:
        return True
    return False


def script(shell: str, cli: click.Command, variable: str) -> str:
    return SHELLS[shell](cli, {}, "gradcli", variable).source()


def answer_shell(cli: click.Command, instruction: str) -> int:
    """Print what a script asks for, SHELL_complete; whatever goes wrong, print nothing at all."""
    shell, _, _ = instruction.partition("_")
    try:
        answer: Any = SHELLS[shell](cli, {}, "gradcli", "").complete()
        sys.stdout.write(answer + "\n" if answer else "")
        sys.stdout.flush()
    except Exception:
        return 1
    return 0
