"""Recording: run a primitive on raw arrays and, if a gradient is wanted, leave a node behind.

`Engine.record` is the whole of it; it reads the operands (`unpack_operands`), computes, and makes a node (`make_node`)
that keeps what the rules will read (`saved_values`). Operands of mixed types are first cast to their common type, by
PyTorch's rules. A mode is a recorder in the place of `ENGINE`.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.table import ARRAY, SHAPE, SKIP, Primitive, recorder_of
from .dtypes import defaults, result_type
from .modes import moded, report_event, state
from .node import Node, OutputNode, Rule, new_node
from .send import send_by_rules, send_partials
from .tensor import Tensor, as_operand, track_view

warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gradcli\.")
"""Operations on Tensors do not cause NumPy's warnings: 1/0 is inf and 0/0 is nan, as in PyTorch."""
NOTHING_KEPT = (None, None)
STRENGTH = (SKIP, SHAPE, ARRAY)
ONLY = (True,)
ARRAYS = (np.ndarray, np.generic)
FLOAT16, FLOAT64, INT8 = np.dtype(np.float16), np.dtype(np.float64), np.dtype(np.int8)


class Engine:
    """Computes and records operations. A recording mode is an object that takes the place of this one.

    field: the field of the numbers to compute with, None for NumPy's own. renames: composed functions give PyTorch's
    name to the node of their result. (Drawn graphs keep the names of the recorded operations.)
    """

    field: Any = None
    renames = True
    below: Any = None

    def record(self, primitive: Primitive, operands: tuple, params: dict) -> Any:
        """Compute a primitive on Tensors (mixed with arrays and numbers), and record it.

        Returns a Tensor, or a tuple of Tensors for several outputs. Raises RuntimeError if a gradient is wanted but
        the primitive has none.
        """
        raws, nodes = unpack_operands(primitive, operands)
        try:
            out = primitive.forward(*raws, **params)
        except ValueError as error:
            from .torch_errors import as_pytorch

            raise as_pytorch(error, raws) from None
        if primitive.outputs > 1:
            return record_several(primitive, nodes, out, raws, params)
        if not isinstance(out, ARRAYS):
            out = np.asarray(out)
        if out.dtype is not FLOAT64 or defaults.float is not FLOAT64:
            raws, out = with_width_of_pytorch(primitive, raws, params, out)
        node = None
        if primitive.rules and state.grad and nodes.count(None) != len(nodes) and out.dtype.kind in "fcO":
            node = make_node(primitive, tuple(nodes), out, raws, params)
        result = Tensor._wrap(out, node)
        if primitive.view:
            track_view(result, operands[0], primitive, params)
        return result

    def make_node(self, primitive: Primitive, nodes: tuple, out: Any, raws: list, params: dict) -> Node:
        """Return the node of a result. Raises RuntimeError for complex operands without a complex derivative."""
        elementwise = primitive.kind == "elementwise"
        is_complex = (elementwise or not primitive.complex) and (
            "c" in [x.dtype.kind for x in raws if isinstance(x, ARRAYS)]
        )
        if is_complex and not primitive.complex:
            raise RuntimeError(f"{primitive.name} does not support automatic differentiation for complex numbers")
        if elementwise:
            name = primitive.node if primitive.variants == NOTHING_KEPT else primitive.variant(raws)
            shapes = [getattr(x, "shape", ()) for x in raws]
            broadcast = (shapes, out.ndim, is_complex and primitive.holomorphic)
            saves, send = primitive.saves, send_partials
            rule = Rule(name, send, saves, primitive, params, fresh=not is_complex, broadcast=broadcast)
        else:
            name = primitive.node_name(getattr(raws[0], "shape", ()), params)
            by_arrays = not getattr(params.get("index"), "basic", True)  # backward frees index arrays, as in PyTorch
            saves = primitive.saves or by_arrays
            rule = Rule(name, send_by_rules, saves, primitive, params)
        return new_node(rule, nodes, saved_values(primitive, nodes, out, raws), outline(out))

    def note(self, node: Node) -> None:
        """Note the origin of a custom function's node."""

    # -- what exact arithmetic overrides --------------------------------------------------------------------

    def leaf(self, value: Any, name: str) -> Tensor | None:
        """Return a value as a leaf of the field's numbers, or None if there is no field."""
        return None

    def literal(self, value: Any, text: str) -> Any:
        """Return the value of a number in a program. text: the number with all its digits."""
        return value

    def whole_number(self, x: Tensor) -> Any:
        return x

    def is_condition(self, x: Any) -> bool:
        """Report whether an array holds conditions rather than numbers."""
        return x.dtype.kind == "b"

    def constant(self, x: Tensor) -> Tensor:
        return x.detach()

    def make_exact(self, tensor: Tensor) -> None:
        """Give a tensor memory for the field's numbers before it is changed in place."""


ENGINE = Engine()


class Mode:
    """Takes the place of the recorder below it, and changes part of its behaviour."""

    below: Any = ENGINE

    def __getattr__(self, name: str) -> Any:
        return getattr(self.below, name)


def recorder() -> Any:
    return state.recorder or ENGINE


def begin(mode: Engine | Mode) -> None:
    """Make a mode record in this thread, on top of the active modes."""
    mode.below = recorder()
    state.recorder = mode
    moded.add(threading.get_ident())


def end_mode(mode: Engine | Mode) -> None:
    """Remove a mode; modes above it stay."""
    above, current = None, state.recorder
    while current is not mode:
        above, current = current, current.below
    if above is not None:
        above.below = mode.below
    else:
        state.recorder = None if mode.below is ENGINE else mode.below
        if state.recorder is None:
            moded.discard(threading.get_ident())


@contextlib.contextmanager
def recording(mode: Engine | Mode) -> Iterator[Any]:
    begin(mode)
    try:
        yield mode
    finally:
        end_mode(mode)


def record(primitive: Primitive, operands: tuple, params: dict) -> Any:
    return (state.recorder or ENGINE).record(primitive, operands, params)


def make_node(primitive: Primitive, nodes: tuple, out: Any, raws: list, params: dict) -> Node:
    """Make the node of a result with the active mode."""
    return (state.recorder or ENGINE).make_node(primitive, nodes, out, raws, params)


def dispatch(primitive: Primitive, operands: tuple, params: dict | None = None) -> Any:
    """Choose the recorder by the operands' types; plain arrays and numbers also give a Tensor."""
    if len(operands) == 1 and type(operands[0]) is Tensor:
        return record(primitive, operands, params or {})
    recorder = recorder_of(operands) or record
    return recorder(primitive, operands, params or {})


def with_width_of_pytorch(primitive: Primitive, raws: list, params: dict, out: Any) -> tuple[list, Any]:
    """Return operands and result, in PyTorch's type where NumPy chooses another width for integers and booleans."""
    dtype = out.dtype
    if dtype is FLOAT64 and defaults.float is not FLOAT64:
        if not {"f", "c"} & {x.dtype.kind for x in raws if isinstance(x, ARRAYS)}:
            out = out.astype(defaults.float)  # all operands were integers and Python numbers
    elif dtype is FLOAT16 and not any(getattr(x, "dtype", None) == FLOAT16 for x in raws):
        raws = [x.astype(defaults.float) if isinstance(x, ARRAYS) else x for x in raws]
        out = np.asarray(primitive.forward(*raws, **params))  # NumPy makes float16 of small integers
    elif dtype is INT8 and not any(getattr(x, "dtype", None) == INT8 for x in raws):
        out = out.astype(bool if primitive.name == "power" else np.int64)  # NumPy makes int8 of booleans
    return raws, out


def unpack_operands(primitive: Primitive, operands: tuple) -> tuple[list, list]:
    """Return raw operands, cast to one type, and their nodes (None if no gradient is wanted)."""
    if len(operands) == 1 and isinstance(x := operands[0], Tensor):
        return [x._array() if primitive.view else x._data], [x._node]
    raws: list = []
    nodes: list = []
    common = None
    alike = True
    for x in operands:
        if isinstance(x, Tensor):
            data = x._array() if primitive.view else x._data
            if common is None:
                common = data.dtype
            elif data.dtype is not common:
                alike = False
            raws.append(data)
            nodes.append(x._node)
        else:
            if x is None and (primitive.kind == "elementwise" or isinstance(primitive.forward, np.ufunc)):
                raise TypeError(f"{primitive.name}(): None is not a number")
            alike = alike and (type(x) is float or type(x) is int)
            raws.append(x)
            nodes.append(None)
    if primitive.promote == () or (alike and common is not None and common.kind == "f"):
        return raws, nodes
    operands = promote(primitive, operands, cast)
    return (
        [x._data if isinstance(x, Tensor) else x for x in operands],
        [x._node if isinstance(x, Tensor) else None for x in operands],
    )


def promote(primitive: Primitive, operands: tuple, cast: Callable[[Any, Any], Any]) -> tuple:
    """Cast the operands that are promoted to their common type, with cast(x, dtype); lists become arrays."""
    places = range(len(operands)) if primitive.promote is None else primitive.promote
    chosen = [as_operand(operands[i]) for i in places]
    dtypes = {x._data.dtype if isinstance(x, Tensor) else getattr(x, "dtype", None) for x in chosen} - {None}
    numbers = [x for x in chosen if isinstance(x, int | float | complex)]
    if len(dtypes) == 1 and not numbers:
        common = next(iter(dtypes))
    else:
        common = result_type([x._data if isinstance(x, Tensor) else x for x in chosen])
    out = list(operands)
    for i, x in zip(places, chosen, strict=True):
        out[i] = cast(x, common)
    return tuple(out)


def cast(x: Any, dtype: Any) -> Any:
    """Return x in another type, recorded if a gradient is wanted; Python numbers stay as they are, True becomes 1."""
    if isinstance(x, Tensor):
        if x._data.dtype == dtype:
            return x
        if x.record_level == 1 and (x._node is None or dtype.kind not in "fc"):
            return report_event("cast", x, Tensor._wrap(x._data.astype(dtype), None))
        return dispatch(entry("astype"), (x,), {"dtype": dtype, "source": x._data.dtype})
    if isinstance(x, np.ndarray | np.generic):
        return x if x.dtype == dtype else x.astype(dtype)
    return int(x) if isinstance(x, bool) and dtype.kind != "b" else x  # NumPy computes log(True) in float16


def cast_cotangent(g: Any, dtype: Any) -> Any:
    """Return a cotangent (raw or a Tensor) in another type; for a real target, a complex one gives its real part."""
    if g is None or g.dtype == dtype:
        return g
    return cast(g.real if g.dtype.kind == "c" and dtype.kind != "c" else g, dtype)


def outline(out: Any) -> Any:
    """Return the shape and type of a result, which forward mode needs; for several results, a list of them."""
    return [outline(part) for part in out] if isinstance(out, tuple) else (out.shape, out.dtype)


def keep_flags(primitive: Primitive, needed: tuple[bool, ...]) -> tuple[int, ...]:
    """Return what to save of (out, *operands) when the `needed` operands want a gradient."""
    flags = primitive.cache.get(needed)
    if flags is None:
        rules = [keeps for keeps, want in zip(primitive.keeps, needed, strict=True) if want]
        size = 1 + len(needed)
        padded = [tuple(keeps) + (0,) * (size - len(keeps)) for keeps in rules]
        flags = primitive.cache[needed] = tuple(
            max([keeps[i] for keeps in padded], key=STRENGTH.index) for i in range(size)
        )
    return flags


def keep_by_flag(flag: int, x: Any) -> Any:
    return x if flag == ARRAY else np.shape(x) if flag == SHAPE else None


def saved_values(primitive: Primitive, nodes: tuple, out: Any, raws: list) -> tuple:
    """Return (out, *operands), reduced to what the rules of the wanted operands read."""
    if primitive.arity is None:
        flags = primitive.keeps[0]
        return (keep_by_flag(flags[0], out), *[keep_by_flag(flags[1], x) for x in raws])
    if len(nodes) == 1:
        flag_out, flag_x = keep_flags(primitive, ONLY)
        return (
            out if flag_out == ARRAY else keep_by_flag(flag_out, out),
            raws[0] if flag_x == ARRAY else keep_by_flag(flag_x, raws[0]),
        )
    flags = keep_flags(primitive, tuple([p is not None for p in nodes]))
    return tuple([x if flag == ARRAY else keep_by_flag(flag, x) for flag, x in zip(flags, (out, *raws), strict=True)])


def record_several(primitive: Primitive, nodes: list, outs: tuple, raws: list, params: dict) -> tuple:
    """Return several results, each with its node if a gradient is wanted."""
    if not (state.grad and nodes.count(None) != len(nodes)):
        return tuple(Tensor._wrap(out, None) for out in outs)
    main = make_node(primitive, tuple(nodes), outs, raws, params)
    results = [OutputNode(main, i) for i in range(len(outs))]
    main.output_nodes = tuple(weakref.ref(node) for node in results)
    return tuple(
        Tensor._wrap(out, node if out.dtype.kind in "fcO" else None) for out, node in zip(outs, results, strict=True)
    )


def relabel(result: Any, name: str) -> Any:
    """Rename the node of a result just recorded; return the result."""
    node = getattr(result, "_node", None)
    if node is not None and not node.leaf:
        node.rule = node.rule.rename(name)
    return result


def name_nodes(result: Any, name: str, operands: Iterable) -> Any:
    """Give the nodes of a function's results PyTorch's name for the function."""
    if recorder().renames:
        known = [getattr(x, "_node", None) for x in operands]
        for x in result if isinstance(result, tuple) else (result,):
            node = getattr(x, "_node", None)
            if node is not None and not isinstance(node, OutputNode) and not any(node is other for other in known):
                relabel(x, name)
    return result


Tensor.__record__ = staticmethod(record)
