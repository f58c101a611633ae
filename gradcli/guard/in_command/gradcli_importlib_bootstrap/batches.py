# mypy: ignore-errors
"""Which batches a model has used. A loader may fetch ahead, and a program may skip batches or validate in between."""

import collections
import copy
import dataclasses
import itertools
import sys

MOST_WAITING = 64  # fetched batches that no call has used; loaders rarely fetch more of them ahead
MOST_SKIPPED = 8  # batches kept that were passed to a module without a graph
MOST_NESTED = 4
BATCH_ORDER = itertools.count()


class Batch:
    """A batch that a loader yielded.

    value: what the loader yielded, in containers of its own, since the program may change the original ones.
    tensors: the original tensors. loop, number: the loop over the loader, and the place in it. time: of the fetch.
    random: the state of the random numbers after the fetch, if it was recorded. order: among the batches of all
    loaders. used: the time of the last call that used it, 0 if there is none. skipped: when it was set aside.
    """

    def __init__(self, value, loop, time, random, copied):
        self.time = time
        self.value, self.tensors = copy_batch(value, copied), tensors_in(value)
        self.loop, self.number, self.random, self.used, self.skipped = loop, loop.fetched, random, 0, 0
        self.order = next(BATCH_ORDER)

    @property
    def is_last(self):
        return self.loop.length is not None and self.number >= self.loop.length

    @property
    def rows(self):
        return {len(x) for x in self.tensors if x.dim()}


@dataclasses.dataclass(eq=False)
class Loop:
    """A loop over a loader. loader: identifies the loader. epoch: which loop. length: in batches, if it is known.

    fetched, used: the numbers of the newest batches that were fetched and used.
    """

    loader: int
    epoch: int
    length: int | None
    fetched: int = 0
    used: int = 0


class Batches:
    """Fetched batches that the next step may need.

    skipped: batches that were passed to a module without a graph, as in a validation, or as frozen features begin.
    ahead: how many batches a program fetches before it uses them.
    """

    def __init__(self):
        self.waiting, self.skipped = [], []
        self.loops, self.epochs, self.ahead = {}, collections.Counter(), 0

    def advance(self, iterator):
        """Count a batch of an iterator of PyTorch's loader, and return its loop."""
        loop = self.loops.get(id(iterator))
        if loop is None or (
            loop.fetched and getattr(iterator, "_num_yielded", 2) <= 1
        ):  # workers may keep the iterator
            loop = self.new_loop(iterator)
        loop.fetched += 1
        return loop

    def new_loop(self, iterator):
        loader = id(getattr(iterator, "_index_sampler", iterator))
        self.epochs[loader] += 1
        try:
            length = len(iterator)
        except Exception:
            length = None
        self.loops = {key: old for key, old in self.loops.items() if old.loader != loader}
        loop = self.loops[id(iterator)] = Loop(loader, self.epochs[loader], length)
        return loop

    def fetch(self, loop, value, time, random, stepped):
        """Keep a fetched batch. stepped: the time of the last optimizer step."""
        self.waiting = [
            old
            for old in self.waiting
            if (old.used > stepped if old.used else old.loop is loop or old.loop.loader != loop.loader)
        ]
        unused = [old for old in self.waiting if not old.used]
        if len(unused) >= MOST_WAITING:
            self.waiting.remove(unused[0])
        self.waiting.append(Batch(value, loop, time, random, True))

    def pass_by(self, loop, value, time):
        """Keep a batch only until the program has fetched as many others as it usually does before it uses one."""
        self.waiting = [*self.waiting[1 - self.ahead :], Batch(value, loop, time, None, False)][-self.ahead :]

    def has_open_end(self, stepped):
        """Report whether the last batch of a loop is left for the next step. stepped: the time of the last step."""
        return any(batch.is_last and (not batch.used or batch.used > stepped) for batch in self.waiting)

    def note_ahead(self):
        """Note at a step how many batches are fetched that were not used yet."""
        self.ahead = min(sum(not batch.used for batch in self.waiting), MOST_WAITING)

    def use(self, tensors, time):
        """Return the batches that the arguments of a call belong to."""
        found = self.with_memory_of(tensors) or self.equal_to(tensors)
        found = found or self.just_skipped(tensors) or self.next_with_rows(tensors)
        self.restore(found)
        for batch in found:
            batch.used = time
            batch.loop.used = max(batch.loop.used, batch.number)
        return found

    def with_memory_of(self, tensors):
        pointers = {x.data_ptr() for x in tensors if x.numel()}
        for known in (self.waiting, self.skipped):  # a dataset may yield the same memory again
            found = [batch for batch in known if any(x.data_ptr() in pointers for x in batch.tensors)]
            if found:
                return found
        return []

    def equal_to(self, tensors):
        """Return a batch that has the numbers of an argument on another device or in another type."""
        import torch

        for batch in self.waiting:
            for mine in batch.tensors:
                for x in tensors:
                    if mine.shape == x.shape and x.numel() and torch.equal(mine.to(x), x):
                        return [batch]
        return []

    def next_with_rows(self, tensors):
        """Return the first unused batch with as many rows as an argument, for a program that transforms batches.

        Batches before the newest used one come last: the program has skipped them.
        """
        rows = {len(x) for x in tensors if x.dim()}
        fitting = [batch for batch in self.waiting if not batch.used and rows & batch.rows]
        return sorted(fitting, key=lambda batch: batch.number < batch.loop.used)[:1]

    def just_skipped(self, tensors):
        """Return the newest batch that was set aside, if it has as many rows, and no batch was fetched after that."""
        if not self.skipped or self.skipped[-1].skipped < max((x.time for x in self.waiting if not x.used), default=0):
            return []
        rows = {len(x) for x in tensors if x.dim()}
        return self.skipped[-1:] if rows & self.skipped[-1].rows else []

    def unused_since(self, time):
        """Return the unused batches that were fetched after a time."""
        return [batch for batch in self.waiting if not batch.used and batch.time > time]

    def skip(self, tensors, time):
        """Set the batches of a call without a graph aside, and return them: a later call may still use them."""
        found = self.with_memory_of(tensors)
        fresh = [batch for batch in found if not batch.used and batch not in self.skipped]
        for batch in fresh:
            batch.skipped = time
        self.waiting = [batch for batch in self.waiting if batch not in fresh]
        self.skipped = [*self.skipped, *fresh][-MOST_SKIPPED:]
        return found

    def restore(self, found):
        """Count batches that were set aside as waiting again."""
        again = [batch for batch in found if batch in self.skipped]
        if again:
            self.skipped = [batch for batch in self.skipped if batch not in again]
            self.waiting = sorted([*self.waiting, *again], key=lambda batch: batch.order)


def parts_of_batch(x):
    """Return the parts of a container, or None for something else."""
    if isinstance(x, (list, tuple)):
        return x
    if hasattr(x, "keys") and hasattr(x, "values"):
        try:
            return list(x.values())
        except TypeError:
            return None
    return list(vars(x).values()) if hasattr(x, "__dict__") and not callable(x) else None


def tensors_in(x, depth=MOST_NESTED):
    """Return the tensors in nested containers; arrays of NumPy as tensors that share their memory."""
    torch = sys.modules["torch"]
    if isinstance(x, torch.Tensor):
        return [] if x.is_sparse or x.is_meta else [x]
    if type(x).__module__ == "numpy" and hasattr(x, "dtype") and getattr(x, "shape", ()):
        try:
            return [torch.as_tensor(x)]
        except (TypeError, ValueError):
            return []
    parts = parts_of_batch(x) if depth else None
    return [] if parts is None else [y for part in parts for y in tensors_in(part, depth - 1)]


def map_tensors(x, convert, depth=MOST_NESTED):
    """Return nested containers of the same kinds, with converted tensors; everything else is kept."""
    if isinstance(x, sys.modules["torch"].Tensor):
        return convert(x)
    if not depth or parts_of_batch(x) is None:
        return x
    if isinstance(x, (list, tuple)):
        parts = [map_tensors(part, convert, depth - 1) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    twin = copy.copy(x)
    if hasattr(x, "keys"):
        for key in list(x.keys()):
            twin[key] = map_tensors(x[key], convert, depth - 1)
    else:
        for key, part in vars(x).items():
            object.__setattr__(twin, key, map_tensors(part, convert, depth - 1))
    return twin


def copy_batch(value, copied):
    """Return a batch in containers of its own. copied: with tensors of its own, too."""
    try:
        return map_tensors(value, (lambda x: x.detach().clone()) if copied else (lambda x: x))
    except Exception:
        return value
