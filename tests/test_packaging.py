"""The wheel and the source archive are complete and reproducible, and work when installed."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import gradcli

from .command import ROOT, shell

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
MANUAL = {f"share/man/man{page.suffix[1:]}/{page.name}" for page in (ROOT / "man").glob("*.*")}
COMPLETIONS = {
    "bash": "share/bash-completion/completions/gradcli",
    "fish": "share/fish/vendor_completions.d/gradcli.fish",
    "zsh": "share/zsh/site-functions/_gradcli",
}
VERSIONS = re.findall(r"3\.\d+", " ".join(PROJECT["classifiers"]))

pytest.importorskip("hatchling")


def build(folder: Path, source: Path = ROOT) -> dict[str, Path]:
    """Build both archives of a source tree into a folder; return them by kind."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    return build(tmp_path_factory.mktemp("first"))


@pytest.fixture(scope="module")
def bin_folder(archives, tmp_path_factory):
    """Install the wheel into a new environment that can import this one's packages; return its folder of commands."""
    place = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, archives["wheel"]], check=True)
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    Path(packages, "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "bin"


def run(command: list, folder: Path, **more: str) -> subprocess.CompletedProcess:
    """Run an installed command without environment variables that point to this checkout."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MANPATH")}
    return subprocess.run(
        command, cwd=folder, env={**environment, **more}, check=False, capture_output=True, text=True, timeout=60
    )


@pytest.mark.nightly
def test_two_builds_are_identical(archives, tmp_path):
    for kind, again in build(tmp_path).items():
        assert again.read_bytes() == archives[kind].read_bytes(), kind


@pytest.mark.nightly
def test_the_source_archive_builds_the_same_wheel(archives, tmp_path):
    with tarfile.open(archives["sdist"]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    assert build(tmp_path / "dist", source)["wheel"].read_bytes() == archives["wheel"].read_bytes()


def test_the_wheel_contains_only_the_package_the_manual_and_completions(archives):
    names = set(zipfile.ZipFile(archives["wheel"]).namelist())
    prefix = f"gradcli-{gradcli.__version__}"
    sources = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "gradcli").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    data = {name.removeprefix(f"{prefix}.data/data/") for name in names if f"{prefix}.data/" in name}
    assert data == MANUAL | set(COMPLETIONS.values()) | {"share/gradcli/SKILL.md"}
    assert {name for name in names if name.startswith("gradcli/")} == sources
    assert {name.split("/")[0] for name in names} == {"gradcli", f"{prefix}.data", f"{prefix}.dist-info"}


def test_the_source_archive_contains_everything_needed_to_test_it(archives):
    with tarfile.open(archives["sdist"]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = {*"pyproject.toml README.md LICENSE CHANGELOG.md CITATION.cff Makefile PKG-INFO".split()}
    wanted |= {".pre-commit-hooks.yaml", ".pre-commit-config.yaml"}
    for folder in ("gradcli", "tests", "samples", "man", ".ci", ".github"):
        files = (p for p in (ROOT / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts)
        wanted |= {str(path.relative_to(ROOT)) for path in files}
    assert wanted <= names
    assert not [name for name in names if name.endswith((".pyc", ".so")) or ".venv" in name]


def test_the_metadata(archives):
    with zipfile.ZipFile(archives["wheel"]) as wheel:
        text = wheel.read(f"gradcli-{gradcli.__version__}.dist-info/METADATA").decode()
        entries = wheel.read(f"gradcli-{gradcli.__version__}.dist-info/entry_points.txt").decode()
    assert f"\nVersion: {gradcli.__version__}\n" in text
    assert "Provides-Extra: plot" in text and "pytest" not in text.partition("\n\n")[0]
    assert re.search(r"^Requires-Dist: matplotlib.*; extra == 'plot'$", text, re.M)
    assert "gradcli = gradcli.__main__:main" in entries
    assert "[pytest11]\ngradcli = gradcli.pytest_plugin" in entries
    links = dict(re.findall(r"^Project-URL: (\w+), (https://\S+)$", text, re.M))
    assert set(links) == {"Homepage", "Documentation", "Changelog", "Issues", "Source"}
    classifiers = set(re.findall(r"^Classifier: (.*)$", text, re.M))
    assert classifiers <= set(pytest.importorskip("trove_classifiers").classifiers)
    assert {"Typing :: Typed", "Operating System :: POSIX"} <= classifiers


@pytest.mark.parametrize(
    "version", [*(pytest.param(v, marks=pytest.mark.nightly) for v in VERSIONS[:-1]), VERSIONS[-1]]
)
def test_every_declared_python_version_compiles_the_sources(version, tmp_path):
    """Versions that are not installed are skipped; the repository's workflow runs all tests with each version."""
    python, more = f"python{version}", {"PYENV_VERSION": version, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    if shutil.which(python) is None or run([python, "--version"], tmp_path, **more).returncode:
        pytest.skip(f"Python {version} is not installed")
    done = run([python, "-W", "error", "-m", "compileall", "-q", ROOT / "gradcli"], tmp_path, **more)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("command", [["gradcli"], ["python", "-m", "gradcli"]], ids=" ".join)
def test_the_installed_command(bin_folder, command, tmp_path):
    words = [bin_folder / command[0], *command[1:]]
    done = run([*words, "--version"], tmp_path)
    assert done.stdout == f"gradcli, version {gradcli.__version__}\n", done.stderr
    done = run([*words, "grad", "x**2 * sin(y)", "x=2", "y=3"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("x\t0.56448")
    done = run([*words, "schema", "grad"], tmp_path)  # data files are found as well
    assert done.returncode == 0, done.stderr
    done = run([*words, "help", "vjp"], tmp_path)
    assert done.stdout.startswith("NAME\n     gradcli-vjp - product of a vector"), done.stderr


@pytest.mark.parametrize("shell", COMPLETIONS)
def test_the_installed_completion_equals_the_printed_one(bin_folder, shell, tmp_path):
    printed = run([bin_folder / "gradcli", "completion", shell], tmp_path).stdout
    assert (bin_folder.parent / COMPLETIONS[shell]).read_text() == printed != ""


COMPLETE = {
    "bash": "source {file}; COMP_LINE='gradcli hess' COMP_POINT=12; _gradcli_completion gradcli hess; echo $COMPREPLY",
    "zsh": "fpath=({folder} $fpath); autoload -U compinit; compinit -u -d dump; print $_comps[gradcli]",
    "fish": "complete -C 'gradcli hess'",
}
"""Commands that complete a word with the installed file; in zsh, they print the name of the completion function."""


@pytest.mark.parametrize("shell", COMPLETE)
def test_shells_find_the_installed_completion(bin_folder, shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = bin_folder.parent / COMPLETIONS[shell]
    options = {"bash": ["-c"], "zsh": ["-f", "-c"], "fish": ["-c"]}[shell]
    more = {"XDG_DATA_DIRS": str(bin_folder.parent / "share"), "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    code = COMPLETE[shell].format(file=file, folder=file.parent)
    done = run([shell, *options, code], tmp_path, HOME=str(tmp_path), **more)
    assert done.stdout.startswith("_gradcli\n" if shell == "zsh" else "hessian"), done.stderr


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_man_finds_the_installed_pages(bin_folder, tmp_path):
    for page in ("gradcli", "gradcli-grad", "gradcli-expressions", "gradcli-json"):
        done = run(["man", "-w", page], tmp_path, PATH=f"{bin_folder}:{os.environ['PATH']}")
        if done.returncode and not run(["man", "-w", "ls"], tmp_path).stdout:
            pytest.skip("this man cannot find its own pages")
        assert str(bin_folder.parent) in done.stdout, done.stderr


def test_lower_bounds_are_the_oldest_versions_tested():
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / ".ci/oldest.txt").read_text(), re.M))
    needed = [*PROJECT["dependencies"], *PYPROJECT["dependency-groups"]["test"]]
    for name, bound in (text.split(">=") for text in needed):
        if name not in ("hatchling", "check-jsonschema"):
            assert (pinned[name] + ".0").startswith(bound + "."), name


def test_the_pre_commit_hook_runs(tmp_path):
    """The hook's entry and arguments, combined as pre-commit does, find the declared checks of a folder."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    (entry,), (words,) = re.findall(r"^  entry: (.*)$", text, re.M), re.findall(r"^  args: \[(.*)\]$", text, re.M)
    assert "pass_filenames: false" in text
    declared = "import gradcli\n\n@gradcli.check(at={'x': 2.0}, grad=lambda x: %s)\ndef square(x):\n    return x**2\n"
    for gradient, code in (("2 * x", 0), ("3 * x", 1)):
        folder = tmp_path / str(code)
        folder.mkdir()
        (folder / "square.py").write_text(declared % gradient)
        done = shell(f"{entry} {words.replace(',', '')}", folder)
        assert done.returncode == code, done.stdout + done.stderr
