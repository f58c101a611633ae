"""A plugin for pytest: `pytest --gradcheck` runs the checks that Python files declare with `@gradcli.check`.

Without the option it costs nothing: neither NumPy nor any other part of gradcli is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .check.check import Check
    from .results.checks import CheckReport

FOLDERS = pytest.StashKey[Any]()  # surroundings of the checked files, per session


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gradcli", "gradients (gradcli)")
    for option, text in (
        ("--gradcheck", "run the checks declared with @gradcli.check in all Python files"),
        ("--gradcheck-allow-inconclusive", "do not fail if a gradcheck is inconclusive"),
    ):
        group.addoption(option, action="store_true", help=text)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> None:
    """Show the text of a report that is the message of a failed assertion: `assert report.passed, report`."""
    results = sys.modules.get("gradcli.results.checks")
    error = call.excinfo.value if call.excinfo is not None else None
    if results is None or not isinstance(error, AssertionError) or not error.args:
        return
    message = str(error)
    for entry in call.excinfo.traceback if call.excinfo is not None else ():
        for x in entry.frame.f_locals.values():
            if isinstance(x, results.CheckReport) and message.startswith(repr(x)):
                error.args = (str(x) + message.removeprefix(repr(x)),)
                return


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not parent.config.getoption("gradcheck") or file_path.suffix != ".py":
        return None
    from .check.targets import mentions_checks

    return DeclaringFile.from_parent(parent, path=file_path) if mentions_checks(str(file_path)) else None


class DeclaringFile(pytest.Module):
    """A file that may declare checks.

    pytest imports test modules and files named on the command line. Other files are imported in the same way as by
    `gradcli gradcheck`, because files in different folders may have the same name, or import modules of the same name.
    """

    def collect(self) -> Iterator[Any]:
        """Yield the checks that the file declares, in order. Raises CollectError if it cannot be imported."""
        from .check.declare import REGISTRY
        from .check.targets import mentions_checks, same_file

        before = len(REGISTRY)
        path = str(self.path)
        surroundings = None
        if self.is_test_module():
            self.obj  # noqa: B018 - imports the file, unless it was imported before
        elif not any(check.file is not None and same_file(check.file, path) for check in REGISTRY):
            surroundings = self.load()
        seen: dict[str, int] = {}
        for place, check in enumerate(REGISTRY):
            # a check of an imported function belongs here, unless its own file declares checks
            imported = place >= before and check.file is not None and not mentions_checks(check.file)
            if surroundings is not None and place >= before:
                check = REGISTRY[place] = replace(check, surroundings=surroundings)
            if check.file is None or not (same_file(check.file, path) or imported):
                continue
            if same_file(check.file, path):
                check = replace(check, file=os.path.relpath(path))
            seen[check.name] = seen.get(check.name, 0) + 1
            name = check.name if seen[check.name] == 1 else f"{check.name}-{seen[check.name]}"
            yield DeclaredCheck.from_parent(self, name=name, check=check)

    def is_test_module(self) -> bool:
        patterns = self.config.getini("python_files")
        return self.session.isinitpath(self.path) or any(self.path.match(pattern) for pattern in patterns)

    def load(self) -> Any:
        """Import the file and return its surroundings. Raises CollectError, or the exception that skips the file."""
        from .check.check import is_skip
        from .errors import GradcliError
        from .user.loading import Folders

        folders = self.config.stash.setdefault(FOLDERS, Folders())
        try:
            folders.of(str(self.path)).load(str(self.path))
        except GradcliError as error:
            if error.cause is not None and is_skip(error.cause):
                raise error.cause from None
            raise self.CollectError(error.message) from None
        return folders.of(str(self.path))


class UnprovenError(Exception):
    def __init__(self, report: CheckReport):
        super().__init__(report.verdict)
        self.report = report


class DeclaredCheck(pytest.Item):
    def __init__(self, *, check: Check, **more: Any):
        super().__init__(**more)
        self.check = check

    def runtest(self) -> None:
        """Run the check. Raises UnprovenError unless it passes, or is inconclusive and that is allowed."""
        import numpy as np

        from .user.address import project_files
        from .user.project import project_in

        project = project_in(project_files([str(self.path)]))
        check = replace(self.check, request=self.check.request._replace(project=project))
        with np.errstate(all="ignore"):
            report = check.run()
        allows = self.config.getoption("gradcheck_allow_inconclusive") or (
            project is not None and project.settings.get("allow-inconclusive")
        )
        if report.verdict not in ("pass", "accepted", "inconclusive" if allows else ""):
            raise UnprovenError(report)
        self.add_report_section("call", "gradcheck", str(report))

    def repr_failure(self, excinfo: pytest.ExceptionInfo, style: Any = None) -> Any:
        """Return the report that `gradcli gradcheck` prints; the summary has its verdict and reason."""
        if not isinstance(excinfo.value, UnprovenError):
            return super().repr_failure(excinfo, style)
        from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback

        from .show.checks import reasons

        report = excinfo.value.report
        text = f"{report.verdict}: {'; '.join(reasons(report)[:2])}"
        place = ReprFileLocation(report.file or "", report.line or 0, text)
        entry = ReprEntryNative([str(report) + "\n"])
        return ReprExceptionInfo(reprtraceback=ReprTraceback([entry], None, "native"), reprcrash=place)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        line = None if self.check.line is None else self.check.line - 1
        return Path(os.path.abspath(self.check.file or self.path)), line, f"gradcheck: {self.name}"
