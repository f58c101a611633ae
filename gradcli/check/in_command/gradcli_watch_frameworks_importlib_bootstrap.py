# mypy: ignore-errors
"""Runs inside the user's command: notes the calls of functions that have a derivative of their own in a framework."""

import atexit
import contextlib
import functools
import sys

from gradcli_watch_importlib_bootstrap import Use, Watch, copy_numbers, identify, judge_all

LARGE = 100_000
"""Elements beyond which arguments of a framework's function are copied at calls number 1, 2, 4, 8, ... only."""


def note_framework(engine, role, function, named, args, wrt, result):
    """Note a call of a function that has a derivative of its own in a framework. named: what says where it stands."""
    derivative = Watch.current.derivative(role, identify(named))
    derivative.calls += 1
    if any(wrt):
        derivative.keep(Use(derivative.calls, engine, function, named, args, value=result, wrt=wrt))


def is_due(function, sizes):
    """Return whether the arguments of the next call are copied: all small ones, large ones ever more rarely."""
    if sum(sizes) <= LARGE:
        return True
    found = Watch.current.derivatives.get(identify(function)[0])
    calls = 1 if found is None else found.calls + 1
    return calls & (calls - 1) == 0


def watch_torch(module):
    import torch

    apply = module.Function.__dict__["apply"].__func__

    def watched_apply(cls, *args, **kwargs):
        __tracebackhide__ = True
        kept = None
        with contextlib.suppress(Exception):
            wrt = [isinstance(x, torch.Tensor) and x.requires_grad for x in args]
            watched = Watch.current is not None and any(wrt) and torch.is_grad_enabled() and not kwargs
            own = cls.__module__.partition(".")[0] == "torch"
            if watched and not own and is_due(cls, [x.numel() for x in args if isinstance(x, torch.Tensor)]):
                kept = [x.detach().clone() if isinstance(x, torch.Tensor) else copy_numbers(x) for x in args]
        result = apply(cls, *args, **kwargs)
        if kept is not None:
            with contextlib.suppress(Exception):
                parts = result if isinstance(result, tuple) else (result,)
                value = [x.detach().clone() for x in parts if isinstance(x, torch.Tensor) and x.is_floating_point()]
                note_framework("torch", f"backward of {cls.__name__}", cls, cls, kept, wrt, value)
        return result

    module.Function.apply = classmethod(watched_apply)


def watch_jax(module):
    for name in ("custom_vjp", "custom_jvp"):
        kind = getattr(module, name)
        kind.__call__ = watched_rule(name, kind.__call__)
    atexit.register(judge_all)  # before JAX's own, which end its threads


def watched_rule(name, call):
    @functools.wraps(call)
    def watched_call(self, *args, **kwargs):
        __tracebackhide__ = True
        result = call(self, *args, **kwargs)
        with contextlib.suppress(Exception):
            if Watch.current is not None and not kwargs and not self.__wrapped__.__module__.startswith("jax."):
                import jax

                kept = jax.tree_util.tree_map(concrete, args)
                constant = getattr(self, "nondiff_argnums", ())
                wrt = [i not in constant and is_float_tree(x) for i, x in enumerate(kept)]
                value = [concrete(x) for x in jax.tree_util.tree_leaves(result)]
                note_framework(
                    "jax", f"{name} of {self.__wrapped__.__name__}", self, self.__wrapped__, kept, wrt, value
                )
        return result

    return watched_call


def concrete(x):
    """Return the value of an argument that JAX differentiates. Raises ValueError where there is none, as in jit."""
    import jax

    while isinstance(x, jax.core.Tracer):
        if not hasattr(x, "primal"):
            raise ValueError
        x = x.primal
    return copy_numbers(x)


def is_float_tree(x):
    import jax

    leaves = jax.tree_util.tree_leaves(x)
    return bool(leaves) and all(jax.numpy.issubdtype(jax.numpy.result_type(leaf), jax.numpy.inexact) for leaf in leaves)


def watch_autograd(module):
    primitive = module.primitive

    @functools.wraps(primitive)
    def watched_primitive(function):
        if str(sys._getframe(1).f_globals.get("__name__", "")).partition(".")[0] == "autograd":
            return primitive(function)

        @functools.wraps(function)
        def noted(*args, **kwargs):
            __tracebackhide__ = True
            kept = copy_numbers(args)
            result = function(*args, **kwargs)
            with contextlib.suppress(Exception):
                if Watch.current is not None and not kwargs:
                    wrt = [is_float(x) for x in kept]
                    role = f"vjps of {getattr(function, '__name__', 'a primitive')}"
                    note_framework("autograd", role, boxed, function, kept, wrt, [copy_numbers(result)])
            return result

        boxed = primitive(noted)
        return boxed

    module.primitive = watched_primitive


def is_float(x):
    return isinstance(x, float) or getattr(getattr(x, "dtype", None), "kind", "") in ("f", "c")


PATCHES = {
    "torch.autograd.function": watch_torch,
    "jax._src.custom_derivatives": watch_jax,
    "autograd.extend": watch_autograd,
}
