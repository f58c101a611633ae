"""Bring the batches of a step together if several processes train a model: through files, not through their network.

Collective calls of the check could meet those of the program. So each process leaves a file, and the first one reads
them; this needs processes on one machine.
"""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path
from typing import Any

from ..errors import GradcliError

PATIENCE = 120.0  # seconds to wait for the other processes: they have averaged their gradients a moment ago
SHARES_POLL = 0.02


def gather_shares(step: Any, moment: Any, folder: str) -> bool:
    """Give the first process the shares of all; return whether this is the first one. Raises GradcliError."""
    if moment.rank:
        place = share_file(moment, folder, moment.rank)
        place.with_suffix(".new").write_bytes(pickle.dumps(step.share()))
        os.replace(place.with_suffix(".new"), place)
        return False
    step.add([read_share(moment, folder, rank) for rank in range(1, moment.world)])
    return True


def share_file(moment: Any, folder: str, rank: int) -> Path:
    return Path(folder, f"share-{moment.progress.number}-{moment.step}-{moment.turn or 0}-{rank}")


def read_share(moment: Any, folder: str, rank: int) -> Any:
    place, end = share_file(moment, folder, rank), time.monotonic() + PATIENCE
    while not place.exists():
        if time.monotonic() > end:
            hint = "all processes must run on this machine and take the same steps"
            raise GradcliError(f"process {rank} did not take step {moment.step} within {PATIENCE:.0f} s", hint=hint)
        time.sleep(SHARES_POLL)
    found = pickle.loads(place.read_bytes())
    place.unlink()
    return found
