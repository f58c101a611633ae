"""Compute parts of a sweep in other processes, on this machine or on a Dask cluster."""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from copy import copy
from typing import Any

import numpy as np

from ...claims.open import load_program
from ...errors import EXIT_TARGET, GradcliError
from ...program.expression import ExpressionProgram
from ...program.target import Target
from ...tape.dtypes import set_default_dtype
from ..numeric_program import NumericProgram
from .rows import EvaluateBlock, Interpreted
from .run import FORMS, Done, Sweep, do_part, program_source
from .tables import TextPoints, need

LOCAL_CLUSTER = "local"
CONNECT_SECONDS = 20
PART_ATTEMPTS = 5  # to compute a part, if its worker dies

surroundings = contextlib.ExitStack()  # contexts that the program of this process needs
made: dict[str, EvaluateBlock] = {}  # the evaluator of the current sweep, by the hash of the sweep
own = threading.local()  # a table and an evaluator for each thread


def sendable(sweep: Sweep) -> Sweep:
    """Prepare a sweep for other processes, which load the program again, from any folder."""
    target = sweep.target._replace(stdout=None)
    if target.text == "-" and not target.inline:  # standard input is read only once
        target = target._replace(text=program_source(sweep.question.program), inline=True)
    elif not target.inline and os.path.exists(target.path):
        target = target._replace(text=os.path.abspath(target.text))
    sweep.points.path = os.path.abspath(sweep.points.path)
    question = sweep.question._replace(program=None)  # type: ignore[arg-type]
    return sweep._replace(target=target, question=question, folder=os.path.abspath(sweep.folder))


def do_sent_part(sweep: Sweep, number: int) -> Done:
    """Compute a part, loading the program if this process does not have it yet."""
    key = hashlib.sha256(pickle.dumps(sweep._replace(points=None))).hexdigest()  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        if key not in made:
            made.clear()
            made[key] = Interpreted(sweep.question._replace(program=load_in_worker(sweep.target)))
        return number, do_part(sweep, number, made[key])


def load_in_worker(target: Target) -> Any:
    """Load a program with its default type and its meaning of `import torch`."""
    surroundings.close()
    if target.request.torch and target.name is not None:
        from ...user.torch_names import as_torch

        surroundings.enter_context(as_torch())
    set_default_dtype(np.float32 if target.request.input_dtype == np.float32 else np.float64)
    return NumericProgram(target) if target.request.numeric else load_program(target)


def do_part_in_thread(sweep: Sweep, number: int) -> Done:
    if getattr(own, "sweep", None) is not sweep:
        own.sweep, own.points, own.evaluate = sweep, copy(sweep.points), Interpreted(sweep.question)
    with np.errstate(all="ignore"):
        return number, do_part(sweep._replace(points=own.points), number, own.evaluate)


def run_at_once(sweep: Sweep, missing: list[int], jobs: int) -> Iterator[Done]:
    """Compute several parts at a time on this machine.

    Threads are used if NumPy and Arrow do the work, without the interpreter lock: 10^7 rows take 0.56 of the time, and
    1.5 of it in processes, which are slow to start. Text, row by row programs and users' code need processes.
    """
    unheld = isinstance(sweep.question.program, ExpressionProgram) and not sweep.portions.loop
    if unheld and not isinstance(sweep.points, TextPoints) and FORMS[sweep.ending] is None:
        pool: Executor = ThreadPoolExecutor(jobs)
        work, do = sweep, do_part_in_thread
    else:
        ignored = (signal.SIGINT, signal.SIG_IGN)  # the process that started them handles Ctrl-C
        pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), signal.signal, ignored)
        work, do = sendable(sweep), do_sent_part
    with pool:
        try:
            for future in as_completed([pool.submit(do, work, number) for number in missing]):
                yield future.result()
        except BrokenProcessPool:
            hint = "finished parts are kept: run the same command to continue"
            raise GradcliError("a worker process died", hint=hint, kind="target", exit_code=EXIT_TARGET) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()


def run_on_dask(sweep: Sweep, missing: list[int], address: str, jobs: int | None) -> Iterator[Done]:
    distributed = need("distributed", "dask", "--dask")
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(connect(distributed, address, jobs, stack))
        work = sendable(sweep)
        futures = [client.submit(do_sent_part, work, number, pure=False) for number in missing]
        for future in distributed.as_completed(futures):
            yield future.result()


def connect(distributed: Any, address: str, jobs: int | None, stack: contextlib.ExitStack) -> Any:
    """Connect to the scheduler at an address or in a file, or to a local cluster that ends with the stack."""
    import logging

    if address == LOCAL_CLUSTER:
        import dask

        stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": PART_ATTEMPTS}))
        options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.CRITICAL}
        cluster = distributed.LocalCluster(n_workers=jobs or os.cpu_count(), **options)
        return distributed.Client(stack.enter_context(cluster))
    try:
        if address.endswith(".json"):
            return distributed.Client(scheduler_file=address, timeout=CONNECT_SECONDS)
        return distributed.Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        hint = "start one with `dask scheduler`, and workers with `dask worker ADDRESS`; or use --dask local"
        raise GradcliError(f"--dask {address}: no scheduler answers there: {error}", hint=hint) from None
