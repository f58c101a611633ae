"""The mean of an estimator and the band of its interval, as samples are added, in SVG for pages."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..results.estimators import Bias
from ..results.inputs import Element, LineValues, label_part
from .svg import BOTTOM, HEIGHT, LEFT, RIGHT, SLOPE_STROKES, TOP, WIDTH, PlotFrame, escape_markup, figure_svg, tag

SHOWN_LOOKS = 0.5  # looks from this part on set the range of the picture: the first bands are much wider


def mean_plot(name: str, bias: Bias, worst: Element) -> str:
    """Plot the mean over the number of samples, which doubles from look to look, with its band and the derivative."""
    x = np.log2([look.samples for look in bias.mean_so_far])
    mean, width = (np.array([getattr(look, key) for look in bias.mean_so_far]) for key in ("mean", "half_width"))
    x, mean, width = (np.concatenate([v, v]) if len(v) == 1 else v for v in (x, mean, width))
    x = x + (np.arange(len(x)) if x[0] == x[-1] else 0)
    late = slice(int(SHOWN_LOOKS * (len(x) - 1)), None)
    shown = np.concatenate([(mean - width)[late], (mean + width)[late], [worst.numeric]])
    shown = shown[np.isfinite(shown)]
    plot = PlotFrame(LineValues(x[[0, -1]], np.array([shown.min(), shown.max()]), (x[0], float(worst.numeric))))
    band = [*zip(x, mean + width, strict=True), *zip(x[::-1], (mean - width)[::-1], strict=True)]
    points = [plot.point(a, b if np.isfinite(b) else plot.high * 2) for a, b in band]
    (truth, _, key), (claimed, _, _) = SLOPE_STROKES
    ends = plot.path(x[[0, -1]], np.full(2, float(worst.numeric)))
    drawn = [
        tag("path", d=f"M{'L'.join(points)}Z", fill=claimed, fill_opacity="0.2"),
        tag("path", d=ends, fill="none", stroke=truth, stroke_width=2),
        tag("path", d=plot.path(x, mean), fill="none", stroke=claimed, stroke_width=2),
    ]
    frame: dict[str, Any] = {"x": LEFT, "y": TOP, "width": RIGHT - LEFT, "height": BOTTOM - TOP}
    element = label_part(name, worst.place, worst.part)
    labels = [
        (LEFT, BOTTOM + 16, "start", str(bias.mean_so_far[0].samples)),
        (RIGHT, BOTTOM + 16, "end", str(bias.mean_so_far[-1].samples)),
        ((LEFT + RIGHT) / 2, BOTTOM + 32, "middle", "samples"),
        (LEFT - 6, TOP + 10, "end", f"{plot.high:.4g}"),
        (LEFT - 6, BOTTOM, "end", f"{plot.low:.4g}"),
    ]
    parts = [
        tag("rect", **frame, fill="none", stroke="var(--line)"),
        tag("svg", "".join(drawn), **frame, viewBox=f"{LEFT} {TOP} {RIGHT - LEFT} {BOTTOM - TOP}"),
        *(tag("text", text, x=x0, y=y, text_anchor=anchor) for x0, y, anchor, text in labels),
    ]
    texts = (f"derivative {worst.numeric:.6g}", f"mean {worst.claimed:.6g} with its interval at level {bias.level:g}")
    about = f"the mean for {element} over the number of samples: {' and '.join(texts)}"
    keys = [(truth, key, texts[0]), (claimed, key, texts[1])]
    caption = "; ".join(
        f'<span style="color: {colour}">{mark} {escape_markup(text)}</span>' for colour, mark, text in keys
    )
    picture = figure_svg(WIDTH, HEIGHT, "".join(parts), about)
    return f"<figure>{picture}\n<figcaption>{escape_markup(element)}: {caption}</figcaption></figure>"
