"""What a user's Python files find when they import: the modules beside them, which nobody else gets to see."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import zlib
from importlib.machinery import PathFinder, SourceFileLoader
from typing import Any

from ..errors import GradcliError
from .failures import blame_user_code

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Surroundings:
    """The search path and the modules of Python files that share one folder of modules, or the parent of a package.

    They are in place inside `with surroundings:`, and put away outside, so that the files of another folder find
    modules of their own under the same names. Only one is in place at a time. What a library imports while it is,
    comes from the folder only where there is no other: a user's random.py is nobody's `random` but the user's.
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
        """Add the folder to the search path and its modules to those that are loaded."""
        self.outer_path, self.outer = list(sys.path), dict(sys.modules)
        sys.path[:] = [*self.path, *(place for place in sys.path if place not in self.path)]
        sys.modules.update(self.modules)
        own_place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0
        sys.meta_path.insert(own_place, self)  # type: ignore[arg-type]

    def put_away(self) -> None:
        """Keep the modules that came from the folder, and leave all as it was before."""
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
        """Return the modules in place that only these files see, by name."""
        return {
            name: module
            for name, module in list(sys.modules.items())
            if self.outer.get(name) is not module and any(map(self.is_own, places_of(module)))
        }

    def is_own(self, file: str) -> bool:
        """Return whether a file is found through the folder, or what its files added to the search path."""
        shared = {PACKAGE, *map(os.path.abspath, self.outer_path)} - {self.root}
        searched = set(map(os.path.abspath, sys.path))
        folder = os.path.abspath(file)
        while folder not in shared:
            if folder in searched:
                return True
            folder, below = os.path.dirname(folder), folder
            if folder == below:
                return False
        return False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find what a library imports outside the folder, if it is there; leave the rest to Python."""
        if path is not None or self.is_own(importing_file()):
            return None
        spec = PathFinder.find_spec(name, [place for place in sys.path if os.path.abspath(place) != self.root])
        return spec if spec is not None and spec.loader is not None else None

    def load(self, path: str, stdout: Any = None, source: str | None = None) -> Any:
        """Execute a Python file as a module, unless these surroundings have it already, and return it.

        A file in a package becomes a part of it. source: its text, if that was read already. Raises GradcliError for
        what it raises; the modules that it imported until then are forgotten.
        """
        with self:
            known = self.own_modules()
            try:
                with contextlib.redirect_stdout(stdout or sys.stdout), blame_user_code(path, path):
                    return self.module(path, source)
            except BaseException:
                for name in self.own_modules().keys() - known:
                    del sys.modules[name]
                raise

    def module(self, path: str, source: str | None = None) -> Any:
        """Return the module of a file, loaded after the packages that it belongs to."""
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
        """Return the name of a module or package, or one like it where Python or a library has that name."""
        if name in self.outer:
            others = places_of(self.outer[name]) or [""]
        else:
            spec = PathFinder.find_spec(name, self.outer_path)
            others = [spec.origin] if spec is not None and spec.origin else []
        if name in sys.stdlib_module_names or not all(same_file(other, path) for other in others):
            return f"{name}_{zlib.crc32(os.fsencode(self.root)):08x}"
        return name


class Folders:
    """The surroundings of the files of one call: files of one folder, or one package, share theirs."""

    def __init__(self) -> None:
        self.known: dict[str, Surroundings] = {}

    def of(self, path: str) -> Surroundings:
        """Return the surroundings of a file: those in place, where they are its."""
        root = root_of(path)
        if Surroundings.current is not None and Surroundings.current.root == root:
            return Surroundings.current
        return self.known.setdefault(root, Surroundings(root))


def change_to(wanted: Surroundings | None) -> None:
    """Put surroundings in place instead of those that are."""
    present = Surroundings.current
    if present is wanted:
        return
    if present is not None:
        present.put_away()
    if wanted is not None:
        wanted.put_in_place()
    Surroundings.current = wanted


def root_of(path: str) -> str:
    """Return the folder to search for what a file imports: its own, or the one that holds its outermost package."""
    folder = os.path.dirname(os.path.abspath(path))
    while os.path.isfile(os.path.join(folder, "__init__.py")) and (name := os.path.basename(folder)):
        if "." in name:
            break
        folder = os.path.dirname(folder)
    return folder


class Fresh(SourceFileLoader):
    """Loads a module from its text alone: Python takes what it compiled of one of the same size and second."""

    def path_stats(self, path: str) -> Any:
        """Refuse: what is compiled is neither taken from beside the file nor kept there."""
        raise OSError


class Read(Fresh):
    """Loads a module whose text was read already: a pipe can be read but once."""

    def __init__(self, name: str, path: str, source: str):
        super().__init__(name, path)
        self.source = source

    def get_data(self, path: str) -> bytes:
        return self.source.encode()

    def source_to_code(self, data: Any, path: Any, **options: Any) -> Any:  # type: ignore[override]
        """Return the text, compiled, whatever encoding it names."""
        return super().source_to_code(self.source, path, **options)  # type: ignore[arg-type]

    def get_source(self, fullname: str) -> str:
        return self.source


def execute(name: str, path: str, source: str | None = None) -> Any:
    """Execute a file (or its text, if known) as a module of a name and return it."""
    loader = Fresh(name, path) if source is None else Read(name, path, source)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None or spec.loader is None:
        raise GradcliError(f"{path} cannot be imported", kind="file")
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


def places_of(module: Any) -> list[str]:
    """Return the file of a module, or the folders of a package without one."""
    try:
        file = getattr(module, "__file__", None)
        return [file] if isinstance(file, str) else [str(place) for place in getattr(module, "__path__", ())]
    except Exception:  # what a program puts among the modules may be anything
        return []


def same_file(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:
        return False


def importing_file() -> str:
    """Return the file of the code that imports something just now."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if file not in (__file__, importlib.__file__) and not file.startswith("<frozen importlib"):
            break
        frame = frame.f_back
    return frame.f_code.co_filename
