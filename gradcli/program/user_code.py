"""Run the user's Python files: find their imports, observe their assignments, report their exceptions."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import importlib.util
import os
import re
import sys
import zlib
from collections.abc import Iterator
from importlib.machinery import PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from ..errors import ENDINGS, GradcliError, NotBatchableError, Span, TargetError, describe_error, did_you_mean, text_of
from ..lang.limits import as_written

BIND, LAST = "__gradcli_bind__", "__gradcli_last__"  # functions that instrumented scripts call
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class _Binder(ast.NodeTransformer):
    """Wraps the value of every assignment to a plain name outside functions and classes in a call of BIND."""

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef  # noqa: N815

    def visit_Assign(self, node: Any) -> Any:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and node.value is not None:
                node.value = binding_call(BIND, node.value, target.id)
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for k, (name, value) in enumerate(zip(target.elts, node.value.elts, strict=False)):
                    if isinstance(name, ast.Name):
                        node.value.elts[k] = binding_call(BIND, value, name.id)
        return node

    visit_AnnAssign = visit_Assign  # noqa: N815


def binding_call(function: str, value: ast.expr, *names: str) -> ast.expr:
    """Return the syntax tree of function(value, *names), at the place of value."""
    made = ast.Call(ast.Name(function, ast.Load()), [value, *(ast.Constant(name) for name in names)], [])
    return ast.fix_missing_locations(ast.copy_location(made, value))


def instrument(source: str, path: str) -> Any:
    """Compile a script so that top-level assignments call BIND(value, name), and a last expression LAST(value)."""
    module = ast.parse(source, filename=path)
    last = module.body[-1] if module.body else None
    module = _Binder().visit(module)
    if isinstance(last, ast.Expr):
        last.value = binding_call(LAST, last.value)
    return compile(ast.fix_missing_locations(module), path, "exec")


def last_names(source: str) -> list[str]:
    names = [n for part in ast.parse(source).body[-1:] for n in ast.walk(part) if isinstance(n, ast.Name)]
    read = [n.id for n in names if isinstance(n.ctx, ast.Load)]
    return [*(n.id for n in names if isinstance(n.ctx, ast.Store)), *reversed(read)]


def python_syntax_error(error: Exception, path: str, source: str) -> GradcliError:
    span = None
    if isinstance(error, SyntaxError) and error.lineno:
        lines = source.splitlines(keepends=True)
        start = sum(map(len, lines[: error.lineno - 1])) + max((error.offset or 1) - 1, 0)
        span = Span(source, start, start + 1, path)
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return GradcliError(f"{path} is not valid Python: {message}", span=span, kind="syntax")


def script_error(error: BaseException, path: str) -> GradcliError:
    frames = users_frames(error.__traceback__)
    trace = users_trace(error).replace(f"{BIND}(", "(")
    message = f"{path} raised {describe_error(error)}"
    notes = getattr(error, "__notes__", ())
    for line in notes if isinstance(notes, list | tuple) else ():
        message += f"\n  {text_of(line)}"
    hint = hint_on_import(error, path) if isinstance(error, ImportError) else None
    failure = TargetError(message + (f"\n{trace}" if trace else ""), hint=hint)
    failure.cause = error
    failure.cause_line = (frames[-1].filename, frames[-1].lineno or 0) if frames else None
    return failure


def hint_on_import(error: ImportError, path: str) -> str | None:
    """Return what to do about a module that was not found: install it, or add its folder to the search path."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    name = error.name.partition(".")[0]
    folder = os.path.dirname(os.path.abspath(path))
    places = ((place, os.path.join(place, file)) for place in with_parents(folder) for file in (f"{name}.py", name))
    there = next((place for place, file in places if os.path.exists(file)), None)
    if there is not None and name != "torch":
        return f"it is in {there}: put PYTHONPATH={there} before the command"
    more = ", or use gradcli's own engine instead with --torch" if name == "torch" else ""
    where = f"it is neither in {folder} nor installed for {sys.executable}"
    return f"{where}; install it there, or choose another Python with --python PATH, or set PYTHONPATH=FOLDER{more}"


def with_parents(path: str) -> Iterator[str]:
    """Yield a path and the folders above it, the nearest first."""
    while True:
        yield path
        path, below = os.path.dirname(path), path
        if path == below:
            return


def exit_text(code: Any) -> str:
    """Describe how a script exited: with a status, or with a message."""
    return f"exited with status {code}" if isinstance(code, int) else f"ended: {text_of(code)}"


def raised_by_user(error: BaseException) -> bool:
    """Report whether the innermost frame of an exception is the user's own code, not a library that it called."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return bool(users_frames(place))


def place_of_return(method: Any, last: int | None = None) -> str:
    """Return the line of a method's `return`, or the line `last` if it lies in the method, as file:line and text.

    For a class, return its first line.
    """
    import inspect

    try:
        lines, start = inspect.getsourcelines(method)
    except (OSError, TypeError):
        return str(getattr(method, "__qualname__", method))
    k = max((k for k, line in enumerate(lines) if re.search(r"\breturn\b", line)), default=len(lines) - 1)
    if isinstance(method, type):
        last = start
    if last is not None and 0 <= last - start < len(lines):
        k = last - start
    text = lines[k].strip()
    return f"{users_path(str(inspect.getsourcefile(method)))}:{start + k}\n    {text}\n    {'^' * len(text)}"


def users_trace(error: BaseException | None) -> str:
    """Return the traceback of an exception as Python prints it, without frames of libraries and gradcli."""
    import traceback

    return "" if error is None else "".join(traceback.format_list(users_frames(error.__traceback__))).rstrip()


def users_path(file: str) -> str:
    """Return a file's path for messages: relative if it is below the current folder, else absolute."""
    try:
        full, near = os.path.abspath(file), os.path.relpath(file)
    except OSError:  # the folder is gone
        return file
    return full if near.startswith(os.pardir) else near


@functools.cache
def libraries() -> tuple[str, ...]:
    """Return the folders of gradcli and of Python's own library, each with a separator at its end."""
    import sysconfig

    paths = sysconfig.get_paths()
    return tuple(place + os.sep for place in (PACKAGE, paths["stdlib"], paths["platstdlib"]))


@functools.cache
def is_users(file: str) -> bool:
    """Report whether a file is the user's, not part of gradcli, Python or an installed package."""
    with contextlib.suppress(OSError):  # the current folder may be gone
        file = file if file.startswith("<") else os.path.abspath(file)
    return not (file.startswith(("<", *libraries())) or "-packages" + os.sep in file)


def users_frames(trace: Any) -> list[Any]:
    import traceback

    frames = [frame for frame in traceback.extract_tb(trace) if is_users(frame.filename)]
    for frame in frames:
        frame.filename = users_path(frame.filename)
    return frames


@contextlib.contextmanager
def end_forks() -> Any:
    process = os.getpid()
    try:
        yield
    except BaseException as error:
        end_fork(process, error)
        raise
    end_fork(process, None)


def end_fork(process: int, error: BaseException | None, quiet: bool = False) -> None:
    """End this process if it was forked after `process` began its block. error: what the block raised.

    quiet: do not print the error, for functions that are called many times.
    """
    if os.getpid() == process:
        return
    if not quiet and error is not None and not isinstance(error, SystemExit):
        os.write(2, f"error: a forked process raised {describe_error(error)}\n".encode(errors="backslashreplace"))
    flush_streams()
    code = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else error is not None
    os._exit(code & 0xFF)


def flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the user's code may have put anything there
            stream.flush()


@contextlib.contextmanager
def blame_user_code(path: str, what: str) -> Any:
    """Turn exceptions of the user's code into a GradcliError with the frames of that code."""
    try:
        with end_forks():
            yield
    except (GradcliError, NotBatchableError, *ENDINGS):
        raise
    except SystemExit as stop:
        raise TargetError(f"{what} {exit_text(stop.code)}") from None
    except BaseException as error:
        raise script_error(error, path) from None


class Surroundings:
    """The search path and the modules of the Python files in one folder, or in one package.

    They are in sys.path and sys.modules only inside `with surroundings:`, so that files of another folder find their
    own modules of the same names. Only one is in place at a time. Libraries import from the folder only what exists
    nowhere else: a user's random.py is `random` only for the user's own files.
    """

    current: Surroundings | None = None

    def __init__(self, root: str):
        self.root = root
        self.path = [root]
        self.modules: dict[str, Any] = {}
        self.before: list[Surroundings | None] = []
        self.outer_path: list[str] = []
        self.outer: dict[str, Any] = {}

    def __enter__(self) -> Surroundings:
        self.before.append(Surroundings.current)
        change_to(self)
        return self

    def __exit__(self, *_: object) -> None:
        change_to(self.before.pop())

    def put_in_place(self) -> None:
        """Add the folder to the search path, and its modules to the loaded modules."""
        self.outer_path, self.outer = list(sys.path), dict(sys.modules)
        sys.path[:] = [*self.path, *(place for place in sys.path if place not in self.path)]
        sys.modules.update(self.modules)
        own_place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0
        sys.meta_path.insert(own_place, self)  # type: ignore[arg-type]

    def put_away(self) -> None:
        """Keep the modules that came from the folder for later, and restore the previous state."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        self.modules = self.own_modules()
        self.path = list(sys.path)
        for name in self.modules:
            if name in self.outer:
                sys.modules[name] = self.outer[name]
            else:
                del sys.modules[name]
        sys.path[:] = self.outer_path
        self.outer = {}

    def own_modules(self) -> dict[str, Any]:
        own = {}
        for name, module in list(sys.modules.items()):
            known = self.modules.get(name) is module
            if self.outer.get(name) is not module and (known or any(map(self.is_own, places_of(module)))):
                own[name] = module
        return own

    def is_own(self, file: str) -> bool:
        """Report whether a file was found through the folder, or through paths that its files added."""
        shared = {PACKAGE, *map(absolute_path, self.outer_path)} - {self.root}
        searched = set(map(absolute_path, sys.path))
        above = with_parents(absolute_path(file))
        nearest = next((folder for folder in above if folder in shared or folder in searched), None)
        return nearest in searched and nearest not in shared

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find a module that a library imports outside the folder; leave the rest to Python's other finders."""
        if path is not None or self.is_own(importing_file()):
            return None
        spec = PathFinder.find_spec(name, [place for place in sys.path if absolute_path(place) != self.root])
        return spec if spec is not None and spec.loader is not None else None

    def load(self, path: str, stdout: Any = None, source: str | None = None) -> Any:
        """Return a Python file as a module, in its package if it has one; execute it unless that was done before.

        source: its text, if already read. Raises GradcliError if the file raises, and then forgets the modules that it
        imported.
        """
        with self:
            known = set(sys.modules)
            try:
                with contextlib.redirect_stdout(stdout or sys.stdout), blame_user_code(path, path):
                    return self.module(path, source)
            except BaseException:
                for name in self.own_modules().keys() - known:
                    del sys.modules[name]
                raise

    def module(self, path: str, source: str | None = None) -> Any:
        """Return the module of a file; load its packages first."""
        parts = os.path.relpath(os.path.splitext(os.path.abspath(path))[0], self.root).split(os.sep)
        if len(parts) > 1 and parts[-1] == "__init__":
            del parts[-1]
        parts[-1] = parts[-1].replace(".", "_")
        top = path if len(parts) == 1 else os.path.join(self.root, parts[0], "__init__.py")
        parts[0] = self.free_name(parts[0], top)
        name, parent = ".".join(parts), ".".join(parts[:-1])
        if parent:
            if parts[0] not in sys.modules:
                execute(parts[0], top)
            importlib.import_module(parent)
        if name in sys.modules and sys.modules[name] is not self.outer.get(name):
            return sys.modules[name]
        module = execute(name, path, source)
        if parent:
            setattr(sys.modules[parent], parts[-1], module)
        return module

    def free_name(self, name: str, path: str) -> str:
        """Return the name of a module or package, with a suffix if Python or a library has that name."""
        if name in self.outer:
            others = places_of(self.outer[name]) or [""]
        else:
            spec = PathFinder.find_spec(name, self.outer_path)
            others = [spec.origin] if spec is not None and spec.origin else []
        if name in sys.stdlib_module_names or not all(same_file(other, path) for other in others):
            return f"{name}_{zlib.crc32(os.fsencode(self.root)):08x}"
        return name


class Folders:
    """The surroundings of the files of one call, one for each folder or package."""

    def __init__(self) -> None:
        self.known: dict[str, Surroundings] = {}

    def of(self, path: str) -> Surroundings:
        """Return the surroundings of a file: the ones in place, if they are for its folder."""
        root = root_of(path)
        if Surroundings.current is not None and Surroundings.current.root == root:
            return Surroundings.current
        return self.known.setdefault(root, Surroundings(root))


def change_to(wanted: Surroundings | None) -> None:
    present = Surroundings.current
    if present is wanted:
        return
    if present is not None:
        present.put_away()
    if wanted is not None:
        wanted.put_in_place()
    Surroundings.current = wanted


def root_of(path: str) -> str:
    """Return the folder to search for a file's imports: its own, or the one with its outermost package."""
    folder = os.path.dirname(os.path.abspath(path))
    while os.path.isfile(os.path.join(folder, "__init__.py")) and (name := os.path.basename(folder)):
        if "." in name:
            break
        folder = os.path.dirname(folder)
    return folder


class TextLoader(SourceFileLoader):
    """Loads a module from its text, never from a .pyc, which Python matches only by size and time in seconds.

    source: the text, if already read; a pipe can be read only once.
    """

    def __init__(self, name: str, path: str, source: str | None):
        super().__init__(name, path)
        self.source = source

    def path_stats(self, path: str) -> Any:
        """Refuse, so that no .pyc is read or written."""
        raise OSError

    def get_data(self, path: str) -> bytes:
        return super().get_data(path) if self.source is None else self.source.encode()


def execute(name: str, path: str, source: str | None = None) -> Any:
    """Execute a file as a module with this name, and return it. source: its text, if known."""
    spec: Any = importlib.util.spec_from_file_location(name, path, loader=TextLoader(name, path, source))
    module, before = importlib.util.module_from_spec(spec), sys.modules.get(name)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
        raise
    return sys.modules[name]


normal_path = functools.lru_cache(os.path.normpath)  # every import uses the same few paths


def absolute_path(path: str) -> str:
    return normal_path(path if os.path.isabs(path) else os.path.join(os.getcwd(), path))


def places_of(module: Any) -> list[str]:
    """Return the file of a module, or the folders of a package without one."""
    try:
        file = getattr(module, "__file__", None)
        return [file] if isinstance(file, str) else [str(place) for place in getattr(module, "__path__", ())]
    except Exception:  # sys.modules may hold anything
        return []


def same_file(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:
        return False


def importing_file() -> str:
    frame: Any = sys._getframe(1)
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if file not in (__file__, importlib.__file__) and not file.startswith("<frozen importlib"):
            break
        frame = frame.f_back
    return frame.f_code.co_filename


def load_module(path: str, stdout: Any = None, folders: Folders | None = None, source: str | None = None) -> Any:
    """Execute a Python file as a module and return it.

    folders: keeps its surroundings, which must be in place again when its functions run; if None, they stay in place.
    source: its text, if already read.
    """
    os.environ.setdefault("JAX_ENABLE_X64", "true")  # read by JAX when it is first imported
    surroundings = Surroundings(root_of(path)) if folders is None else folders.of(path)
    if folders is None:
        change_to(surroundings)
    return surroundings.load(path, stdout, source)


def find_in(module: Any, path: str, name: str) -> Any:
    """Return the object of a dotted name in a module. Raises GradcliError if it is missing or its lookup raises."""
    attribute: Any = module
    for part in as_written(name).split("."):
        with blame_user_code(path, f"{path}:{name}"):
            if not hasattr(attribute, part):
                members = vars(attribute) if hasattr(attribute, "__dict__") else {}
                known = [n for n, x in members.items() if not n.startswith("__") and leads_to_function(x)]
                raise GradcliError(f"{path} defines no '{part}'", hint=did_you_mean(part, known), kind="name")
            attribute = getattr(attribute, part)
    return attribute


def leads_to_function(x: Any) -> bool:
    return callable(x) or (hasattr(x, "__dict__") and not isinstance(x, ModuleType))


def check_callable(function: Any, title: str) -> Any:
    if not callable(function):
        raise GradcliError(f"{title} is {type(function).__name__}, not a function")
    return function
