# mypy: ignore-errors
"""Runs inside the user's command, in whatever Python that is: puts a mutant in a function's place, in memory alone.

It needs nothing but the standard library. The file GRADCLI_MUTATE names says which function is meant and what its
mutants are; GRADCLI_MUTANT says which one is in force: a number, or `record` for the original, which notes its calls.
"""

import atexit
import importlib.abc
import importlib.machinery
import json
import os
import sys
import types

from gradcli_mutant_sizes import change, copy_arrays, measure

CALLS = 25
"""So many calls of the original are noted."""


class Job:
    """What is to be mutated."""

    current = None

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            given = json.load(file)
        self.file, self.names, self.line = given["file"], given["names"], given["line"]
        self.record, self.mutants, self.folder = given["record"], given["mutants"], given["folder"]
        self.original = given["original"]
        self.text, self.kind, self.loaded = None, None, False
        self.calls, self.count, self.code = [], 0, None

    def is_target(self, path):
        """Return whether a path is that of the file."""
        return isinstance(path, str) and (path == self.file or os.path.realpath(path) == self.file)

    def compile(self, path):
        """Return the code of the file with the mutant in force."""
        self.loaded = True
        return compile(self.text, path, "exec", dont_inherit=True)

    def find_code(self, code, names=None):
        """Return the code of the function inside that of its file."""
        names = self.names if names is None else names
        if not names:
            return code
        inner = [c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == names[0]]
        if len(names) == 1:
            inner = [c for c in inner if c.co_firstlineno == self.line]
        codes = [self.find_code(c, names[1:]) for c in reversed(inner)]
        return next((c for c in codes if c is not None), None)

    def activate(self, which):
        """Put a mutant in force for what is imported from now on."""
        mutant = None if which == "record" else self.mutants[int(which)]
        self.text = self.record if mutant is None else mutant["source"]
        self.kind = None if mutant is None else mutant["kind"]

    def enter(self, values):
        """Note the arguments of a call."""
        self.count += 1
        if len(self.calls) < CALLS:
            code = sys._getframe(2).f_code
            self.code = code
            number = code.co_argcount + code.co_kwonlyargcount
            number += bool(code.co_flags & 4) + bool(code.co_flags & 8)
            self.calls.append({name: copy_arrays(values[name]) for name in code.co_varnames[:number]})


def start():
    """Put what the environment asks for in force in a process of its own."""
    which = os.environ.get("GRADCLI_MUTANT")
    if which is None or Job.current is not None:
        return
    job = Job.current = Job(os.environ["GRADCLI_MUTATE"])
    hook(job)
    job.activate(which)
    if which == "record":
        atexit.register(finish, job)
    run_as_main(job)


def hook(job):
    """Let the loaders of Python give the mutant for the file, from no cache and into none."""
    for loader in (importlib.machinery.SourceFileLoader, importlib.abc.ExecutionLoader):
        loader.get_code = wrap_loader(job, loader.get_code)


def wrap_loader(job, get_code):
    """Return a loader's method that gives the mutant for the file."""

    def call(self, fullname):
        path = self.get_filename(fullname)
        return job.compile(path) if job.text and job.is_target(path) else get_code(self, fullname)

    return call


def run_as_main(job):
    """Where the file itself is the script that Python was started with, run the mutant in its place, and end."""
    words = getattr(sys, "orig_argv", [])[1:]
    place = next((i for i, word in enumerate(words) if not word.startswith("-")), None)
    if (
        place is None
        or any(word in ("-m", "-c") for word in words[:place])
        or not job.is_target(os.path.abspath(words[place]))
    ):
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
    """Note a call of the original; what the recording text calls."""
    Job.current.enter(values)


def apply(x):
    """Return a result of the function as the mutant in force has it."""
    return change(x, Job.current.kind)


def finish(job):
    """Write what the recorded calls tell, for the process that started the command."""
    report = {"loaded": job.loaded, "calls": job.count, "sizes": []}
    if job.calls:
        try:
            report["sizes"] = measure(job)
        except Exception as error:
            report["trouble"] = repr(error)
    path = os.path.join(job.folder, f"measured-{os.getpid()}.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(report, file)
    os.replace(path + ".new", path)
