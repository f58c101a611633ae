"""The house: imports point one way, and modules stay small."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "gradcli"
RANKS = [
    ["errors"], ["results", "schema"], ["rules"], ["tape"], ["api"], ["linalg", "fft", "special"],
    ["func", "nn", "lang", "optim"], ["exact"], ["program"], ["analysis"], ["check"], ["cli"],
]  # fmt: skip
RANK = {name: i for i, names in enumerate(RANKS) for name in names}
FREE = {"__init__", "__main__", "autograd", "byte_compile", "pytest_plugin"}
"""Modules that only hand names on; `gradcli.autograd` is PyTorch's name for parts of the tape."""

SHOWN = {"results/checks.py", "results/graphs.py"}
"""Results that notebooks ask for their HTML (`_repr_html_`), which `render` makes when they do."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    """Return the layers of gradcli that a module imports, at its top or inside functions."""
    depth = len(path.relative_to(PACKAGE).parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            parts = [node.module] if node.module else [alias.name for alias in node.names]
            found |= {part.split(".")[0] for part in parts}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").startswith("gradcli."):
            found.add(str(node.module).split(".")[1])
    return found - {"__version__", "find_method"}


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path):
    layer = layer_of(path)
    if layer in FREE:
        return
    for other in imported_layers(path):
        if layer == "render":
            assert other in ("errors", "results"), f"render may import results only, not {other}"
        elif other == "render" and path.relative_to(PACKAGE).as_posix() in SHOWN:
            continue
        elif other != layer:
            assert other in RANK or other == "render", f"unknown layer {other}"
            assert (other == "render" and layer == "cli") or RANK.get(other, 99) < RANK[layer], (
                f"{layer} imports {other}"
            )


@pytest.mark.parametrize("path", [p for p in modules() if layer_of(p) == "rules"], ids=lambda p: p.name)
def test_rules_import_numpy_only(path):
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= {"math", "numpy", "operator", "string", "functools"}


def test_all_rule_modules_are_listed():
    from gradcli.rules import MODULES

    helpers = {"__init__", "table", "shapes", "batch", "exact", "elimination", "size_limits"}
    assert {p.stem for p in (PACKAGE / "rules").glob("*.py")} - helpers == set(MODULES)


def graph_of_imports() -> dict[str, set[str]]:
    """Return which module imports which, at the top or inside functions, but for those of TYPE_CHECKING.

    The package itself and notebooks' HTML, which is made where a notebook asks, are left out.
    """
    names = {module_name(path): path for path in modules()}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        tree = ast.parse(path.read_text())
        unseen = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for inner in ast.walk(node)
        }
        package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        found = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level and id(node) not in unseen:
                home = [*package[: len(package) - node.level + 1], *([node.module] if node.module else [])]
                base = ".".join(home)
                found |= {full if (full := f"{base}.{alias.name}") in names else base for alias in node.names}
        if path.relative_to(PACKAGE).as_posix() in SHOWN:
            found = {other for other in found if not other.startswith("gradcli.render")}
        graph[name] = (found & names.keys()) - {name, "gradcli"}
    return graph


def module_name(path: Path) -> str:
    parts = ["gradcli", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_modules_import_each_other_in_a_circle():
    graphlib.TopologicalSorter(graph_of_imports()).prepare()
