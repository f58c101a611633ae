"""Completion: the candidates that a shell shows after TAB, and the shell scripts. Files are parsed, never executed.

Bash splits names such as `x=`, `f.py:` and `A=@file` into several words. So every script passes its line up to the
cursor, and this module splits it into words, in the same way for all shells.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from ..errors import GradcliError, unknown_name
from ..lang.limits import FILE_ENDINGS
from . import COMPLETE
from .messages import Command
from .output import output_of

Items = list[CompletionItem]
ARRAY_FILES = (".npy", ".npz", ".csv", ".tsv", ".txt", ".json")
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", ".npy")
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
PIECE = re.compile(r"""\s+|'[^']*'|"(?:\\.|[^"\\])*"|(?P<open>['"].*)|\\.|.""", re.DOTALL)
"""Parts of a shell line: blanks, quotes, an unclosed quote, characters."""
CONTROL = re.compile(r"[\0-\x1f\x7f]")
"""Control characters. Shells take them for the end of a value, so names that contain them are not offered."""
UNSAFE = {"": r"(?!\A~)[^\w@%+=:,./-]", "'": "'", '"': r'["$`\\!]'}
"""Characters that bash would interpret, by the open quote. A leading ~ is the user's own (see `entries`)."""


def item(value: str) -> CompletionItem:
    """Return a candidate; the word continues after one that ends in = : or /."""
    return CompletionItem(value, "more" if value.endswith(("=", ":", "/")) else "plain")


def items(values: Iterable[str], incomplete: str, head: str = "") -> Items:
    """Return the values, each with `head` before it, that continue the incomplete word."""
    return [item(head + value) for value in values if (head + value).startswith(incomplete)]


def entries(incomplete: str, endings: tuple[str, ...] = (), head: str = "") -> Items:
    """Return the folders, and files with one of the endings (default: all), that continue the incomplete path.

    A name that would be read as an option or as a home directory gets a leading ./ here.
    """
    folder, name = os.path.split(incomplete)
    items = []
    with os.scandir(os.path.expanduser(folder) or ".") as inside:
        for entry in sorted(inside, key=lambda e: e.name):
            if not entry.name.startswith(name) or (entry.name.startswith(".") and not name):
                continue
            before = "./" if not folder and entry.name[0] in "-~" else incomplete[: len(incomplete) - len(name)]
            path = head + before + entry.name
            if entry.is_dir():
                items.append(item(path + "/"))
            elif not endings or entry.name.endswith(endings):
                items.append(item(path))
    return items


def array_files(incomplete: str, head: str = "") -> Items:
    """Return files of numbers, or the arrays of an .npz file, for a value after @."""
    path, colon, _ = incomplete.partition(".npz:")
    if not colon:
        return entries(incomplete, ARRAY_FILES, head)
    from zipfile import ZipFile

    with ZipFile(os.path.expanduser(path + ".npz")) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
    return items(names, head + incomplete, f"{head}{path}.npz:")


def read_target(path: str) -> str:
    """Return the text of a regular file; a pipe might never end."""
    from ..program.target import read_source

    path = os.path.expanduser(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(path)
    return read_source(path)


def definitions(path: str) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Yield the public functions and classes at the top level of a Python file."""
    for node in ast.parse(read_target(path)).body:
        if isinstance(node, DEFINITIONS) and not node.name.startswith("_"):
            yield node


def parameters_of_node(node: ast.FunctionDef, left_out: int = 0) -> list[str]:
    spec = node.args
    return [a.arg for a in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]][left_out:]


def inputs_of_definition(path: str, name: str) -> list[str]:
    """Return the parameters of a function, or of a class's forward without self or ctx."""
    for node in definitions(path):
        if node.name != name:
            continue
        if isinstance(node, ast.FunctionDef):
            return parameters_of_node(node)
        for part in node.body:
            if isinstance(part, ast.FunctionDef) and part.name == "forward":
                split = any(isinstance(p, ast.FunctionDef) and p.name == "setup_context" for p in node.body)
                return parameters_of_node(part, 0 if split else 1)
    return []


def names_of_text(text: str, inline: bool = False) -> tuple[list[str], list[str]]:
    from ..lang.parse import parse
    from ..program.expression import ExpressionProgram
    from ..user.address import split_name

    path, name = split_name(text)
    if name is not None and not inline:
        names = inputs_of_definition(path, name)
        return names, names
    if text == "-" and not inline:
        return [], []
    is_file = not inline and (text.endswith(FILE_ENDINGS) or os.path.exists(os.path.expanduser(text)))
    source = read_target(text) if is_file else text
    try:
        program = ExpressionProgram(parse(source), text)
    except GradcliError:
        statements = ast.parse(source).body if text.endswith(".py") else []
        nodes = [n for s in statements if isinstance(s, ast.Assign | ast.AnnAssign) for n in ast.walk(s)]
        names = list(dict.fromkeys(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)))
        return names, names
    names = program.input_names()
    return names, list(dict.fromkeys([*names, *program.bound]))


def names_here(ctx: click.Context) -> tuple[list[str], list[str]]:
    words, text = ctx.params.get("words") or (), ctx.params.get("expression")
    if text is not None:
        return names_of_text(text, inline=True)
    return names_of_text(words[0]) if words else ([], [])


def targets(incomplete: str, folders: bool) -> Items:
    """Return files that can be targets, and the definitions of a Python file."""
    from ..user.address import split_name

    path, name = split_name(incomplete)
    if incomplete.startswith("ase:"):
        names = () if name is None else names_of_text(path)[1]
        return items(names, incomplete, f"ase:{path}:") if names else entries(incomplete[4:], (".py",), "ase:")
    if name is None:
        files = entries(incomplete, FILE_ENDINGS)
        return files if not folders or not incomplete.endswith("/") else [CompletionItem(incomplete, "plain"), *files]
    return [
        CompletionItem(f"{path}:{node.name}", "plain", (ast.get_docstring(node) or "").partition("\n")[0] or None)
        for node in definitions(path)
        if f"{path}:{node.name}".startswith(incomplete)
    ]


def words(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    """Complete a TARGET, then NAME=VALUE. gradcheck takes several targets and folders, sweep a target and a table."""
    given = ctx.params.get("words") or ()
    several = ctx.info_name == "gradcheck"
    if given and given[-1].startswith("ase:"):
        return entries(incomplete)
    if "=" in incomplete:
        return complete_input(ctx, param, incomplete)
    first = not given and ctx.params.get("expression") is None
    if ctx.info_name == "sweep" and len(given) == (ctx.params.get("expression") is None):
        return entries(incomplete, TABLE_SUFFIXES)
    items_ = targets(incomplete, several) if first or several else []
    if not first:
        taken = {word.partition("=")[0] for word in given}
        items_ += items((f"{name}=" for name in names_here(ctx)[0] if name not in taken), incomplete)
    return items_


def inputs(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    head, comma, _ = incomplete.rpartition(",")
    taken = head.split(",")
    return items((n for n in names_here(ctx)[0] if n not in taken), incomplete, head + comma)


def complete_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    return items(names_here(ctx)[1], incomplete)


def hooks(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    name, sign, action = incomplete.partition("=")
    if not sign:
        return items((f"{name}=" for name in names_here(ctx)[1]), incomplete)
    ways = items(["print"], incomplete, f"{name}=")
    files = targets(action, False) if action else []
    return ways + [item(f"{name}={x.value}") for x in files if not x.value.endswith(".expr")]


def complete_input(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    name, sign, value = incomplete.partition("=")
    if sign:
        return array_files(value[1:], f"{name}=@") if value.startswith("@") else []
    return items((f"{name}=" for name in names_here(ctx)[0]), incomplete)


def complete_manifold(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    name, sign, text = incomplete.partition("=")
    if not sign:
        return items((f"{name}=" for name in [*names_here(ctx)[0], "out"]), incomplete)
    from ..manifolds.named import kinds

    known, (kind, *given) = kinds(), text.split(":")
    if not given:
        return items((f"{name}={manifold}" for manifold in known), incomplete)
    words = known[kind][1] if kind in known else ()
    begun = ":".join([kind, *given[:-1]])
    return items((f"{name}={begun}:{word}" for word in words if word not in given[:-1]), incomplete)


def complete_value(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    return array_files(incomplete[1:], "@") if incomplete.startswith("@") else []


def complete_function(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    path = str((ctx.params.get("words") or ("",))[0]).partition(".py")[0] + ".py"
    return items((node.name for node in definitions(path)), incomplete)


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    return entries(incomplete)


def functions(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    from ..rules import full_table

    table = full_table()
    return [
        CompletionItem(name, "plain", table[name].doc)
        for name in sorted(table)
        if table[name].public and name.startswith(incomplete)
    ]


def topics(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    from ..files import find_pages
    from ..results.causes import causes

    root = ctx.find_root()
    pages = find_pages(root.command.list_commands(root))  # type: ignore[attr-defined]
    return items([*pages, "findings", *(causes() if incomplete else ())], incomplete)


def offer_candidates(what: str, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    """Return the candidates of one of the functions above; none if it raises."""
    try:
        return globals()[what](ctx, param, incomplete)
    except Exception:
        return []


def completion_script(shell: str) -> str:
    return Path(__file__).with_name(f"completion.{shell}").read_text(encoding="utf-8")


def split_words(line: str) -> tuple[list[str], str]:
    """Split a line up to the cursor into words as the shell does. Return them, and the quote left open at the end."""
    words, quote = [""], ""
    for found in PIECE.finditer(line.lstrip()):
        piece, quote = found[0], (found["open"] or "")[:1]
        if piece.isspace():
            words.append("")
        elif piece[0] in "'\"":
            inside = piece[1:] if quote else piece[1:-1]
            words[-1] += re.sub(r'\\(["$`\\]|\Z)', r"\1", inside) if piece[0] == '"' else inside
        else:
            words[-1] += piece.removeprefix("\\")
    return words, quote


def quote_text(text: str, quote: str) -> str:
    """Escape text for bash. quote: the open quote or "", closed before characters that it does not protect."""
    text = re.sub(UNSAFE[quote], lambda found: f"{quote}\\{found[0]}{quote}", text)
    return text + quote if text.endswith(quote) else text  # readline closes a quote at the end


class Complete(ShellComplete):
    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        if "--" in args:
            return entries(incomplete)
        head = ""
        if incomplete.startswith("--") and "=" in incomplete:
            head = incomplete.partition("=")[0] + "="
        elif args and re.match(r"-[^=]+\Z", args[-1]):  # a last option without its value would fail the whole parse
            args, incomplete = args[:-1], f"{args[-1]}={incomplete}"
        items = super().get_completions(args, incomplete)
        return [CompletionItem(head + item.value, item.type, item.help) for item in items]

    def complete(self) -> str:
        """Return the candidates, each followed by a null character."""
        words, _ = split_words(os.environ["COMP_LINE"])
        found = self.get_completions(words[1:-1], words[-1])
        return "".join(f"{self.format_completion(x)}\0" for x in found if not CONTROL.search(x.value))


class Bash(Complete, BashComplete):
    """bash: a candidate replaces the part after the last word break, and has to be quoted here."""

    source_template = completion_script("bash")

    def format_completion(self, item: CompletionItem) -> str:
        words, quote = split_words(os.environ["COMP_LINE"])
        part = split_words(quote + os.environ.get("COMP_WORD", ""))[0][-1]
        text = item.value[len(words[-1]) - len(part) if words[-1].endswith(part) else 0 :]
        return quote_text(text, quote) + (" " if item.type == "plain" and not quote else "")


class Zsh(Complete, ZshComplete):
    """zsh: a candidate has three parts, of which the last is for display. zsh quotes it."""

    source_template = completion_script("zsh")

    def format_completion(self, item: CompletionItem) -> str:
        about = describe_item(item)
        return f"{item.type}\0{item.value}\0{item.value}{'  -- ' + about if about else ''}"


class Fish(Complete, FishComplete):
    """fish: a candidate is value, tab, help. fish quotes it, and adds no space after = : and /."""

    source_template = completion_script("fish")

    def format_completion(self, item: CompletionItem) -> str:
        about = describe_item(item)
        return f"{item.value}\t{about}" if about else item.value


def describe_item(item: CompletionItem) -> str:
    return "".join(filter(str.isprintable, " ".join((item.help or "").split())))


SHELLS: dict[str, type[Complete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


@click.command(
    cls=Command,
    epilog='Examples: eval "$(gradcli completion bash)"; gradcli completion zsh > _gradcli; '
    "gradcli completion fish > gradcli.fish",
)
@click.argument("shell", metavar="SHELL", shell_complete=lambda _, __, incomplete: items(SHELLS, incomplete))
def completion(shell: str) -> None:
    """Print a completion script for SHELL: bash, zsh or fish.

    Run the script in the shell's start-up file, or save it where the shell looks for completions; see the examples.
    Then TAB completes commands, options and their choices, files, and functions after FILE.py:. It also completes the
    names of a program after --wrt, --out, --retain and --hook, and the program's inputs as NAME=. This does not execute
    the program.
    """
    if shell not in SHELLS:
        raise unknown_name(f"there is no completion for '{shell}'", shell, SHELLS, "the shells are")
    source = SHELLS[shell](click.get_current_context().find_root().command, {}, "gradcli", COMPLETE).source()
    output_of("completion", ("text",), format="text").write(source)


def answer_shell(cli: click.Command, instruction: str) -> int:
    """Print the candidates that a completion script asks for; nothing if that fails. instruction: SHELL_complete."""
    shell, _, _ = instruction.partition("_")
    try:
        answer: Any = SHELLS[shell](cli, {}, "gradcli", "").complete()
        sys.stdout.buffer.write(os.fsencode(answer))
        sys.stdout.flush()
    except Exception:
        return 1
    return 0
