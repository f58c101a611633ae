# mypy: ignore-errors
"""Runs inside the user's command: notes the derivatives that it passes to solvers, and the points of their calls.

It needs only the standard library and what the command itself has loaded. At the end, gradcli checks the notes in a
fork, so that the command ends as usual. The file's name contains "importlib" and "_bootstrap": Python's warnings skip
the frames of such files, so a warning still names the line of the command.
"""

import atexit
import collections
import contextlib
import copy
import fcntl
import functools
import importlib
import importlib.util
import inspect
import json
import os
import pickle
import signal
import sys
import time
import traceback
import types
import warnings

Entry = collections.namedtuple(
    "Entry", "name function claims place columns bands kinds nested", defaults=(0, "", (), {}, ())
)
"""A solver. function: the parameter for f. claims: the parameters for derivatives, each with the parameter of the
function that it differentiates. place: the positional arguments of f that are the point, an index or a slice. columns:
the parameter that transposes derivatives. bands: the parameters that make a derivative banded. kinds: parameters that
take something other than the whole derivative: its product with a vector, that of weighted outputs, that of each
element or column, or a tuple of derivatives. nested: dicts with the claims, and with f if it is not given.
"""
MINIMIZE = {"jac": "fun", "hess": "jac", "hessp": "jac"}
SOLVERS = {
    "scipy.optimize._minimize": (Entry("minimize", "fun", MINIMIZE, kinds={"hessp": "product"}),),
    "scipy.optimize": (
        *(
            Entry(name, "func", {"jac": "func", "hess": "jac"}, nested=("minimizer_kwargs", "options"))
            for name in ("basinhopping", "dual_annealing", "shgo")
        ),
        Entry("line_search", "f", {"myfprime": "f"}),
        Entry("check_grad", "func", {"grad": "func"}),
        Entry("least_squares", "fun", {"jac": "fun"}),
        Entry("root", "fun", {"jac": "fun"}, columns="col_deriv"),
        Entry("root_scalar", "f", {"fprime": "f", "fprime2": "fprime"}),
        Entry("newton", "func", {"fprime": "func", "fprime2": "fprime"}, kinds={"fprime": "each", "fprime2": "each"}),
        Entry("curve_fit", "f", {"jac": "f"}, place=slice(1, None)),
        Entry("fsolve", "func", {"fprime": "func"}, columns="col_deriv"),
        Entry("leastsq", "func", {"Dfun": "func"}, columns="col_deriv"),
        Entry("fmin_bfgs", "f", {"fprime": "f"}),
        Entry("fmin_cg", "f", {"fprime": "f"}),
        Entry("fmin_ncg", "f", {"fprime": "f", "fhess": "fprime", "fhess_p": "fprime"}, kinds={"fhess_p": "product"}),
        Entry("fmin_l_bfgs_b", "func", {"fprime": "func"}),
        Entry("fmin_tnc", "func", {"fprime": "func"}),
        Entry("fmin_slsqp", "func", {"fprime": "func"}),
    ),
    "scipy.integrate": (
        Entry("solve_ivp", "fun", {"jac": "fun"}, place=1, bands=("lband", "uband")),
        Entry("odeint", "func", {"Dfun": "func"}, columns="col_deriv", bands=("ml", "mu")),
        Entry("ode", "f", {"jac": "f"}, place=1),
        Entry("solve_bvp", "fun", {"fun_jac": "fun"}, place=1, kinds={"fun_jac": "columns"}),
        Entry("solve_bvp", "bc", {"bc_jac": "bc"}, place=slice(0, None), kinds={"bc_jac": "tuple"}),
    ),
    "xgboost.training": (Entry("train", "obj", {"hessian": "obj"}, kinds={"hessian": "each"}),),
    "lightgbm.engine": (
        Entry("train", "objective", {"hessian": "objective"}, kinds={"hessian": "each"}, nested=("params",)),
    ),
}
PAIRED = ("fmin_l_bfgs_b", "fmin_tnc", "train")
"""Solvers whose f returns value and gradient if they get neither a gradient nor a request to approximate it; for
boosting, gradient and second derivatives."""
OLDEST = (3, 11)
PATIENCE = 60.0  # seconds for checking, in addition to the duration of the run

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


Noted = collections.namedtuple("Noted", "parameter identity claim kind function base of")
"""A derivative in one call of a solver, with the fields of Use that all its uses share. parameter: the one that takes
it. of: the parameter of the function that it differentiates."""


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
    while frame.f_code.co_filename == __file__:
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


class Handed:
    """Replaces a function that was passed to a solver; calls note(args, kwargs, result) after each of its calls."""

    def __init__(self, function, note):
        with contextlib.suppress(Exception):
            functools.update_wrapper(self, function)
        self.__wrapped__, self._note = function, note

    def __call__(self, *args, **kwargs):
        __tracebackhide__ = True
        result = self.__wrapped__(*args, **kwargs)
        with contextlib.suppress(Exception):
            self._note(args, kwargs, result)
        return result

    def __getattr__(self, name):
        if name.startswith("__") or name == "_note":
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return functools.partial, (self.__wrapped__,)  # no notes in another process


class Solve:
    """One call of a solver, or one constraint in it: f, its last value, and its derivatives."""

    def __init__(self, watch, role, f, place, columns=False):
        self.watch, self.role, self.f, self.place, self.columns = watch, role, f, place, columns
        self.x = self.value = self.before = self.waiting = None
        self.noted = {}

    def point(self, args):
        return copy_numbers(args[self.place])

    def note_value(self, args, kwargs, result):
        self.x, self.value = self.point(args), copy_numbers(result)
        if self.waiting is not None:
            derivative, use = self.waiting
            if derivative.last is use and is_same(use.x, self.x):
                derivative.last = use._replace(value=self.value)
                derivative.first = derivative.last if derivative.first is use else derivative.first
            self.waiting = None

    def note_parts(self, parts, args, kwargs, result):
        """Note a call of f that returns its value and its derivatives."""
        self.x, self.value = self.point(args), copy_numbers(result[0])
        for noted, element in zip(parts, result[1:], strict=False):
            self.note(noted, args, kwargs, element)

    def note(self, noted, args, kwargs, result):
        derivative = self.watch.derivative(f"{noted.parameter} of {self.role}", noted.identity)
        first = self.noted.get(noted.of)
        self.noted[noted.parameter] = derivative
        derivative.calls += 1
        x = self.point(args)
        known = self.x is not None and is_same(x, self.x)
        value = self.value if known else None
        functions = noted.function, noted.claim, noted.base
        function, claim, base = (f and functools.partial(f, **kwargs) for f in functions) if kwargs else functions
        use = Use(derivative.calls, noted.kind, function, claim, args, self.place, x, value, copy_numbers(result),
                  self.columns, base, first)  # fmt: skip
        number = value if getattr(value, "size", 1) == 1 else None
        rose = number is not None and self.before is not None and bool(number > self.before)
        self.before = self.before if number is None else number
        derivative.keep(use, rose)
        if not known:
            self.waiting = derivative, use


def bare(x):
    return x.__wrapped__ if isinstance(x, Handed) else x


def is_function(x):
    return callable(x) and not inspect.isclass(x)


def hand_over(watch, entry, given, ahead=()):
    """Replace the functions in the arguments of a solver, by name, by ones that note their calls.

    ahead: the objective and its derivative, which a solver calls before the functions of a constraint.
    """
    for name in entry.nested:
        if isinstance(given.get(name), dict):
            f = {entry.function: given[entry.function]} if entry.function in given else {}
            inner = {**given[name], **f}
            hand_over(watch, entry._replace(nested=()), inner)
            given.update({key: inner.pop(key) for key in f}, **{name: inner})
    if entry.nested:
        return
    f = bare(given.get(entry.function))
    if not is_function(f) or any(given.get(name) is not None for name in entry.bands):
        return
    options = {**given, **(given.get("options") or {})}
    place = 1 if entry.name == "odeint" and options.get("tfirst") else entry.place
    solve = Solve(watch, entry.name, f, place, bool(entry.columns and options.get(entry.columns)))
    parts, found, functions, value = [], {}, {entry.function: after(ahead[:1], f)}, f
    for parameter, of in entry.claims.items():
        claim = bare(given.get(parameter))
        if claim is True or (claim is None and entry.name in PAIRED and not given.get("approx_grad")):
            i, value = len(parts) + 1, part_of(f, 0)
            functions[parameter] = claim = part_of(f, i)
            base = value if i > 1 else None
            kind = entry.kinds.get(parameter, "whole")
            parts.append(Noted(parameter, identify(claim, i), claim, kind, part_of(f, i - 1), base, of))
        elif is_function(claim):
            functions[parameter] = claim
            base, kind = (None if of == entry.function else value), entry.kinds.get(parameter, "whole")
            noted = Noted(parameter, identify(claim), after(ahead, claim), kind, functions.get(of), base, of)
            found[parameter] = Handed(claim, functools.partial(solve.note, noted))
    if parts:
        found[entry.function] = Handed(f, functools.partial(solve.note_parts, parts))
    elif found:
        found[entry.function] = Handed(f, solve.note_value)
    if given.get("constraints"):
        args = given.get("args", ())
        args = args if isinstance(args, tuple) else (args,)
        ahead = [lambda x, f=f: f(x, *args) for f in functions.values() if f is not None][:2]
        found["constraints"] = watch_constraints(watch, given["constraints"], ahead)
    given.update(found)


def part_of(f, number):
    @functools.wraps(f)
    def part(*args, **kwargs):
        return f(*args, **kwargs)[number]

    return part


def after(ahead, function):
    @functools.wraps(function)
    def call(x, *args, **kwargs):
        for other in ahead:
            other(x)
        return function(x, *args, **kwargs)

    return call if ahead else function


def watch_constraints(watch, constraints, ahead):
    """Return constraints (dicts or objects) that note the calls of their derivatives."""
    several = isinstance(constraints, (list, tuple))
    listed = constraints if several else [constraints]
    noted = [watch_constraint(watch, f"constraint {i}", x, ahead) for i, x in enumerate(listed)]
    return type(constraints)(noted) if several else noted[0]


def watch_constraint(watch, role, constraint, ahead):
    fields = constraint if isinstance(constraint, dict) else vars(constraint)
    if not is_function(bare(fields.get("fun"))):
        return constraint
    given = dict(fields)
    hand_over(watch, Entry(role, "fun", {"jac": "fun", "hess": "jac"}, kinds={"hess": "weighted"}), given, ahead)
    if isinstance(constraint, dict):
        return given
    changed = copy.copy(constraint)
    vars(changed).update(given)
    return changed


def watch_solvers(module):
    for entry in SOLVERS[module.__name__]:
        if inspect.isclass(solver := getattr(module, entry.name, None)):
            solver.__init__ = watched_solver(module, entry, solver.__init__)
        elif solver is not None:
            setattr(module, entry.name, watched_solver(module, entry, solver))


def watched_solver(module, entry, solver):
    signature, library = inspect.signature(solver), module.__name__.partition(".")[0]
    rest = next((p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD), None)

    @functools.wraps(solver)
    def call(*args, **kwargs):
        __tracebackhide__ = True
        with contextlib.suppress(Exception):  # the solver reports wrong arguments
            bound = signature.bind(*args, **kwargs)
            more = bound.arguments.pop(rest, {})
            given = {**bound.arguments, **more}
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if Watch.current is not None and caller.partition(".")[0] != library:  # it passes on its own arguments
                hand_over(Watch.current, entry, given)
            bound.arguments.update({name: given[name] for name in bound.arguments})
            if more:
                bound.arguments[rest] = {name: given[name] for name in more}
            args, kwargs = bound.args, bound.kwargs
        return solver(*args, **kwargs)

    call.__module__ = module.__name__  # for pickle
    return call


PATCHES = dict.fromkeys(SOLVERS, watch_solvers)  # functions that patch a module after its import


class Finder:
    """Finds the modules in PATCHES by the other finders, and patches them after loading."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in PATCHES:
            return None
        others = (finder for finder in sys.meta_path if finder is not Finder and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                with contextlib.suppress(Exception):
                    PATCHES[name](module)

            spec.loader.exec_module = exec_module
        return spec


def start(at_end):
    """Begin to take notes. at_end(f): call f at the end of the process, and of its forks."""
    import gradcli_watch_frameworks_importlib_bootstrap as frameworks

    PATCHES.update(frameworks.PATCHES)
    with open(os.environ["GRADCLI_WATCH"], encoding="utf-8") as file:
        settings = json.load(file)
    with contextlib.suppress(OSError), open(os.path.join(settings["folder"], "python"), "w"):
        pass  # the file shows that the command ran Python
    Watch.current = Watch(settings)
    sys.meta_path.insert(0, Finder)
    at_end(judge_all)
    os.register_at_fork(after_in_child=lambda: Watch.current is not None and Watch.current.derivatives.clear())
    sys.excepthook = functools.partial(show_error, sys.excepthook)


def show_error(shows, kind, error, trace):
    """Show an error that ends the command, without the frames of this file."""
    with contextlib.suppress(Exception):
        frames, step = [], trace
        while step is not None:
            frames += [step] * (step.tb_frame.f_code.co_filename != __file__)
            step = step.tb_next
        for step, following in zip(frames, [*frames[1:], None], strict=False):
            step.tb_next = following
        trace = frames[0] if frames else None
        error = error.with_traceback(trace)
    shows(kind, error, trace)


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
        message = f"gradcli could not judge what was noted: {traceback.format_exc(limit=-3)}"
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
    seconds = time.monotonic() - watch.start + PATIENCE
    derivatives = list(watch.derivatives.values())
    judge_uses = importlib.import_module("gradcli.check.watched").judge_uses
    for finding in judge_uses(derivatives, watch.settings, seconds):
        os.write(report, finding)
