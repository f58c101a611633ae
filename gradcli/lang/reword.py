"""Reword messages of NumPy and Python for the expression language, and give hints for syntax errors."""

from __future__ import annotations

import ast
import contextlib
import keyword
import re

import numpy as np

from ..rules import full_table
from .tree import Call

ODD = {type(None): "None", type(...): "...", tuple: "a tuple", slice: "a slice", bool: "True or False"}
DTYPE_KINDS = {"b": "boolean", "i": "whole", "u": "whole", "f": "real", "c": "complex", "O": "such"}
PYTHON_SYNTAX = re.compile(
    r"unsupported operand type|not supported between instances|bad operand type|can't multiply sequence"
    r"|can only concatenate|object has no attribute|must be (a )?real number|must be a string or a real number"
    r"|argument must be|object is not (iterable|subscriptable|callable)|does not support argument"
    r"|has no len\(\)|object of type|NumPy would lose its graph|can't convert|not understood"
)
WORDINGS = (
    (r"'(\w+)' object cannot be interpreted as an integer.*", "a whole number is needed here"),
    (r"only integer tensors of a single element .*", "a whole number is needed here, not an array"),
    (r"only (integer scalar|length-1|0-dimensional|one element) (arrays|tensors).*", "a single number is needed"),
    (r"(Python )?(int|float).* (too large|out of bounds for).*", "this number is too large here"),
    (r"cannot convert float (NaN|infinity) to integer", r"a whole number is needed here, not \1"),
    (r"zero-size array to reduction operation (\w+) .*", r"an empty array has no \1"),
    (r"input operand has more dimensions than allowed.*", "an array cannot be broadcast to fewer axes"),
    (
        r"operands could not be broadcast .*remapped shapes \S+ (\(.*?\)) +and requested shape (\(.*\))",
        r"an array of shape \1 cannot be broadcast to \2",
    ),
    (r"all elements of broadcast shape must be .*|negative dimensions are .*", "a length cannot be negative"),
    (r"(?:The )?numpy boolean (subtract|negative).*", "- is not defined for booleans; use not, != or where(...)"),
    (r"only integers, slices .*", "an index must be a whole number in bounds, a slice, ..., None or an array of those"),
    (r"cannot fit 'int' into an index-sized integer", "this index is out of bounds"),
    (
        r"maximum supported dimension for an ndarray is.*|number of dimensions must be within.*"
        r"|setting an array element .*would exceed the maximum number.*",
        "an array has at most 64 axes",
    ),
    (r"setting an array element with a sequence.*", "the rows must have the same length"),
    (r"Exceeds the limit .*integer string conversion.*", "a number has too many digits"),
    (r"unexpected end of data", "a quotation mark is not closed"),
    (r"the magic string is not correct.*", "it is not an .npy file"),
    (r"\('(?:unexpected )?EOF in multi-line statement'.*", "its header is damaged"),
    (
        r"EOF: reading .*|.*No data left in file.*|Failed to read all data.*|mmap length is greater.*",
        "the file is empty or cut short",
    ),
    (r"iteration over a 0-d (tensor|array)", "a list of arrays is needed, not a number"),
    (r"object too deep for desired array", "an array with fewer axes is needed"),
    (r"Boolean value of Tensor with more than one value.*", "a single number is needed, not an array"),
    (r"array is too big.*|Maximum allowed (size|dimension) exceeded", "this value would be too large"),
    (r"takes from .* positional arguments? but 0 were given", "needs its operands by position, as in f(x)"),
    (r"not tensor\(.*", "not an array"),
    (r"argument tensor\(.*?(;|$)", r"an array too many\1"),
    (r"arange: scalar arguments expected.*", "arange takes numbers"),
    (r"mean\(\): could not infer output dtype.*", "booleans have no mean; convert them with where(x, 1, 0)"),
)


def readable_message(error: Exception, args: tuple = ()) -> str:
    """Return an exception's message in the language's words. args: the operands."""
    text = (getattr(error, "plain", str(error)) or type(error).__name__).removeprefix("ValueError: ").split("\n")[0]
    ufunc = re.match(r"ufunc '(\w+)' (not supported for the input types|did not contain a loop)", text)
    if ufunc:
        return f"{ufunc[1]} is not defined for {kinds_of(args)} numbers"
    if isinstance(error, TypeError | AttributeError | RuntimeError) and PYTHON_SYNTAX.search(text):
        odd = next((ODD[type(x)] for x in args if type(x) in ODD), None)
        if odd is None:
            return "this operation does not accept such operands"
        return "a tuple is not an array; write a list: [1, 2]" if odd == "a tuple" else f"{odd} is not a number"
    for pattern, better in WORDINGS:
        text = re.sub(pattern, better, text)
    return text.rstrip()


def kinds_of(args: tuple) -> str:
    """Return the kinds of numbers among the arguments, such as "real and complex"."""
    raw = [getattr(x, "_data", x) for x in args]
    numbers = [x for x in raw if isinstance(x, np.ndarray | np.generic | float | int | complex)]
    words = [DTYPE_KINDS.get(np.asarray(x).dtype.kind, "such") for x in numbers]
    return " and ".join(dict.fromkeys(words)) or "such"


SIGN_HINTS = {
    **dict.fromkeys("×·⋅∗∙•＊✕", "multiplication is *"),
    **dict.fromkeys("÷∕⁄／", "division is /"),
    **dict.fromkeys("−–—‐‑－", "minus is -"),
    "＋": "plus is +", "＝": "write =", "＾": "a power is x**2",
    "²": "a power is x**2", "³": "a power is x**3", "√": "a square root is sqrt(x)", "∞": "infinity is inf",
    "°": "angles are in radians: x * pi / 180",
    "≤": "write <=", "≥": "write >=", "≠": "write !=",
    "&&": "write a and b, or a & b",
    "||": "write a or b, or a | b",
    "?": "write a choice as: a if condition else b",
    "|": "an absolute value is abs(x); a logical or is a | b",
    "!": "write not a, or a != b; a factorial is gamma(x + 1)",
    **dict.fromkeys("$\\", "write formulas plainly: x**2 * sin(y)"),
    "{": "write a list in square brackets: [1, 2]",
}  # fmt: skip
"""Hints for signs that the language writes differently."""
PYTHON_WORDS = frozenset(keyword.kwlist) - set("and or not if else True False None".split())  # not in the language


def keyword_as_name(text: str, line: int) -> re.Match | None:
    """Return the first keyword in a line of a text, if the text parses once the line's keywords are renamed."""
    start = sum(len(row) + 1 for row in text.split("\n")[: line - 1])
    end = (text + "\n").index("\n", start)
    keywords = [m for m in re.compile(r"(?<![\w.])[a-z]+\b").finditer(text, start, end) if m.group() in PYTHON_WORDS]
    renamed = list(text)
    for match in keywords:
        renamed[match.end() - 1] = "_"
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        ast.parse("".join(renamed))
        return keywords[0] if keywords else None
    return None


DERIVATIVE_HINT = "'gradcli grad' prints a derivative, 'gradcli symbolic' prints it as a formula"
INSTEAD = {
    "binomial": "binom(n, k)",
    "sec": "1/cos(x)", "csc": "1/sin(x)", "cosec": "1/sin(x)", "cot": "1/tan(x)",
    "sech": "1/cosh(x)", "csch": "1/sinh(x)", "coth": "1/tanh(x)", "len": "x.size", "besselj": "jv(n, x)",
    "lg": "log10(x)", "tg": "tan(x)", "ctg": "1/tan(x)", "arctg": "arctan(x)", "root": "x**(1/n)",
    "mix": "lerp(a, b, t)", "fract": "x % 1", "saturate": "clamp(x, 0, 1)",
    "normcdf": "ndtr(x)", "pnorm": "ndtr(x)", "norminv": "ndtri(x)", "qnorm": "ndtri(x)", "Phi": "ndtr(x)",
    "cdf": "ndtr(x)", "pdf": "exp(-x**2/2)/sqrt(2*pi)",
    "ppf": "ndtri(x)", "logcdf": "log_ndtr(x)",
    "normpdf": "exp(-x**2/2)/sqrt(2*pi)", "dnorm": "exp(-x**2/2)/sqrt(2*pi)",
    "cross_entropy": "-log_softmax(z)[k]", "nll_loss": "-z[k]",
    "mse_loss": "mean((x - y)**2)", "mse": "mean((x - y)**2)", "l1_loss": "mean(abs(x - y))",
    "binary_cross_entropy": "-mean(y*log(p) + (1 - y)*log1p(-p))", "huber_loss": "mean(huber(delta, x - y))",
    "binary_cross_entropy_with_logits": "mean(softplus(z) - y*z)", "cosine_similarity": "dot(x, y)/(norm(x)*norm(y))",
    "layer_norm": "(x - mean(x))/sqrt(var(x) + 1e-5)", "normalize": "x/norm(x)", "distance": "norm(x - y)",
    "smoothstep": "clamp(x, 0, 1)**2*(3 - 2*clamp(x, 0, 1))", "step": "heaviside(x, 1)", "nCr": "binom(n, k)",
}  # fmt: skip
"""What to write for functions that the language does not have."""
DERIVATIVES = "derivative deriv differentiate Derivative D ddx".split()


def written_instead(name: str) -> str | None:
    """Return a hint for a well-known function that the language lacks."""
    if name in DERIVATIVES:
        return DERIVATIVE_HINT
    return f"write {INSTEAD[name]}" if name in INSTEAD else None


MODULE_PREFIXES = "np numpy math cmath jnp jax torch scipy sp sympy Math tf special stats linalg F nn".split()


def module_hint(name: str, source: str) -> str | None:
    """Return a hint for a name in a program, if it is that of a module, or of SciPy's normal distribution."""
    if name not in (*MODULE_PREFIXES, "norm"):
        return None
    used = re.search(rf"(?<![\w.]){name}\.(?:\w+\.)*(\w+)\(", source)
    if used and (advice := written_instead(used[1])):
        return advice
    return "functions need no module name: sin(x)" if name in MODULE_PREFIXES else None


def no_value_hint(name: str, source: str) -> str | None:
    """Return a hint for a name without a value, if it is the name of a module or a function. source: the program."""
    if module := module_hint(name, source):
        return module
    return f"call a function with round brackets: {name}(x)" if name in full_table() else None


def called_number_hint(before: str) -> str:
    """Return a hint for a number or a part of a formula that is called like a function. before: the text before it."""
    power = re.search(r"([^\W\d]\w*)\s*(?:\^|\*\*)\s*$", before)
    return f"write a power of a function as {power[1]}(x)**2" if power else "a product needs *: 3*(x + 1)"


OF_TWO = {"max": "maximum", "amax": "maximum", "min": "minimum", "amin": "minimum"}


def call_hint(place: object) -> str | None:
    if not isinstance(place, Call):
        return None
    name, has_second = place.function, len(place.args) > 1
    if name in OF_TWO and has_second:
        return f"for two operands, use {OF_TWO[name]}(x, y); the second operand of {name} is an axis"
    if name == "log" and (has_second or place.keywords):
        return "log is the natural logarithm; for base 2, write log(x)/log(2)"
    if name == "diff":
        return f"diff(x) computes the differences of neighbours; {DERIVATIVE_HINT}"
    return None


SAID = {
    "left side of =": "write only the formula, as in x**2, or assign it to a name, as in y = x**2",
    "unterminated string": DERIVATIVE_HINT,
    "was never closed": "add the bracket that closes it",
    **dict.fromkeys(("unmatched", "does not match"), "brackets come in pairs: ( ), [ ]"),
    "a range is not": "only plot, precision and eval take A:B; for an array, write linspace(1, 3, 5)",
    "expected 'else'": "write a choice as: a if condition else b",
    "indent": "lines must not be indented",
}
"""Hints for parts of Python's syntax error messages."""


FORTRAN_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)[dD][-+]?\d")


def syntax_hint(message: str, source: str, start: int) -> str | None:
    near = source[max(start - 1, 0) : start + 2]
    for sign, advice in SIGN_HINTS.items():
        if sign in near and (not sign.isascii() or "invalid syntax" in message or "character" in message):
            return advice
    for said, advice in SAID.items():
        if said in message:
            return advice
    if re.match(r"[\d.]*i\b", source[start:]) and re.search(r"[\d.)]", source[max(start - 1, 0) : start + 1]):
        return "the imaginary unit is j, after a number: 2j"
    if re.search(r"\bd/d\w+ +\Z", source[:start]):
        return DERIVATIVE_HINT
    if declared := re.match(r"\s*(?:let|var|const|auto|def|local)\s+(\w+)\s*=", source):
        return f"assign without a keyword: {declared[1]} = ..."
    if re.match(r"mod\b", source[start:]):
        return "a remainder is x % 2"
    if re.match(r"if *\(", source[start:]) or re.search(r"(?m)(^|=) *if *\(.*\Z", source[:start]):
        return SIGN_HINTS["?"]
    before = re.search(r"([^\W\d]\w*) +$", source[:start])
    if before and "syntax" in message and before[1] in full_table():
        return f"put the argument in brackets: {before[1]}(x)"
    token = re.search(r"[\d.]*\Z", source[: start + 1])
    if token and FORTRAN_NUMBER.match(source, token.start()):
        return "an exponent is written with e, as in 1e3"
    in_list = source.count("[", 0, start) > source.count("]", 0, start)
    if "perhaps an operator" in message and (in_list or re.match(r"[\d.]+ +\d", source[start:])):
        return "separate elements with commas"
    if re.search(r"(?<![\w.])[\d.]+ +$", source[:start]) and source[start : start + 1].isdigit():
        return "write a number without blanks, as in 1000; separate elements with commas"
    side_by_side = re.search(r"[\w)\]] +$", source[:start]) and re.match(r"[\w(]", source[start:])
    if "decimal literal" in message or "perhaps an operator" in message or side_by_side:
        return "a product needs *: 2*x"
    if "invalid syntax" in message:
        return "write an expression such as x**2 * sin(y), or a statement such as y = x**2"
    return None
