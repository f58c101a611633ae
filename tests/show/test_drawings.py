"""Pictures of graphs: where things are."""

import re

from gradcli.analysis.graph import graph_program
from gradcli.program.target import Target, load_program
from gradcli.request import Request
from gradcli.show import Style
from gradcli.show.svg import render_graph


def places(text, names, direction):
    """Return where the boxes of leaves are in a drawing."""
    result = graph_program(load_program(Target(text, inline=True)), dict.fromkeys(names, 2.0), Request())
    drawn = render_graph(result._replace(direction=direction), Style()).decode()
    found = {name: (float(x), float(y)) for x, y, name in re.findall(r'<text x="(.*?)" y="(.*?)".*?>(.*?)<', drawn)}
    return [found[name] for name in names]


def test_leaves_are_in_the_order_of_the_program():
    for text in ("x * y", "x * y + z", "sin(x) + sin(y) + sin(z)"):
        names = [name for name in "xyz" if name in text]
        upright, lying = (places(text, names, direction) for direction in ("BT", "LR"))
        assert [x for x, _ in upright] == sorted(x for x, _ in upright)
        assert [y for _, y in lying] == sorted(y for _, y in lying)
