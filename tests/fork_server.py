"""Runs commands in forks of a process that has imported gradcli already: for tests where the start is not the point.

A start costs 0.3 s, a fork 0.01 s. `call` asks this process's server, which the first call starts and which ends
with this process. A fork gets its caller's descriptors, folder, variables and words, makes its standard streams
anew and ends as the command does. What Python reads at its own start cannot be given to a fork: see `can_take`.
"""

import contextlib
import gc
import io
import marshal
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from . import fork_client

FAR = 512
"""Descriptors from here on are free: received ones wait there while lower ones are closed."""
LATE = {
    "torch": ["torch.fx.experimental.symbolic_shapes"],
    "ase": ["ase.io.extxyz", *(f"ase.calculators.{name}" for name in "emt lj morse tip3p".split())],
}
"""What a framework imports at its first backward pass only, or a model when it is loaded, which takes a second."""
OFTEN = ("numpy.random", "numpy.ma", "resource", "difflib", "encodings.ascii", "rich._emoji_codes")
"""What many commands import when they need it."""
PATIENCE = 300
"""Seconds that a command may take."""


def can_take(variables: dict[str, str]) -> bool:
    """Return whether forks work here, and none of the variables is for a new process only."""
    return hasattr(os, "fork") and not any(name.startswith(fork_client.AT_START) for name in variables)


class Server:
    """A server of this process, which has imported some frameworks too."""

    def __init__(self, frameworks: tuple[str, ...], environment: dict[str, str]):
        self.folder = tempfile.TemporaryDirectory()
        self.place = os.path.join(self.folder.name, "socket")
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, self.place, *frameworks],
            env={**environment, "OPENBLAS_NUM_THREADS": "1"},
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,  # its end tells the server that this process has ended
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"


SERVERS: dict[tuple[str, ...], Server] = {}
"""Those of this process, each from its first call on."""


def place_of(environment: dict[str, str], frameworks: tuple[str, ...] = ()) -> str:
    """Return the path of a server's socket; start the server where there is none, with variables."""
    if frameworks not in SERVERS:
        SERVERS[frameworks] = Server(frameworks, environment)
    return SERVERS[frameworks].place


def call(place: str, words: list[str], cwd: Any, environment: dict[str, str]) -> Any:
    """Run gradcli in a fork of the server at a place and return what came out."""
    ends = [os.pipe(), os.pipe()]
    with open(os.devnull, "rb") as nothing:
        channel = fork_client.ask(
            place, words, str(cwd or os.getcwd()), environment, {0: nothing.fileno(), 1: ends[0][1], 2: ends[1][1]}
        )
    for _, write in ends:
        os.close(write)
    texts = read_all([read for read, _ in ends], time.monotonic() + PATIENCE, words, channel)
    code = fork_client.status(channel)
    return subprocess.CompletedProcess(["gradcli", *words], code, *texts)


def read_all(descriptors: list[int], until: float, words: list[str], channel: socket.socket) -> list[str]:
    """Return what comes out of pipes as text, as subprocess.run does."""
    pieces: dict[int, list[bytes]] = {read: [] for read in descriptors}
    with selectors.DefaultSelector() as selector:
        for read in descriptors:
            selector.register(read, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(until - time.monotonic(), 0))
            if not ready:
                channel.close()
                raise subprocess.TimeoutExpired(words, PATIENCE)
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                pieces[key.fd].append(piece)
                if not piece:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return [b"".join(p).decode().replace("\r\n", "\n").replace("\r", "\n") for p in pieces.values()]


def serve(path: str, *frameworks: str) -> None:
    """Fork a process for every call, and tell its status, until standard input ends."""
    load(frameworks)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    calls: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        for source in (listener, woken, 0):
            selector.register(source, selectors.EVENT_READ)
        print("ready", flush=True)
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    channel, _ = listener.accept()
                    pid = start(channel)
                    calls[pid] = channel
                    selector.register(channel, selectors.EVENT_READ, pid)
                elif key.fileobj == woken:
                    os.read(woken, 1 << 10)
                    for pid, status in ended():
                        if pid in calls:
                            selector.unregister(calls[pid])
                            tell(calls.pop(pid), status)
                elif key.fileobj == 0:
                    return
                elif key.data in calls:  # the caller is gone, by a time limit of its own
                    selector.unregister(key.fileobj)
                    calls.pop(key.data).close()
                    os.kill(key.data, signal.SIGKILL)


def load(frameworks: tuple[str, ...]) -> None:
    """Import frameworks and what commands import, but what they tell of where it is loaded (SciPy, in locks)."""
    import importlib
    import pkgutil

    import gradcli

    apart = ("pytest_plugin", "check.in_command", "program.elsewhere")  # for other packages
    names = [module.name for module in pkgutil.walk_packages(gradcli.__path__, "gradcli.")]
    for name in (*names, *OFTEN):
        if not name.removeprefix("gradcli.").startswith(apart):
            importlib.import_module(name)
    import sympy

    sympy.simplify(sympy.Symbol("x") ** 2 + 1)  # what the first formula of a process imports takes 0.2 s

    loaded = {name.partition(".")[0] for name in sys.modules}
    assert not loaded & {"scipy", "torch", "jax"}, "a fork would tell of these in a lock"
    for framework in frameworks:
        for name in (framework, *LATE.get(framework, ())):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def ended() -> Any:
    """Yield (pid, status) of the children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            yield found


def tell(channel: socket.socket, status: int) -> None:
    """Tell a caller how its process ended."""
    with contextlib.suppress(OSError):
        channel.sendall(marshal.dumps(os.waitstatus_to_exitcode(status)))
    channel.close()


def start(channel: socket.socket) -> int:
    """Read a call, fork, and return the child's pid."""
    size, descriptors, *_ = socket.recv_fds(channel, 8, fork_client.MOST_DESCRIPTORS)
    text = b""
    while len(text) < int(size):
        text += channel.recv(1 << 16)
    words, folder, environment, numbers = marshal.loads(text)
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        return pid
    try:
        become(words, folder, environment, dict(zip(numbers, descriptors, strict=True)))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(70)


def become(words: list[str], folder: str, environment: dict[str, str], descriptors: dict[int, int]) -> NoReturn:
    """Turn this fork of the server into the command."""
    import fcntl

    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    waiting = {number: fcntl.fcntl(descriptor, fcntl.F_DUPFD, FAR) for number, descriptor in descriptors.items()}
    os.closerange(0, FAR)
    for number, descriptor in waiting.items():
        os.dup2(descriptor, number)
    os.closerange(FAR, 2 * FAR)
    if folder:
        os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin, sys.stdout, sys.stderr = (stream(number, number in descriptors) for number in range(3))
    import numpy as np

    import gradcli.__main__ as command

    np.random.seed()
    sys.modules["__main__"] = command
    sys.path[0] = os.getcwd()
    sys.argv = [str(command.__file__), *words]
    command.main()


def stream(number: int, there: bool) -> Any:
    """Return a standard stream as Python makes it at its start."""
    like: Any = (sys.__stdin__, sys.__stdout__, sys.__stderr__)[number]
    if not there:
        return None
    raw = io.FileIO(number, "r" if number == 0 else "w", closefd=False)
    buffered = io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw)
    lines = number == 2 or raw.isatty()
    made = io.TextIOWrapper(buffered, like.encoding, like.errors, line_buffering=lines)
    made.mode = "r" if number == 0 else "w"  # type: ignore[attr-defined]
    return made


if __name__ == "__main__":
    serve(*sys.argv[1:])
