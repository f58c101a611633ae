"""What tests of several folders need."""

import os
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def path(tmp_path_factory) -> str:
    """Return a search path on which `gradcli` is this package, with the commands that stand beside this Python."""
    script = tmp_path_factory.mktemp("bin") / "gradcli"
    root = Path(__file__).parents[1]
    script.write_text(f'#!/bin/sh\nPYTHONPATH="${{PYTHONPATH:-{root}}}" exec "{sys.executable}" -m gradcli "$@"\n')
    script.chmod(0o755)
    return os.pathsep.join([str(script.parent), str(Path(sys.executable).parent), os.environ["PATH"]])


class FailuresAsTheyCome:
    """Prints a failure when it happens, not only at the end of a long run."""

    def __init__(self, terminal):
        self.terminal = terminal

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.terminal.write_line(f"\n{report.nodeid}\n{report.longreprtext}")


def pytest_sessionstart(session):
    plugins = session.config.pluginmanager
    terminal = plugins.getplugin("terminalreporter")
    if terminal is not None:  # the workers of pytest-xdist have none
        plugins.register(FailuresAsTheyCome(terminal))
