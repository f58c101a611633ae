# mypy: ignore-errors
"""What the watched command uses: derivatives, with the points of their calls. At its end gradcli checks these notes."""

import collections
import contextlib
import functools
import inspect
import math
import os
import sys
import time
import types
import weakref

HERE = os.path.dirname(__file__)
Use = collections.namedtuple(
    "Use",
    "number kind function claim args place x value claimed columns base first wrt drawn seen bands wrote",
    defaults=[None] * 12,
)
"""A use of a derivative. number: of the call. kind: how to check it. function: the function that it differentiates.
args: of the call. place: of the point in args. x: a copy of the point. value, claimed: copies of the results of
function (or base) and derivative in the run, if known. columns: whether it is transposed. base, first: f and the entry
of the first derivative, for a second derivative. wrt: which arguments are differentiated. drawn: whether arguments had
no values, and are `Drawn`. seen: the gradients of the outputs in the run, in their memory layouts. bands: how many
diagonals below and above the main one a packed Jacobian has. wrote: whether the derivative changed its point."""


DENSE = 64
"""The first 2 DENSE calls are noted, and then one in n / DENSE at call number n, so that short calls take about as long
as without a note: a choice."""
LARGE_ARRAY = 100_000
"""If arguments have more elements than this, calls number 1, 2, 4, 8, ... are noted."""
MOST_SHAPES = 64
"""Calls are counted for each combination of their arguments' shapes, up to this many: a choice."""


class Drawn:
    """An argument without a value in the run: its shape and the name of its type, to draw a value."""

    def __init__(self, x):
        self.shape, self.dtype = tuple(map(int, x.shape)), str(x.dtype).rpartition(".")[2]


class UsedDerivative:
    """A derivative that the command uses, and some of its uses.

    These are the first use, the last, some between, and the last one at which the solver's value had risen.
    caller: file and line of the program that led to a derivative in an installed package. turns: for arguments of some
    shapes, the number of calls, and the number of the next call to note.
    """

    def __init__(self, role, name, file, line, points):
        self.role, self.name, self.file, self.line = role, name, file, line
        self.caller = calling_place() if is_installed(file) else None
        self.between, self.calls, self.stride, self.turns = max(points - 2, 0), 0, 1, {}
        self.first = self.last = self.rise = self.drawn = None
        self.middle = []
        self.trouble = ""  # why a call could not be noted

    def keep(self, use, rose=False):
        if use.drawn:
            self.drawn = self.drawn or use
            return
        if self.first is None:
            self.first = use
        elif rose:
            self.rise = use
        self.last = use
        if self.between and use.number >= self.stride + (self.middle[-1].number if self.middle else 0):
            self.middle.append(use)
            if len(self.middle) > 2 * self.between:
                self.middle, self.stride = self.middle[1::2], 2 * self.stride

    def is_due(self, *shapes):
        """Count a call whose arguments have these shapes, and report whether to note it."""
        turn = self.turns.get(shapes)
        self.calls += 1
        if turn is None:
            turn = self.turns.setdefault(shapes if len(self.turns) < MOST_SHAPES else (), [0, 1])
        turn[0] += 1
        if turn[0] < turn[1]:
            return False
        elements = sum(map(math.prod, shapes))
        turn[1] = turn[0] + max(turn[0] // (1 if elements > LARGE_ARRAY else DENSE), 1)
        return True

    def uses(self, points):
        """Return the uses to check, one for each point; if there are none, one whose arguments are to be drawn."""
        if self.first is None:
            return [self.drawn] if self.drawn else []
        step = max(len(self.middle) // max(self.between, 1), 1)
        some = [*[self.first, self.last][:points], *self.middle[::step][: self.between], self.rise]
        chosen = [use for use in some if use is not None]
        return [use for i, use in enumerate(chosen) if not any(is_same_use(use, before) for before in chosen[:i])]


class Watch:
    """The notes of this process. settings: from the command line, for the check. at_first: called for new entries.

    current: the notes to write to, if any. folder: for files that this process and gradcli share. known: the entry of
    a class or function, or None if it has none.
    """

    current = None
    folder = ""

    def __init__(self, settings, at_first=lambda: None):
        self.settings, self.at_first = settings, at_first
        self.points, self.derivatives, self.start = settings["points"], {}, time.monotonic()
        self.known = weakref.WeakKeyDictionary()

    def derivative(self, role, identity):
        """Return the entry of a derivative by its result of `identify`; solvers share it."""
        key, file, line, name = identity
        found = self.derivatives.get(key)
        if found is None:
            self.at_first()
            found = self.derivatives[key] = UsedDerivative(role, name, file, line, self.points)
        return found


def identify(function, part=0):
    """Return a key, file, line and name of a derivative: a function, or a part of its result.

    A library's wrapper is a different derivative for each user's function that it wraps.
    """
    key, file, line, name = place_of_function(function)
    return (key, part, held_by(function)), file, line, name


def place_of_function(function):
    """Return a function's key, file, line and name; without Python code, file and line are those of the caller."""
    function = behind_wrapper(unwrapped(function))
    name = getattr(function, "__name__", None) or type(function).__name__
    holder = function.forward if inspect.isclass(function) else function
    code = getattr(holder, "__code__", None) or getattr(type(holder).__call__, "__code__", None)
    if code is not None:
        return (code, name), code.co_filename, code.co_firstlineno, name
    frame = sys._getframe()
    while os.path.dirname(frame.f_code.co_filename) == HERE:
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    return (file, line, name), file, line, name


def unwrapped(function):
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    return function


def behind_wrapper(function, depth=3):
    """Return the user's function that an installed package has wrapped, or the function itself.

    The wrapper is a function that has it in its closure, directly or in an object, or an object that has it.
    """
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    is_wrapper = inspect.isfunction(function) or not (inspect.ismethod(function) or inspect.isclass(function))
    if code is None or not is_wrapper or not is_installed(code.co_filename):
        return function
    waiting = [(function, depth)]
    for x, left in waiting:  # nearest first
        for held in functions_held(x):
            held = inspect.unwrap(held)
            if inspect.isfunction(held) and not is_installed(held.__code__.co_filename):
                return held
            if left:
                waiting.append((held, left - 1))
    return function


def functions_held(x):
    """Return the functions, and objects that can be called, in a function's closure or in an object's attributes."""
    if inspect.isfunction(x):
        cells = x.__closure__ or ()
        held = [cell.cell_contents for cell in cells if cell != types.CellType()]
    else:
        held = list(getattr(x, "__dict__", {}).values()) if not inspect.isclass(x) else []
    for y in held:
        if isinstance(y, functools.partial):
            held += [y.func, *y.args, *y.keywords.values()]
    return [y for y in held if callable(y) and not inspect.isclass(y) and not inspect.ismodule(y)]


INSTALLED = f"-packages{os.sep}"
LIBRARY = os.path.dirname(os.__file__) + os.sep


def is_installed(file):
    """Report whether a file belongs to Python, to an installed package, or to gradcli's part of the command."""
    return INSTALLED in file or file.startswith((LIBRARY, "<frozen", HERE))


def calling_place():
    """Return the place of the program's innermost running line outside of packages, or of a test inside of one."""
    frame, test = sys._getframe(1), None
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_installed(file) and not file.startswith("<"):
            return file, frame.f_lineno
        if test is None and os.path.basename(file).startswith("test_"):
            test = file, frame.f_lineno
        frame = frame.f_back
    return test


def held_by(function, depth=2):
    """Return a key for functions of the same code: the functions, and the classes of the objects, that they hold."""
    function = inspect.unwrap(function)
    if inspect.isclass(function):
        return ()
    held = [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if cell != types.CellType()]
    if isinstance(function, functools.partial):
        held += [function.func, *function.args, *function.keywords.values()]
    owner = getattr(function, "__self__", None if inspect.isfunction(function) else function)
    if owner is not None and not inspect.ismodule(owner):
        held += [owner, *filter(is_function, getattr(owner, "__dict__", {}).values())]
    return tuple((kind_of_code(x), held_by(x, depth - 1) if depth and is_function(x) else ()) for x in held)


def kind_of_code(x):
    code = getattr(x, "__code__", None)
    return code if inspect.iscode(code) else (type(x).__module__, type(x).__qualname__)


def copy_numbers(x):
    """Return a copy of a point or a result in which numbers and arrays are copied."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(copy_numbers, x)) if type(x) in (tuple, list) else tuple(map(copy_numbers, x))
    return x.copy() if hasattr(x, "dtype") and hasattr(x, "copy") else x


def is_same_argument(x, y):
    if type(x) is type(y) and hasattr(x, "tobytes"):
        return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
    import numpy

    return numpy.array_equal(x, y, equal_nan=True)


def is_same_use(use, other):
    """Report whether two uses are one, or equal calls of the same functions."""
    if use.number == other.number:
        return True
    with contextlib.suppress(Exception):
        if use.x is None or (use.function, use.claim, use.base) != (other.function, other.claim, other.base):
            return False
        pairs = zip(use.args, other.args, strict=True)
        rest = [pair for i, pair in enumerate(pairs) if i != use.place]
        seen = [(use.x, other.x), (use.value, other.value), (use.claimed, other.claimed)]
        return all(a is b or is_same_argument(a, b) for a, b in (*seen, *rest))
    return False


def is_function(x):
    return callable(x) and not inspect.isclass(x)
