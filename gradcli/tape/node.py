"""Nodes of the graph: saved raw arrays, links to parents, and the rule that passes cotangents on.

Nodes do not refer to Tensors, so reference cycles cannot form, and memory is freed as soon as the last result is.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from .dtypes import imitation
from .memory import change_since, mark_changed, next_seq
from .modes import observers, report_event

USED_UP = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have "
    "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
    "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
    "you need to access saved tensors after calling backward."
)

NodePairs = Sequence[tuple[Any, Any]]  # nodes, each with the cotangent to send to it


class Rule:
    """How a node passes cotangents on. All nodes of a quick recorder share a rule; `Engine` makes one per call.

    send(node, g): returns pairs of a parent and its cotangent, None if not wanted. saves: the node keeps values that
    backward frees. fresh: a cotangent has its own memory, unless it is g or a view. primitive, params: the entry of the
    table and its parameters. arity: 1 or 2 if nodes keep parents and values in slots. broadcast: for elementwise
    operations, what is needed to undo broadcasting and to handle complex operands: the operands' shapes, the result's
    rank, and whether to conjugate. used_up: the rule of a freed node, if it is made in advance.
    """

    __slots__ = ("arity", "broadcast", "fresh", "name", "params", "primitive", "saves", "send", "used_up")

    def __init__(
        self,
        name: str,
        send: Callable[[Any, Any], Iterable[tuple]],
        saves: bool = False,
        primitive: Any = None,
        params: dict | None = None,
        fresh: bool = False,
        broadcast: tuple | None = None,
        arity: int | None = None,
    ):
        self.name, self.send, self.saves = name, send, saves
        self.primitive, self.params = primitive, {} if params is None else params
        self.fresh, self.broadcast, self.arity = fresh, broadcast, arity
        self.used_up: Rule | None = None if arity is None else used_up_rule(name, arity)

    def vjp(self, node: Any, g: Any) -> tuple:
        """Return one cotangent per parent of a node, None if not wanted."""
        return tuple([part for _, part in self.send(node, g)])

    def rename(self, name: str) -> Rule:
        how = self.fresh, self.broadcast, self.arity
        return Rule(name, self.send, self.saves, self.primitive, self.params, *how)


def to_parents(vjp: Callable[[Any, Any], tuple]) -> Callable[[Any, Any], Iterable[tuple]]:
    return lambda node, g: zip(node.all_parents, vjp(node, g), strict=True)


def refuse_again(node: Any, g: Any) -> tuple:
    raise RuntimeError(USED_UP)


@functools.cache
def used_up_rule(name: str, arity: int | None = None) -> Rule:
    rule = Rule(name, refuse_again)
    rule.arity = arity
    return rule


COUNTED = {
    **dict.fromkeys(("PowBackward0", "RemainderBackward0", "FmodBackward0", "ClampBackward1"), slice(0, 1)),
    **dict.fromkeys(("ClampMinBackward0", "ClampMaxBackward0"), slice(0, 1)),
    **dict.fromkeys(("LerpBackward0", "ScatterBackward0"), slice(0, 2)),
    **dict.fromkeys(("PowBackward2", "RsubBackward1", "ZeroBackward0", "FillBackward2"), slice(1, 2)),
    "ScatterBackward1": slice(0, 1),
    "MaskedFillBackward0": slice(2, 3),
    "WhereBackward0": slice(1, 3),
}
"""The operands that PyTorch includes in next_functions, by the node's name: it leaves out numbers and masks."""


class Node:
    """One recorded operation.

    seq: its sequence number. parents: one per operand, None if no gradient is wanted. kept: (out, *operands), None for
    values that the rule does not read. outline: shape and type of the result, or a list of them for several results.
    output_nodes: weak references to the nodes of several results. origin: what a recording mode noted. The last three
    read as None until they are set. When a node is shown to the user, its class becomes one with the operation's name.

    If the rule has an arity of 1 or 2, parents and kept values are in slots, else in two tuples. With tuples in all
    nodes, Python's garbage collector would visit twice as many containers: a deep graph takes 1.6 times as long.
    """

    __slots__ = (
        *("__weakref__", "hooks", "origin", "outline", "output_nodes", "rule", "seq"),
        *("parent", "other_parent", "kept_out", "kept_x", "kept_y"),
        *("all_parents", "all_kept"),
    )
    leaf = False
    nameless = True
    seq: int
    rule: Rule
    parent: Any
    other_parent: Any
    kept_out: Any
    kept_x: Any
    kept_y: Any
    all_parents: tuple
    all_kept: Any
    hooks: Any
    outline: Any
    output_nodes: Any
    origin: Any

    @property
    def parents(self) -> tuple:
        arity = self.rule.arity
        if arity is None:
            return self.all_parents
        return (self.parent,) if arity == 1 else (self.parent, self.other_parent)

    @parents.setter
    def parents(self, value: tuple) -> None:
        if self.rule.arity is None:
            self.all_parents = value
        elif self.rule.arity == 1:
            (self.parent,) = value
        else:
            self.parent, self.other_parent = value

    @property
    def kept(self) -> Any:
        """The kept result and operands; None after backward freed them."""
        arity = self.rule.arity
        if arity is None:
            return self.all_kept
        return (self.kept_out, self.kept_x) if arity == 1 else (self.kept_out, self.kept_x, self.kept_y)

    @kept.setter
    def kept(self, value: tuple) -> None:
        if self.rule.arity is None:
            self.all_kept = value
        elif self.rule.arity == 1:
            self.kept_out, self.kept_x = value
        else:
            self.kept_out, self.kept_x, self.kept_y = value

    def open(self) -> tuple:
        """Return the saved values. Raises RuntimeError after backward freed them."""
        if self.rule.send is refuse_again:
            raise RuntimeError(USED_UP)
        return self.kept if self.hooks is None or not self.hooks.packed else unpack(self.kept)

    def check_unchanged(self, saved: tuple | None = None) -> None:
        """Raise RuntimeError if a saved value has been changed; drop it instead if the rule can do without it."""
        spares = () if self.rule.primitive is None else self.rule.primitive.spares
        for position, array in enumerate(self.kept if saved is None else saved):
            if isinstance(array, tuple):
                self.check_unchanged(array)
            elif isinstance(array, np.ndarray | np.generic):
                stamp = change_since(array, self.seq)
                if stamp is not None and position in spares:
                    self.kept = (*self.kept[:position], None, *self.kept[position + 1 :])
                elif stamp is not None:
                    from .torch_errors import changed_error

                    raise changed_error(array, stamp, self, position)

    def standing_in(self, parents: tuple, wrap: Callable | None) -> Node:
        """Return a copy with other parents, for one use. wrap: turns saved arrays into Tensors with nodes."""
        saved = self.open()
        if wrap is not None and saved:
            nodes = (self, *self.parents)
            first = saved[0]
            saved = tuple(
                wrap(x, node) if node is not None and is_array(x) else x for x, node in zip(saved, nodes, strict=True)
            )
            if self.output_nodes is not None and type(first) is tuple:
                outs = [
                    wrap(x, self.output(i)) if is_array(x) and x.dtype.kind in "fc" else x for i, x in enumerate(first)
                ]
                saved = (tuple(outs), *saved[1:])
        result = Node()
        result.seq, result.rule, result.hooks = self.seq, self.rule, None
        result.parents, result.kept = parents, saved
        return result

    def name(self) -> str:
        """Return the name of the operation, such as MulBackward0."""
        return self.rule.name

    def __repr__(self) -> str:
        address = f" object at {id(self):#x}" if imitation.of_torch else ""
        return f"<{self.name()}{address}>"

    @property
    def next_functions(self) -> tuple:
        """The nodes that gradients flow to next, each with its output number."""
        parents = self.parents[COUNTED.get(self.name(), slice(None))]
        return tuple((None, 0) if p is None else (p.public, p.output_nr) for p in parents)

    @property
    def output_count(self) -> int:
        return 1 if self.output_nodes is None else len(self.output_nodes)

    @property
    def outlines(self) -> list:
        """Shape and type of every output, None for one that is not a tensor."""
        return self.outline if isinstance(self.outline, list) else [self.outline]

    def output(self, place: int) -> Node:
        """Return the node of one output; for a single output, this node."""
        return self if self.output_nodes is None else self.output_nodes[place]() or OutputNode(self, place)

    @property
    def public(self) -> Node:
        """The node that users see in place of this one."""
        if self.nameless:
            self.__class__ = named_class(self.name(), type(self))  # type: ignore[arg-type]
        return self

    @property
    def output_nr(self) -> int:
        """The index of this node among the outputs of the public node."""
        return 0

    @property
    def hook_table(self) -> Any:
        if self.hooks is None:
            self.hooks = HookTable()
        return self.hooks

    def add_hook(self, kind: str, hook: Any) -> Any:
        """Register a hook in a list of `HookTable`; return its handle."""
        return add_hook(getattr(self.hook_table, kind), hook)

    def register_hook(self, hook: Any) -> Any:
        """Call hook(grad_inputs, grad_outputs) after the node runs; its result replaces grad_inputs."""
        return self.add_hook("post", hook)

    def register_prehook(self, hook: Any) -> Any:
        """Call hook(grad_outputs) before the node runs; its result replaces them."""
        return self.add_hook("pre", hook)

    def __getattr__(self, name: str) -> Any:
        if name in ("outline", "output_nodes", "origin"):
            return None
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")


_ids = itertools.count()


class RemovableHandle:
    """The handle of a registered hook; `remove()` unregisters it."""

    def __init__(self, hooks: OrderedDict):
        self.id = next(_ids)
        self._hooks = weakref.ref(hooks)

    def remove(self) -> None:
        """Unregister the hook; doing so twice is fine."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)


def add_hook(hooks: OrderedDict, hook: Any) -> RemovableHandle:
    """Append a hook; return its handle. Raises TypeError if it cannot be called."""
    if not callable(hook):
        raise TypeError(f"a hook must be callable, not {type(hook).__name__}")
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


class HookTable:
    """The hooks of one node, grouped by when they run. packed: whether hooks have packed its saved values."""

    packed = False

    def __init__(self) -> None:
        self.tensor: OrderedDict = OrderedDict()
        self.retain: list = []
        self.pre: OrderedDict = OrderedDict()
        self.post: OrderedDict = OrderedDict()
        self.accumulated: OrderedDict = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self.tensor or self.pre or self.post or self.accumulated)


class Packed:
    """What a pack hook returned, and the function that turns it back into raw data."""

    __slots__ = ("content", "unpack")

    def __init__(self, content: Any, unpack: Callable[[Any], Any]):
        self.content = content
        self.unpack = unpack


def unpack(saved: tuple) -> tuple:
    """Undo the packing of saved values: the last operand first, as PyTorch does."""
    values = [x.unpack(x.content) if type(x) is Packed else unpack(x) if type(x) is tuple else x for x in saved[::-1]]
    return tuple(values[::-1])


def new_node(rule: Rule, parents: tuple, saved: tuple = (), outline: Any = None) -> Node:
    """Make a node outside of the quick recorders."""
    node = Node()
    node.seq = next_seq()
    node.rule = rule
    node.hooks = None
    node.all_parents = parents
    node.all_kept = saved
    node.outline = outline
    return node


@functools.cache
def named_class(name: str, kind: Any) -> type:
    """Return the class for nodes of this name and kind that are shown to the user."""
    return type(name, (kind,), {"__slots__": (), "nameless": False})


def is_array(x: Any) -> bool:
    """Report whether x is raw data (an array or a NumPy scalar) rather than a shape or a Python number."""
    return isinstance(x, np.ndarray | np.generic)


class OutputNode(Node):
    """One output of a node with several outputs; passes its cotangent on together with its index."""

    __slots__ = ("index",)

    def __init__(self, main: Node, index: int):
        self.seq = next_seq()
        self.rule = OUTPUT
        self.parent = main
        self.kept_out = self.kept_x = None
        self.hooks = None
        self.index = index

    def standing_in(self, parents: tuple, wrap: Callable | None) -> Node:
        return self

    @property
    def public(self) -> Node:
        return self.parent.public

    @property
    def output_nr(self) -> int:
        return self.index


OUTPUT = Rule("Output", lambda node, g: ((node.parent, Slots({node.index: g})),), arity=1)


class Slots(dict):
    """Cotangents of some outputs of a node, by index; `+` adds the cotangents of each output."""

    def __add__(self, other: Slots) -> Slots:
        return Slots({**self, **{k: self[k] + g if k in self else g for k, g in other.items()}})


ACCUMULATE = Rule("AccumulateGrad", lambda node, g: ())


class AccumulateGrad(Node):
    """The node that adds up a leaf's gradient. It holds a weak reference to the leaf, and its data.

    hooked: nodes of leaves that ever had hooks. Backward visits leaves in PyTorch's order only if there are any.
    """

    __slots__ = ("data", "tensor_ref", "wrap")
    hooked: ClassVar[weakref.WeakSet] = weakref.WeakSet()
    leaf = True
    nameless = False

    def __init__(self, tensor: Any):
        self.seq = next_seq()
        self.rule = ACCUMULATE
        self.all_parents = self.all_kept = ()
        self.hooks = None
        self.tensor_ref = weakref.ref(tensor)
        self.data = tensor._data
        self.wrap = tensor._wrap
        for observer in observers:
            observer.see_leaf(tensor)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad" if imitation.of_torch else "AccumulateGrad"

    def __repr__(self) -> str:
        return super().__repr__().replace("torch::autograd::", "")

    def add_hook(self, kind: str, hook: Any) -> Any:
        self.hooked.add(self)
        return super().add_hook(kind, hook)

    @property
    def variable(self) -> Any:
        """The leaf, rebuilt from its data if the user dropped it."""
        tensor = self.tensor_ref()
        if tensor is None:
            tensor = self.wrap(self.data, self)
            self.tensor_ref = weakref.ref(tensor)
        return tensor

    def accumulate(self, g: Any, owned: bool, create: bool) -> None:
        """Add a cotangent (a Tensor if create) to the leaf's `.grad`. owned: nothing else holds its memory."""
        leaf = self.tensor_ref()
        if leaf is None:
            leaf = self.variable
        if leaf._node is None:
            return  # frozen in the meantime
        old = leaf._grad
        if create:
            g = g if g._data.dtype == leaf._data.dtype else g.to(leaf.dtype)
            if old is not None:
                g = old + g
            elif g._node is None or g._base is not None:
                g = g.clone()  # with its own memory, which may be changed in place
            leaf._grad = g
            return
        dtype = leaf._data.dtype
        if g.dtype != dtype:  # a real leaf takes the real part of a complex cotangent
            g, owned = (g.real if g.dtype.kind == "c" and dtype.kind != "c" else g).astype(dtype), True
        if old is None:
            leaf._grad = leaf._wrap(g if owned or not isinstance(g, np.ndarray) else g.copy(), None)
        elif old._array().flags.writeable:
            data = old._data
            data += g
            mark_changed(data)
        else:
            leaf._grad = leaf._wrap(old._data + g, None)


def check_assigned_grad(tensor: Any, value: Any) -> None:
    """Raise TypeError or RuntimeError unless `.grad` may be set to a value: a Tensor of the same shape and type."""
    if not hasattr(value, "_node"):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign a Tensor as its own grad")
    if value.shape != tensor.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
            f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
    if value.dtype != tensor.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{value.dtype.title.lower()}' to a tensor with "
            f"grad_dtype '{tensor.dtype.title}'. The gradient must have the tensor's type."
        )


def clear_grad(parameter: Any, set_to_none: bool) -> None:
    """Set a tensor's gradient to None, or to zeros."""
    grad = parameter._grad
    report_event("clear", parameter)
    if set_to_none or grad is None:
        parameter._grad = None
    else:
        parameter._grad = (grad if grad._node is None else grad.detach()).zero_()


def refusing_node(outline: tuple, message: str, parents: tuple) -> Node:
    """Return a node that has these parents and raises RuntimeError in backward."""

    def refuse(node: Node, g: Any) -> tuple:
        raise RuntimeError(message)

    return new_node(Rule("Error", refuse), parents, (), outline)
