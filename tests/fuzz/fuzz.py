"""Fuzz with coverage: python -m tests.fuzz.fuzz CORPUS [libFuzzer's options]. It needs the package atheris.

Findings are printed and kept in CORPUS/../findings; the run goes on. `-max_total_time=1800` ends it after half an
hour. The corpus starts with the one that is kept in tests/fuzz/corpus.txt.
"""

import hashlib
import pkgutil
import random
import re
import sys
import traceback
from importlib import import_module
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["gradcli"]):
    import gradcli

    for found in pkgutil.walk_packages(gradcli.__path__, "gradcli."):
        if not found.name.endswith(("__main__", "pytest_plugin")):
            import_module(found.name)
    from gradcli.lang.evaluate import function_names

    from .target import KEPT, run

ATOMS = "x y A v n z 0 1 -1 2 0.5 1e300 inf nan 2j True None ... [1,2] (0,1) axis=0 axis=-1 keepdims=True".split()
PARTS = (
    *ATOMS,
    *(f"{name}(" for name in function_names()),
    *"+ - * / ** ^ @ // % < == & | and or not ~ [ ] ) , : ; = .T .sum() [0] [::-1] [x>0]".split(),
)
TOKEN = re.compile(r"\w+\(?|[^\w\s]|\s+")


def mutated(data: bytes, most: int, seed: int) -> bytes:
    """Change an input: half of the expressions by exchanging a part for another, all else byte by byte."""
    rng = random.Random(seed)
    if data[:1] == b"f" or rng.random() < 0.4:
        return atheris.Mutate(data, most)
    tokens = TOKEN.findall(data[2:].decode(errors="replace"))
    for _ in range(rng.choice((1, 1, 2, 3))):
        begin = rng.randrange(len(tokens) + 1)
        end, depth = begin, 0
        while end < len(tokens) and (end == begin or depth > 0):
            depth += (tokens[end][-1:] in ("(", "[")) - (tokens[end][-1:] in (")", "]"))
            end += 1
        part = rng.choice((*PARTS, "".join(tokens[begin:end])))
        if part.endswith("("):
            part = part + ", ".join([*rng.choices(ATOMS, k=rng.choice((0, 1, 1, 2))), "".join(tokens[begin:end])]) + ")"
        tokens[begin : rng.choice((begin, end, end))] = [part]
    way = rng.randrange(256) if rng.random() < 0.2 else data[1] if len(data) > 1 else 65
    return (data[:1] + bytes([way]) + "".join(tokens).encode())[:most]


def main() -> None:
    """Fuzz until libFuzzer's options say to stop."""
    corpus = Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    findings = corpus.parent / "findings"
    findings.mkdir(exist_ok=True)
    for data in KEPT:
        (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)
    words = corpus.parent / "words.dict"
    words.write_text("".join('"{}"\n'.format(text.replace("\\", "\\\\")) for text in PARTS))
    known: set[str] = set()

    def one(data: bytes) -> None:
        try:
            run(data)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{type(error).__name__} {[(f.name, f.lineno) for f in frames][-3:]} {str(error)[-160:]}"
            if place not in known:
                known.add(place)
                (findings / hashlib.sha1(data).hexdigest()).write_bytes(data)
                print("FINDING", data[:300], place, file=sys.__stderr__, flush=True)

    options = ["-timeout=0", "-rss_limit_mb=2048", "-max_len=400", f"-dict={words}", *sys.argv[2:]]
    atheris.Setup([sys.argv[0], str(corpus), *options], one, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
