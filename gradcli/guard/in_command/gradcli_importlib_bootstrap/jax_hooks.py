# mypy: ignore-errors
"""Hooks into JAX for steps of optax: compiled functions, gradients outside of them, and the update of an optimizer.

Inside jit, arrays have no values. A function that takes a step there is traced a second time on the same arguments, and
returns the gradients that it hands to optax. The program's own compiled function stays as it is.
"""

import contextlib
import functools
import sys
import types

from .jax_training import Accumulated, JaxTraining


class Jitted:
    """A function of jax.jit, whose outermost calls are noted. settings: the keywords of jax.jit."""

    def __init__(self, compiled, function, settings, jit):
        self.compiled, self.function, self.settings, self.jit, self.takes_steps = (
            compiled,
            function,
            settings,
            jit,
            None,
        )
        self.accumulated = Accumulated()
        with contextlib.suppress(Exception):
            functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        __tracebackhide__ = True
        training = JaxTraining.current
        if training is None or training.depth or training.updating:
            inline = training is not None and training.found is not None
            return (self.function if inline else self.compiled)(*args, **kwargs)
        return training.run(self, self.compiled, args, kwargs)

    def collected(self, gradients, args, kwargs):
        """Compile and call a function with the same signature, which returns the gradients that optax got."""
        kept = {k: v for k, v in self.settings.items() if k in ("static_argnums", "static_argnames")}
        return self.jit(gradients, **kept)(*args, **kwargs)

    @property
    def donates(self):
        return bool(self.settings.get("donate_argnums") or self.settings.get("donate_argnames"))

    def __get__(self, owner, kind=None):
        return self if owner is None else types.MethodType(self, owner)

    def __getattr__(self, name):
        return getattr(self.__dict__["compiled"], name)

    # isinstance(f, jax.stages.Wrapped) looks for these in the class
    def trace(self, *args, **kwargs):
        return self.compiled.trace(*args, **kwargs)

    def lower(self, *args, **kwargs):
        return self.compiled.lower(*args, **kwargs)

    def eval_shape(self, *args, **kwargs):
        return self.compiled.eval_shape(*args, **kwargs)

    def clear_cache(self):
        return self.compiled.clear_cache()


def watch_jax_transforms(module):
    jit = module.jit

    @functools.wraps(jit)
    def watched_jit(*args, **settings):
        compiled = jit(*args, **settings)
        if args and callable(args[0]):
            return Jitted(compiled, args[0], settings, jit)
        return lambda function: Jitted(compiled(function), function, settings, jit)

    module.jit = watched_jit
    for name in ("grad", "value_and_grad"):
        setattr(module, name, watched_gradient(getattr(module, name)))


def watched_gradient(transform):
    """Note the calls of gradient functions that are not compiled."""

    @functools.wraps(transform)
    def watched(*args, **settings):
        function = transform(*args, **settings)

        @functools.wraps(function)
        def noted(*arguments, **kwargs):
            __tracebackhide__ = True
            training = JaxTraining.current
            if training is None or training.depth or training.updating:
                return function(*arguments, **kwargs)
            return training.run(None, function, arguments, kwargs)

        return noted

    return watched


def watch_optax(module):
    for name in ("GradientTransformation", "GradientTransformationExtraArgs"):
        kind = getattr(module, name)
        kind.__new__ = watched_new(kind.__new__)


def watched_new(new):
    """Make optimizers whose update notes the gradients that it gets, unless another update calls it."""

    def make(cls, init, update, *more, **fields):
        if hasattr(getattr(update, "__self__", None), "_acc_update"):  # MultiSteps, which notes them itself
            return new(cls, init, update, *more, **fields)

        @functools.wraps(update)
        def watched_update(updates, state, params=None, **extra):
            __tracebackhide__ = True
            training = JaxTraining.current
            if training is None or training.updating:
                return update(updates, state, params, **extra)
            training.updating = True
            try:
                training.updated(updates, state, params)
                return update(updates, state, params, **extra)
            finally:
                training.updating = False

        return new(cls, init, watched_update, *more, **fields)

    return make


def watch_accumulation(module):
    """Note the gradient that optax.MultiSteps has accumulated, at the updates where it changes the parameters."""
    update = module.MultiSteps.update

    @functools.wraps(update)
    def watched_update(self, updates, state, params=None, **extra):
        __tracebackhide__ = True
        training = JaxTraining.current
        if training is None or training.updating:
            return update(self, updates, state, params, **extra)
        training.updating = True
        try:
            training.accumulate(self, updates, state, params)
            return update(self, updates, state, params, **extra)
        finally:
            training.updating = False

    module.MultiSteps.update = watched_update


def watch_equinox(module):
    wrapper = module._JitWrapper
    call = wrapper.__call__

    @functools.wraps(call)
    def watched_call(self, /, *args, **kwargs):
        __tracebackhide__ = True
        training = JaxTraining.current
        if training is None or (training.depth and training.found is None):
            return call(self, *args, **kwargs)
        if training.found is not None:
            return self.__wrapped__(*args, **kwargs)
        jitted = training.known(id(self), lambda: Filtered(self, self.__wrapped__, sys.modules["equinox"].filter_jit))
        return training.run(jitted, functools.partial(call, self), args, kwargs)

    wrapper.__call__ = watched_call


class Filtered:
    """A function of equinox.filter_jit or flax.nnx.jit. compile: the one of these that compiles it."""

    donates = False

    def __init__(self, owner, function, compile):
        self.owner, self.function, self.compile, self.takes_steps = owner, function, compile, None
        self.accumulated = Accumulated()

    def collected(self, gradients, args, kwargs):
        return self.compile(gradients)(*args, **kwargs)


class FilteredNnx(Filtered):
    def collected(self, gradients, args, kwargs):
        nnx = sys.modules["flax.nnx"]
        return self.compile(gradients)(*map(nnx.clone, args), **{k: nnx.clone(v) for k, v in kwargs.items()})


def watch_nnx(module):
    for name in ("JitWrapped", "SimpleJitWrapped"):
        wrapper = getattr(module, name, None)
        if wrapper is not None:
            wrapper.__call__ = watched_nnx_call(wrapper.__call__)


def watched_nnx_call(call):
    @functools.wraps(call)
    def watched_call(self, *args, **kwargs):
        __tracebackhide__ = True
        training = JaxTraining.current
        if training is None or (training.depth and training.found is None):
            return call(self, *args, **kwargs)
        function = getattr(self, "fun", None) or self.__wrapped__
        if training.found is not None:
            return function(*args, **kwargs)
        jitted = training.known(id(self), lambda: FilteredNnx(self, function, sys.modules["flax.nnx"].jit))
        return training.run(jitted, functools.partial(call, self), args, kwargs)

    return watched_call


PATCHES = {
    "jax": watch_jax_transforms,
    "optax._src.base": watch_optax,
    "optax.transforms._accumulation": watch_accumulation,
    "equinox._jit": watch_equinox,
    "flax.nnx.transforms.compilation": watch_nnx,
}
