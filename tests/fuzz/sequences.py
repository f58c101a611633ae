"""Random sequences of views, in-place changes, hooks, modes and backwards, for any engine with PyTorch's interface.

A sequence is a list of statements over one module `T` (gradcli or PyTorch), so that a disagreement can be read and
run as it stands. After every statement all tensors are looked at; an error is an observation like any other.
"""

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PRELUDE = """
class Exp(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

class Twice(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    @staticmethod
    def backward(ctx, g):
        return g * 2

class Same(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)
    @staticmethod
    def backward(ctx, g):
        return g * 3

class Pair(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + 1
    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x
"""

SHAPES = ((), (3,), (2,), (2, 3), (3, 2), (2, 2), (1, 3))
VIEWS = {  # what to write, and the shape that it gives as NumPy finds it
    "{x}[0]": lambda a: a[0],
    "{x}[-1]": lambda a: a[-1],
    "{x}[1:]": lambda a: a[1:],
    "{x}[::2]": lambda a: a[::2],
    "{x}[..., 0]": lambda a: a[..., 0] if a.ndim else a,
    "{x}[:, 1:]": lambda a: a[:, 1:],
    "{x}[None]": lambda a: a[None],
    "{x}.t()": lambda a: a.T if a.ndim < 3 else a[0, 0, 0, 0],
    "{x}.transpose(0, -1)": lambda a: np.swapaxes(a, 0, -1) if a.ndim else a,
    "{x}.view(-1)": lambda a: a.reshape(-1),
    "{x}.reshape(-1)": lambda a: a.reshape(-1),
    "{x}.flatten()": lambda a: a.reshape(-1),
    "{x}.unsqueeze(0)": lambda a: a[None],
    "{x}.unsqueeze(1)": lambda a: a[:, None],
    "{x}.squeeze()": lambda a: a.squeeze(),
    "{x}.expand(2, *{x}.shape)": lambda a: np.broadcast_to(a, (2, *a.shape)),
    "{x}.narrow(0, 1, 1)": lambda a: a[1:2],
    "{x}.select(0, 1)": lambda a: a[1],
    "{x}.diagonal()": lambda a: a.diagonal(),
    "{x}.unbind()[0]": lambda a: a[0],
    "{x}.split(1)[-1]": lambda a: a[-1:],
    "{x}.chunk(2)[0]": lambda a: a[: -(-a.shape[0] // 2)],
    "{x}.movedim(0, -1)": lambda a: np.moveaxis(a, 0, -1),
    "{x}.view_as({x})": lambda a: a,
    "{x}.detach()": lambda a: a,
    "{x}.unfold(0, 2, 2)": lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, 0)[::2],
    "Same.apply({x})": lambda a: a,
}
SAME_SHAPE = (  # out of place, elementwise
    "{x} * {y}", "{x} + {y}", "{x} - {y}", "{x} / ({y} * {y} + 1)", "{x} * 2", "{x}.sin()", "{x}.exp()",
    "{x}.clone()", "{x}.tanh()", "{x} ** 2", "T.where({x} > 0, {x}, {y})", "Exp.apply({x})", "{x}.sigmoid()",
    "Pair.apply({x}, {y})[0]", "Pair.apply({x}, {y})[1]", "{x}.relu()", "{x} * 0",
    "{x}.clone().requires_grad_()", "{x}.detach().clone().requires_grad_()", "{x}.cumsum(-1)", "{x}.abs()",
    "T.softmax({x}, -1)", "{x}.neg()", "T.maximum({x}, {y})", "{x}.flip(0)",
)  # fmt: skip
CHANGES = (
    "{x}.mul_({y})", "{x}.add_({y})", "{x}.sub_({y})", "{x}.mul_(2)", "{x}.add_({y}, alpha=3)", "{x}.div_(2)",
    "{x}.exp_()", "{x}.sigmoid_()", "{x}.tanh_()", "{x}.relu_()", "{x}.neg_()", "{x}.zero_()", "{x}.fill_(0.5)",
    "{x}.copy_({y})", "{x}.clamp_(-1, 1)", "{x}.pow_(2)", "{x}.sin_()", "{x}.masked_fill_({x} > 0, 0.25)",
    "{x}.addcmul_({y}, {y})", "{x}.lerp_({y}, 0.5)", "{x}.abs_()", "{x}.sqrt_()",
    "{x}[0] = {z}", "{x}[1:] = 0.5", "{x}[...] = {y}", "{x}[:, 0] = {z}", "{x}[{x} > 0] = 0.75", "{x}[[0, -1]] = {z}",
    "{x}[0] += {z}", "{x} += {y}", "{x} *= {y}", "{x} -= 1", "{x} /= 2", "{x}[::2] *= 2",
    "{x}.unsqueeze_(0)", "{x}.squeeze_()", "{x}.t_()", "{x}.transpose_(0, -1)", "{root}.detach_()",
    "{x}.index_fill_(0, T.tensor([0]), 0.5)", "{x}.detach().mul_(3)", "Twice.apply({root})",
)  # fmt: skip
ATTACH = (
    "{root}.register_hook(lambda g: g * 2)", "{root}.register_hook(lambda g: seen.append(g.sum().item()))",
    "h = {root}.register_hook(lambda g: -g)", "h.remove()", "{root}.retain_grad()", "{root}.retain_grad()",
    "{x}.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.sum().item()))",
    "{root}.grad_fn.register_hook(lambda i, o: seen.append(o[0].sum().item()))",
    "{root}.grad_fn.register_prehook(lambda o: seen.append(o[0].sum().item()))",
    "{root}.register_hook(lambda g: None)",
)  # fmt: skip
FLAGS = (
    "{x}.requires_grad_()", "{x}.requires_grad_(False)", "{x}.requires_grad = True", "{x}.grad = None",
    "{x}.grad.zero_()", "{x}.grad.detach_()", "{x}.grad = T.ones_like({x})", "{x}.grad.mul_(2)", "{x}.grad.add_({y})",
    "t_g = {x}.grad",
)  # fmt: skip
RUNS = (
    "{x}.sum().backward()", "{x}.sum().backward(retain_graph=True)", "({x} * {y}).sum().backward()",
    "{x}.backward(T.ones_like({x}))", "{x}.backward(T.full_like({x}, 2.0), retain_graph=True)",
    "({x} ** 2).sum().backward(create_graph=True)", "{x}.sum().backward(create_graph=True)", "{x}.backward()",
    "seen.extend(look(g) for g in T.autograd.grad(({x} * {x}).sum(), [{y}], allow_unused=True))",
    "seen.extend(look(g) for g in T.autograd.grad({x}.sum(), [{y}]))",
    "r = T.autograd.grad(({x} * {x} * {x}).sum(), {y}, create_graph=True)[0]", "r.sum().backward()",
    "T.autograd.backward([{x}.sum(), {y}.sum()])", "{x}.sum().backward(inputs=[{y}], retain_graph=True)",
    "seen.append(look(T.autograd.grad({x}.sum(), [{y}], materialize_grads=True, retain_graph=True)[0]))",
)  # fmt: skip
MODES = ("T.no_grad()", "T.enable_grad()", "T.set_grad_enabled(False)", "T.set_grad_enabled(True)")


FORMS = ("unsqueeze", "squeeze", "t", "transpose", "detach")
"""In-place changes of shape: without a graph, PyTorch leaves gradients in the old shape."""


class Names:
    """The tensors of a sequence and their shapes, as far as they can be known without running it."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.shapes: dict[str, tuple] = {}
        self.family: dict[str, str] = {}  # the tensor that each is a view of, maybe itself
        self.made: list[str] = []  # those that the sequence begins with

    def pick(self) -> str:
        """Return a name, the later ones more often."""
        names = list(self.shapes)
        return names[-1] if self.rng.random() < 0.35 else self.rng.choice(names)

    def fitting(self, shape: tuple, x: str = "", itself: bool = True) -> str:
        """Return a name whose tensor can be broadcast to a shape, or a number's.

        It is x itself or does not share memory with x: what overlaps with what is changed, PyTorch may refuse.
        """
        others = [name for name in self.shapes if (itself and name == x) or self.family[name] != self.family.get(x)]
        names = [name for name in others if broadcasts(self.shapes[name], shape)]
        return self.rng.choice(names) if names else "T.tensor(1.5, dtype=T.float64)"

    def new(self, shape: tuple, source: str = "") -> str:
        """Return a new name, maybe of a tensor that shares memory with a source."""
        name = f"t{len(self.shapes)}"
        self.shapes[name] = shape
        self.family[name] = self.family.get(source, name)
        return name


def broadcasts(shape: tuple, to: tuple) -> bool:
    """Return whether one shape can be broadcast to another."""
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def make_sequence(seed: int, length: int = 14) -> list[str]:
    rng = random.Random(seed)
    names = Names(rng)
    lines = [creation(names, rng) for _ in range(rng.choice((1, 2, 3)))]
    for _ in range(rng.randrange(4, length)):
        line = statement(names, rng)
        lines.append(line)
    if rng.random() < 0.6:
        lines.append(f"{names.pick()}.sum().backward()")
    return lines


def creation(names: Names, rng: random.Random) -> str:
    shape = rng.choice(SHAPES)
    values = np.array([round(rng.uniform(-2, 2), 2) for _ in range(int(np.prod(shape)))]).reshape(shape).tolist()
    wanted = ", requires_grad=True" if rng.random() < 0.7 else ""
    name = names.new(shape)
    names.made.append(name)
    return f"{name} = T.tensor({values}, dtype=T.float64{wanted})"


def statement(names: Names, rng: random.Random) -> str:
    x = names.pick()
    shape = names.shapes[x]
    kind = rng.choices(("view", "plain", "change", "attach", "flag", "run"), (28, 22, 28, 8, 5, 12))[0]
    mode = f"with {rng.choice(MODES)}: " if rng.random() < 0.15 else ""
    if kind == "view":
        text, result = rng.choice([(t, s) for t, f in VIEWS.items() if (s := shape_after(f, shape)) is not None])
        if any(form in text for form in ("(-1)", "flatten")) and x not in names.made:
            x = rng.choice(names.made)  # of what was computed, the order in memory is each engine's own
            result = (int(np.prod(names.shapes[x])),)
        if mode:  # a view is changed where it was made: that it requires grad outside is PyTorch's alone
            others = {"y": names.fitting(result, x, False), "z": names.fitting(result[1:], x, False)}
            change = rng.choice(CHANGES).format(x="v", root="v.clone()", **others)
            return f"{mode}v = {text.format(x=x)}; {change}; del v"
        return f"{names.new(result, x)} = {text.format(x=x)}"
    text = statement_of(kind, x, names, rng)
    return text if any(f".{form}_(" in text for form in FORMS) else mode + text


def statement_of(kind: str, x: str, names: Names, rng: random.Random) -> str:
    shape = names.shapes[x]
    y = names.fitting(shape, x)
    if kind == "plain":
        text = rng.choice(SAME_SHAPE).format(x=x, y=y)
        return f"{names.new(shape)} = {text}"
    if kind == "run":
        return rng.choice(RUNS).format(x=x, y=rng.choice((y, names.pick())))
    text = rng.choice({"change": CHANGES, "attach": ATTACH, "flag": FLAGS}[kind])
    if kind == "change":
        y = names.fitting(shape, x, itself=False)
    part = names.fitting(shape[1:], x, itself=False) if rng.random() < 0.9 else "T.ones(7)"
    return text.format(x=x, y=y, z=part, root=names.family[x])


def shape_after(view: Any, shape: tuple) -> tuple | None:
    """Return the shape of a view of an array of a shape; None where there is none."""
    try:
        return np.shape(view(np.empty(shape)))
    except (IndexError, ValueError):
        return None


def run_sequence(engine: Any, lines: list[str]) -> Iterator[dict[str, Any]]:
    """Run a sequence on an engine; yield what there is to see after each statement."""
    space: dict[str, Any] = {"T": engine, "seen": [], "look": look_at_gradient}
    exec(PRELUDE, space)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for line in lines:
                error: list[str] = []
                message = ""
                try:
                    exec(line, space)
                except Exception as caught:
                    error = [kind.__name__ for kind in type(caught).__mro__]
                    message = str(caught)
                space.pop("v", None)
                tensors = {n: t for n, t in space.items() if n[0] == "t" and isinstance(t, engine.Tensor)}
                yield {
                    "error": error,
                    "message": message,
                    "seen": list(space["seen"]),
                    **{
                        f"{n}.{key}": value
                        for n, t in tensors.items()
                        for key, value in look(t).items()
                        if (n, key) != ("t_g", "version")
                    },
                }
    finally:
        engine.set_grad_enabled(True)


def look_at_gradient(g: Any) -> dict[str, Any] | None:
    return None if g is None else {name: LOOKS[name](g) for name in ("value", "requires_grad")}


def look(t: Any) -> dict[str, Any]:
    """Return what can be seen of a tensor; an error where looking raises one."""
    shown = {}
    for name, read in LOOKS.items():
        try:
            shown[name] = read(t)
        except Exception as error:
            shown[name] = type(error).__name__
    return shown


LOOKS: dict[str, Callable[[Any], Any]] = {
    "value": lambda t: t.detach().numpy().copy(),
    "grad": lambda t: None if t.grad is None else t.grad.detach().numpy().copy(),
    "grad.requires_grad": lambda t: t.grad is not None and t.grad.requires_grad,
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf,
    "claims": lambda t: t._base is not None and t.is_leaf and t._base.requires_grad,
    "version": lambda t: t._version,
    "retains_grad": lambda t: t.requires_grad and t.retains_grad,
}


DELIBERATE = (
    "some elements of the input tensor and the written-to tensor refer to a single memory location",  # overlap
    "its base or another view of its base has been modified inplace",  # views from one function
    "or its memory is read-only",  # operands that overlap: an expanded tensor
    "INTERNAL ASSERT FAILED",  # a defect of PyTorch by its own words
    "Trying to use a saved tensor that has been detached in-place",  # memory behind .data and detach
    "which is output 0 of Div,",  # memory behind .data and detach
    "Trying to backward through the graph a second time",  # parts of a backward pass
    "view size is not compatible with input tensor's size and stride",  # copies instead of views
)
"""What one of them refuses and the other takes on purpose: each names its paragraph in gradcli(1)."""


def is_deliberate(line: str, mine: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Return whether a sequence has come to where the two differ on purpose.

    In PyTorch, one of several views of one function is no tensor any more once another was changed in place, a view
    without history claims to require grad when its base does, a retained gradient keeps its old shape.
    """
    if any(text in step["message"] for step in (mine, theirs) for text in DELIBERATE):
        return True
    if "inputs=" in line and theirs["error"]:
        return True  # PyTorch runs the nodes of what is asked for, too, although their results go nowhere
    if any(value == "RuntimeError" for key, value in theirs.items() if key.endswith(".is_leaf")):
        return True
    if any(grad_shape(theirs, name) not in (None, theirs[f"{name}.value"].shape) for name in tensors_of(theirs)):
        return True
    return any(
        value and not mine.get(key) and (theirs.get(f"{name}.claims") or mine.get(f"{name}.claims"))
        for key, value in theirs.items()
        if (name := key.removesuffix(".requires_grad")) != key
    )


def keeps_operand(lines: list[str], mine: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Return whether gradcli alone refuses a changed operand that its tanh, sigmoid or expm1 keeps."""
    refused = not theirs["error"] and "modified by an inplace operation" in mine["message"]
    return refused and any(f".{name}()" in line for line in lines for name in ("tanh", "sigmoid", "expm1"))


def tensors_of(step: dict[str, Any]) -> list[str]:
    return [key.removesuffix(".value") for key in step if key.endswith(".value")]


def grad_shape(step: dict[str, Any], name: str) -> tuple | None:
    return getattr(step[f"{name}.grad"], "shape", None)


def first_difference(engine: Any, reference: Any, lines: list[str]) -> tuple[int, str, Any, Any] | None:
    """Return the first statement after which two engines differ: its place, what differs, and both; None for none.

    The reference is first given.
    """
    pairs = zip(run_sequence(engine, lines), run_sequence(reference, lines), strict=True)
    for place, (mine, theirs) in enumerate(pairs):
        if mine["error"] and theirs["error"] and theirs["error"][0] in mine["error"]:
            mine["error"] = theirs["error"]  # ours may be of a more special type
        for key in dict.fromkeys((*mine, *theirs)):
            if not key.endswith(("message", "claims")) and not same(mine.get(key), theirs.get(key)):
                deliberate = is_deliberate(lines[place], mine, theirs) or keeps_operand(lines[:place], mine, theirs)
                return None if deliberate else (place, key, theirs.get(key), mine.get(key))
    return None


def same(a: Any, b: Any) -> bool:
    """Return whether two observations are the same, numbers to rounding."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray | float) and isinstance(b, np.ndarray | float):
        return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
    return type(a) is type(b) and a == b
