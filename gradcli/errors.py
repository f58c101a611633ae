"""Errors as data: message, place and advice. Only the command line prints and exits."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import accumulate

EXIT_OK, EXIT_FAIL, EXIT_USAGE, EXIT_TARGET, EXIT_INCONCLUSIVE, EXIT_DEFECT, EXIT_INTERRUPTED = (0, 1, 2, 3, 4, 70, 130)


@lru_cache(8)
def line_starts(source: str) -> list[int]:
    """Return the offsets of lines; cached, because all lines of a program may be asked for."""
    return list(accumulate((len(line) + 1 for line in source.split("\n")), initial=0))


class Span:
    """A place in a source text: characters `start` to `end` (exclusive) of `source`.

    origin: the file of the text, None for the command line.
    """

    __slots__ = ("end", "origin", "source", "start")

    def __init__(self, source: str, start: int, end: int, origin: str | None = None):
        self.source, self.origin = source, origin
        self.start, self.end = start, max(end, start + 1)

    @property
    def line(self) -> int:
        """The line of `start`, from 1."""
        return bisect_right(line_starts(self.source), self.start)

    @property
    def column(self) -> int:
        """The position of `start` in its line, from 1."""
        return self.start - self.source.rfind("\n", 0, self.start)

    @property
    def text(self) -> str:
        begin = self.source.rfind("\n", 0, self.start) + 1
        end = self.source.find("\n", self.start)
        return self.source[begin : end if end >= 0 else None].rstrip("\r")


def lines_of_file(path: str) -> list[str]:
    """Return the current lines of a source file, [] if it cannot be read."""
    import linecache

    linecache.checkcache(path)  # the file may have been edited, or a relative path may lead to another one
    return linecache.getlines(path)


def add_advice(error: BaseException, advice: str) -> BaseException:
    """Add advice to an error as a note: the message itself stays as in PyTorch."""
    error.add_note(advice)
    return error


MOST_QUOTED = 80
"""Longer quoted pieces of the user's input are cut in messages."""
MOST_UNBROKEN = 1000
"""Longer pieces without a blank, such as a path or an expression, are cut in messages."""
KEPT_CHARACTERS = 60
OTHERS_WORDS = ("target", "defect")
"""Kinds of errors whose message is not gradcli's own, so it is repeated in full."""


def count_of(n: int, noun: str) -> str:
    """Return a number with a noun whose plural ends in s: 1 row, 2 rows."""
    return f"{n} {noun}{'s' * (n != 1)}"


def shorten(text: str) -> str:
    """Cut long quoted pieces, and long pieces without blanks, in a message."""
    text = re.sub(r"(?<!\w)'([^'\n]*)'(?!\w)", lambda found: f"'{brief(found[1])}'", text)
    return re.sub(rf"\S{{{MOST_UNBROKEN - 1},}}[^\s:;,]", lambda found: brief(found[0]), text)


def need_extra(package: str, extra: str, what: str) -> None:
    """Raise GradcliError with the name of the extra if a package is not installed."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        wanted = "'dask[distributed]' pyarrow" if extra == "dask" else package
        hint = f"pip install {wanted} (the extra gradcli[{extra}])"
        raise GradcliError(f"{what} needs {package}", hint=hint)


def brief(piece: str) -> str:
    return piece if len(piece) <= MOST_QUOTED else f"{piece[:KEPT_CHARACTERS]}..."


class GradcliError(Exception):
    """An error that the user can correct.

    kind: a stable word for programs (`syntax`, `name`, `shape`, `file`, `value`, `usage`, `target`). exit_code: of the
    command line. cause: the exception of the user's code; cause_line: its file and line.

    .. versionadded:: 0.1.0
    """

    cause: BaseException | None = None
    cause_line: tuple[str, int] | None = None

    def __init__(
        self,
        message: str,
        *,
        span: Span | None = None,
        hint: str | None = None,
        kind: str = "usage",
        exit_code: int = EXIT_USAGE,
    ):
        if len(message) > MOST_QUOTED and kind not in OTHERS_WORDS:
            message = shorten(message)
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint if hint is None or len(hint) <= MOST_UNBROKEN else shorten(hint)
        self.kind = kind
        self.exit_code = exit_code


class TargetError(GradcliError):
    """The user's code raised, exited, or returned something unusable."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message, hint=hint, kind="target", exit_code=EXIT_TARGET)


class TimeIsUp(BaseException):
    """The time limit is reached. Not an Exception, so that the code that runs does not catch it."""


ENDINGS = (KeyboardInterrupt, TimeIsUp)
"""Exceptions that end a run and are not errors of the user's code."""


class NotBatchableError(RuntimeError):
    """The values of a batched tensor were requested, so vmap falls back to a loop."""


def visible(text: str) -> str:
    """Escape characters that a terminal would act on: control and text direction characters, but not newline and tab.

    JSON keeps its meaning: it contains no control characters below the space, and its escapes are the same.
    """
    return text if text.isprintable() else re.sub(r"[^ -~\n\t]", visible_character, text)


def visible_character(match: re.Match[str]) -> str:
    from unicodedata import category

    character = match[0]
    if character < " ":
        return chr(0x2400 + ord(character))  # a picture of it
    return escape(character) if category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") else character


def escape(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def describe_error(error: BaseException) -> str:
    """Return `Name: text`, or the name alone if the exception cannot be converted to text."""
    text = text_of(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def text_of(value: object) -> str:
    """Convert to text; "" if that raises."""
    try:
        return str(value)
    except ENDINGS:
        raise
    except BaseException:
        return ""


def nearest_names(word: str, known, count: int = 1) -> list[str]:
    """Return up to `count` of the `known` names that are spelt most like `word`, best first."""
    from difflib import SequenceMatcher, get_close_matches

    known = [name for name in known if name != word]
    exact = [name for name in known if name.lower() == word.lower()]

    def likeness(name: str) -> float:
        same = next((i for i, (a, b) in enumerate(zip(name, word, strict=False)) if a != b), min(len(name), len(word)))
        return SequenceMatcher(None, word, name).ratio() + 0.2 * same / max(len(word), 1)

    close = sorted(get_close_matches(word, known, 8, 0.6), key=likeness, reverse=True)
    return (exact + [name for name in close if name not in exact])[:count]


TRANSFORMER = "Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer"
THERE_INSTEAD = {
    **dict.fromkeys(TRANSFORMER.split(), "nn.MultiheadAttention, nn.LayerNorm and nn.Linear"),
    **dict.fromkeys("Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d".split(), "nn.Conv1d and nn.Conv2d"),
    **{f"{name}Cell": f"nn.{name}" for name in ("RNN", "LSTM", "GRU")},
    **dict.fromkeys("bfloat16 float8_e4m3fn float8_e5m2".split(), "float64, float32 and float16"),
    **dict.fromkeys("Adadelta Adamax NAdam RAdam LBFGS".split(), "SGD, RMSprop, Adagrad, Adam and AdamW"),
    **dict.fromkeys("bernoulli multinomial normal poisson distributions".split(), "rand and randn"),
}
"""Alternatives to names of PyTorch that gradcli does not have."""


def describe_missing(name: str, known) -> str:
    """Say that gradcli lacks a name of PyTorch, with alternatives and the command that checks such code."""
    last = name.rpartition(".")[2]
    words = nearest_names(last, known, 3)
    advice = f"; nearest: {', '.join(words)}" if words else ""
    if last in THERE_INSTEAD:
        advice = f"; instead: {THERE_INSTEAD[last]}"
    command = "gradcli gradcheck FILE.py:f --engine torch"
    return f"gradcli has no {name}{advice}; '{command}' checks code that runs on PyTorch itself"


def did_you_mean(word: str, known) -> str | None:
    names = nearest_names(word, known)
    return f"did you mean '{names[0]}'?" if names else None


def unknown_name(message: str, name: str, known: Iterable[str], listed: str, span: Span | None = None) -> GradcliError:
    """Return the error for an unknown name. listed: the words before the known names in the hint."""
    hint = did_you_mean(name, known) or f"{listed} {', '.join(known)}".rstrip()
    return GradcliError(message, span=span, hint=hint, kind="name")


def check_known(names: Iterable[str], known: Iterable[str], option: str) -> None:
    """Raise GradcliError for the first name that is not known."""
    known = list(known)
    refuse_unknown(names, known, f"{option}: the program has no", "the names are" if known else "it has no names")


def refuse_unknown(names: Iterable[str], known: Collection[str], what: str, listed: str) -> None:
    """Raise GradcliError for an unknown name. what: the message before the name. listed: as in unknown_name."""
    there = set(known)
    for name in names:
        if name not in there:
            raise unknown_name(f"{what} '{name}'", name, known, listed)
