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


def known_derivative(key, describe, args=()):
    """Count a call, and return the entry of its derivative if the call is to be noted, else None.

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
    if derivative is None:
        return None
    try:
        due = derivative.is_due(*[getattr(x, "shape", ()) for x in args])
    except TypeError:  # symbolic lengths, in torch.compile
        due = derivative.is_due()
    return derivative if due else None


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
        value = [] if drawn else [x.detach().clone() for x in parts if x.is_floating_point() and x.requires_grad]
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
        abstract = x.is_meta or type(x).__module__.startswith("torch._subclasses.")  # in torch.compile
        if abstract or torch._C._functorch.is_functorch_wrapped_tensor(x):
            return Drawn(x)
        x = x.detach()
        if x.is_sparse or type(x) is not torch.Tensor or x.untyped_storage().nbytes() > MOST_GAP * x.nbytes:
            return x.clone()
        return torch.empty(0, dtype=x.dtype).set_(x.untyped_storage().clone(), x.storage_offset(), x.size(), x.stride())

    module.Function.apply = classmethod(watched_apply)


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
        kind.__call__ = watched_rule(name, kind.__call__)


def watched_rule(name, call):
    @functools.wraps(call)
    def watched_call(self, *args, **kwargs):
        __tracebackhide__ = True
        result = call(self, *args, **kwargs)
        rule = self.__wrapped__
        derivative = None
        if not str(rule.__module__).startswith("jax."):
            derivative = known_derivative(self, lambda: (f"{name} of {place_of_function(rule)[3]}", rule), args)
        if derivative is not None:
            with noting_use(derivative):
                import jax

                if kwargs:
                    bound = inspect.signature(rule).bind(*args, **kwargs)
                    bound.apply_defaults()
                    args = bound.args
                kept = jax.tree_util.tree_map(value_if_concrete, args)
                constant = getattr(self, "nondiff_argnums", ())
                wrt = [i not in constant and is_float_tree(x) for i, x in enumerate(kept)]
                drawn = any(isinstance(x, Drawn) for x in jax.tree_util.tree_leaves(kept))
                value = [] if drawn else [value_if_concrete(x) for x in jax.tree_util.tree_leaves(result)]
                note_framework(derivative, "jax", self, rule, kept, wrt, value, drawn=drawn)
        return result

    return watched_call


def value_if_concrete(x):
    """Return the value of an argument that JAX differentiates, or `Drawn` if it has none, as in jit."""
    import jax

    while isinstance(x, jax.core.Tracer):
        if not hasattr(x, "primal"):
            return Drawn(x)
        x = x.primal
    return copy_numbers(x)


def is_float_tree(x):
    import jax

    kinds = [x.dtype if isinstance(x, Drawn) else jax.numpy.result_type(x) for x in jax.tree_util.tree_leaves(x)]
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
