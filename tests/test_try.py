"""The page `try` of the site: what it runs answers on a platform without timers, threads and processes."""

import json
import re
import shutil
import subprocess
import sys
from html import unescape

import pytest

from .command import ROOT, run

STATIC = ROOT / "man/site/static"
PAGE = (ROOT / "man/site/pages/try.md").read_text()
EXAMPLES = [unescape(line) for line in re.findall(r"<button>(.*)</button>", PAGE)]
FILE = re.search(r"<textarea.*?>(.*?)</textarea>", PAGE, re.S)[1]
MORE = {
    "grad 'x^2' x=3": "6",
    "jacobian 'x*[1,2]' x=3 -f tsv": "out[0]/x\t1.0\nout[1]/x\t2.0\n",
    "grad 'x^2' x=1 --dtype float32 -f tsv": "x\t2.0\n",
    "eval 'x/3' x=1 -f tsv": "value\t0.3333333333333333\n",
    "gradcheck 'x^3' --grad '3*x^2' x=2 -j 2 --timeout 5": "✓ pass",
    "gradcheck 'x^3' --grad '2*x^2' x=2": "✗ fail",
    "plot 'sin(x)' x=0:1 -f tsv --points 2": "0.0\t0.0\t1.0\n",
    "precision 'exp(x) - 1' x=1e-9 -f tsv": "1e-09\t",
    "graph 'x^2' x=2 -f svg": "</svg>",
    "gradcheck example.py:loss --grad gradient x='[1, 2]' --taylor": "rate",
    "help exit-codes": "NAME",
}
FAILING = {"watch -- python f.py": 2, "grad cmd:cat x0=1": 3, "mutate example.py:gradient -- true": 2, "grad 'x^2": 2}
RUNNER = """
import json, runpy, sys
from tests.bare_platform import impoverish
impoverish()
answer = runpy.run_path("{path}")["answer"]
lines, file = json.loads(sys.stdin.read())
print(json.dumps([answer(line, 80, file) for line in lines]))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Run all lines in one process, as the page does, and return (output, messages, exit code) by line."""
    lines = [*EXAMPLES, *MORE, *FAILING]
    code = RUNNER.format(path=STATIC / "try.py")
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([lines, FILE]),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=tmp_path_factory.mktemp("try"),
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(lines, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("line", EXAMPLES)
def test_examples_answer(line, answers):
    out, messages, code = answers[line]
    assert out.strip() and "Traceback" not in out + messages and code == ("claimed" in out and "fail" in out), messages


@pytest.mark.parametrize("line", MORE)
def test_other_commands_answer(line, answers):
    out, messages, _ = answers[line]
    assert MORE[line] in out and "Traceback" not in out + messages, (out, messages)


@pytest.mark.parametrize("line", FAILING)
def test_what_needs_processes_says_so(line, answers):
    out, messages, code = answers[line]
    assert code == FAILING[line] and messages.startswith("error: ") and "Traceback" not in messages and not out


def test_results_are_tables(answers):
    assert "gradient" in answers[EXAMPLES[0]][0].splitlines()[2]


NODE = """
import { start, reply } from "PATH";
const sent = [], unpacked = [];
const send = (message) => sent.push(message);
const python = {
  loadPackage: async (names) => { python.loaded = names; },
  unpackArchive: (archive, kind) => unpacked.push([archive, kind]),
  runPython: (code) => { python.code = code; },
  globals: { get: (name) => (line, columns, file) => ({ toJs: () => [line + file, name, columns], destroy() {} }) },
};
const files = async (name) => new TextEncoder().encode(name).buffer;
const answer = await start(async () => python, files, send);
reply(answer, { line: "grad x", columns: 80, file: "!" }, send);
console.log(JSON.stringify({ sent, code: python.code, loaded: python.loaded, kind: unpacked[0][1] }));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_worker_loads_python_and_answers(tmp_path):
    path = tmp_path / "run.mjs"
    path.write_text(NODE.replace("PATH", (STATIC / "try-worker.mjs").as_uri()))
    done = run(["node", path])
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert got["code"] == "_static/try.py" and got["kind"] == "zip" and "numpy" in got["loaded"]
    assert [message["state"] for message in got["sent"]] == ["loading", "loading", "loading", "ready", "answer"]
    assert got["sent"][-1] == {"state": "answer", "out": "grad x!", "messages": "answer", "code": 80}


def test_the_page_has_what_its_script_looks_for():
    script = (STATIC / "try.mjs").read_text()
    wanted = {*re.findall(r'part\("(\w+)"\)', script), "examples"}
    assert wanted == {*re.findall(r'id="try-(\w+)"', PAGE)} - {"state"} | {"state"}
    assert 'src="_static/try.mjs"' in PAGE and "try-worker.mjs" in script
