"""Import the user's Python files, each with the modules of its own folder."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import os
import sys
import zlib
from importlib.machinery import PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from ..errors import GradcliError, did_you_mean
from ..lang.limits import as_written
from .tracebacks import PACKAGE, blame_user_code, with_parents


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
            if self.outer.get(name) is not module and (known or any(map(self.is_own, files_of_module(module)))):
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
            others = files_of_module(self.outer[name]) or [""]
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


def files_of_module(module: Any) -> list[str]:
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
