"""What was seen of a claim: the kind of fact, and the evidence in words."""

from typing import NamedTuple


class Observation(NamedTuple):
    """A fact about a claim. kind: a stable word such as "kink" or "nonlinear"; text: the evidence in one line."""

    kind: str
    text: str
