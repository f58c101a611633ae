"""Colours are readable on light and dark backgrounds, and numbers do not look like errors."""

import re

import pytest
from rich.style import Style

from gradcli.show.arrays import COMPLEX_COLOUR, NEGATIVE_COLOUR, POSITIVE_COLOUR, shade
from gradcli.show.html import STYLE


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(
        weight * (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4)
        for weight, x in zip((0.2126, 0.7152, 0.0722), parts, strict=True)
    )


def contrast(colour, other):
    """Return the contrast ratio of WCAG 2, from 1 to 21."""
    low, high = sorted((luminance(colour), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", [POSITIVE_COLOUR, NEGATIVE_COLOUR, COMPLEX_COLOUR])
@pytest.mark.parametrize("background", ["#ffffff", "#000000"])
def test_numbers_are_readable_on_a_terminal(name, background):
    assert contrast(Style.parse(name).color.get_truecolor().hex, background) > 4


def test_a_negative_number_does_not_look_like_an_error():
    assert "red" in shade(float("nan"), 1.0)
    assert "red" not in shade(-1.0, 1.0)
    assert shade(-1.0, 1.0) != shade(1.0, 1.0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_readable(scheme):
    blocks = re.findall(r"\{([^{}]*--ink[^{}]*)\}", STYLE)
    colours = dict(re.findall(r"--(\w+): (#\w{6})", blocks[scheme == "dark"]))
    for name in ("ink", "dim", "pass", "fail", "unsure", "error", "first", "second"):
        for paper in ("paper", "soft"):
            assert contrast(colours[name], colours[paper]) > 4.5, name
