"""A command as it was called: its target, the values of its inputs, where its result goes, what checks it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
import numpy as np

from ..errors import GradcliError
from ..lang.limits import CPU_SECONDS, DEFAULT_MAX_ELEMENTS, Bound, Settings, as_written, bound_memory, enforce
from ..lang.values import read_json_values, read_value, read_values
from ..program.elsewhere import is_elsewhere
from ..program.target import Target, load_program
from . import messages
from .messages import examples_of
from .output import Output

if TYPE_CHECKING:
    from ..analysis.compare_formulas import FormulaComparison
    from ..analysis.gradient import Request
    from ..program.base import Program
    from ..program.hooks import Hook
    from ..show.check_results import CheckReport
    from ..show.formula_results import LongNumbers

Group = TypeVar("Group", bound=NamedTuple)


class Asked(NamedTuple):
    """What commands that have a TARGET are asked, by the names of their options."""

    words: tuple[str, ...] = ()
    expression: str | None = None
    argv: tuple[str, ...] = ()
    wrt: list[str] | None = None
    out: str | None = None
    gradient: str | None = None
    hooks: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    grad: str | None = None
    vjp: str | None = None
    jvp: str | None = None
    value_and_grad: bool = False
    keyword: str | None = None
    plot: bool = False
    dtype: str | None = None
    seed: int = 0
    max_elements: int = DEFAULT_MAX_ELEMENTS
    timeout: float | None = None
    safe: bool = False
    torch: bool = False
    engine: str | None = None
    config: str | None = None
    library_grad: str | None = None
    library_vjp: str | None = None
    library_jvp: str | None = None
    columns: str | None = None
    arguments: tuple[str, ...] = ()
    strict: bool = False
    format: str | None = None
    output: str | None = None
    precision: int | None = None
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False

    @property
    def derivatives(self) -> dict[str, str | None]:
        """The declarations of a library's derivatives."""
        return {"grad": self.library_grad, "vjp": self.library_vjp, "jvp": self.library_jvp}


def pick(kind: type[Group], options: dict[str, Any]) -> Group:
    """Take out of options those that are fields of a named tuple, and return them as one."""
    return kind(**{name: options.pop(name) for name in kind._fields if name in options})  # type: ignore[call-overload]


class Call:
    """A command and what is asked of it: its target, values and output; held: what lasts until it is answered."""

    def __init__(self, command: str, formats: tuple[str, ...], asked: Asked):
        self.command, self.formats, self.asked = command, formats, asked
        self.dtype = np.dtype(asked.dtype or "float64")
        real = np.float32 if asked.dtype == "float32" else np.float64
        self.settings = Settings(asked.max_elements, asked.seed, command, real)
        self.output = Output(asked.format, asked.output, asked.precision, command, formats, drawn=asked.plot)
        self.held = contextlib.ExitStack()
        self.columns: dict[str, Any] = {}

    @contextlib.contextmanager
    def in_force(self) -> Iterator[None]:
        """Let messages, numbers and what the user's code prints be as it was asked, while the command runs."""
        asked = self.asked
        messages.settings.color, messages.settings.quiet, messages.settings.verbose = (
            asked.color,
            asked.quiet,
            asked.verbose,
        )
        if asked.verbose:
            messages.show_log()
        if asked.dtype == "float32":
            from ..tape.dtypes import set_default_dtype

            set_default_dtype(np.float32)
        if asked.seed:
            from ..api.create import manual_seed

            manual_seed(asked.seed)
        with self.held:
            yield

    @property
    def inline(self) -> bool:
        """Whether the target is an expression, whatever it looks like."""
        return self.asked.expression is not None

    @property
    def words(self) -> tuple[str, ...]:
        """The words that follow the target."""
        return self.asked.words if self.inline else self.asked.words[1:]

    def target(self) -> Target:
        """Return the target. Raises GradcliError where there is none."""
        if self.asked.expression is None and not self.asked.words:
            raise no_target()
        text = self.asked.words[0] if self.asked.expression is None else self.asked.expression
        return self.as_target(text, inline=self.inline)

    def as_target(self, text: str, inline: bool = False) -> Target:
        """Return a target with the settings of this call; what runs no Python is bounded in memory from now on."""
        asked = self.asked
        if inline or is_language(text):
            bound_memory(self.settings.max_elements)
        elif asked.torch and (".py:" in text or self.command == "gradcheck"):
            self.name_torch()
        return Target(
            text,
            inline=inline,
            safe=asked.safe,
            argv=asked.argv,
            stdout=sys.stdout,
            settings=self.settings,
            dtype=self.dtype,
            torch=asked.torch,
            engine=asked.engine,
            timeout=self.asked.timeout,
            config=asked.config,
            derivatives=asked.derivatives,
        )

    def name_torch(self) -> None:
        """Let `import torch` mean this engine until the command ends, and its modules have the type of the inputs."""
        from ..program.torch_names import as_torch
        from ..tape.dtypes import set_default_dtype

        self.held.enter_context(as_torch())
        set_default_dtype(self.dtype)

    def bound(self, target: Target) -> Bound | None:
        """Return how long a target may take: what --timeout says, else some CPU for a program of the language.

        Elsewhere --timeout is the time of one answer.
        """
        if not target.inline and is_elsewhere(target.text):
            return None
        if self.asked.timeout is not None:
            return Bound(self.asked.timeout)
        return Bound(CPU_SECONDS, cpu=True) if target.inline or is_language(target.text) else None

    def bound_time(self, target: Target) -> None:
        """End the call when a target takes longer than it may."""
        self.held.enter_context(enforce(self.bound(target)))

    def program(self) -> tuple[Program, dict[str, Any]]:
        """Return the program and the values given for its inputs."""
        self.output.check()
        target = self.target()
        self.bound_time(target)
        values = self.values()
        program = load_program(target)
        if self.asked.columns is not None:
            self.columns = self.read_columns(self.asked.columns, program, values)
        return program, {**self.columns, **values}

    def values(self, words: tuple[str, ...] | None = None) -> dict[str, Any]:
        """Return the values given for the inputs, by words (or by others); exact ones in exact arithmetic."""
        given = read_values(self.words if words is None else words, self.settings, strings=self.of_python)
        return {**self.columns, **given, **read_json_values(self.asked.arguments)}

    @property
    def of_python(self) -> bool:
        """Whether the target is a function of a Python file, which takes strings as well."""
        return not self.inline and bool(self.asked.words) and ".py:" in self.asked.words[0]

    def read_columns(self, path: str, program: Program, given: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of a file that are inputs without another value. Raises GradcliError."""
        from ..lang.files import read_columns

        columns = {as_written(n): x for n, x in read_columns(path, self.settings.max_elements).items()}
        inputs = program.input_names(columns)
        left_out = [n for n in columns if n in given or (inputs is not None and n not in inputs)]
        for name in left_out:
            messages.detail(f"the column '{name}' is not used")
            del columns[name]
        if not columns:
            raise GradcliError(
                f"--columns has no use here: no column of {path} is an input without a value",
                hint="leave out --columns, or the values of inputs that are columns",
                kind="usage",
            )
        for problem in (x for x in columns.values() if isinstance(x, GradcliError) and inputs is not None):
            raise problem
        return {n: x for n, x in columns.items() if not isinstance(x, GradcliError)}

    def request(self, **more: Any) -> Request:
        """Return what --wrt, --out, --gradient and --hook ask of a gradient, and more."""
        from ..analysis.gradient import Request

        return Request(wrt=self.asked.wrt, out=self.asked.out, vector=self.vector(), hooks=self.hooks(), **more)

    def vector(self) -> Any:
        """Return the array of --gradient; None where it was not given."""
        text = self.asked.gradient
        return None if text is None else read_value(text, self.settings, "--gradient")

    def hooks(self) -> list[Hook]:
        """Return the hooks of --hook NAME=ACTION. Raises GradcliError for a word that is none."""
        hooks: list[Hook] = []
        for word in self.asked.hooks:
            from ..program.hooks import Hook

            name, sign, action = word.partition("=")
            if not sign or not name or not action:
                raise GradcliError(
                    f"--hook {word}: write NAME=ACTION",
                    hint="ACTION is print, an expression in g such as g*2, or FILE.py:function",
                    kind="usage",
                )
            hooks.append(Hook(as_written(name), action, self.settings, self.asked.safe, sys.stdout))
        return hooks


def no_target() -> GradcliError:
    example = examples_of(click.get_current_context().command)[0]
    return GradcliError("no TARGET given", hint=f"for example: {example}", kind="usage")


def is_language(text: str) -> bool:
    """Return whether a target on the command line is a program of the language, not Python or something elsewhere."""
    return ".py" not in text and not is_elsewhere(text)


def compute_in_digits(
    call: Call, compute: Callable[..., LongNumbers], program: Program, request: Request, digits: int, *, alone: bool
) -> LongNumbers:
    """Return values and derivatives in many digits, in time. alone: whether nothing else is asked for besides."""
    from ..analysis.precision import TIMEOUT, in_time

    if not alone:
        raise GradcliError("--digits goes alone, without --symbolic and --check", kind="usage")
    return in_time(lambda: compute(program, call.values, request, digits), digits, call.asked.timeout or TIMEOUT)


def formulas_of(call: Call, program: Program, max_symbols: int) -> FormulaComparison:
    """Return the formulas that a result is to be compared with."""
    from ..analysis.compare_formulas import TIMEOUT, FormulaComparison

    return FormulaComparison(program, call.values, call.request(), max_symbols, call.asked.timeout or TIMEOUT)


def check_derivative(call: Call, *, symbolic: bool = False, order: int = 1) -> CheckReport:
    """Return the report on a derivative: numeric, forward mode, and 50 digits and formulas where there are such."""
    from ..check.check import Check, Wanted, only_given
    from ..check.targets import checks_of

    asked = call.asked
    more = {"digits": 50, "symbolic": symbolic or None} if order == 1 else {"order": order}
    wanted = Wanted(
        call.values(),
        grad=asked.library_grad,
        vjp=asked.library_vjp,
        jvp=asked.library_jvp,
        wrt=asked.wrt,
        out=asked.out,
        options=only_given({**more, "engine": asked.engine}),
        timeout=asked.timeout,
        config=asked.config,
    )
    (check,) = checks_of([call.target()], wanted)
    return check.run() if isinstance(check, Check) else check
