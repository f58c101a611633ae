"""What a check found for each input: its elements, the worst of them, and how many are wrong."""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .base import declare, label

if TYPE_CHECKING:
    from .estimators import Bias

PART_MARKS = {"": "", "re": "Re ", "im": "Im "}
PARTS = {"": "", "re": "real part of ", "im": "imaginary part of "}
COMPARED_DIGITS = 12  # digits shown of numbers to compare
MOST_DIGITS = 17  # digits that tell any two different float64 apart


def digits_to_tell(a: float, b: float, least: int) -> int:
    """Return the number of digits, `least` or more, at which two different numbers do not look the same."""
    several = range(least, MOST_DIGITS + 1)
    return next((n for n in several if f"{float(a):z.{n}g}" != f"{float(b):z.{n}g}"), least)


def label_part(name: str, index: tuple[int | str, ...], part: str) -> str:
    return PARTS[part] + label(name, index)


@declare(json="output index=place claimed numeric numeric_error output_part? part? one_sided=sides? verdict?")
class Element(NamedTuple):
    """An element of a Jacobian: the claimed derivative, the numeric one, and the half-width of its interval.

    output: the index of the output element, after the path if there are several outputs. place: the index of the input
    element. sides: the left and the right derivative at a kink. output_part, part: "re" or "im" for a complex output
    or input. verdict: the verdict on this element, if every element was asked for.
    """

    output: tuple[int | str, ...]
    place: tuple[int, ...]
    claimed: Any
    numeric: Any
    numeric_error: float
    sides: tuple[float, float] | None = None
    output_part: str = ""
    part: str = ""
    verdict: str = ""

    @property
    def ratio(self) -> float | None:
        """Claimed divided by numeric derivative; None if the numeric one may be zero."""
        known = np.isfinite(self.numeric) and abs(self.numeric) > self.numeric_error
        return float(self.claimed / self.numeric) if known else None

    @property
    def cells(self) -> tuple[Any, ...]:
        ratio = "" if self.ratio is None else self.ratio
        return (self.claimed, self.numeric, self.numeric_error, ratio, self.verdict)

    def name(self, of: str) -> str:
        """Name the element of an input, with the output's element unless the output is a plain number."""
        place = PART_MARKS[self.part] + label(of, self.place)
        if not (self.output or self.output_part):
            return place
        return f"d {PART_MARKS[self.output_part]}{label('out', self.output)}/d {place}"


class Elements(NamedTuple):
    """Every element of one input's block of the Jacobian, as real numbers: arrays of shape (rows, columns).

    rows, columns: index and part ("", "re" or "im") of the output element of each row and the input element of each
    column. numeric, error: the numeric derivative and the half-width of its interval. verdicts: pass, fail,
    inconclusive, or negligible for elements below the function's rounding.
    """

    rows: tuple[tuple[tuple[int | str, ...], str], ...]
    columns: tuple[tuple[tuple[int, ...], str], ...]
    claimed: np.ndarray
    numeric: np.ndarray
    error: np.ndarray
    verdicts: np.ndarray

    def element(self, j: int, i: int) -> Element:
        (output, output_part), (place, part) = self.rows[j], self.columns[i]
        numbers = (self.claimed[j, i], self.numeric[j, i], self.error[j, i])
        return Element(output, place, *numbers, None, output_part, part, str(self.verdicts[j, i]))


class LineValues(NamedTuple):
    """Values of a function near the point, along one element of an input.

    x: values of the input element; value: values of the output element; at: the point and the function's value there.
    """

    x: np.ndarray
    value: np.ndarray
    at: tuple[float, float]


class ElementCounts(NamedTuple):
    """How many elements of the Jacobian for one input are wrong, and how many are undecided.

    sampled: how many were estimated one by one; random directions bound the error of the others.
    """

    wrong: int
    undecided: int
    of: int
    sampled: int


class Accuracy(NamedTuple):
    """Accuracy of a derivative in a type of few digits, compared with a reference in float64.

    error, own: root mean square errors of the derivative, and of the reference in the same type, in ulps at the
    derivative's size. largest: the largest error. bias, bias_error: relative mean error and its standard error.
    """

    dtype: str
    error: float
    own: float
    largest: float
    bias: float
    bias_error: float

    @property
    def text(self) -> str:
        own = f", that of the reference {self.own:.2g}" if self.own else ""
        error = f"the rms error is {self.error:.2g} ulps of {self.dtype}{own}"
        return f"{error}, and the largest error {self.largest:.2g} ulps"


class WrongPlaces(NamedTuple):
    """Where the wrong elements of an input are.

    axes: ranges of indices along each axis, first and last of each. shape: of the input. complete: whether all elements
    were estimated; otherwise, there may be others.
    """

    axes: tuple[tuple[tuple[int, int], ...], ...]
    shape: tuple[int, ...]
    complete: bool


@dataclass(frozen=True, eq=False)
class InputCheck:
    """Result of a check for one input.

    resolution: the smallest relative error that would have failed in any element; None if all derivatives may be zero.
    of_largest: the same relative to the largest derivative. negligible: how many elements are below the function's
    rounding, so that they are neither right nor wrong; negligible_below: up to this size, any value agrees.
    counts: numbers of wrong and undecided elements. places: where wrong ones are, if only some are wrong. accuracy: for
    a check against a reference. If every element was asked for: elements; point, the input's value; line, the function
    along the worst element. bias: for a check of an estimator, whose mean is the claimed derivative. is_tangent:
    whether the elements are those of a tangent, because the input is on a manifold.
    """

    json = (
        "verdict max_abs_error max_rel_error digits~2 resolution not_decidable=negligible counts worst accuracy? "
        "bias? elements=every_element?"
    )
    name: str
    shape: tuple[int, ...]
    verdict: str
    max_abs_error: float
    max_rel_error: float
    digits: float
    resolution: float | None
    worst: Element | None
    negligible: int = 0
    negligible_below: float = 0.0
    elements: Elements | None = None
    point: np.ndarray | None = None
    line: LineValues | None = None
    of_largest: float | None = None
    counts: ElementCounts | None = None
    accuracy: Accuracy | None = None
    places: WrongPlaces | None = None
    bias: "Bias | None" = None
    is_tangent: bool = False

    @property
    def array_name(self) -> str:
        """The name of the array whose elements the derivatives belong to."""
        return f"tangent({self.name})" if self.is_tangent else self.name

    @property
    def counted_name(self) -> str:
        """The name of what `counts` counts the elements of: the input, or the Jacobian."""
        return self.name if self.counts is None or self.counts.of == math.prod(self.shape) else f"d out/d {self.name}"

    def __post_init__(self) -> None:
        """Raise ValueError for a pass with an unbounded error."""
        if self.verdict == "pass":
            error = 0.0 if self.worst is None else self.worst.numeric_error
            if not math.isfinite(error) or not math.isfinite(self.resolution or 0.0):
                raise ValueError(f"'{self.name}' cannot pass with an error of {error} and {self.resolution}")

    def rows(self) -> Iterator[Element]:
        """Yield all elements if they were asked for; the input's index varies fastest."""
        if (every := self.elements) is not None:
            yield from (every.element(j, i) for j in range(len(every.rows)) for i in range(len(every.columns)))

    @property
    def every_element(self) -> list[Element] | None:
        return None if self.elements is None else list(self.rows())

    def worst_text(self, precision: int | None = None) -> str:
        """Describe the worst element: its name, its claimed and numeric derivative, and the error of the latter."""
        worst = self.worst
        if worst is None:
            return ""
        place = label_part(self.array_name, worst.place, worst.part)
        if worst.output or worst.output_part:
            place = f"d {label_part('out', tuple(map(repr, worst.output)), worst.output_part)}/d {place}"
        if self.bias is not None:
            return f"{place}: {self.bias.text(worst.claimed, worst.numeric, precision or 4)}"
        digits = digits_to_tell(worst.claimed, worst.numeric, precision or COMPARED_DIGITS)
        claimed = f"{place}: claimed {float(worst.claimed):z.{digits}g}"
        if worst.sides is not None:
            tolerance = 1e-7 * max((abs(side) for side in worst.sides if math.isfinite(side)), default=0.0)
            low, high = sorted(side if abs(side) > tolerance else 0.0 for side in worst.sides)
            if low - tolerance <= worst.claimed <= high + tolerance:
                return f"{claimed}, which is possible at this kink, but not together with the other claimed values"
            return f"{claimed}; at this kink it must lie in [{low:.7g}, {high:.7g}]"
        if math.isnan(worst.numeric) and self.accuracy is None:
            contradicted = ", but the integral of the claim does not follow the values of the function"
            return f"{claimed}; no numeric derivative could be computed{contradicted * (self.verdict == 'fail')}"
        word = "numeric" if self.accuracy is None else "reference"
        error = 0.0 if worst.numeric == 0 and worst.numeric_error < sys.float_info.min else worst.numeric_error
        return f"{claimed}, {word} {float(worst.numeric):z.{digits}g} ± {error:.2g}"
