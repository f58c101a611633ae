"""The layers of the package: modules import only from layers below, and never in a circle."""

import graphlib
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "gradcli"
RANKS = [
    ["errors", "files"], ["results"], ["request"], ["schema"], ["rules"], ["tape"], ["api"],
    ["linalg", "fft", "special"], ["func", "nn", "lang", "optim", "utils"], ["user"], ["exact"], ["code"],
    ["program", "manifolds"], ["claims"], ["numeric"], ["explain"], ["repair", "analysis"], ["check", "why", "matrix"],
    ["guard"], ["cli"],
]  # fmt: skip
RANK = {name: i for i, names in enumerate(RANKS) for name in names}
FREE = {"__init__", "__main__", "autograd", "notebook", "pytest_plugin"}
"""Modules that may import from any layer; `gradcli.autograd` is PyTorch's name for parts of the tape."""


MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = ["gradcli", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in MODULES}


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


IMPORT = re.compile(r"^ *from (\.*)([\w.]*) import (\([^)]*\)|.*)", re.M)
TEXTS = re.compile(r"""'''.*?'''|\"{3}.*?\"{3}|#.*?$""", re.M | re.S)


def imports_of(path: Path) -> set[str]:
    """Return the gradcli modules that a module imports: at the top, inside functions, and under TYPE_CHECKING.

    The package itself is left out, and so are modules listed in tables: `results.formats.FORMATS`,
    `cli.main.COMMAND_HOMES`, addresses, families of rules. Modules loaded through a table may import the module with
    the table.
    """
    text = TEXTS.sub("", path.read_text())
    name = name_of(path)
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for dots, module, names in IMPORT.findall(text):
        home = package[: len(package) - len(dots) + 1] if dots else []
        base = ".".join([*home, *([module] if module else [])])
        imported = re.findall(r"\w+", re.sub(r" as \w+", "", names))
        found |= {full if (full := f"{base}.{part}") in NAMES else base for part in imported}
    return {other for other in found if other.startswith("gradcli.")} - {name}


def may_import(layer: str, other: str) -> bool:
    """Return whether a layer may import another. `show` imports only errors and results; only `cli` imports `show`."""
    if layer == "show":
        return other in ("errors", "results")
    if other == "show":
        return layer == "cli"
    return other in RANK and RANK[other] < RANK[layer]


def test_imports_point_down():
    wrong = []
    for path in MODULES:
        layer = layer_of(path)
        imported = imports_of(path) if layer not in FREE else set()
        for other in {module.split(".")[1] for module in imported} - {layer}:
            if not may_import(layer, other):
                wrong.append(f"{name_of(path)} imports {other}, which is not below {layer}")
    assert not wrong, "\n".join(wrong)


def test_rules_import_numpy_only():
    known = {"math", "numpy", "operator", "string", "functools"}
    for path in (PACKAGE / "rules").rglob("*.py"):
        assert set(re.findall(r"^import (\w+)", path.read_text(), re.M)) <= known, path


def test_all_rule_modules_are_listed():
    from gradcli.rules import MODULES as LISTED

    helpers = {"__init__", "table", "shapes", "exact"}
    assert {p.stem for p in (PACKAGE / "rules").glob("*.py")} - helpers == set(LISTED)


def test_there_are_no_circular_imports():
    graphlib.TopologicalSorter({name_of(path): imports_of(path) for path in MODULES}).prepare()
