# mypy: ignore-errors
"""What the watched command uses: derivatives, with the points of their calls. At its end gradcli checks these notes."""

import atexit
import collections
import contextlib
import fcntl
import functools
import importlib
import importlib.util
import inspect
import os
import pickle
import signal
import sys
import time
import traceback
import types
import warnings

HERE = os.path.dirname(__file__)
OLDEST = (3, 11)
CHECKING_SECONDS = 60.0  # seconds for checking, in addition to the duration of the run
Use = collections.namedtuple(
    "Use",
    "number kind function claim args place x value claimed columns base first wrt drawn seen",
    defaults=[None] * 10,
)
"""A use of a derivative. number: of the call. kind: how to check it. function: the function that it differentiates.
args: of the call. place: of the point in args. x: a copy of the point. value, claimed: copies of the results of
function (or base) and derivative in the run, if known. columns: whether it is transposed. base, first: f and the entry
of the first derivative, for a second derivative. wrt: which arguments are differentiated. drawn: whether arguments had
no values, and are `Drawn`. seen: the gradients of the outputs in the run, in their memory layouts."""


class Drawn:
    """An argument without a value in the run: its shape and the name of its type, to draw a value."""

    def __init__(self, x):
        self.shape, self.dtype = tuple(map(int, x.shape)), str(x.dtype).rpartition(".")[2]


class Derivative:
    """A derivative that the command uses, and some of its uses.

    These are the first use, the last, some between, and the last one at which the solver's value had risen.
    """

    def __init__(self, role, name, file, line, points):
        self.role, self.name, self.file, self.line = role, name, file, line
        self.between, self.calls, self.stride = max(points - 2, 0), 0, 1
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
        if self.between and self.calls % self.stride == 0:
            self.middle.append(use)
            if len(self.middle) > 2 * self.between:
                self.middle, self.stride = self.middle[1::2], 2 * self.stride

    def uses(self, points):
        """Return the uses to check, one for each point; if there are none, one whose arguments are to be drawn."""
        if self.first is None:
            return [self.drawn] if self.drawn else []
        step = max(len(self.middle) // max(self.between, 1), 1)
        some = [*[self.first, self.last][:points], *self.middle[::step][: self.between], self.rise]
        chosen = [use for use in some if use is not None]
        return [use for i, use in enumerate(chosen) if not any(is_same_use(use, before) for before in chosen[:i])]


class Watch:
    """The notes of this process. settings: from the command line, for the check."""

    current = None

    def __init__(self, settings):
        self.settings, self.points, self.derivatives, self.start = settings, settings["points"], {}, time.monotonic()

    def derivative(self, role, identity):
        """Return the entry of a derivative by its result of `identify`; solvers share it."""
        key, file, line, name = identity
        found = self.derivatives.get(key)
        if found is None:
            judge_at_termination()
            atexit.unregister(judge_all)
            atexit.register(judge_all)  # runs before the frameworks stop their threads and delete their operators
            found = self.derivatives[key] = Derivative(role, name, file, line, self.points)
        return found


def identify(function, part=0):
    """Return a key, file, line and name of a derivative: a function, or a part of its result.

    A library's wrapper is a different derivative for each user's function that it wraps.
    """
    key, file, line, name = place_of(function)
    return (key, part, held_by(function)), file, line, name


def judge_at_termination():
    """Check the notes also if SIGTERM ends the process, as for workers of a multiprocessing.Pool."""
    with contextlib.suppress(ValueError):  # not in the main thread
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, judge_and_end)


def judge_and_end(number, _):
    signal.signal(number, signal.SIG_DFL)
    judge_all()
    os.kill(os.getpid(), number)


def place_of(function):
    """Return a function's key, file, line and name; without Python code, file and line are those of the caller."""
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
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
    return tuple((kind_of(x), held_by(x, depth - 1) if depth and is_function(x) else ()) for x in held)


def kind_of(x):
    code = getattr(x, "__code__", None)
    return code if inspect.iscode(code) else (type(x).__module__, type(x).__qualname__)


def copy_numbers(x):
    """Return a copy of a point or a result in which numbers and arrays are copied."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(copy_numbers, x)) if type(x) in (tuple, list) else tuple(map(copy_numbers, x))
    return x.copy() if hasattr(x, "dtype") and hasattr(x, "copy") else x


def is_same(x, y):
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
        return all(a is b or is_same(a, b) for a, b in (*seen, *rest))
    return False


def is_function(x):
    return callable(x) and not inspect.isclass(x)


def judge_all():
    """Check the notes in a fork that outlives this process, or in this process if JAX's threads forbid a fork."""
    watch = Watch.current
    if watch is None or not watch.derivatives:
        return
    Watch.current = None  # calls by the check are not noted
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    path = os.path.join(watch.settings["folder"], f"report-{os.getpid()}-{time.monotonic_ns()}")
    report = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    fcntl.flock(report, fcntl.LOCK_EX)  # until the check has ended in any way
    apart = "jax" not in sys.modules
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if apart and os.fork():
            os.close(report)
            return
    nowhere, streams = os.open(os.devnull, os.O_RDWR), [os.dup(number) for number in (0, 1, 2)]
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    try:
        if apart:
            close_pipes(report)
        judge(watch, report)
    except BaseException:
        message = f"gradcli could not check the recorded derivatives: {traceback.format_exc(limit=-3)}"
        os.write(report, pickle.dumps(("trouble", message)))
    finally:
        if apart:
            os._exit(0)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.close(report)


def close_pipes(report):
    """Close the command's pipes and sockets: others may wait for their end."""
    import stat

    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with contextlib.suppress(OSError):
            mode = os.fstat(int(name)).st_mode
            if int(name) > 2 and int(name) != report and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
                os.close(int(name))


def judge(watch, report):
    """Load gradcli from the folder of the watching one, and write the reports of its checks one by one."""
    if sys.version_info < OLDEST:
        raise RuntimeError(f"this needs Python {'.'.join(map(str, OLDEST))} or later")
    if "gradcli" not in sys.modules:
        place = watch.settings["gradcli"]
        file = os.path.join(place, "__init__.py")
        spec = importlib.util.spec_from_file_location("gradcli", file, submodule_search_locations=[place])
        sys.modules["gradcli"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    importlib.import_module("gradcli.__main__").lend(*watch.settings["lent"])
    seconds = time.monotonic() - watch.start + CHECKING_SECONDS
    derivatives = list(watch.derivatives.values())
    judge_uses = importlib.import_module("gradcli.guard.watched").judge_uses
    for finding in judge_uses(derivatives, watch.settings, seconds):
        os.write(report, finding)
