"""Random functions of named arrays: what their parameters mean, and samples of their results.

`RandomFunction` runs NumPy functions; adapters/ has subclasses for PyTorch and JAX.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ..errors import GradcliError
from ..program.arguments import RANDOM_NAMES, Arguments, Path
from ..user.frameworks import engine_of
from .claim import Arrays, CallError, WrongShapeError, callable_name, failing_as, plain_array
from .streams import Streams

COUNT_NAMES = set("n num count size samples n_samples num_samples nsamples n_draws num_draws draws batch".split())
"""Names of parameters that take the number of samples."""
PLAIN_COUNTS = {"n", "n_samples", "num_samples", "size"}
"""Those that take the number of samples even if they have a default."""
TRIAL = 256  # samples of the first call of a function that takes the number of samples: a choice
LOOP = 3  # instructions for each sample that make a loop: a choice
FEWER = 64  # samples of a call that is compared with the first one: a choice


class Roles(NamedTuple):
    """What the parameters of a random function mean.

    inputs: names of the inputs, in order. random, number: the parameters for random numbers and for the number of
    samples, or "". optional: whether the latter has a default. parameters: all of them; None if they are unknown.
    """

    inputs: Sequence[str]
    random: str
    number: str
    optional: bool = False
    parameters: Sequence[inspect.Parameter] | None = None


def roles_of(function: Callable, names: Sequence[str], title: str) -> Roles:
    """Return what a function's parameters mean. Raises GradcliError if it needs others.

    names: of the inputs, which are found by name if all of these are there, else by position.
    """
    try:
        every = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return Roles(names, "rng", "n")
    parameters = [p for p in every if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if every and not parameters:
        return Roles(names, "rng", "n")
    inputs = (
        list(names) if {p.name for p in parameters}.issuperset(names) else [p.name for p in parameters[: len(names)]]
    )
    others = [p for p in parameters if p.name not in inputs]
    needed = [p.name for p in others if p.default is p.empty]
    optional = [p.name for p in others if p.default is not p.empty]
    count = next((n for n in needed if n in COUNT_NAMES), "") or next((n for n in optional if n in PLAIN_COUNTS), "")
    rest = [n for n in needed if n != count]
    random = next((n for n in (*rest, *optional) if n in RANDOM_NAMES), "") or next(iter(rest), "")
    rest = [n for n in rest if n != random]
    if not count and rest:
        count, *rest = rest
    if len(inputs) < len(names) or rest:
        what = f"needs a value for '{rest[0]}'" if rest else f"takes only {len(inputs)} of the inputs"
        hint = f"set it with --arg {rest[0]}=VALUE" if rest else f"its parameters must be {', '.join(names)}, rng, n"
        raise GradcliError(f"{title} {what}", hint=hint, kind="name")
    return Roles(inputs, random, count, count in optional, parameters)


ToNumbers = Callable[[Any, tuple[int, ...]], np.ndarray]
"""Turns a result into numbers, given the leading axes: () for one sample, (n,) for n samples."""


class RandomFunction:
    """A random function of named arrays. The same seed gives the same samples.

    title: the name in reports. fit: turns results into numbers.
    """

    makers: tuple[Callable[[int], Any], ...] = (np.random.default_rng, np.random.RandomState, int)
    """What makes random numbers from a seed. The first one that the function accepts is used."""
    rows_at_once = 1  # samples that cost as much as one
    note = ""

    def __init__(self, function: Callable, arguments: Arguments, title: str, fit: ToNumbers, is_loss: bool = False):
        """is_loss: whether the samples are gradients of the results, by a framework."""
        self.function, self.arguments, self.title, self.fit, self.is_loss = function, arguments, title, fit, is_loss
        self.roles = roles_of(function, list(arguments.tree), title)
        self.positional = [p.name for p in self.roles.parameters or () if p.kind is p.POSITIONAL_ONLY]
        self.streams = Streams(function)
        self.make = self.makers[0]

    @property
    def one(self) -> bool:
        """Whether a call returns one sample."""
        return not self.roles.number

    @property
    def is_loop(self) -> bool:
        """Whether each sample takes a call, or a round of a loop in Python."""
        return self.one or self.loops_inside

    def settle(self) -> None:
        """Find out how the function is called. Raises CallError."""
        if self.is_loss:
            raise CallError(f"{self.title} returns values; an estimator must return gradients")
        try:
            self.find_maker(1 if self.one else TRIAL)
        except CallError:
            if not self.roles.optional:
                raise
            self.roles = self.roles._replace(number="", optional=False)
            self.find_maker(1)

    def settle_gradients(self, framework: str) -> None:
        """Find out how the function is called, and whether it is a loss to differentiate. Raises CallError.

        It is one if it returns one number for each sample and the inputs have more.
        """
        if not self.is_loss:
            try:
                RandomFunction.settle(self)
            except WrongShapeError:
                if sum(x.size for x in self.arguments.arrays.values()) == 1 or not isinstance(self.fit, AsGradients):
                    raise
                self.is_loss = True
        if self.is_loss:
            self.find_maker(1)
            self.note = f"{self.title} is a loss: the samples are its gradients, computed by {framework}"

    @functools.cached_property
    def loops_inside(self) -> bool:
        """Whether a call for n samples runs Python code for each of them."""
        if self.one:
            return False
        self.steps(FEWER)  # Python 3.12 and newer count a function's first traced call only in part
        return self.steps(TRIAL) - self.steps(FEWER) >= LOOP * (TRIAL - FEWER)

    def steps(self, count: int) -> int:
        """Return how many instructions of Python a call for some samples runs. Raises CallError."""
        events = 0

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal events
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
            events += event == "opcode"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            self.samples(self.arguments.arrays, 0, count)
        finally:
            sys.settrace(before)
        return events

    def find_maker(self, count: int) -> None:
        """Find random numbers that the function accepts, with a call for `count` samples. Raises CallError."""
        errors: list[CallError] = []
        for maker in self.makers if self.roles.random else self.makers[:1]:
            self.make = maker
            try:
                self.samples(self.arguments.arrays, 0, count)
            except CallError as error:
                errors.append(error)
            else:
                return
        self.make = self.makers[0]
        raise next((error for error in errors if isinstance(error, WrongShapeError)), errors[0])

    def samples(self, leaves: Arrays, seed: int, count: int) -> np.ndarray:
        """Return samples at inputs by path: (count, size). Raises CallError. seed: below 2**32."""
        self.streams.seed(seed)
        with failing_as(self.title):
            return self.draw(leaves, self.make(seed), count)

    def pairs(self, leaves: Arrays, seed: int, calls: int) -> np.ndarray:
        """Return the samples of calls for two samples each: (2 * calls, size). Raises CallError."""
        self.streams.seed(seed)
        with failing_as(self.title):
            return np.concatenate([self.draw(leaves, self.make((seed + k) % 2**32), 2) for k in range(calls)])

    def draw(self, leaves: Arrays, rng: Any, count: int) -> np.ndarray:
        if not self.one:
            return self.fit(self.call(leaves, rng, count), (count,))
        results = [self.call(leaves, rng, None) for _ in range(count)]
        if all(isinstance(x, float | np.ndarray) for x in results) and len({np.shape(x) for x in results}) == 1:
            return self.fit(np.array(results), (count,))  # ten times faster than one by one
        return np.stack([self.fit(x, ()) for x in results])

    def call(self, leaves: Arrays, rng: Any, count: int | None) -> Any:
        copies = {name: x.copy() if x.ndim else x[()] for name, x in leaves.items()}
        return self.call_with(self.arguments.fill_in(copies, np.ndarray.copy), rng, count)

    def call_with(self, values: Mapping[str, Any], rng: Any, count: int | None) -> Any:
        """Call the function on its inputs in order, with random numbers and the number of samples if it takes them."""
        roles = self.roles
        given = dict(zip(roles.inputs, values.values(), strict=True))
        if roles.random:
            given[roles.random] = rng
        if roles.number:
            given[roles.number] = count
        if roles.parameters is None:
            return self.function(*given.values())
        return self.function(*(given.pop(name) for name in self.positional if name in given), **given)


def random_function(
    function: Callable, arguments: Arguments, fit: ToNumbers, is_loss: bool = False, title: str = ""
) -> RandomFunction:
    """Return a random function, run by the framework that it uses. Raises CallError if it cannot be called."""
    engine = engine_of(function, None)
    kind: Any = RandomFunction
    if engine in ("torch", "jax"):
        kind = import_module(f"{__package__}.adapters.{engine}_samples").Samples
    made = kind(function, arguments, title or callable_name(function), fit, is_loss)
    made.settle()
    return made


class AsValues:
    """Turns results of an objective into one number for each sample."""

    def __init__(self, title: str):
        self.title = title

    def __call__(self, result: Any, lead: tuple[int, ...]) -> np.ndarray:
        raw, count = plain_array(result, self.title), max(lead, default=1)
        if raw.shape[: len(lead)] != lead:
            raise WrongShapeError(f"{self.title} returned shape {raw.shape}; {count} samples must have shape {lead}")
        if raw.size != count:
            shape = raw.shape[len(lead) :]
            raise WrongShapeError(f"{self.title} returned values of shape {shape}; an objective returns one number")
        return raw.real.astype(float).reshape((*lead, 1))


class AsGradients:
    """Turns results of an estimator into numbers: the gradients by the inputs `wrt`, in order."""

    def __init__(self, title: str, arguments: Arguments, wrt: Sequence[str]):
        self.title, self.arguments, self.wrt = title, arguments, list(wrt)
        self.paths = {name: Path.parse(name) for name in wrt}
        self.heads = list(dict.fromkeys(str(path[0]) for path in self.paths.values()))

    def __call__(self, result: Any, lead: tuple[int, ...]) -> np.ndarray:
        trees = self.by_argument(result)
        return np.concatenate([self.part(trees, name, lead) for name in self.wrt], axis=-1)

    def by_argument(self, result: Any) -> Mapping[str, Any]:
        """Return the gradients in a result by argument."""
        every = list(self.arguments.tree)
        if isinstance(result, Mapping) and result.keys() >= set(self.heads):
            return result
        if isinstance(result, tuple) and len(result) == len(every) > 1:
            return dict(zip(every, result, strict=True))
        if len(self.heads) == 1:
            return {self.heads[0]: result}
        if isinstance(result, tuple | list) and len(result) == len(self.heads):
            return dict(zip(self.heads, result, strict=True))
        names = ", ".join(self.heads)
        raise WrongShapeError(f"{self.title} returned {type(result).__name__}; it must return a tuple of {names}")

    def part(self, trees: Mapping[str, Any], name: str, lead: tuple[int, ...]) -> np.ndarray:
        """Return the gradients by one input: (*lead, size). Raises CallError."""
        raw, like = plain_array(part_at(trees, self.paths[name]), self.title), self.arguments.arrays[name]
        if raw.dtype.kind == "c":
            raise CallError(f"{self.title} returned complex numbers; gradients of real inputs are real")
        count = max(lead, default=1)
        if raw.size != like.size * count or raw.shape[: len(lead)] != lead:
            samples = f"{count} samples" if lead else "a sample"
            wanted = f"{samples} of the gradient must have shape {(*lead, *like.shape)}"
            raise WrongShapeError(f"{self.title} returned shape {raw.shape} for '{name}'; {wanted}")
        return raw.astype(float).reshape((*lead, like.size))


def part_at(tree: Any, path: Path) -> Any:
    """Return the part of nested results at a path."""
    for key in path:
        tree = tree[key] if isinstance(key, int) or isinstance(tree, Mapping) else getattr(tree, key)
    return tree


def seeds_of(seed: int, stream: int) -> Iterator[int]:
    """Yield seeds below 2**32 without end, different ones for each stream."""
    rng = np.random.default_rng([seed, stream])
    while True:
        yield from rng.integers(0, 2**32, 1024, dtype=np.uint32).tolist()
