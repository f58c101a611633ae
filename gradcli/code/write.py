"""Turn nodes into statements and functions of a language."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import GradcliError
from . import special
from .language import ATOM_BINDS, CALLED, INFIX_LEVELS, Argument, Body, Definition, Language, Text
from .names import NamedShapes, UniqueNames
from .nodes import CodeNode, Condition, NodeGraph, needed_nodes

LONGEST_EXPRESSION = 40  # characters of an expression that is not yet an intermediate result of its own
PLAIN_OPERATIONS = ("constant", "input")
STRUCTURE = ("select", "negative", "logical_not", *INFIX_LEVELS)


class Helper:
    """A function of numbers that the code needs and the language lacks."""

    def __init__(self, op: str):
        function: Any = special.helper(op)
        graph = NodeGraph()
        names = [n for n, p in inspect.signature(function).parameters.items() if p.default is p.empty and n != "order"]
        self.name, self.parameters = op, names
        self.root = graph.number(function(*map(graph.input, names)))


def helpers_for(roots: Sequence[CodeNode], language: Language) -> list[Helper]:
    """Return the helpers that the results need, each after those that it calls. Raises GradcliError."""
    found: dict[str, Helper] = {}

    def visit(nodes: list[CodeNode]) -> None:
        for op in dict.fromkeys(node.op for node in nodes):
            if op in found or op in PLAIN_OPERATIONS or op in STRUCTURE or op in language.operations:
                continue
            if special.helper(op) is None:
                message = f"generated code cannot compute {op}, which {language.title} lacks"
                raise GradcliError(message, hint="'gradcli grad' computes it as numbers", kind="exact")
            helper = Helper(op)
            visit(needed_nodes([helper.root]))
            found[op] = helper

    visit(needed_nodes(roots))
    return list(found.values())


class Writer:
    """Writes the results of one function. elements: the texts of its inputs by name."""

    def __init__(self, language: Language, elements: Mapping[str, str], names: UniqueNames):
        self.language, self.elements = language, elements
        self.names = iter(names.numbered())

    def body(self, roots: Sequence[CodeNode]) -> Body:
        nodes = needed_nodes(roots)
        uses = Counter(x.serial for node in nodes for x in node.args)
        ends = Counter(root.serial for root in roots)
        uses.update(ends)
        texts: dict[int, Text] = {}
        statements = []
        for node in nodes:
            texts[node.serial] = text = self.write(node, texts)
            truth = isinstance(node, Condition)
            if node.op in PLAIN_OPERATIONS or (node.op == "negative" and node.args[0].op in PLAIN_OPERATIONS):
                continue
            often = uses[node.serial] > 1 and (not truth or len(text.text) > LONGEST_EXPRESSION // 2)
            last = uses[node.serial] == ends[node.serial] == 1
            if often or (len(text.text) > LONGEST_EXPRESSION and not last):
                name = next(self.names)
                statements.append(Definition(name, text.text, truth))
                texts[node.serial] = Text(name, ATOM_BINDS)
        return Body(statements, [self.result(root, texts) for root in roots])

    def result(self, root: CodeNode, texts: Mapping[int, Text]) -> str:
        if root.op == "constant":
            return self.language.number(root.value, alone=True).text
        return texts[root.serial].text

    def write(self, node: CodeNode, texts: Mapping[int, Text]) -> Text:
        language, op = self.language, node.op
        if op == "constant":
            return language.number(node.value)
        if op == "input":
            return Text(self.elements[node.value], ATOM_BINDS)
        operands = [texts[x.serial] for x in node.args]
        if op == "negative":
            return language.negative(*operands)
        if op == "logical_not":
            return language.opposite(*operands)
        if op == "select":
            alone = [language.number(x.value, alone=True) if x.op == "constant" else t
                     for x, t in zip(node.args, operands, strict=True)]  # fmt: skip
            return language.choice(*alone)
        if op == "divide":
            divisor = node.args[1].value if node.args[1].op == "constant" else None
            return language.quotient(operands[0], operands[1], divisor)
        if op in INFIX_LEVELS:
            return language.infix(op, *operands)
        names = ", ".join(f"{{{i}}}" for i in range(len(operands)))
        return language.call(language.operations.get(op, f"{op}({names})"), operands)


def called_names(nodes: Sequence[CodeNode], language: Language) -> set[str]:
    """Return the names of the functions that the text of these nodes calls, with those that support calls."""
    calls = (node.op for node in nodes if node.op not in (*PLAIN_OPERATIONS, *STRUCTURE))
    templates = (language.operations.get(op, f"{op}(") for op in calls)
    names = {name for template in templates for name in CALLED.findall(template)}
    names |= language.called_for(nodes)
    while True:
        more = {n for name in names for n in CALLED.findall(language.support.get(name, ""))} - names
        if not more:
            return names
        names |= more


def write_code(
    language: Language,
    target: str,
    inputs: NamedShapes,
    value: CodeNode,
    derivatives: Sequence[tuple[str, tuple[int, ...], Sequence[CodeNode]]],
) -> str:
    """Write a function of value and derivatives. Raises GradcliError.

    derivatives: label, shape and elements of each.
    """
    roots = [value, *(element for _, _, elements in derivatives for element in elements)]
    helpers = helpers_for(roots, language)
    called = called_names([*needed_nodes(roots), *(n for h in helpers for n in needed_nodes([h.root]))], language)
    own = {helper.name for helper in helpers}
    functions = [write_helper(language, helper, called) for helper in helpers]
    names = UniqueNames(inputs, language.reserved(called), language.spelling, language.fold_case)
    value_name = names.free("value")
    slopes = [Argument(names.derivative(label), shape) for label, shape, _ in derivatives]
    elements = {label: language.element(*place) for label, place in names.elements.items()}
    body = Writer(language, elements, names).body(roots)
    arguments = [Argument(names.parameters[name], shape) for name, shape in inputs]
    functions.append(language.function(target, arguments, slopes, value_name, body))
    support = [text for name, text in language.support.items() if name in called - own]
    return language.file(target, functions, support, called - own)


def write_helper(language: Language, helper: Helper, called: set[str]) -> str:
    scalars = [(name, ()) for name in helper.parameters]
    names = UniqueNames(scalars, language.reserved(called), language.spelling, language.fold_case)
    body = Writer(language, names.parameters, names).body([helper.root])
    return language.helper(helper.name, [names.parameters[n] for n in helper.parameters], body)
