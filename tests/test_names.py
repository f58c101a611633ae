"""One name, one thing: top-level names that two modules define, each with the reason."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from .test_layers import MODULES, name_of

SAME_NAME = {
    "the function of the language on arrays, and PyTorch's of this name, which takes other arguments": """
        bincount cross cross_entropy diag full gelu gradient imag linspace logspace lstsq matmul matrix_norm meshgrid
        multi_dot nonzero norm pad pinv prelu qr repeat roll select softplus solve sort split take tensordot unique
        vector_norm""",
    "PyTorch has it in two places, or gradcli has it as a command, too": """
        grad gradcheck graph hessian hvp jacobian jvp linear normal_ trace uniform_ vjp""",
    "a protocol: a table or a name on the command line selects the module": """
        Adapter PATCHES Samples WRITERS main open_address start""",
    "the words of the table of verdicts, and their numbers in arrays": "FAIL OPEN PASS",
    "a word of the command line, and a call in the language": "Call",
    "without loading the table of functions": "adjoint",
}
"""Names that several modules define, by reason."""
MOST_NAMES = 60


def targets_of(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Tuple):
        for part in node.elts:
            yield from targets_of(part)


def defined_in(tree: ast.Module) -> Iterator[str]:
    """Yield the functions, classes and constants that a module defines at the top level, without special names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from targets_of(target)


def test_a_name_means_one_thing():
    homes = defaultdict(set)
    for path in MODULES:
        for name in defined_in(ast.parse(path.read_text(encoding="utf-8"))):
            homes[name].add(name_of(path))
    twice = {name: sorted(found) for name, found in homes.items() if len(found) > 1 and not name.startswith("__")}
    allowed = [name for names in SAME_NAME.values() for name in names.split()]
    new = {name: found for name, found in twice.items() if name not in allowed}
    assert not new, "choose names that say what is particular of each"
    assert set(allowed) == set(twice), "these names are defined once by now"
    assert len(allowed) == len(set(allowed)) <= MOST_NAMES
