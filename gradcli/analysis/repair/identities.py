"""Other ways to write an expression: identities that keep the digits which cancellation loses.

A pattern is text of the language in which single letters stand for any expression. See N. J. Higham, Accuracy and
Stability of Numerical Algorithms (2002), section 1.7 and problem 1.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator

from ...errors import GradcliError
from ...lang import tree
from ...lang.names import find_function
from ...lang.parse import parse

TABLE = """
expm1: exp(a) - 1 -> expm1(a); -1 + exp(a) -> expm1(a); 1 - exp(a) -> -expm1(a);
    exp(a) - exp(b) -> exp(b)*expm1(a - b); exp2(a) - 1 -> expm1(a*log(2)); e**a - 1 -> expm1(a)
log1p: log(1 + a) -> log1p(a); log(1 - a) -> log1p(-a); log(a) - log(b) -> log1p((a - b)/b);
    log(a/b) -> log1p((a - b)/b); log(1 - exp(a)) -> log(-expm1(a)); log(1 - exp(a)) -> log1p(-exp(a))
power: (1 + a)**b - 1 -> expm1(b*log1p(a)); (1 - a)**b - 1 -> expm1(b*log1p(-a)); a**b - 1 -> expm1(b*log(a));
    (1 + a)**b -> exp(b*log1p(a))
half angle: 1 - cos(a) -> 2*sin(a/2)**2; cos(a) - 1 -> -2*sin(a/2)**2; (1 - cos(a))/sin(a) -> tan(a/2);
    sin(a)/(1 + cos(a)) -> tan(a/2); cosh(a) - 1 -> 2*sinh(a/2)**2; 1 - cosh(a) -> -2*sinh(a/2)**2;
    sqrt(1 - cos(a)) -> sqrt(2)*abs(sin(a/2))
sum to product: sin(a) - sin(b) -> 2*cos((a + b)/2)*sin((a - b)/2);
    cos(a) - cos(b) -> -2*sin((a + b)/2)*sin((a - b)/2); tan(a) - tan(b) -> sin(a - b)/(cos(a)*cos(b));
    arctan(a) - arctan(b) -> arctan((a - b)/(1 + a*b)); sinh(a) - sinh(b) -> 2*cosh((a + b)/2)*sinh((a - b)/2)
pythagoras: 1 - cos(a)**2 -> sin(a)**2; 1 - sin(a)**2 -> cos(a)**2; cosh(a)**2 - 1 -> sinh(a)**2;
    1 - tanh(a)**2 -> 1/cosh(a)**2; cos(a)**2 - sin(a)**2 -> cos(2*a)
hyperbolic: exp(a) - exp(-a) -> 2*sinh(a); exp(-a) - exp(a) -> -2*sinh(a); exp(a) + exp(-a) -> 2*cosh(a);
    (exp(a) - exp(-a))/(exp(a) + exp(-a)) -> tanh(a); (exp(2*a) - 1)/(exp(2*a) + 1) -> tanh(a);
    1 - tanh(a) -> 2/(exp(2*a) + 1)
sinc: sin(a)/a -> sinc(a/pi); sin(a)**2/a**2 -> sinc(a/pi)**2; (1 - cos(a))/a**2 -> sinc(a/(2*pi))**2/2;
    sin(a/2)**2/a**2 -> sinc(a/(2*pi))**2/4; 2*sin(a/2)**2/a**2 -> sinc(a/(2*pi))**2/2
conjugate: sqrt(a + b) - sqrt(a) -> b/(sqrt(a + b) + sqrt(a));
    sqrt(a) - sqrt(a - b) -> b/(sqrt(a) + sqrt(a - b)); sqrt(1 + a) - 1 -> a/(sqrt(1 + a) + 1);
    1 - sqrt(1 - a) -> a/(1 + sqrt(1 - a)); 1 - sqrt(1 + a) -> -a/(1 + sqrt(1 + a));
    sqrt(a**2 + b) - a -> b/(sqrt(a**2 + b) + a); a - sqrt(a**2 - b) -> b/(a + sqrt(a**2 - b));
    a - sqrt(a**2 + b) -> -b/(a + sqrt(a**2 + b)); -a + sqrt(a**2 - b) -> -b/(a + sqrt(a**2 - b));
    -a + sqrt(a**2 + b) -> b/(a + sqrt(a**2 + b)); -a - sqrt(a**2 - b) -> b/(sqrt(a**2 - b) - a);
    sqrt(a) - sqrt(b) -> (a - b)/(sqrt(a) + sqrt(b)); sqrt(a) - b -> (a - b**2)/(sqrt(a) + b)
fraction: 1/a - 1/(a + b) -> b/(a*(a + b)); 1/(a + b) - 1/a -> -b/(a*(a + b)); 1/a - 1/b -> (b - a)/(a*b);
    a/(a + b) - 1 -> -b/(a + b); 1 - a/(a + b) -> b/(a + b); 1/(1 - a) - 1 -> a/(1 - a);
    1/(1 + a) - 1 -> -a/(1 + a)
difference: (a + b) - a -> b; a - (a + b) -> -b; a - (a - b) -> b; a**2 - b**2 -> (a - b)*(a + b);
    a**2 - 1 -> (a - 1)*(a + 1); 1 - a**2 -> (1 - a)*(1 + a); a*a - b*b -> (a - b)*(a + b)
hypot: sqrt(a**2 + b**2) -> hypot(a, b); sqrt(a*a + b*b) -> hypot(a, b); (a**2 + b**2)**0.5 -> hypot(a, b);
    sqrt(a**2 + 1) -> hypot(a, 1)
log-sum-exp: log(exp(a) + exp(b)) -> logaddexp(a, b); log(sum(exp(a))) -> logsumexp(a);
    exp(a)/sum(exp(a)) -> softmax(a, axis=-1); log(1 + exp(a)) -> softplus(a);
    log(1 + exp(a)) -> logaddexp(0, a); log(sigmoid(a)) -> -softplus(-a); 1/(1 + exp(-a)) -> sigmoid(a);
    exp(a)/(1 + exp(a)) -> sigmoid(a); log(1/(1 + exp(-a))) -> -softplus(-a)
complement: 1 - erf(a) -> erfc(a); erfc(a) - 1 -> -erf(a); 1 - sigmoid(a) -> sigmoid(-a);
    exp(a**2)*erfc(a) -> erfcx(a)
cosines: log(cosh(a)) -> abs(a) + log1p(exp(-2*abs(a))) - log(2); sqrt(exp(a)) -> exp(a/2); log(exp(a)) -> a;
    arccos(1 - a) -> 2*arcsin(sqrt(a/2)); tan(a)/sin(a) -> 1/cos(a)
"""
COMMUTATIVE = ("add", "multiply")
Bindings = dict[str, tree.Expr]
Rule = tuple[str, tree.Expr, str]


@functools.cache
def rules() -> list[Rule]:
    """Return name, pattern and replacement of every rewriting; those that need a function we lack are left out."""
    rewritings = []
    for line in re.sub(r"\n +", " ", TABLE).strip().splitlines():
        name, _, items = line.partition(": ")
        for item in items.split("; "):
            pattern, _, text = item.strip().partition(" -> ")
            if all(map(find_function, re.findall(r"(\w+)\(", text))):
                rewritings.append((name, parse(pattern).statements[0].value, text))
    return rewritings


def match(pattern: tree.Expr, node: tree.Expr, bound: Bindings) -> Iterator[Bindings]:
    """Yield what the letters of a pattern stand for in an expression, in every way that it fits."""
    if isinstance(pattern, tree.Name) and pattern.name != "e":
        known = bound.get(pattern.name)
        if known is None:
            yield {**bound, pattern.name: node}
        elif equal(known, node):
            yield bound
        return
    if type(pattern) is not type(node) or head(pattern) != head(node):
        return
    ours, theirs = list(pattern.children()), list(node.children())
    if len(ours) != len(theirs):
        return
    orders = [theirs, theirs[::-1]] if isinstance(node, tree.Binary) and node.op in COMMUTATIVE else [theirs]
    for order in orders:
        ways = [bound]
        for part, against in zip(ours, order, strict=True):
            ways = [more for way in ways for more in match(part, against, way)]
        yield from ways


def head(node: tree.Expr) -> object:
    """Return what an expression is, its parts aside: an operator, a function of the table, a number."""
    if isinstance(node, tree.Call):
        entry = find_function(node.function)
        return (entry.name if entry else node.function, node.keywords)
    return tuple(getattr(node, name) for name in ("op", "value", "name", "is_list") if hasattr(node, name))


def equal(x: tree.Expr, y: tree.Expr) -> bool:
    if type(x) is not type(y) or head(x) != head(y):
        return False
    ours, theirs = list(x.children()), list(y.children())
    return len(ours) == len(theirs) and all(map(equal, ours, theirs))


def rewrite_once(source: str) -> Iterator[tuple[str, str]]:
    """Yield the name of a rewriting and the program in which it was made once, for every place where one fits."""
    program = parse(source)
    for statement in program.statements:
        for node in statement.value.walk():
            for name, pattern, text in rules():
                bound = next(match(pattern, node, {}), None)
                if bound is not None:
                    yield name, splice(source, node, fill(text, source, bound))


def fill(text: str, source: str, bound: Bindings) -> str:
    """Return a replacement with expressions in place of its letters, in parentheses unless they are arguments."""

    def insert(letter: re.Match) -> str:
        node = bound[letter[0]]
        alone = re.search(r"\w\($|, $", text[: letter.start()]) and text[letter.end() : letter.end() + 1] in (
            "",
            ",",
            ")",
        )
        return source[node.start : node.end] if alone else parenthesize(source, node)

    return re.sub(r"\b[ab]\b", insert, text)


def parenthesize(source: str, node: tree.Expr) -> str:
    """Return an expression's text, in parentheses where what stands around might tear it."""
    text = source[node.start : node.end]
    return text if isinstance(node, tree.Leaf | tree.Call) else f"({text})"


def splice(source: str, node: tree.Expr, text: str) -> str:
    """Return a program with another text in place of an expression, in parentheses where it needs them."""
    before, after = source[: node.start], source[node.end :]
    if re.search(r"(?<!\w)\($", before) and after.startswith(")"):
        before, after = before[:-1], after[1:]
    new = parse(text).statements[0].value
    first = not before.strip() or re.search(r"(?<![=<>!])=\s*$|[(\[,;\n]\s*$", before)
    last = not after.strip() or re.match(r"\s*[)\],;\n]", after)
    product = isinstance(new, tree.Binary) and new.op in ("multiply", "divide") and re.match(r"\s*[*/](?!\*)", after)
    bare = isinstance(new, tree.Leaf | tree.Call) or (first and (last or product))
    return f"{before}{text if bare else f'({text})'}{after}"


def ways_to_write(
    source: str, accept: Callable[[str], bool], most: int = 60
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield programs that rewritings make of one, fewest first, with the names of the rewritings.

    accept(program): whether it is worth rewriting further.
    """
    seen = {source}
    level: list[tuple[tuple[str, ...], str]] = [((), source)]
    for _ in range(4):
        following: list[tuple[tuple[str, ...], str]] = []
        for names, text in level:
            for name, program in rewrite_once(text):
                if program in seen or len(seen) >= most:
                    continue
                seen.add(program)
                names_now = (*names, name) if name not in names else names
                try:
                    parse(program)
                except GradcliError:
                    continue
                yield names_now, program
                if accept(program):
                    following.append((names_now, program))
        level = following
