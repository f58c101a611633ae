"""Ask a fork server to run gradcli. As a program, this is `gradcli` in shell lines of the tests (see fork_server)."""

import _socket  # `socket` imports a lot, and each command of a line starts this program
import marshal
import os
import sys

MOST_DESCRIPTORS = 64
PROGRAM = "--program"
"""The first word if a fork runs a Python script instead of gradcli."""
AT_START = ("PYTHON", "LC_", "LANG", "LD_", "OPENBLAS_", "OMP_", "MKL_", "SYMPY_")
"""Prefixes of variables that Python or a library reads only when it starts."""
EXPECTED = "GRADCLI_AT_START"
"""The variable that records the values of these with which the server was started."""


def at_start(environment):
    """Return the variables that only a new process reads, as text."""
    return repr(sorted(item for item in environment.items() if item[0].startswith(AT_START)))


def ask(place, words, folder, environment, descriptors):
    """Send a call to a server and return the channel on which its exit code will arrive.

    words: the command's arguments. folder: where to run it, "" for the server's own folder.
    descriptors: {number in the command: descriptor here}.
    """
    channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    channel.connect(place)
    text = marshal.dumps((words, folder, environment, list(descriptors)))
    packed = b"".join(d.to_bytes(4, sys.byteorder) for d in descriptors.values())
    channel.sendmsg([b"%8d" % len(text)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)])
    while text:
        text = text[channel.send(text) :]
    return channel


def status(channel):
    """Wait until a call ends and return its exit code, negative for a signal as in subprocess."""
    text = channel.recv(64)
    channel.close()
    return marshal.loads(text)


def open_descriptors():
    """Return the descriptors that this process was started with."""
    found = []
    for number in range(256):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found


def main():
    """Run gradcli with this process's arguments, descriptors, folder and variables, and exit with its code.

    Start a new Python instead if the line has set a variable that a fork would not read, or for Python with options.
    """
    program = sys.argv[2:3] == [PROGRAM]
    if program and (not sys.argv[3:] or sys.argv[3].startswith("-")):
        os.execv(sys.executable, [sys.executable, *sys.argv[3:]])
    if not program and os.environ.get(EXPECTED) not in (None, at_start(os.environ)):
        os.execv(sys.executable, [sys.executable, "-m", "gradcli", *sys.argv[2:]])
    numbers = open_descriptors()
    channel = ask(sys.argv[1], sys.argv[2:], os.getcwd(), dict(os.environ), {n: n for n in numbers})
    for number in numbers:
        if number != channel.fileno():
            os.close(number)
    code = status(channel)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
