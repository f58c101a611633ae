"""HTML pages of checks and traces: their content, that they fetch nothing, and how a browser shows them."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.cli.main import main
from gradcli.results.checks import CheckSummary, FoundPoint
from gradcli.results.inputs import Elements, InputCheck
from gradcli.show.html import MOST_TABLE_ROWS, STYLE, element_rows

CHECKS = """
import numpy as np
import gradcli
W = np.arange(1.0, 7.0).reshape(2, 3)
def wrong(w):
    g = 2 * w
    g[1, 2] = -12
    return g
@gradcli.check(at={"w": W}, grad=wrong, name="<script>window.bad = 1</script>")
def penalty(w):
    return np.sum(w**2)  # a & b < c
@gradcli.check(at={"x": np.array([1.0, 2.0])}, grad=lambda x: np.diag([2 * x[0], 7.0]))
def squares(x):
    return x**2
@gradcli.check(at={"x": np.array([1.0, 2.0])}, grad=lambda x: 2 * x)
def fine(x):
    return np.sum(x**2)
@gradcli.check(at={"x": np.array([1.0, 2.0])}, grad=lambda x: 1 / 0)
def raising(x):
    return np.sum(x**2)
"""
PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needed = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed (Debian: apt install chromium)")
DARK = "--blink-settings=preferredColorScheme=0"


def probe(page: Path, script: str, *, width: int = 1280, at: str = "", options: tuple[str, ...] = ()) -> Any:
    """Open a page in a headless browser with one more script; return what the script assigns to `found`.

    A window is at least 500 pixels wide, so a narrower page is put into a frame of its width.
    """
    copy = page.with_name(f"probe-{page.name}")
    more = f"<script>let found; {script}; top.document.title = 'found ' + JSON.stringify(found);</script></body>"
    text = page.read_text().replace("</body>", more)
    if width < 500:
        frame = f'<iframe width="{width}" height="800" style="border: 0" srcdoc="{html.escape(text)}">'
        text = f"<title></title>{frame}</iframe>"
    copy.write_text(text)
    command = [
        str(PROGRAM), "--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},900", *options,
    ]  # fmt: skip
    profile = f"--user-data-dir={page.parent / 'profile'}"
    done = subprocess.run(
        [*command, profile, "--virtual-time-budget=3000", "--dump-dom", f"{copy.as_uri()}{at}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    title = re.search(r"<title>found (.*?)</title>", done.stdout)
    assert title is not None, done.stdout[-2000:]
    return json.loads(html.unescape(title[1]))


VOID = {"meta", "br", "wbr"}


class Reader(HTMLParser):
    """The content of a page: tags with attributes, text, and cells of tables. Tags must be balanced."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.text = ""
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "script" not in self.open:
            self.text += data
        if self.open and self.rows and ("td" in self.open or "th" in self.open):
            self.rows[-1][-1] += data


@pytest.fixture
def report(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checks.py").write_text(CHECKS)
    assert main(["gradcheck", "checks.py", "-f", "html", "-o", "report.html"]) == 1
    return tmp_path / "report.html"


@pytest.fixture
def trace(tmp_path) -> Path:
    assert main(["trace", "a = x*y; sin(a)", "x=2", "y=3", "-o", str(tmp_path / "trace.html")]) == 0
    return tmp_path / "trace.html"


def assert_fetches_nothing(found: Reader) -> None:
    """Check that a page refers to nothing outside itself and that its policy forbids it."""
    for tag, attributes in found.tags:
        assert tag not in ("link", "img", "iframe", "object", "base")
        assert "src" not in attributes and attributes.get("href", "#").startswith("#")
        assert not any(name.startswith("on") for name in attributes)
    policy = next(a["content"] for tag, a in found.tags if tag == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none'")
    assert "url(" not in STYLE and "@import" not in STYLE


def test_a_report_is_complete(report):
    text = report.read_text()
    found = Reader(text)
    assert_fetches_nothing(found)
    assert "<script" not in text and "&lt;script&gt;window.bad = 1&lt;/script&gt;" in text
    for words in (
        "1 passed, 2 failed, 1 error",
        "checks.py:9",
        "return np.sum(w**2)  # a & b < c",
        "gradcli gradcheck checks.py -k '<script>window.bad = 1</script>'",
        "raised ZeroDivisionError",
        "single element",
    ):
        assert words in found.text
    cells = {row[0]: row[1:] for row in found.rows if row[0].startswith("w[")}
    assert list(cells) == [f"w[{i},{j}]" for i in range(2) for j in range(3)]
    value, claimed, numeric, ratio, verdict = cells["w[1,2]"]
    assert (value, claimed, ratio, verdict) == ("6", "-12", "-1", "✗ fail")
    middle, error = map(float, numeric.split(" ± "))
    assert abs(middle - 12) <= error < 1e-6 and cells["w[0,1]"][-1] == "✓ pass"
    jacobian = [row for row in found.rows if row[0].startswith("out[")]
    assert [(row[0], row[1], row[3]) for row in jacobian] == [
        (f"out[{i}]", f"x[{j}]", str([[2, 0], [0, 7]][i][j])) for i in range(2) for j in range(2)
    ]


def test_a_report_draws_maps_and_both_slopes(report):
    found = Reader(report.read_text())
    labels = [a["aria-label"] for tag, a in found.tags if tag == "svg" and "aria-label" in a]
    assert "the function along w[1,2], with the numeric slope 12 and the claimed slope -12" in labels
    assert [label.split(";")[0] for label in labels if "elements" in label] == [
        "claimed: 2 by 3 elements",
        "numeric: 2 by 3 elements",
        "claimed: 2 by 2 elements",
        "numeric: 2 by 2 elements",
    ]
    cells = [a for tag, a in found.tags if tag == "rect" and "fill-opacity" in a]
    assert len(cells) == 2 * (6 + 4) and sum(a["stroke"] == "var(--fail)" for a in cells) == 4


def test_at_a_kink_the_slopes_of_both_sides_are_drawn(tmp_path):
    words = ["gradcheck", "x.py:f", "--grad", "g", "x=0", "-o", str(tmp_path / "kink.html")]
    (tmp_path / "x.py").write_text("def f(x):\n    return abs(x)\ndef g(x):\n    return 5.0\n")
    assert main([*words[:1], str(tmp_path / "x.py:f"), *words[2:]]) == 1
    found = Reader((tmp_path / "kink.html").read_text())
    labels = [a["aria-label"] for tag, a in found.tags if tag == "svg" and "aria-label" in a]
    assert labels[0] == "the function along x, with the slopes -1 and 1 at a kink and the claimed slope 5"
    assert "The only element" in found.text


def test_a_list_of_checks_is_a_page(tmp_path):
    (tmp_path / "checks.py").write_text(CHECKS)
    assert main(["gradcheck", str(tmp_path / "checks.py"), "--list", "-o", str(tmp_path / "list.html")]) == 0
    found = Reader((tmp_path / "list.html").read_text())
    assert "<script>window.bad = 1</script>" in found.text and "script" not in [tag for tag, _ in found.tags]
    assert "squares" in found.text and [tag for tag, _ in found.tags].count("tr") == 5


def test_scrolling_boxes_can_take_the_keyboard_focus(report, trace):
    for path in (report, trace):
        for tag, attributes in Reader(path.read_text()).tags:
            if tag == "pre" or "wide" in attributes.get("class", "").split():
                assert attributes.get("tabindex") == "0"


def test_only_the_worst_of_very_many_elements_are_shown():
    n = MOST_TABLE_ROWS + 7
    numeric = np.ones((1, n))
    claimed = numeric.copy()
    claimed[0, -1] = 3
    names = tuple(((i,), "") for i in range(n))
    every = Elements((((), ""),), names, claimed, numeric, np.full((1, n), 1e-9), np.full((1, n), "pass"))
    item = InputCheck("x", (n,), "fail", 2.0, 2.0, 0.0, 1e-9, None, elements=every, point=np.ones(n))
    text = element_rows(item, every)
    assert f"The worst {MOST_TABLE_ROWS} of {n} elements" in text and f"x[{n - 1}]" in text
    assert text.count("<tr") == MOST_TABLE_ROWS + 1


def test_a_trace_is_readable_without_its_script(trace):
    found = Reader(trace.read_text())
    assert_fetches_nothing(found)
    steps = [a for _, a in found.tags if a.get("class") == "step"]
    assert len(steps) == 4
    assert "d(x * y)/dx = y = 3" in found.text and "x.grad = 2.88051" in found.text
    ids = {a["id"] for _, a in found.tags if "id" in a}
    for step in steps:
        assert {step["data-node"], *step["data-to"].split(), *step["data-edges"].split()} <= ids


@needed
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_fit_the_screen_and_fetch_nothing(width, report, trace):
    for path in (report, trace):
        wide, inside, fetched, bad = probe(
            path,
            "found = [document.documentElement.scrollWidth, innerWidth,"
            " performance.getEntriesByType('resource').length, typeof window.bad]",
            width=width,
        )
        assert wide <= inside == width
        assert (fetched, bad) == (0, "undefined")


@needed
def test_pages_follow_the_preferred_colour_scheme(report):
    script = "found = getComputedStyle(document.body).backgroundColor"
    assert probe(report, script) == "rgb(255, 255, 255)"
    assert probe(report, script, options=(DARK,)) == "rgb(13, 17, 23)"


@needed
def test_keys_step_through_a_trace(trace):
    script = """
    found = [];
    const each = (what) => [...document.querySelectorAll(what)];
    const look = () => [each('.step.now .w-step')[0].textContent.trim().split('  ')[0], each('g.now').length,
      each('g.done').length, each('path.flows').length, location.hash,
      each('.step').filter((x) => x.offsetParent).length];
    const press = (key) => {
      document.dispatchEvent(new KeyboardEvent('keydown', {key, cancelable: true}));
      found.push(look());
    };
    found.push(look());
    ['ArrowRight', 'ArrowRight', 'ArrowLeft', 'End', 'ArrowRight', 'Home'].forEach(press)
    """
    expected = [(1, 1), (2, 2), (3, 0), (2, 2), (4, 0), (4, 0), (1, 1)]  # the step, and how many edges it highlights
    found = probe(trace, script)
    assert found == [[str(n), 1, n - 1, edges, f"#step{n}", 1] for n, edges in expected]


def luminance(colour: str) -> float:
    """Return the relative luminance of #rrggbb (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_is_readable(theme):
    """Every text colour has a contrast ratio of at least 4.5 with every background colour."""
    colours = dict(re.findall(r"--(\w+): (#\w{6})", re.split("prefers-color-scheme: dark", STYLE)[theme]))
    for back in ("paper", "soft"):
        for name in ("ink", "dim", "pass", "fail", "unsure", "error", "first", "second"):
            light, dark = sorted((luminance(colours[name]), luminance(colours[back])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, back)


def notebook(thing) -> Reader:
    return Reader(thing._repr_html_())


def test_notebooks_show_reports():
    found = gradcli.check_gradient(lambda x: np.sum(x**2), lambda x: -2 * x, {"x": np.array([1.0, 2.0])}, name="<b>")
    text = notebook(found).text
    assert "✗ fail <b>" in text and "sign" in text
    assert "1 fail" in notebook(CheckSummary("here", (found,), 0.1)).text
    point = FoundPoint({}, '@gradcli.check(at={"x": <3>})')
    assert point.line in notebook(replace(found, found=point)).text


def test_a_report_shows_the_file_as_it_is_now(tmp_path, monkeypatch):
    """One process reads files with the same name in two folders."""
    for folder, remark in (("a", ""), ("b", "  # the other one")):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("checks.py").write_text(CHECKS.replace("  # a & b < c", remark))
        assert main(["gradcheck", "checks.py", "-f", "html", "-o", "report.html"]) == 1
        assert f"return np.sum(w**2){remark}\n" in Reader(Path("report.html").read_text()).text
