"""Two edits at once: one repairs some elements or inputs, the other one the rest."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from .candidates import Candidate
from .trial import TRIAL_DIRECTIONS

MOST_ALIKE = 8  # edits that are kept of those that repair the same elements: a choice
MOST_PAIRS_TRIED = 500  # pairs that are tried: a choice


class Partial:
    """Edits that repair a part of what is wrong. right: along which directions of a trial the derivative is right."""

    def __init__(self, right: np.ndarray):
        self.base = right[TRIAL_DIRECTIONS:]
        self.alike: dict[bytes, list[Candidate]] = defaultdict(list)

    def note(self, candidate: Candidate, right: np.ndarray) -> None:
        """Keep an edit if it repairs an input or element and spoils nothing. right: as above, with the edit."""
        right = right[TRIAL_DIRECTIONS:]
        if (right >= self.base).all() and (right > self.base).any():
            self.alike[right.tobytes()].append(candidate)

    def pairs(self) -> Iterator[Candidate]:
        """Yield pairs of edits that together repair everything, the shortest first."""
        for several in self.alike.values():
            several.sort(key=lambda candidate: candidate.preference)
        found = []
        for (a, first), (b, second) in itertools.combinations(self.alike.items(), 2):
            if (np.frombuffer(a, bool) | np.frombuffer(b, bool)).all():
                found += [*itertools.product(first[:MOST_ALIKE], second[:MOST_ALIKE])]
        found.sort(key=lambda pair: pair[0].length + pair[1].length)
        joined = (join_candidates(*pair) for pair in found)
        yield from itertools.islice((pair for pair in joined if pair is not None), MOST_PAIRS_TRIED)


def join_candidates(first: Candidate, second: Candidate) -> Candidate | None:
    """Return two edits as one; None if they overlap or are of different functions."""
    edits = (*first.edits, *second.edits)
    in_order = sorted(edits)
    overlap = any(a.end > b.start for a, b in itertools.pairwise(in_order))
    if overlap or first.source is not second.source:
        return None
    kind = "constant" if "constant" in (first.kind, second.kind) else first.kind
    return Candidate(first.source, edits, kind, max(first.rank, second.rank), together=2)
