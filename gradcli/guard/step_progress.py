"""Show on the terminal that a step is being checked, and say beforehand if that will take long."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

POLL = 0.2  # seconds
LONG_STEP = 5.0  # seconds that a step took in the run, from which on its check is announced
PASSES = 3
"""Passes over the batches of a step that a check takes at least: in float64 twice, and as the run computes."""


@contextlib.contextmanager
def following(folder: str, note: Callable[[str], None], shows: bool, stream: TextIO) -> Iterator[None]:
    """Follow the checks of steps in a folder. note: prints a note. shows: whether the stream can rewrite a line."""
    ended = threading.Event()
    follower = threading.Thread(target=follow_step, args=(Path(folder), ended, note, shows, stream), daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()


def follow_step(folder: Path, ended: threading.Event, note: Callable, shows: bool, stream: TextIO) -> None:
    announced: set[tuple[str, int]] = set()
    start, drawn = time.monotonic(), False
    while not ended.wait(POLL):
        current = next(iter(read_status(folder)), None)
        if current is None:
            start = time.monotonic()
            if drawn:
                rewrite(stream, "")
            drawn = False
            continue
        words = describe_step(current)
        key = (current["optimizer"], current["step"])
        if current["seconds"] > LONG_STEP and key not in announced:
            announced.add(key)
            least = PASSES * current["seconds"]
            note(f"{words}: this takes {least:.0f} s or more, since the step itself took {current['seconds']:.0f} s")
        elif shows:
            rewrite(stream, f"{words} ({time.monotonic() - start:.0f} s)")
            drawn = True
    if drawn:
        rewrite(stream, "")


def describe_step(current: dict[str, Any]) -> str:
    return f"checking step {current['step']} of {current['optimizer']}"


def rewrite(stream: TextIO, text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        stream.write(f"\r\x1b[K{text}")
        stream.flush()


def read_status(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("step-*.json")):
        with contextlib.suppress(OSError, ValueError):
            yield json.loads(path.read_text(encoding="utf-8"))
