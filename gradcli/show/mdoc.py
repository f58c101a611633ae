"""Render manual pages in mdoc as plain text; only the macros that our pages use are supported."""

from __future__ import annotations

import re
import textwrap

ESCAPES = {"e": "\\", "-": "-", "&": "", "(aq": "'", "(ha": "^", "(ti": "~", "(ga": "`", '"': '"'}
INLINE_MACROS = {"Ar", "Cm", "Em", "Ev", "Fl", "Li", "Op", "Pa", "Ql", "Sy", "Va", "Xr"}  # macros in running text
SECTION_INDENT = 5  # indent of a section and of a list, in columns


def render_page(source: str, width: int) -> str:
    """Return a page as lines of at most `width` columns, if they can be broken."""
    page = Page(min(max(width, 40), 100))
    for line in source.splitlines():
        if not line.startswith('.\\"'):  # a comment
            page.add(line)
    page.flush()
    return "\n".join(page.lines).strip("\n") + "\n"


class Page:
    """Lines so far, and words of the current paragraph.

    name: the page's name, for `.Nm` without an argument. lists: for each enclosing list, whether it is compact.
    """

    def __init__(self, width: int):
        self.width = width
        self.lines: list[str] = []
        self.words: list[str] = []
        self.name = ""
        self.lists: list[bool] = []
        self.literal = False

    @property
    def indent(self) -> int:
        return SECTION_INDENT * (1 + len(self.lists))

    def add(self, line: str) -> None:
        macro, _, rest = line[1:].partition(" ") if re.match(r"\.[A-Z]", line) else ("", "", line)
        match macro:
            case "Sh" | "Ss":
                self.flush(blank=True)
                self.lines.append(unescape(rest) if macro == "Sh" else f"  {unescape(rest)}")
            case "Nm":
                self.name = self.name or rest
                self.words.append(unescape(rest or self.name))
            case "Nd":
                self.words.append(f"- {unescape(rest)}")
            case "Pp":
                self.flush(blank=True)
            case "Bl":
                self.flush(blank="-compact" not in rest)
                self.lists.append("-compact" in rest)
            case "It":
                self.flush(blank=not self.lists[-1])
                into, text = (
                    (self.lines, f"{'':{self.indent - SECTION_INDENT}}{expand_macros(rest)}")
                    if rest
                    else (self.words, "-")
                )
                into.append(text)
            case "El":
                self.flush()
                self.lists.pop()
            case "Bd":
                self.flush(blank=True)
                self.literal = True
            case "Ed":
                self.literal = False
                self.lines.append("")
            case _ if self.literal:
                self.lines.append(f"{'':{self.indent + SECTION_INDENT}}{unescape(line)}".rstrip())
            case _ if macro in INLINE_MACROS or not macro:
                self.words.append(expand_macros(f"{macro} {rest}") if macro else unescape(rest))

    def flush(self, blank: bool = False) -> None:
        """Write the paragraph, if any. blank: an empty line follows."""
        text, left = " ".join(self.words), " " * self.indent
        if text:
            lines = textwrap.wrap(text, self.width - len(left), break_on_hyphens=False)
            self.lines += [left + line for line in lines]
        self.words = []
        if blank and self.lines and self.lines[-1]:
            self.lines.append("")


def expand_macros(text: str) -> str:
    """Return macros and their arguments as running text: `Fl h , Fl \\-help` is -h, --help."""
    out, macro, optional = "", "", False
    for quoted, plain in re.findall(r'"((?:[^"]|"")*)"|(\S+)', text):
        if plain in INLINE_MACROS:
            macro = "" if plain == "Op" else plain
            optional |= plain == "Op"
            continue
        word = unescape(quoted.replace('""', '"') or plain)
        if plain and plain in ".,;:)":
            out += word
            continue
        word = f"-{word}" if macro == "Fl" and word != "|" else f"‘{word}’" if macro == "Ql" else word
        joined = macro == "Xr" and word.isdigit()
        out += f"({word})" if joined else f" {word}" if out else word
    return f"[{out}]" if optional else out


def unescape(text: str) -> str:
    """Replace the escapes of roff."""
    text = re.sub(r"\\\[u([0-9A-F]{4,6})\]", lambda code: chr(int(code[1], 16)), text)
    return re.sub(r"\\(\(..|.)", lambda escape: ESCAPES.get(escape[1], escape[1]), text)
