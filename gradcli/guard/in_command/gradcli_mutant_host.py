# mypy: ignore-errors
"""Runs inside the user's command, in its Python: replaces a function by a mutant, in memory only.

It needs only the standard library. GRADCLI_MUTATE names a file with the function and its mutants; GRADCLI_MUTANT is
the number of the mutant, or `record` for the original, whose calls are recorded.
"""

import atexit
import copy
import functools
import gc
import importlib.abc
import importlib.machinery
import json
import os
import random
import sys
import time
import types
import warnings

TRIED_POINTS = 20
MUTANT_SECONDS = 20.0
MOST_SPELT = 24  # elements of a call that a test may spell out
RECORDED_CALLS = 25  # calls of the original to record
RANDOM_FUNCTION_POINTS = 3  # points for random functions, of which there are many samples at each
RANDOM_SAMPLES, RANDOM_SAMPLES_ONE = 10_000, 500  # samples of a random function, in one call or one by one
KEEPS_MEANS = (None, "shift", "transpose", "last", "element")  # kinds of mutants that may keep the mean of samples
SAMPLE_SIGMAS = 5.0  # standard errors up to which means of samples are equal


class Job:
    current = None

    def __init__(self, path, which):
        with open(path, encoding="utf-8") as file:
            given = json.load(file)
        self.file, self.names, self.line = given["file"], given["names"], given["line"]
        self.mutants, self.folder, self.original = given["mutants"], given["folder"], given["original"]
        mutant = {"source": given["record"], "kind": None} if which == "record" else self.mutants[int(which)]
        self.text, self.kind, self.loaded = mutant["source"], mutant["kind"], False
        self.calls, self.count, self.code = [], 0, None

    def is_target(self, path):
        return isinstance(path, str) and (path == self.file or os.path.realpath(path) == self.file)

    def compile(self, path):
        self.loaded = True
        return compile(self.text, path, "exec", dont_inherit=True)

    def find_code(self, code, depth=0):
        if depth == len(self.names):
            return code
        inner = [c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == self.names[depth]]
        if depth == len(self.names) - 1:
            inner = [c for c in inner if c.co_firstlineno == self.line]
        return next(filter(None, (self.find_code(c, depth + 1) for c in reversed(inner))), None)

    def enter(self, values):
        self.count += 1
        if len(self.calls) < RECORDED_CALLS:
            import inspect

            self.code = sys._getframe(2).f_code
            names, *others = inspect.getargs(self.code)
            self.calls.append({name: copy_arrays(values[name]) for name in [*names, *filter(None, others)]})


def start(at_end):
    """Install the mutant of the environment variables. at_end(f): call f at the end of the process."""
    which = os.environ.get("GRADCLI_MUTANT")
    if which is None or Job.current is not None:
        return
    job = Job.current = Job(os.environ["GRADCLI_MUTATE"], which)
    for loader in (importlib.machinery.SourceFileLoader, importlib.abc.ExecutionLoader):
        loader.get_code = wrap_loader(job, loader.get_code)
    if which == "record":
        at_end(functools.partial(finish_measurements, job))
    run_as_main(job)


def wrap_loader(job, get_code):
    """Return a loader's get_code that compiles the mutant for the file, without any cache."""

    def call(self, fullname):
        path = self.get_filename(fullname)
        return job.compile(path) if job.is_target(path) else get_code(self, fullname)

    return call


def run_as_main(job):
    """If the file is the script of this process, run the mutant instead, and end the process."""
    words = getattr(sys, "orig_argv", [])[1:]
    place = next((i for i, word in enumerate(words) if not word.startswith("-")), None)
    if place is None or {"-m", "-c"} & {*words[:place]} or not job.is_target(os.path.abspath(words[place])):
        return
    sys.argv = words[place:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(words[place])))
    main = types.ModuleType("__main__")
    main.__file__ = words[place]
    sys.modules["__main__"] = main
    status = 0
    try:
        exec(job.compile(words[place]), main.__dict__)
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


def enter(values):
    Job.current.enter(values)


def apply_mutant(x):
    """Return the mutant's version of a result."""
    return change(x, Job.current.kind)


def finish_measurements(job):
    """Write the measurements on the recorded calls, for the process that started the command."""
    report = {"loaded": job.loaded, "calls": job.count, "sizes": [], "random": any(map(takes_generator, job.calls))}
    if job.calls:
        try:
            report["sizes"] = measure(job)
        except Exception as error:
            report["trouble"] = repr(error)
    path = os.path.join(job.folder, f"measured-{os.getpid()}.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(report, file)
    os.replace(path + ".new", path)


def map_parts(change, x):
    """Apply a change to the parts of nested lists, tuples and dicts."""
    if type(x) in (list, tuple):
        return type(x)(map_parts(change, y) for y in x)
    if type(x) is dict:
        return {key: map_parts(change, y) for key, y in x.items()}
    return change(x)


def copy_arrays(x):
    """Copy the arrays of an argument, and its generators of random numbers, which a call changes, too."""
    return map_parts(lambda y: y.copy() if is_numpy_array(y) else copy_generator(y), x)


def is_generator(x):
    module = sys.modules.get("numpy.random")
    kinds = (random.Random, *(() if module is None else (module.Generator, module.RandomState)))
    return isinstance(x, kinds) or (type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "get_state"))


def takes_generator(call):
    return any(is_generator(x) for x in call.values())


def copy_generator(x):
    """Return a generator of random numbers in the same state, and anything else as it is."""
    if not is_generator(x):
        return x
    if not type(x).__module__.startswith("torch"):
        return copy.deepcopy(x)
    made = type(x)(device=x.device)
    made.set_state(x.get_state())
    return made


def seed_streams():
    """Start the global streams of random numbers anew, so that a function and its mutants get the same numbers."""
    random.seed(0)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        numpy.random.seed(0)
    if torch is not None:
        torch.manual_seed(0)


def is_numpy_array(x):
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.ndarray)


def change(x, kind):
    """Return a result with its gradients changed; a number that precedes arrays in a tuple is the value, and stays."""
    if isinstance(x, dict):
        return {key: change(y, kind) for key, y in x.items()}
    if isinstance(x, (tuple, list)):
        first = int(len(x) > 1 and not rank_of_array(x[0]) and any(rank_of_array(y) for y in x[1:]))
        parts = [*x[:first], *(change(y, kind) for y in x[first:])]
        return type(x)._make(parts) if hasattr(x, "_make") else type(x)(parts)
    if isinstance(x, bool) or not (hasattr(x, "__mul__") and hasattr(x, "__neg__")):
        return x
    word, _, number = kind.partition(" ")
    if word == "factor":
        return x * (1 + 10.0 ** -int(number))
    if word in ("sign", "zero"):
        return x * (-1 if word == "sign" else 0)
    if rank_of_array(x) and hasattr(x, "reshape"):
        return rearrange(x, word)
    return 2 * x if word == "element" else x


def rank_of_array(x):
    return len(getattr(x, "shape", ()))


def rearrange(x, word):
    """Return an array with its elements shifted by one, transposed, the last one dropped, or the largest doubled."""
    import numpy

    places = numpy.arange(int(numpy.prod(x.shape)))
    flat = x.reshape(-1)
    if not len(places) or (word == "transpose" and len(x.shape) < 2):
        return x
    if word in ("shift", "transpose"):
        moved = numpy.roll(places, 1) if word == "shift" else places.reshape(x.shape).swapaxes(-1, -2).reshape(-1)
        return flat[moved].reshape(x.shape)
    mask = numpy.ones(len(places))
    mask[-1 if word == "last" else int(numpy.argmax(numpy.abs(as_numbers(x))))] = 0.0 if word == "last" else 2.0
    try:
        return (flat * mask).reshape(x.shape)
    except TypeError:
        return (flat * flat.new_tensor(mask)).reshape(x.shape)


def measure(job):
    """Return the relative difference of every mutant from the original, at random points near the calls."""
    import numpy

    rng, until = random.Random(0), time.perf_counter() + MUTANT_SECONDS
    sources = [job.original, *(m["source"] for m in job.mutants)]
    original, *others = (function_with(job, job.find_code(compile(text, job.file, "exec"))) for text in sources)
    sizes = [{"relative": None, "test": None} for _ in others]
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(RANDOM_FUNCTION_POINTS if takes_generator(job.calls[0]) else TRIED_POINTS):
            call = job.calls[number % len(job.calls)]
            point = map_parts(functools.partial(move_numbers, rng), call)
            expected = attempt_call(original, point)
            if expected is None:
                expected = attempt_call(original, point := call)
            if expected is None or time.perf_counter() > until:
                continue
            samples = samples_of(original, point) if takes_generator(point) else None
            for mutant, other, entry in zip(job.mutants, others, sizes, strict=True):
                job.kind = mutant["kind"]
                got = attempt_call(other, point)
                error = None if got is None else relative_distance(got[0], expected[0])
                if error and mutant["kind"] in KEEPS_MEANS and samples is not None:
                    error = distance_of_means(samples_of(other, point), samples, error)
                job.kind = None
                if error is not None and (entry["relative"] is None or error > entry["relative"]):
                    entry.update(relative=error, test=write_call(job, point, expected[0]))
    return sizes


def function_with(job, code):
    """Return a copy of the function that was called, with other code."""
    owner = next(x for x in gc.get_referrers(job.code) if type(x) is types.FunctionType and x.__code__ is job.code)
    cells = dict(zip(owner.__code__.co_freevars, owner.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, owner.__globals__, owner.__name__, owner.__defaults__, closure)
    made.__kwdefaults__ = owner.__kwdefaults__
    return made


def attempt_call(function, point, copies=True):
    """Return a tuple with the function's result for arguments by name; None if it raises.

    copies: pass copies of arrays and generators, and start global streams of random numbers anew.
    """
    import inspect

    bound = inspect.BoundArguments(inspect.signature(function), copy_arrays(point) if copies else point)
    if copies:
        seed_streams()
    try:
        return (function(*bound.args, **bound.kwargs),)
    except Exception:
        return None


def move_numbers(rng, x):
    """Move floating-point numbers at random; return anything else as it is."""
    import numpy

    if isinstance(x, float):
        return float(f"{x * (1 + 0.3 * rng.gauss(0, 1)):.3g}") if x else x
    if is_numpy_array(x) and x.dtype.kind == "f":
        draws = numpy.random.default_rng(rng.randrange(2**32))
        scale = float(numpy.abs(x[numpy.isfinite(x)]).mean()) if numpy.isfinite(x).any() else 0.0
        changed = x * (1 + 0.3 * draws.standard_normal(x.shape)) + 0.1 * scale * draws.standard_normal(x.shape)
        if x.size <= MOST_SPELT:
            changed = numpy.array([float(f"{y:.3g}") for y in changed.reshape(-1)]).reshape(x.shape)
        return changed.astype(x.dtype)
    return x


def numbers_inside_of(x):
    numbers = isinstance(x, (tuple, list)) and all(isinstance(y, (int, float)) for y in x)
    if isinstance(x, (dict, tuple, list)) and not numbers:
        return [leaf for y in (x.values() if isinstance(x, dict) else x) for leaf in numbers_inside_of(y)]
    flat = as_numbers(x)
    return [] if flat is None else [flat]


def as_numbers(x):
    """Return numbers as a flat NumPy array; None for anything else."""
    import numpy

    for convert in (numpy.asarray, lambda y: y.toarray(), lambda y: y.detach().numpy()):
        try:
            array = numpy.asarray(convert(x))
        except Exception:
            continue
        if array.dtype.kind in "fciub":
            return array.reshape(-1).astype(complex if array.dtype.kind == "c" else float)
    return None


def relative_distance(got, expected):
    """Return the largest difference of two results, each relative to the largest element of its array."""
    import numpy

    ours, theirs = numbers_inside_of(got), numbers_inside_of(expected)
    if [x.shape for x in ours] != [x.shape for x in theirs]:
        return 1.0
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
        if same.all():
            continue
        size = float(numpy.abs(b[numpy.isfinite(b)]).max(initial=0.0))
        gap = float(numpy.abs(a - b)[~same].max())
        worst = max(worst, gap / size if size and gap == gap else 1.0)
    return min(worst, 1e300)


def distance_of_means(ours, theirs, otherwise):
    """Return the relative difference of the means of samples with the same random numbers; 0 if chance explains it.

    otherwise: what to return if they do not have the same shape.
    """
    if ours is None or ours.shape != theirs.shape:
        return otherwise
    gaps, size = ours - theirs, float(abs(theirs.mean(axis=0)).max(initial=0.0))
    off = abs(gaps.mean(axis=0))
    if not (off > SAMPLE_SIGMAS * gaps.std(axis=0) / len(gaps) ** 0.5).any():
        return 0.0
    return float(off.max()) / size if size else 1.0


def samples_of(function, point):
    """Return samples of a random function as rows: (samples, numbers); None if it raises or returns something else."""
    import numpy

    counts = [name for name, x in point.items() if type(x) is int and x > 1]
    if counts:
        got = attempt_call(function, {**point, counts[-1]: RANDOM_SAMPLES})
        rows = [] if got is None else numbers_inside_of(got[0])
        return numpy.concatenate([x.reshape(RANDOM_SAMPLES, -1) for x in rows], axis=1) if rows_fit(rows) else None
    own = copy_arrays(point)
    results = [attempt_call(function, own, copies=False) for _ in range(RANDOM_SAMPLES_ONE)]
    if any(x is None for x in results):
        return None
    return numpy.array([numpy.concatenate(numbers_inside_of(x[0])) for x in results])


def rows_fit(rows):
    return bool(rows) and all(len(x) % RANDOM_SAMPLES == 0 for x in rows)


def write_call(job, point, expected):
    """Return the texts of a call and its result if they are short, and numbers or strings; else None."""
    import inspect

    names, *others = inspect.getargs(job.code)
    given = {name: point[name] for name in names}
    size = sum(x.size if is_numpy_array(x) else 1 for x in given.values()) + sum(
        len(x) for x in numbers_inside_of(expected)
    )
    if len(job.names) > 1 or any(point[name] for name in others if name) or size > MOST_SPELT:
        return None
    try:
        return {"call": {name: spelt(x) for name, x in given.items()}, "result": spelt(expected)}
    except ValueError:
        return None


def spelt(x):
    """Return Python's text of numbers, strings, arrays, and lists and tuples of these. Raises ValueError."""
    if isinstance(x, (tuple, list)):
        inner = ", ".join(map(spelt, x))
        return f"[{inner}]" if isinstance(x, list) else f"({inner},)"
    if is_numpy_array(x) and x.dtype.kind in "fiub":
        return f"np.array({x.tolist()!r})"
    if x is None or isinstance(x, (bool, int, float, str)):
        return repr(x.item() if hasattr(x, "item") else x)
    raise ValueError
