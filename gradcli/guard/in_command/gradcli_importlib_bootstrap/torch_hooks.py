# mypy: ignore-errors
"""Hooks into PyTorch for `Training`: fetched batches, calls of modules, steps of optimizers, clipping, loss scales."""

import contextlib
import functools
import itertools

from .training import Training


@contextlib.contextmanager
def noting_step(training):
    """Keep an error of taking notes from the program, and remember the first one."""
    try:
        yield
    except Exception as error:
        training.remember(error)


def watch_calls(module):
    """Watch the calls of modules that are not inside another call."""
    import torch

    call = module.Module.__call__

    def watched_call(self, *args, **kwargs):
        if torch.compiler.is_dynamo_compiling():
            return call(self, *args, **kwargs)
        training = Training.current
        if training is None or training.inside:
            return call(self, *args, **kwargs)
        __tracebackhide__ = True
        if not training.armed:
            training.pass_by()
            return call(self, *args, **kwargs)
        noted, training.inside = None, True
        try:
            try:
                noted = training.begin_call(self, args, kwargs)
            except Exception as error:
                training.remember(error)
            result = call(self, *args, **kwargs)
        finally:
            training.inside = False
        if noted is not None:
            with noting_step(training):
                training.end_call(noted, result)
        return result

    module.Module.__call__ = watched_call
    after_method(module.Module, "zero_grad", lambda training, self: training.cleared_module(self))


def after_method(kind, name, note):
    """Call note(training, self) after each call of a method."""
    method = getattr(kind, name)

    @functools.wraps(method)
    def watched(self, *args, **kwargs):
        result = method(self, *args, **kwargs)
        training = Training.current
        if training is not None:
            try:
                note(training, self)
            except Exception as error:
                training.remember(error)
        return result

    setattr(kind, name, watched)


def watch_loader(module):
    following = module._BaseDataLoaderIter.__next__

    @functools.wraps(following)
    def watched_next(self):
        __tracebackhide__ = True
        batch = following(self)
        training = Training.current
        if training is not None:
            try:
                training.fetched(self, batch)
            except Exception as error:
                training.remember(error)
        return batch

    module._BaseDataLoaderIter.__next__ = watched_next


def watch_optimizers(module):
    module.register_optimizer_step_pre_hook(before_step)
    after_method(module.Optimizer, "add_param_group", lambda training, self: training.given(self))
    after_method(module.Optimizer, "__init__", lambda training, self: training.created(self))
    after_method(module.Optimizer, "zero_grad", lambda training, self: training.cleared(self))


def before_step(optimizer, args, kwargs):
    """Note a step; if the optimizer calls a closure, note each of its evaluations instead."""
    training = Training.current
    if training is None:
        return None
    closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
    if closure is None:
        note_step(training, optimizer, None)
        return None
    turns = itertools.count()

    @functools.wraps(closure)
    def watched_closure(*more, **options):
        __tracebackhide__ = True
        loss = closure(*more, **options)
        note_step(training, optimizer, next(turns))
        return loss

    if "closure" in kwargs:
        return args, {**kwargs, "closure": watched_closure}
    return (args[0], watched_closure, *args[2:]), kwargs


def note_step(training, optimizer, turn):
    try:
        training.step(optimizer, turn)
    except Exception as error:
        training.remember(error)


def watch_clipping(module):
    for name, kind in (("clip_grad_norm_", "norm"), ("clip_grad_value_", "value")):
        setattr(module, name, watched_clipping(kind, getattr(module, name)))


def watched_clipping(kind, clip):
    @functools.wraps(clip)
    def watched(*args, **kwargs):
        training = Training.current
        if training is None:
            return clip(*args, **kwargs)
        given = dict(zip(("parameters", "limit"), args, strict=False)) | kwargs
        parameters = given["parameters"]
        if not hasattr(parameters, "grad"):  # an iterator can be read once
            parameters = list(parameters)
            args, kwargs = ((parameters, *args[1:]), kwargs) if args else (args, {**kwargs, "parameters": parameters})
        result = clip(*args, **kwargs)
        with noting_step(training):
            limit = next(given[name] for name in ("limit", "max_norm", "clip_value") if name in given)
            training.clipped(kind, limit, result, [parameters] if hasattr(parameters, "grad") else parameters)
        return result

    return watched


def watch_scaler(module):
    scaler = module.GradScaler
    after_method(scaler, "scale", lambda training, self: training.scaled(self))
    step = scaler.step

    @functools.wraps(step)
    def watched_step(self, optimizer, *args, **kwargs):
        training = Training.current
        before = training and training.now
        result = step(self, optimizer, *args, **kwargs)
        if training is not None and training.now == before:
            with noting_step(training):
                training.skipped(optimizer)
        return result

    scaler.step = watched_step


PATCHES = {
    "torch.nn.modules.module": watch_calls,
    "torch.utils.data.dataloader": watch_loader,
    "torch.optim.optimizer": watch_optimizers,
    "torch.nn.utils.clip_grad": watch_clipping,
    "torch.amp.grad_scaler": watch_scaler,
}
