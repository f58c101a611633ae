"""Turn a fork of the fork server into a Python program, for tests of programs that use a framework.

Importing PyTorch takes 3 s of CPU time, JAX 1 s. The server has imported them. In the fork they are hidden until the
program imports them, one module after the other, so that hooks which gradcli has put on these imports run.
"""

import atexit
import builtins
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
from types import ModuleType
from typing import Any, NoReturn


class Hidden(importlib.abc.MetaPathFinder):
    """Finds the modules of frameworks that were imported before the fork. The first import brings all of them back."""

    def __init__(self, frameworks: tuple[str, ...]):
        names = [name for name in sys.modules if name.partition(".")[0] in frameworks]
        self.modules = {name: sys.modules.pop(name) for name in names}

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name not in self.modules:
            return None
        module = self.modules[name]
        return importlib.machinery.ModuleSpec(name, Loader(self, module), is_package=hasattr(module, "__path__"))

    def is_imported(self, name: str) -> bool:
        """Report whether a module has come from a file, instead of from the code of another module."""
        parent = self.modules.get(name.rpartition(".")[0])
        return getattr(self.modules[name], "__spec__", None) is not None and hasattr(parent, "__path__")

    def rebind(self, replaced: dict[int, Any]) -> None:
        """Replace objects wherever modules have them, by id: a hook runs before `from` imports of what it replaces."""
        for module in self.modules.values():
            for key in [key for key, x in vars(module).items() if id(x) in replaced]:
                vars(module)[key] = replaced[id(vars(module)[key])]


class Loader(importlib.abc.Loader):
    """Loads one hidden module, and with the framework itself all others. Each has its own loader, as without a fork."""

    def __init__(self, hidden: Hidden, module: ModuleType):
        self.hidden, self.module, self.spec = hidden, module, module.__spec__

    def create_module(self, spec: Any) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        with contextlib.suppress(AttributeError):  # PyTorch's modules of settings refuse it, to importlib, too
            module.__spec__ = self.spec
        if "." not in module.__name__:
            inside = [name for name in self.hidden.modules if name.startswith(f"{module.__name__}.")]
            sys.modules.update((x, self.hidden.modules[x]) for x in inside if not self.hidden.is_imported(x))
            replaced = {}
            for name in inside:
                above, _, key = name.rpartition(".")
                parent = vars(self.hidden.modules[above])
                before, same = dict(vars(self.hidden.modules[name])), parent.get(key, self.hidden.modules[name])
                after = vars(importlib.import_module(name))
                parent[key] = same  # may be a function with the name of its module
                replaced |= {id(x): after[key] for key, x in before.items() if after.get(key) is not x}
            self.hidden.rebind(replaced)


def run(words: list[str], frameworks: tuple[str, ...]) -> NoReturn:
    """Run a script with its arguments as Python does, and end the process."""
    script = words[0]
    sys.argv, sys.orig_argv = words, [sys.executable, *words]
    given = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    sys.path[:] = [os.path.dirname(os.path.abspath(script)), *given, *(x for x in sys.path[1:] if x not in given)]
    sys.meta_path.insert(0, Hidden(frameworks))
    sys.modules.pop("sitecustomize", None)
    if importlib.util.find_spec("sitecustomize") is not None:
        importlib.import_module("sitecustomize")
    status: Any = 0
    try:
        execute(os.path.abspath(script))
    except SystemExit as stop:
        status = stop.code
    except BaseException as error:
        users = error.__traceback__.tb_next.tb_next  # type: ignore[union-attr]
        sys.excepthook(type(error), error.with_traceback(users), users)
        status = 1
    if status is not None and not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status or 0)


def execute(script: str) -> None:
    """Execute a file as the module __main__, which stays until the process ends."""
    main = ModuleType("__main__")
    main.__dict__.update(__file__=script, __builtins__=builtins, __spec__=None)
    sys.modules["__main__"] = main
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec", dont_inherit=True)
    exec(code, main.__dict__)
