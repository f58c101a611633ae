"""Fixtures and hooks for all tests."""

import gc
import os
import signal
import sys
from pathlib import Path

import pytest

from . import fork_client, fork_server
from .command import ROOT, environment

OUTPUT_DEPENDS_ON = "CLICOLOR CLICOLOR_FORCE COLUMNS FORCE_COLOR LINES NO_COLOR PYTHONWARNINGS".split()
"""Variables that change what gradcli prints, also in the tests that call it in this process."""


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of processes of `pytest -n auto`: one more than cores, since a third of the time is waiting."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session")
def path(tmp_path_factory) -> str:
    """Return a PATH with a `gradcli` that runs this package, and with the commands installed next to this Python."""
    script = tmp_path_factory.mktemp("bin") / "gradcli"
    command = "-m gradcli"
    if fork_server.can_take({}):
        command = f"-IS {fork_client.__file__} {fork_server.place_of(environment({}))}"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="${{PYTHONPATH:-{ROOT}}}" exec "{sys.executable}" {command} "$@"\n')
    script.chmod(0o755)
    return os.pathsep.join([str(script.parent), str(Path(sys.executable).parent), os.environ["PATH"]])


class FailuresAsTheyCome:
    """Print failures as they happen, not only at the end of a long run."""

    def __init__(self, terminal):
        self.terminal = terminal

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.terminal.write_line(f"\n{report.nodeid}\n{report.longreprtext}")


def pytest_sessionstart(session):
    for name in OUTPUT_DEPENDS_ON:
        os.environ.pop(name, None)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # the tests run in a shell's background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    plugins = session.config.pluginmanager
    terminal = plugins.getplugin("terminalreporter")
    if terminal is not None:  # the workers of pytest-xdist have none
        plugins.register(FailuresAsTheyCome(terminal))


def pytest_collection():
    gc.disable()  # what is imported and collected stays until the end


def pytest_collection_finish():
    gc.freeze()  # a full collection would walk through millions of objects
    gc.enable()
