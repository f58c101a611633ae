# mypy: ignore-errors
"""Notes the steps of optax's optimizers, and has some of them checked, in this process: a fork has no JAX threads."""

import contextlib
import io
import os
import random
import sys
import time

from .step_check import check_in_fork, place_of_caller, write_finding, writing_status

MOST_JAX_CALLS = 256  # calls between two steps that are kept
JAX_CHECK_SECONDS = 60.0  # for checking without --steps, in addition to the duration of the run


class JaxProgress:
    def __init__(self, number, title):
        self.number, self.title, self.steps, self.window, self.before = number, title, 0, 0, None


class JaxCall:
    """A call outside of any compiled function: its function, and its arguments, which cannot change."""

    def __init__(self, jitted, args, kwargs):
        self.jitted, self.args, self.kwargs = jitted, args, kwargs


class Accumulated:
    """The calls of a compiled function since its last step, if optax.MultiSteps takes a step only after several calls.

    steps: the MultiSteps. calls: those that were kept. count: how many there were.
    """

    def __init__(self):
        self.steps, self.calls, self.count = None, [], 0

    def after(self, call, kept):
        """Return the calls of a step if this call takes it, else None; no calls if not all of them were kept."""
        self.count += 1
        self.calls += [call] * kept
        state = self.steps and state_of_accumulation((call.args, call.kwargs))
        if state is not None and not ends_accumulation(self.steps, state):
            return None
        calls, count, self.calls, self.count = self.calls, self.count, [], 0
        return calls if len(calls) == count else []


def state_of_accumulation(tree):
    """Return the state of optax.MultiSteps in the arguments of a call, or None."""
    leaves = sys.modules["jax"].tree_util.tree_leaves(tree, is_leaf=lambda x: hasattr(x, "mini_step"))
    return next((x for x in leaves if hasattr(x, "mini_step")), None)


def ends_accumulation(steps, state):
    """Report whether optax.MultiSteps changes the parameters in this state."""
    return bool(state.mini_step == steps._every_k_schedule(state.gradient_step) - 1)


class JaxMoment:
    """A step that is checked. gradients, state, params: what optax's update got; call: which took the step, if one did.

    calls: since the step before. skipped: how many updates in this call come before this one.
    """

    world, rank, turn = 1, 0, None

    def __init__(self, progress, gradients, state, params, calls, inside):
        self.progress, self.step = progress, progress.steps
        self.gradients, self.state, self.params, self.calls, self.inside = gradients, state, params, calls, inside
        self.file, self.line = place_of_caller()
        self.optimizer = progress
        self.threads = None

    def open(self, loss):
        """Return the step with a declared loss, in gradcli's adapter for JAX."""
        from gradcli.claims.adapters.jax_step import JaxStep

        return JaxStep(self, loss)


class JaxTraining:
    """The notes of a process. depth: how many watched calls are active. found: gradients of a second trace, if any."""

    current = None

    def __init__(self, settings):
        self.settings, self.depth, self.updating, self.found, self.stepped = settings, 0, False, None, False
        self.calls, self.progress, self.jitted, self.taken, self.trouble = [], {}, {}, {}, ""
        self.begun, self.spent, self.accumulator = time.monotonic(), 0.0, None

    def known(self, key, make):
        """Return the entry of a compiled function; its owner is kept, so that its id stays its own."""
        if key not in self.jitted:
            self.jitted[key] = make()
        return self.jitted[key]

    def is_wanted(self, step):
        steps = self.settings["steps"]
        if steps is not None:
            return step in steps
        late = self.spent > time.monotonic() - self.begun - self.spent + JAX_CHECK_SECONDS
        return step & (step - 1) == 0 and not late

    def run(self, jitted, function, args, kwargs):
        """Call a function of the program outside of any other, and check the steps that it takes."""
        __tracebackhide__ = True
        donates = jitted is not None and jitted.donates
        if donates and jitted.takes_steps is None:
            jitted.takes_steps = bool(self.gradients_of(jitted, args, kwargs))
            jitted.accumulated.steps = self.accumulator
        if donates and jitted.takes_steps:
            self.step_inside(jitted, args, kwargs)
        self.depth += 1
        self.stepped, self.accumulator = False, None
        try:
            result = function(*args, **kwargs)
        finally:
            self.depth -= 1
        if jitted is not None and self.stepped:
            jitted.takes_steps, jitted.accumulated.steps = True, self.accumulator
        if jitted is not None and jitted.takes_steps:
            if not donates:
                self.step_inside(jitted, args, kwargs)
        elif not self.has_tracers((args, kwargs)):
            self.calls = [*self.calls[-MOST_JAX_CALLS:], JaxCall(jitted, args, kwargs)]
        return result

    @staticmethod
    def has_tracers(tree):
        jax = sys.modules["jax"]
        return any(isinstance(x, jax.core.Tracer) for x in jax.tree_util.tree_leaves(tree))

    def updated(self, gradients, state, params):
        """Note an update of an optimizer: in a second trace, while a function is compiled, or with numbers."""
        if self.found is not None:
            self.found.append((gradients, state, params))
        elif self.has_tracers(gradients):
            self.stepped = True
        else:
            self.step(0, (gradients, state, params), self.calls, None)
            self.calls = []

    def accumulate(self, steps, gradients, state, params):
        """Note an update of optax.MultiSteps, which takes a step if it has accumulated enough gradients."""

        def add(gradient, sum_before):
            return steps._acc_update(gradient, sum_before, n_acc=state.mini_step)

        whole = sys.modules["jax"].tree_util.tree_map(add, gradients, state.acc_grads)
        self.accumulator = steps
        if self.found is not None or self.has_tracers(whole) or ends_accumulation(steps, state):
            self.updated(whole, state, params)

    def gradients_of(self, jitted, args, kwargs):
        """Return what each update inside a compiled function gets, from a second trace of the function."""

        def collect(*more, **options):
            self.found = []
            try:
                jitted.function(*more, **options)
                return list(self.found)
            finally:
                self.found = None

        self.depth += 1
        try:
            with self.quiet():
                return jitted.collected(collect, args, kwargs)
        except Exception as error:
            self.trouble = self.trouble or f"{type(error).__name__}: {error}"
            return []
        finally:
            self.depth -= 1

    def step_inside(self, jitted, args, kwargs):
        """Count the steps that a call of a compiled function takes, and check those that are wanted."""
        known = [p for p in self.progress.values() if p.jitted is jitted]
        wanted = self.is_wanted(max((p.steps for p in known), default=0) + 1)
        calls = jitted.accumulated.after(JaxCall(jitted, args, kwargs), wanted)
        if calls is None:
            return
        found = self.gradients_of(jitted, args, kwargs) if (wanted and calls) or not known else [None] * len(known)
        for number, update in enumerate(found):
            self.step((id(jitted), number), update if calls else None, calls, jitted)
        self.calls = []

    def step(self, key, update, calls, jitted):
        """Count a step, and check it if it is wanted."""
        progress = self.progress.get(key)
        if progress is None:
            title = "optax" if not self.progress else f"optax {len(self.progress) + 1}"
            progress = self.progress[key] = JaxProgress(len(self.progress), title)
            progress.jitted = jitted
        progress.steps += 1
        self.taken[progress.title] = progress.steps
        if update is not None and self.is_wanted(progress.steps):
            self.check(JaxMoment(progress, *update, calls, jitted is not None))
        progress.window = len(calls)
        wanted_next = self.is_wanted(progress.steps + 1)
        progress.before = (update[0], update[2]) if update is not None and wanted_next else None

    def check(self, moment):
        start, path = time.monotonic(), os.path.join(self.settings["folder"], f"report-{os.getpid()}-steps")
        self.depth += 1
        current, JaxTraining.current = JaxTraining.current, None
        try:
            with self.quiet(), writing_status(moment, self.settings, moment.progress.title, 0.0):
                check_in_fork(moment, self.settings, path)
        finally:
            JaxTraining.current = current
            self.depth -= 1
        self.spent += time.monotonic() - start

    @contextlib.contextmanager
    def quiet(self):
        """Restore what Python code in a second trace or in a check may change."""
        numpy = sys.modules.get("numpy.random")
        states = random.getstate(), numpy.get_state() if numpy else None
        streams, paths, finders = (sys.stdout, sys.stderr), [*sys.path], [*sys.meta_path]
        sys.stdout = sys.stderr = io.StringIO()
        try:
            yield
        finally:
            sys.stdout, sys.stderr = streams
            sys.path[:], sys.meta_path[:] = paths, finders
            random.setstate(states[0])
            if numpy:
                numpy.set_state(states[1])


def write_jax_summary():
    """Write how many steps each optimizer took, for errors about what was not seen."""
    training, JaxTraining.current = JaxTraining.current, None
    if training is not None and "optax" in sys.modules:
        words = {"steps": training.taken, "fetched": 0, "calls": len(training.calls), "trouble": training.trouble}
        path = os.path.join(training.settings["folder"], f"report-{os.getpid()}-steps")
        write_finding(path, ("taken", "jax", os.getpid()), words)


def forget_jax_steps():
    if JaxTraining.current is not None:
        JaxTraining.current = JaxTraining(JaxTraining.current.settings)
