"""Processes that answer JSON lines: the samples, and processes that chatter, crash and hang."""

import shlex
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from gradcli.program.claim import GoneError
from gradcli.program.elsewhere.process import Process

from .run import gradcheck, message_of, verdicts

SAMPLES = Path(__file__).parents[3] / "samples" / "elsewhere"
TOOLS = {"c": "cc", "f90": "gfortran", "R": "Rscript", "js": "node"}
POINT = "x0=[1.2,2]"


def command_of(suffix: str, folder: Path, edit: tuple[str, str] | None = None) -> str:
    """Return the target of a sample, with a text of it replaced; skip where its tool is missing."""
    tool = TOOLS[suffix]
    if shutil.which(tool) is None:
        pytest.skip(f"there is no {tool} here")
    text = (SAMPLES / f"rosen.{suffix}").read_text()
    if edit:
        assert edit[0] in text
        text = text.replace(*edit)
    source = folder / f"rosen.{suffix}"
    source.write_text(text)
    if suffix in ("js", "R"):
        return f"cmd:{tool} {shlex.quote(str(source))}"
    subprocess.run([tool, source, "-o", folder / "rosen"], check=True)
    return f"cmd:{shlex.quote(str(folder / 'rosen'))}"


RIGHT = {"c": "s * 200 * d", "f90": "200 * d]", "R": "200 * d)", "js": "s * 200"}
"""How each says what is right, which with 202 is wrong."""


@pytest.mark.parametrize("suffix", TOOLS)
def test_the_samples_pass_and_fail_when_spoilt(suffix, tmp_path):
    code, found, errors = gradcheck(command_of(suffix, tmp_path), POINT)
    assert (code, verdicts(found)) == (0, ["pass"])
    assert errors.startswith("1 passed in ") and errors.count("\n") == 1
    # d/dy = 200 (y - x^2) = 112, d/dx = 0.4 - 480 (0.56) = -268.4
    worst = found["checks"][0]["inputs"]["x0"]["worst"]
    assert worst["analytic"] == pytest.approx([-268.4, 112.0][worst["index"][0]], rel=1e-12)
    wrong = (RIGHT[suffix], RIGHT[suffix].replace("200", "202"))
    code, found, _ = gradcheck(command_of(suffix, tmp_path, wrong), POINT)
    assert (code, verdicts(found)) == (1, ["fail"])
    worst = found["checks"][0]["inputs"]["x0"]["worst"]
    assert worst["index"] == [1]
    assert worst["analytic"] == pytest.approx(202 * 0.56, rel=1e-12)


def test_the_samples_are_short_and_complete():
    lines = {path.suffix[1:]: len(path.read_text().splitlines()) for path in SAMPLES.iterdir()}
    assert set(lines) == set(TOOLS)
    assert max(lines.values()) < 40


MODEL = """
    import json, os, signal, sys, time
    count = 0
    for line in sys.stdin:
        request = json.loads(line)
        method, answer = request["method"], None
        if method == "ModelInfo":
            answer = {{"support": {{"Evaluate": True, "Gradient": True}}}}
        elif method == "Evaluate":
            count += 1
            x = request["input"][0]
            {evaluate}
            answer = {{"output": [[sum(v**3 for v in x)]]}}
        elif method == "Gradient":
            {gradient}
            answer = {{"output": [3 * v**2 * request["sens"][0] for v in request["input"][0]]}}
        else:
            answer = {{"error": {{"type": "UnsupportedFeature", "message": method}}}}
        print(json.dumps(answer), flush=True)
"""


def model(folder: Path, evaluate: str = "pass", gradient: str = "pass", name: str = "model") -> str:
    """Return the target of a model that does something besides; it tells no sizes, which it need not."""
    path = folder / f"{name}.py"
    path.write_text(textwrap.dedent(MODEL).format(evaluate=evaluate, gradient=gradient))
    return f"cmd:{shlex.quote(sys.executable)} {shlex.quote(str(path))}"


def test_a_model_that_tells_no_sizes(tmp_path):
    code, found, _ = gradcheck(model(tmp_path), "x0=[1,2,3]")
    assert (code, verdicts(found)) == (0, ["pass"])
    code, found, _ = gradcheck(model(tmp_path))
    assert code == 2
    assert "x0=" in found["error"]["hint"]


TWICE = "print(json.dumps({'output': [[sum(v**3 for v in x)]], **ID}), flush=True)"
BESIDES = {  # what a model prints besides, and what of it is handed on to standard error
    "a second answer": (f"ID = {{}}; {TWICE}", ""),
    "a second answer, and a pause": (f"ID = {{}}; {TWICE}; time.sleep(0.005)", ""),
    "a second answer with the id": (f"ID = {{'id': request['id']}}; {TWICE}", ""),
    "a second answer with the id, and a pause": (f"ID = {{'id': request['id']}}; {TWICE}; time.sleep(0.005)", ""),
    "an answer to another request": (
        "print(json.dumps({'output': [[1e9]], 'id': request['id'] - 1}), flush=True)",
        "1000000000",
    ),
    "a line": ("print('evaluating', x[0] == 1.2, flush=True)", "evaluating True\n"),
    "a line of standard error": ("print('warm', file=sys.stderr, flush=True)", "warm\n"),
}


@pytest.mark.parametrize("what", BESIDES)
def test_what_is_printed_besides_shifts_no_answer(what, tmp_path):
    evaluate, said = BESIDES[what]
    code, found, errors = gradcheck(model(tmp_path, evaluate), POINT)
    assert (code, verdicts(found)) == (0, ["pass"]), (found, errors)
    assert said in errors


CRASHES = [
    ("if count > 9: print('out of oil', file=sys.stderr); os._exit(7)", "ended with status 7 at Evaluate"),
    ("if count > 9: print('out of oil', flush=True); os.kill(os.getpid(), signal.SIGKILL)", "signal 9 (SIGKILL)"),
    ("if count > 9: print('out of oil'); raise ValueError('no')", "ValueError: no"),
    ("if count > 9: print('out of oil', flush=True); os.close(1); time.sleep(60)", "closed its standard output"),
    ("if count > 9: print('out of oil', flush=True); time.sleep(60)", "no answer to Evaluate within 2 seconds"),
]


@pytest.mark.parametrize("evaluate, message", CRASHES, ids=[message for _, message in CRASHES])
@pytest.mark.parametrize("jobs", [1, 2])
def test_what_dies_or_hangs_is_an_error_in_time_and_others_are_unharmed(evaluate, message, jobs, tmp_path):
    targets = [model(tmp_path, name="first"), model(tmp_path, evaluate), model(tmp_path, name="last")]
    start = time.monotonic()
    code, found, _ = gradcheck(*targets, POINT, "-j", jobs, "--timeout", "2")
    assert time.monotonic() - start < 30
    assert (code, verdicts(found)) == (3, ["pass", "error", "pass"])
    assert message in found["checks"][1]["message"]
    assert "out of oil" in found["checks"][1]["message"]


def test_a_killed_gradient_is_an_error(tmp_path):
    code, found, _ = gradcheck(model(tmp_path, gradient="os.kill(os.getpid(), signal.SIGSEGV)"), POINT)
    assert (code, verdicts(found)) == (3, ["error"])
    assert "signal 11 (SIGSEGV) at Gradient" in found["checks"][0]["message"]


def test_an_error_beside_the_point_is_no_end_of_the_check(tmp_path):
    """A function without values below 0, checked at 0.001: an error is an answer, too."""
    said = "{'error': {'type': 'Domain', 'message': 'below 0'}}"
    target = model(tmp_path, f"if x[0] < 0: print(json.dumps({said}), flush=True); continue")
    code, found, _ = gradcheck(target, "x0=[0.001]")
    assert (code, verdicts(found)) == (0, ["pass"])
    code, found, _ = gradcheck(target, "x0=[-1]")
    assert (code, verdicts(found)) == (3, ["error"])
    assert "Domain: below 0" in message_of(found)


@pytest.mark.parametrize(
    "words, code, message",
    [
        (("cmd:/no/such/program",), 3, "No such file or directory"),
        (("cmd:",), 2, "names no command"),
        (("cmd:'",), 2, "No closing quotation"),
        (("cmd:cat", "--safe"), 2, "--safe"),
        (("cmd:cat", "--vjp", "b"), 2, "--vjp"),
        (("cmd:cat",), 3, "no dict 'support'"),
        (("cmd:cat", "--config", "[" * 5000), 2, "--config is no JSON"),
        (("http://[::1/m",), 2, "is no address: Invalid IPv6 URL"),
        (("http://" + "a" * 70 + "/m",), 3, "label"),
        (("cmd:cat", "--order", "2"), 3, ""),
    ],
)
def test_what_cannot_be_started(words, code, message):
    got, found, _ = gradcheck(*words, POINT)
    assert (got, message in message_of(found)) == (code, True), found


def test_a_process_is_started_anew_after_its_end(tmp_path):
    path = tmp_path / "once.py"
    path.write_text("print('{\"pid\": %d}' % __import__('os').getpid(), flush=True); input(); input()")
    process = Process([sys.executable, str(path)], "once", 5)
    first = process.ask("a", {})["pid"]
    with pytest.raises(GoneError, match="ended with status 0"):
        process.ask("b", {})
    assert process.ask("c", {})["pid"] != first
    process.close()


def test_an_answer_or_a_word_without_end(monkeypatch, capfd):
    """Neither fills the memory; the first is no answer, the second is handed on in pieces."""
    monkeypatch.setattr("gradcli.program.elsewhere.process.MOST_BYTES", 1 << 24)
    code = "import os, sys\nfor i in range({}): os.write({}, b'x' * 100000)\nprint('{{}}', flush=True); input()"
    process = Process([sys.executable, "-c", code.format(1000, 1)], "floods", 20)
    with pytest.raises(GoneError, match="an answer of more than 16 MiB"):
        process.ask("a", {})
    process = Process([sys.executable, "-c", code.format(100, 2)], "floods", 20)
    assert process.ask("a", {}) == {}
    process.close()
    assert capfd.readouterr().err.count("x") > 9_000_000


def test_long_lines_in_both_directions():
    """More than the pipes hold: nobody waits for the other."""
    code = "import sys\nfor line in sys.stdin: print('x' * 10**6 + chr(10) + line, end='', flush=True)"
    process = Process([sys.executable, "-c", code], "echo", 20)
    numbers = list(range(300_000))
    assert process.ask("echo", {"input": numbers}) == {"method": "echo", "input": numbers}
    process.close()
