# mypy: ignore-errors
"""Notes the derivatives that the command passes to solvers, and the points of their calls."""

import collections
import contextlib
import copy
import functools
import inspect
import sys

from .notes import Use, Watch, copy_numbers, identify, is_function, is_same_argument

Entry = collections.namedtuple(
    "Entry", "name function claims place columns bands kinds nested", defaults=(0, "", (), {}, ())
)
"""A solver. function: the parameter for f. claims: the parameters for derivatives, each with the parameter of the
function that it differentiates. place: the positional arguments of f that are the point, an index or a slice. columns:
the parameter that transposes derivatives. bands: the parameters, or attributes of the integrator, for the numbers of
diagonals below and above the main one that a packed derivative has. kinds: parameters that take something other than
the whole derivative: its product with a vector, that of weighted outputs, that of each element or column, or a tuple of
derivatives. nested: dicts with the claims, and with f if it is not given.
"""
MINIMIZE = {"jac": "fun", "hess": "jac", "hessp": "jac"}
SOLVERS = {
    "scipy.optimize": (
        Entry("minimize", "fun", MINIMIZE, kinds={"hessp": "product"}),
        *(
            Entry(name, "func", {"jac": "func", "hess": "jac"}, nested=("minimizer_kwargs", "options"))
            for name in ("basinhopping", "dual_annealing", "shgo")
        ),
        Entry("line_search", "f", {"myfprime": "f"}),
        Entry("line_search_wolfe2", "f", {"myfprime": "f"}),
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
        Entry("ode", "f", {"jac": "f"}, place=1, bands=("ml", "mu")),
        Entry("solve_bvp", "fun", {"fun_jac": "fun"}, place=1, kinds={"fun_jac": "columns"}),
        Entry("solve_bvp", "bc", {"bc_jac": "bc"}, place=slice(0, None), kinds={"bc_jac": "tuple"}),
    ),
    "xgboost": (Entry("train", "obj", {"hessian": "obj"}, kinds={"hessian": "each"}),),
    "lightgbm": (Entry("train", "objective", {"hessian": "objective"}, kinds={"hessian": "each"}, nested=("params",)),),
}
"""The solvers of each package. They are replaced in the modules that define them, for all who import them."""
PUBLIC_NAMES = {"line_search_wolfe2": "line_search"}  # public names of solvers that are defined under another one
PAIRED_SOLVERS = ("fmin_l_bfgs_b", "fmin_tnc", "train")
"""Solvers whose f returns value and gradient if they get neither a gradient nor a request to approximate it; for
boosting, gradient and second derivatives."""
Noted = collections.namedtuple("Noted", "parameter identity claim kind function base of")
"""A derivative in one call of a solver, with the fields of Use that all its uses share. parameter: the one that takes
it. of: the parameter of the function that it differentiates."""
INSIDE_PACKAGES = ("scipy.optimize", "scipy.integrate", "xgboost.training", "lightgbm.engine")
"""Modules whose own calls of solvers pass on what they were given."""


class Handed:
    """Replaces a function that was passed to a solver; calls note(x, args, kwargs, result) after each of its calls.

    point(args): a copy of the point x, made before the call, which may change it.
    """

    def __init__(self, function, point, note):
        with contextlib.suppress(Exception):
            functools.update_wrapper(self, function)
        self.__wrapped__, self._point, self._note = function, point, note

    def __call__(self, *args, **kwargs):
        __tracebackhide__ = True
        x = None
        with contextlib.suppress(Exception):
            x = self._point(args)
        result = self.__wrapped__(*args, **kwargs)
        with contextlib.suppress(Exception):
            self._note(x, args, kwargs, result)
        return result

    def __getattr__(self, name):
        if name.startswith("__") or name in ("_point", "_note"):
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return functools.partial, (self.__wrapped__,)  # no notes in another process


class Solve:
    """One call of a solver, or one constraint in it: f, its last value, and its derivatives.

    bands: returns the numbers of diagonals of packed derivatives, or None.
    """

    def __init__(self, watch, role, f, place, columns=False, bands=lambda: None):
        self.watch, self.role, self.f, self.place, self.columns, self.bands = watch, role, f, place, columns, bands
        self.x = self.value = self.before = self.waiting = None
        self.noted = {}

    def point(self, args):
        return copy_numbers(args[self.place])

    def note_value(self, x, args, kwargs, result):
        self.x, self.value = x, copy_numbers(result)
        if self.waiting is not None:
            derivative, use = self.waiting
            if derivative.last is use and is_same_argument(use.x, self.x):
                derivative.last = use._replace(value=self.value)
                derivative.first = derivative.last if derivative.first is use else derivative.first
            self.waiting = None

    def note_parts(self, parts, x, args, kwargs, result):
        """Note a call of f that returns its value and its derivatives."""
        self.x, self.value = x, copy_numbers(result[0])
        for noted, element in zip(parts, result[1:], strict=False):
            self.note(noted, x, args, kwargs, element)

    def note(self, noted, x, args, kwargs, result):
        derivative = self.noted.get(noted.parameter)
        if derivative is None:
            derivative = self.watch.derivative(f"{noted.parameter} of {self.role}", noted.identity)
        first = self.noted.get(noted.of)
        self.noted[noted.parameter] = derivative
        due = derivative.is_due(getattr(x, "shape", ()))
        known = self.x is not None and is_same_argument(x, self.x)
        value = self.value if known else None
        rose = self.rises_to(value)
        if not (rose or due):
            return
        functions = noted.function, noted.claim, noted.base
        function, claim, base = (f and functools.partial(f, **kwargs) for f in functions) if kwargs else functions
        wrote = not is_same_argument(args[self.place], x)
        use = Use(derivative.calls, noted.kind, function, claim, args, self.place, x, value,
                  copy_numbers(result), self.columns, base, first, bands=self.bands(), wrote=wrote)  # fmt: skip
        derivative.keep(use, rose)
        if not known:
            self.waiting = derivative, use

    def rises_to(self, value):
        """Report whether a value, if it is a number that is known, is larger than the last one."""
        before, number = self.before, value if getattr(value, "size", 1) == 1 else None
        self.before = before if number is None else number
        return number is not None and before is not None and bool(number > before)


def without_decorators(x):
    return x.__wrapped__ if isinstance(x, Handed) else x


def hand_over(watch, entry, given, called_first=()):
    """Replace the functions in the arguments of a solver, by name, by ones that note their calls.

    called_first: the objective and its derivative, which a solver calls before the functions of a constraint.
    """
    for name in entry.nested:
        if isinstance(given.get(name), dict):
            f = {entry.function: given[entry.function]} if entry.function in given else {}
            inner = {**given[name], **f}
            hand_over(watch, entry._replace(nested=()), inner)
            given.update({key: inner.pop(key) for key in f}, **{name: inner})
    if entry.nested:
        return
    f = without_decorators(given.get(entry.function))
    if not is_function(f):
        return
    options = {**given, **(given.get("options") or {})}
    place = 1 if entry.name == "odeint" and options.get("tfirst") else entry.place
    bands = functools.partial(bands_of, entry, options)
    role = PUBLIC_NAMES.get(entry.name, entry.name)
    solve = Solve(watch, role, f, place, bool(entry.columns and options.get(entry.columns)), bands)
    parts, found, functions, value = [], {}, {entry.function: calling_first(called_first[:1], f)}, f
    for parameter, of in entry.claims.items():
        claim = without_decorators(given.get(parameter))
        if claim is True or (claim is None and entry.name in PAIRED_SOLVERS and not given.get("approx_grad")):
            i, value = len(parts) + 1, part_of_result(f, 0)
            functions[parameter] = claim = part_of_result(f, i)
            base = value if i > 1 else None
            kind = entry.kinds.get(parameter, "whole")
            parts.append(Noted(parameter, identify(claim, i), claim, kind, part_of_result(f, i - 1), base, of))
        elif is_function(claim):
            functions[parameter] = claim
            base, kind = (None if of == entry.function else value), entry.kinds.get(parameter, "whole")
            noted = Noted(
                parameter, identify(claim), calling_first(called_first, claim), kind, functions.get(of), base, of
            )
            found[parameter] = Handed(claim, solve.point, functools.partial(solve.note, noted))
    if parts:
        found[entry.function] = Handed(f, solve.point, functools.partial(solve.note_parts, parts))
    elif found:
        found[entry.function] = Handed(f, solve.point, solve.note_value)
    if given.get("constraints"):
        args = given.get("args", ())
        args = args if isinstance(args, tuple) else (args,)
        called_first = [lambda x, f=f: f(x, *args) for f in functions.values() if f is not None][:2]
        found["constraints"] = watch_constraints(watch, given["constraints"], called_first)
    given.update(found)


def bands_of(entry, options):
    """Return how many diagonals below and above the main one a packed derivative has; None for a whole one."""
    integrator = getattr(options.get("self"), "_integrator", None)  # of an ode object, chosen after its functions
    found = [getattr(integrator, name, options.get(name)) for name in entry.bands]
    found = [int(x) if x is not None and x >= 0 else None for x in found]
    return tuple(x or 0 for x in found) if any(x is not None for x in found) else None


def part_of_result(f, number):
    @functools.wraps(f)
    def part(*args, **kwargs):
        return f(*args, **kwargs)[number]

    return part


def calling_first(called_first, function):
    @functools.wraps(function)
    def call(x, *args, **kwargs):
        for other in called_first:
            other(x)
        return function(x, *args, **kwargs)

    return call if called_first else function


def watch_constraints(watch, constraints, called_first):
    """Return constraints (dicts or objects) that note the calls of their derivatives."""
    several = isinstance(constraints, (list, tuple))
    listed = constraints if several else [constraints]
    noted = [watch_constraint(watch, f"constraint {i}", x, called_first) for i, x in enumerate(listed)]
    return type(constraints)(noted) if several else noted[0]


def watch_constraint(watch, role, constraint, called_first):
    fields = constraint if isinstance(constraint, dict) else vars(constraint)
    if not is_function(without_decorators(fields.get("fun"))):
        return constraint
    given = dict(fields)
    hand_over(watch, Entry(role, "fun", {"jac": "fun", "hess": "jac"}, kinds={"hess": "weighted"}), given, called_first)
    if isinstance(constraint, dict):
        return given
    changed = copy.copy(constraint)
    vars(changed).update(given)
    return changed


def watch_solvers(module):
    """Replace the solvers that a module defines."""
    entries = collections.defaultdict(list)
    for entry in SOLVERS[package_of(module.__name__)]:
        entries[entry.name].append(entry)
    for name, some in entries.items():
        solver = getattr(module, name, None)
        if getattr(solver, "__module__", None) != module.__name__ or hasattr(solver, "watched_by_gradcli"):
            continue
        if inspect.isclass(solver):
            solver.__init__ = watched_solver(module, some, solver.__init__)
        elif solver is not None:
            setattr(module, name, watched_solver(module, some, solver))


def watched_solver(module, entries, solver):
    signature = inspect.signature(solver)
    rest = next((p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD), None)

    @functools.wraps(solver)
    def call(*args, **kwargs):
        __tracebackhide__ = True
        with contextlib.suppress(Exception):  # the solver reports wrong arguments
            bound = signature.bind(*args, **kwargs)
            more = bound.arguments.pop(rest, {})
            given = {**bound.arguments, **more}
            if Watch.current is not None and not passes_on(sys._getframe(1).f_globals.get("__name__", "")):
                for entry in entries:
                    hand_over(Watch.current, entry, given)
            bound.arguments.update({name: given[name] for name in bound.arguments})
            if more:
                bound.arguments[rest] = {name: given[name] for name in more}
            args, kwargs = bound.args, bound.kwargs
        return solver(*args, **kwargs)

    call.__module__ = module.__name__  # for pickle
    call.watched_by_gradcli = True
    return call


def passes_on(caller):
    """Report whether a module passes on to a solver what a user gave to another one; tests of SciPy do not."""
    return caller.startswith(INSIDE_PACKAGES) and ".tests" not in caller


def package_of(module):
    """Return the name in SOLVERS of the package that a module may define solvers for, or None."""
    return next((name for name in SOLVERS if module == name or module.startswith(f"{name}.")), None)


def patch_of_solvers(module):
    """Return the function that patches a module of a package with solvers after its import, or None."""
    return watch_solvers if package_of(module) is not None and ".tests" not in module else None
