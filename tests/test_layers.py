"""The house: imports point one way, and modules stay small."""

import ast
import functools
import graphlib
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "gradcli"
RANKS = [
    ["errors", "files"], ["request"], ["schema"], ["rules"], ["tape"], ["api"], ["linalg", "fft", "special"],
    ["func", "nn", "lang", "optim"], ["exact"], ["program"], ["analysis"], ["check"], ["cli"],
]  # fmt: skip
RANK = {name: i for i, names in enumerate(RANKS) for name in names}
FREE = {"__init__", "__main__", "autograd", "notebook", "pytest_plugin"}
"""Modules that only hand names on; `gradcli.autograd` is PyTorch's name for parts of the tape."""

RESULTS = {f"gradcli.show.{name}" for name in ("results", "check_results", "study_results", "graph_results")}
"""What commands find out, as data: any layer may import it, and it imports errors alone."""


MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = ["gradcli", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in MODULES}


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements; `ast.walk` would go through each expression too."""
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.expr):
            yield inner
            yield from statements(inner)


@functools.cache
def imports_of(path: Path, of_types: bool = True) -> set[str]:
    """Return the modules of gradcli that one imports, at the top or inside functions, those of TYPE_CHECKING or not.

    The package itself and notebooks' HTML, which is made where a notebook asks, are left out.
    """
    nodes = [node for node in statements(tree_of(path)) if isinstance(node, ast.If | ast.ImportFrom)]
    typing = [node for node in nodes if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"]
    unseen = {id(inner) for node in typing for inner in node.body if not of_types}
    name = name_of(path)
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and id(node) not in unseen:
            home = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*home, *([node.module] if node.module else [])])
            found |= {full if (full := f"{base}.{alias.name}") in NAMES else base for alias in node.names}
    if name in RESULTS:  # notebooks ask them for their HTML (`_repr_html_`), which pages make when they do
        found = {other for other in found if not other.startswith("gradcli.show.") or other in RESULTS}
    return {other for other in found if other.startswith("gradcli.")} - {name}


def may_import(layer: str, other: str) -> bool:
    """Return whether one layer may import another: `show` errors only, and `cli` alone imports more than results."""
    if layer == "show":
        return other == "errors"
    if other == "show":
        return layer == "cli"
    return other in RANK and RANK[other] < RANK[layer]


def test_imports_point_down():
    wrong = []
    for path in MODULES:
        layer = layer_of(path)
        imported = imports_of(path) - RESULTS if layer not in FREE else set()
        for other in {module.split(".")[1] for module in imported} - {layer}:
            if not may_import(layer, other):
                wrong.append(f"{name_of(path)} imports {other}, which is not below {layer}")
    assert not wrong, "\n".join(wrong)


def test_rules_import_numpy_only():
    known = {"math", "numpy", "operator", "string", "functools"}
    imported = {
        (path.name, alias.name)
        for path in MODULES
        if layer_of(path) == "rules"
        for node in tree_of(path).body
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert not {(path, name) for path, name in imported if name not in known}


def test_all_rule_modules_are_listed():
    from gradcli.rules import MODULES as LISTED

    helpers = {"__init__", "table", "shapes", "exact"}
    assert {p.stem for p in (PACKAGE / "rules").glob("*.py")} - helpers == set(LISTED)


def test_no_modules_import_each_other_in_a_circle():
    graphlib.TopologicalSorter({name_of(path): imports_of(path, of_types=False) for path in MODULES}).prepare()
