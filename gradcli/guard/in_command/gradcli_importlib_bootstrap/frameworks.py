# mypy: ignore-errors
"""Notes the calls of functions with a custom derivative in a framework."""

import contextlib
import functools
import inspect
import sys

from .notes import Drawn, Use, Watch, copy_numbers, identify, place_of_function

MOST_GAP = 16
"""A view is copied with its whole memory if that is at most this many times larger."""
NOT_SEEN = object()
CALLS = {}
"""The own __call__ of each kind of rule of JAX."""


def known_derivative(key, describe, args=()):
    """Count a call, and return the entry of its derivative if the call is to be noted, else None."""
    derivative = derivative_of(key, describe)
    return derivative if derivative is not None and is_due(derivative, args) else None


def derivative_of(key, describe):
    """Return the entry of a derivative, or None if its calls are never noted.

    key: the class or function that is called, which must allow weak references (ufuncs do not). describe(): role, and
    the function that gives file, line and name; or None if calls of the key are never noted.
    """
    watch = Watch.current
    if watch is None:  # calls by a check, or by a thread that outlives the notes
        return None
    derivative = watch.known.get(key, NOT_SEEN)
    if derivative is NOT_SEEN:
        derivative = None
        with contextlib.suppress(Exception):
            if (found := describe()) is not None:
                derivative = watch.derivative(found[0], identify(found[1]))
        watch.known[key] = derivative
    return derivative


def is_due(derivative, args):
    """Count a call, and report whether to note it."""
    try:
        return derivative.is_due(*[getattr(x, "shape", ()) for x in args])
    except TypeError:  # symbolic lengths, in torch.compile
        return derivative.is_due()


def note_framework(derivative, engine, function, named, args, wrt, result, **more):
    """Note a call of a function with a custom derivative."""
    if any(wrt):
        derivative.keep(Use(derivative.calls, engine, function, named, args, value=result, wrt=wrt, **more))


@contextlib.contextmanager
def noting_use(derivative):
    """Suppress errors of taking notes, and note the first one."""
    try:
        yield
    except Exception as error:
        derivative.trouble = derivative.trouble or f"{type(error).__name__}: {error}"


def watch_torch(module):
    import torch

    apply = module.Function.__dict__["apply"].__func__
    is_grad_enabled, tensor = torch.is_grad_enabled, torch.Tensor

    def watched_apply(cls, *args, **kwargs):
        __tracebackhide__ = True
        derivative = noted = None
        if is_grad_enabled() and is_differentiated(args):
            derivative = known_derivative(cls, lambda: described(cls), args)
        if derivative is not None:
            with noting_use(derivative):
                if kwargs:
                    raise TypeError("called with keyword arguments")
                _, function, named, args_of_it = rule_of(cls, args)
                wrt = [isinstance(x, tensor) and x.requires_grad for x in args_of_it]
                noted = function, named, list(map(copy_tensor, args_of_it)), wrt
        result = apply(cls, *args, **kwargs)
        if noted is not None:
            with noting_use(derivative):
                note_torch(derivative, *noted, result)
        return result

    def is_differentiated(args):
        return any(isinstance(x, tensor) and x.requires_grad for x in args)

    def described(cls):
        rule = rule_of(cls, ())
        return rule and (rule[0], rule[2])

    def note_torch(derivative, function, named, kept, wrt, result):
        parts = [x for x in (result if isinstance(result, tuple) else (result,)) if isinstance(x, torch.Tensor)]
        drawn, seen = any(isinstance(x, Drawn) for x in kept), []
        used = [x for x in parts if x.is_floating_point() and x.requires_grad]
        value = [] if drawn else list(map(copy_tensor, used))
        note_framework(derivative, "torch", function, named, kept, wrt, value, drawn=drawn, seen=seen)
        if not drawn and len(nodes := {x.grad_fn for x in parts if x.requires_grad}) == 1:
            used = [x.requires_grad for x in parts]

            def note_gradients(grads):
                with contextlib.suppress(Exception):
                    known = any(g is not None for g in grads)  # else there is nothing to pull back
                    if Watch.current is not None and not seen and known and len(grads) == len(used):
                        seen.append([copy_tensor(g) for g, wanted in zip(grads, used, strict=True) if wanted])

            nodes.pop().register_prehook(note_gradients)

    def copy_tensor(x):
        """Return a copy of an argument in its memory layout, or `Drawn` if it has no values."""
        if not isinstance(x, torch.Tensor):
            return copy_numbers(x)
        if torch._C._functorch.is_functorch_wrapped_tensor(x):
            return first_of_batch(x)
        if x.is_meta or type(x).__module__.startswith("torch._subclasses."):  # in torch.compile
            return Drawn(x)
        x = x.detach()
        if x.is_sparse or type(x) is not torch.Tensor or x.untyped_storage().nbytes() > MOST_GAP * x.nbytes:
            return x.clone()
        return torch.empty(0, dtype=x.dtype).set_(x.untyped_storage().clone(), x.storage_offset(), x.size(), x.stride())

    module.Function.apply = classmethod(watched_apply)


def first_of_batch(x):
    """Return a copy of a tensor's value inside the transforms of torch.func; of a batch, the first one."""
    from torch._C import _functorch as inside
    from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

    with temporarily_clear_interpreter_stack():  # what is computed with a value would be wrapped again
        while inside.is_functorch_wrapped_tensor(x):
            value = inside.get_unwrapped(x)
            x = value.select(inside.maybe_get_bdim(x), 0) if inside.is_batchedtensor(x) else value
        return x.detach().clone()


def rule_of(cls, args):
    """Return role, function, backward and arguments of a rule; None for PyTorch's own rules."""
    if cls.__module__.partition(".")[0] != "torch":
        return f"backward of {cls.__name__}", cls, cls, args
    if not cls.__name__.startswith("GeneratedBackwardFor_"):
        return None
    inside = inspect.getclosurevars(cls.backward).nonlocals  # of an operator of torch.library
    if "op" not in inside or inside["info"]._backward_fn is None:
        return None
    return f"backward of {inside['op']}", inside["op"], inside["info"]._backward_fn, args[:-1]


def watch_dynamo(module):
    """Note the rules that torch.compile puts into a graph without calling them."""
    call_apply = module.AutogradFunctionVariable.call_apply

    @functools.wraps(call_apply)
    def watched(self, tx, args, kwargs):
        result = call_apply(self, tx, args, kwargs)
        with contextlib.suppress(Exception):
            note_traced(self.fn_cls, args)
        return result

    def note_traced(cls, args):
        wrt = [bool(getattr(x, "requires_grad", False)) for x in args]
        derivative = known_derivative(cls, lambda: (f"backward of {cls.__name__}", cls)) if any(wrt) else None
        if derivative is not None:
            with noting_use(derivative):
                note_framework(derivative, "torch", cls, cls, list(map(traced_value, args)), wrt, [], drawn=True)

    module.AutogradFunctionVariable.call_apply = watched


def traced_value(x):
    return x.as_python_constant() if x.is_python_constant() else Drawn(x.as_proxy().node.meta["example_value"])


def watch_jax_rules(module):
    for name in ("custom_vjp", "custom_jvp"):
        kind = getattr(module, name)
        CALLS[kind] = kind.__call__
        kind.__call__ = watched_rule(name, kind.__call__)


def watched_rule(name, call):
    @functools.wraps(call)
    def watched_call(self, *args, **kwargs):
        __tracebackhide__ = True
        result = call(self, *args, **kwargs)
        rule = self.__wrapped__
        derivative = None
        if not str(rule.__module__).startswith("jax."):
            derivative = derivative_of(self, lambda: (f"{name} of {place_of_function(rule)[3]}", rule))
        if derivative is not None:
            with noting_use(derivative):
                if kwargs:
                    bound = inspect.signature(rule).bind(*args, **kwargs)
                    bound.apply_defaults()
                    args = bound.args
                note_if_differentiated(derivative, self, args, result)
        return result

    return watched_call


def note_if_differentiated(derivative, function, args, result):
    """Note the values of a call each time it runs, also in compiled code, if JAX differentiates it.

    JAX says so by calling the JVP rule of a function without a result, which gets the arguments and the result of the
    call. A call that has only values is not differentiated.
    """
    import jax

    leaves, tree = jax.tree_util.tree_flatten((args, result))
    traced = [i for i, x in enumerate(leaves) if isinstance(x, jax.core.Tracer)]
    if not traced:
        return
    given = [leaves[i] for i in traced]
    leaves = [None if i in traced else copy_numbers(x) for i, x in enumerate(leaves)]

    def rule(primals, tangents):
        moves = [type(t).__name__ != "SymbolicZero" and t.dtype != jax.dtypes.float0 for t in tangents]
        note = functools.partial(note_values, derivative, function, leaves, tree, dict(zip(traced, moves, strict=True)))
        if any(isinstance(x, jax.core.Tracer) for x in primals):
            jax.debug.callback(note, *primals)
        else:
            note(*primals)
        return (), ()

    probe = jax.custom_jvp(lambda *_: ())
    probe.defjvp(rule, symbolic_zeros=True)
    CALLS[type(probe)](probe, *given)


def note_values(derivative, function, leaves, tree, moves, *values):
    """Note a call from its arguments and result. moves: whether each traced leaf of them is differentiated."""
    import jax
    import numpy

    if Watch.current is None or not is_due(derivative, values):
        return
    with noting_use(derivative):
        traced = dict(zip(moves, map(numpy.array, values), strict=True))
        args, result = jax.tree_util.tree_unflatten(tree, [traced.get(i, x) for i, x in enumerate(leaves)])
        moving = jax.tree_util.tree_unflatten(tree, [moves.get(i, False) for i in range(len(leaves))])[0]
        wrt = [is_float_tree(x) and any(jax.tree_util.tree_leaves(m)) for x, m in zip(args, moving, strict=True)]
        note_framework(derivative, "jax", function, function.__wrapped__, args, wrt, jax.tree_util.tree_leaves(result))


def is_float_tree(x):
    import jax

    kinds = [jax.numpy.result_type(x) for x in jax.tree_util.tree_leaves(x)]
    return bool(kinds) and all(jax.numpy.issubdtype(kind, jax.numpy.inexact) for kind in kinds)


def watch_autograd(module):
    primitive = module.primitive

    @functools.wraps(primitive)
    def watched_primitive(function):
        if str(sys._getframe(1).f_globals.get("__name__", "")).partition(".")[0] == "autograd":
            return primitive(function)

        @functools.wraps(function)
        def noted(*args, **kwargs):
            __tracebackhide__ = True
            derivative = kept = None
            if not kwargs:
                derivative = known_derivative(
                    noted, lambda: (f"vjps of {place_of_function(function)[3]}", function), args
                )
            if derivative is not None:
                with noting_use(derivative):
                    kept = copy_numbers(args)
            result = function(*args, **kwargs)
            if kept is not None:
                with noting_use(derivative):
                    wrt = [is_float(x) for x in kept]
                    note_framework(derivative, "autograd", boxed, function, kept, wrt, [copy_numbers(result)])
            return result

        boxed = primitive(noted)
        return boxed

    module.primitive = watched_primitive


def is_float(x):
    return isinstance(x, float) or getattr(getattr(x, "dtype", None), "kind", "") in ("f", "c")


PATCHES = {
    "torch.autograd.function": watch_torch,
    "torch._dynamo.variables.misc": watch_dynamo,
    "jax._src.custom_derivatives": watch_jax_rules,
    "autograd.extend": watch_autograd,
}
