"""The documentation site: `make site` writes its sources to build/site-sources and its pages to build/site.

The README, the manual, the findings and the changelog with the news of man/news become pages; the others are in
pages/. This file does not import gradcli: `make man` writes the manual, it is committed, and pandoc converts it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pypandoc

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "build/site-sources"
EXTRA = ROOT / "build/site-extra"
MANUAL = sorted((ROOT / "man").glob("*.[1-9]"), key=lambda page: page.stem)
SECTIONS = {
    "Gallery": ["gallery/index", "try"],
    "How it works": ["decisions", "comparison", "differentiation", "glossary"],
    "Recipes": [f"recipes/{name}" for name in ("fortran", "rust", "julia", "octave", "javascript")],
    "Evidence": [
        "The verdict in detail <manual/gradcli-verdict.7>",
        "Benchmarks <manual/gradcli-bench.7>",
        "Bugs found <manual/gradcli-found.7>",
        "bank",
    ],
    "Formats and language": [
        "manual/gradcli-expressions.7",
        "manual/gradcli-json.5",
        "manual/gradcli-manifolds.7",
        "manual/gradcli-protocol.7",
        "manual/gradcli-configuration.5",
        "manual/gradcli-environment.7",
        "manual/gradcli-exit-codes.7",
        "findings",
    ],
    "Commands": [f"manual/{page.name}" for page in MANUAL if page.suffix == ".1"],
    "Project": ["changelog"],
}
"""The pages in the order of the sidebar."""
REFERENCE = re.compile(r"(?<![\[\w`/-])(gradcli(?:-[a-z]+)?)\((\d)\)")
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

project = "gradcli"
html_title = "gradcli"
html_theme = "furo"
html_copy_source = False
html_baseurl = METADATA["urls"]["Documentation"]
html_theme_options = {"source_repository": METADATA["urls"]["Source"]}
html_static_path = [str(Path(__file__).with_name("static"))]
html_css_files = ["site.css"]
html_extra_path = [str(EXTRA)]
extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
smartquotes = False


def linked(text: str, folder: str = "manual/") -> str:
    """Turn references such as gradcli-grad(1) into links to their pages."""
    return REFERENCE.sub(rf"[\g<0>]({folder}\1.\2.md)", text)


def manual_page(page: Path) -> str:
    """Convert a page of the manual to Markdown. Its name is the title, its description the first paragraph."""
    text = pypandoc.convert_file(page, "markdown_phpextra", format="mdoc", extra_args=["--wrap=none"])
    text = re.sub(r'<span class="Xr">(.*?)</span>', r"\1", text)
    text = re.sub(r"^(#+) (.*)", lambda m: f"#{m[1]} {m[2].capitalize() if m[2].isupper() else m[2]}", text, flags=re.M)
    text = re.sub(r"\A## Name\n\n`.*?` — (.*)", lambda m: f"{m[1][0].upper()}{m[1][1:]}.", text)
    return f"# {page.stem}({page.suffix[1:]})\n\n{linked(text, '')}"


def findings() -> str:
    """Return the page with all findings, as `gradcli help RULE` prints them."""
    parts = [
        "# Findings",
        "Reports name findings in brackets, such as `[nan-where]`; `gradcli help NAME` prints the page of a finding.",
    ]
    for name, cause in tomllib.loads((ROOT / "gradcli/results/causes.toml").read_text()).items():
        wrong, right = (f"```python\n{cause[key].strip()}\n```" for key in ("wrong", "right"))
        command = cause.get("group", "gradcheck")
        parts += [f"## {name}\n\n`gradcli {command}`: {cause['title']}.\n\n{cause['meaning'].strip()}"]
        parts += [f"{wrong}\n\nFix: {cause['fix']}.\n\n{right}"]
    return "\n\n".join(parts)


def changelog() -> str:
    """Return the changelog, with the changes since the last version in front."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "Unreleased"]
    news = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    news = re.sub(r"\A## .*", "## Unreleased\n", news)
    head, mark, versions = (ROOT / "CHANGELOG.md").read_text().partition("<!-- towncrier release notes start -->")
    return linked(f"{head}{mark}\n\n{news}{versions}")


def home() -> str:
    """Return the README with the list of all pages, which the theme shows in the sidebar."""
    trees = (f"```{{toctree}}\n:hidden:\n:caption: {head}\n" for head in SECTIONS)
    lists = ("\n".join(["", *pages, "```"]) for pages in SECTIONS.values())
    readme = re.sub(r"\]\((?:samples|man/site/pages)/", "](", (ROOT / "README.md").read_text())
    return "\n\n".join([linked(readme), *map(str.__add__, trees, lists)])


def pack(folder: Path) -> None:
    """Write the package as gradcli.zip, which the page `try` unpacks in the browser."""
    folder.mkdir(parents=True, exist_ok=True)
    package = ROOT / "gradcli"
    with zipfile.ZipFile(folder / "gradcli.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(ROOT))


def setup(_: object) -> None:
    """Write all pages into an empty folder, before Sphinx looks for them."""
    pack(EXTRA)
    shutil.rmtree(SOURCES, ignore_errors=True)
    shutil.copytree(Path(__file__).with_name("pages"), SOURCES)
    shutil.copytree(ROOT / "samples/pictures", SOURCES / "pictures")
    for path in SOURCES.rglob("*.md"):
        titled = re.sub(r'^```(\w+) title="(.*)"$', r"```{code-block} \1\n:caption: \2", path.read_text(), flags=re.M)
        path.write_text(titled)
    texts = {f"manual/{page.name}": manual_page(page) for page in MANUAL}
    texts |= {"index": home(), "findings": findings(), "changelog": changelog()}
    (SOURCES / "manual").mkdir()
    for name, text in texts.items():
        (SOURCES / f"{name}.md").write_text(text)
