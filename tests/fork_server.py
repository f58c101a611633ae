"""Run commands in forks of a process that has already imported gradcli, for tests that do not depend on its start.

Starting takes 0.3 s, a fork 0.01 s. `call` asks the server of this process, which the first call starts and which ends
with this process. A fork gets its caller's descriptors, folder, variables and arguments, sets up its own standard
streams, and exits as the command does. It cannot receive settings that Python reads at startup: see `can_take`.
"""

import contextlib
import gc
import importlib.abc
import importlib.machinery
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

from . import fork_client, fork_program

FAR = 512
"""Descriptors from here on are free. Received ones are moved there while lower ones are closed."""
LATE = {
    "torch": ["torch.fx.experimental.symbolic_shapes", "torch._dynamo"],
    "ase": ["ase.io.extxyz", *(f"ase.calculators.{name}" for name in "emt lj morse tip3p".split())],
}
"""Modules that a framework imports only at its first backward pass or step, or when a model is loaded: 1 to 2 s."""
OFTEN = ("numpy.random", "numpy.ma", "resource", "difflib", "encodings.ascii", "rich._emoji_codes")
"""Modules that many commands import on demand."""
ASIDE = ("scipy.special", "scipy.sparse.csgraph", "scipy.optimize")
"""Modules of SciPy to import before the fork. A fork that uses them takes 0.03 s of CPU time instead of 0.17 s."""
HUGE = 1 << 21
"""Size of a huge page in bytes."""
COLLAPSE = 25
"""MADV_COLLAPSE of Linux 6.1: move data to huge pages now. Other systems refuse it."""
PATIENCE = 300
"""Time limit of a command in seconds."""


def can_take(variables: dict[str, str]) -> bool:
    """Return whether forks work here and no variable is read only by a new process."""
    return hasattr(os, "fork") and not any(name.startswith(fork_client.AT_START) for name in variables)


class Server:
    """A server started by this process, with some frameworks imported."""

    def __init__(self, frameworks: tuple[str, ...], environment: dict[str, str]):
        self.folder = tempfile.TemporaryDirectory()
        self.place = os.path.join(self.folder.name, "socket")
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, self.place, *frameworks],
            env={**environment, "OPENBLAS_NUM_THREADS": "1", **({"OMP_NUM_THREADS": "1"} if frameworks else {})},
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,  # closed when this process ends, which ends the server
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"


SERVERS: dict[tuple[str, ...], Server] = {}
"""The servers of this process, each started by its first call."""


def place_of(environment: dict[str, str], frameworks: tuple[str, ...] = ()) -> str:
    """Return the path of a server's socket. Start the server, with these variables, if it does not run yet."""
    if frameworks not in SERVERS:
        SERVERS[frameworks] = Server(frameworks, environment)
    return SERVERS[frameworks].place


def call(place: str, words: list[str], cwd: Any, environment: dict[str, str]) -> Any:
    """Run gradcli in a fork of the server at a socket, and return its exit code and output."""
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
    """Read pipes to their ends and return the text, as subprocess.run does."""
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
    """Fork a process for each call and report its exit code, until standard input ends."""
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
                    pid = start(channel, frameworks)
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
                elif key.data in calls:  # the caller has given up at its time limit
                    selector.unregister(key.fileobj)
                    calls.pop(key.data).close()
                    os.kill(key.data, signal.SIGKILL)


def load(frameworks: tuple[str, ...]) -> None:
    """Import frameworks and what commands import, except packages that a lock records if they are loaded (SciPy)."""
    import pkgutil

    import gradcli

    apart = (
        "pytest_plugin",
        "guard.in_command",
        "claims.adapters",
        "why.record_torch",
        "why.record_jax",
    )  # for other packages
    names = [module.name for module in pkgutil.walk_packages(gradcli.__path__, "gradcli.")]
    for name in (*names, *OFTEN):
        if not name.removeprefix("gradcli.").startswith(apart):
            importlib.import_module(name)
    import sympy

    sympy.simplify(sympy.Symbol("x") ** 2 + 1)  # the imports for a first formula take 0.2 s

    loaded = {name.partition(".")[0] for name in sys.modules}
    assert not loaded & {"scipy", "torch", "jax"}, "a fork would record these in a lock"
    if not frameworks:
        put_aside()
    for framework in frameworks:
        for name in (framework, *LATE.get(framework, ())):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    use_huge_pages()


def use_huge_pages() -> None:
    """Move this process's data to huge pages: a fork copies the table of its pages, which takes 4 of 20 ms."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        madvise = ctypes.CDLL(None).madvise
        for line in Path("/proc/self/maps").read_text().splitlines():
            ends, mode, _, _, inode, *_ = line.split()
            begin, end = (int(place, 16) for place in ends.split("-"))
            begin, end = -(-begin // HUGE) * HUGE, end // HUGE * HUGE
            if inode == "0" and "w" in mode and begin < end:
                madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), COLLAPSE)


class Aside(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Hides a package that is imported, until it is imported again."""

    def __init__(self, name: str):
        self.name = name
        self.modules = {key: sys.modules.pop(key) for key in [*sys.modules] if key.split(".")[0] == name}
        self.spec = self.modules[name].__spec__

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        return importlib.machinery.ModuleSpec(name, self) if name == self.name and self.modules else None

    def create_module(self, spec: Any) -> Any:
        return self.modules[self.name]

    def exec_module(self, module: Any) -> None:
        module.__spec__ = self.spec
        sys.modules.update(self.modules)
        self.modules = {}


def put_aside() -> None:
    """Import SciPy and hide it, since a lock records which libraries are loaded."""
    for name in ASIDE:
        importlib.import_module(name)
    sys.meta_path.insert(0, Aside("scipy"))


def ended() -> Any:
    """Yield (pid, status) of the children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            yield found


def tell(channel: socket.socket, status: int) -> None:
    """Send a caller the exit code of its process."""
    with contextlib.suppress(OSError):
        channel.sendall(marshal.dumps(os.waitstatus_to_exitcode(status)))
    channel.close()


def start(channel: socket.socket, frameworks: tuple[str, ...]) -> int:
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
        become(words, folder, environment, dict(zip(numbers, descriptors, strict=True)), frameworks)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(70)


def become(
    words: list[str], folder: str, environment: dict[str, str], descriptors: dict[int, int], frameworks: tuple[str, ...]
) -> NoReturn:
    """Turn this fork of the server into the command, or into a Python program."""
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
    if words[:1] == [fork_client.PROGRAM]:
        fork_program.run(words[1:], frameworks)
    sys.modules["__main__"] = command
    sys.path[0] = os.getcwd()
    sys.argv = [str(command.__file__), *words]
    command.main()


def stream(number: int, there: bool) -> Any:
    """Return a standard stream set up as Python does at startup."""
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
