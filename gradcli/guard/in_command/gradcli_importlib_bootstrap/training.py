# mypy: ignore-errors
"""Notes the steps of PyTorch's optimizers, with the calls and batches before each, and has some steps checked.

`Training` knows nothing of hooks; `torch_hooks` calls it. A step is checked while the program waits, in a fork if
possible: see `step_check`.
"""

import collections
import itertools
import os
import sys
import time
import weakref

from .batches import Batches, map_tensors, tensors_in
from .step_check import Moment, check_step, write_finding
from .torch_state import autocast_state, inside_autocast, place_among_processes, random_state

CHECK_SECONDS = 60.0  # for checking without --steps, in addition to the duration of the run
MOST_CALLS = 4096  # calls kept between two steps: nobody accumulates the gradients of more


class RecordedModuleCall:
    """A call of a module, outside any other, that records a graph. reached_at: when backward last came back to it.

    random: the random state at its start. arguments: copies of args and kwargs. output: the sum of the output's
    numbers. kept: copies of parameters and buffers at its start. inner: whether modules have computed an argument.
    """

    def __init__(self, time, module, batches):
        self.time, self.module, self.batches = time, weakref.ref(module), batches
        self.trains, self.reached_at, self.hooked = module.training, -1, False
        self.random = self.arguments = self.output = self.autocast = None
        self.kept, self.inner = {}, False

    @property
    def reached(self):
        return self.reached_at >= 0

    @property
    def is_batch(self):
        """Whether its arguments are a batch of a step, for a program without a loader."""
        return not self.inner and (self.reached or not self.hooked)


class CallWithoutGraph:
    """A call of a module that records no graph. batches: those that it used."""

    def __init__(self, batches):
        self.batches = batches


class OptimizerProgress:
    """What is known about an optimizer: its steps, and the time since which its gradient collects.

    start: the time of its last step. cleared: since when its gradient collects, if zero_grad() was called after a step
    of another optimizer. turn: which evaluation of the closure of this step; before: copies of gradients and parameters
    at the step before. window: the number of batches of the last step (fetched ones, if not all calls were noted).
    widest: the largest number of batches of a step with noted calls. first: copies at the first step, if it was inside
    autocast. born, fetches: how many steps all optimizers had taken at its creation, and how many batches were fetched
    before its last step.
    """

    def __init__(self, number, title, start, born, fetches):
        self.title, self.number, self.start, self.born, self.fetches = title, number, start, born, fetches
        self.steps, self.turn, self.before, self.window, self.widest = 0, 0, None, 0, 0
        self.optimizer, self.first, self.cleared = None, None, -1

    @property
    def since(self):
        return max(self.start, self.cleared)

    def depends_on(self, call):
        """Report whether the gradient may contain that of a call: an earlier one counts if backward came to it."""
        return call.time > self.start and max(call.time, call.reached_at) > self.cleared


class Training:
    """The notes of a process on its training steps. now: counts events, so that they have an order."""

    current = None

    def __init__(self, settings):
        self.settings, self.batches, self.inside, self.now = settings, Batches(), False, 0
        self.calls, self.progress, self.titles = collections.deque(maxlen=MOST_CALLS), {}, []
        self.kept, self.clips, self.scale, self.has_parameters = {}, [], None, weakref.WeakKeyDictionary()
        self.begun, self.spent, self.stepped, self.ending = time.monotonic(), 0.0, 0, False
        self.step_begun, self.missed = None, -1
        self.armed = self.is_wanted(1)
        self.trouble, self.taken, self.seen_calls = "", {}, 0
        self.steps, self.fetches = 0, 0  # of all optimizers and loaders
        self.widest, self.chooses, self.updated = 1, settings["steps"] is not None, set()
        self.keys, self.numbers = {}, itertools.count()

    def tick(self):
        self.step_begun = self.step_begun or time.monotonic()
        self.now += 1
        return self.now

    def remember(self, error):
        """Remember the first error of taking notes."""
        self.trouble = self.trouble or f"{type(error).__name__}: {error}"

    # which steps

    def is_wanted(self, step):
        """Report whether a step is to be checked: by --steps, or else number 1, 2, 4, 8 and so on while time allows."""
        steps = self.settings["steps"]
        if steps is not None:
            return step in steps
        if step & (step - 1):
            return False
        late = self.spent > time.monotonic() - self.begun - self.spent + CHECK_SECONDS
        return not late or place_among_processes()[1] > 1  # all processes check the same steps

    def is_ending(self, loop):
        """Report whether the next step may be the last one of a loop over a loader: of loop 1, 2, 4, 8 and so on."""
        if self.chooses or loop.length is None or loop.epoch & (loop.epoch - 1):
            return False
        return loop.length - loop.fetched <= self.widest

    def arm(self, closure=None):
        """Decide whether what happens from now on is noted for a check. closure: the optimizer that runs one, if any.

        Everything else is passed by: noting each call would slow small models down.
        """
        armed = self.ending or bool(closure and self.is_wanted(closure.steps))
        if not armed:
            armed = any(self.is_wanted(p.steps + 1) for p in self.progress.values() if self.is_active(p))
            armed = armed or (not self.progress and self.is_wanted(1))
        self.armed = armed

    def is_active(self, progress):
        """Report whether an optimizer takes steps. One that takes none soon after its creation may never do so."""
        return progress.steps or self.steps - progress.born <= 2 * len(self.progress)

    # events

    def fetched(self, iterator, value):
        """Note a batch; of one that no check needs, only that the loader has yielded it."""
        loop = self.batches.advance(iterator)
        self.fetches += 1
        ending = self.is_ending(loop) or (self.ending and self.batches.has_open_end(self.stepped))
        if ending is not self.ending:
            self.ending = ending
            self.arm()
        if self.armed:
            self.batches.fetch(loop, value, self.tick(), random_state(), self.stepped)
        elif self.batches.ahead:
            self.batches.pass_by(loop, value, self.now)

    def pass_by(self):
        """Note that a call was not recorded, so that the step after it cannot be checked."""
        if sys.modules["torch"].is_grad_enabled():
            self.missed = self.now

    def begin_call(self, module, args, kwargs):
        """Note a call of a module with parameters; return it if a step may depend on it."""
        torch = sys.modules["torch"]
        if not self.knows_parameters(module) or torch._C._current_graph_task_id() != -1:  # recomputed by a checkpoint
            return None
        tensors = tensors_in([args, kwargs])
        if not torch.is_grad_enabled():
            return CallWithoutGraph(self.batches.skip(tensors, self.tick()))
        call = RecordedModuleCall(self.tick(), module, self.batches.use(tensors, self.now))
        call.inner = any(x.grad_fn is not None for x in tensors)
        call.random, call.autocast = random_state(), autocast_state(tensors)
        call.kept = self.keep(module)
        if not call.batches:
            call.arguments = map_tensors((args, dict(kwargs)), lambda x: x.detach().clone())
        self.calls.append(call)
        self.seen_calls += 1
        return call

    def knows_parameters(self, module):
        known = self.has_parameters.get(module)
        if not known:
            known = self.has_parameters[module] = next(iter(module.parameters()), None) is not None
        return known

    def end_call(self, call, result):
        if isinstance(call, CallWithoutGraph):
            for batch in call.batches:
                batch.tensors += tensors_in([result])
            return
        outputs = [x for x in tensors_in([result]) if x.is_floating_point()]
        call.output = [float(x.detach().double().sum()) for x in outputs[:1]]
        for x in outputs:
            if x.requires_grad:
                call.hooked = True
                x.register_hook(lambda _: setattr(call, "reached_at", self.tick()))

    def keep(self, module):
        """Return copies of parameters and buffers before a call, by id: another optimizer may change them.

        What has not changed since the last copy is not copied again.
        """
        found = {}
        for _, x in (*module.named_parameters(), *module.named_buffers()):
            old = self.kept.get(id(x))
            found[id(x)] = old if is_unchanged(old, x) else (x, x._version, x.detach().clone())
        self.kept.update(found)
        return found

    def cleared(self, optimizer):
        """Note zero_grad(): what another optimizer's step has used before it no longer counts for this one."""
        if len(self.progress) > 1:
            progress = self.progress.get(id(optimizer))
            if progress is not None and progress.start < self.stepped:
                progress.cleared = self.stepped

    def cleared_module(self, module):
        """Note zero_grad() of a module, for each optimizer that has parameters of it."""
        if len(self.progress) > 1:
            ids = set(map(id, module.parameters()))
            for optimizer in filter(None, [p.optimizer() for p in self.progress.values()]):
                if any(id(p) in ids for group in optimizer.param_groups for p in group["params"]):
                    self.cleared(optimizer)

    def clipped(self, kind, limit, norm, parameters):
        if self.armed:
            self.clips.append((self.tick(), kind, limit, norm, frozenset(map(id, parameters))))

    def scaled(self, scaler):
        if self.armed:
            self.scale = scaler._scale.detach().clone()

    def skipped(self, optimizer):
        """Note that GradScaler has skipped a step: its gradients overflowed, and its batches are lost."""
        if progress := self.progress.get(id(optimizer)):
            progress.start = self.tick()
        else:
            self.calls.clear()

    def given(self, optimizer):
        """Note the parameters of an optimizer."""
        self.updated.update(self.key_of(p) for group in optimizer.param_groups for p in group["params"])

    def key_of(self, parameter):
        """Return a key that no other parameter has: an id is used again after the end of a parameter."""
        if id(parameter) not in self.keys:
            self.keys[id(parameter)] = next(self.numbers)
            weakref.finalize(parameter, self.keys.pop, id(parameter)).atexit = False
        return self.keys[id(parameter)]

    def created(self, optimizer):
        """Note a new optimizer, whose first step may be checked."""
        self.of(optimizer)
        self.arm()

    def of(self, optimizer):
        progress = self.progress.get(id(optimizer))
        if progress is None:
            title = type(optimizer).__name__
            same = sum(name.partition(" ")[0] == title for name in self.titles)
            start = self.tick() if self.missed >= 0 else 0
            title = title if not same else f"{title} {same + 1}"
            progress = OptimizerProgress(len(self.titles), title, start, self.steps, self.fetches)
            self.titles.append(progress.title)
            self.progress[id(optimizer)] = progress
            key = id(optimizer)
            progress.optimizer = weakref.ref(optimizer, lambda _: self.progress.pop(key, None))
        return progress

    def step(self, optimizer, turn=None):
        """Check the gradient that an optimizer gets, if this step is wanted. turn: which evaluation of its closure."""
        progress = self.of(optimizer)
        if not turn:
            progress.steps += 1
            self.steps += 1
            self.taken[progress.title] = progress.steps
        progress.turn = turn
        noted = self.look_at(optimizer, progress) if self.armed else 0
        if not turn:
            progress.window = noted or self.fetches - progress.fetches
        progress.fetches = self.fetches
        progress.start = self.stepped = self.tick()
        self.finish(optimizer, progress, closure=progress if turn == 0 else None)

    def look_at(self, optimizer, progress):
        """Check a step if it is wanted and all calls before it were noted; return its number of batches, else 0."""
        turn = progress.turn
        calls = [call for call in self.calls if progress.depends_on(call)]
        batches = list(dict.fromkeys(batch for call in calls for batch in call.batches)) or self.unused(progress)
        wanted = (turn or 0) < 2 and self.is_wanted(progress.steps)
        wanted = wanted or (self.ending and not turn and any(batch.is_last for batch in batches))
        complete = self.missed < progress.since
        if wanted and complete:
            self.check(optimizer, progress, calls)
        if not calls:
            for batch in batches:
                batch.used = self.now
        count = len(batches) or sum(call.is_batch for call in calls)  # without a loader, a call is a batch
        noted = count * complete
        progress.widest = max(progress.widest, noted)
        self.widest = max(self.widest, len(batches))
        self.batches.note_ahead()
        return noted

    def unused(self, progress):
        """Return batches for a step without calls, as in a compiled function: those fetched since the step before."""
        return self.batches.unused_since(progress.since)

    def check(self, optimizer, progress, calls):
        start = time.monotonic()
        try:
            for module in {call.module() for call in calls} - {None}:
                for p in module.parameters():
                    self.key_of(p)
            check_step(Moment(self, optimizer, progress, calls), self.settings)
        except Exception as error:
            self.trouble = f"{type(error).__name__}: {error}"
        self.spent += time.monotonic() - start

    def finish(self, optimizer, progress, closure):
        """Prepare the notes for the next step."""
        if self.calls or self.clips:
            oldest = min(p.start for p in self.progress.values() if self.is_active(p))
            while self.calls and self.calls[0].time <= oldest:
                self.calls.popleft()
            self.clips = [clip for clip in self.clips if clip[0] > oldest]
        self.arm(closure)
        self.step_begun = None
        if self.armed:
            progress.before = self.copies(optimizer)
            if progress.steps == 1 and progress.first is None and inside_autocast():
                progress.first = progress.before
        elif self.kept or progress.before:
            self.kept, progress.before = {}, None

    def write_summary(self):
        words = {
            "steps": self.taken, "fetched": sum(self.batches.epochs.values()), "calls": self.seen_calls,
            "trouble": self.trouble, "updated": self.updated,
        }  # fmt: skip
        write_finding(
            os.path.join(self.settings["folder"], f"report-{os.getpid()}-steps"), ("taken", os.getpid()), words
        )

    def copies(self, optimizer):
        """Return copies of gradients and values by the id of a parameter, with references to the gradients."""
        found = [p for group in optimizer.param_groups for p in group["params"]]
        return {id(p): gradient_and_value(p) for p in found}


def gradient_and_value(p):
    """Return copies of a parameter's gradient and value, and a weak reference to the gradient with its version."""
    if p.grad is None:
        return None, p.detach().clone(), None
    return p.grad.detach().clone(), p.detach().clone(), (weakref.ref(p.grad), p.grad._version)


def is_unchanged(old, x):
    """Report whether a tensor is as it was when `keep` made a copy of it.

    Values are compared, too: batch norm changes its running statistics, and `x.data` a tensor, without a new version.
    Parameters that are split over processes have versions only, since comparing these would communicate.
    """
    torch = sys.modules["torch"]
    if old is None or old[0] is not x or old[1] != x._version:
        return False
    if type(x) not in (torch.Tensor, torch.nn.Parameter) or x.is_meta or x.layout != torch.strided:
        return True
    kept = old[2]
    return kept.dtype == x.dtype and kept.device == x.device and torch.equal(kept, x)


def forget_training():
    """Start a fork with notes of its own: it may train, as a process of DistributedDataParallel."""
    if Training.current is not None:
        Training.current = Training(Training.current.settings)


def write_summary():
    """Write how many steps each optimizer took, for errors about what was not seen."""
    training, Training.current = Training.current, None
    if training is not None and "torch" in sys.modules:
        training.write_summary()
