"""Read values from the command line: NAME=VALUE, where VALUE is an expression or @FILE."""

from __future__ import annotations

import re
import shlex
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..request import Request
from . import tree
from .limits import CONSTANTS, as_written

STRING = r"(?P<name>[^\W\d]\w*)|\"(?P<quoted>[^\"]*)\""
NAME = re.compile(r"(?:[^\W\d]\w*|\d+(?=\.))(?:\.\w+|\[\d+\])*\Z")


SPELLED = {
    **dict.fromkeys(("NA", "NaN", "NAN", "Nan", "NULL", "null", "missing"), "a missing value is nan"),
    **dict.fromkeys(("Inf", "INF", "Infinity", "infinity", "oo"), "infinity is inf"),
    **dict.fromkeys(("PI", "Pi"), "write pi"),
}
"""Hints for constants that other programs spell differently."""


def split_value(word: str) -> tuple[str, str]:
    """Split NAME=VALUE. Raises GradcliError for anything else."""
    name, sign, text = word.partition("=")
    if not sign or not NAME.match(name.strip()):
        hint = "give values as x=2 or w='[[1, 2], [3, 4]]', without spaces around ="
        raise GradcliError(f"'{word}' is not NAME=VALUE", hint=hint)
    if not text.strip():
        raise GradcliError(f"'{word}' has no value", hint=f"write {name}=2 or {name}=@file.npy")
    return as_written(name.strip()), text


def read_values(words: tuple[str, ...], request: Request, strings: bool = False) -> dict[str, Any]:
    """Read arrays from words NAME=VALUE, or @FILE for all names in a file. Raises GradcliError.

    NAME=VALUE overrides a value from such a file. strings: a name or a text in double quotes is a string, for Python
    functions. All random values come from one seeded generator.
    """
    rng: Any = None
    values: dict[str, Any] = {}
    gathered: dict[str, np.ndarray] = {}
    whole = ""
    for word in words:
        if word.startswith("@"):
            from .files import read_names

            gathered.update((as_written(n), x) for n, x in read_names(word[1:], request.max_elements).items())
            continue
        name, text = split_value(word)
        if name in values:
            raise GradcliError(f"'{name}' is given twice")
        if text.strip() == "@-" and whole:
            raise GradcliError(f"{name}: standard input is empty or has already been read", kind="file")
        whole = whole or (name if text.strip() == "@-" else "")
        string = re.fullmatch(STRING, text.strip()) if strings else None
        if string and string["name"] not in CONSTANTS:
            values[name] = string["name"] or string["quoted"]
        else:
            if rng is None and "rand" in text:
                rng = np.random.default_rng(request.seed)
            values[name] = read_value(text, request, name, rng)
    return {**gathered, **values}


def read_json_values(words: tuple[str, ...]) -> dict[str, Any]:
    """Read words of the form NAME=JSON. Raises GradcliError."""
    values: dict[str, Any] = {}
    for word in words:
        import json

        name, text = split_value(word)
        try:
            values[name] = json.loads(text)
        except (ValueError, RecursionError):
            hint = f"for a string: --arg {shlex.quote(f'{name}={json.dumps(text)}')}"
            raise GradcliError(f"--arg {name}: '{text}' is not valid JSON", hint=hint) from None
    return values


def read_value(text: str, request: Request, name: str = "value", rng: Any = None) -> np.ndarray:
    """Read a VALUE: an expression without names, or @FILE. rng: a random generator; by default, a seeded one."""
    if text.lstrip().startswith("@"):
        from .files import read_file

        return read_file(text.lstrip()[1:], name, request.max_elements)
    from .parse import parse

    try:
        program = parse(text)
    except GradcliError as error:
        from .tables import VALUE_FORMATS

        if re.search(rf"\.({'|'.join(VALUE_FORMATS)})(:[\w.]+)?\s*$", text):
            error.hint = f"to read a file, write {shlex.quote(f'{name}=@{text.strip()}')}"
        raise
    for statement in program.statements:
        if statement.target is not None or len(program.statements) > 1:
            span = program.span(statement.value)
            raise GradcliError(f"the value of '{name}' must be one expression", span=span, kind="syntax")
        for node in statement.value.walk():
            if isinstance(node, tree.Name) and node.name not in CONSTANTS:
                message = f"the value of '{name}' cannot use the name '{node.name}'"
                hint = SPELLED.get(node.name, "values are numbers, lists, or calls such as linspace(0, 1, 5)")
                raise GradcliError(message, span=program.span(node), hint=hint, kind="name")
    literal = program.statements[0].value
    try:
        if isinstance(literal, tree.Sequence):  # several numbers need no brackets: 1, 2, 3
            return np.array([value_of_literal(item) for item in literal.items], request.real)
        return np.array(value_of_literal(literal), request.real)
    except ValueError:
        return run_value(program, request, name, rng)


def value_of_literal(node: tree.Expr) -> Any:
    """Return a literal as a number or as nested lists of floats. Raises ValueError for other expressions."""
    if isinstance(node, tree.Number) and isinstance(node.value, float):
        return node.value
    if isinstance(node, tree.Unary) and node.op == "negative" and isinstance(node.x, tree.Number):
        return -value_of_literal(node.x)
    if isinstance(node, tree.Sequence) and node.is_list:
        return [value_of_literal(item) for item in node.items]
    raise ValueError


def run_value(program: tree.ParsedProgram, request: Request, name: str, rng: Any = None) -> np.ndarray:
    from ..tape.tensor import Tensor
    from .evaluate import Evaluator, lift_number

    evaluator = Evaluator(program, request)
    evaluator.rng = rng
    value = evaluator.run({})
    if isinstance(value, tuple):
        try:
            value = np.array([x._data if isinstance(x, Tensor) else x for x in value])
        except ValueError:
            message = f"the parts of the value of '{name}' must have the same shape"
            span = program.span(program.statements[0].value)
            raise GradcliError(message, span=span, hint="write a list: [[1, 2], [3, 4]]", kind="shape") from None
    return np.asarray(lift_number(value)._data if not isinstance(value, np.ndarray) else value)
